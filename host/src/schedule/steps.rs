//! The order of the steps, and what each waits for.

use serde::{Deserialize, Serialize};
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
    pub after: Vec<StepId>,
}

/// The steps of a plan, in the order the CPU should prefer them; an iterator
/// whose size does not depend on the number of pages.
///
/// First the loads that fill the buffers, then for every page: launch the
/// next kernel, store this page, load the page that reuses its buffer. The
/// launch comes first because an idle CP2 costs most. (With a single buffer
/// it has to come last.) A step waits only for steps listed before it.
#[derive(Clone, Debug)]
pub struct Steps {
    pages: u64,
    degree: u64,
    in_place: bool,
    prologue: u64,
    /// The page whose turn it is, and how far its turn has come.
    page: u64,
    phase: u8,
}

impl Steps {
    /// Steps of `pages` pages with `degree` buffers.
    #[must_use]
    pub fn new(pages: u64, degree: usize, in_place: bool) -> Self {
        Self {
            pages,
            degree: degree.max(1) as u64,
            in_place,
            prologue: 0,
            page: 0,
            phase: 0,
        }
    }

    fn load(&self, page: u64) -> Step {
        let mut after = Vec::new();
        if let Some(before) = page.checked_sub(self.degree) {
            let kind = if self.in_place {
                StepKind::Store
            } else {
                StepKind::Compute
            };
            after.push(StepId { kind, page: before });
        }
        Step {
            id: StepId {
                kind: StepKind::Load,
                page,
            },
            after,
        }
    }

    fn compute(&self, page: u64) -> Step {
        let mut after = vec![StepId {
            kind: StepKind::Load,
            page,
        }];
        if let Some(before) = page.checked_sub(1) {
            after.push(StepId {
                kind: StepKind::Compute,
                page: before,
            });
        }
        if let Some(before) = page.checked_sub(self.degree).filter(|_| !self.in_place) {
            after.push(StepId {
                kind: StepKind::Store,
                page: before,
            });
        }
        Step {
            id: StepId {
                kind: StepKind::Compute,
                page,
            },
            after,
        }
    }

    fn store(page: u64) -> Step {
        Step {
            id: StepId {
                kind: StepKind::Store,
                page,
            },
            after: vec![StepId {
                kind: StepKind::Compute,
                page,
            }],
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
        // Turn of page p: compute p, store p-1, load p-1+degree; one turn more stores the last page.
        let order = if self.degree == 1 {
            [1, 2, 0]
        } else {
            [0, 1, 2]
        };
        while self.page <= self.pages {
            let (page, phase) = (self.page, usize::from(self.phase));
            (self.page, self.phase) = if phase == 2 {
                (page + 1, 0)
            } else {
                (page, self.phase + 1)
            };
            let before = page.checked_sub(1);
            match order[phase] {
                0 if page < self.pages => return Some(self.compute(page)),
                1 => {
                    if let Some(before) = before {
                        return Some(Self::store(before));
                    }
                }
                2 => {
                    let next = before
                        .map(|b| b.saturating_add(self.degree))
                        .filter(|&n| n < self.pages);
                    if let Some(next) = next {
                        return Some(self.load(next));
                    }
                }
                _ => {}
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
            names(Steps::new(4, 2, true)),
            "L0 L1 C0 C1 S0 L2 C2 S1 L3 C3 S2 S3"
        );
        assert_eq!(names(Steps::new(3, 1, true)), "L0 C0 S0 L1 C1 S1 L2 C2 S2");
        assert_eq!(names(Steps::new(2, 3, false)), "L0 L1 C0 C1 S0 S1");
        assert_eq!(names(Steps::new(0, 2, false)), "");
    }

    proptest! {
        /// Any order that keeps the dependencies keeps every buffer in turn.
        #[test]
        fn dependencies_alone_keep_buffers_in_turn(
            pages in 1u64..12, degree in 1usize..4, in_place: bool, choices in prop::collection::vec(any::<prop::sample::Index>(), 200)
        ) {
            let mut waiting: Vec<Step> = Steps::new(pages, degree, in_place).collect();
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
