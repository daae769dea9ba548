//! One Stockham pass of radix r: loads, twiddles, butterflies, stores.

use super::assembly_text::AssemblyText;
use super::butterflies::ColumnDft;
use super::column_loop::{COMPLEX, ColumnLoop, PointerBase, PointerWalk, QUAD};
use super::column_rows::ColumnRows;
use super::radix::is_large;
use super::radix_constants::{RadixConstant, constants, parts, powers};
use super::radix_operands::RadixOperands;
use crate::fft::TransformDirection;
use crate::pipeline::{BodyOperand, BodyValue};

/// Assignment of the two halves of a quad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LaneAssignment {
    /// The halves are numbers of two transforms.
    Transforms,
    /// The halves are adjacent columns of one transform.
    Columns,
}

impl LaneAssignment {
    /// Returns the numbers of one transform in a quad, 1 or 2.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Transforms => 1,
            Self::Columns => 2,
        }
    }

    /// Returns the words for the assignment in a recipe.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Transforms => "",
            Self::Columns => ", by columns",
        }
    }

    /// Returns the factors of both lanes, from factors loaded for one column after the other.
    pub(super) fn factors(self, loaded: &[[BodyOperand; 2]]) -> Vec<[BodyOperand; 2]> {
        let width = self.width();
        let both = |pairs: &[[BodyOperand; 2]]| [pairs[0][0], pairs[width - 1][1]];
        loaded.chunks_exact(width).map(both).collect()
    }
}

/// Factors of each result of the last pass.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResultFactors<'a> {
    /// Results are not multiplied.
    None,
    /// All transforms share a table of factors, given as directives.
    Table(&'a [String]),
    /// Factors are quads at an address register, in the order of the results.
    Quads(u8),
}

/// A pass of radix r after passes with the product of radices L (`done`), over a block of 2V transforms of N
/// numbers, or of one:
///
/// `y[t r L + m' L + k] = sum over m of x[t L + k + m N/r] (w W_r^m')^m`, `w = exp(-2 pi i k/(r L))`.
///
/// Several transforms are consecutive in the input of the first pass and in the output of the last. In
/// between, number j of transform pair p is the quad j V + p. An iteration takes column c = t L + k of pair
/// p; p varies fastest, then k, then t.
///
/// One transform lies in natural order in every pass, V = 1, and an iteration takes columns c and c + 1: as
/// above with N/2 quads, L/2 for L, and factors of its own for each half. The first pass, L = 1, has quads of
/// two results of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct StockhamPass<'a> {
    pub(super) n: usize,
    pub(super) pairs: usize,
    pub(super) lanes: LaneAssignment,
    pub(super) radix: usize,
    pub(super) done: usize,
    pub(super) direction: TransformDirection,
    /// Numbers from a transform to the next where transforms are consecutive.
    pub(super) pitch: usize,
    /// True if the pass loads single numbers of consecutive transforms.
    pub(super) loads_apart: bool,
    /// True if the pass stores single numbers of consecutive transforms.
    pub(super) stores_apart: bool,
    /// Factor of all results of the first pass, 1 or 1/2.
    pub(super) scale: f64,
    /// Factors of each result of the last pass.
    pub(super) product: ResultFactors<'a>,
    /// Address register of the block that is read.
    pub(super) from: u8,
    /// Address register of the block that is written.
    pub(super) to: u8,
}

