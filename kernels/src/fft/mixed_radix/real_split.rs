//! Real to complex: the last pass of a half-length FFT, with the split.
//!
//! The pass is between the transform of M complex numbers and that of N = 2M real ones; `real_merge` has the
//! inverse.
//!
//! `z[j] = x[2j] + i x[2j+1]` is the real input as it lies in memory, Z its
//! transform, and with `w = exp(-2 pi i k/N)`, `P = Z[k]`, `Q = Z[M-k]` (`Z[M] = Z[0]`):
//!
//! * real to complex, from Z/2, which the first pass of the transform makes:
//!   `S, D = P +- conj Q`, `X[k], conj X[M-k] = S -+ i w D`: 2 butterflies for two
//!   numbers, and a conjugation, which as a quad operation serves two transforms;
//! * complex to real: `S, D = P +- conj Q`, `Z[k], conj Z[M-k] = S +- i conj(w) D`
//!   with `P = X[k]`, `Q = X[M-k]`: 2 butterflies for two numbers. It gives N times the input.
//!
//! Either is done together with a pass of the transform, of radix r: columns c
//! and L - c of the last (or, with L = M/r, the first) pass have all the partners of
//! their numbers, number c + m L being that of (L - c) + (r - 1 - m) L. Columns 0 and
//! L/2, whose numbers are partners of each other, make a loop of their own.
//!
//! The halves of a quad are two transforms, or columns c and c + 1 of one, c even: then their
//! partners, columns L - c and L - c - 1, are single numbers, and columns 1 and L - 1, or where L/2 is
//! odd its neighbours, are in the loop of their own.

use super::assembly_text::AssemblyText;
use super::butterflies::{ColumnDft, LANES};
use super::column_loop::{COMPLEX, ColumnLoop, PointerBase, PointerWalk, QUAD};
use super::quad_lanes::{LaneAddress, LaneNumber, quad_lanes, separate};
use super::radix_constants::{RadixConstant, constants, powers};
use super::radix_operands::RadixOperands;
use super::stockham_pass::LaneAssignment;
use crate::fft::TransformDirection;
use crate::pipeline::{BodyOperand, BodyPointer, BodyValue};

/// The pass that splits or merges, together with a pass of the transform, over a block of 2V transforms, or
/// of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct RealPass {
    /// Complex numbers of a transform, M.
    pub(super) m: usize,
    pub(super) pairs: usize,
    /// Assignment of the halves of a quad; for columns `pairs` is 1, L even and at least 6.
    pub(super) lanes: LaneAssignment,
    /// Radix of the pass of the transform that is done together with it; 1 for none.
    pub(super) radix: usize,
    /// Address register of the block that is read.
    pub(super) from: u8,
    /// Address register of the block that is written.
    pub(super) to: u8,
}

impl RealPass {
    /// Returns the columns of the transform's pass, L = M/r.
    pub(super) fn columns(&self) -> usize {
        self.m / self.radix
    }

    /// Returns the columns of a transform that a quad holds, 1 or 2.
    fn width(&self) -> usize {
        self.lanes.width()
    }

    /// Returns the number of columns c > 0 with c < L - c.
    fn couples(&self) -> usize {
        (self.columns() - 1) / 2
    }

    /// Lists the columns c of the loop over pairs of columns c and L - c, the first of each quad.
    fn coupled(&self) -> impl Iterator<Item = usize> + use<> {
        (self.width()..=self.couples() + 1 - self.width()).step_by(self.width())
    }

    /// Returns the iterations over pairs of columns c and L - c.
    pub(super) fn iterations(&self) -> usize {
        self.coupled().count() * self.pairs / self.couples_per_iteration()
    }

    /// Lists the columns that have a loop of their own, by quads.
    pub(super) fn single_columns(&self) -> Vec<Vec<usize>> {
        let columns = self.columns();
        match self.lanes {
            LaneAssignment::Columns => {
                let mut alone = vec![vec![0, columns / 2], vec![1, columns - 1]];
                if !columns.is_multiple_of(4) {
                    // The column before an odd L/2 has no other in its quad.
                    alone.push(vec![columns / 2 - 1, columns / 2 + 1]);
                }
                alone
            }
            LaneAssignment::Transforms if columns.is_multiple_of(2) => {
                vec![vec![0], vec![columns / 2]]
            }
            LaneAssignment::Transforms => vec![vec![0]],
        }
    }

    /// Lists the numbers k <= M/2 of the columns that have a loop of their own; their partners are M - k.
    pub(super) fn single_column_numbers(&self) -> Vec<usize> {
        let alone = self.single_columns().concat();
        let own = |k: &usize| alone.contains(&(k % self.columns()));
        (0..=self.m / 2).filter(own).collect()
    }

