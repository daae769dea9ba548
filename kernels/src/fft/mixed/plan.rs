//! Batches of transforms of mixed radix, paged through their kernel.

use super::program::{MixedProgram, mixed};
use super::recipe::MixedRecipe;
use crate::fft::Direction;
use crate::fft::error::FftError;
use crate::fft::plan::{FftRun, batch_of};
use crate::fft::transform::{Fft, expected};
use crate::job::{Job, Least, room};
use cp2_asm::{Program, Source, assemble};
use cp2_host::{Options, Paging, Stream};
use cp2_machine::{Cycles, Machine};
use num_complex::Complex32;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a complex number.
const COMPLEX: u64 = 8;
/// Pairs of transforms in a block that are tried: the more, the less a pass's
/// fill and drain weigh; the fewer, the larger a transform fits.
const PAIRS: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Numbers in a block from which on more pairs gain nothing.
const ENOUGH: usize = 4096;

/// A page kernel for blocks of so many pairs.
#[derive(Debug)]
struct Kernel {
    pairs: usize,
    made: MixedProgram,
}

/// A planned transform of mixed radix.
///
/// A block is 2V transforms: pairs are the two halves of a quad, so that any
/// length, odd ones too, keeps all lanes busy. A batch is filled up with
/// transforms of zeros to whole blocks.
#[derive(Debug)]
pub struct MixedFft {
    recipe: MixedRecipe,
    machine: Arc<Machine>,
    kernels: Vec<Kernel>,
    programs: Mutex<BTreeMap<usize, Arc<Program>>>,
}

impl MixedFft {
    pub(in crate::fft) fn new(
        recipe: MixedRecipe,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        let n = recipe.len();
        let mut kernels = Vec::new();
        for pairs in PAIRS.into_iter().filter(|p| *p == 1 || 2 * p * n <= ENOUGH) {
            let block = 2 * pairs as u64 * n as u64 * COMPLEX;
            if 2 * block > machine.cp2.dmem.0 {
                break;
            }
            let made = mixed(n, recipe.radices(), recipe.direction(), pairs, &machine)?;
            kernels.push(Kernel { pairs, made });
        }
        let fft = Self {
            recipe,
            machine,
            kernels,
            programs: Mutex::default(),
        };
        fft.expected(1)?;
        Ok(fft)
    }

    /// What the planner has decided.
    #[must_use]
    pub fn mixed_recipe(&self) -> &MixedRecipe {
        &self.recipe
    }

    /// The kernel that takes the least time for a batch, and that time.
    fn best(&self, batch: usize) -> Result<(&Kernel, Cycles), FftError> {
        let mut best: Option<(&Kernel, Cycles)> = None;
        let mut error = FftError::NoRoom {
            n: self.recipe.len(),
            machine: self.machine.name.clone(),
        };
        for kernel in &self.kernels {
            let words = kernel.made.words;
            let place = (0, self.padded(kernel, batch) as u64 * self.bytes());
            let paging = self.paging(kernel, batch, place.0, place.1);
            match expected(paging, words, kernel.made.tables, &self.machine) {
                Ok(cycles) if best.is_none_or(|(_, least)| cycles < least) => {
                    best = Some((kernel, cycles));
                }
                Ok(_) => {}
                Err(e) => error = e,
            }
        }
        best.ok_or(error)
    }

    fn assembled(&self, kernel: &Kernel) -> Result<Arc<Program>, FftError> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs.get(&kernel.pairs) {
            return Ok(program.clone());
        }
        let options = cp2_asm::Options {
            machine: Some(&self.machine),
            ..cp2_asm::Options::default()
        };
        let source = Source::new(self.name(kernel), kernel.made.text.clone());
        let program = Arc::new(assemble(&source, &options)?.program);
        programs.insert(kernel.pairs, program.clone());
        Ok(program)
    }

    /// The name of a kernel's generated source.
    fn name(&self, kernel: &Kernel) -> String {
        format!("mixed-{}-{}.s", self.recipe.len(), 2 * kernel.pairs)
    }

    /// Bytes of one transform.
    fn bytes(&self) -> u64 {
        self.recipe.len() as u64 * COMPLEX
    }

    /// The batch in whole blocks.
    fn padded(&self, kernel: &Kernel, batch: usize) -> usize {
        batch.next_multiple_of(2 * kernel.pairs)
    }

    fn paging(&self, kernel: &Kernel, batch: usize, x: u64, y: u64) -> Paging {
        let block = 2 * kernel.pairs as u64 * self.bytes();
        let blocks = batch.div_ceil(2 * kernel.pairs) as u64;
        let in_place = self.recipe.radices().len() % 2 == 0;
        Paging {
            in_place,
            scratch: if in_place { block } else { 0 },
            cycles_per_block: Some(kernel.made.cycles),
            cycles_per_page: kernel.made.page_cycles,
            ..Paging::new(
                blocks,
                vec![Stream::contiguous("x", x, block)],
                vec![Stream::contiguous("y", y, block)],
            )
        }
    }
}

impl Fft for MixedFft {
    fn len(&self) -> usize {
        self.recipe.len()
    }

    fn direction(&self) -> Direction {
        self.recipe.direction()
    }

    fn recipe(&self) -> String {
        self.recipe.to_string()
    }

    fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        self.assembled(self.best(batch)?.0).map(Some)
    }

    fn source(&self, file: &str) -> Option<String> {
        let kernel = self.kernels.iter().find(|k| self.name(k) == file)?;
        Some(kernel.made.text.clone())
    }

    fn max_batch(&self) -> usize {
        let Ok((kernel, _)) = self.best(1) else {
            return 0;
        };
        let Ok(program) = self.assembled(kernel) else {
            return 0;
        };
        let batch = usize::try_from(room(&self.machine, &program) / (2 * self.bytes()));
        // Room for filling up to whole blocks.
        let most = 2 * self.kernels.iter().map(|k| k.pairs).max().unwrap_or(1);
        batch.unwrap_or(usize::MAX).saturating_sub(most)
    }

    fn bound(&self, batch: usize) -> Cycles {
        let batch = batch as u128;
        Least {
            issues: batch * u128::from(self.recipe.issues()),
            bytes: batch * u128::from(2 * self.bytes()),
            ..Least::default()
        }
        .cycles(&self.machine)
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        self.best(batch).map(|(_, cycles)| cycles)
    }

    fn process_with(&self, input: &[Complex32], options: Options) -> Result<FftRun, FftError> {
        let n = self.recipe.len();
        let batch = batch_of(input.len(), n, self.max_batch(), &self.machine)?;
        let (kernel, _) = self.best(batch)?;
        let program = self.assembled(kernel)?;
        let padded = self.padded(kernel, batch);
        let mut job = Job::new(self.machine.clone(), options);
        let x = if padded == batch {
            job.input(input)?
        } else {
            let mut filled = input.to_vec();
            filled.resize(padded * n, Complex32::default());
            job.input(&filled)?
        };
        let y = job.output("y", &[padded as u64, n as u64])?;
        let placed = job.program(&self.recipe.to_string(), &program)?;
        let paging = self.paging(kernel, batch, x.address(), y.address());
        job.pass(&placed, program.entry.into(), paging)?;
        Ok(job.run(self.bound(batch), |run| {
            let mut y: Vec<Complex32> = run.read(y)?;
            y.truncate(batch * n);
            Ok(y)
        })?)
    }
}
