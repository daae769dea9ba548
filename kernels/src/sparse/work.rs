//! Counts the operations that packing a matrix takes.
//!
//! The routines that pack count what their inner loops do, so that the time of a processor on which they
//! never ran can be estimated. The rules:
//!
//! * A comparison is an operation. So is a load or a store of a word, and so is an operation of arithmetic or
//!   logic; a count of bits and a division are one each. A word is a number of up to 64 bits; a set of
//!   places is one.
//! * Not counted: counters of loops, addresses of elements, jumps, calls, and room that lists take as they
//!   grow.
//! * Not counted: work that does not depend on the matrix, such as the assembly of the words that stay in
//!   program memory.
//!
//! A constant next to a loop gives the operations of a turn. Routines of the standard library are counted by
//! textbook formulas: see [`PackingWork::count_sort`], [`PackingWork::searched`] and
//! [`PackingWork::count_lookups`].
//! So the count depends only on the matrix and on the machine that it is packed for, not on the computer that
//! packs it.

use std::cell::Cell;

/// Operations of a turn of a search: the middle, an element of the list, a comparison.
const SEARCH_TURN_OPERATIONS: u64 = 4;

/// Operations to compare two keys, which are loaded.
const COMPARISON_OPERATIONS: u64 = 3;

/// Operations of a look-up: a key of one word is mixed in five rounds of fourteen operations, and then looked
/// for.
const LOOKUP_OPERATIONS: u64 = 80;

/// Counter of operations.
#[derive(Debug, Default)]
pub struct PackingWork {
    operations: Cell<u64>,
}

impl PackingWork {
    /// Returns the operations so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations.get()
    }

    /// Counts `turns` turns of a loop, each of `each` operations.
    pub(super) fn add(&self, turns: usize, each: u64) {
        let more = each.saturating_mul(turns as u64);
        self.operations
            .set(self.operations.get().saturating_add(more));
    }

    /// Counts the sort by merging of a list of `len` elements of `words` words: n log2(n) times two elements
    /// are compared and one is moved.
    pub(super) fn count_sort(&self, len: usize, words: u64) {
        let turns = len * len.next_power_of_two().trailing_zeros() as usize;
        self.add(turns, COMPARISON_OPERATIONS + 2 * words);
    }

    /// Counts the binary search of an element in a sorted list of `len` elements.
    pub(super) fn searched(&self, len: usize) {
        self.searched_often(1, len);
    }

    /// Counts `times` binary searches.
    pub(super) fn searched_often(&self, times: usize, len: usize) {
        let turns = (usize::BITS - len.leading_zeros()) as usize;
        self.add(times * turns, SEARCH_TURN_OPERATIONS);
    }

    /// Counts `times` look-ups in a table of hashed keys.
    pub(super) fn count_lookups(&self, times: usize) {
        self.add(times, LOOKUP_OPERATIONS);
    }
}

#[cfg(test)]
mod tests {
    use super::super::PackedFormat;
    use super::super::product::PackedMatrix;
    use super::*;
    use cp2_machine::Machine;
    use cp2_problems::sparse::{GeneratedMatrix, NumberField, Pattern, SparseMatrix};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn generate_matrix(pattern: Pattern, n: usize, each: usize, diagonals: &[i64]) -> SparseMatrix {
        let made = GeneratedMatrix {
            pattern,
            n,
            cols: 0,
            each,
            diagonals: diagonals.to_vec(),
            field: NumberField::Real,
            dominant: false,
            seed: n as u64,
        };
        made.matrix().unwrap()
    }

    fn packed(matrix: &SparseMatrix, machine: &Arc<Machine>, format: Option<PackedFormat>) -> u64 {
        let work = PackingWork::default();
        let product = PackedMatrix::new(matrix, (machine, &work), format);
        assert!(product.is_ok(), "{product:?}");
        work.operations()
    }

    #[test]
    fn what_the_library_does_is_counted_by_its_formulas() {
        let counted = |count: fn(&PackingWork)| {
            let work = PackingWork::default();
            count(&work);
            work.operations()
        };
        // One element needs no sort; five are merged in three passes, each of three operations and two for
        // every word.
        assert_eq!(counted(|work| work.count_sort(0, 1)), 0);
        assert_eq!(counted(|work| work.count_sort(1, 1)), 0);
        assert_eq!(counted(|work| work.count_sort(5, 2)), 5 * 3 * 7);
        // A search looks at three of seven elements, and at four of eight.
        assert_eq!(counted(|work| work.searched(0)), 0);
        assert_eq!(counted(|work| work.searched(7)), 3 * 4);
        assert_eq!(counted(|work| work.searched_often(2, 8)), 2 * 4 * 4);
        assert_eq!(counted(|work| work.count_lookups(3)), 240);
        // The count saturates.
        let most = PackingWork::default();
        most.add(usize::MAX, u64::MAX);
        most.add(1, 1);
        assert_eq!(most.operations(), u64::MAX);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

        /// Twice the rows, or twice the entries in each, take more operations; the same matrix takes the same
        /// number.
        #[test]
        fn the_count_grows_with_the_entries(n in 24usize..160, each in 1usize..8, of_vm9 in any::<bool>()) {
            let machine = Machine::builtin(if of_vm9 { "vm9" } else { "vm7" }).unwrap();
            let machine = Arc::new(machine);
            let diagonals: Vec<i64> = (0..2 * each as i64).collect();
            let own = format!("{}+section-addressing+word-addressing", machine.name);
            let sell = Machine::load(&own).unwrap();
            let sell = Arc::new(sell);
            for (pattern, format, machine) in [
                (Pattern::Random, PackedFormat::Gather, &machine),
                (Pattern::Band, PackedFormat::Diagonal, &machine),
                (Pattern::Random, PackedFormat::Sell, &sell),
                (Pattern::Random, PackedFormat::SellWords, &sell),
            ] {
                let of = |n: usize, each: usize| {
                    let matrix = generate_matrix(pattern, n, each, &diagonals[..each]);
                    packed(&matrix, machine, Some(format))
                };
                let own = of(n, each);
                prop_assert_eq!(own, of(n, each));
                prop_assert!(of(2 * n, each) > own);
                prop_assert!(of(n, 2 * each) > own);
                prop_assert!(own > 20 * (n * each) as u64);
            }
        }
    }

    /// Formats that are tried and refused, or not chosen, are counted too.
    #[test]
    fn all_formats_that_are_tried_are_counted() {
        for name in [
            "vm7",
            "vm7+section-addressing",
            "vm7+section-addressing+word-addressing",
        ] {
            let machine = Arc::new(Machine::load(name).unwrap());
            for matrix in [
                generate_matrix(Pattern::Random, 90, 5, &[]),
                generate_matrix(Pattern::Band, 90, 0, &[-3, 0, 7]),
            ] {
                let of = |format| packed(&matrix, &machine, format);
                let each = PackedFormat::possible(&machine).map(|format| of(Some(format)));
                assert_eq!(of(None), each.sum::<u64>());
            }
        }
    }
}
