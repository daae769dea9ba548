//! Memory of this computer, asked for before it is needed.
//!
//! What a command allocates while it works cannot be refused piece by piece. So it says before it begins how much all of that
//! is together, by sizes that it knows then; more than it will be, so that what follows finds room.

use crate::outcome::CommandFailure;
use cp2_kernels::fft::has_small_factors;
use cp2_kernels::sparse::{PackedFormat, PackedMatrix};
use thiserror::Error;

/// What a command takes besides, whatever its input: plans, translated words, reports, stacks of threads.
const BESIDE: u64 = 40 << 20;

/// This computer has not so much.
#[derive(Debug, Error)]
#[error(
    "this computer has not the memory for {what}: about {} MB were asked for; use a smaller problem, \
     or let the program have more memory (`ulimit -v`, other programs)",
    bytes.div_ceil(1_000_000)
)]
pub(crate) struct NoMemory {
    /// What it was for.
    what: String,
    /// Bytes that were asked for.
    bytes: u64,
}

impl From<NoMemory> for CommandFailure {
    fn from(error: NoMemory) -> Self {
        Self::input(error)
    }
}

/// Asks for `bytes` bytes for `what` and for what a command takes besides, and gives them back: for what comes now.
///
/// # Errors
/// This computer has not so much.
pub(crate) fn admit(what: impl Into<String>, bytes: u64) -> Result<(), NoMemory> {
    let bytes = bytes.saturating_add(BESIDE);
    let mut room = Vec::<u8>::new();
    let taken = room.try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX));
    // A compiler may leave out what nobody looks at.
    std::hint::black_box(&mut room);
    taken.map_err(|_| NoMemory {
        what: what.into(),
        bytes,
    })
}

/// Bytes for transforms of so many numbers, the lengths of whose axes are these, and of so many numbers together.
pub(crate) fn of_transforms(axes: &[usize], numbers: usize) -> u64 {
    let length = axes
        .iter()
        .fold(1u64, |n, &axis| n.saturating_mul(axis as u64));
    // A length with a large prime factor is a convolution of at least twice that length.
    let each = match axes.iter().all(|&axis| has_small_factors(axis)) {
        true => TRANSFORMED,
        false => PADDED,
    };
    let data = (numbers as u64).saturating_mul(TRANSFORM_DATA);
    length.saturating_mul(each).saturating_add(data)
}

/// Bytes of a number of a transform's length, plain and as a convolution, and of a number of all transforms, as they were measured
/// and a little more.
const TRANSFORMED: u64 = 100;
const PADDED: u64 = 340;
const TRANSFORM_DATA: u64 = 30;

/// Bytes for filters: of samples and outputs together, which have so many bytes each.
pub(crate) fn of_filter(samples: u64, outputs: u64, element: u64) -> u64 {
    samples
        .saturating_add(outputs)
        .saturating_mul(element.saturating_mul(FILTERED))
}

/// Bytes for a byte of a sample or of an output, as they were measured and a little more.
const FILTERED: u64 = 3;

/// Bytes for planning products with a matrix of so many entries and rows plus columns, and for so many vectors in single and
/// double precision: formats are tried one after the other.
pub(crate) fn matrix_bytes(entries: usize, sides: usize, vectors: usize) -> u64 {
    let [entries, sides, vectors] = [entries, sides, vectors].map(|n| n as u64);
    let numbers = sides.saturating_mul(vectors);
    [(ENTRY, entries), (SIDE, sides), (NUMBER, numbers)]
        .iter()
        .fold(0, |sum: u64, (each, count)| {
            sum.saturating_add(each.saturating_mul(*count))
        })
}

/// Bytes of an entry, of a row or column, and of a number of a vector, as they were measured and a little more.
const ENTRY: u64 = 48;
const SIDE: u64 = 60;
const NUMBER: u64 = 40;

/// Bytes for products with packed matrices: they are in system memory, and the engine translates what of them is code.
pub(crate) fn products_bytes<'a>(products: impl IntoIterator<Item = &'a PackedMatrix>) -> u64 {
    let bytes = products.into_iter().map(|product| {
        let times = match product.format() {
            PackedFormat::Gather => TRANSLATED,
            PackedFormat::Diagonal => PACKED,
        };
        product.bytes().saturating_mul(times)
    });
    bytes.fold(0, u64::saturating_add)
}

/// Bytes for iterations with a product and vectors of so many rows plus columns. Each of `passes` products has commands of its own; those
/// that are turns of a loop have none.
pub(crate) fn iterations_bytes(
    product: &PackedMatrix,
    passes: usize,
    (sides, vectors): (usize, usize),
) -> u64 {
    let commands = product.bytes().div_ceil(COMMANDS);
    products_bytes([product])
        .saturating_add(commands.saturating_mul(passes as u64))
        .saturating_add(matrix_bytes(0, sides, vectors))
}

/// Bytes of a packed matrix for a byte of the commands of its pass, at least: 0.1 to 0.16 of them were measured.
const COMMANDS: u64 = 4;

/// How many times the bytes of a packed matrix an engine takes for it at most: a word of 8 bytes becomes some 500.
const TRANSLATED: u64 = 45;
const PACKED: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_computer_has_is_refused() {
        assert!(admit("nothing", 0).is_ok());
        for bytes in [1 << 60, u64::MAX] {
            let refused = admit("all of it", bytes).unwrap_err();
            let refused = CommandFailure::from(refused);
            assert_eq!(refused.exit, crate::outcome::BAD_INPUT);
            assert!(refused.message.contains("for all of it: about"));
        }
    }
}
