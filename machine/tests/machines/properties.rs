//! Random machines reload as written; random damage never panics.

use cp2_machine::{Machine, Quantity, ROWS, Range};
use cp2_tests::drawn::{compare, digest_strategy};
use proptest::prelude::*;
use std::path::Path;

/// Draws a file based on vm7 that sets some parameters to values within their ranges.
fn changes() -> impl Strategy<Value = String> {
    let change = (0..ROWS.len(), any::<u64>(), 1u64..=250, 0usize..3);
    prop::collection::btree_map(0..ROWS.len(), change, 0..12).prop_map(|map| {
        let mut text = String::from("base = \"vm7\"\nname = \"random\"\n");
        for (index, (_, seed, den, source)) in map {
            let row = &ROWS[index];
            let unit = row.quantity.units().first().map_or("", |u| u.0);
            let pick = |lo: u64, hi: u64| lo + seed % (hi - lo + 1);
            let value = match row.range {
                Range::Within(lo, hi) if row.quantity == Quantity::Size => {
                    (pick(lo, hi) & !0xfff).max(4096).to_string()
                }
                Range::Within(lo, hi) => pick(lo, hi).to_string(),
                Range::PowerOfTwo(lo, _) => (1u64 << (seed % 13)).max(lo).to_string(),
                Range::Even(lo, hi) => (pick(lo, hi) & !1).max(lo).to_string(),
                Range::Positive(hi) => match seed % 3 {
                    0 => pick(1, hi).to_string(),
                    1 => format!("{}.{:02}", seed % hi.min(50), den % 99 + 1),
                    _ => format!("\"{}/{den}\"", seed % hi + 1),
                },
                Range::AnySet => ["[]", "[\"double\"]", "[\"double\", \"section-addressing\"]"]
                    [source]
                    .to_owned(),
            };
            let source = ["fact", "assumed", "measured"][source];
            let unit = if unit.is_empty() {
                String::new()
            } else {
                format!(", unit = \"{unit}\"")
            };
            text += &format!(
                "{} = {{ value = {value}{unit}, source = \"{source}\", ref = \"r\\\"{den}\" }}\n",
                row.key
            );
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn written_machines_load_to_the_same_machine(text in changes()) {
        let m = Machine::parse("random.toml", &text).map_err(|e| TestCaseError::fail(format!("{text}\n{e}")))?;
        let again = Machine::parse("again.toml", &m.to_toml());
        prop_assert_eq!(again.as_ref(), Ok(&m));
        prop_assert_eq!(again.map(|a| a.to_toml()), Ok(m.to_toml()));
        // The hash depends on the numbers and on nothing else.
        let vm7 = Machine::builtin("vm7").unwrap();
        let same = m.parameters().zip(vm7.parameters()).all(|(a, b)| a.value == b.value);
        prop_assert_eq!(m.hash == vm7.hash, same);
    }

    #[test]
    fn damaged_files_are_accepted_or_refused(at in 0usize..4000, cut in 0usize..40, insert in ".{0,4}") {
        let mut text: Vec<char> = include_str!("../../vm7.toml").chars().collect();
        let start = at.min(text.len());
        let end = (start + cut).min(text.len());
        text.splice(start..end, insert.chars());
        let text: String = text.into_iter().collect();
        if let Err(e) = Machine::parse("damaged.toml", &text) {
            prop_assert!(!e.problems.is_empty() && !e.to_string().is_empty());
        }
    }
}

#[test]
fn the_same_is_drawn() {
    compare(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines/drawn.txt"),
        "-p cp2-machine --test machines the_same_is_drawn",
        &[("files", digest_strategy(changes()))],
    );
}