impl StockhamPass<'_> {
    /// Returns the numbers of one transform in a quad, 1 or 2.
    fn width(&self) -> usize {
        self.lanes.width()
    }

    /// Returns the bytes between two numbers of a block that are `columns` columns apart.
    fn columns(&self, columns: usize) -> i64 {
        (columns / self.width()) as i64 * self.quads()
    }

    fn write_walk(&self) -> PointerWalk {
        let done = (self.done / self.width()) as i64;
        let period = self.done / self.width() * self.pairs;
        let jump = (self.radix as i64 - 1) * done * self.quads();
        if self.done * self.radix == self.n {
            PointerWalk::Bytes(QUAD)
        } else if period == 1 {
            PointerWalk::Bytes(QUAD + jump)
        } else {
            PointerWalk::Table(PointerWalk::periodic_steps(period, QUAD, QUAD + jump), None)
        }
    }

    /// Returns the bytes of one number of all transforms.
    fn quads(&self) -> i64 {
        QUAD * self.pairs as i64
    }

    /// Adds the pointers to two consecutive transforms, one for each.
    fn twins(&self, looped: &mut ColumnLoop, block: u8, columns: usize) -> ColumnRows {
        let pointers = [0, COMPLEX * self.pitch as i64].map(|behind| {
            let walk = PointerWalk::step_consecutive(self.pitch, (self.pairs, 1), COMPLEX);
            looped.stream(PointerBase::Register(block, behind), walk)
        });
        ColumnRows::Twins(pointers, columns as i64 * COMPLEX)
    }

    /// Adds the pointers to the rows that the pass reads.
    pub(super) fn input(&self, looped: &mut ColumnLoop) -> ColumnRows {
        let rows = self.n / self.radix;
        if self.loads_apart {
            return self.twins(looped, self.from, rows);
        }
        let mut pointer = || {
            looped.stream(
                PointerBase::Register(self.from, 0),
                PointerWalk::Bytes(QUAD),
            )
        };
        if !rows.is_multiple_of(self.width()) {
            return ColumnRows::Shifted([pointer(), pointer()], COMPLEX * rows as i64);
        }
        ColumnRows::Quads(pointer(), self.columns(rows))
    }

    /// Adds the pointers to the rows that the pass writes.
    pub(super) fn output(&self, looped: &mut ColumnLoop) -> ColumnRows {
        if self.stores_apart {
            return self.twins(looped, self.to, self.done);
        }
        let (walk, apart) = if self.done < self.width() {
            // The results of column c + 1 lie behind those of column c.
            (PointerWalk::Bytes(QUAD * self.radix as i64), QUAD)
        } else {
            (self.write_walk(), self.columns(self.done))
        };
        ColumnRows::Quads(
            looped.stream(PointerBase::Register(self.to, 0), walk),
            apart,
        )
    }

    /// Loads the factors of a column.
    pub(super) fn factors(
        &self,
        text: &mut AssemblyText,
        looped: &mut ColumnLoop,
        name: &str,
    ) -> Vec<[BodyOperand; 2]> {
        if self.done == 1 {
            return Vec::new();
        }
        let powers = powers(self.radix);
        let circle = self.radix * self.done;
        let width = self.width();
        let lines = (0..self.done).step_by(width).map(|k| {
            // Eighths of a turn occur with radix 8, whose circle is a multiple of 8.
            let factor = |(power, part), k| (k * power + part * circle / parts(self.radix), circle);
            let lanes = |&power| (k..k + width).map(move |k| factor(power, k));
            powers.iter().flat_map(lanes).collect()
        });
        let (label, bytes) = text.roots(name, lines.collect());
        let lines = (self.done / width) as i64;
        let round = (self.done * self.radix < self.n).then_some(bytes * lines);
        let walk = PointerWalk::step_shared(self.pairs, bytes, round);
        let pointer = looped.stream(PointerBase::Table(label), walk);
        let loaded = looped.body.load_pairs(pointer, width * powers.len());
        self.lanes.factors(&loaded)
    }

    /// Makes a column with its factors.
    pub(super) fn column<'a>(
        &self,
        factors: &'a [[BodyOperand; 2]],
        constants: &'a RadixOperands,
    ) -> ColumnDft<'a> {
        ColumnDft {
            factors,
            across: self.done < self.width(),
            scale: self.scale,
            ..ColumnDft::plain(self.direction, constants)
        }
    }

    /// Multiplies the results of the rows from `first` on by the pass's result factors, if any.
    pub(super) fn multiply(
        &self,
        (text, looped): (&mut AssemblyText, &mut ColumnLoop),
        column: &ColumnDft<'_>,
        (results, first): (&mut [BodyValue], usize),
        name: &str,
    ) {
        let rows = first..first + results.len();
        let factors = match self.product {
            ResultFactors::None => return,
            ResultFactors::Table(all) => {
                let line = |k: usize| rows.clone().map(move |m| all[m * self.done + k].clone());
                let lines = (0..self.done).map(|k| line(k).collect());
                let (label, bytes) = text.pairs(&format!("product{name}"), lines.collect());
                let walk = PointerWalk::step_shared(self.pairs, bytes, None);
                let pointer = looped.stream(PointerBase::Table(label), walk);
                looped.body.load_pairs(pointer, rows.len())
            }
            ResultFactors::Quads(register) => {
                let pointer = looped.stream(PointerBase::Register(register, 0), self.write_walk());
                let quads = ColumnRows::Quads(pointer, self.columns(self.done));
                let loaded = rows.map(|m| quads.load(&mut looped.body, m));
                loaded
                    .map(|w| [BodyOperand::Lo(w), BodyOperand::Hi(w)])
                    .collect()
            }
        };
        for (y, factor) in results.iter_mut().zip(factors) {
            *y = column.product(&mut looped.body, *y, factor);
        }
    }

    /// Lists the constants of the loops of the pass.
    fn constants(&self) -> Vec<RadixConstant> {
        constants(self.radix, self.done == 1, self.scale)
    }

    /// Returns the iterations of the loops of the pass.
    pub(super) fn iterations(&self) -> usize {
        self.n / self.radix / self.width() * self.pairs
    }

    /// Writes the words and tables of the pass; `name` is unique.
    pub(super) fn write(&self, text: &mut AssemblyText, name: &str) {
        if is_large(self.radix) {
            return self.write_large(text, name);
        }
        if !(self.n / self.radix).is_multiple_of(self.width()) {
            self.write_last(text, &format!("{name}a"));
        }
        let mut looped = ColumnLoop::default();
        let constants = looped.constants(self.constants());
        let input = self.input(&mut looped);
        let rows = 0..self.radix;
        let x: Vec<_> = rows.map(|m| input.load(&mut looped.body, m)).collect();
        let factors = self.factors(text, &mut looped, name);
        let column = self.column(&factors, &constants);
        let mut y = column.transform(&mut looped.body, &x);
        self.multiply((text, &mut looped), &column, (&mut y, 0), name);
        let output = self.output(&mut looped);
        for (m, &y) in y.iter().enumerate() {
            output.store(&mut looped.body, m, y);
        }
        looped.write(text, self.iterations(), name)
    }

    /// Writes the last column of the first pass where it has no other in its quad: it is computed in both
    /// lanes, and one is stored.
    fn write_last(&self, text: &mut AssemblyText, name: &str) {
        let columns = self.n / self.radix;
        let before = (columns - 1) as i64 * COMPLEX;
        let mut looped = ColumnLoop::default();
        let constants = looped.constants(self.constants());
        let mut pointer =
            |from, at| looped.stream(PointerBase::Register(from, at), PointerWalk::Bytes(0));
        let (from, to) = (
            pointer(self.from, before),
            pointer(self.to, before * self.radix as i64),
        );
        let body = &mut looped.body;
        let load = |m: usize| {
            let x = body.quad();
            body.load_twice(BodyOperand::Whole(x), from, (m * columns) as i64 * COMPLEX);
            x
        };
        let x: Vec<_> = (0..self.radix).map(load).collect();
        let y = self.column(&[], &constants).transform(body, &x);
        for (i, &y) in (0..).zip(&y[..self.radix / self.width()]) {
            body.store(BodyOperand::Whole(y), to, i * QUAD);
        }
        looped.write(text, 1, name)
    }
}
