//! Listed pages of resident kernels: their steps, loads and pass.

use super::{PackingWork, SparseError};
use crate::assembly::{Unfit, assembly};
use crate::job::{Job, JobError};
use cp2_asm::{Options, Program, Source, Value};
use cp2_dma::{Descriptor, Target};
use cp2_emu::cycles::{Counter, KernelInterval};
use cp2_host::PlacedProgram;
use cp2_host::paging::{ListedPage, ListedPass};
use cp2_machine::Machine;
use std::sync::Arc;

/// Operations for a step of a page that is followed to count its cycles: four words of its code change
/// scalars, at ten operations each. Two look-ups in tables are counted separately.
const FOLLOWED_STEP_OPERATIONS: u64 = 40;

/// Index of a page with nothing to do, behind which the kernel ends.
const EMPTY_PAGE: [u32; 8] = [u32::MAX, 0, 0, 0, 0, 0, 0, 0];

/// Assembles a resident kernel with constants, for users of name `kernel`. It may include the copy of a segment of
/// the vector.
pub(super) fn assemble_resident(
    kernel: &str,
    text: &str,
    symbols: &[(&str, i64)],
    machine: &Machine,
) -> Result<Program, Unfit> {
    let include = |name: &str, _from: &str| match name {
        "shifted_segment.s" => Ok(Source::new(name, include_str!("shifted_segment.s"))),
        _ => Err("no such kernel source".to_owned()),
    };
    let define = |&(name, value): &(&str, i64)| (name.to_owned(), Value::Int(value));
    let options = Options {
        defines: symbols.iter().map(define).collect(),
        machine: Some(machine),
        include: Some(&include),
        ..Options::default()
    };
    let source = Source::new(format!("{kernel}.s"), text);
    Ok(assembly(kernel, (&source, ""), &options)?.program)
}

/// Returns the steps of a resident kernel for all pages: index and followed steps of each. `buffers` are the
/// addresses of indices. Each page is counted by itself, as no operation is pending behind it.
pub(super) fn count_steps<'a>(
    program: &Program,
    buffers: &[u32],
    pages: impl Iterator<Item = (&'a [u32], usize)>,
    (machine, work): (&Machine, &PackingWork),
) -> Result<Vec<KernelInterval>, SparseError> {
    let mut counters = Vec::with_capacity(buffers.len());
    for next in buffers.iter().cycle().skip(1).take(buffers.len()) {
        // Each page is followed by an empty one.
        let empty = vec![(*next, EMPTY_PAGE.to_vec())];
        let entry = program.entry.into();
        counters.push(Counter::new(&program.words, entry, empty, machine)?);
    }
    let mut steps = Vec::new();
    for (number, (index, followed)) in pages.enumerate() {
        let buffer = number % buffers.len().max(1);
        let (Some(counter), Some(&at)) = (counters.get_mut(buffer), buffers.get(buffer)) else {
            continue;
        };
        work.add(followed, FOLLOWED_STEP_OPERATIONS);
        work.count_lookups(2 * followed);
        let counted = counter.count(machine, at, (at, index))?;
        let from = usize::from(number > 0);
        // Steps up to the signal of the page, and up to the wait for the next page or the end.
        steps.extend(counted.steps().skip(from).take(3 - from));
    }
    Ok(steps)
}

/// Places in system memory of what the next page loads.
#[derive(Debug)]
pub(super) struct PageSources {
    /// Words of all sections, those of one behind those of another.
    pub(super) streams: u64,
    /// Words of section 0.
    pub(super) index: u64,
    pub(super) sections: usize,
}

impl PageSources {
    /// Returns the load of the next page's words of all sections to an address; none where there are none.
    pub(super) fn load_stream(&mut self, words: usize, local: u32) -> Option<Descriptor> {
        let each = 4 * (words / self.sections.max(1)) as u64;
        let blocks = Target::Blocks {
            stride: each as i64,
        };
        let from = self.streams;
        self.streams += each * self.sections as u64;
        (each > 0).then(|| Descriptor::load(blocks, from, local, each))
    }

    /// Returns the load of the next page's index to an address.
    pub(super) fn load_index(&mut self, words: usize, local: u32) -> Descriptor {
        let bytes = 4 * words as u64;
        let from = self.index;
        self.index += bytes;
        Descriptor::load(Target::Section(0), from, local, bytes)
    }
}

/// A resident kernel in a job, and its steps.
#[derive(Clone, Debug)]
pub(super) struct PlacedResident {
    placed: PlacedProgram,
    program: Arc<Program>,
    steps: Arc<Vec<KernelInterval>>,
}

impl PlacedResident {
    /// Puts a program into the system memory of a job.
    pub(super) fn new(
        job: &mut Job,
        name: &'static str,
        (program, steps): (&Arc<Program>, &Arc<Vec<KernelInterval>>),
    ) -> Result<Self, JobError> {
        Ok(Self {
            placed: job.program(name, program)?,
            program: program.clone(),
            steps: steps.clone(),
        })
    }

    /// Adds a pass over pages to a job, whose indices lie in turn at the addresses `buffers`.
    pub(super) fn pass(&self, job: &mut Job, buffers: &[u32], pages: Vec<ListedPage>) {
        let pass = ListedPass {
            pages,
            buffers: buffers.len(),
            address: buffers.first().copied().unwrap_or(0),
            steps: self.steps.clone(),
            protection: None,
        };
        job.listed(&self.placed, self.program.entry.into(), pass);
    }
}
