//! Small machines, random descriptors, and a naive model of the controller.
//!
//! The model shares no code with the crate: it looks at every granule on its own.
#![allow(dead_code, reason = "each test binary uses a part")]

use cp2_dma::{AccessError, Descriptor, Direction, Level, LocalMemory, SystemMemory, Target};
use cp2_machine::Machine;
use proptest::prelude::*;

/// A machine so small that random descriptors meet its limits.
pub(crate) fn machine(sections: u32, granule: u32) -> Machine {
    dealing(sections, granule, 16)
}

/// Returns a small machine that deals `deal` bytes to a section at a time.
pub(crate) fn dealing(sections: u32, granule: u32, deal: u32) -> Machine {
    let text = format!(
        "base = \"vm7\"\n\
         [cp2]\nsections = {{ value = {sections}, unit = \"sections\" }}\n\
         dmem = {{ value = 256, unit = \"B\" }}\nprogram = {{ value = 1, unit = \"KiB\" }}\n\
         [dma]\ngranule = {{ value = {granule}, unit = \"B\" }}\ndeal = {{ value = {deal}, unit = \"B\" }}\n\
         [host]\nmemory = {{ value = 4, unit = \"KiB\" }}\n"
    );
    Machine::parse("small.toml", &text).unwrap()
}

pub(crate) fn any_machine() -> impl Strategy<Value = Machine> {
    let granule = prop::sample::select(vec![4u32, 8, 16]);
    let deal = prop::sample::select(vec![4u32, 16, 32]);
    let beat = prop::sample::select(vec![4u32, 8, 16, 16, 64]);
    (1u32..=5, granule, deal, beat, 1u32..=3).prop_map(|(s, g, deal, beat, lines)| {
        let small = dealing(s, g, deal);
        match g < 16 {
            true => small
                .with_changes(&format!("dma.beat={beat}B+dma.lines={lines}"))
                .unwrap(),
            false => small,
        }
    })
}

/// Returns the ticks that all granules of a transfer take together without gaps, by looking at every byte.
pub(crate) fn moving(all: &[Granule], m: &Machine) -> u64 {
    let (base, granule) = (m.time_base(), m.dma.granule.0);
    if granule >= 16 {
        return all.len() as u64 * base.ticks_per_granule;
    }
    let beat = i128::from(m.dma.beat.0);
    let (mut beats, mut before) = (0u64, None);
    for byte in all
        .iter()
        .flat_map(|x| x.system..x.system + i128::from(granule))
    {
        let joins = before == Some(byte - 1) && byte / beat == (byte - 1) / beat;
        beats += u64::from(!joins);
        before = Some(byte);
    }
    let lines_of = |section: u32| {
        let own = |x: &&Granule| x.sections.as_ref().is_some_and(|to| to.contains(&section));
        let bytes = all
            .iter()
            .filter(own)
            .flat_map(|x| x.local..x.local + i128::from(granule));
        let mut lines: Vec<i128> = bytes.map(|byte| byte / 16).collect();
        lines.dedup();
        lines.len() as u64
    };
    let lines = (0..m.cp2.sections as u32).map(lines_of).max().unwrap();
    let cycles_of_lines = lines * base.ticks_per_cycle;
    let by_lines = cycles_of_lines.div_ceil(m.dma.lines);
    (beats * m.dma.beat.0 * base.ticks_per_granule)
        .div_ceil(granule)
        .max(by_lines)
}

fn near(range: std::ops::Range<i64>, granule: i64) -> impl Strategy<Value = i64> {
    prop_oneof![
        60 => range.clone().prop_map(move |v| v * granule),
        1 => (range.start * granule)..(range.end * granule),
        1 => Just(0),
    ]
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        1 => Just(Target::Program),
        3 => (0u32..4).prop_map(Target::Section),
        3 => near(-12..24, 16).prop_map(|stride| Target::Blocks { stride }),
        2 => Just(Target::Broadcast),
        3 => Just(Target::Deal),
    ]
}

/// Draws descriptors, a good part of which are legal on the small machines.
pub(crate) fn descriptor() -> impl Strategy<Value = Descriptor> {
    let level = (
        prop_oneof![9 => 1u32..4, 1 => 0u32..9],
        near(-8..16, 16),
        near(-3..4, 16),
    )
        .prop_map(|(count, system_stride, local_stride)| Level {
            count,
            system_stride,
            local_stride,
        });
    (
        prop_oneof![Just(Direction::Load), Just(Direction::Store)],
        target(),
        near(0..200, 16),
        near(0..14, 16),
        near(1..6, 16),
        prop::collection::vec(level, 0..=3),
        prop::option::of(prop_oneof![20 => 0u32..32, 1 => 32u32..99]),
    )
        .prop_map(
            |(direction, target, system, local, run, levels, event)| Descriptor {
                direction,
                target,
                system: system as u64,
                local: local as u32,
                run: run as u64,
                levels: levels.into(),
                event,
            },
        )
}

