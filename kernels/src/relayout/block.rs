//! Cuts an array into blocks of a page and finds blocks that are made alike.

use super::pages::{BlockSlice, ByteSpan, Copies};
use super::{QUAD, Relayout, SourceOfWord, WORD};
use cp2_host::paging::aligned;
use cp2_machine::Machine;
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap};

/// Returns the words of the smallest unit that transfers and registers move whole: a quad, or a granule of
/// several.
fn unit(machine: &Machine) -> u64 {
    aligned(machine) / WORD
}

/// Most bytes of a page: the first load and the last store of longer pages would take longer without
/// overlapping anything.
pub(crate) const PAGE: u64 = 2048;
/// Divisor of DMEM: a group of rows that is longer than a page is one block if it takes at most
/// `DMEM / LONG / 2` bytes.
const LONG: u64 = 3;

/// Words of one quad of a source that become words of a quad of the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Take {
    /// Index of the quad in the block's input.
    pub(super) quad: i64,
    /// For each lane of the result the lane of that quad; for lanes not taken, the lane itself.
    pub(super) lanes: [u8; 4],
    /// Lanes of the result that are taken from that quad.
    pub(super) taken: [bool; 4],
}

/// A quad of the result: its sources and signs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ResultQuad {
    /// Quads that lanes are taken from; lanes that none of them gives are 0.
    pub(super) takes: SmallVec<[Take; 2]>,
    /// Lanes whose sign is changed.
    pub(super) minus: [bool; 4],
}

/// How the quads of a block are made, whatever the addresses of the block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BlockShape {
    /// Quads of one part of the result.
    pub(super) quads: Vec<ResultQuad>,
    /// Number of such parts in the block, one behind the other.
    pub(super) times: u64,
    /// Bytes of one part of the input in DMEM.
    pub(super) input: u64,
    /// Bytes of one part of the result in DMEM.
    pub(super) output: u64,
}

impl BlockShape {
    /// Returns the bytes of a page buffer, which holds an input or a result.
    pub(super) fn bytes(&self) -> u64 {
        self.times * self.input.max(self.output)
    }
}

/// The size of the blocks of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArrayCut {
    /// Number of groups of rows in a block.
    groups: u64,
    /// Number of words in a block that is a part of a group, if blocks are so small.
    words: Option<u64>,
}

/// Returns the number of rows after which all arrays are at whole granules again.
fn group(of: &Relayout<'_>, unit: u64) -> u64 {
    let all = of.from.iter().chain([&of.to]);
    // A unit is a power of two: `unit / gcd(unit, pitch)` rows, by the trailing zeros of both.
    let rows = all.map(|place| unit >> place.pitch.trailing_zeros().min(unit.trailing_zeros()));
    rows.max().unwrap_or(1)
}

/// Most words of a group of rows for which its moved bytes are counted.
const SPARSE: u64 = 1 << 14;

/// Returns the bytes of a group of rows in DMEM: fewer than the `whole` group where less than half of it is
/// moved.
fn sparse(of: &Relayout<'_>, words: u64, unit: u64, whole: u64) -> u64 {
    let (shape, _) = part(of, 0..words, unit);
    let bytes = shape.bytes().max(1);
    if bytes < whole / 2 { bytes } else { whole }
}

/// Returns the block sizes that are tried for an array.
pub(super) fn sizes(of: &Relayout<'_>, machine: &Machine) -> Vec<ArrayCut> {
    let unit = unit(machine);
    let rows = group(of, unit);
    let bytes = of.from.iter().map(|place| place.pitch).sum::<u64>();
    let one = (rows * WORD).saturating_mul(bytes.max(of.to.pitch)).max(1);
    let one = match rows.saturating_mul(of.to.pitch) {
        words if words <= SPARSE && words <= of.words => sparse(of, words, unit, one),
        _ => one,
    };
    let (all, sections) = (
        (of.words / (rows * of.to.pitch)).max(1),
        machine.cp2.sections.max(1) as u64,
    );
    // At least four pages for every section, but none too short, and none that small memories have no room
    // for.
    let most = PAGE.min(machine.cp2.dmem.0 / 8);
    let share = (all * one / (4 * sections)).clamp(most.min(512), most);
    let mut sizes = Vec::new();
    let groups = (share / one).clamp(1, all.div_ceil(sections));
    if one <= machine.cp2.dmem.0 / LONG / 2 {
        let words = None;
        sizes.push(ArrayCut { groups, words });
    }
    if one > share {
        // A block of a part may need more words of the sources than it has itself: small memories may have no
        // room for them.
        let parts = if most < 512 { 0..=2 } else { 0..=0 };
        let parts = parts.map(|part| ((share / WORD) >> part).next_multiple_of(2 * unit));
        sizes.extend(parts.map(|words| ArrayCut {
            groups: 1,
            words: Some(words),
        }));
    }
    sizes
}

