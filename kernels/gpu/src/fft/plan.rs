//! Plans of transforms: which passes over memory compute lines of an array.

use super::generator::{GroupTask, Numbering, entry_point};
use super::layout::{GroupLayout, GroupLimits, radices};
use super::tables::{BluesteinTables, powers, roots};
use super::{BLUESTEIN, CHIRP, LINES};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, read, write};
use num_complex::Complex32;
use std::sync::Arc;

/// Name of tables in errors.
const TABLE: &str = "a table of factors";

/// Threads of a workgroup that works element by element.
const ELEMENTWISE: usize = 64;

/// Lines of an array: `outer` blocks of `inner` lines of `n` numbers, `inner` numbers apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    pub(crate) n: usize,
    pub(crate) outer: usize,
    pub(crate) inner: usize,
}

impl Lines {
    /// Returns the number of lines.
    fn count(self) -> usize {
        self.outer * self.inner
    }
}

/// How lines of a length are transformed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LineMethod {
    /// In a workgroup, in one pass over memory.
    Group(GroupLayout),
    /// As a matrix of so many rows and columns, in two passes over memory.
    FourStep(usize, usize),
    /// As a convolution of so many numbers in a workgroup, in one pass over memory.
    Bluestein(GroupLayout),
    /// As a convolution of so many numbers, in several passes over memory.
    LargeBluestein(usize),
}

/// Returns the smallest length of at least `least` numbers that has radices, by a criterion.
fn smooth_length<T>(least: usize, accept: impl Fn(usize) -> Option<T>) -> Option<T> {
    let power = least.max(1).next_power_of_two();
    let candidates = [9, 5, 10, 11, 12, 14, 15, 16].map(|part| power / 16 * part);
    let mut candidates: Vec<_> = candidates.into_iter().filter(|&m| m >= least).collect();
    candidates.push(power);
    candidates.sort_unstable();
    candidates.into_iter().find_map(accept)
}

impl LineMethod {
    /// Returns the method for lines of `n` numbers.
    pub(crate) fn new(n: usize, side_by_side: bool, limits: GroupLimits) -> Self {
        if let Some(layout) = GroupLayout::new(n, side_by_side, limits) {
            return Self::Group(layout);
        }
        if radices(n).is_some() {
            let fits = |n| GroupLayout::new(n, true, limits).is_some();
            let mut divisors = (1..=n.isqrt()).rev().filter(|d| n.is_multiple_of(*d));
            if let Some(rows) = divisors.find(|&rows| fits(rows) && fits(n / rows)) {
                return Self::FourStep(rows, n / rows);
            }
        }
        let fitting = |m| GroupLayout::new(m, side_by_side, limits);
        match smooth_length(2 * n - 1, fitting) {
            Some(layout) => Self::Bluestein(layout),
            None => Self::LargeBluestein((2 * n - 1).next_power_of_two()),
        }
    }

    /// Returns the method in words.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Group(layout) => format!("radices {:?} in a workgroup", layout.radices),
            Self::FourStep(rows, columns) => format!("four-step {rows} x {columns}"),
            Self::Bluestein(layout) => format!("Bluestein by {} in a workgroup", layout.n),
            Self::LargeBluestein(m) => format!("Bluestein by {m} in memory"),
        }
    }
}

/// Steps that transform lines.
#[derive(Debug, Default)]
pub(crate) struct LineTransforms {
    pub(crate) steps: Vec<Dispatch>,
    methods: Vec<String>,
}

impl LineTransforms {
    /// Returns the methods of all axes in words.
    pub(crate) fn recipe(&self) -> String {
        self.methods.join("; ")
    }

    /// Adds the transforms of lines; the inverse ones are not scaled either.
    pub(crate) fn add_axis(
        &mut self,
        device: &Arc<GpuDevice>,
        lines: Lines,
        inverse: bool,
        [source, target]: [&GpuBuffer<Complex32>; 2],
    ) -> Result<(), GpuError> {
        let limits = GroupLimits::new(&device.limits);
        let method = LineMethod::new(lines.n, lines.inner > 1, limits);
        self.methods.push(format!("{}: {}", lines.n, method.name()));
        let sign = if inverse { -1.0 } else { 1.0 };
        match method {
            LineMethod::Group(layout) => {
                let pass = LinePass::axis(lines, layout, sign);
                self.add_pass(device, &pass, [source, target])
            }
            LineMethod::FourStep(rows, columns) => {
                let what = "numbers between two passes";
                let middle = GpuBuffer::new(device, what, source.len())?;
                let [first, second] = LinePass::four_step(lines, [rows, columns], sign, limits)?;
                self.add_pass(device, &first, [source, &middle])?;
                self.add_pass(device, &second, [&middle, target])
            }
            LineMethod::Bluestein(layout) => {
                self.add_bluestein(device, lines, &layout, sign, [source, target])
            }
            LineMethod::LargeBluestein(m) => {
                self.add_large_bluestein(device, lines, m, sign, [source, target])
            }
        }
    }

