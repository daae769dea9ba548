//! Tests that strategies draw the recorded values.

use crate::testing::{cases, machines};
use cp2_tests::drawn::{compare, digest_strategy};
use std::path::Path;

#[test]
fn the_same_is_drawn() {
    compare(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testing/tests/drawn.txt"),
        "-p cp2-emu --lib the_same_is_drawn",
        &[
            ("machines", digest_strategy(machines::any_machine())),
            ("short-programs", digest_strategy(cases(1..60))),
            ("long-programs", digest_strategy(cases(200..900))),
        ],
    );
}
