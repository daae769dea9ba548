//! Reports of linear blocks: a table, what bounds each, what was tried.

use super::ScheduledProgram;
use crate::table::{Align, TextTable};
use cp2_asm::schedule::{IntervalRefusal, RefusedInterval, ScheduleLimit};
use cp2_asm::{BlockReport, BoundTerm, ChainOverlap, CycleFormula, Line, Program};
use serde_json::{Value, json};

/// Most intervals tried in vain that the text shows of a block.
const SHOWN_INTERVALS: usize = 4;
/// Columns of the table.
const COLUMNS: [(&str, Align); 10] = [
    ("block", Align::Left),
    ("line", Align::Left),
    ("machine", Align::Left),
    ("interval", Align::Right),
    ("bound", Align::Right),
    ("limit", Align::Left),
    ("registers", Align::Right),
    ("copies", Align::Right),
    ("words", Align::Right),
    ("cycles", Align::Left),
];

/// Returns the reports as text: a table of all blocks, then the bound of each one and the intervals tried in vain.
pub(super) fn text(programs: &[ScheduledProgram]) -> String {
    if programs.iter().all(|own| own.assembly.blocks.is_empty()) {
        return "no linear blocks\n".to_owned();
    }
    let mut table = TextTable::new(&COLUMNS.map(|(_, align)| align));
    table.row(COLUMNS.map(|(name, _)| name));
    let mut details = String::new();
    for own in programs {
        for block in &own.assembly.blocks {
            let machine = &own.machine.name;
            add_rows(&mut table, block, &own.assembly.program, machine);
            let bound = list_terms(block, &own.assembly.program);
            details += &format!("{} on {machine}: bound {bound}\n", block.name);
            details += &list_refused(&block.refused);
            details += &block.overlap.map_or_else(String::new, describe_overlap);
        }
    }
    // Machines differ in what is dropped only if the source asks for the machine.
    let mut dropped: Vec<String> = Vec::new();
    for line in programs.iter().flat_map(list_dropped) {
        if !dropped.contains(&line) {
            dropped.push(line);
        }
    }
    format!("{table}{}\n{details}", dropped.concat())
}

/// Returns a line for every block of which operations are dropped: how many, and where they stand.
fn list_dropped(own: &ScheduledProgram) -> impl Iterator<Item = String> {
    let program = &own.assembly.program;
    let blocks = own.assembly.blocks.iter();
    let some = blocks.filter(|block| !block.dropped.is_empty());
    some.map(|block| {
        let mut places = block.dropped.clone();
        places.dedup();
        let places = places.iter().map(|&own| place(program, own));
        let places = places.collect::<Vec<_>>().join(", ");
        let operations = match block.dropped.len() {
            1 => "1 operation".to_owned(),
            number => format!("{number} operations"),
        };
        let (name, at) = (&block.name, place(program, block.place));
        format!("{name} {at}  {operations} without effect dropped: {places}\n")
    })
}

/// Adds the rows of a block: one for each range of counts.
fn add_rows(table: &mut TextTable, block: &BlockReport, program: &Program, machine: &str) {
    let mut formulas = block.cycles.clone();
    formulas.sort_by_key(|formula| formula.from);
    for (index, formula) in formulas.iter().enumerate() {
        let cycles = describe_formula(block, formula);
        if index > 0 {
            let mut cells = COLUMNS.map(|_| String::new());
            if let Some(last) = cells.last_mut() {
                *last = cycles;
            }
            table.row(cells);
            continue;
        }
        table.row([
            block.name.clone(),
            place(program, block.place),
            machine.to_owned(),
            block.interval.to_string(),
            block.bound.to_string(),
            block
                .terms
                .first()
                .map_or(String::new(), |term| term.limit.to_string()),
            block.registers.to_string(),
            block.copies.to_string(),
            block.words.to_string(),
            cycles,
        ]);
    }
}

/// Returns `file:line`.
fn place(program: &Program, (file, line): (u32, u32)) -> String {
    program.place(Line::new(file, line)).unwrap_or_default()
}