/// Draws descriptors whose addresses, strides and runs are words, a good part of which are legal on small
/// machines with granules of 4 B.
pub(crate) fn word_descriptor() -> impl Strategy<Value = Descriptor> {
    let words = |range: std::ops::Range<i64>| range.prop_map(|v| 4 * v);
    let level = (1u32..6, words(-12..24), words(-6..12));
    let target = prop_oneof![
        (0u32..4).prop_map(Target::Section),
        words(-24..48).prop_map(|stride| Target::Blocks { stride }),
        Just(Target::Broadcast),
        Just(Target::Deal),
    ];
    let place = (words(100..400), words(0..40), words(1..12));
    (
        any::<bool>(),
        target,
        place,
        prop::collection::vec(level, 0..=3),
    )
        .prop_map(|(store, target, (system, local, run), levels)| {
            let (system, local, run) = (system as u64, local as u32, run as u64);
            let d = match store {
                true => Descriptor::store(target, system, local, run),
                false => Descriptor::load(target, system, local, run),
            };
            let level = |d: Descriptor, (count, system, local)| d.level(count, system, local);
            levels.into_iter().fold(d, level)
        })
}

/// Draws small machines with granules of 4 B.
pub(crate) fn word_machine() -> impl Strategy<Value = Machine> {
    any_machine().prop_filter("words", |m| m.dma.granule.0 == 4)
}

/// One granule of a transfer: its addresses, and the sections that take part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Granule {
    pub(crate) system: i128,
    pub(crate) local: i128,
    /// Sections whose DMEM takes part; none for program memory.
    pub(crate) sections: Option<Vec<u32>>,
}

/// Returns every granule in the documented order, by plain nested loops.
pub(crate) fn granules(d: &Descriptor, m: &Machine) -> Vec<Granule> {
    let all: Vec<u32> = (0..m.cp2.sections as u32).collect();
    let (g, n) = (m.dma.granule.0 as i128, all.len() as i128);
    // Granules dealt to a section at a time.
    let u = (m.dma.deal.0 as i128).max(g) / g;
    let mut out = Vec::new();
    let blocks: Vec<(i128, Option<u32>)> = match d.target {
        Target::Blocks { stride } => all
            .iter()
            .map(|&s| (i128::from(s) * i128::from(stride), Some(s)))
            .collect(),
        _ => vec![(0, None)],
    };
    let mut levels = d.levels.clone();
    levels.resize(
        3,
        Level {
            count: 1,
            system_stride: 0,
            local_stride: 0,
        },
    );
    for (offset, section) in blocks {
        for k in 0..i128::from(levels[2].count) {
            for j in 0..i128::from(levels[1].count) {
                for i in 0..i128::from(levels[0].count) {
                    let step = |f: fn(&Level) -> i64| {
                        i * i128::from(f(&levels[0]))
                            + j * i128::from(f(&levels[1]))
                            + k * i128::from(f(&levels[2]))
                    };
                    let system = i128::from(d.system) + offset + step(|l| l.system_stride);
                    let local = i128::from(d.local) + step(|l| l.local_stride);
                    for w in 0..i128::from(d.run) / g {
                        let (at, sections) = match d.target {
                            Target::Program => (w, None),
                            Target::Section(s) => (w, Some(vec![s])),
                            Target::Blocks { .. } => (w, Some(section.into_iter().collect())),
                            Target::Broadcast => (w, Some(all.clone())),
                            Target::Deal => (w / u / n * u + w % u, Some(vec![(w / u % n) as u32])),
                        };
                        let (system, local) = (system + w * g, local + at * g);
                        out.push(Granule {
                            system,
                            local,
                            sections,
                        });
                    }
                }
            }
        }
    }
    out
}

