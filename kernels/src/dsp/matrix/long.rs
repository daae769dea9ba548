//! Beamformer kernels for long vectors: a loop over the elements.
//!
//! A loop computes a few beams of a few snapshots; even and odd elements have sums of their own.

use crate::dsp::error::DspError;
use crate::dsp::kernel::VectorPageKernel;
use crate::dsp::plan::words;
use crate::dsp::tile::{COMPLEX, SUMS, shares};
use crate::pipeline::{BlockWriter, address};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::fmt::Write as _;

/// Quad register that holds zeros.
const ZERO: usize = 31;
/// Most beams that a loop computes.
const BEAMS: usize = 4;

/// Returns the number of numbers of a padded vector, and the number of vectors that a loop computes.
pub(super) fn sides(elements: usize, beams: usize) -> (usize, usize) {
    let groups = shares(beams, BEAMS);
    let least = groups.iter().map(|g| g.0).min().unwrap_or(1);
    let tile = SUMS.div_ceil(least).next_multiple_of(2);
    (elements.next_multiple_of(2), tile)
}

/// Builds the kernel; a block is a tile of vectors, and the rows of the matrix are padded like the vectors.
pub(super) fn build(
    weights: &[Complex32],
    (wide, beams, tile): (usize, usize, usize),
    machine: &Machine,
) -> Result<VectorPageKernel, DspError> {
    let bytes = |numbers: usize| numbers * COMPLEX;
    let mut text = format!(
        "; A complex matrix times long vectors: generated.\n.include \"page.s\"\n.macro body\n    ldx2 c4, [a15]\n    ldx2 c6, [a15 + 8]\n    \
         movi s0, {}\n    movi s1, {}\n    mov c10, c4\n    mov a11, c5\n    loop c6 {{\n",
        bytes(tile * wide),
        bytes((tile - 1) * beams),
    );
    let (mut data, mut first) = (String::new(), 0);
    let (mut times, mut beside) = (Vec::new(), 5);
    for (kind, (size, count)) in shares(beams, BEAMS).into_iter().enumerate() {
        let group = BeamGroup {
            wide,
            beams,
            tile,
            size,
            pairs: (first | beams | size) % 2 != 0,
        };
        let (own, own_words) = group.words(kind);
        let _ = writeln!(
            text,
            "    movi c8, weights{kind}\n    movi s3, {}\n    loop {count} {{\n{own}    nop\n    }}",
            bytes(size * wide)
        );
        times.push(count as u64);
        beside += 4 + own_words * count as u64;
        let _ = writeln!(data, "    .align 16\nweights{kind}:");
        let own = &weights[first * wide..][..size * count * wide];
        for group in own.chunks(size * wide) {
            for e in (0..wide).step_by(2) {
                let pairs = group.chunks(wide).map(|beam| &beam[e..e + 2]);
                data += &pairs.flatten().map(|&w| words(w)).collect::<String>();
            }
        }
        first += size * count;
    }
    let _ = write!(
        text,
        "    add c10, c10, s0\n    add a11, a11, s1\n    nop\n    }}\n.endm\n.program\n.entry start\nstart:\n    \
         lif r{}, 0.0\n    lif r{}, 0.0\n    page_begin\n    body\n    page_end\n    stop\n.dmem 0\n{data}",
        2 * ZERO,
        2 * ZERO + 1
    );
    VectorPageKernel::from_known_blocks("beamformer", text, (&times, beside), machine)
}

/// A group of beams that a loop computes for a tile of vectors.
struct BeamGroup {
    /// Number of complex numbers of a padded vector.
    wide: usize,
    /// Number of all beams.
    beams: usize,
    /// Number of vectors of a tile.
    tile: usize,
    /// Number of beams of the group.
    size: usize,
    /// True if results may begin in the middle of a quad.
    pairs: bool,
}

impl BeamGroup {
    /// Returns the number of iterations, of two elements each.
    fn iterations(&self) -> u64 {
        self.wide as u64 / 2
    }

    /// Returns the text of the loop with the words around it, and their number.
    fn words(&self, kind: usize) -> (String, u64) {
        let (tile, size) = (self.tile, self.size);
        let bytes = |numbers: usize| numbers * COMPLEX;
        let mut block = BlockWriter::default();
        for t in 0..tile {
            let offset = bytes(t * self.wide) as i64;
            block.pointer(&format!("x{t}"), ("c10", offset), 16);
        }
        block.pointer("w", ("c8", 0), bytes(2 * size) as i64);
        // Registers of sums, below the zero; those below them hold nothing here, whatever words name them.
        let register = |sum: usize| ZERO - 1 - sum;
        block.declare(&format!(".rept {}, n", register(tile * size) + 1));
        block.declare(".free q{n}");
        block.declare(".endr");
        for t in 0..tile {
            block.operation("ldq", &[&format!("x[{t}]"), &address(&format!("x{t}"), 0)]);
        }
        for b in 0..size {
            let w = format!("w[{b}]");
            block.operation("ldq", &[&w, &address("w", 16 * b as i64)]);
            for t in 0..tile {
                let sum = t * size + b;
                let first = 2 * register(sum);
                // Pairs stay in their registers, which halves of a quad would not.
                for (what, half, pair) in [("even", "lo", first), ("odd", "hi", first + 1)] {
                    let name = format!("{what}[{sum}]");
                    block.declare(&format!(".before {name}@1 = r{pair}"));
                    block.declare(&format!(".after r{pair} = {name}"));
                    let [w, x] = [&w, &format!("x[{t}]")].map(|quad| format!("{quad}.{half}"));
                    block.operation("cmadd", &[&name, &w, &x, &format!("{name}@1")]);
                }
            }
        }
        let mut before = String::new();
        let mut behind = String::new();
        for sum in 0..tile * size {
            let register = register(sum);
            let _ = writeln!(before, "    mov q{register}, q{ZERO}");
            // The results of a snapshot become adjacent.
            let [even, odd] = [2 * register, 2 * register + 1];
            let _ = writeln!(behind, "    add r{sum}, r{even}, r{odd}");
        }
        let (width, store) = if self.pairs {
            (1, "stp r")
        } else {
            (2, "stq q")
        };
        for i in (0..tile * size).step_by(width) {
            let offset = bytes(i / size * self.beams + i % size);
            let _ = writeln!(behind, "    {store}{}, [a11 + {offset}]", i / width);
        }
        let _ = writeln!(
            behind,
            "    addi a11, a11, {}\n    add c8, c8, s3",
            bytes(size)
        );
        let words = before.lines().count() + behind.lines().count() + 1;
        let block = block.text(&format!("elements{kind}"), self.iterations());
        (before + &block + &behind, words as u64)
    }
}
