//! The built-in machines have the reference's numbers, and reload as written.

use cp2_machine::{Bytes, Class, Cycles, Machine, Ratio, Source};

fn latencies(m: &Machine) -> Vec<u64> {
    use Class::{Add, Butterfly, Elementary, Integer, Load, Madd, Scalar, ScalarLoad};
    [
        Integer, Add, Madd, Butterfly, Elementary, Load, ScalarLoad, Scalar,
    ]
    .map(|c| m.cp2.latency[c].0)
    .to_vec()
}

#[test]
fn vm7_has_the_numbers_of_the_reference() {
    let m = Machine::builtin("vm7").unwrap();
    assert_eq!(
        (m.name.as_str(), m.cp2.clock_hz, m.cp2.sections),
        ("vm7", 200_000_000, 4)
    );
    assert_eq!(
        (m.cp2.registers, m.register_bytes(), m.cp2.dmem),
        (64, 8, Bytes(65536))
    );
    assert_eq!(latencies(&m), [1, 3, 4, 6, 10, 3, 5, 1]);
    assert_eq!(m.cp2.interval[Class::Elementary], Cycles(2));
    assert_eq!(m.cp2.interval[Class::Butterfly], Cycles(1));
    assert_eq!(
        (m.dma.granule, m.dma.queue, m.dma.levels),
        (Bytes(16), 16, 3)
    );
    assert_eq!(m.dma.bandwidth, Ratio { num: 16, den: 1 });
    assert_eq!(
        (
            m.time_base().ticks_per_cycle,
            m.time_base().ticks_per_granule
        ),
        (1, 1)
    );
    assert_eq!((m.host.memory, m.host.launch), (Bytes(1 << 30), Cycles(40)));
}

#[test]
fn vm9_differs_where_the_reference_says() {
    let m = Machine::builtin("vm9").unwrap();
    assert_eq!((m.name.as_str(), m.cp2.clock_hz), ("vm9", 1_000_000_000));
    assert_eq!(latencies(&m), [1, 4, 6, 8, 14, 4, 6, 1]);
    assert_eq!(m.dma.bandwidth, Ratio { num: 64, den: 5 });
    assert_eq!(
        (
            m.time_base().ticks_per_cycle,
            m.time_base().ticks_per_granule
        ),
        (4, 5)
    );
    assert_eq!(m.host.memory, Bytes(4 << 30));
    let vm7 = Machine::builtin("vm7").unwrap();
    let changed: Vec<&str> = m
        .parameters()
        .zip(vm7.parameters())
        .filter(|(a, b)| a.value != b.value)
        .map(|(a, _)| a.row.key)
        .collect();
    assert_eq!(changed.len(), 9, "{changed:?}");
    assert_ne!(m.hash, vm7.hash);
}

#[test]
fn every_number_has_a_source_and_a_reference() {
    for name in Machine::names() {
        let m = Machine::builtin(name).unwrap();
        for p in m.parameters() {
            assert!(!p.origin.reference.is_empty(), "{name} {}", p.row.key);
        }
        let facts = m.parameters().filter(|p| p.origin.source == Source::Fact);
        let facts: Vec<_> = facts.map(|p| p.row.key).collect();
        assert_eq!(
            facts,
            [
                "cp2.sections",
                "cp2.register-lanes",
                "cp2.extensions",
                "dma.granule",
                "network.coding",
                "network.payload"
            ]
        );
    }
}

#[test]
fn toml_output_loads_to_the_same_machine() {
    for name in Machine::names() {
        let m = Machine::builtin(name).unwrap();
        let again = Machine::parse("again.toml", &m.to_toml()).unwrap();
        assert_eq!(again, m);
        let saved = serde_json::to_string(&m).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&saved).unwrap(), m);
        assert!(serde_json::from_str::<Machine>(&saved.replace("sections", "legs")).is_err());
    }
    // The checked-in file has the text that `to_toml` writes.
    assert_eq!(
        Machine::builtin("vm7").unwrap().to_toml(),
        include_str!("../../vm7.toml")
    );
}

