//! Machines that are named with changes, and parameters of extensions.

use cp2_machine::{Bytes, Class, Cycles, EXTENSION_ROWS, Extensions, Machine, Ratio, Source};
use proptest::prelude::*;

fn load(name: &str) -> Machine {
    Machine::load(name).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn refused(name: &str) -> String {
    match Machine::load(name) {
        Ok(machine) => panic!("{name} is accepted: {machine:?}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn changes_of_every_kind() {
    let vm7 = load("vm7");
    let m = load("vm7+section-addressing+dma.granule=4B+cp2.dmem=128KiB");
    assert_eq!(m.cp2.extensions, Extensions::SECTION_ADDRESSING);
    assert_eq!((m.dma.granule, m.cp2.dmem), (Bytes(4), Bytes(128 << 10)));
    assert_eq!(
        m.name,
        "vm7+section-addressing+dma.granule=4B+cp2.dmem=128KiB"
    );
    let origin = |key: &str| {
        let p = m.parameters().find(|p| p.row.key == key).unwrap();
        (p.origin.source, p.origin.reference.clone())
    };
    assert_eq!(
        origin("dma.granule"),
        (Source::Assumed, "changed from 16 B".to_owned())
    );
    assert_eq!(origin("cp2.sections").0, Source::Fact);
    let wide = load("vm9+dma.bandwidth=x2+cp2.latency.load=x1/2");
    assert_eq!(wide.dma.bandwidth, Ratio { num: 128, den: 5 });
    assert_eq!(wide.cp2.latency[Class::Load], Cycles(2));
    assert_eq!(
        load("vm7+dma.bandwidth=32/3B/cycle").dma.bandwidth,
        Ratio { num: 32, den: 3 }
    );
    assert_eq!(
        load("vm7+network.topology=ring").network.topology.name(),
        "ring"
    );
    // The later change holds, and what equals the machine has its hash.
    assert_eq!(load("vm7+cp2.dmem=x2+cp2.dmem=x1/2").hash, vm7.hash);
    assert_eq!(load("vm7+dma.bandwidth=16").hash, vm7.hash);
    let both = load("vm7+double+cp2.extensions=exchange,conditional");
    assert_eq!(
        both.cp2.extensions,
        Extensions::EXCHANGE | Extensions::CONDITIONAL
    );
    assert_eq!(vm7.with_changes("double").unwrap(), load("vm7+double"));
}

#[test]
fn files_come_first_and_may_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("a+double.toml", "base = \"vm7\"\nname = \"mine\"\n");
    write("b.toml", "base = \"a+double.toml+dma.queue=8\"\n");
    assert_eq!(load(&path("a+double.toml")).name, "mine");
    assert_eq!(load(&path("a+double.toml+double")).name, "mine+double");
    assert_eq!(load(&path("b.toml+dma.levels=2")).dma.queue, 8);
}

#[test]
fn mistakes_say_where_and_what_to_write() {
    for (name, parts) in [
        ("vm7+", &["a change is empty", "vm7+dma.granule=4B"][..]),
        (
            "vm7+doubel",
            &["unknown key `doubel`", "did you mean `double`?"],
        ),
        ("vm7+shared-memory", &["did you mean `exchange`?"]),
        (
            "vm7+granule=4B",
            &["unknown key `granule`", "did you mean `dma.granule`?"],
        ),
        (
            "vm7+dma.granule",
            &["named without a value", "dma.granule=NUMBER"],
        ),
        ("vm7+dma.granule=4", &["has no unit", "\"B\""]),
        ("vm7+dma.granule=4W", &["cannot be given in `W`"]),
        ("vm7+dma.granule=5B", &["cannot be `5B`", "a power of two"]),
        ("vm7+dma.granule=", &["cannot be nothing"]),
        ("vm7+cp2.latency.load=x1/7", &["a whole number"]),
        ("vm7+dma.bandwidth=x0", &["greater than 0"]),
        ("vm7+network.topology=star", &["one of ring, mesh"]),
        (
            "vm7+cp2.latency.gather=5",
            &["belongs to the extension section-addressing"],
        ),
        ("vm7+cp2.dmem=300B", &["a multiple of the DMA granule"]),
        (
            "vm77+double",
            &["no machine named `vm77`", "did you mean `vm7`?"],
        ),
    ] {
        let text = refused(name);
        for part in parts {
            assert!(text.contains(part), "{name}: {text}");
        }
    }
    // The place is shown in the text that was given.
    let text = refused("vm7+double+dma.granule=5B");
    assert!(text.contains("machine:1:12"), "{text}");
}

/// Today's machines keep listing, text and hash whatever extensions this version knows.
#[test]
fn parameters_of_extensions_are_of_machines_that_have_them() {
    let vm7 = load("vm7");
    assert_eq!(
        vm7.hash,
        "c8cda138b7298b9fc9c211053dde8dde9d67520b56f5fb46630a6a8b823b1756"
    );
    assert!(vm7.parameters().all(|p| p.row.requires.is_empty()));
    for row in EXTENSION_ROWS {
        let m = load(&format!("vm9+{}", row.brought_by()));
        assert!(m.parameters().any(|p| p.row.key == row.key));
        assert_eq!(Machine::parse("again.toml", &m.to_toml()).unwrap(), m);
        let line = format!("\n{} = ", row.key.rsplit('.').next().unwrap());
        assert!(!vm7.to_toml().contains(&line));
    }
    let gather = |name: &str| load(name).cp2.latency[Class::Gather].0;
    assert_eq!(gather("vm7+section-addressing"), 4);
    assert_eq!(gather("vm9+section-addressing"), 5);
    // A default follows what it is derived from until it is given; a removed extension takes its values along.
    assert_eq!(gather("vm7+section-addressing+cp2.latency.load=9"), 10);
    let own = "vm7+section-addressing+cp2.latency.gather=7";
    assert_eq!(gather(&format!("{own}+cp2.latency.load=9")), 7);
    let base = load(own).with_changes("cp2.extensions=").unwrap();
    assert_eq!(base.hash, vm7.hash);
    assert_ne!(load(own).hash, load("vm7+section-addressing").hash);
}

#[test]
fn beats_and_lines_are_of_machines_with_fine_granules() {
    let dma = |name: &str| load(name).dma;
    let beat_and_lines = |name: &str| (dma(name).beat.0, dma(name).lines);
    assert_eq!(beat_and_lines("vm7+dma.granule=4B"), (16, 1));
    assert_eq!(beat_and_lines("vm9+dma.granule=8B+dma.beat=4B"), (4, 1));
    // The channel fills the lines that it brings, unless the machine says otherwise.
    let wide = "vm7+dma.granule=4B+dma.bandwidth=40";
    assert_eq!(beat_and_lines(wide), (16, 3));
    assert_eq!(beat_and_lines(&format!("{wide}+dma.lines=2")), (16, 2));
    assert_ne!(
        load("vm7+dma.granule=4B+dma.beat=4B").hash,
        load("vm7+dma.granule=4B").hash
    );
    // They go with the fine granules, and nobody else can give them.
    let back = load("vm7+dma.granule=4B+dma.beat=4B").with_changes("dma.granule=16B");
    assert_eq!(back.unwrap().hash, load("vm7").hash);
    let text = refused("vm7+dma.beat=4B");
    assert!(
        text.contains("`dma.beat` belongs to machines with a `dma.granule` below 16 B"),
        "{text}"
    );
    assert!(
        text.contains("set dma.granule=4B, or leave the parameter out"),
        "{text}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_a_machine_or_refused(changes in "[+=x/a-z0-9.,-]{0,30}|\\PC{0,12}", key in 0..64usize) {
        let row = cp2_machine::ROWS.iter().cycle().nth(key).unwrap();
        for text in [format!("vm7+{changes}"), format!("vm7+{}={changes}", row.key)] {
            match Machine::load(&text) {
                Ok(m) => prop_assert_eq!(Machine::parse("again.toml", &m.to_toml()), Ok(m)),
                Err(e) => prop_assert!(!e.to_string().is_empty()),
            }
        }
    }
}
