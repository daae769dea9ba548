//! The random sparse matrix of the benchmark CG, in double precision.

use super::CgClass;
use crate::npb::{Generator, Precision};
use crate::sparse::{SparseMatrix, Symmetry};

/// Inverse of the condition number of the benchmark's matrix before it is shifted.
const CONDITION: f64 = 0.1;

/// Value that random vector i has in place i.
const DIAGONAL: f64 = 0.5;

/// A square matrix in double precision, stored by rows.
#[derive(Clone, Debug, PartialEq)]
pub struct WideMatrix {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

/// Draws the random vectors w_i as columns and values of their entries, `entries` of each and often one more.
fn vectors(rows: usize, entries: usize) -> Vec<Vec<(u32, f64)>> {
    let mut draws = Generator::default();
    // The benchmark draws one number before it begins.
    draws.draw();
    let scale = rows.next_power_of_two() as f64;
    let vector = |i: usize| {
        let mut vector: Vec<(u32, f64)> = Vec::with_capacity(entries + 1);
        while vector.len() < entries {
            let (value, place) = (draws.draw(), (scale * draws.draw()) as usize);
            let column = place as u32;
            if place < rows && vector.iter().all(|&(other, _)| other != column) {
                vector.push((column, value));
            }
        }
        match vector.iter_mut().find(|(column, _)| *column as usize == i) {
            Some((_, value)) => *value = DIAGONAL,
            None => vector.push((i as u32, DIAGONAL)),
        }
        vector
    };
    (0..rows).map(vector).collect()
}

impl WideMatrix {
    /// Generates A = sum of s_i w_i w_i^T + (0.1 - shift) I. The s_i fall geometrically from 1 to 0.1, and
    /// w_i is a random vector of `entries` entries (fewer than there are rows) and 0.5 in place i.
    pub(super) fn generated(rows: usize, entries: usize, shift: f64) -> Self {
        let vectors = vectors(rows, entries);
        // For each row the vectors that have an entry there, in order, with that entry.
        let mut with: Vec<Vec<(u32, f64)>> = vec![Vec::new(); rows];
        for (i, vector) in (0..).zip(&vectors) {
            for &(row, value) in vector {
                with[row as usize].push((i, value));
            }
        }
        let scale = |i: u32| libm::pow(CONDITION, f64::from(i) / rows as f64);
        let mut all = Self {
            starts: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        };
        let mut sums = vec![0.0; rows];
        let mut there = vec![false; rows];
        let mut columns: Vec<u32> = Vec::new();
        for (row, with) in with.iter().enumerate() {
            for &(i, own) in with {
                let scale = scale(i);
                for &(column, value) in &vectors[i as usize] {
                    let at = column as usize;
                    if !std::mem::replace(&mut there[at], true) {
                        columns.push(column);
                    }
                    // Multiplying both values first makes the matrix symmetric to the last bit.
                    sums[at] += scale * (own * value);
                }
            }
            sums[row] += CONDITION - shift;
            columns.sort_unstable();
            for &column in &columns {
                let at = column as usize;
                there[at] = false;
                all.columns.push(column);
                all.values.push(std::mem::take(&mut sums[at]));
            }
            columns.clear();
            all.starts.push(all.columns.len());
        }
        all
    }

    /// Returns the matrix of a class.
    #[must_use]
    pub fn from_class(benchmark: &CgClass) -> Self {
        Self::generated(benchmark.rows, benchmark.entries, benchmark.shift)
    }

    /// Rounds the matrix to a precision; to double precision it is exact.
    #[must_use]
    pub fn rounded(self, precision: Precision) -> SparseMatrix {
        let kind = (precision, Symmetry::Symmetric);
        SparseMatrix::from_rows(self.starts, self.columns, self.values, kind)
    }

    /// Returns the number of rows, which is that of columns.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Iterates over the entries of a row: column and value.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = match self.starts.get(row..=row + 1) {
            Some(&[start, end]) => start..end,
            _ => 0..0,
        };
        range.map(|entry| (self.columns[entry] as usize, self.values[entry]))
    }

    /// Multiplies the matrix by a vector.
    #[must_use]
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let row = |i| self.row(i).map(|(j, a)| a * x[j]).sum();
        (0..self.rows()).map(row).collect()
    }
}