#[test]
fn json_output_holds_every_parameter() {
    let vm9 = Machine::builtin("vm9").unwrap().to_json();
    let p = |key: &str| vm9["parameters"][key].clone();
    assert_eq!(p("dma.bandwidth")["value"], 12.8);
    assert_eq!(p("dma.bandwidth")["unit"], "B/cycle");
    assert_eq!(
        (&p("cp2.clock")["value"], &p("cp2.clock")["unit"]),
        (&1.into(), &"GHz".into())
    );
    assert_eq!(p("cp2.sections")["source"], "fact");
    assert_eq!(p("cp2.extensions")["value"], serde_json::json!([]));
    assert_eq!(
        vm9["parameters"].as_object().unwrap().len(),
        cp2_machine::ROWS.len() + cp2_machine::NETWORK_ROWS.len()
    );
    assert_eq!(vm9["hash"].as_str().unwrap().len(), 64);
}

/// The default network enters neither text nor hash; another one enters both, and comes back from the text.
#[test]
fn a_network_of_its_own_enters_text_and_hash() {
    let vm7 = Machine::builtin("vm7").unwrap();
    assert!(!vm7.to_toml().contains("network"));
    let parse = |line: &str| {
        let text = format!("base = \"vm7\"\nname = \"vm7\"\n[network]\n{line}\n");
        Machine::parse("m.toml", &text)
    };
    let equal = parse("lanes = { value = 4, unit = \"lanes\" }").unwrap();
    assert_eq!(equal.hash, vm7.hash);
    for line in [
        "lanes = { value = 2, unit = \"lanes\" }",
        "hop = { value = 0.5, unit = \"us\" }",
        "coding = { value = \"64/67\", unit = \"data bits/bit\" }",
        "topology = \"ring\"",
        "topology = { value = \"fat-tree\", source = \"assumed\", ref = \"N3\" }",
    ] {
        let own = parse(line).unwrap();
        assert_ne!(own.hash, vm7.hash, "{line}");
        assert_eq!(Machine::parse("again.toml", &own.to_toml()).unwrap(), own);
        assert_eq!(
            (own.cp2, own.dma, own.host),
            (vm7.cp2.clone(), vm7.dma.clone(), vm7.host.clone())
        );
    }
    let wrong = parse("topology = \"star\"").unwrap_err().to_string();
    assert!(
        wrong.contains("one of ring, mesh, torus, switch, fat-tree"),
        "{wrong}"
    );
    // A file without a base needs no network either.
    let whole = vm7.to_toml();
    assert_eq!(
        Machine::parse("whole.toml", &whole).unwrap().network,
        vm7.network
    );
}

/// A base's note is not inherited: the numbers of the new machine are others.
#[test]
fn a_note_belongs_to_the_file_that_says_it() {
    let vm7 = Machine::builtin("vm7").unwrap();
    assert!(vm7.note.contains("four sections"));
    let changed = Machine::parse(
        "mine.toml",
        "base = \"vm7\"\ncp2.sections.value = 8\ncp2.sections.unit = \"sections\"",
    )
    .unwrap();
    assert_eq!((changed.cp2.sections, changed.note.as_str()), (8, ""));
    let noted = Machine::parse("mine.toml", "base = \"vm7\"\nnote = \"Eight sections.\"").unwrap();
    assert_eq!(noted.note, "Eight sections.");
    assert!(!Machine::builtin("vm9").unwrap().note.contains("bytes"));
}

/// Published are transfers in two and three dimensions: a run with up to two levels. The third level is
/// assumed.
#[test]
fn levels_beyond_the_published_ones_are_assumed() {
    let vm7 = Machine::builtin("vm7").unwrap();
    let levels = vm7
        .parameters()
        .find(|p| p.row.key == "dma.levels")
        .unwrap();
    assert_eq!(
        (levels.origin.source, levels.origin.reference.as_str()),
        (Source::Assumed, "D10")
    );
}
