//! Plans of transforms: which passes over memory compute lines of an array.

use super::convolution::{BlockEnds, BlockMethod, matrix_layouts};
use super::generator::{GroupTask, Numbering, entry_point};
use super::layout::{GroupLayout, GroupLimits};
use super::tables::{BluesteinTables, powers, roots};
use super::{BLUESTEIN, BLUESTEIN_COLUMNS, LINES};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, read, write};
use num_complex::Complex32;
use std::sync::Arc;

/// Name of tables in errors.
const TABLE: &str = "a table of factors";

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

    /// Returns how threads are numbered that go through neighbouring memory.
    fn numbering(self) -> Numbering {
        match self.inner {
            1 => Numbering::Lanes,
            _ => Numbering::Transforms,
        }
    }
}

/// How lines of a length are transformed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LineMethod {
    /// In a workgroup, in one pass over memory.
    Group(GroupLayout),
    /// As a matrix of so many rows and columns, in two passes over memory.
    FourStep([GroupLayout; 2]),
    /// As a convolution of blocks.
    Bluestein(BlockMethod),
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
    /// Returns the method for lines of `n` numbers; none if they are too long.
    pub(crate) fn new(n: usize, numbering: Numbering, limits: GroupLimits) -> Option<Self> {
        let side_by_side = numbering == Numbering::Transforms;
        if let Some(layout) = GroupLayout::new(n, side_by_side, limits) {
            return Some(Self::Group(layout));
        }
        if let Some(layouts) = matrix_layouts(n, limits) {
            return Some(Self::FourStep(layouts));
        }
        // A block in one pass over memory, be it longer, before any in three.
        let block = |m| BlockMethod::new(m, numbering, limits);
        let in_group = |m| block(m).filter(|method| matches!(method, BlockMethod::Group(_)));
        let found = smooth_length(2 * n - 1, in_group);
        found
            .or_else(|| smooth_length(2 * n - 1, block))
            .map(Self::Bluestein)
    }

    /// Returns the method in words.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Group(layout) => format!("radices {:?} in a workgroup", layout.radices),
            Self::FourStep([columns, rows]) => format!("four-step {} x {}", columns.n, rows.n),
            Self::Bluestein(method) => format!("Bluestein, {}", method.name()),
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
        let method = LineMethod::new(lines.n, lines.numbering(), limits);
        let method = method.ok_or_else(|| GpuError::Unfit {
            what: format!(
                "lines of {} numbers need more passes than there are",
                lines.n
            ),
            instead: "take shorter ones",
        })?;
        self.methods.push(format!("{}: {}", lines.n, method.name()));
        let sign = if inverse { -1.0 } else { 1.0 };
        match method {
            LineMethod::Group(layout) => {
                let pass = LinePass::axis(lines, layout, sign);
                self.add_pass(device, &pass, [source, target])
            }
            LineMethod::FourStep(layouts) => {
                let what = "numbers between two passes";
                let middle = GpuBuffer::new(device, what, source.len())?;
                let [first, second] = LinePass::four_step(lines, layouts, sign);
                self.add_pass(device, &first, [source, &middle])?;
                self.add_pass(device, &second, [&middle, target])
            }
            LineMethod::Bluestein(method) => {
                let tables = BluesteinTables::new(lines.n, method.len());
                let chirp = GpuBuffer::from_slice(device, TABLE, &tables.chirp)?;
                let ends = BlockEnds {
                    shaders: [BLUESTEIN, BLUESTEIN_COLUMNS],
                    constants: vec![
                        ("N", lines.n as f64),
                        ("INNER", lines.inner as f64),
                        ("SIGN", sign),
                    ],
                    arrays: [read(source), write(target), read(&chirp)],
                    numbering: lines.numbering(),
                };
                let steps = method.steps(device, &ends, lines.count(), &tables.spectrum)?;
                self.steps.extend(steps);
                Ok(())
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
            numbering: [lines.numbering(); 2],
            count: lines.count(),
            twiddles: 0,
            constants: Self::constants([1, inner], [&strides; 2], [sign; 2]),
        }
    }

    /// Returns the two passes over lines that are matrices: columns with factors, then rows, transposed.
    fn four_step(lines: Lines, layouts: [GroupLayout; 2], sign: f64) -> [Self; 2] {
        let Lines { n, inner, .. } = lines;
        let [rows, columns] = layouts.each_ref().map(|layout| layout.n);
        let [first_layout, second_layout] = layouts;
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
        [
            Self {
                layout: first_layout,
                numbering: [Numbering::Transforms; 2],
                count: lines.count() * columns,
                twiddles: n,
                constants: Self::constants([columns, inner], [&first; 2], [sign, 1.0]),
            },
            Self {
                layout: second_layout,
                numbering: [lines.numbering(), Numbering::Transforms],
                count: lines.count() * rows,
                twiddles: 0,
                constants: Self::constants([rows, inner], [&load, &store], [1.0, sign]),
            },
        ]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn every_length_has_a_method() {
        let limits = GroupLimits {
            threads: 256,
            floats: 8192,
        };
        let method = |n| LineMethod::new(n, Numbering::Lanes, limits).unwrap();
        assert!(matches!(method(1), LineMethod::Group(_)));
        assert!(matches!(method(1000), LineMethod::Group(_)));
        assert!(matches!(
            method(1009),
            LineMethod::Bluestein(BlockMethod::Group(_))
        ));
        assert_eq!(method(1 << 20).name(), "four-step 1024 x 1024");
        let long = "Bluestein, blocks of 128 x 160 in memory";
        assert_eq!(method(10_007).name(), long);
        for n in 1..5000 {
            if let LineMethod::Bluestein(method) = method(n) {
                assert!(method.len() >= 2 * n - 1);
            }
        }
        assert!(LineMethod::new(1 << 40, Numbering::Lanes, limits).is_none());
    }
}
