//! A random program with its machine, its data and events from outside.

use super::items::{ProgramItem, any_item};
use super::layout::lay_out;
use super::machines::any_machine;
use cp2_asm::isa::Word;
use cp2_asm::{Program, disassemble};
use cp2_machine::{LANE_BYTES, Machine};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::fmt;
use std::sync::Arc;

/// Properties of a whole program.
#[derive(Clone, Debug)]
pub struct ProgramShape {
    /// Number of functions after the main routine.
    pub functions: usize,
    /// Number of registers per section that it uses; few of them cause many stalls.
    pub registers: u8,
    /// Largest product of the passes of nested loops.
    pub passes: u32,
    /// True if words that were drawn to fault may do so.
    pub unruly: bool,
}

/// Initial content of DMEM and system memory.
#[derive(Clone, Copy, Debug)]
pub enum Fill {
    /// Zeros.
    Zero,
    /// Floats of moderate size, some of them whole numbers.
    Floats(u32),
    /// Floats, NaN, infinities, signed zeros, subnormals and arbitrary bits.
    Nasty(u32),
}

/// Action of the control CPU at some time.
#[derive(Clone, Debug)]
pub enum ControlAction {
    /// Submits a transfer between system memory and DMEM.
    Transfer {
        /// True for a load, false for a store.
        load: bool,
        /// Choice of the target: a section, blocks of all sections, a broadcast, or dealt.
        target: u8,
        /// Place in system memory, in granules.
        slot: u16,
        /// Place in DMEM, in granules.
        local: u16,
        /// Length of a run in granules, less one.
        run: u8,
        /// Number of runs, less one.
        runs: u8,
        /// Granules between runs in system memory.
        gap: u8,
        /// Event to post.
        event: Option<u8>,
    },
    /// Submits a transfer that replaces part of the program with its variant.
    Replace {
        /// First word, approximately.
        word: u16,
        /// Number of words, approximately.
        words: u8,
        /// True to load data, which is no program.
        garbage: bool,
    },
    /// Posts an event.
    Post {
        /// The event.
        event: u8,
    },
}

/// A program, the machine it runs on, its data, and what happens meanwhile.
#[derive(Clone)]
pub struct LockstepCase {
    /// The machine.
    pub machine: Arc<Machine>,
    /// Properties of the program.
    pub shape: ProgramShape,
    items: Vec<ProgramItem>,
    /// Contents of the memories.
    pub fill: Fill,
    /// Actions of the control CPU, each some cycles after the previous one.
    pub deeds: Vec<(u16, ControlAction)>,
    /// Entry points of further launches, modulo the program's length.
    pub launches: Vec<u16>,
    /// Cycles between comparisons.
    pub every: u16,
    /// Cycles after which the second processor is suspended, again and again.
    pub cuts: Vec<u16>,
}

/// Returns a strategy for cases whose programs have a number of items in the range.
pub fn cases(items: std::ops::Range<usize>) -> BoxedStrategy<LockstepCase> {
    let shape = (
        0usize..4,
        select(vec![6u8, 20, 64]),
        select(vec![3u32, 20, 100]),
        prop::bool::weighted(0.3),
    )
        .prop_map(|(functions, registers, passes, unruly)| ProgramShape {
            functions,
            registers,
            passes,
            unruly,
        });
    let fill = prop_oneof![
        1 => Just(Fill::Zero),
        3 => any::<u32>().prop_map(Fill::Floats),
        3 => any::<u32>().prop_map(Fill::Nasty),
    ];
    let deeds = prop::collection::vec((0u16..800, any_control_action()), 0..12);
    (
        any_machine().prop_map(Arc::new),
        shape,
        prop::collection::vec(any_item(), items),
        fill,
        deeds,
        prop::collection::vec(prop_oneof![3 => Just(0), 1 => any::<u16>()], 2..16),
        100u16..5000,
        prop::collection::vec(1u16..900, 1..6),
    )
        .prop_map(
            |(machine, shape, items, fill, deeds, launches, every, cuts)| LockstepCase {
                machine,
                shape,
                items,
                fill,
                deeds,
                launches,
                every,
                cuts,
            },
        )
        .boxed()
}