/// Returns the cycles of some counts as text.
fn describe_formula(block: &BlockReport, formula: &CycleFormula) -> String {
    if let Some(iterations) = block.iterations {
        return format!("{} for n = {iterations}", formula.base);
    }
    let (from, per) = (formula.from, formula.per.max(1));
    let counts = match formula.until.map(|until| until.saturating_sub(per)) {
        Some(last) if last <= from => return format!("{} for n = {from}", formula.base),
        Some(last) => format!("for n = {from} .. {last}"),
        None if per == 1 => format!("from n = {from} on"),
        None => format!("for n = {from}, {}, ..", from.saturating_add(per)),
    };
    let slope = formula.slope / per;
    if slope * per != formula.slope {
        let steps = format!("{} (n - {from}) / {per}", formula.slope);
        return format!("{} + {steps} {counts}", formula.base);
    }
    let constant = i128::from(formula.base) - i128::from(slope) * i128::from(from);
    let sign = if constant < 0 { '-' } else { '+' };
    format!("{slope} n {sign} {} {counts}", constant.unsigned_abs())
}

/// Returns the terms of a bound as text: cycles, and the lines of a recurrence.
fn list_terms(block: &BlockReport, program: &Program) -> String {
    let describe = |term: &BoundTerm| {
        let cycles = match (term.cycles.cycles(), term.cycles.iterations()) {
            (cycles, 1) => cycles.to_string(),
            (cycles, iterations) => format!("{cycles}/{iterations}"),
        };
        let lines = term.places.iter().map(|&own| place(program, own));
        let lines = lines.collect::<Vec<_>>().join(", ");
        match lines.is_empty() {
            true => format!("{} {cycles}", term.limit),
            false => format!("{} {cycles} ({lines})", term.limit),
        }
    };
    let terms = block.terms.iter().map(describe).collect::<Vec<_>>();
    format!("{}: {}", block.bound, terms.join(", "))
}

/// Returns what a block of a chain overlaps of those before it, and what prevents more, as a line.
fn describe_overlap(overlap: ChainOverlap) -> String {
    let prevented = [
        (overlap.memory, "if loads did not wait for stores"),
        (overlap.registers, "if the blocks had no register in common"),
    ];
    let prevented = prevented.into_iter().filter(|(cycles, _)| *cycles > 0);
    let more = prevented.map(|(cycles, why)| format!(", {cycles} more {why}"));
    let more: String = more.collect();
    let cycles = overlap.cycles;
    let unmoved = match overlap.unmoved {
        0 => String::new(),
        number => {
            let why = match number > ChainOverlap::MOST_OPERATIONS as u64 {
                true => format!("more than {}", ChainOverlap::MOST_OPERATIONS),
                false => "a word exchanges registers".to_owned(),
            };
            format!("  {number} operations before its loop stay as they are written: {why}\n")
        }
    };
    format!("  begins {cycles} cycles before the block before it has ended{more}\n{unmoved}")
}

/// Returns the intervals that were tried in vain, a line for each of the first: the reason for each number of copies.
fn list_refused(refused: &[RefusedInterval]) -> String {
    let intervals: Vec<&[RefusedInterval]> =
        refused.chunk_by(|a, b| a.interval == b.interval).collect();
    let mut text = String::new();
    for (shown, tried) in intervals.iter().enumerate() {
        let Some(first) = tried.first() else { continue };
        if shown == SHOWN_INTERVALS {
            let last = refused.last().map_or(0, |last| last.interval);
            let more = intervals.len() - shown;
            text += &format!("  and {more} more, up to interval {last}: --json has all\n");
            break;
        }
        let reasons = tried.chunk_by(|a, b| a.refusal == b.refusal);
        let reasons: Vec<String> = reasons.map(describe_refused).collect();
        text += &format!("  interval {}: {}\n", first.interval, reasons.join("; "));
    }
    text
}

/// Returns the numbers of copies that were refused for one reason, and the reason.
fn describe_refused(refused: &[RefusedInterval]) -> String {
    let [Some(first), Some(last)] = [refused.first(), refused.last()] else {
        return String::new();
    };
    let copies = match (first.copies, last.copies) {
        (1, 1) => "1 copy".to_owned(),
        (few, many) if few == many => format!("{few} copies"),
        (few, many) => format!("{few} .. {many} copies"),
    };
    format!("{copies}: {}", describe_reason(first))
}

