//! The cost of compressed rows (CSR), to compare formats with.

use crate::job::load;
use cp2_machine::{Cycles, Machine};
use cp2_problems::sparse::SparseMatrix;

/// Returns the time that compressed rows and `vectors` vectors would take over the DMA channel, relative to
/// the time of the products: a measure to compare formats by. It may pass 1 and is no efficiency.
#[must_use]
pub fn csr_ratio(
    matrix: &SparseMatrix,
    vectors: usize,
    products: Cycles,
    machine: &Machine,
) -> f64 {
    load(matrix.csr_bytes(vectors), machine) / products.0 as f64
}

/// Time of the control CPU to pack a matrix, and for a product of compressed rows without packing.
///
/// The machine says how long a byte that it moves takes, and an operation (\[A\] M17). Operations of packing
/// are counted, see [`PackingWork`](super::PackingWork): those of all formats and numbers of sections that
/// are tried, of the samples by which divisions are chosen, and of the prices of products. A product of
/// compressed rows has the operations of its definition.
#[derive(Clone, Copy, Debug)]
pub struct Packing {
    cycles: f64,
    made: u64,
    unpacked: f64,
}

impl Packing {
    /// Computes the times for a matrix that has been packed to `packed` bytes by `made` operations.
    #[must_use]
    pub fn new(matrix: &SparseMatrix, [packed, made]: [u64; 2], machine: &Machine) -> Self {
        let number = matrix.number_bytes() as f64;
        let operations = if matrix.is_complex() { 8.0 } else { 2.0 };
        let [nnz, rows] = [matrix.nnz(), matrix.rows()].map(|count| count as f64);
        let (copy, scalar) = (machine.host.copy.as_f64(), machine.host.scalar.0 as f64);
        let compressed = nnz * (number + 4.0) + 4.0 * rows;
        // Bytes moved: for each entry its value, its column and a number of x, for each row a number of y. An
        // entry takes two operations, a complex one eight.
        let moved = compressed + number * (nnz + rows);
        Self {
            // Compressed rows are read and the packed matrix is written.
            cycles: (compressed + packed as f64) / copy + made as f64 * scalar,
            made,
            unpacked: moved / copy + operations * nnz * scalar,
        }
    }

    /// Returns the cycles of the control CPU to pack the matrix.
    #[must_use]
    pub fn cycles(&self) -> f64 {
        self.cycles
    }

    /// Returns the operations that it took to pack the matrix.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.made
    }

    /// Returns the cycles of the control CPU for a product of compressed rows with a vector.
    #[must_use]
    pub fn unpacked(&self) -> f64 {
        self.unpacked
    }

    /// Returns the number of products of `product` cycles each after which packing pays: with fewer, the
    /// control CPU alone would have been done earlier. None if it never is slower.
    #[must_use]
    pub fn break_even_products(&self, product: f64) -> Option<u64> {
        let saved = self.unpacked - product;
        (saved > 0.0).then(|| (self.cycles / saved).ceil() as u64)
    }
}