    /// Returns the lanes of number k among rows of the columns that have a loop of their own.
    pub(super) fn number_lanes(
        &self,
        alone: &[Vec<usize>],
        rows: &[Vec<BodyValue>],
        k: usize,
    ) -> Vec<BodyOperand> {
        let (c, m) = (k % self.columns(), k / self.columns());
        for (columns, rows) in alone.iter().zip(rows) {
            if let Some(lane) = columns.iter().position(|&column| column == c) {
                return match self.lanes {
                    LaneAssignment::Transforms => quad_lanes(rows[m]),
                    LaneAssignment::Columns => vec![LANES[lane](rows[m])],
                };
            }
        }
        Vec::new()
    }

    /// Returns the bytes of one number of all transforms.
    pub(super) fn quads(&self) -> i64 {
        COMPLEX * (LANES.len() / self.width() * self.pairs) as i64
    }

    /// Returns the bytes from a row of the pass to the next.
    fn round(&self) -> i64 {
        self.quads() * self.columns() as i64
    }

    /// Returns the bytes of a half spectrum.
    pub(super) fn row(&self) -> i64 {
        COMPLEX * (self.m as i64 + 1)
    }

    /// Returns the bytes of a spectrum from a row of the pass to the next.
    pub(super) fn spectrum_round(&self) -> i64 {
        COMPLEX * self.columns() as i64
    }

    /// Returns the pairs of transforms that an iteration over pairs of columns takes. With radix 1 and 2,
    /// steps and factors are more than the memory slots have room for, unless several pairs share them.
    pub(super) fn couples_per_iteration(&self) -> usize {
        let even = |&count: &usize| self.pairs.is_multiple_of(count);
        match self.radix {
            1 | 2 => [4, 2].into_iter().find(even).unwrap_or(1),
            _ => 1,
        }
    }

    /// Returns the number of different split factors of columns c and L - c: those of rows r/2 and above are
    /// -i times those of the rows below, and those of column L - c conjugates.
    pub(super) fn half(&self) -> usize {
        (self.radix / 2).max(1)
    }

    /// Adds the pointers to the spectra, upwards from the first column of the loop over pairs or downwards
    /// from its partner.
    pub(super) fn spectra(&self, looped: &mut ColumnLoop, block: u8, down: bool) -> LaneAddress {
        let (first, pairs) = (
            self.width() as i64,
            (self.pairs, self.couples_per_iteration()),
        );
        let step = if down { -COMPLEX } else { COMPLEX } * first;
        let start = if down {
            self.row() - COMPLEX * (first + 1)
        } else {
            COMPLEX * first
        };
        if self.lanes == LaneAssignment::Columns {
            let pointer = looped.stream(
                PointerBase::Register(block, start),
                PointerWalk::Bytes(step),
            );
            return match down {
                false => LaneAddress::Quad(pointer, 0),
                true => LaneAddress::Apart([(pointer, 0), (pointer, -COMPLEX)]),
            };
        }
        let inside = if down {
            COMPLEX * (self.couples() as i64 + 1)
        } else {
            0
        };
        LaneAddress::Apart([0, self.row()].map(|behind| {
            let walk = PointerWalk::step_consecutive(self.m + 1, pairs, step);
            let base = PointerBase::Register(block, behind + start);
            (looped.stream_inside(base, walk, inside), 0)
        }))
    }

    /// Adds pointers to the beginnings of both spectra of a pair, or to that of the one spectrum.
    pub(super) fn beginnings(&self, looped: &mut ColumnLoop, block: u8) -> Vec<BodyPointer> {
        if self.lanes == LaneAssignment::Columns {
            return vec![looped.stream(PointerBase::Register(block, 0), PointerWalk::Bytes(QUAD))];
        }
        // Steps between long transforms are too large for an immediate.
        let (pair, pairs) = (2 * self.row(), self.pairs as i64);
        let pointers = [0, self.row()].map(|behind| {
            let walk = PointerWalk::Modulo(pair, pair * pairs);
            looped.stream(PointerBase::Register(block, behind), walk)
        });
        pointers.to_vec()
    }

    /// Adds a pointer to a block, which steps from pair to pair.
    pub(super) fn block(&self, looped: &mut ColumnLoop, block: u8) -> BodyPointer {
        looped.stream(PointerBase::Register(block, 0), PointerWalk::Bytes(QUAD))
    }

    /// Returns the addresses of the columns of a quad in a block, where adjacent columns begin `numbers`
    /// numbers apart.
    pub(super) fn column_addresses(
        &self,
        block: BodyPointer,
        columns: &[usize],
        numbers: usize,
    ) -> LaneAddress {
        let at = |c: usize| (block, (c * numbers) as i64 * self.quads());
        match columns {
            &[c, d] => LaneAddress::Apart([at(c), at(d)]),
            columns => LaneAddress::Quad(block, columns.iter().map(|&c| at(c).1).sum()),
        }
    }

