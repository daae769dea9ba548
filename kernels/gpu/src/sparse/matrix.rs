//! Sparse matrices in the device's memory: slices of rows, or compressed rows.

use super::{ROWS, SLICED};
use crate::buffer::{DeviceMemory, GpuBuffer};
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, ShaderArray, read};
use cp2_problems::sparse::{MatrixEntries, SparseMatrix};
use num_complex::Complex32;
use std::sync::Arc;

/// Threads of a workgroup.
const THREADS: usize = 128;
/// Rows of a slice.
const SLICE: usize = 32;
/// Entries of a row of a slice that are contiguous.
const TOGETHER: usize = 4;
/// Most memory of slices, relative to the entries, for which they are taken.
const PADDING: f64 = 1.25;
/// Entries of a thread, about, and most threads for a row.
const EACH: usize = 4;
const MOST_LANES: usize = 32;

/// A matrix on the device, in the format that suits it.
#[derive(Debug)]
pub(crate) struct DeviceMatrix {
    device: Arc<GpuDevice>,
    pub(crate) recipe: String,
    format: MatrixFormat,
    rows: usize,
    vectors: usize,
    is_complex: bool,
    is_pattern: bool,
}

/// The arrays of a format.
#[derive(Debug)]
enum MatrixFormat {
    Rows {
        starts: GpuBuffer<u32>,
        columns: GpuBuffer<u32>,
        entries: Arc<DeviceMemory>,
        lanes: usize,
    },
    Sliced {
        slices: GpuBuffer<u32>,
        lengths: GpuBuffer<u32>,
        columns: GpuBuffer<u32>,
        entries: GpuBuffer<f32>,
    },
}

/// Returns the number of entries that slices have room for.
fn sliced_size(matrix: &SparseMatrix) -> usize {
    let lengths: Vec<_> = (0..matrix.rows())
        .map(|row| matrix.range(row).len())
        .collect();
    let slices = lengths.chunks(SLICE);
    let longest = |rows: &[usize]| rows.iter().max().copied().unwrap_or(0);
    slices
        .map(|rows| SLICE * longest(rows).next_multiple_of(TOGETHER))
        .sum()
}

impl DeviceMatrix {
    /// Copies a matrix to the device.
    pub(crate) fn new(
        device: &Arc<GpuDevice>,
        matrix: &SparseMatrix,
        vectors: usize,
    ) -> Result<Self, GpuError> {
        // Numbers of entries are 32 bits wide.
        let most = u64::from(u32::MAX);
        if matrix.nnz() as u64 > most {
            let found = matrix.nnz() as u64;
            return Err(GpuError::Limit {
                what: "entries of a matrix",
                found,
                most,
            });
        }
        let padded = sliced_size(matrix);
        let suits = padded as f64 <= PADDING * matrix.nnz() as f64;
        let (recipe, format) = match suits && vectors == 1 && !matrix.is_complex() {
            true => (
                format!(
                    "slices of {SLICE} rows, {padded} places for {} entries",
                    matrix.nnz()
                ),
                Self::sliced(device, matrix, padded)?,
            ),
            false => {
                let mean = matrix.nnz() / matrix.rows().max(1);
                let lanes = match vectors {
                    1 => mean.div_ceil(EACH).next_power_of_two().clamp(1, MOST_LANES),
                    _ => 1,
                };
                let recipe = format!("compressed rows, {lanes} threads a number");
                (recipe, Self::compressed(device, matrix, lanes)?)
            }
        };
        Ok(Self {
            device: device.clone(),
            recipe,
            format,
            rows: matrix.rows(),
            vectors,
            is_complex: matrix.is_complex(),
            is_pattern: matrix.is_pattern(),
        })
    }

