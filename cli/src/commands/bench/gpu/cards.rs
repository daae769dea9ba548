//! Data sheets of graphics cards, and the times that they let expect.

use cp2_gpu::bench::SpeedFigures;
use serde::{Deserialize, Serialize};

/// The cards that are known.
const CARDS: &str = include_str!("cards.json");

/// Figures of a card.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CardSheet {
    /// Name that the driver gives it.
    pub(super) name: String,
    /// Name that the data sheet gives it.
    pub(super) variant: String,
    /// Bandwidth of its memory, 10^12 bytes a second.
    pub(super) memory_terabytes_per_second: f64,
    /// Peak rate in single precision, without tensor cores, 10^12 operations a second.
    pub(super) fp32_teraflops: f64,
    /// The document that says so.
    pub(super) source: String,
}

/// Returns the known cards.
fn all_cards() -> Vec<CardSheet> {
    // A test reads the file.
    serde_json::from_str(CARDS).unwrap_or_default()
}

/// Finds a card by the name that its driver gives it.
pub(super) fn find_card(name: &str) -> Option<CardSheet> {
    all_cards().into_iter().find(|card| card.name == name)
}

/// Limit of an expected time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExpectedLimit {
    /// The memory's bandwidth.
    Memory,
    /// The peak rate of arithmetic.
    Arithmetic,
}

/// A time that a roofline lets expect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct ExpectedTime {
    /// Seconds of one run.
    pub(super) seconds: f64,
    /// The longer one of two times.
    pub(super) limit: ExpectedLimit,
}

/// Returns the time at a bandwidth and, if it is known, a peak rate: the longer one of transfers and arithmetic.
pub(super) fn expect_time(row: &SpeedFigures, bandwidth: f64, peak: Option<f64>) -> ExpectedTime {
    let moved = row.bytes as f64 / bandwidth;
    let computed = peak.map_or(0.0, |peak| row.operations / peak);
    match computed > moved {
        true => ExpectedTime {
            seconds: computed,
            limit: ExpectedLimit::Arithmetic,
        },
        false => ExpectedTime {
            seconds: moved,
            limit: ExpectedLimit::Memory,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_readable() {
        let cards: Vec<CardSheet> = serde_json::from_str(CARDS).unwrap();
        assert_eq!(cards, all_cards());
        assert!(cards.iter().all(|card| {
            card.memory_terabytes_per_second > 0.1
                && card.fp32_teraflops > 1.0
                && !card.source.is_empty()
        }));
        let h100 = find_card("NVIDIA H100 80GB HBM3").unwrap();
        assert_eq!(h100.memory_terabytes_per_second, 3.35);
        assert_eq!(find_card("llvmpipe (LLVM 15.0.6, 256 bits)"), None);
    }

    #[test]
    fn the_longer_time_is_expected() {
        let row = SpeedFigures {
            size: vec![1],
            recipe: String::new(),
            seconds: 1.0,
            range: [1.0, 1.0],
            bytes: 1000,
            operations: 500.0,
            worst: 0.0,
        };
        let expected = |bandwidth, peak| {
            let time = expect_time(&row, bandwidth, peak);
            (time.seconds, time.limit)
        };
        assert_eq!(expected(100.0, Some(100.0)), (10.0, ExpectedLimit::Memory));
        assert_eq!(
            expected(100.0, Some(10.0)),
            (50.0, ExpectedLimit::Arithmetic)
        );
        assert_eq!(expected(100.0, None), (10.0, ExpectedLimit::Memory));
    }
}