/// Cuts an array into blocks and groups those of one shape.
pub(super) fn copies(of: &Relayout<'_>, size: ArrayCut, machine: &Machine) -> Vec<Copies> {
    let unit = unit(machine);
    let rows = group(of, unit);
    let words = rows * of.to.pitch;
    let groups = of.words / words.max(1);
    let mut found = ShapeTable {
        of,
        all: Vec::new(),
        known: HashMap::new(),
    };
    let steps: Vec<u64> = of.from.iter().map(|p| rows * p.pitch * WORD).collect();
    let steps = (steps, words * WORD);
    if groups > 0 {
        match size.words {
            None => {
                let times = size.groups.min(groups);
                let (shape, part) = part(of, 0..words, unit);
                let blocks = groups.div_ceil(times);
                // The last block ends with the last group, so it may overlap the block before; both make the
                // shared words alike.
                let first = (0..blocks).map(|b| (b * times).min(groups - times));
                let shape = BlockShape { times, ..shape };
                found.add(shape, part, first.collect());
            }
            Some(chunk) => {
                for from in (0..words).step_by(chunk.max(unit) as usize) {
                    let (shape, part) = part(of, from..(from + chunk).min(words), unit);
                    found.add(shape, part, (0..groups).collect());
                }
            }
        }
    }
    // Rows behind the last whole group.
    let (rest, end) = (groups * words, of.words);
    let chunk = size.words.unwrap_or(u64::MAX / 2);
    let mut from = rest;
    while from < end {
        let to = end.next_multiple_of(unit).min(from.saturating_add(chunk));
        let (shape, part) = part(of, from..to, unit);
        found.add(shape, part, vec![0]);
        from = to;
    }
    let addresses = of.from.iter().map(|p| p.address).collect();
    let limits = (machine.cp2.sections, machine.dma.levels);
    let made = found.all.into_iter();
    made.map(|alike| Copies {
        shape: alike.shape,
        parts: alike.parts,
        blocks: alike.blocks,
        steps: steps.clone(),
        addresses: (Vec::clone(&addresses), of.to.address),
        limits,
    })
    .collect()
}

/// Blocks of one shape: the shape, its parts, and for each block its part and its group.
struct SharedShapes {
    shape: BlockShape,
    parts: Vec<BlockSlice>,
    blocks: Vec<(u32, u64)>,
}

/// The shapes found so far, and their indices by shape and place in DMEM.
struct ShapeTable<'a> {
    of: &'a Relayout<'a>,
    all: Vec<SharedShapes>,
    known: HashMap<(BlockShape, Vec<[u64; 2]>), usize>,
}

impl ShapeTable<'_> {
    /// Adds the blocks of a part, one for each of the groups, to those of its shape.
    fn add(&mut self, shape: BlockShape, part: BlockSlice, groups: Vec<u64>) {
        if part.stores.is_empty() {
            return;
        }
        debug_assert!(
            part.loads
                .iter()
                .all(|s| usize::from(s.array) < self.of.from.len())
        );
        // Blocks are alike if they also have spans of the same bytes at the same places of DMEM.
        let spans = part.loads.iter().chain(&part.stores);
        let spans = spans.map(|span| [span.local, span.bytes]).collect();
        let next = self.all.len();
        let index = *self.known.entry((shape.clone(), spans)).or_insert(next);
        if index == next {
            self.all.push(SharedShapes {
                shape,
                parts: Vec::new(),
                blocks: Vec::new(),
            });
        }
        let SharedShapes { parts, blocks, .. } = &mut self.all[index];
        let number = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        parts.push(part);
        blocks.extend(groups.into_iter().map(|group| (number, group)));
    }
}

