//! The checked-in manual is the generated one, and its examples load.

use cp2_machine::{Class, Machine, NETWORK_ROWS, ROWS, Ratio, Source, manual};
use std::path::Path;

#[test]
fn the_manual_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/machine.md");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        text == manual(),
        "docs/machine.md is stale: cargo run -p cp2-machine --example machine_manual > docs/machine.md"
    );
}

#[test]
fn the_example_of_the_manual_loads() {
    let text = manual();
    let example = text
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let m = Machine::parse("example.toml", example).unwrap();
    assert_eq!(
        (m.name.as_str(), m.cp2.latency[Class::Load].0),
        ("my-vm7", 5)
    );
    assert_eq!(m.dma.bandwidth, Ratio { num: 64, den: 5 });
    let bandwidth = m
        .parameters()
        .find(|p| p.row.key == "dma.bandwidth")
        .unwrap();
    assert_eq!(bandwidth.origin.source, Source::Measured);
}

#[test]
fn every_parameter_is_in_the_manual() {
    let text = manual();
    for row in ROWS.iter().chain(NETWORK_ROWS) {
        assert!(text.contains(&format!("| `{}` |", row.key)), "{}", row.key);
    }
}

#[test]
fn references_of_built_in_values_name_a_statement_of_the_same_kind() {
    let text = manual();
    for machine in Machine::names().into_iter().filter_map(Machine::builtin) {
        for p in machine.parameters() {
            let first = p.origin.reference.split('-').next().unwrap();
            let line = text
                .lines()
                .find(|l| l.starts_with(&format!("| {first} |")));
            let kind = line.unwrap_or_else(|| panic!("no statement {first}"));
            assert!(
                kind.ends_with(&format!("| {} |", p.origin.source)),
                "{}: {kind}",
                p.row.key
            );
        }
    }
}
