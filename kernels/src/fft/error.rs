//! Errors of FFT planning and running: no shape, no division, no room.

use crate::assembly::Lack;
use crate::assembly::Unfit;
use crate::job::JobError;
use cp2_asm::LinkError;
use cp2_asm::schedule::Unschedulable;
use cp2_host::PlanError;
use cp2_host::paging::deals_quads;
use cp2_machine::Machine;

/// Greatest length of which every length up to it has a transform: its convolution has the longest power of
/// two.
pub(super) const LONGEST: usize = 1 << 21;

/// Reasons for which there are no kernels for a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoShape {
    /// Fewer than two axes.
    #[error("two axes or more, expected one length for each")]
    Axes,
    /// There is no kernel for an axis of that length.
    #[error(
        "axis {axis} has {length} numbers, expected powers of two, the last from 16 to 4096, the others from 4 to 2048, before rows of up to 1024 also 4096; transform the rows of other axes as a batch of one dimension, one axis after the other"
    )]
    Length {
        /// Number of the axis, from 1.
        axis: usize,
        /// Its length.
        length: usize,
    },
    /// The array has more bytes than there are addresses.
    #[error("an array is larger than memory can be; split it")]
    Size,
    /// The DMA deals more or fewer bytes to a section at a time than two columns have.
    #[error(
        "its DMA deals {deal} bytes to a section at a time, expected 16: a couple of columns is dealt as one"
    )]
    Deal {
        /// Bytes dealt at a time.
        deal: u64,
    },
    /// The number of sections is no power of two, so that they cannot share the columns.
    #[error("its {sections} sections share the columns of powers of two, expected a power of two")]
    Sections {
        /// Sections of the machine.
        sections: usize,
    },
    /// The pages of every recipe are too large, or an axis has too few numbers behind it for one page.
    #[error(
        "no pages of it fit: behind an axis shorter than 32 there must be eight numbers or more for each of {sections} sections, behind any other two, and so many of its columns must fit in DMEM; put the axes in another order"
    )]
    Pages {
        /// Sections of the machine.
        sections: usize,
    },
    /// No pages fit a field: like [`NoShape::Pages`], but its axes cannot be put in another order.
    #[error(
        "no pages of it fit: behind an axis shorter than 32 there must be eight numbers or more for each of {sections} sections, behind any other two, and so many columns of each axis must fit in {dmem} bytes of DMEM; take longer axes, or a machine with more DMEM or fewer sections"
    )]
    Field {
        /// Sections of the machine.
        sections: usize,
        /// Bytes of a section's DMEM.
        dmem: u64,
    },
    /// No pages of lines along an axis fit a field of binary64 numbers.
    #[error(
        "no pages of lines along axis {axis} fit: {sections} sections must share the lines evenly, and pages of one line or more for each must fit in {dmem} bytes of DMEM; take other axes, or a machine with more DMEM or fewer sections"
    )]
    Lines {
        /// Number of the axis, from 1.
        axis: usize,
        /// Sections of the machine.
        sections: usize,
        /// Bytes of a section's DMEM.
        dmem: u64,
    },
}

impl NoShape {
    /// Says why a machine has no pages for a field, although there are kernels for the lengths of its axes.
    pub(super) fn explain_field(machine: &Machine) -> Self {
        let (deal, sections) = (machine.dma.dealt(), machine.cp2.sections);
        match (deals_quads(machine), sections.is_power_of_two()) {
            (false, _) => Self::Deal { deal },
            (_, false) => Self::Sections { sections },
            _ => Self::Field {
                sections,
                dmem: machine.cp2.dmem.0,
            },
        }
    }
}

