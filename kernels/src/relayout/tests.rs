//! Tests of relayouts against the same rearrangement of words in Rust.

use super::*;
use cp2_host::{Buffer, DeviceOptions};
use cp2_machine::{Bytes, Machine};
use proptest::prelude::*;
use std::sync::Arc;

/// Returns distinct values that are not 0.
fn values(first: usize, count: usize) -> Vec<f32> {
    (first..first + count).map(|i| i as f32 + 1.0).collect()
}

/// Runs a relayout of arrays with `pitches` words a row; returns the result and what it should be.
fn both(
    pitches: &[u64],
    (pitch, rows): (u64, u64),
    word: &dyn Fn(u64) -> SourceOfWord,
    machine: &Machine,
) -> (Vec<f32>, Vec<f32>) {
    let mut job = Job::new(
        Arc::new(machine.clone()),
        DeviceOptions {
            check: true,
            ..DeviceOptions::default()
        },
    );
    let arrays: Vec<Vec<f32>> = pitches
        .iter()
        .enumerate()
        .map(|(i, pitch)| values(1_000_000 * i, (pitch * rows) as usize + 4))
        .collect();
    let places: Vec<RowOrigin> = arrays
        .iter()
        .zip(pitches)
        .map(|(values, &pitch)| {
            let buffer = job.table(values).unwrap();
            RowOrigin {
                address: buffer.address(),
                pitch,
            }
        })
        .collect();
    let all = rows * pitch;
    let to = job.temporary::<f32>(all).unwrap();
    let relayout = Relayout {
        name: "test",
        from: &places,
        to: RowOrigin {
            address: to.address(),
            pitch,
        },
        words: all,
        word,
    };
    job.relayouted(&relayout).unwrap();
    let run = job.run(cp2_reference::Figures::default(), |run| {
        run.read(Buffer::<f32>::from_address(to.address(), all))
    });
    let done = run.unwrap();
    assert_eq!(done.run.report.findings, []);
    let found = done.output.unwrap();
    let wanted = (0..all).map(|at| {
        let (row, at) = (at / pitch, at % pitch);
        let of = |array: u8, word: u64| {
            arrays[usize::from(array)][(row * pitches[usize::from(array)] + word) as usize]
        };
        match word(at) {
            SourceOfWord::Of(array, word) => of(array, word),
            SourceOfWord::Minus(array, word) => -of(array, word),
            SourceOfWord::Any | SourceOfWord::Zero => 0.0,
        }
    });
    (found, wanted.collect())
}

fn machine(name: &str) -> Machine {
    Machine::builtin(name).unwrap()
}

/// Returns a machine with another DMA granule or little local memory.
fn make_other_machine(kind: usize) -> Machine {
    let mut machine = machine("vm7");
    let dmem = [4, 2, 64, 64, 64, 64][kind];
    machine.cp2.dmem = Bytes(dmem << 10);
    machine.dma.granule = Bytes([16, 16, 4, 32, 64, 256][kind]);
    machine
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_are_spread_and_closed_up(n in 1u64..700, gap in 0u64..9, rows in 1u64..40, close in any::<bool>(), kind in 0usize..8) {
        let machine = match kind {
            0 => machine("vm7"),
            1 => machine("vm9"),
            kind => make_other_machine(kind - 2),
        };
        let wide = n + gap;
        let (from, to) = if close { (wide, n) } else { (n, wide) };
        let word = |at: u64| if at < n { SourceOfWord::Of(0, at) } else { SourceOfWord::Zero };
        let (found, wanted) = both(&[from], (to, rows), &word, &machine);
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn two_by_two_and_apart(n in 1u64..500, skip in 0u64..5, rows in 1u64..12, way in 0..4, kind in 0usize..6) {
        is_coupled_or_apart((n, skip, rows), way, kind);
    }
}

fn is_coupled_or_apart((n, skip, rows): (u64, u64, u64), way: i32, kind: usize) {
    let machine = make_other_machine(kind);
    let (pitches, pitch): (Vec<u64>, u64) = match way {
        0 => (vec![n, n], 2 * n),
        1 => (vec![2 * n], n),
        2 => (vec![n + skip + n / 2], 2 * n),
        _ => (vec![2 * n + 2], 4 * n),
    };
    let word = |at: u64| match way {
        // By `way`: interleaved, taken apart, interleaved from one array with zeros before, completed by
        // conjugates.
        0 => SourceOfWord::Of((at % 2) as u8, at / 2),
        1 => SourceOfWord::Of(0, 2 * at),
        2 if at < 2 * skip => SourceOfWord::Zero,
        2 => SourceOfWord::Of(0, at / 2 - skip + (at % 2) * (n / 2)),
        _ if at < 2 * n => SourceOfWord::Of(0, at),
        _ if at.is_multiple_of(2) => SourceOfWord::Of(0, 4 * n - at),
        _ => SourceOfWord::Minus(0, 4 * n - at + 2),
    };
    let (found, wanted) = both(&pitches, (pitch, rows), &word, &machine);
    assert_eq!(found, wanted);
}

/// Takes every second word of rows of odd length, where local memory is small.
#[test]
fn odd_rows_are_taken_apart_in_little_memory() {
    is_coupled_or_apart((41, 0, 2), 1, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// More arrays than there are pointers become columns of rows that stay as they are elsewhere.
    #[test]
    fn many_arrays_become_one(widths in prop::collection::vec(1u64..4, 1..24), gap in 0u64..40, rows in 1u64..60, kind in 0usize..6) {
        let machine = make_other_machine(kind);
        let taken: u64 = widths.iter().sum();
        // The rest of the last granule that is written may be anything.
        let unit = cp2_host::paging::aligned(&machine) / 4;
        let pitch = match gap {
            0 => taken,
            gap => (taken + gap).next_multiple_of(unit),
        };
        let word = |at: u64| {
            let mut first = 0;
            for (array, width) in widths.iter().enumerate() {
                if (first..first + width).contains(&at) {
                    return SourceOfWord::Of(array as u8, at - first);
                }
                first += width;
            }
            match at < taken.next_multiple_of(unit) {
                true => SourceOfWord::Zero,
                false => SourceOfWord::Any,
            }
        };
        let (found, wanted) = both(&widths, (pitch, rows), &word, &machine);
        prop_assert_eq!(found, wanted);
    }
}

/// Rows longer than local memory are cut, wherever in a granule they begin.
#[test]
fn long_rows_are_cut() {
    for n in [30_001, 30_002, 30_004] {
        let word = |at: u64| {
            if at < n {
                SourceOfWord::Of(0, at)
            } else {
                SourceOfWord::Zero
            }
        };
        for (from, to) in [(n, n + 3), (n + 3, n)] {
            let (found, wanted) = both(&[from], (to, 5), &word, &machine("vm9"));
            assert!(found == wanted, "{n}: {from} to {to}");
        }
    }
}