    /// Returns the addresses of a column and the next, or of its partner and the one before, `apart` bytes
    /// from each other: quads or single numbers.
    fn side(&self, pointer: BodyPointer, apart: i64) -> LaneAddress {
        match self.lanes {
            LaneAssignment::Columns if apart != COMPLEX => {
                LaneAddress::Apart([(pointer, 0), (pointer, apart)])
            }
            // With radix 1 adjacent columns have adjacent results.
            LaneAssignment::Transforms | LaneAssignment::Columns => LaneAddress::Quad(pointer, 0),
        }
    }

    /// Adds the pointers to the results of the first pass for the columns of the loop over pairs, or for
    /// their partners (`down`).
    pub(super) fn results(&self, looped: &mut ColumnLoop, down: bool) -> LaneAddress {
        let (numbers, step) = (self.radix as i64, self.quads() * self.radix as i64);
        let first = step * self.width() as i64;
        let (start, numbers, apart) = if down {
            (self.quads() * self.m as i64 - first, -numbers, -step)
        } else {
            (first, numbers, step)
        };
        let walk = match self.lanes {
            LaneAssignment::Transforms => {
                PointerWalk::step_interleaved((self.pairs, self.couples_per_iteration()), numbers)
            }
            LaneAssignment::Columns if down => PointerWalk::Bytes(-first),
            LaneAssignment::Columns => PointerWalk::Bytes(first),
        };
        let pointer = looped.stream(PointerBase::Register(self.to, start), walk);
        self.side(pointer, apart)
    }

    /// Lists the lines of a table for the loop over pairs of columns.
    pub(super) fn lines(&self, of: impl Fn(usize) -> Vec<String>) -> Vec<Vec<String>> {
        self.coupled()
            .map(|c| self.line(&[c, c + 1][..self.width()], &of))
            .collect()
    }

    /// Interleaves the factors of the columns of a quad: the first of each, the second of each, and so on.
    fn line(&self, columns: &[usize], of: impl Fn(usize) -> Vec<String>) -> Vec<String> {
        let all: Vec<Vec<String>> = columns.iter().map(|&c| of(c)).collect();
        let count = all.first().map_or(0, Vec::len);
        let turn = |i: usize| all.iter().map(move |own| own[i].clone());
        (0..count).flat_map(turn).collect()
    }

    /// Loads pairs of registers from a table that all pairs of transforms share.
    pub(super) fn load_pairs(
        &self,
        text: &mut AssemblyText,
        looped: &mut ColumnLoop,
        name: &str,
        lines: Vec<Vec<String>>,
    ) -> Vec<[BodyOperand; 2]> {
        let (count, length) = (lines.len(), lines.first().map_or(0, Vec::len));
        let (label, bytes) = text.pairs(&format!("factors{name}"), lines);
        let walk = match count {
            1 => PointerWalk::Bytes(0),
            _ => PointerWalk::step_shared(self.pairs / self.couples_per_iteration(), bytes, None),
        };
        let pointer = looped.stream(PointerBase::Table(label), walk);
        looped.body.load_pairs(pointer, length)
    }

    /// Loads factors from a shared table, one for each lane of a quad.
    pub(super) fn table(
        &self,
        text: &mut AssemblyText,
        looped: &mut ColumnLoop,
        name: &str,
        lines: Vec<Vec<String>>,
    ) -> Vec<[BodyOperand; 2]> {
        let pairs = self.load_pairs(text, looped, name, lines);
        self.lanes.factors(&pairs)
    }

    /// Returns exp(-2 pi i k/N) as a directive.
    pub(super) fn turn(&self, k: usize) -> String {
        format!(".cis -{k}, {}", 2 * self.m)
    }

    /// Lists the different split factors of a column's rows, as directives.
    pub(super) fn turns(&self, c: usize) -> Vec<String> {
        let turn = |m: usize| self.turn(c + m * self.columns());
        (0..self.half()).map(turn).collect()
    }

    /// Lists the twiddle factors of a column of the transform's pass, as directives.
    fn powers(&self, c: usize) -> Vec<String> {
        let factor = |&(power, eighths): &(usize, usize)| {
            format!(".cis -{}, {}", c * power + eighths * self.m / 8, self.m)
        };
        powers(self.radix).iter().map(factor).collect()
    }

    /// Lists the constants of the loops, whose columns have factors unless they are those of the `first` pass.
    pub(super) fn constants(&self, first: bool) -> Vec<RadixConstant> {
        let mut all = constants(self.radix, first, 1.0);
        let one = RadixConstant::Complex(1.0);
        if !all.contains(&one) {
            all.push(one);
        }
        all
    }

