//! Beamformer kernels for short vectors, unrolled over all elements.
//!
//! An iteration computes a few beams of a few snapshots; iterations follow each other without a pause.

use crate::dsp::error::DspError;
use crate::dsp::kernel::VectorPageKernel;
use crate::dsp::plan::words;
use crate::dsp::tile::{self, COMPLEX, Factor, SUMS};
use crate::pipeline::BlockWriter;
use cp2_machine::Machine;
use num_complex::Complex32;
use std::fmt::Write as _;

/// Number of elements of the longest vector: a page's loop has to hold two kinds of groups of beams.
pub(super) const MOST: usize = 64;
/// Approximate number of complex products of a snapshot and a group of beams.
const GROUP: usize = 256;
/// Approximate cycles of a block: filling the pipeline then takes 1 or 2 % of it.
const BLOCK: usize = 2048;

/// The division of vectors and beams into tiles, groups and blocks.
#[derive(Clone, Debug)]
pub(super) struct VectorCut {
    elements: usize,
    beams: usize,
    /// Groups of beams: number of beams, and number of such groups.
    groups: Vec<(usize, usize)>,
    /// Number of snapshots of a tile.
    tile: usize,
    /// Number of snapshots of a block.
    pub(super) block: usize,
}

impl VectorCut {
    /// Divides the work for a matrix that leaves `room` bytes of local memory.
    pub(super) fn new(elements: usize, beams: usize, room: usize) -> Self {
        let most = (GROUP / elements).clamp(SUMS / 2, SUMS);
        let groups = tile::shares(beams, most);
        let least = groups.iter().map(|g| g.0).min().unwrap_or(1);
        // An even number of vectors ends at the end of a quad.
        let tile = SUMS.div_ceil(least).next_multiple_of(2);
        let wanted = BLOCK.div_ceil(tile * most.min(beams) * elements);
        let pages = 2 * tile * COMPLEX * (elements + beams);
        let block = tile * wanted.min(room / pages).max(1);
        Self {
            elements,
            beams,
            groups,
            tile,
            block,
        }
    }

    /// Builds the kernel for a matrix of `beams` rows.
    pub(super) fn build(
        &self,
        weights: &[Complex32],
        machine: &Machine,
    ) -> Result<VectorPageKernel, DspError> {
        let bytes = |numbers: usize| numbers * COMPLEX;
        let (mut inner, mut data) = (String::new(), String::new());
        let (mut first, mut times, mut beside) = (0, Vec::new(), 5);
        for (kind, &(size, count)) in self.groups.iter().enumerate() {
            let x = Factor {
                name: "x",
                place: |t, e| t * self.elements + e,
            };
            let y = Factor {
                name: "y",
                place: |t, b| t * self.beams + first + b,
            };
            let w = Factor {
                name: "w",
                place: |e, b| e * size.next_multiple_of(2) + b,
            };
            let step = |numbers: usize| bytes(self.tile * numbers) as i64;
            let mut block = BlockWriter::default();
            block.pointer("x", ("c4", 0), step(self.elements));
            block.pointer("y", ("c9", 0), step(self.beams));
            block.pointer("w", ("c10", 0), 0);
            block.declare(".apart");
            block.declare(".order");
            // Further groups begin at the beginning of a quad, if their size is even.
            let quads = size % 2 == 0 || count == 1;
            tile::block(
                &mut block,
                (&x, &w, &y),
                (0..self.tile, 0..size, self.elements),
                (quads, 1),
            );
            let tiles = (self.block / self.tile) as u64;
            let table = bytes(self.elements * size.next_multiple_of(2));
            let _ = writeln!(
                inner,
                "    movi c10, weights{kind}\n    mov c9, c5\n    movi s4, {table}\n    loop {count} {{\n{}    \
                 add c10, c10, s4\n    addi c9, c9, {}\n    nop\n    }}",
                block.text(&format!("tiles{kind}"), tiles),
                bytes(size)
            );
            times.push(count as u64);
            beside += 6 + 3 * count as u64;
            let _ = writeln!(data, "    .align 16\nweights{kind}:");
            let own = &weights[first * self.elements..][..size * count * self.elements];
            for group in own.chunks(size * self.elements) {
                for e in 0..self.elements {
                    for b in 0..size.next_multiple_of(2) {
                        let place = b * self.elements + e;
                        let w = group.get(place).copied().unwrap_or_default();
                        data += &words(w);
                    }
                }
            }
            first += size * count;
        }
        let text = format!(
            "; A complex matrix times short vectors: generated.\n.include \"page.s\"\n.macro body\n    ldx2 c4, [a15]\n    ldx2 c6, [a15 + 8]\n    \
             movi s0, {}\n    movi s1, {}\n    loop c6 {{\n{inner}    add c4, c4, s0\n    add c5, c5, s1\n    nop\n    }}\n.endm\n\
             .program\n.entry start\nstart:\n    page_begin\n    body\n    page_end\n    stop\n.dmem 0\n{data}",
            bytes(self.block * self.elements),
            bytes(self.block * self.beams),
        );
        VectorPageKernel::from_known_blocks("beamformer", text, (&times, beside), machine)
    }
}