fn any_control_action() -> BoxedStrategy<ControlAction> {
    let event = prop::option::of(0u8..4);
    let place = (any::<u16>(), any::<u16>());
    let run = prop_oneof![3 => 0u8..12, 1 => 12u8..100];
    prop_oneof![
        8 => (any::<bool>(), any::<u8>(), place, run, 0u8..8, 0u8..3, event).prop_map(
            |(load, target, (slot, local), run, runs, gap, event)| ControlAction::Transfer {
                load, target, slot, local, run, runs, gap, event,
            }
        ),
        1 => (any::<u16>(), 0u8..40, prop::bool::weighted(0.2))
            .prop_map(|(word, words, garbage)| ControlAction::Replace { word, words, garbage }),
        2 => (0u8..4).prop_map(|event| ControlAction::Post { event }),
    ]
    .boxed()
}

/// Bytes of a seed from which [`LockstepCase::from_bytes`] draws.
const SEED: usize = 8;

/// Draws a value from a strategy with a seed.
fn drawn<T: fmt::Debug>(strategy: &BoxedStrategy<T>, seed: &[u8]) -> Option<T> {
    let mut start = [0; 16];
    for (to, from) in start.iter_mut().zip(seed) {
        *to = *from;
    }
    let rng = TestRng::from_seed(RngAlgorithm::XorShift, &start);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    Some(strategy.new_tree(&mut runner).ok()?.current())
}

impl LockstepCase {
    /// Makes a case from a fuzzer's bytes. After the first eight bytes, every eight are an item of
    /// the program, so that similar bytes make similar programs.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (first, rest) = bytes.split_at(bytes.len().min(SEED));
        let mut case = drawn(&cases(0..1), first)?;
        let item = any_item();
        case.items = rest
            .chunks(SEED)
            .map(|seed| drawn(&item, seed))
            .collect::<Option<_>>()?;
        Some(case)
    }

    /// Returns the program's words.
    #[must_use]
    pub fn words(&self) -> Vec<Word> {
        lay_out(&self.machine, &self.shape, &self.items)
    }

    /// Returns the program as assembly text.
    #[must_use]
    pub fn text(&self) -> String {
        let program = Program {
            words: self.words().iter().map(Word::encode).collect(),
            ..Program::default()
        };
        match disassemble(&program) {
            Ok(listing) => listing.to_string(),
            Err((pc, error)) => format!("word {pc}: {error}"),
        }
    }
}

impl fmt::Debug for LockstepCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            machine,
            shape,
            fill,
            deeds,
            launches,
            every,
            cuts,
            ..
        } = self;
        writeln!(f, "{shape:?}, {fill:?}, deeds {deeds:?}")?;
        writeln!(
            f,
            "launched at 0 and {launches:?}, compared every {every} cycles, cut after {cuts:?}"
        )?;
        writeln!(f, "{:?}\n{:?}", machine.cp2, machine.dma)?;
        write!(f, "{}", self.text())
    }
}

impl Fill {
    /// Returns `bytes` bytes, which differ by `salt`.
    #[must_use]
    pub fn bytes(self, bytes: usize, salt: u32) -> Vec<u8> {
        let lane = |i: usize| match self {
            Self::Zero => 0,
            Self::Floats(seed) => float(hash(seed, salt, i)),
            Self::Nasty(seed) => nasty(hash(seed, salt, i)),
        };
        (0..bytes.div_ceil(LANE_BYTES))
            .flat_map(|i| lane(i).to_le_bytes())
            .take(bytes)
            .collect()
    }
}

/// Returns a hash of the three numbers (with the finaliser of MurmurHash3).
fn hash(seed: u32, salt: u32, i: usize) -> u32 {
    let mut h = seed ^ salt.wrapping_mul(0x9e37_79b9) ^ (i as u32).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

fn float(h: u32) -> u32 {
    if h.is_multiple_of(4) {
        return ((h >> 8) as f32 % 64.0 - 32.0).to_bits();
    }
    // Magnitudes from 2^-8 to 2^8, with either sign.
    (h & 0x807f_ffff) | ((119 + (h >> 24) % 16) << 23)
}

fn nasty(h: u32) -> u32 {
    const SPECIAL: [u32; 12] = [
        0,
        0x8000_0000,
        0x7fc0_0000,
        0xffc0_0001,
        0x7f80_0001,
        0x7f80_0000,
        0xff80_0000,
        1,
        0x807f_ffff,
        0x7f7f_ffff,
        0x0080_0000,
        0xffff_ffff,
    ];
    match h % 4 {
        0 => SPECIAL[(h >> 8) as usize % SPECIAL.len()],
        1 => h,
        _ => float(h.rotate_left(7)),
    }
}