/// Describes the block of a range of words, which begins at a whole granule.
///
/// Returns how its quads are made, and the spans that it loads and stores, in bytes from the arrays'
/// addresses.
fn part(of: &Relayout<'_>, words: std::ops::Range<u64>, unit: u64) -> (BlockShape, BlockSlice) {
    let end = of.words;
    let word = |at: u64| {
        if at >= end {
            return SourceOfWord::Any;
        }
        let (row, own) = (at / of.to.pitch, at % of.to.pitch);
        let from = |array: u8, word: u64| word + row * of.from[usize::from(array)].pitch;
        match (of.word)(own) {
            SourceOfWord::Of(array, word) => SourceOfWord::Of(array, from(array, word)),
            SourceOfWord::Minus(array, word) => SourceOfWord::Minus(array, from(array, word)),
            other => other,
        }
    };
    let bytes = unit * WORD;
    let units = words.start / unit..words.end.div_ceil(unit);
    let mut stores = Vec::new();
    let mut output = 0;
    let mut all: Vec<[SourceOfWord; 4]> = Vec::new();
    let mut needed: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
    for number in units {
        let begin = all.len();
        for quad in 0..unit / QUAD {
            let first = number * unit + quad * QUAD;
            all.push([0, 1, 2, 3].map(|lane| word(first + lane)));
        }
        let lanes = all[begin..].as_flattened();
        if lanes.iter().all(|lane| *lane == SourceOfWord::Any) {
            all.truncate(begin);
            continue;
        }
        for &lane in lanes {
            if let SourceOfWord::Of(array, word) | SourceOfWord::Minus(array, word) = lane {
                let all = needed.entry(array).or_default();
                if all.last() != Some(&(word / unit)) {
                    all.push(word / unit);
                }
            }
        }
        ByteSpan::extend(&mut stores, 0, (number * bytes, bytes), output);
        output += bytes;
    }
    // The source units of each array in rising order, with the place of the first one in the block's input: the units
    // of an array are contiguous.
    let mut sources: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut loads: Vec<ByteSpan> = Vec::new();
    let mut local = 0;
    for (array, mut units) in needed {
        units.sort_unstable();
        units.dedup();
        sources.resize_with(usize::from(array), Default::default);
        let first = local / (QUAD * WORD);
        for &number in &units {
            ByteSpan::extend(&mut loads, array, (number * bytes, bytes), local);
            local += bytes;
        }
        sources.push((first, units));
    }
    // Words come one behind the other, mostly from the unit of the word before.
    let mut last = (0, u64::MAX, 0);
    let mut find_place = |array: u8, number: u64| {
        if (last.0, last.1) != (array, number) {
            let (first, units) = &sources[usize::from(array)];
            let index = units.partition_point(|&own| own < number) as u64;
            last = (array, number, first + index * (unit / QUAD));
        }
        last.2
    };
    // A block of zeros loads a granule that it does not read, since a load has to signal that its turn has
    // come.
    if loads.is_empty() {
        ByteSpan::extend(&mut loads, 0, (0, bytes), 0);
        local = bytes;
    }
    let mut quads = Vec::with_capacity(all.len());
    for lanes in all {
        let mut quad = ResultQuad::default();
        for (lane, word) in lanes.into_iter().enumerate() {
            let (array, word, minus) = match word {
                SourceOfWord::Of(array, word) => (array, word, false),
                SourceOfWord::Minus(array, word) => (array, word, true),
                SourceOfWord::Any | SourceOfWord::Zero => continue,
            };
            quad.minus[lane] = minus;
            let place = (find_place(array, word / unit) + word % unit / QUAD) as i64;
            let known = quad.takes.iter().position(|take| take.quad == place);
            let index = known.unwrap_or_else(|| {
                quad.takes.push(Take {
                    quad: place,
                    lanes: [0, 1, 2, 3],
                    taken: [false; 4],
                });
                quad.takes.len() - 1
            });
            quad.takes[index].lanes[lane] = (word % QUAD) as u8;
            quad.takes[index].taken[lane] = true;
        }
        quads.push(quad);
    }
    let shape = BlockShape {
        quads,
        times: 1,
        input: local,
        output,
    };
    (shape, BlockSlice { loads, stores })
}
