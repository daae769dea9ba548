//! Checks that this computer has the memory that a command will need.
//!
//! Allocations during the work cannot be refused one by one. Before it begins, a command therefore requests
//! an upper estimate of all its memory, from the sizes that are known by then.

use crate::outcome::CommandFailure;
use cp2_kernels::fft::has_small_factors;
use cp2_kernels::sparse::{PackedFormat, PackedMatrix};
use thiserror::Error;

/// Bytes that a command takes in addition, whatever its input: plans, translated words, reports, stacks of
/// threads.
const BESIDE: u64 = 40 << 20;

/// Error for memory that this computer does not have.
#[derive(Debug, Error)]
#[error(
    "this computer has not the memory for {what}: about {} MB were asked for; use a smaller problem, \
     or let the program have more memory (`ulimit -v`, other programs)",
    bytes.div_ceil(1_000_000)
)]
pub(crate) struct NoMemory {
    /// Purpose of the memory.
    what: String,
    /// Bytes that were requested.
    bytes: u64,
}

impl From<NoMemory> for CommandFailure {
    fn from(error: NoMemory) -> Self {
        Self::input(error)
    }
}

/// Requests `bytes` bytes for `what`, and those that every command takes in addition, and frees them again
/// for the work that follows.
///
/// # Errors
/// This computer does not have that much memory.
pub(crate) fn check_memory(what: impl Into<String>, bytes: u64) -> Result<(), NoMemory> {
    let bytes = bytes.saturating_add(BESIDE);
    let mut room = Vec::<u8>::new();
    let taken = room.try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX));
    // A compiler may remove an allocation that is not used.
    std::hint::black_box(&mut room);
    taken.map_err(|_| NoMemory {
        what: what.into(),
        bytes,
    })
}

/// Returns the bytes for transforms with axes of these lengths and `numbers` numbers in all.
pub(crate) fn transform_bytes(axes: &[usize], numbers: usize) -> u64 {
    let length = axes
        .iter()
        .fold(1u64, |n, &axis| n.saturating_mul(axis as u64));
    // A length with a large prime factor is computed as a convolution of at least twice that length.
    let each = match axes.iter().all(|&axis| has_small_factors(axis)) {
        true => TRANSFORMED,
        false => PADDED,
    };
    let data = (numbers as u64).saturating_mul(TRANSFORM_DATA);
    length.saturating_mul(each).saturating_add(data)
}

/// Bytes per number of a transform's length, directly and as a convolution, and bytes per number of all
/// transforms: measured, with a margin.
const TRANSFORMED: u64 = 100;
const PADDED: u64 = 340;
const TRANSFORM_DATA: u64 = 30;

/// Returns the bytes for filters with these numbers of samples and outputs of `element` bytes each.
pub(crate) fn filter_bytes(samples: u64, outputs: u64, element: u64) -> u64 {
    samples
        .saturating_add(outputs)
        .saturating_mul(element.saturating_mul(FILTERED))
}

/// Bytes per byte of a sample or output: measured, with a margin.
const FILTERED: u64 = 3;

/// Returns the bytes for planning products with a matrix of `entries` entries and `sides` rows plus columns,
/// and for `vectors` vectors in single and double precision. Formats are tried one after the other.
pub(crate) fn matrix_bytes(entries: usize, sides: usize, vectors: usize) -> u64 {
    let [entries, sides, vectors] = [entries, sides, vectors].map(|n| n as u64);
    let numbers = sides.saturating_mul(vectors);
    [(ENTRY, entries), (SIDE, sides), (NUMBER, numbers)]
        .iter()
        .fold(0, |sum: u64, (each, count)| {
            sum.saturating_add(each.saturating_mul(*count))
        })
}

/// Bytes per entry, per row or column, and per number of a vector: measured, with a margin.
const ENTRY: u64 = 48;
const SIDE: u64 = 60;
const NUMBER: u64 = 40;

/// Returns the bytes for products with packed matrices: the matrices lie in system memory, and the engine
/// translates those that are code.
pub(crate) fn products_bytes<'a>(products: impl IntoIterator<Item = &'a PackedMatrix>) -> u64 {
    let bytes = products.into_iter().map(|product| {
        let times = match product.format() {
            PackedFormat::Gather => TRANSLATED,
            PackedFormat::Diagonal | PackedFormat::Sell | PackedFormat::SellWords => PACKED,
        };
        product.bytes().saturating_mul(times)
    });
    bytes.fold(0, u64::saturating_add)
}

/// Returns the bytes for iterations with a product and `vectors` vectors of `sides` rows plus columns. Each
/// of `passes` products has its own commands; products in turns of a loop have none.
pub(crate) fn iterations_bytes(
    product: &PackedMatrix,
    passes: usize,
    (sides, vectors): (usize, usize),
) -> u64 {
    products_bytes([product])
        .saturating_add(commands_bytes(product.bytes(), passes))
        .saturating_add(matrix_bytes(0, sides, vectors))
}

/// Returns the bytes for the commands of `passes` products with a packed matrix of so many bytes.
pub(crate) fn commands_bytes(packed: u64, passes: usize) -> u64 {
    packed.div_ceil(COMMANDS).saturating_mul(passes as u64)
}

/// Bytes of a packed matrix per byte of its pass's commands, a low estimate: commands of 0.1 to 0.16 of the
/// matrix were measured.
const COMMANDS: u64 = 4;

/// Most bytes of an engine's translation per byte of a packed matrix: a word of 8 bytes becomes about 500
/// bytes.
const TRANSLATED: u64 = 45;
const PACKED: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_computer_has_is_refused() {
        assert!(check_memory("nothing", 0).is_ok());
        for bytes in [1 << 60, u64::MAX] {
            let refused = check_memory("all of it", bytes).unwrap_err();
            let refused = CommandFailure::from(refused);
            assert_eq!(refused.exit, crate::outcome::BAD_INPUT);
            assert!(refused.message.contains("for all of it: about"));
        }
    }
}
