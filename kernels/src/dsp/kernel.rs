//! Page kernels of vectors and matrices, assembled.

use super::error::DspError;
use crate::assembly::assembly;
use crate::pipeline::Operations;
use cp2_asm::{BlockReport, Program, Source};
use cp2_machine::Machine;
use std::sync::Arc;

/// A page kernel, assembled.
#[derive(Debug)]
pub(super) struct VectorPageKernel {
    pub(super) program: Arc<Program>,
    pub(super) source: String,
    /// Cycles of a block by its schedule.
    pub(super) cycles: u64,
    /// Operations of a block by its linear blocks; none for kernels without.
    pub(super) operations: Operations,
    blocks: Vec<BlockReport>,
}

/// Intervals, a cycle apart from the least one on, that are tried before a loop is stretched.
const TRIED: u64 = 64;

/// Files of linear assembly.
const FILES: [(&str, &str); 5] = [
    ("map.s", include_str!("map.s")),
    ("rows.s", include_str!("rows.s")),
    ("reductions.s", include_str!("reductions.s")),
    ("largest.s", include_str!("largest.s")),
    ("transpose.s", include_str!("transpose.s")),
];

/// Finds a file of linear assembly.
fn find_file(name: &str, _from: &str) -> Result<Source, String> {
    let found = FILES.iter().find(|(file, _)| *file == name);
    found.map_or_else(
        || Err("no such file".to_owned()),
        |&(file, text)| Ok(Source::new(file, text)),
    )
}

impl VectorPageKernel {
    /// Assembles the text of a kernel whose linear blocks run so many iterations for a block of a page, and that
    /// issues so many words beside them.
    pub(super) fn from_blocks(
        name: &str,
        text: String,
        (iterations, beside): (&[usize], usize),
        machine: &Machine,
    ) -> Result<Self, DspError> {
        let mut kernel = Self::assemble(name, text, beside as u64, machine)?;
        for (block, &iterations) in kernel.blocks.iter().zip(iterations) {
            kernel.operations.add_block(block, iterations as u64);
            kernel.cycles += block.count_cycles(iterations as u64);
        }
        Ok(kernel)
    }

    /// Assembles the text of a kernel whose linear blocks, of iterations that are known, are carried out so many times
    /// for a block of a page, and that issues so many words beside them.
    pub(super) fn from_known_blocks(
        name: &str,
        text: String,
        (times, beside): (&[u64], u64),
        machine: &Machine,
    ) -> Result<Self, DspError> {
        let mut kernel = Self::assemble(name, text, beside, machine)?;
        for (block, &times) in kernel.blocks.iter().zip(times) {
            let iterations = block.iterations.unwrap_or(1);
            kernel.operations.add_block(block, iterations * times);
            kernel.cycles += block.count_cycles(iterations) * times;
        }
        Ok(kernel)
    }

    /// Assembles the text of a kernel that takes `cycles` cycles a block beside its linear blocks.
    pub(super) fn assemble(
        name: &str,
        text: String,
        cycles: u64,
        machine: &Machine,
    ) -> Result<Self, DspError> {
        let options = cp2_asm::Options {
            machine: Some(machine),
            include: Some(&find_file),
            ..cp2_asm::Options::default()
        };
        let source = Source::new(name, text.clone());
        let assembly = assembly(name, (&source, ""), &options)?;
        Ok(Self {
            program: Arc::new(assembly.program),
            source: text,
            cycles,
            operations: Operations::default(),
            blocks: assembly.blocks,
        })
    }

    /// Returns true if some block has registers only for an interval much longer than the least.
    pub(super) fn is_stretched(&self) -> bool {
        let mut blocks = self.blocks.iter();
        blocks.any(|block| block.interval >= block.bound + TRIED)
    }
}
