//! Page buffers as an explicit state machine.
//!
//! ```text
//! in place:  free -> filling -> ready -> computing -> computed -> draining -> free
//! separate:  free -> filling -> ready -> computing -> free          (input)
//!            free -> computing -> computed -> draining -> free      (output)
//! ```

use super::steps::{StepId, StepKind};
use std::fmt;

/// What a page buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferState {
    /// Nothing of use.
    Free,
    /// A load is under way.
    Filling(u64),
    /// Loaded.
    Ready(u64),
    /// The kernel works on it.
    Computing(u64),
    /// Results.
    Computed(u64),
    /// A store is under way.
    Draining(u64),
}

impl fmt::Display for BufferState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Free => write!(f, "free"),
            Self::Filling(p) => write!(f, "being filled with page {p}"),
            Self::Ready(p) => write!(f, "ready with page {p}"),
            Self::Computing(p) => write!(f, "computing page {p}"),
            Self::Computed(p) => write!(f, "holding the results of page {p}"),
            Self::Draining(p) => write!(f, "being drained of page {p}"),
        }
    }
}

/// Which buffer of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// An input buffer, or the only kind where pages are computed in place.
    Input(usize),
    /// An output buffer.
    Output(usize),
}

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(i) => write!(f, "input buffer {i}"),
            Self::Output(i) => write!(f, "output buffer {i}"),
        }
    }
}

/// The two ends of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The step begins.
    Begin,
    /// The step is complete.
    End,
}

/// A step that finds a buffer in the wrong state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} of {step}: {buffer} is {found}; it should be {expected}", match .transition { Transition::Begin => "begin", Transition::End => "end" })]
pub struct BufferError {
    /// The step.
    pub step: StepId,
    /// Its begin or its end.
    pub transition: Transition,
    /// The buffer.
    pub buffer: Buffer,
    /// What it holds.
    pub found: BufferState,
    /// What it should hold.
    pub expected: BufferState,
}

/// All page buffers of a plan.
#[derive(Clone, Debug)]
pub struct Buffers {
    input: Vec<BufferState>,
    /// Empty where pages are computed in place.
    output: Vec<BufferState>,
}

impl Buffers {
    /// `degree` free buffers for inputs, and as many for outputs unless `in_place`.
    #[must_use]
    pub fn new(degree: usize, in_place: bool) -> Self {
        let free = vec![BufferState::Free; degree.max(1)];
        Self {
            output: if in_place { Vec::new() } else { free.clone() },
            input: free,
        }
    }

    /// Whether nothing is in use.
    #[must_use]
    pub fn all_free(&self) -> bool {
        self.input
            .iter()
            .chain(&self.output)
            .all(|&s| s == BufferState::Free)
    }

    /// A step begins.
    ///
    /// # Errors
    /// A buffer of the step's page is not in the state the step needs.
    pub fn begin(&mut self, step: StepId) -> Result<(), BufferError> {
        self.apply(step, Transition::Begin)
    }

    /// A step is complete.
    ///
    /// # Errors
    /// The step had not begun.
    pub fn end(&mut self, step: StepId) -> Result<(), BufferError> {
        self.apply(step, Transition::End)
    }

    fn apply(&mut self, step: StepId, transition: Transition) -> Result<(), BufferError> {
        use BufferState::{Computed, Computing, Draining, Filling, Free, Ready};
        let p = step.page;
        let i = (p % self.input.len() as u64) as usize;
        let in_place = self.output.is_empty();
        let out = if in_place {
            Buffer::Input(i)
        } else {
            Buffer::Output(i)
        };
        let moves: &[(Buffer, BufferState, BufferState)] = match (step.kind, transition) {
            (StepKind::Load, Transition::Begin) => &[(Buffer::Input(i), Free, Filling(p))],
            (StepKind::Load, Transition::End) => &[(Buffer::Input(i), Filling(p), Ready(p))],
            (StepKind::Compute, Transition::Begin) if in_place => &[(out, Ready(p), Computing(p))],
            (StepKind::Compute, Transition::Begin) => &[
                (Buffer::Input(i), Ready(p), Computing(p)),
                (out, Free, Computing(p)),
            ],
            (StepKind::Compute, Transition::End) if in_place => &[(out, Computing(p), Computed(p))],
            (StepKind::Compute, Transition::End) => &[
                (Buffer::Input(i), Computing(p), Free),
                (out, Computing(p), Computed(p)),
            ],
            (StepKind::Store, Transition::Begin) => &[(out, Computed(p), Draining(p))],
            (StepKind::Store, Transition::End) => &[(out, Draining(p), Free)],
        };
        for &(buffer, expected, _) in moves {
            let found = *self.slot(buffer);
            if found != expected {
                return Err(BufferError {
                    step,
                    transition,
                    buffer,
                    found,
                    expected,
                });
            }
        }
        for &(buffer, _, next) in moves {
            *self.slot(buffer) = next;
        }
        Ok(())
    }

    fn slot(&mut self, buffer: Buffer) -> &mut BufferState {
        match buffer {
            Buffer::Input(i) => &mut self.input[i],
            Buffer::Output(i) => &mut self.output[i],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(kind: StepKind, page: u64) -> StepId {
        StepId { kind, page }
    }

    #[test]
    fn an_early_load_is_named() {
        let mut buffers = Buffers::new(2, true);
        buffers.begin(step(StepKind::Load, 0)).unwrap();
        buffers.end(step(StepKind::Load, 0)).unwrap();
        buffers.begin(step(StepKind::Compute, 0)).unwrap();
        let error = buffers.begin(step(StepKind::Load, 2)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "begin of load 2: input buffer 0 is computing page 0; it should be free"
        );
        assert_eq!(error.found, BufferState::Computing(0));
    }

    #[test]
    fn separate_outputs_block_the_next_compute() {
        let mut buffers = Buffers::new(1, false);
        for page in 0..2 {
            buffers.begin(step(StepKind::Load, page)).unwrap();
            buffers.end(step(StepKind::Load, page)).unwrap();
            if page == 0 {
                buffers.begin(step(StepKind::Compute, page)).unwrap();
                buffers.end(step(StepKind::Compute, page)).unwrap();
            }
        }
        let error = buffers.begin(step(StepKind::Compute, 1)).unwrap_err();
        assert_eq!(
            (error.buffer, error.found),
            (Buffer::Output(0), BufferState::Computed(0))
        );
    }
}