/// Reasons for which a transform cannot be divided into passes over memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoDivision {
    /// The DMA deals more or fewer bytes to a section at a time than two columns have.
    #[error(
        "its DMA deals {deal} bytes to a section at a time, expected 16, a couple of columns; take a machine that has these, or a length that needs no such passes, powers of two to 2048 for example"
    )]
    Deal {
        /// Bytes dealt at a time.
        deal: u64,
    },
    /// The number of sections is no power of two, so that they cannot share the lines.
    #[error(
        "its {sections} sections share the lines of powers of two, expected a power of two; take a machine that has this, or a length that needs no such passes"
    )]
    Sections {
        /// Sections of the machine.
        sections: usize,
    },
    /// The length is no power of two from 2^10 to 2^22.
    #[error("the lengths are the powers of two from 2^10 to 2^22")]
    Length,
    /// DMEM has no room for three pages.
    #[error(
        "{dmem} bytes of DMEM have no room for three pages of its columns and of its rows; take a machine with more, or a shorter length"
    )]
    Pages {
        /// Bytes of a section's DMEM.
        dmem: u64,
    },
}

impl NoDivision {
    /// True if the machine's structure (DMA dealing, number of sections) rules the division out, whatever the
    /// sizes of its memories.
    fn is_kind(self) -> bool {
        matches!(self, Self::Deal { .. } | Self::Sections { .. })
    }

    /// Refuses passes for length `n` over the memory of a machine whose DMA does not deal two columns at a
    /// time.
    pub(super) fn deal(n: usize, machine: &Machine) -> Result<(), FftError> {
        if deals_quads(machine) {
            return Ok(());
        }
        Err(FftError::Division {
            n,
            machine: machine.name.clone(),
            cause: Self::Deal {
                deal: machine.dma.dealt(),
            },
        })
    }

    /// Says why `machine` has no division of a length; `lengths` is true if other machines have one.
    pub(super) fn explain_machine(lengths: bool, machine: &Machine) -> Self {
        let (deal, sections) = (machine.dma.dealt(), machine.cp2.sections);
        match (lengths, deals_quads(machine), sections.is_power_of_two()) {
            (false, ..) => Self::Length,
            (_, false, _) => Self::Deal { deal },
            (.., false) => Self::Sections { sections },
            _ => Self::Pages {
                dmem: machine.cp2.dmem.0,
            },
        }
    }
}

/// Reasons for which a transform cannot be planned or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FftError {
    /// There is no kernel for that length.
    #[error(
        "no FFT of length {n}: the lengths are 1 to {LONGEST} and {}, as far as the machine has memory for them; split the length",
        2 * LONGEST
    )]
    Length {
        /// The length asked for.
        n: usize,
    },
    /// There is no kernel for real transforms of that length.
    #[error(
        "no real FFT of length {n}: odd lengths go to {LONGEST}, even ones to {}, and {} is one more, as far as the machine has memory for them; split the length",
        2 * LONGEST, 4 * LONGEST
    )]
    RealLength {
        /// The length asked for.
        n: usize,
    },
    /// The transform's buffers do not fit local memory.
    #[error("`{transform}` does not fit the local memory of {machine}")]
    NoRoom {
        /// The transform.
        transform: String,
        /// The machine.
        machine: String,
    },
    /// The kernels of two passes cannot be linked into one program.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The smallest pages of the transform are larger than local memory.
    #[error(
        "no FFT of length {n} in local memory: its smallest pages, tables and working space take {needed} of the {dmem} bytes of a section; take a machine with more, or a shorter length"
    )]
    LocalMemory {
        /// The length asked for.
        n: usize,
        /// Bytes needed.
        needed: u64,
        /// Bytes of a section's DMEM.
        dmem: u64,
    },
    /// No schedule was found for a kernel.
    #[error(transparent)]
    Schedule(#[from] Unschedulable),
    /// There is no mixed-radix transform of that length.
    #[error(
        "no FFT of length {n} by radices alone: they are 2, 4, 8 and the odd prime numbers to 31, as far as local memory has room; Bluestein's algorithm has other lengths"
    )]
    Radices {
        /// The length asked for.
        n: usize,
    },
    /// There are no kernels for that shape.
    #[error("no FFT of the shape {shape:?} on {machine}: {cause}")]
    Shape {
        /// The shape asked for.
        shape: Vec<usize>,
        /// The machine.
        machine: String,
        /// Reason for which the shape has no kernels.
        cause: NoShape,
    },
    /// There is no division of that length into passes over memory.
    #[error("no FFT of length {n} in passes over the memory of {machine}: {cause}")]
    Division {
        /// The length asked for.
        n: usize,
        /// The machine.
        machine: String,
        /// Reason for which there is no division.
        cause: NoDivision,
    },
    /// The rows of a batch overlap.
    #[error(
        "rows of {n} numbers that begin {distance} apart overlap; expected a distance of {n} at least"
    )]
    Overlap {
        /// Numbers of a row.
        n: usize,
        /// Numbers from the start of a row to that of the next.
        distance: usize,
    },
    /// The batch holds no transform.
    #[error("the batch is empty; it must hold at least one transform")]
    Empty,
    /// The input is no whole number of transforms.
    #[error("the input holds {found} numbers, which is no multiple of the length {n}")]
    Ragged {
        /// The length of one transform.
        n: usize,
        /// Numbers in the input.
        found: usize,
    },
    /// The machine has too little of something for the kernel.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// Input and output do not fit the machine's system memory.
    #[error(
        "{batch} transforms of length {n} and their results do not fit the system memory of {machine}; at most {most} do"
    )]
    OutOfMemory {
        /// The length of one transform.
        n: usize,
        /// The number of transforms.
        batch: usize,
        /// The largest number that fits.
        most: usize,
        /// The machine.
        machine: String,
    },
    /// The batch cannot be paged through the machine.
    #[error(transparent)]
    Job(#[from] JobError),
}

