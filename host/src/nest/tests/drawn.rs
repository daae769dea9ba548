//! Tests that the generated marches are those of the stored digest.

use cp2_tests::drawn::{compare, digest_strategy};
use std::path::Path;

#[test]
fn the_same_is_drawn() {
    compare(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/nest/tests/drawn.txt"),
        "-p cp2-host --lib the_same_is_drawn",
        &[("marches", digest_strategy(super::march::cases()))],
    );
}
