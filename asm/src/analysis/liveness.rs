//! Registers whose values are still needed.

use crate::flow::Flow;
use crate::isa::{Op, RegSet, Word};

/// Registers of the sections.
const SECTION_REGISTERS: RegSet = RegSet((1 << 64) - 1);

/// Returns the registers that are live before each word of a program, of which some words read registers that are not
/// counted; none if its flow is not known.
pub(crate) fn list_live_registers(
    words: &[Word],
    entry: usize,
    uncounted: &[RegSet],
) -> Option<Vec<RegSet>> {
    let flow = Flow::of(words, &[entry]).ok()?;
    Some(Liveness::find(words, &flow, uncounted).before)
}

/// Registers that are live before each word of the reachable program.
pub(super) struct Liveness {
    /// By program address.
    before: Vec<RegSet>,
    after: Vec<RegSet>,
}

impl Liveness {
    /// Finds the live registers of a program. Behind `stop` none is live; a function's results are live where any
    /// of its callers needs them.
    pub(super) fn new(words: &[Word], flow: &Flow) -> Self {
        Self::find(words, flow, &[])
    }

    /// Finds the live registers of a program in which some words read registers that are not counted.
    fn find(words: &[Word], flow: &Flow, uncounted: &[RegSet]) -> Self {
        let blocks = flow.blocks();
        // Functions return behind each of their calls; which function a `ret` belongs to is left open.
        let mut returns = Vec::new();
        for function in flow.functions() {
            returns.extend(function.callers.iter().map(|pc| pc + 1));
        }
        let mut found = Self {
            before: vec![RegSet::EMPTY; words.len()],
            after: vec![RegSet::EMPTY; words.len()],
        };
        // Under a mask of lanes a result is written in part only: what was there before lives on.
        let mut reachable = blocks.iter().flat_map(|block| &words[block.words.clone()]);
        let masked = reachable.any(|word| word.mem.op == Op::Msk);
        let mut changed = true;
        while changed {
            changed = false;
            for block in blocks.iter().rev() {
                let last = block.words.end - 1;
                let mut live = RegSet::EMPTY;
                for &(_, to) in &block.next {
                    live |= found.before.get(to).copied().unwrap_or_default();
                }
                if words[last].mem.op == Op::Ret {
                    for &to in &returns {
                        live |= found.before.get(to).copied().unwrap_or_default();
                    }
                }
                for pc in block.words.clone().rev() {
                    let word = &words[pc];
                    found.after[pc] = live;
                    let written = word.arith.writes() | word.mem.writes();
                    let replaced = match masked {
                        true => RegSet(written.0 & !SECTION_REGISTERS.0),
                        false => written,
                    };
                    let reads = word.arith.reads() | word.mem.reads();
                    let uncounted = uncounted.get(pc).copied().unwrap_or_default();
                    live = RegSet(live.0 & !replaced.0 | reads.0 & !uncounted.0);
                    if live != found.before[pc] {
                        found.before[pc] = live;
                        changed = true;
                    }
                }
            }
        }
        found
    }

    /// Returns the registers that are live before a word.
    pub(super) fn before(&self, pc: usize) -> RegSet {
        self.before.get(pc).copied().unwrap_or_default()
    }

    /// Returns the registers that are live behind a word.
    pub(super) fn after(&self, pc: usize) -> RegSet {
        self.after.get(pc).copied().unwrap_or_default()
    }

    /// Returns the most registers of the sections, as pairs, that are live at once in some words.
    pub(super) fn count_most_pairs(
        &self,
        words: &[Word],
        range: std::ops::RangeInclusive<usize>,
    ) -> usize {
        let at = |pc: usize| {
            let written = words[pc].arith.writes() | words[pc].mem.writes();
            let behind = self.after[pc] | written;
            let pairs = |set: RegSet| (set & SECTION_REGISTERS).len();
            pairs(self.before[pc]).max(pairs(behind))
        };
        range.map(at).max().unwrap_or(0)
    }
}
