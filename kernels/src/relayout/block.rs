//! Blocks: parts of an array that a page holds, and which of them are made alike.

use super::pages::{BlockSlice, ByteSpan, Copies};
use super::{QUAD, Relayout, SourceOfWord, WORD};
use cp2_host::paging::aligned;
use cp2_machine::Machine;

use std::collections::{BTreeMap, HashMap};

/// Words of what transfers move whole and registers take whole: a quad, or a granule of several.
fn unit(machine: &Machine) -> u64 {
    aligned(machine) / WORD
}

/// Bytes of a page that are enough: a longer one's first load and last store stand alone longer.
pub(crate) const PAGE: u64 = 2048;
/// Groups of rows that are one block each, and too long for a short page: at most so much of DMEM.
const LONG: u64 = 3;

/// Words of quads of a source taken into a quad of the result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Take {
    /// The quad of the block's input.
    pub(super) quad: i64,
    /// For each lane of the result the lane of that quad; those not taken are as they are.
    pub(super) lanes: [u8; 4],
    /// Which lanes of the result are taken.
    pub(super) taken: [bool; 4],
}

/// A quad of the result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ResultQuad {
    /// From which quads; lanes that none has are 0.
    pub(super) takes: Vec<Take>,
    /// Lanes whose sign changes.
    pub(super) minus: [bool; 4],
}

/// A block, up to where it lies: what its quads are made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BlockShape {
    /// The quads of a part of the result.
    pub(super) quads: Vec<ResultQuad>,
    /// How often that is there, one behind the other.
    pub(super) times: u64,
    /// Bytes of a part of the input and of the result in DMEM.
    pub(super) input: u64,
    pub(super) output: u64,
}

impl BlockShape {
    /// Bytes of a page buffer, which holds an input or a result.
    pub(super) fn bytes(&self) -> u64 {
        self.times * self.input.max(self.output)
    }
}

/// How an array is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArrayCut {
    /// Groups of rows of a block.
    groups: u64,
    /// Or words of a block, where it is a part of a group.
    words: Option<u64>,
}

/// Rows after which all arrays are at whole granules again.
fn group(of: &Relayout<'_>, unit: u64) -> u64 {
    let all = of.from.iter().chain([&of.to]);
    // A unit is a power of two: as many rows as it has more factors of 2 than a row.
    let rows = all.map(|place| unit >> place.pitch.trailing_zeros().min(unit.trailing_zeros()));
    rows.max().unwrap_or(1)
}

/// Words of a group of rows that are looked at for what it moves.
const SPARSE: u64 = 1 << 14;

/// Bytes of a group of rows in DMEM: fewer than the `whole` ones where little of the rows is taken or written.
fn sparse(of: &Relayout<'_>, words: u64, unit: u64, whole: u64) -> u64 {
    let (shape, _) = part(of, 0..words, unit);
    let bytes = shape.bytes().max(1);
    if bytes < whole / 2 { bytes } else { whole }
}

/// The ways to cut an array that are tried.
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
    // Four pages of every section at least, but none too short, and none that small memories have no room for.
    let most = PAGE.min(machine.cp2.dmem.0 / 8);
    let share = (all * one / (4 * sections)).clamp(most.min(512), most);
    let mut sizes = Vec::new();
    let groups = (share / one).clamp(1, all.div_ceil(sections));
    if one <= machine.cp2.dmem.0 / LONG / 2 {
        let words = None;
        sizes.push(ArrayCut { groups, words });
    }
    if one > share {
        // Blocks of a part take more of other arrays than they are: small memories may have no room for that.
        let parts = if most < 512 { 0..=2 } else { 0..=0 };
        let parts = parts.map(|part| ((share / WORD) >> part).next_multiple_of(2 * unit));
        sizes.extend(parts.map(|words| ArrayCut {
            groups: 1,
            words: Some(words),
        }));
    }
    sizes
}

/// The blocks of an array, those of one shape together.
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
                // The last block ends with the last group: some are made twice, alike.
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
    // Rows that are no group.
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

/// A shape, its parts, and the blocks: which part, and the group it is of.
struct SharedShapes {
    shape: BlockShape,
    parts: Vec<BlockSlice>,
    blocks: Vec<(u32, u64)>,
}

/// The shapes found so far.
struct ShapeTable<'a> {
    of: &'a Relayout<'a>,
    all: Vec<SharedShapes>,
    known: HashMap<(BlockShape, Vec<[u64; 2]>), usize>,
}

impl ShapeTable<'_> {
    fn add(&mut self, shape: BlockShape, part: BlockSlice, groups: Vec<u64>) {
        if part.stores.is_empty() {
            return;
        }
        debug_assert!(
            part.loads
                .iter()
                .all(|s| usize::from(s.array) < self.of.from.len())
        );
        // Spans of the same bytes at the same places of DMEM.
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

/// The part of an array that some of its words are, from a whole granule on: how it is made, and where it and what it is made of lie,
/// in bytes from the arrays' addresses.
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
    let mut stored: Vec<(u64, Vec<[SourceOfWord; 4]>)> = Vec::new();
    let mut needed: BTreeMap<u8, Vec<u64>> = BTreeMap::new();
    for number in units {
        let quads = (0..unit / QUAD).map(|quad| number * unit + quad * QUAD);
        let quads: Vec<_> = quads
            .map(|quad| [0, 1, 2, 3].map(|lane| word(quad + lane)))
            .collect();
        if quads
            .as_flattened()
            .iter()
            .all(|lane| *lane == SourceOfWord::Any)
        {
            continue;
        }
        for &lane in quads.as_flattened() {
            if let SourceOfWord::Of(array, word) | SourceOfWord::Minus(array, word) = lane {
                let all = needed.entry(array).or_default();
                if all.last() != Some(&(word / unit)) {
                    all.push(word / unit);
                }
            }
        }
        stored.push((number, quads));
    }
    // Where the units lie that it is made of, in quads: those of an array one behind the other.
    let mut places: HashMap<(u8, u64), i64> = HashMap::new();
    let mut loads: Vec<ByteSpan> = Vec::new();
    let mut local = 0;
    for (array, mut units) in needed {
        units.sort_unstable();
        units.dedup();
        for number in units {
            places.insert((array, number), (local / (QUAD * WORD)) as i64);
            ByteSpan::extend(&mut loads, array, (number * bytes, bytes), local);
            local += bytes;
        }
    }
    // A block of zeros alone loads a granule that it does not look at: something must say that its turn has come.
    if loads.is_empty() {
        ByteSpan::extend(&mut loads, 0, (0, bytes), 0);
        local = bytes;
    }
    let mut stores = Vec::new();
    let mut output = 0;
    let mut quads = Vec::new();
    let mut all = Vec::new();
    for (number, quads) in stored {
        ByteSpan::extend(&mut stores, 0, (number * bytes, bytes), output);
        output += bytes;
        all.extend(quads);
    }
    for lanes in all {
        let mut quad = ResultQuad::default();
        for (lane, word) in lanes.into_iter().enumerate() {
            let (array, word, minus) = match word {
                SourceOfWord::Of(array, word) => (array, word, false),
                SourceOfWord::Minus(array, word) => (array, word, true),
                SourceOfWord::Any | SourceOfWord::Zero => continue,
            };
            quad.minus[lane] = minus;
            let place = places.get(&(array, word / unit)).copied().unwrap_or(0);
            let place = place + (word % unit / QUAD) as i64;
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