    fn compressed(
        device: &Arc<GpuDevice>,
        matrix: &SparseMatrix,
        lanes: usize,
    ) -> Result<MatrixFormat, GpuError> {
        let starts: Vec<u32> = matrix.starts().iter().map(|&start| start as u32).collect();
        let what = "the entries of a matrix";
        let entries = match matrix.coefficients() {
            MatrixEntries::Pattern => GpuBuffer::<f32>::new(device, what, 0)?.memory,
            MatrixEntries::Real(entries) => GpuBuffer::from_slice(device, what, entries)?.memory,
            MatrixEntries::Double(_) | MatrixEntries::DoubleSingle(_) => {
                let precision = matrix.precision();
                return Err(GpuError::Precision {
                    precision: precision.name(),
                });
            }
            MatrixEntries::Complex(entries) => {
                GpuBuffer::<Complex32>::from_slice(device, what, entries)?.memory
            }
        };
        Ok(MatrixFormat::Rows {
            starts: GpuBuffer::from_slice(device, "the starts of rows", &starts)?,
            columns: GpuBuffer::from_slice(device, "the columns of entries", matrix.columns())?,
            entries,
            lanes,
        })
    }

    fn sliced(
        device: &Arc<GpuDevice>,
        matrix: &SparseMatrix,
        padded: usize,
    ) -> Result<MatrixFormat, GpuError> {
        let rows = matrix.rows();
        let mut slices = Vec::with_capacity(rows / SLICE + 2);
        let mut lengths = Vec::with_capacity(rows);
        let mut columns = vec![0u32; padded];
        let mut entries = vec![0.0f32; if matrix.is_pattern() { 0 } else { padded }];
        let mut first = 0;
        for slice in (0..rows).step_by(SLICE) {
            slices.push(first as u32);
            let mut longest = 0;
            for row in slice..rows.min(slice + SLICE) {
                let place = |k: usize| k / TOGETHER * SLICE * TOGETHER + k % TOGETHER;
                let places = (0..).map(|k| first + (row - slice) * TOGETHER + place(k));
                for ((column, entry), place) in matrix.real_row(row).zip(places) {
                    columns[place] = column as u32;
                    if let Some(to) = entries.get_mut(place) {
                        *to = entry;
                    }
                }
                let length = matrix.range(row).len();
                lengths.push(length as u32);
                longest = longest.max(length);
            }
            first += SLICE * longest.next_multiple_of(TOGETHER);
        }
        Ok(MatrixFormat::Sliced {
            slices: GpuBuffer::from_slice(device, "the slices of rows", &slices)?,
            lengths: GpuBuffer::from_slice(device, "the lengths of rows", &lengths)?,
            columns: GpuBuffer::from_slice(device, "the columns of entries", &columns)?,
            entries: GpuBuffer::from_slice(device, "the entries of a matrix", &entries)?,
        })
    }

    /// Makes the step y = A x.
    pub(crate) fn product(
        &self,
        x: &Arc<DeviceMemory>,
        y: &Arc<DeviceMemory>,
    ) -> Result<Dispatch, GpuError> {
        let flag = |flag: bool| f64::from(u8::from(flag));
        let pattern = ("PATTERN", flag(self.is_pattern));
        match &self.format {
            MatrixFormat::Rows {
                starts,
                columns,
                entries,
                lanes,
            } => {
                let constants = [
                    ("ROWS", self.rows as f64),
                    ("VECTORS", self.vectors as f64),
                    ("LANES", *lanes as f64),
                    ("COMPLEX", flag(self.is_complex)),
                    pattern,
                ];
                let arrays = [
                    read(starts),
                    read(columns),
                    ShaderArray::Read(entries),
                    ShaderArray::Read(entries),
                    ShaderArray::Read(x),
                    ShaderArray::Read(x),
                    ShaderArray::Write(y),
                ];
                let groups = (self.rows * self.vectors).div_ceil(THREADS / lanes);
                self.device.step(&ROWS, &constants, &arrays, groups)
            }
            MatrixFormat::Sliced {
                slices,
                lengths,
                columns,
                entries,
            } => {
                let arrays = [
                    read(slices),
                    read(lengths),
                    read(columns),
                    read(entries),
                    ShaderArray::Read(x),
                    ShaderArray::Write(y),
                ];
                let constants = [("ROWS", self.rows as f64), pattern];
                self.device
                    .step(&SLICED, &constants, &arrays, self.rows.div_ceil(THREADS))
            }
        }
    }
}