impl FftError {
    /// Returns the more specific of two refusals: one that names what is lacking rather than that something
    /// is.
    pub(super) fn choose_more_specific(self, other: Self) -> Self {
        let says = |error: &Self| match error {
            Self::Length { .. } | Self::RealLength { .. } | Self::Radices { .. } => 0,
            Self::NoRoom { .. } | Self::LocalMemory { .. } => 1,
            // A lack that no size of local memory would mend is more specific than a lack of memory.
            Self::Division { cause, .. } if cause.is_kind() => 3,
            Self::Division { .. } | Self::Schedule(_) => 2,
            Self::Job(_) => 2,
            _ => 3,
        };
        if says(&other) > says(&self) {
            other
        } else {
            self
        }
    }

    /// Restates the refusal of an inner transform, of another length, for the transform of length `length`
    /// that uses it.
    pub(super) fn with_length(self, length: usize) -> Self {
        // The inner kernel's message would name a length that the caller did not ask for.
        if let Self::Unfit(unfit) = &self
            && let [Lack::Dmem(needed, dmem)] = unfit.lacks[..]
        {
            return Self::LocalMemory {
                n: length,
                needed,
                dmem,
            };
        }
        match self {
            Self::Division { machine, cause, .. } => Self::Division {
                n: length,
                machine,
                cause,
            },
            // The caller asked for a transform, not for pages: the error names the transform's length.
            Self::Job(JobError::Paging(PlanError::DoesNotFit {
                dmem,
                needed,
                reserved,
                ..
            })) => Self::LocalMemory {
                n: length,
                needed: needed.saturating_add(reserved),
                dmem,
            },
            other => other,
        }
    }

    /// True if the error only rules out one recipe, for lack of room or of a kernel, so that others may do.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Unfit(unfit) => unfit.is_refusal(),
            Self::NoRoom { .. }
            | Self::LocalMemory { .. }
            | Self::Division { .. }
            | Self::Schedule(_)
            | Self::Job(_)
            | Self::Length { .. }
            | Self::Radices { .. }
            | Self::RealLength { .. } => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::Lack;
    use cp2_asm::Diagnostics;

    /// A recipe whose source does not assemble is an error, not a candidate to skip.
    #[test]
    fn only_refusals_are_passed_over() {
        let unfit = |lacks| Unfit {
            kernel: "kernel".to_owned(),
            machine: "vm7".to_owned(),
            lacks,
            diagnostics: Diagnostics::default(),
        };
        let refused = |error: FftError| error.is_refusal();
        assert!(refused(unfit(vec![Lack::Dmem(65_544, 65_536)]).into()));
        assert!(refused(FftError::RealLength { n: 3 }));
        assert!(!refused(unfit(Vec::new()).into()));
        assert!(!refused(FftError::Empty));
    }
}
