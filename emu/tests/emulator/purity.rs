//! Tests that issue timing depends only on pending results, relative to now.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use cp2_asm::isa::Word;
use cp2_asm::testing::any_word;
use cp2_emu::timing::{Scoreboard, WordTiming};
use cp2_machine::{Class, Cycles, Machine};
use proptest::prelude::*;
use std::collections::HashMap;

fn machine(interval: u64) -> Machine {
    let mut machine = Machine::builtin("vm9").unwrap();
    machine.cp2.interval[Class::Madd] = Cycles(interval);
    machine.cp2.interval[Class::Load] = Cycles(interval);
    machine
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_shift_in_time_changes_nothing(words in prop::collection::vec((any_word(), 0u64..9), 1..40), shift in 0u64..1 << 60, interval in 1u64..5) {
        let cp2 = machine(interval).cp2;
        let (mut early, mut late) = (Scoreboard::default(), Scoreboard::default());
        let mut now = 0;
        for (word, idle) in words {
            let word = WordTiming::new(&word, &cp2);
            prop_assert_eq!(early.relative(now), late.relative(now + shift));
            let mut resumed = Scoreboard::default();
            resumed.resume(&early.relative(now), now);
            prop_assert_eq!(resumed.relative(now), early.relative(now));
            prop_assert_eq!(resumed.earliest(&word, now), early.earliest(&word, now));
            let ((a, x), (b, y)) = (early.earliest(&word, now), late.earliest(&word, now + shift));
            prop_assert_eq!((a + shift, x), (b, y));
            early.issue(&word, a);
            late.issue(&word, b);
            now = a + 1 + idle;
        }
    }

    #[test]
    fn equal_keys_time_every_word_alike(pool in prop::collection::vec(any_word(), 2..5), picks in prop::collection::vec((0usize..5, 0u64..4), 300), interval in 1u64..5) {
        let cp2 = machine(interval).cp2;
        let pool: Vec<WordTiming> = pool.iter().map(|w: &Word| WordTiming::new(w, &cp2)).collect();
        let (mut board, mut now) = (Scoreboard::default(), 0);
        let mut seen = HashMap::new();
        for (pick, idle) in picks {
            let pick = pick % pool.len();
            let key = (board.relative(now), pick);
            let (at, wait) = board.earliest(&pool[pick], now);
            prop_assert_eq!(*seen.entry(key).or_insert(wait), wait);
            board.issue(&pool[pick], at);
            now = at + 1 + idle;
        }
    }
}