/// Returns the reason why an interval was refused.
fn describe_reason(refused: &RefusedInterval) -> String {
    match refused.refusal {
        IntervalRefusal::Dependences => "values live too long".to_owned(),
        IntervalRefusal::Slots | IntervalRefusal::Registers { .. } => refused.refusal.to_string(),
    }
}

/// Returns the reports as JSON.
pub(super) fn json(programs: &[ScheduledProgram]) -> Value {
    let blocks = programs.iter().flat_map(|own| {
        let (program, machine) = (&own.assembly.program, &own.machine);
        let blocks = own.assembly.blocks.iter();
        blocks.map(|block| block_json(block, program, &machine.name))
    });
    blocks.collect()
}

fn block_json(block: &BlockReport, program: &Program, machine: &str) -> Value {
    let file = |file: u32| program.files.get(file as usize);
    let limit = |limit: &ScheduleLimit| limit.to_string();
    let terms = block.terms.iter().map(|term| {
        let places = term.places.iter();
        let places = places.map(|&(own, line)| json!({"file": file(own), "line": line}));
        json!({
            "limit": limit(&term.limit),
            "cycles": term.cycles.as_f64(),
            "places": places.collect::<Value>(),
        })
    });
    let dropped = block.dropped.iter();
    let dropped = dropped.map(|&(own, line)| json!({"file": file(own), "line": line}));
    let refused = block.refused.iter().map(|own| {
        json!({
            "interval": own.interval,
            "copies": own.copies,
            "reason": describe_reason(own),
        })
    });
    let cycles = block.cycles.iter().map(|formula| {
        json!({
            "from": formula.from,
            "until": formula.until,
            "base": formula.base,
            "slope": formula.slope,
            "per": formula.per,
        })
    });
    json!({
        "name": block.name,
        "file": file(block.place.0),
        "line": block.place.1,
        "machine": machine,
        "iterations": block.iterations,
        "interval": block.interval,
        "bound": block.bound,
        "limit": block.terms.first().map(|term| limit(&term.limit)),
        "registers": block.registers,
        "copies": block.copies,
        "words": block.words,
        "first_word": block.first_word,
        "cycles": cycles.collect::<Value>(),
        "overlap": block.overlap.map(|own| json!({
            "cycles": own.cycles,
            "memory": own.memory,
            "registers": own.registers,
            "unmoved": own.unmoved,
        })),
        "dropped": dropped.collect::<Value>(),
        "terms": terms.collect::<Value>(),
        "refused": refused.collect::<Value>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_asm::{Options, Source, assemble};
    use cp2_machine::Machine;

    /// Returns the cycles that a formula's text gives for a count.
    fn evaluate(text: &str, n: i64) -> i64 {
        let (formula, _) = text
            .split_once(" for n = ")
            .or(text.split_once(" from n = "))
            .unwrap();
        let terms = formula.replace("- ", "-").replace("+ ", "");
        let numbers: Vec<&str> = terms.split(' ').collect();
        match numbers[..] {
            [base] => base.parse().unwrap(),
            [slope, "n", constant] => {
                slope.parse::<i64>().unwrap() * n + constant.parse::<i64>().unwrap()
            }
            _ => panic!("{text}"),
        }
    }

    /// The text of a formula says the cycles of the counts that it holds for, and every count has one formula.
    #[test]
    fn formulas_are_those_of_the_report() {
        let text = ".linear double, c0
            .pointer x = a14 by 16
            ldq a, [x]
            add b, a, a
            stq b, [x]
            .endlinear
            stop\n";
        let machine = Machine::builtin("vm7").unwrap();
        let options = Options {
            machine: Some(&machine),
            ..Options::default()
        };
        let assembly = assemble(&Source::new("k.s", text), &options).unwrap();
        let block = &assembly.blocks[0];
        for n in 0..40u64 {
            let holds = |own: &&CycleFormula| {
                n >= own.from
                    && (n - own.from).is_multiple_of(own.per)
                    && own.until.is_none_or(|until| n < until)
            };
            let found: Vec<_> = block.cycles.iter().filter(holds).collect();
            let [formula] = found[..] else {
                panic!("{n}: {found:?}")
            };
            let shown = describe_formula(block, formula);
            let said = evaluate(&shown, n as i64);
            assert_eq!(said as u64, block.count_cycles(n), "{shown}, n = {n}");
        }
        assert!(block.cycles.len() > 1);
    }
}
