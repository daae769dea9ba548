//! Cycles of kernels, counted from their programs.
//!
//! The one source of every kernel's cycles is its program: [`cp2_emu::cycles`] follows it by the issue rule
//! of the machine. Counters are kept by program and machine, because planners ask for the same counts again
//! and again.

mod pages;

pub use pages::{CountedKernelPages, priced};

use cp2_asm::Program;
use cp2_emu::cycles::{Counted, Counter, Uncounted};
use cp2_machine::{ClassMap, Cycles, Extensions, Machine};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Returns the end of a program's data in DMEM.
#[must_use]
pub fn data_end(program: &Program) -> u64 {
    let ends = program
        .dmem
        .iter()
        .map(|s| u64::from(s.address) + s.bytes.len() as u64);
    ends.max().unwrap_or(0)
}

/// A kernel: a program and its entry point.
#[derive(Clone, Debug)]
pub struct KernelEntryPoint {
    /// The program.
    pub program: Arc<Program>,
    /// Word address of the entry point.
    pub entry: u32,
    /// Ranges of data words that are filled at run time: first byte, and byte behind the last.
    filled: Vec<(u32, u32)>,
}

impl KernelEntryPoint {
    /// Creates the kernel that begins at a word of a program.
    pub fn new(program: &Arc<Program>, entry: u32) -> Self {
        Self {
            program: program.clone(),
            entry,
            filled: Vec::new(),
        }
    }

    /// Marks ranges of the kernel's data as filled at run time.
    pub fn filled(mut self, words: impl IntoIterator<Item = (u32, u32)>) -> Self {
        self.filled.extend(words);
        self
    }

    /// Creates the kernel at a label of a program, or at its beginning.
    pub fn from_label(program: &Arc<Program>, label: &str) -> Self {
        let entry = program.symbol(label).and_then(|at| u32::try_from(at).ok());
        Self {
            entry: entry.unwrap_or(program.entry.into()),
            ..Self::new(program, 0)
        }
    }

    /// True if both are the same words and data from the same entry point.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.entry, &self.filled) == (other.entry, &other.filled)
            && (Arc::ptr_eq(&self.program, &other.program)
                || (&self.program.words, &self.program.dmem)
                    == (&other.program.words, &other.program.dmem))
    }

    /// Counts the kernel's steps on a machine, with the argument words `words` at a byte address of DMEM.
    ///
    /// # Errors
    /// The kernel's control flow depends on data, or it does not run on the machine.
    pub fn count(
        &self,
        machine: &Machine,
        (address, words): (u32, &[u32]),
    ) -> Result<Arc<Counted>, Uncounted> {
        self.count_steps(machine, address, (address, words))
    }

    /// Counts the kernel's steps with its argument block at `arguments`, among the words at `address`.
    fn count_steps(
        &self,
        machine: &Machine,
        arguments: u32,
        (address, words): (u32, &[u32]),
    ) -> Result<Arc<Counted>, Uncounted> {
        let known = find_counted_kernel(self, machine)?;
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.counter.count(machine, arguments, (address, words))
    }
}

/// Number of kernels that are kept.
const MOST_KEPT_KERNELS: usize = 512;

/// Parameters of a machine that decide how long a kernel takes, or whether it runs.
#[derive(Clone, PartialEq, Eq, Hash)]
struct TimingKey {
    latency: ClassMap<Cycles>,
    interval: ClassMap<Cycles>,
    lost: [Cycles; 3],
    depths: [usize; 2],
    events: usize,
    registers: usize,
    dmem: u64,
    extensions: Extensions,
}

impl TimingKey {
    fn from_machine(machine: &Machine) -> Self {
        let cp2 = &machine.cp2;
        Self {
            latency: cp2.latency,
            interval: cp2.interval,
            lost: [cp2.branch_penalty, cp2.loop_setup, cp2.loop_back],
            depths: [cp2.loop_depth, cp2.call_depth],
            events: cp2.events,
            registers: cp2.registers,
            dmem: cp2.dmem.0,
            extensions: cp2.extensions,
        }
    }
}

/// A kernel on a machine, with the counter and all it has counted.
#[derive(Debug)]
struct CountedKernel {
    program: Arc<Program>,
    filled: Vec<(u32, u32)>,
    counter: Counter,
}

type KernelCache = HashMap<(u64, u32, TimingKey), Arc<Mutex<CountedKernel>>>;

/// Cache of a pure function: counts affect nothing but the time of planning.
static KEPT: LazyLock<Mutex<KernelCache>> = LazyLock::new(Mutex::default);

fn find_counted_kernel(
    kernel: &KernelEntryPoint,
    machine: &Machine,
) -> Result<Arc<Mutex<CountedKernel>>, Uncounted> {
    let program = &kernel.program;
    let mut hasher = DefaultHasher::new();
    program.words.hash(&mut hasher);
    for segment in &program.dmem {
        (segment.address, &segment.bytes).hash(&mut hasher);
    }
    kernel.filled.hash(&mut hasher);
    let key = (
        hasher.finish(),
        kernel.entry,
        TimingKey::from_machine(machine),
    );
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(&key) {
        let same = {
            let known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let same = known.program.words == program.words && known.program.dmem == program.dmem;
            same && known.filled == kernel.filled
        };
        if same {
            return Ok(known.clone());
        }
    }
    let known = Arc::new(Mutex::new(CountedKernel {
        program: program.clone(),
        filled: kernel.filled.clone(),
        counter: Counter::new(&program.words, kernel.entry, data(kernel), machine)?,
    }));
    if kept.len() >= MOST_KEPT_KERNELS {
        kept.clear();
    }
    kept.insert(key, known.clone());
    Ok(known)
}

/// Returns the whole words of a program's data that are not filled at run time, as runs.
fn data(kernel: &KernelEntryPoint) -> Vec<(u32, Vec<u32>)> {
    let mut runs: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut end = None;
    for segment in &kernel.program.dmem {
        let first = segment.address.next_multiple_of(4);
        let bytes = segment.bytes.get((first - segment.address) as usize..);
        for (word, address) in bytes
            .unwrap_or_default()
            .chunks_exact(4)
            .zip((first..).step_by(4))
        {
            if kernel
                .filled
                .iter()
                .any(|&(from, to)| (from..to).contains(&address))
            {
                continue;
            }
            let word = word.try_into().map_or(0, u32::from_le_bytes);
            match runs.last_mut().filter(|_| end == Some(address)) {
                Some((_, words)) => words.push(word),
                None => runs.push((address, vec![word])),
            }
            end = Some(address + 4);
        }
    }
    runs
}
