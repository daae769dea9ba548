//! The order of the steps, and what each waits for.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::fmt;

/// What a step does with its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// DMA from system memory.
    Load,
    /// The page kernel.
    Compute,
    /// DMA to system memory.
    Store,
}

/// Names a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StepId {
    /// What.
    pub kind: StepKind,
    /// The page.
    pub page: u64,
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            StepKind::Load => "load",
            StepKind::Compute => "compute",
            StepKind::Store => "store",
        };
        write!(f, "{kind} {}", self.page)
    }
}

/// A step and the earlier steps it waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The step.
    pub id: StepId,
    /// Steps that must be complete. A transfer that waits for an earlier
    /// transfer may be queued behind it: the DMA engine works in order.
    pub after: SmallVec<[StepId; 2]>,
}

/// The steps of a plan, in the order the CPU should prefer them; an iterator
/// whose size does not depend on the number of pages.
///
/// First the loads that fill the buffers, then for every page: its kernel is
/// done, store it, load the page that takes its buffer. A step waits only for
/// steps listed before it.
///
/// A load waits for the store that frees its buffer (where outputs have
/// buffers of their own, for the store of the same turn): the DMA works in
/// order, so a page that is loaded has an output buffer that is free, and the
/// kernel waits for nothing but the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    pages: u64,
    degree: u64,
    prologue: u64,
    /// The page whose turn it is, and how far its turn has come.
    page: u64,
    phase: u8,
}

impl Steps {
    /// Steps of `pages` pages with `degree` buffers.
    #[must_use]
    pub fn new(pages: u64, degree: usize) -> Self {
        Self {
            pages,
            degree: degree.max(1) as u64,
            prologue: 0,
            page: 0,
            phase: 0,
        }
    }

    /// The page whose turn is next, between two turns.
    pub(crate) fn turn(&self) -> Option<u64> {
        let last = self.page.saturating_add(self.degree) >= self.pages;
        match self.phase {
            _ if self.prologue < self.degree.min(self.pages) => None,
            0 => Some(self.page),
            // Nothing is left to load.
            2 if last => Some(self.page + 1),
            _ => None,
        }
    }

    /// Leaves out some turns; only between two.
    pub(crate) fn leave_out(&mut self, turns: u64) {
        self.page += turns;
    }

    fn load(&self, page: u64) -> Step {
        let before = page.checked_sub(self.degree);
        Step::new(
            StepKind::Load,
            page,
            before.map(|page| (StepKind::Store, page)),
        )
    }

    fn compute(page: u64) -> Step {
        let before = page.checked_sub(1).map(|page| (StepKind::Compute, page));
        let loaded = Some((StepKind::Load, page));
        Step::new(
            StepKind::Compute,
            page,
            [loaded, before].into_iter().flatten(),
        )
    }

    fn store(page: u64) -> Step {
        Step::new(StepKind::Store, page, [(StepKind::Compute, page)])
    }
}

impl Step {
    fn new(kind: StepKind, page: u64, after: impl IntoIterator<Item = (StepKind, u64)>) -> Self {
        let id = |(kind, page)| StepId { kind, page };
        Self {
            id: id((kind, page)),
            after: after.into_iter().map(id).collect(),
        }
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.prologue < self.degree.min(self.pages) {
            self.prologue += 1;
            return Some(self.load(self.prologue - 1));
        }
        while self.page < self.pages {
            let (page, phase) = (self.page, self.phase);
            (self.page, self.phase) = if phase == 2 {
                (page + 1, 0)
            } else {
                (page, phase + 1)
            };
            match phase {
                0 => return Some(Self::compute(page)),
                1 => return Some(Self::store(page)),
                _ => {
                    let next = page.saturating_add(self.degree);
                    if next < self.pages {
                        return Some(self.load(next));
                    }
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Buffers;
    use proptest::prelude::*;

    fn names(steps: Steps) -> String {
        steps
            .map(|s| {
                s.id.to_string()
                    .replace("load ", "L")
                    .replace("compute ", "C")
                    .replace("store ", "S")
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn page_k_computes_while_its_neighbours_move() {
        assert_eq!(
            names(Steps::new(4, 2)),
            "L0 L1 C0 S0 L2 C1 S1 L3 C2 S2 C3 S3"
        );
        assert_eq!(names(Steps::new(3, 1)), "L0 C0 S0 L1 C1 S1 L2 C2 S2");
        assert_eq!(names(Steps::new(2, 3)), "L0 L1 C0 S0 C1 S1");
        assert_eq!(names(Steps::new(0, 2)), "");
    }

    proptest! {
        /// Any order that keeps the dependencies keeps every buffer in turn.
        #[test]
        fn dependencies_alone_keep_buffers_in_turn(
            pages in 1u64..12, degree in 1usize..4, in_place: bool, choices in prop::collection::vec(any::<prop::sample::Index>(), 200)
        ) {
            let mut waiting: Vec<Step> = Steps::new(pages, degree).collect();
            prop_assert_eq!(waiting.len() as u64, 3 * pages);
            for (i, step) in waiting.iter().enumerate() {
                prop_assert!(step.after.iter().all(|d| waiting[..i].iter().any(|s| s.id == *d)));
            }
            let mut buffers = Buffers::new(degree, in_place);
            let (mut begun, mut done): (Vec<StepId>, Vec<StepId>) = (Vec::new(), Vec::new());
            for choice in choices {
                // Either finish something begun, or begin something whose dependencies are done.
                let ready: Vec<usize> = (0..waiting.len()).filter(|&i| waiting[i].after.iter().all(|d| done.contains(d))).collect();
                if ready.is_empty() && begun.is_empty() {
                    break;
                }
                let pick = choice.index(ready.len() + begun.len());
                if pick < ready.len() {
                    let step = waiting.remove(ready[pick]);
                    buffers.begin(step.id)?;
                    begun.push(step.id);
                } else {
                    let id = begun.remove(pick - ready.len());
                    buffers.end(id)?;
                    done.push(id);
                }
            }
            prop_assert!(waiting.is_empty() && begun.is_empty());
            prop_assert!(buffers.all_free());
        }
    }
}
