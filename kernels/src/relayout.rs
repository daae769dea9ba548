//! Arrays put into another layout on the machine: rows spread out or closed up, real numbers two by two
//! or taken apart, spectra completed.
//!
//! What a word of the new array is, a function says ([`SourceOfWord`]); the rest follows from it. Words are cut into
//! *blocks* of a page each ([`block`]); blocks that are made alike, but for where they lie, are a pass of one
//! kernel ([`kernel`]), which moves lanes between quads: the DMA moves whole granules, and rows that
//! are no multiple of 16 bytes begin inside one. Nothing is computed but signs. A pass moves every byte once
//! in and once out, and takes as long as the DMA needs for that.

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
/// Words of a granule, and of a quad.
const QUAD: u64 = 4;

/// What a word of the new array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SourceOfWord {
    /// Whatever it was, unless words of its granule are written.
    Any,
    /// Zero.
    Zero,
    /// That of an array, counted from the row's start there.
    Of(u8, u64),
    /// The same with the sign changed.
    Minus(u8, u64),
}

/// Where rows of an array begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowOrigin {
    /// Byte address of the array: whole granules.
    pub(crate) address: u64,
    /// Words from a row to the next.
    pub(crate) pitch: u64,
}

/// An array in a new layout: `rows` rows whose words `word` names.
pub(crate) struct Relayout<'a> {
    /// What it does, for timelines.
    pub(crate) name: &'a str,
    /// The arrays it is made of.
    pub(crate) from: &'a [RowOrigin],
    /// Where it will be.
    pub(crate) to: RowOrigin,
    /// Its words: the last row may be a part of one.
    pub(crate) words: u64,
    /// What each of the `to.pitch` words of a row is.
    pub(crate) word: &'a dyn Fn(u64) -> SourceOfWord,
}

/// A relayout made for a machine: the passes, each with the kernel it needs.
#[derive(Debug)]
pub(crate) struct CompiledRelayout {
    name: String,
    passes: Vec<(RelayoutPageKernel, Copies)>,
}

impl Relayout<'_> {
    /// Its passes on a machine, in the way that takes the least time.
    pub(crate) fn make(&self, machine: &Machine) -> Result<CompiledRelayout, JobError> {
        let mut best: Option<(f64, CompiledRelayout)> = None;
        let mut refused = None;
        for size in block::sizes(self, machine) {
            match self.made(size, machine) {
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

    fn made(&self, size: block::ArrayCut, machine: &Machine) -> Result<CompiledRelayout, JobError> {
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
    /// Cycles that it should take, the loads of its programs included.
    pub(crate) fn expected(&self, machine: &Machine) -> f64 {
        let all = self.passes.iter();
        all.map(|(kernel, copies)| {
            let pass = kernel.pass(copies.clone());
            crate::job::load(kernel.image(), machine) + pass.expect(machine).cycles
        })
        .sum()
    }

    /// Adds its passes to a job.
    pub(crate) fn append(self, job: &mut Job) -> Result<(), JobError> {
        self.place(job)?.pass(job, None)
    }

    /// Puts its programs into a job.
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
    /// Adds its passes: where it was made for, or of other arrays and to another one, each laid out as those.
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