    fn add_pass(
        &mut self,
        device: &Arc<GpuDevice>,
        pass: &LinePass,
        [source, target]: [&GpuBuffer<Complex32>; 2],
    ) -> Result<(), GpuError> {
        let roots = GpuBuffer::from_slice(device, TABLE, &roots(pass.layout.n))?;
        let (low, table) = match pass.twiddles {
            0 => (1, vec![Complex32::default()]),
            n => powers(n),
        };
        let powers = GpuBuffer::from_slice(device, TABLE, &table)?;
        let entry = entry_point(
            &pass.layout,
            GroupTask::Transform,
            pass.numbering,
            pass.count,
        );
        let mut constants = pass.constants.clone();
        constants.push(("LOW", low as f64));
        constants.push(("TWIDDLE", f64::from(u8::from(pass.twiddles > 0))));
        let arrays = [read(&roots), read(source), write(target), read(&powers)];
        let (text, groups) = (LINES.text() + &entry, pass.layout.groups(pass.count));
        let step = device.step_of_text(LINES.name, text, &constants, &arrays, groups)?;
        self.steps.push(step);
        Ok(())
    }

    fn add_bluestein(
        &mut self,
        device: &Arc<GpuDevice>,
        lines: Lines,
        layout: &GroupLayout,
        sign: f64,
        [source, target]: [&GpuBuffer<Complex32>; 2],
    ) -> Result<(), GpuError> {
        let tables = BluesteinTables::new(lines.n, layout.n);
        let roots = GpuBuffer::from_slice(device, TABLE, &roots(layout.n))?;
        let chirp = GpuBuffer::from_slice(device, TABLE, &tables.chirp)?;
        let spectrum = GpuBuffer::from_slice(device, TABLE, &tables.spectrum)?;
        let numbering = match lines.inner {
            1 => [Numbering::Lanes; 2],
            _ => [Numbering::Transforms; 2],
        };
        let entry = entry_point(layout, GroupTask::Convolve, numbering, lines.count());
        let constants = [
            ("N", lines.n as f64),
            ("INNER", lines.inner as f64),
            ("LOAD_SIGN", sign),
            ("STORE_SIGN", sign),
        ];
        let arrays = [
            read(&roots),
            read(source),
            write(target),
            read(&chirp),
            read(&spectrum),
        ];
        let (text, groups) = (BLUESTEIN.text() + &entry, layout.groups(lines.count()));
        let step = device.step_of_text(BLUESTEIN.name, text, &constants, &arrays, groups)?;
        self.steps.push(step);
        Ok(())
    }

    fn add_large_bluestein(
        &mut self,
        device: &Arc<GpuDevice>,
        lines: Lines,
        m: usize,
        sign: f64,
        [source, target]: [&GpuBuffer<Complex32>; 2],
    ) -> Result<(), GpuError> {
        let tables = BluesteinTables::new(lines.n, m);
        let chirp = GpuBuffer::from_slice(device, "the chirp of transforms", &tables.chirp)?;
        let spectrum = GpuBuffer::from_slice(device, "the chirp's spectrum", &tables.spectrum)?;
        let len = lines.count() * m;
        let a = GpuBuffer::new(device, "numbers between two passes", len)?;
        let b = GpuBuffer::new(device, "numbers between two passes", len)?;
        let long = Lines {
            n: m,
            outer: lines.count(),
            inner: 1,
        };
        let stage = |plan: &mut Self, stage: u32, arrays: [&GpuBuffer<Complex32>; 3]| {
            let [from, to, factors] = arrays;
            let constants = [
                ("STAGE", f64::from(stage)),
                ("N", lines.n as f64),
                ("M", m as f64),
                ("INNER", lines.inner as f64),
                ("LINES", lines.count() as f64),
                ("SIGN", sign),
            ];
            let arrays = [read(from), write(to), read(factors)];
            let groups = len.div_ceil(ELEMENTWISE);
            plan.steps
                .push(device.step(&CHIRP, &constants, &arrays, groups)?);
            Ok::<_, GpuError>(())
        };
        stage(self, 0, [source, &a, &chirp])?;
        self.add_axis(device, long, false, [&a, &b])?;
        stage(self, 1, [&b, &a, &spectrum])?;
        self.add_axis(device, long, true, [&a, &b])?;
        stage(self, 2, [&b, target, &chirp])?;
        Ok(())
    }
}

