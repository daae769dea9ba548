//! Cycles of each call: functions, macros, repetitions and included files.

use super::{CodeCost, head, write_row};
use cp2_asm::flow::{Flow, Way};
use cp2_asm::{Expansion, Program, ProgramExpansion, SymbolKind};
use cp2_emu::Counters;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Cost of all that one call became.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallProfile {
    /// The function, macro, repetition or file; empty for the program outside all functions.
    pub what: String,
    /// `file:line` of the call of a macro, file or repetition.
    pub place: String,
    /// Calls around it.
    pub depth: usize,
    /// Cycles of the words that lie in no call inside.
    pub own_cycles: u64,
    /// Cost of all words of the call.
    #[serde(flatten)]
    pub cost: CodeCost,
}

/// Calls by name and place; the iterations of one repetition are one.
#[derive(Default)]
struct CallNode {
    own_cycles: u64,
    cost: CodeCost,
    inside: BTreeMap<CallKey, CallNode>,
}

/// Place of a call, as file and line, and what is called.
type CallKey = (u32, u32, String);

impl CallNode {
    fn enter(self, key: CallKey, depth: usize, program: &Program, all: &mut Vec<CallProfile>) {
        let (file, line, what) = key;
        all.push(CallProfile {
            what,
            place: program
                .place(cp2_asm::Line::new(file, line))
                .unwrap_or_default(),
            depth,
            own_cycles: self.own_cycles,
            cost: self.cost,
        });
        for (key, node) in self.inside {
            node.enter(key, depth + 1, program, all);
        }
    }
}

fn name(frame: &ProgramExpansion) -> String {
    match &frame.what {
        Expansion::Macro(name) => format!("macro `{name}`"),
        Expansion::File(name) => format!("file {name:?}"),
        Expansion::Iteration(..) => "`.rept`".to_owned(),
    }
}

/// Charges each call.
pub(super) fn profile(program: &Program, counters: &Counters) -> Vec<CallProfile> {
    let functions = name_functions(program);
    let mut roots: BTreeMap<usize, CallNode> = BTreeMap::new();
    for pc in 0..program.words.len() {
        let function = functions.get(&pc).copied().unwrap_or(usize::MAX);
        let mut word = CodeCost::default();
        word.add_word(program, counters, pc);
        let mut frames: Vec<_> = program.chain(pc).collect();
        let mut node = roots.entry(function).or_default();
        loop {
            node.cost.add_word(program, counters, pc);
            let Some(frame) = frames.pop() else {
                break;
            };
            let key = (frame.at.file, frame.at.line, name(frame));
            node = node.inside.entry(key).or_default();
        }
        node.own_cycles += word.cycles;
    }
    let mut all = Vec::new();
    // The program itself, which is no function, comes first.
    let program_itself = roots.remove(&usize::MAX);
    if let Some(root) = program_itself {
        root.enter((0, 0, String::new()), 0, program, &mut all);
    }
    for (entry, root) in roots {
        let what = format!("function {}", label(program, entry));
        root.enter((0, 0, what), 0, program, &mut all);
    }
    all
}

fn label(program: &Program, entry: usize) -> String {
    let mut symbols = program.symbols.iter();
    let found =
        symbols.find(|s| s.kind == SymbolKind::Program && usize::try_from(s.value) == Ok(entry));
    found.map_or_else(
        || format!("{entry:#06x}"),
        |symbol| format!("`{}`", symbol.name),
    )
}

/// Returns the entry of the function of each word that lies in one.
fn name_functions(program: &Program) -> BTreeMap<usize, usize> {
    let mut names = BTreeMap::new();
    let Ok(flow) = Flow::of_program(program) else {
        return names;
    };
    for function in flow.functions() {
        let (mut seen, mut open) = (BTreeSet::new(), vec![function.entry]);
        while let Some(pc) = open.pop() {
            let Some(block) = flow.block_of(pc).map(|at| &flow.blocks()[at]) else {
                continue;
            };
            if !seen.insert(block.words.start) {
                continue;
            }
            names.extend(block.words.clone().map(|pc| (pc, function.entry)));
            let own = block.next.iter().filter(|(way, _)| *way != Way::Call);
            open.extend(own.map(|&(_, to)| to));
        }
    }
    names
}

pub(super) fn listing(calls: &[CallProfile], total: u64) -> String {
    let mut out = String::new();
    write_row(&mut out, &format!("{}  {:>10}", head(), "own"), "call", "");
    for call in calls {
        let columns = format!("{}  {:>10}", call.cost.columns(total), call.own_cycles);
        let what = match call.what.as_str() {
            "" => "program",
            what => what,
        };
        let place = match call.place.as_str() {
            "" => String::new(),
            place if what.starts_with("macro") => format!(", called at {place}"),
            place => format!(" at {place}"),
        };
        let text = format!("{:width$}{what}{place}", "", width = 2 * call.depth);
        write_row(&mut out, &columns, &text, &call.cost.lost_text());
    }
    out
}
