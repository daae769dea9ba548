//! Cycles of each loop.

use super::{CodeCost, head, write_row};
use cp2_asm::Program;
use cp2_asm::analysis::{ProgramLoop, find_loops};
use cp2_asm::flow::Flow;
use cp2_emu::Counters;
use serde::Serialize;

/// Cost of one loop, or of the words outside all loops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoopProfile {
    /// `file:line` of the word that sets the loop up or closes it, with the macros and counters that it came
    /// from; the word's address where that is not known, empty for the words outside all loops.
    pub place: String,
    /// Program address of that word.
    pub pc: Option<usize>,
    /// Loops around it.
    pub depth: usize,
    /// Iterations of all times that it ran.
    pub iterations: u64,
    /// Cycles of the words that lie in no loop inside.
    pub own_cycles: u64,
    /// Cost of all words of the body.
    #[serde(flatten)]
    pub cost: CodeCost,
}

/// Charges each loop. A program without a control flow graph has no loops.
pub(super) fn profile(program: &Program, counters: &Counters) -> Vec<LoopProfile> {
    let flow = Flow::of_program(program);
    let loops = flow.as_ref().map(find_loops).unwrap_or_default();
    // A loop may be closed by several branches: it is charged once for each.
    let contains = |l: &ProgramLoop, pc: usize| l.words.contains(&pc);
    // The innermost loop of a word is the last one that contains it, since outer loops come first.
    let owner = |pc: usize| loops.iter().rposition(|l| contains(l, pc));
    let owners: Vec<_> = (0..program.words.len()).map(owner).collect();
    let charge = |found: Option<usize>| {
        let (mut cost, mut own) = (CodeCost::default(), CodeCost::default());
        for (pc, owner) in owners.iter().enumerate() {
            if found.is_some_and(|found| contains(&loops[found], pc)) {
                cost.add_word(program, counters, pc);
            }
            if *owner == found {
                own.add_word(program, counters, pc);
            }
        }
        let own_cycles = own.cycles;
        if found.is_none() {
            cost = own;
        }
        (cost, own_cycles)
    };
    let (cost, own_cycles) = charge(None);
    let outside = LoopProfile {
        place: String::new(),
        pc: None,
        depth: 0,
        iterations: 0,
        own_cycles,
        cost,
    };
    let mut all = vec![outside];
    for (index, found) in loops.iter().enumerate() {
        let (cost, own_cycles) = charge(Some(index));
        let counted = counters.per_word.get(found.last());
        let place = program.describe_place(found.pc);
        let around = |outer: &&ProgramLoop| {
            outer.pc != found.pc
                && contains(outer, *found.words.start())
                && contains(outer, *found.words.end())
        };
        all.push(LoopProfile {
            place: place.unwrap_or_else(|| format!("word {:#06x}", found.pc)),
            pc: Some(found.pc),
            depth: loops.iter().filter(around).count(),
            iterations: counted.map_or(0, |word| word.words),
            own_cycles,
            cost,
        });
    }
    all
}

pub(super) fn listing(loops: &[LoopProfile], total: u64) -> String {
    let mut out = String::new();
    let columns = format!("{}  {:>10}  {:>10}", head(), "own", "iterations");
    write_row(&mut out, &columns, "loop", "");
    for found in loops {
        let columns = found.cost.columns(total);
        let columns = format!(
            "{columns}  {:>10}  {:>10}",
            found.own_cycles, found.iterations
        );
        let text = match found.pc {
            None => "outside all loops".to_owned(),
            Some(_) => format!("{:width$}loop {}", "", found.place, width = 2 * found.depth),
        };
        write_row(&mut out, &columns, &text, &found.cost.lost_text());
    }
    out
}