/// One pass over memory: transforms in workgroups of lines that lie in some way.
#[derive(Clone, Debug)]
struct LinePass {
    layout: GroupLayout,
    numbering: [Numbering; 2],
    /// Number of lines.
    count: usize,
    /// Length whose roots the results are multiplied by; 0 for none.
    twiddles: usize,
    constants: Vec<(&'static str, f64)>,
}

/// How numbers of a pass lie in memory: distances of blocks, of lines in a block, and of numbers of a line.
struct Strides {
    outer: usize,
    middle: usize,
    step: usize,
}

impl LinePass {
    fn constants(
        [middle, inner]: [usize; 2],
        [load, store]: [&Strides; 2],
        [load_sign, store_sign]: [f64; 2],
    ) -> Vec<(&'static str, f64)> {
        vec![
            ("MIDDLE", middle as f64),
            ("INNER", inner as f64),
            ("LOAD_OUTER", load.outer as f64),
            ("LOAD_MIDDLE", load.middle as f64),
            ("LOAD_STEP", load.step as f64),
            ("STORE_OUTER", store.outer as f64),
            ("STORE_MIDDLE", store.middle as f64),
            ("STORE_STEP", store.step as f64),
            ("LOAD_SIGN", load_sign),
            ("STORE_SIGN", store_sign),
        ]
    }

    /// Returns the pass of whole lines.
    fn axis(lines: Lines, layout: GroupLayout, sign: f64) -> Self {
        let Lines { n, inner, .. } = lines;
        let strides = Strides {
            outer: n * inner,
            middle: 0,
            step: inner,
        };
        Self {
            layout,
            numbering: match inner {
                1 => [Numbering::Lanes; 2],
                _ => [Numbering::Transforms; 2],
            },
            count: lines.count(),
            twiddles: 0,
            constants: Self::constants([1, inner], [&strides; 2], [sign; 2]),
        }
    }

    /// Returns the two passes over lines that are matrices: columns with factors, then rows, transposed.
    fn four_step(
        lines: Lines,
        [rows, columns]: [usize; 2],
        sign: f64,
        limits: GroupLimits,
    ) -> Result<[Self; 2], GpuError> {
        let Lines { n, inner, .. } = lines;
        let layout = |n: usize, side_by_side| {
            GroupLayout::new(n, side_by_side, limits).ok_or(GpuError::Limit {
                what: "floats of a workgroup's memory",
                found: n as u64,
                most: limits.floats as u64,
            })
        };
        let outer = n * inner;
        let first = Strides {
            outer,
            middle: inner,
            step: columns * inner,
        };
        let load = Strides {
            outer,
            middle: columns * inner,
            step: inner,
        };
        let store = Strides {
            outer,
            middle: inner,
            step: rows * inner,
        };
        let loaded = match inner {
            1 => Numbering::Lanes,
            _ => Numbering::Transforms,
        };
        Ok([
            Self {
                layout: layout(rows, true)?,
                numbering: [Numbering::Transforms; 2],
                count: lines.count() * columns,
                twiddles: n,
                constants: Self::constants([columns, inner], [&first; 2], [sign, 1.0]),
            },
            Self {
                layout: layout(columns, true)?,
                numbering: [loaded, Numbering::Transforms],
                count: lines.count() * rows,
                twiddles: 0,
                constants: Self::constants([rows, inner], [&load, &store], [1.0, sign]),
            },
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_has_a_method() {
        let limits = GroupLimits {
            threads: 256,
            floats: 8192,
        };
        let method = |n| LineMethod::new(n, false, limits);
        assert!(matches!(method(1), LineMethod::Group(_)));
        assert!(matches!(method(1000), LineMethod::Group(_)));
        assert!(matches!(method(1009), LineMethod::Bluestein(_)));
        assert_eq!(method(1 << 20), LineMethod::FourStep(1024, 1024));
        assert_eq!(method(10_007), LineMethod::LargeBluestein(32_768));
        for n in 1..5000 {
            if let LineMethod::Bluestein(layout) = method(n) {
                assert!(layout.n >= 2 * n - 1);
            }
        }
    }
}
