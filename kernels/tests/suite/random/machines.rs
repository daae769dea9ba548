//! Draws random machines: all parameters that a schedule can depend on.

use cp2_kernels::Random;
use cp2_machine::{Machine, Quantity, ROWS, Range, Ratio, Value};

/// Parameters that no schedule depends on: the clock, a width that has one value, extensions whose
/// instructions no kernel has, and the rate at which the control CPU moves data itself, which no job does.
pub(crate) const WITHOUT_EFFECT: &[&str] = &[
    "cp2.clock",
    "cp2.register-lanes",
    "cp2.extensions",
    "host.copy",
];

/// Values of a parameter in base units, or of its bandwidth in tenths of a byte a cycle; parameters not
/// listed get values near the default.
const VALUES: &[(&str, &[u64])] = &[
    (
        "cp2.sections",
        &[
            1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10, 11, 12, 13, 14, 15, 16, 16, 32, 64,
        ],
    ),
    ("cp2.registers", &[2, 8, 16, 24, 32, 40, 48, 56, 64]),
    (
        "cp2.dmem",
        &[
            256,
            1024,
            2048,
            4096,
            8192,
            16_384,
            24_576,
            32_768,
            49_152,
            98_304,
            131_072,
            262_144,
            1 << 20,
        ],
    ),
    ("cp2.dmem-ports", &[1, 2]),
    (
        "cp2.program",
        &[1024, 2048, 4096, 8192, 16_384, 32_768, 131_072],
    ),
    ("cp2.loop-depth", &[1, 2, 3, 4, 8, 16]),
    ("cp2.call-depth", &[1, 2, 16]),
    ("cp2.events", &[1, 2, 3, 4, 8, 32]),
    ("cp2.branch-penalty", &[0, 1, 5, 10]),
    ("cp2.loop-setup", &[0, 1, 4, 9]),
    ("cp2.loop-back", &[0, 1, 2, 5]),
    ("dma.granule", &[4, 8, 16, 32, 64, 256]),
    ("dma.deal", &[4, 8, 16, 32, 64, 256]),
    ("dma.bandwidth", &[10, 40, 80, 128, 160, 240, 320, 640]),
    ("dma.queue", &[1, 2, 3, 4, 8, 32]),
    ("dma.setup-idle", &[0, 8, 100, 1000]),
    ("dma.setup-queued", &[0, 1, 20, 100]),
    ("dma.run", &[0, 2, 5, 20]),
    ("dma.levels", &[1, 2, 3, 4, 8]),
    ("host.memory", &[1 << 18, 1 << 20, 1 << 24, 1 << 32]),
    ("host.launch", &[0, 1, 400]),
    ("host.completion", &[0, 1, 400]),
    ("host.descriptor", &[0, 1, 50, 200]),
    ("host.scalar", &[0, 1, 20, 200]),
];

const LATENCIES: &[u64] = &[1, 2, 3, 5, 8, 13, 20, 30];
const INTERVALS: &[u64] = &[1, 2, 3, 4, 7, 10];

/// Draws one of some values.
pub(crate) fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[(random.next_u64() % all.len() as u64) as usize]
}

/// Draws a built-in machine with up to eight other numbers, with the file that describes it; none if the
/// numbers do not go together.
pub(crate) fn draw(random: &mut Random) -> Option<(String, Machine)> {
    let base = pick(random, &["vm7", "vm9"]);
    let rows: Vec<_> = ROWS
        .iter()
        .filter(|row| !WITHOUT_EFFECT.contains(&row.key))
        .collect();
    let mut lines = Vec::new();
    let mut named = Vec::new();
    // Often one number alone, whose effect is then seen best.
    let count = pick(random, &[0, 1, 1, 1, 2, 2, 3, 4, 6, 8]);
    for _ in 0..count {
        let row = *pick(random, &rows);
        if named.contains(&row.key) {
            continue;
        }
        named.push(row.key);
        lines.push(line(row.key, row.quantity, row.range, base, random));
    }
    let mut text = format!("name = \"drawn\"\nbase = \"{base}\"\n");
    for part in ["cp2", "dma", "host"] {
        text += &format!("[{part}]\n");
        for line in lines
            .iter()
            .filter_map(|l| l.strip_prefix(&format!("{part}.")))
        {
            text += line;
        }
    }
    let machine = Machine::parse("drawn.toml", &text).ok()?;
    Some((text, machine))
}

/// Writes a line of a machine file.
fn line(key: &str, quantity: Quantity, range: Range, base: &str, random: &mut Random) -> String {
    let listed = VALUES.iter().find(|(name, _)| *name == key);
    let values = match listed {
        Some((_, values)) => Some(*values),
        None if key.starts_with("cp2.latency.") => Some(LATENCIES),
        None if key.starts_with("cp2.interval.") => Some(INTERVALS),
        None => None,
    };
    let value = match (values, range) {
        (Some(values), Range::Positive(_)) => {
            let tenths = pick(random, values);
            Value::Ratio(Ratio {
                num: tenths,
                den: 10,
            })
        }
        (Some(values), _) => Value::Integer(pick(random, values)),
        // A parameter that is newer than this list.
        (None, _) => near(key, base, random),
    };
    let (number, unit) = quantity.format(value);
    format!("{key} = {{ value = {number}, unit = \"{unit}\" }}\n")
}

/// Draws half of the default, twice as much, or the default.
fn near(key: &str, base: &str, random: &mut Random) -> Value {
    let machine = Machine::builtin(base).unwrap();
    let own = machine.parameters().find(|p| p.row.key == key);
    let value = match own.map(|p| p.value) {
        Some(Value::Integer(value)) => value,
        _ => 1,
    };
    Value::Integer(pick(random, &[value.div_ceil(2), value, 2 * value]))
}

/// Every parameter of a machine is drawn, or listed as having no effect.
#[test]
fn every_parameter_is_drawn() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..4000 {
        if let Some((text, _)) = draw(&mut Random::new(seed)) {
            let mut part = "";
            for line in text.lines() {
                match line.trim_matches(['[', ']']) {
                    name @ ("cp2" | "dma" | "host") => part = name,
                    line => {
                        let key = line.split(' ').next().unwrap_or_default();
                        seen.insert(format!("{part}.{key}"));
                    }
                }
            }
        }
    }
    for row in ROWS {
        let drawn = seen.contains(row.key);
        assert_eq!(drawn, !WITHOUT_EFFECT.contains(&row.key), "{}", row.key);
    }
}
