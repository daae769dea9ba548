//! Reports of linear blocks: a table, what bounds each, what was tried.

use super::ScheduledProgram;
use crate::table::{Align, TextTable};
use cp2_asm::schedule::{IntervalRefusal, RefusedInterval, ScheduleLimit};
use cp2_asm::{BlockReport, BoundTerm, CycleFormula, Line, Program};
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
        }
    }
    format!("{table}\n{details}")
}

/// Adds the rows of a block: one for each range of counts.
fn add_rows(table: &mut TextTable, block: &BlockReport, program: &Program, machine: &str) {
    let formulas = list_formulas(block);
    for (index, formula) in formulas.iter().enumerate() {
        let next = formulas.get(index + 1);
        let cycles = describe_formula(block, formula, next);
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

/// Lists the formulas of a block that hold for some count: each up to the next one's least.
fn list_formulas(block: &BlockReport) -> Vec<CycleFormula> {
    let mut formulas: Vec<CycleFormula> = Vec::new();
    for formula in &block.cycles {
        formulas.retain(|before| before.from < formula.from);
        formulas.push(*formula);
    }
    formulas
}

/// Returns `file:line`.
fn place(program: &Program, (file, line): (u32, u32)) -> String {
    program.place(Line::new(file, line)).unwrap_or_default()
}

/// Returns the cycles of a range of counts as text.
fn describe_formula(
    block: &BlockReport,
    formula: &CycleFormula,
    next: Option<&CycleFormula>,
) -> String {
    if let Some(iterations) = block.iterations {
        return format!("{} for n = {iterations}", formula.base);
    }
    let last = next.and_then(|next| next.from.checked_sub(1));
    let range = match last {
        Some(last) if last <= formula.from => format!("for n = {}", formula.from),
        Some(last) => format!("for n = {} .. {last}", formula.from),
        None => format!("from n = {} on", formula.from),
    };
    match (formula.slope, formula.per) {
        (0, _) => format!("{} {range}", formula.base),
        (slope, 0 | 1) => {
            let constant = i128::from(formula.base) - i128::from(slope) * i128::from(formula.from);
            let sign = if constant < 0 { '-' } else { '+' };
            format!("{slope} n {sign} {} {range}", constant.unsigned_abs())
        }
        (slope, per) => format!(
            "{} + {slope} (n - {}) / {per} {range}",
            formula.base, formula.from
        ),
    }
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

/// Returns the intervals that were tried in vain, a line for each of the first.
fn list_refused(refused: &[RefusedInterval]) -> String {
    let mut lines: Vec<(u32, Vec<String>)> = Vec::new();
    for own in refused {
        let reason = describe_refused(own);
        match lines.last_mut().filter(|last| last.0 == own.interval) {
            Some((_, reasons)) => reasons.push(reason),
            None => lines.push((own.interval, vec![reason])),
        }
    }
    let mut text = String::new();
    for (interval, reasons) in lines.iter().take(SHOWN_INTERVALS) {
        text += &format!("  interval {interval}: {}\n", reasons.join("; "));
    }
    if let (Some((last, _)), true) = (lines.last(), lines.len() > SHOWN_INTERVALS) {
        let more = lines.len() - SHOWN_INTERVALS;
        text += &format!("  and {more} more, up to interval {last}: --json has all\n");
    }
    text
}

/// Returns the reason why an interval was refused as text, with the copies that were tried.
fn describe_refused(refused: &RefusedInterval) -> String {
    let copies = match refused.copies {
        1 => "1 copy".to_owned(),
        copies => format!("{copies} copies"),
    };
    format!("with {copies} {}", describe_reason(refused))
}

/// Returns the reason why an interval was refused.
fn describe_reason(refused: &RefusedInterval) -> String {
    match refused.refusal {
        IntervalRefusal::Dependences => {
            "a value comes back too soon, or lives too long for its copies".to_owned()
        }
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
    let refused = block.refused.iter().map(|own| {
        json!({
            "interval": own.interval,
            "copies": own.copies,
            "reason": describe_reason(own),
        })
    });
    let cycles = list_formulas(block).into_iter().map(|formula| {
        json!({
            "from": formula.from,
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
        "terms": terms.collect::<Value>(),
        "refused": refused.collect::<Value>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_asm::{Options, Source, assemble};
    use cp2_machine::Machine;

    /// Formulas say the cycles of their range, and no count is in two ranges.
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
        let cycles = list_formulas(block);
        let last = cycles.last().unwrap();
        let shown = describe_formula(block, last, None);
        let (slope, rest) = shown.split_once(" n ").unwrap();
        let (constant, from) = rest.split_once(" from n = ").unwrap();
        let number = |text: &str| text.replace([' ', '+'], "").parse::<i64>().unwrap();
        let from = number(from.trim_end_matches(" on")) as u64;
        for n in from..from + 9 {
            let said = number(slope) * n as i64 + number(constant);
            assert_eq!(said as u64, block.count_cycles(n), "{shown}, n = {n}");
        }
        assert!(cycles.len() > 1 && cycles.is_sorted_by(|a, b| a.from < b.from));
        let first = describe_formula(block, &cycles[0], cycles.get(1));
        assert!(first.ends_with("for n = 0"), "{first}");
    }
}
