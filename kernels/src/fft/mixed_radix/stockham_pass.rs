//! One pass over a block.

use super::assembly_text::{AssemblyText, ConstantRegisters};
use super::butterflies::ColumnDft;
use super::column_loop::{COMPLEX, ColumnLoop, PointerBase, PointerWalk, QUAD};
use super::column_rows::ColumnRows;
use super::radix::is_large;
use super::radix_constants::{constants, parts, powers};
use crate::fft::TransformDirection;
use crate::pipeline::{Reg, Unschedulable, Value};
use cp2_machine::Machine;

/// What the two halves of a quad are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LaneAssignment {
    /// Numbers of two transforms.
    Transforms,
    /// Neighbouring columns of one transform.
    Columns,
}

impl LaneAssignment {
    /// Numbers that one quad has of a transform.
    pub(super) fn width(self) -> usize {
        match self {
            Self::Transforms => 1,
            Self::Columns => 2,
        }
    }

    /// How a recipe says so.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Transforms => "",
            Self::Columns => ", by columns",
        }
    }

    /// Of factors for one column after the other those of both lanes.
    pub(super) fn factors(self, loaded: &[[Reg; 2]]) -> Vec<[Reg; 2]> {
        let width = self.width();
        let both = |pairs: &[[Reg; 2]]| [pairs[0][0], pairs[width - 1][1]];
        loaded.chunks_exact(width).map(both).collect()
    }
}

/// What the results of the last pass are multiplied by.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResultFactors<'a> {
    /// Nothing.
    None,
    /// The same numbers for all transforms, as directives.
    Table(&'a [String]),
    /// Quads that lie at an address register as the results do.
    Quads(u8),
}

/// A pass of radix r after L, over a block of 2V transforms of N numbers, or of one.
///
/// Of several, the transforms come and go one behind the other. In between, number j of
/// transform pair p is the quad j V + p. An iteration takes column c = t L + k
/// of pair p; p runs fastest, then k, then t.
///
/// One transform lies as it does in system memory in every pass, V = 1, and an iteration
/// takes columns c and c + 1: the same with N/2 quads, L/2 for L, and factors of its own
/// for each half. The first pass, L = 1, has quads of two results of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct StockhamPass<'a> {
    pub(super) n: usize,
    pub(super) pairs: usize,
    pub(super) lanes: LaneAssignment,
    pub(super) radix: usize,
    pub(super) done: usize,
    pub(super) direction: TransformDirection,
    /// Numbers from a transform to the next where they lie one behind the other.
    pub(super) pitch: usize,
    /// Whether it loads numbers of transforms that lie one behind the other.
    pub(super) loads_apart: bool,
    /// Whether it stores them so.
    pub(super) stores_apart: bool,
    /// What the results of the first pass are multiplied by, 1 or 1/2.
    pub(super) scale: f64,
    /// What the results of the last pass are multiplied by.
    pub(super) product: ResultFactors<'a>,
    /// Address register of the block it reads.
    pub(super) from: u8,
    /// Address register of the block it writes.
    pub(super) to: u8,
}

impl StockhamPass<'_> {
    /// Numbers that one quad has of a transform.
    fn width(&self) -> usize {
        self.lanes.width()
    }

    /// Bytes between two numbers of the output that are so many columns apart.
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

    /// Bytes of one number of all transforms.
    fn quads(&self) -> i64 {
        QUAD * self.pairs as i64
    }

    /// Two transforms one behind the other have a pointer each.
    fn twins(&self, looped: &mut ColumnLoop, block: u8, columns: usize) -> ColumnRows {
        let pointers = [0, COMPLEX * self.pitch as i64].map(|behind| {
            let walk = PointerWalk::step_consecutive(self.pitch, (self.pairs, 1), COMPLEX);
            looped.stream(PointerBase::Register(block, behind), walk)
        });
        ColumnRows::Twins(pointers, columns as i64 * COMPLEX)
    }

    /// The rows that the pass reads.
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

    /// The rows that it writes.
    pub(super) fn output(&self, looped: &mut ColumnLoop) -> ColumnRows {
        if self.stores_apart {
            return self.twins(looped, self.to, self.done);
        }
        let (walk, apart) = if self.done < self.width() {
            // The results of columns c and c + 1, one column behind the other.
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
    ) -> Vec<[Reg; 2]> {
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

    /// A column with its factors.
    pub(super) fn column<'a>(
        &self,
        factors: &'a [[Reg; 2]],
        constants: &'a ConstantRegisters,
    ) -> ColumnDft<'a> {
        ColumnDft {
            factors,
            across: self.done < self.width(),
            scale: self.scale,
            ..ColumnDft::plain(self.direction, constants)
        }
    }

    /// Multiplies results, those of the rows from the given one on, by what the pass multiplies them by.
    pub(super) fn multiply(
        &self,
        (text, looped): (&mut AssemblyText, &mut ColumnLoop),
        column: &ColumnDft<'_>,
        (results, first): (&mut [Value], usize),
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
                loaded.map(|w| [Reg::Lo(w), Reg::Hi(w)]).collect()
            }
        };
        for (y, factor) in results.iter_mut().zip(factors) {
            *y = column.product(&mut looped.body, *y, factor);
        }
    }

    /// How often the loops of the pass run.
    pub(super) fn iterations(&self) -> usize {
        self.n / self.radix / self.width() * self.pairs
    }

    /// Writes the words and tables of the pass; `name` is unique.
    pub(super) fn write(
        &self,
        text: &mut AssemblyText,
        machine: &Machine,
        name: &str,
    ) -> Result<(), Unschedulable> {
        text.label(&format!("pass{name}"));
        if is_large(self.radix) {
            return self.write_large(text, machine, name);
        }
        let constants = text.constants(name, constants(self.radix, self.done == 1, self.scale));
        if !(self.n / self.radix).is_multiple_of(self.width()) {
            self.write_last(text, machine, &constants, &format!("{name}a"))?;
        }
        let mut looped = ColumnLoop::new();
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
        looped.write(text, machine, &constants, self.iterations(), name)
    }

    /// The last column of the first pass, which has no other beside it: in both lanes, of which one stores.
    fn write_last(
        &self,
        text: &mut AssemblyText,
        machine: &Machine,
        constants: &ConstantRegisters,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let columns = self.n / self.radix;
        let before = (columns - 1) as i64 * COMPLEX;
        let mut looped = ColumnLoop::new();
        let mut pointer =
            |from, at| looped.stream(PointerBase::Register(from, at), PointerWalk::Bytes(0));
        let (from, to) = (
            pointer(self.from, before),
            pointer(self.to, before * self.radix as i64),
        );
        let body = &mut looped.body;
        let load = |m: usize| {
            let x = body.quad();
            body.load_twice(Reg::Whole(x), from, (m * columns) as i64 * COMPLEX);
            x
        };
        let x: Vec<_> = (0..self.radix).map(load).collect();
        let y = self.column(&[], constants).transform(body, &x);
        for (i, &y) in (0..).zip(&y[..self.radix / self.width()]) {
            body.store(Reg::Whole(y), to, i * QUAD);
        }
        looped.write(text, machine, constants, 1, name)
    }
}
