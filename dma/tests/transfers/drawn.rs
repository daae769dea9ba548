//! The random inputs of the property tests are the recorded ones.

use crate::common::{any_machine, descriptor};
use cp2_tests::drawn::{compare, digest_strategy};
use std::path::Path;

#[test]
fn the_same_is_drawn() {
    compare(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transfers/drawn.txt"),
        "-p cp2-dma --test transfers the_same_is_drawn",
        &[
            ("descriptors", digest_strategy(descriptor())),
            ("machines", digest_strategy(any_machine())),
        ],
    );
}