/// Checks every rule of the documentation, granule by granule.
pub(crate) fn is_legal(d: &Descriptor, m: &Machine) -> bool {
    let g = i128::from(m.dma.granule.0);
    let mut addresses = vec![i128::from(d.system), i128::from(d.local), i128::from(d.run)];
    for l in &d.levels {
        addresses.extend([i128::from(l.system_stride), i128::from(l.local_stride)]);
    }
    if let Target::Blocks { stride } = d.target {
        addresses.push(i128::from(stride));
    }
    let sections = m.cp2.sections as u64;
    let words = d.levels.iter().map(|l| i128::from(l.local_stride));
    let mut words = words.chain([i128::from(d.local), i128::from(d.run)]);
    if d.target == Target::Program && words.any(|a| a % 8 != 0) {
        return false;
    }
    let shape = addresses.iter().all(|a| a % g == 0)
        && d.run > 0
        && d.levels.len() <= m.dma.levels
        && d.levels.iter().all(|l| l.count > 0)
        && d.event.is_none_or(|e| (e as usize) < m.cp2.events)
        && !matches!(d.target, Target::Section(s) if u64::from(s) >= sections)
        && !(d.direction == Direction::Store
            && matches!(d.target, Target::Program | Target::Broadcast));
    if !shape {
        return false;
    }
    let local_size = match d.target {
        Target::Program => m.cp2.program.0,
        _ => m.cp2.dmem.0,
    };
    let inside = |at: i128, size: u64| at >= 0 && at + g <= i128::from(size);
    let all = granules(d, m);
    // Bytes that land in one memory; program memory counts as one.
    let landed = |s: u32| {
        let here = |x: &&Granule| x.sections.as_ref().is_none_or(|to| to.contains(&s));
        all.iter().filter(here).count() as u64 * m.dma.granule.0
    };
    let fits = match (d.direction, d.target) {
        (Direction::Store, Target::Blocks { .. }) => landed(0) <= m.host.memory.0 / sections,
        (Direction::Store, _) => all.len() as u64 * m.dma.granule.0 <= m.host.memory.0,
        (Direction::Load, _) => (0..sections as u32).all(|s| landed(s) <= local_size),
    };
    fits && all
        .iter()
        .all(|x| inside(x.system, m.host.memory.0) && inside(x.local, local_size))
}

/// System memory and local memories as plain arrays.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Memories {
    pub(crate) system: Bytes,
    pub(crate) local: Locals,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Locals {
    pub(crate) dmem: Vec<Vec<u8>>,
    pub(crate) program: Vec<u8>,
}

impl Memories {
    /// Fills the memories with noise, so that misplaced bytes show.
    pub(crate) fn filled(m: &Machine) -> Self {
        let mut state = 1u32;
        let mut noise = |n: u64| -> Vec<u8> {
            let mut next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            };
            (0..n).map(|_| next()).collect()
        };
        Self {
            system: Bytes(noise(m.host.memory.0)),
            local: Locals {
                dmem: (0..m.cp2.sections).map(|_| noise(m.cp2.dmem.0)).collect(),
                program: noise(m.cp2.program.0),
            },
        }
    }
}

fn outside(address: u64, bytes: usize) -> AccessError {
    AccessError {
        address,
        bytes: bytes as u64,
        reason: "outside the test's memory".into(),
    }
}

impl SystemMemory for Bytes {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let (at, n) = (address as usize, out.len());
        out.copy_from_slice(self.0.get(at..at + n).ok_or_else(|| outside(address, n))?);
        Ok(())
    }
    fn write(&mut self, address: u64, data: &[u8]) -> Result<(), AccessError> {
        let (at, n) = (address as usize, data.len());
        self.0
            .get_mut(at..at + n)
            .ok_or_else(|| outside(address, n))?
            .copy_from_slice(data);
        Ok(())
    }
}

impl LocalMemory for Locals {
    fn read(&self, section: u32, address: u32, out: &mut [u8]) -> Result<(), AccessError> {
        let memory = self
            .dmem
            .get(section as usize)
            .ok_or_else(|| outside(0, 0))?;
        Bytes(memory.clone()).read(address.into(), out)
    }
    fn write(&mut self, section: u32, address: u32, data: &[u8]) -> Result<(), AccessError> {
        let memory = self
            .dmem
            .get_mut(section as usize)
            .ok_or_else(|| outside(0, 0))?;
        let mut bytes = Bytes(std::mem::take(memory));
        let result = bytes.write(address.into(), data);
        *memory = bytes.0;
        result
    }
    fn write_program(&mut self, address: u32, data: &[u8]) -> Result<(), AccessError> {
        let mut bytes = Bytes(std::mem::take(&mut self.program));
        let result = bytes.write(address.into(), data);
        self.program = bytes.0;
        result
    }
}
