//! Convolutions of blocks with a spectrum, in one pass over memory or three.

use super::CONVOLVED_ROWS;
use super::generator::{GroupTask, Numbering, entry_point};
use super::layout::{GroupLayout, GroupLimits};
use super::tables::{powers, roots};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, Shader, ShaderArray, read, write};
use num_complex::Complex32;
use std::sync::Arc;

/// Name of tables in errors.
const TABLE: &str = "a table of factors";

/// How blocks of a length are convolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BlockMethod {
    /// Each in a workgroup.
    Group(GroupLayout),
    /// As matrices: columns, rows with the spectrum, columns.
    Matrix(GroupLayout, GroupLayout),
}

/// The ends of blocks: shaders that load and store them, with their constants and first arrays.
#[derive(Clone, Debug)]
pub(crate) struct BlockEnds<'a> {
    /// Shaders for a workgroup and for columns.
    pub(crate) shaders: [Shader; 2],
    pub(crate) constants: Vec<(&'static str, f64)>,
    pub(crate) arrays: [ShaderArray<'a>; 3],
    /// Numbering of threads for a workgroup.
    pub(crate) numbering: Numbering,
}

/// Returns the layouts of the columns and rows of a matrix, as square as possible, of so many numbers.
pub(crate) fn matrix_layouts(n: usize, limits: GroupLimits) -> Option<[GroupLayout; 2]> {
    let fits = |n| GroupLayout::new(n, true, limits);
    let divisors = (1..=n.isqrt()).rev().filter(|rows| n.is_multiple_of(*rows));
    let mut pairs = divisors.filter_map(|rows| Some([fits(rows)?, fits(n / rows)?]));
    pairs.next()
}

impl BlockMethod {
    /// Returns the method for blocks of so many numbers, if there is one.
    pub(crate) fn new(n: usize, numbering: Numbering, limits: GroupLimits) -> Option<Self> {
        match GroupLayout::new(n, numbering == Numbering::Transforms, limits) {
            Some(layout) => Some(Self::Group(layout)),
            None => {
                let [columns, _] = matrix_layouts(n, limits)?;
                let rows = GroupLayout::new(n / columns.n, false, limits)?;
                Some(Self::Matrix(columns, rows))
            }
        }
    }

    /// Returns the numbers of a block.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Group(layout) => layout.n,
            Self::Matrix(columns, rows) => columns.n * rows.n,
        }
    }

    /// Returns the method in words.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Group(layout) => format!("blocks of {} in a workgroup", layout.n),
            Self::Matrix(columns, rows) => {
                format!("blocks of {} x {} in memory", columns.n, rows.n)
            }
        }
    }

    /// Makes the steps that convolve so many blocks with a spectrum, which is divided by its length.
    pub(crate) fn steps(
        &self,
        device: &Arc<GpuDevice>,
        ends: &BlockEnds<'_>,
        count: usize,
        spectrum: &[Complex32],
    ) -> Result<Vec<Dispatch>, GpuError> {
        match self {
            Self::Group(layout) => {
                let roots = GpuBuffer::from_slice(device, TABLE, &roots(layout.n))?;
                let spectrum = GpuBuffer::from_slice(device, TABLE, spectrum)?;
                let [first, second, third] = ends.arrays;
                let arrays = [first, second, third, read(&roots), read(&spectrum)];
                let numbering = [ends.numbering; 2];
                let entry = entry_point(layout, GroupTask::Convolve, numbering, count);
                let (shader, groups) = (ends.shaders[0], layout.groups(count));
                let text = shader.text() + &entry;
                let step =
                    device.step_of_text(shader.name, text, &ends.constants, &arrays, groups)?;
                Ok(vec![step])
            }
            Self::Matrix(columns, rows) => {
                matrix_steps(device, ends, [columns, rows], count, spectrum)
            }
        }
    }
}

/// Makes the three passes over blocks that are matrices with such columns and rows.
fn matrix_steps(
    device: &Arc<GpuDevice>,
    ends: &BlockEnds<'_>,
    [columns, rows]: [&GroupLayout; 2],
    count: usize,
    spectrum: &[Complex32],
) -> Result<Vec<Dispatch>, GpuError> {
    let size = columns.n * rows.n;
    let what = "blocks in memory";
    let before: GpuBuffer<Complex32> = GpuBuffer::new(device, what, size * count)?;
    let after: GpuBuffer<Complex32> = GpuBuffer::new(device, what, size * count)?;
    let (low, table) = powers(size);
    let powers = GpuBuffer::from_slice(device, TABLE, &table)?;
    let sides = [
        ("MATRIX_ROWS", columns.n as f64),
        ("MATRIX_COLUMNS", rows.n as f64),
        ("LOW", low as f64),
    ];
    let column_roots = GpuBuffer::from_slice(device, TABLE, &roots(columns.n))?;
    let row_roots = GpuBuffer::from_slice(device, TABLE, &roots(rows.n))?;
    // The transform of a matrix by columns, then rows, is transposed.
    let places = (0..columns.n).flat_map(|k| (0..rows.n).map(move |j| k + columns.n * j));
    let transposed: Vec<Complex32> = places.filter_map(|k| spectrum.get(k).copied()).collect();
    let spectrum = GpuBuffer::from_slice(device, TABLE, &transposed)?;
    let column_pass = |last: bool| {
        let shader = ends.shaders[1];
        let [first, second, third] = ends.arrays;
        let arrays = [
            first,
            second,
            third,
            read(&column_roots),
            read(&powers),
            read(&after),
            write(&before),
        ];
        let mut constants = ends.constants.clone();
        constants.extend(sides);
        constants.push(("LAST", f64::from(u8::from(last))));
        let lines = count * rows.n;
        let numbering = [Numbering::Transforms; 2];
        let entry = entry_point(columns, GroupTask::Transform, numbering, lines);
        let (text, groups) = (shader.text() + &entry, columns.groups(lines));
        device.step_of_text(shader.name, text, &constants, &arrays, groups)
    };
    let lines = count * columns.n;
    let entry = entry_point(rows, GroupTask::Convolve, [Numbering::Lanes; 2], lines);
    let arrays = [
        read(&row_roots),
        read(&before),
        write(&after),
        read(&powers),
        read(&spectrum),
    ];
    let text = CONVOLVED_ROWS.text() + &entry;
    let (name, groups) = (CONVOLVED_ROWS.name, rows.groups(lines));
    let middle = device.step_of_text(name, text, &sides, &arrays, groups)?;
    Ok(vec![column_pass(false)?, middle, column_pass(true)?])
}
