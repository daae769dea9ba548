//! Page buffers as an explicit state machine, for tests.
//!
//! ```text
//! in place:  free -> filling -> ready -> computing -> computed -> draining -> free
//! separate:  free -> filling -> ready -> computing -> free          (input)
//!            free -> computing -> computed -> draining -> free      (output)
//! ```

use std::fmt;

/// Kind of a step of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Load,
    Compute,
    Store,
}

/// A step of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepId {
    pub(super) kind: StepKind,
    pub(super) page: u64,
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.page)
    }
}

/// Content of a page buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BufferState {
    /// No content of use.
    Free,
    /// A load is under way.
    Filling(u64),
    /// A loaded page.
    Ready(u64),
    /// A page that the kernel works on.
    Computing(u64),
    /// Results of a page.
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

/// A buffer of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Buffer {
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
pub(super) enum Transition {
    /// The step begins.
    Begin,
    /// The step is complete.
    End,
}

/// A step that finds a buffer in the wrong state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} of {step}: {buffer} is {found}; it should be {expected}", match .transition { Transition::Begin => "begin", Transition::End => "end" })]
pub(super) struct BufferError {
    /// The step.
    pub(super) step: StepId,
    /// Beginning or end of the step.
    pub(super) transition: Transition,
    /// The buffer.
    pub(super) buffer: Buffer,
    /// State of the buffer.
    pub(super) found: BufferState,
    /// State that the step needs.
    pub(super) expected: BufferState,
}

/// All page buffers of a plan.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    input: Vec<BufferState>,
    /// Empty where pages are computed in place.
    output: Vec<BufferState>,
}

impl Buffers {
    /// Creates `degree` free buffers for inputs, and as many for outputs unless `in_place`.
    pub(super) fn new(degree: usize, in_place: bool) -> Self {
        let free = vec![BufferState::Free; degree.max(1)];
        Self {
            output: if in_place { Vec::new() } else { free.clone() },
            input: free,
        }
    }

    /// Returns true if no buffer is in use.
    pub(super) fn all_free(&self) -> bool {
        self.input
            .iter()
            .chain(&self.output)
            .all(|&s| s == BufferState::Free)
    }

    /// Notes that a step begins.
    ///
    /// # Errors
    /// A buffer of the step's page is not in the state the step needs.
    pub(super) fn begin(&mut self, step: StepId) -> Result<(), BufferError> {
        self.apply(step, Transition::Begin)
    }

    /// Notes that a step is complete.
    ///
    /// # Errors
    /// The step had not begun.
    pub(super) fn end(&mut self, step: StepId) -> Result<(), BufferError> {
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
