//! Beamformer kernels for long vectors: a loop over the elements.
//!
//! A loop computes a few beams of a few snapshots; even and odd elements have sums of their own.

use crate::dsp::error::DspError;
use crate::dsp::kernel::{VectorPageKernel, address};
use crate::dsp::plan::words;
use crate::dsp::tile::{COMPLEX, SUMS, shares};
use crate::pipeline::{Operations, Ops};
use cp2_asm::schedule::{DataOperand, PointerStep};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::fmt::Write as _;

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
         movi s0, {}\n    movi s1, {}\n    mov a10, c4\n    mov a11, c5\n    loop c6 {{\n",
        bytes(tile * wide),
        bytes((tile - 1) * beams),
    );
    let (mut data, mut cycles, mut first) = (String::new(), 5, 0);
    let mut constants = (String::new(), String::new());
    let mut operations = Operations::default();
    for (kind, (size, count)) in shares(beams, BEAMS).into_iter().enumerate() {
        let group = BeamGroup {
            wide,
            beams,
            tile,
            size,
            pairs: (first | beams | size) % 2 != 0,
        };
        let (ops, weight, own, own_cycles) = group.words(machine)?;
        constants = (ops.load_constants(), ops.constant_table());
        operations.add(&ops.body, group.iterations() * count as u64, machine);
        let _ = writeln!(
            text,
            "    movi a{tile}, weights{kind} + {weight}\n    loop {count} {{\n{own}    nop\n    }}"
        );
        cycles += 3 + own_cycles * count as u64;
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
    text += "    add a10, a10, s0\n    add a11, a11, s1\n    nop\n    }\n.endm\n.program\n.entry start\nstart:\n";
    text += &constants.0;
    text += "    page_begin\n    body\n    page_end\n    stop\n.dmem 0\n";
    text += &constants.1;
    text += &data;
    Ok(VectorPageKernel {
        operations,
        ..VectorPageKernel::assemble("beamformer", text, cycles, machine)?
    })
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

    /// Returns constants and body, the bias of the weights' pointer, the words of the loop, and their cycles.
    fn words(&self, machine: &Machine) -> Result<(Ops, i64, String, u64), DspError> {
        let (tile, size) = (self.tile, self.size);
        let bytes = |numbers: usize| numbers * COMPLEX;
        let mut ops = Ops::new(&[0]);
        let sums: Vec<u8> = (0..tile * size).map(|_| ops.carry()).collect();
        let snapshot: Vec<_> = (0..tile)
            .map(|i| ops.body.pointer(address(i), PointerStep::Bytes(16)))
            .collect();
        let step = PointerStep::Bytes(bytes(2 * size) as i64);
        let weight = ops.body.pointer(address(tile), step);
        let x: Vec<_> = snapshot
            .iter()
            .map(|&from| {
                let value = ops.body.quad();
                ops.body.load(DataOperand::Whole(value), from, 0);
                value
            })
            .collect();
        for b in 0..size {
            let w = ops.body.quad();
            ops.body.load(DataOperand::Whole(w), weight, 16 * b as i64);
            for (t, &x) in x.iter().enumerate() {
                let sum = 2 * sums[t * size + b];
                for (w, x, sum) in [
                    (DataOperand::Lo(w), DataOperand::Lo(x), sum),
                    (DataOperand::Hi(w), DataOperand::Hi(x), sum + 1),
                ] {
                    let sum = DataOperand::Pair(sum);
                    ops.body.op("cmadd", &[sum], &[w, x, sum]);
                }
            }
        }
        let schedule = ops.schedule(machine)?;
        let inner = schedule.emit(self.iterations());
        let mut text = String::new();
        for (i, &pointer) in snapshot.iter().enumerate() {
            let offset = bytes(i * self.wide) as i64 + schedule.bias(pointer);
            let _ = writeln!(text, "    movi s2, {offset}\n    add a{i}, a10, s2");
        }
        for sum in &sums {
            let _ = writeln!(text, "    mov q{sum}, q31");
        }
        text += &inner.text();
        // Sums of even and of odd elements are added; the results of a snapshot become adjacent.
        for (i, sum) in sums.iter().enumerate() {
            let _ = writeln!(text, "    add r{i}, r{}, r{}", 2 * sum, 2 * sum + 1);
        }
        let (width, store) = if self.pairs {
            (1, "stp r")
        } else {
            (2, "stq q")
        };
        for i in (0..tile * size).step_by(width) {
            let offset = bytes(i / size * self.beams + i % size);
            let _ = writeln!(text, "    {store}{}, [a11 + {offset}]", i / width);
        }
        let _ = writeln!(text, "    addi a11, a11, {}", bytes(size));
        let beside = text.lines().count() - inner.text().lines().count();
        let cycles = inner.cycles + beside as u64 + 1;
        Ok((ops, schedule.bias(weight), text, cycles))
    }
}
