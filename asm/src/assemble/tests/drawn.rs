//! Whether what is drawn is what was.

use super::{folding, hostile};
use crate::testing::{any_program, any_word};
use cp2_tests::drawn::{compare, of_strategy};
use std::path::Path;

#[test]
fn the_same_is_drawn() {
    compare(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/assemble/tests/drawn.txt"),
        "-p cp2-asm --lib the_same_is_drawn",
        &[
            ("words", of_strategy(any_word())),
            ("programs", of_strategy(any_program(40))),
            ("sources-of-tokens", of_strategy(hostile::tokens())),
            ("sources-mutated", of_strategy(hostile::mutated())),
            ("sources-of-macros", of_strategy(folding::sources())),
        ],
    );
}
