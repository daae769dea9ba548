//! Test that the checked-in manual is the one that the table generates.

use std::path::Path;

#[test]
fn the_manual_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/isa.md");
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == cp2_asm::manual::isa(),
        "docs/isa.md is stale: cargo run -p cp2-asm --example isa_manual > docs/isa.md"
    );
}

#[test]
fn every_row_and_no_mark_is_in_the_manual() {
    let text = cp2_asm::manual::isa();
    assert!(!text.contains("{{"));
    for op in cp2_asm::isa::Op::ALL {
        let row = op.row();
        let line = text.lines().filter(|line| {
            line.starts_with(&format!("| `{}` | `{:05b}` |", row.mnemonic, row.major))
        });
        assert!(
            line.filter(|line| line.contains(&row.doc.replace('|', "\\|")))
                .count()
                >= 1,
            "{op:?}"
        );
    }
}