    /// Loads and transforms a column.
    fn column(
        &self,
        looped: &mut ColumnLoop,
        rows: LaneAddress,
        (factors, opposite): (&[[BodyOperand; 2]], bool),
        constants: &RadixOperands,
    ) -> Vec<BodyValue> {
        let body = &mut looped.body;
        let load = |m: usize| rows.load(body, m as i64 * self.round());
        let x: Vec<BodyValue> = (0..self.radix).map(load).collect();
        let column = ColumnDft {
            opposite,
            factors,
            ..ColumnDft::plain(TransformDirection::Forward, constants)
        };
        column.transform(body, &x)
    }

    /// Writes the last pass of the transform with the split.
    pub(super) fn split(&self, text: &mut AssemblyText, name: &str) {
        if self.iterations() > 0 {
            self.split_couples(text, name);
        }
        self.split_alone(text, &format!("{name}a"))
    }

    fn split_couples(&self, text: &mut AssemblyText, name: &str) {
        let (r, at_once) = (self.radix, self.couples_per_iteration());
        let mut looped = ColumnLoop::default();
        let constants = looped.constants(self.constants(false));
        let one = constants.operand(RadixConstant::Complex(1.0));
        // Pointers ascend through columns c and descend through columns L - c.
        let first = self.quads() * self.width() as i64;
        let up = PointerBase::Register(self.from, first);
        let up = LaneAddress::Quad(
            looped.stream(up, PointerWalk::Bytes(QUAD * at_once as i64)),
            0,
        );
        let down = PointerBase::Register(self.from, self.round() - first);
        let down = looped.stream(
            down,
            PointerWalk::step_interleaved((self.pairs, at_once), -1),
        );
        let down = self.side(down, -COMPLEX);

        let lines = self.lines(|c| [self.powers(c), self.turns(c)].concat());
        let factors = self.table(text, &mut looped, name, lines);
        let (powers, turns) = factors.split_at(powers(r).len());
        let to_up = self.spectra(&mut looped, self.to, false);
        let to_down = self.spectra(&mut looped, self.to, true);
        for pair in 0..at_once as i64 {
            let [above, below] = [(up, false), (down, true)].map(|(rows, opposite)| {
                let rows = rows.add_offset(pair * QUAD);
                self.column(&mut looped, rows, (powers, opposite), &constants)
            });
            let body = &mut looped.body;
            for m in 0..r {
                let turn = (&turns[m % self.half()][..], m >= self.half());
                let (x, y) = (quad_lanes(above[m]), quad_lanes(below[r - 1 - m]));
                let [x, partner] = separate(body, (&x, &y), turn, one);
                let (behind, offset) = (2 * pair * self.row(), self.spectrum_round() * m as i64);
                to_up.store(body, x.whole, behind + offset);
                to_down.store(body, partner.whole, behind - offset);
            }
        }
        looped.write(text, self.iterations(), name)
    }

    fn split_alone(&self, text: &mut AssemblyText, name: &str) {
        let (alone, numbers) = (self.single_columns(), self.single_column_numbers());
        let mut looped = ColumnLoop::default();
        let constants = looped.constants(self.constants(false));
        let one = constants.operand(RadixConstant::Complex(1.0));
        let from = self.block(&mut looped, self.from);
        let own = alone
            .iter()
            .flat_map(|columns| self.line(columns, |c| self.powers(c)));
        let line = own.chain(numbers.iter().map(|&k| self.turn(k))).collect();
        let factors = self.load_pairs(text, &mut looped, name, vec![line]);
        let count = powers(self.radix).len() * self.width();
        let (own, turns) = factors.split_at(count * alone.len());
        let to = self.beginnings(&mut looped, self.to);
        let mut column = |(i, columns): (usize, &Vec<usize>)| {
            let rows = self.column_addresses(from, columns, 1);
            let factors = self.lanes.factors(&own[i * count..(i + 1) * count]);
            self.column(&mut looped, rows, (&factors, false), &constants)
        };
        let z: Vec<Vec<BodyValue>> = alone.iter().enumerate().map(&mut column).collect();
        let body = &mut looped.body;
        for (&k, turn) in numbers.iter().zip(turns) {
            let [x, y] = [k, (self.m - k) % self.m].map(|k| self.number_lanes(&alone, &z, k));
            let [x, partner] = separate(body, (&x, &y), (&turn[..], false), one);
            let mut store = |number: &LaneNumber, k: usize| {
                for (lane, &to) in number.lanes.iter().zip(&to) {
                    body.store(*lane, to, COMPLEX * k as i64);
                }
            };
            store(&x, k);
            if 2 * k != self.m {
                store(&partner, self.m - k);
            }
            if k == 0 && self.lanes == LaneAssignment::Columns {
                // The DMA moves whole granules, so that the number behind number M has to be initialised.
                store(&partner, self.m + 1);
            }
        }
        looped.write(text, self.pairs, name)
    }
}
