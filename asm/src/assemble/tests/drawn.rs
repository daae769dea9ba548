//! Test that the strategies of this crate still draw the same first values.

use super::{folding, hostile, hostile_linear};
use crate::testing::{any_program, any_word};
use cp2_tests::drawn::{compare, digest_strategy};
use std::path::Path;

#[test]
fn the_same_is_drawn() {
    compare(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/assemble/tests/drawn.txt"),
        "-p cp2-asm --lib the_same_is_drawn",
        &[
            ("words", digest_strategy(any_word())),
            ("programs", digest_strategy(any_program(40))),
            ("sources-of-tokens", digest_strategy(hostile::tokens())),
            ("sources-mutated", digest_strategy(hostile::mutated())),
            (
                "blocks-of-pieces",
                digest_strategy(hostile_linear::pieces()),
            ),
            ("blocks-mutated", digest_strategy(hostile_linear::mutated())),
            ("sources-of-macros", digest_strategy(folding::sources())),
        ],
    );
}
