//! A random program with everything around it.

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

/// What a program is like as a whole.
#[derive(Clone, Debug)]
pub struct ProgramShape {
    /// Functions after the main routine.
    pub functions: usize,
    /// Registers per section that it uses: few of them mean many stalls.
    pub registers: u8,
    /// Most passes of nested loops together.
    pub passes: u32,
    /// Words drawn to fault may do so.
    pub unruly: bool,
}

/// What DMEM and system memory hold at first.
#[derive(Clone, Copy, Debug)]
pub enum Fill {
    /// Zeros.
    Zero,
    /// Floats of moderate size, some of them whole numbers.
    Floats(u32),
    /// Floats, NaN, infinities, signed zeros, subnormals and arbitrary bits.
    Nasty(u32),
}

/// What the control CPU does at some time.
#[derive(Clone, Debug)]
pub enum ControlAction {
    /// Submits a transfer between system memory and DMEM.
    Transfer {
        /// Load rather than store.
        load: bool,
        /// Section, all sections, a broadcast, or dealt.
        target: u8,
        /// Where in system memory, in granules.
        slot: u16,
        /// Where in DMEM, in granules.
        local: u16,
        /// Length of a run in granules, less one.
        run: u8,
        /// Runs, less one.
        runs: u8,
        /// Granules between runs in system memory.
        gap: u8,
        /// Event to post.
        event: Option<u8>,
    },
    /// Submits a transfer that replaces part of the program with its variant.
    Replace {
        /// First word, roughly.
        word: u16,
        /// Words, roughly.
        words: u8,
        /// With data, which is no program.
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
    /// What the program is like.
    pub shape: ProgramShape,
    items: Vec<ProgramItem>,
    /// Contents of the memories.
    pub fill: Fill,
    /// Deeds of the control CPU, each some cycles after the one before.
    pub deeds: Vec<(u16, ControlAction)>,
    /// Where further launches begin, modulo the program's length.
    pub launches: Vec<u16>,
    /// Cycles between comparisons.
    pub every: u16,
    /// Cycles after which the second processor is suspended, again and again.
    pub cuts: Vec<u16>,
}

/// Any case whose program has at most `items` items.
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
    let deeds = prop::collection::vec((0u16..800, any_deed()), 0..12);
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

fn any_deed() -> BoxedStrategy<ControlAction> {
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

/// Bytes of a number that [`Case::from_bytes`] draws from.
const SEED: usize = 8;

/// What a strategy draws, started with some bytes.
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
    /// A case for a fuzzer: every eight bytes but the first eight are an item of
    /// the program, so that similar bytes are similar programs.
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

    /// The program.
    #[must_use]
    pub fn words(&self) -> Vec<Word> {
        lay_out(&self.machine, &self.shape, &self.items)
    }

    /// The program as assembly text.
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
    /// `bytes` bytes, different for every `salt`.
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

/// A mixed-up number (the finaliser of MurmurHash3).
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
    // 2^-8 to 2^8, either sign.
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
