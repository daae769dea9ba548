//! Copies of arrays into another layout, by kernels of the machine.
//!
//! Rows are spread out or closed up, real numbers interleaved or separated, half spectra completed by
//! conjugates.
//!
//! A function names the source of each word of the new array ([`SourceOfWord`]); all else follows from it.
//! The words are cut into *blocks* of a page each ([`block`]). Blocks that are made alike, but for their
//! addresses, are a pass of one kernel ([`kernel`]), which moves lanes between quads: the DMA moves whole
//! granules only, and rows that are no multiple of 16 bytes begin inside a granule. Nothing but signs is
//! computed. A pass moves every byte once in and once out, and takes as long as the DMA needs for that.

mod block;
mod kernel;
mod pages;
mod run;

pub(crate) use block::PAGE;

use crate::job::{Job, JobError};
use cp2_host::PlacedProgram;
use cp2_machine::Machine;
use kernel::RelayoutPageKernel;
use pages::Copies;

/// Bytes of a word: a real number, or a part of a complex one.
pub(crate) const WORD: u64 = 4;
/// Words of a quad, which are 16 bytes.
const QUAD: u64 = 4;

/// The source of a word of the new array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SourceOfWord {
    /// Any value: the word keeps its old value, unless other words of its granule are written.
    Any,
    /// Zero.
    Zero,
    /// The word of an array: the number of the array, and the word counted from the start of the row there.
    Of(u8, u64),
    /// The word of an array with its sign changed: the number of the array, and the word counted from the
    /// start of the row there.
    Minus(u8, u64),
}

/// Address and pitch of the rows of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowOrigin {
    /// Byte address of the array: whole granules.
    pub(crate) address: u64,
    /// Number of words from the start of a row to the start of the next.
    pub(crate) pitch: u64,
}

/// An array to be made in a new layout: rows whose words `word` names.
pub(crate) struct Relayout<'a> {
    /// Name on timelines.
    pub(crate) name: &'a str,
    /// The arrays that it is made of.
    pub(crate) from: &'a [RowOrigin],
    /// Address and pitch of the new array.
    pub(crate) to: RowOrigin,
    /// Number of words of the new array; the last row may be incomplete.
    pub(crate) words: u64,
    /// Function that names the source of each of the `to.pitch` words of a row.
    pub(crate) word: &'a dyn Fn(u64) -> SourceOfWord,
}

/// A relayout made for a machine: the passes, each with the kernel it needs.
#[derive(Debug)]
pub(crate) struct CompiledRelayout {
    name: String,
    passes: Vec<(RelayoutPageKernel, Copies)>,
}

impl Relayout<'_> {
    /// Compiles the relayout for a machine, cut in the way that takes the fewest cycles.
    pub(crate) fn compile(&self, machine: &Machine) -> Result<CompiledRelayout, JobError> {
        let mut best: Option<(f64, CompiledRelayout)> = None;
        let mut refused = None;
        for size in block::sizes(self, machine) {
            match self.compile_cut(size, machine) {
                Ok(made) => {
                    let cycles = made.expected(machine);
                    if best.as_ref().is_none_or(|(least, _)| cycles < *least) {
                        best = Some((cycles, made));
                    }
                }
                Err(e) => refused = Some(e),
            }
        }
        match (best, refused) {
            (Some((_, made)), _) => Ok(made),
            (None, Some(e)) => Err(e),
            (None, None) => Ok(CompiledRelayout {
                name: self.name.to_owned(),
                passes: Vec::new(),
            }),
        }
    }

    /// Compiles the relayout with blocks of one size.
    fn compile_cut(
        &self,
        size: block::ArrayCut,
        machine: &Machine,
    ) -> Result<CompiledRelayout, JobError> {
        let mut passes = Vec::new();
        for copies in block::copies(self, size, machine) {
            let kernel = RelayoutPageKernel::new(self.name, &copies, machine)?;
            passes.push((kernel, copies));
        }
        Ok(CompiledRelayout {
            name: self.name.to_owned(),
            passes,
        })
    }
}

impl CompiledRelayout {
    /// Returns the cycles that the relayout should take, the loads of its programs included.
    pub(crate) fn expected(&self, machine: &Machine) -> f64 {
        let all = self.passes.iter();
        all.map(|(kernel, copies)| {
            let pass = kernel.pass(copies.clone());
            crate::job::load(kernel.image(), machine) + pass.expect(machine).cycles
        })
        .sum()
    }

    /// Adds the programs and passes to a job.
    pub(crate) fn append(self, job: &mut Job) -> Result<(), JobError> {
        self.place(job)?.pass(job, None)
    }

    /// Places the programs in a job.
    pub(crate) fn place(self, job: &mut Job) -> Result<PlacedRelayout, JobError> {
        let Self { name, passes } = self;
        let passes = passes.into_iter().map(|(kernel, copies)| {
            let program = job.program(&name, &kernel.program)?;
            Ok((program, kernel, copies))
        });
        Ok(PlacedRelayout(passes.collect::<Result<_, JobError>>()?))
    }
}

/// A relayout whose programs are in a job.
#[derive(Debug)]
pub(crate) struct PlacedRelayout(Vec<(PlacedProgram, RelayoutPageKernel, Copies)>);

impl PlacedRelayout {
    /// Adds the passes: for the arrays that the relayout was made for, or from other arrays to another,
    /// `others`, each with the same layout as the original one.
    pub(crate) fn pass(
        &self,
        job: &mut Job,
        others: Option<(&[u64], u64)>,
    ) -> Result<(), JobError> {
        for (program, kernel, copies) in &self.0 {
            let copies = match others {
                Some(others) => copies.with_addresses(others),
                None => copies.clone(),
            };
            job.relayout(program, "start", kernel.pass(copies))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
