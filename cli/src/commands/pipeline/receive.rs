//! Runs the blocks of a signal through a chain on each machine or a backend.

use super::ChainOptions;
use crate::backends::{MeasuredBackend, MeasuredRun};
use crate::interrupt;
use crate::outcome::CommandFailure;
use cp2_kernels::chain::{
    Accuracy, ChainError, ExactSpectra, Received, Receiver, ReceiverProblem, StageCost, add_stages,
};
use cp2_machine::Machine;
use cp2_problems::NamedArrays;
use num_complex::Complex32;
use std::borrow::Cow;
use std::sync::Arc;

/// Chain on one machine, with its results.
pub(super) struct OnMachine<R> {
    pub(super) machine: Arc<Machine>,
    pub(super) receiver: R,
    pub(super) stages: Vec<StageCost>,
    /// Accuracy of the worst block.
    pub(super) accuracy: Accuracy,
    /// True if all results equal those of the first machine, bit for bit.
    pub(super) same_bits: bool,
}

/// Results to keep of all blocks.
#[derive(Clone, Copy)]
pub(super) struct Keep {
    pub(super) spectra: bool,
    pub(super) decibels: bool,
}

/// Places where a chain ran, with what is known of them.
pub(super) enum ChainRuns<R> {
    /// Machines that are emulated: at least one.
    Simulated(Vec<OnMachine<R>>),
    /// A backend whose times are measured, with the accuracy of the worst block.
    Measured(MeasuredRun, Accuracy),
}

/// Results of all blocks.
pub(super) struct ReceivedBlocks<R> {
    pub(super) runs: ChainRuns<R>,
    pub(super) blocks: usize,
    /// True if all samples are finite: otherwise errors are unknown.
    pub(super) finite: bool,
    /// Results of the last block on the first machine.
    pub(super) last: Received,
    /// Spectra of all blocks on the first machine, if they are kept.
    pub(super) spectra: Vec<Complex32>,
    pub(super) decibels: Vec<f32>,
}

/// Signal in blocks: those of the file, or the requested number of blocks of the generated scene.
struct BlockSignal<'a, P> {
    common: &'a ChainOptions,
    problem: &'a P,
    file: Option<Vec<Complex32>>,
}

impl<'a, P: ReceiverProblem> BlockSignal<'a, P> {
    /// Reads the file, if there is one. `shape` names the options for its rows and columns.
    fn load(
        common: &'a ChainOptions,
        problem: &'a P,
        shape: [&str; 2],
    ) -> Result<Self, CommandFailure> {
        let file = common.load(problem.block(), shape)?;
        Ok(Self {
            common,
            problem,
            file,
        })
    }

    /// Returns the number of samples of a block.
    fn samples(&self) -> usize {
        self.problem.block().iter().product()
    }

    /// Returns the number of blocks.
    fn count(&self) -> usize {
        match &self.file {
            Some(data) => data.len() / self.samples(),
            None => self.common.blocks as usize,
        }
    }

    /// Returns a block.
    fn block(&self, k: usize) -> Cow<'_, [Complex32]> {
        let samples = self.samples();
        match &self.file {
            Some(data) => data.chunks_exact(samples).nth(k).unwrap_or_default().into(),
            None => {
                let seed = self.common.seed.wrapping_add(k as u64);
                self.problem.scene(seed).into()
            }
        }
    }
}

/// Runs all blocks through a chain, planned on every machine, or on the backend that was asked for. The problem's
/// reference judges all results.
pub(super) fn receive<R: Receiver>(
    common: &ChainOptions,
    problem: &R::Problem,
    plan: impl Fn(&Arc<Machine>) -> Result<R, ChainError>,
    shape: [&str; 2],
    keep: Keep,
    json: bool,
) -> Result<ReceivedBlocks<R>, CommandFailure> {
    if let Some(backend) = common.backend.measured()? {
        let signal = BlockSignal::load(common, problem, shape)?;
        return compute_elsewhere(&signal, &backend, keep, json);
    }
    let on = |machine: Arc<Machine>| {
        Ok::<_, CommandFailure>(OnMachine {
            receiver: plan(&machine)?,
            machine,
            stages: Vec::new(),
            accuracy: Accuracy::default(),
            same_bits: true,
        })
    };
    let machines = common.machines.load()?.into_iter().map(on);
    let mut machines = machines.collect::<Result<Vec<_>, _>>()?;
    let signal = BlockSignal::load(common, problem, shape)?;
    let mut kept = KeptResults::new(keep);
    let progress = crate::progress::steps(signal.count() as u64, json);
    for k in 0..signal.count() {
        progress.begin("blocks");
        let block = signal.block(k);
        let exact = kept.begin_block(problem, &block)?;
        // Only the first block is emitted: the commands of the others are equal.
        let emit = common.emit.as_deref().filter(|_| k == 0);
        let mut first: Option<Received> = None;
        for on in &mut machines {
            interrupt::check()?;
            let emit = emit.filter(|_| first.is_none());
            let options = common.options(emit.is_some());
            let (received, run) = on.receiver.job(&block, &options)?.run()?;
            if let Some(folder) = emit {
                run.emit(folder).map_err(CommandFailure::input)?;
            }
            add_stages(&mut on.stages, &received.stages);
            if let Some(exact) = &exact {
                on.accuracy = on.accuracy.worst(received.accuracy(exact));
            }
            match &first {
                None => first = Some(received),
                Some(first) => on.same_bits &= bits(&received).eq(bits(first)),
            }
        }
        kept.end_block(first.unwrap_or_default());
        progress.count_step();
    }
    Ok(kept.into_blocks(ChainRuns::Simulated(machines), signal.count()))
}

/// Runs all blocks on a backend whose times are measured.
fn compute_elsewhere<R: Receiver>(
    signal: &BlockSignal<'_, R::Problem>,
    backend: &MeasuredBackend<'_>,
    keep: Keep,
    json: bool,
) -> Result<ReceivedBlocks<R>, CommandFailure> {
    let problem = signal.problem;
    let mut kept = KeptResults::new(keep);
    let mut accuracy = Accuracy::default();
    let mut run: Option<MeasuredRun> = None;
    let progress = crate::progress::steps(signal.count() as u64, json);
    for k in 0..signal.count() {
        progress.begin("blocks");
        let block = signal.block(k);
        let exact = kept.begin_block(problem, &block)?;
        let input = NamedArrays::from_array("x", &problem.block(), block.into_owned());
        match &mut run {
            Some(run) => run.add_input(&input)?,
            None => run = Some(MeasuredRun::new(backend, problem, &input)?),
        }
        let output = run.as_ref().map(|run| &run.output);
        let spectra = output.and_then(|output| output.get("spectra").ok());
        let decibels = output.and_then(|output| output.get("decibels").ok());
        let received = Received {
            spectra: spectra.unwrap_or_default().to_vec(),
            decibels: decibels.unwrap_or_default().to_vec(),
            stages: Vec::new(),
        };
        if let Some(exact) = &exact {
            accuracy = accuracy.worst(received.accuracy(exact));
        }
        kept.end_block(received);
        progress.count_step();
    }
    let run = run.ok_or_else(|| CommandFailure::input("the signal has no block; expected one"))?;
    Ok(kept.into_blocks(ChainRuns::Measured(run, accuracy), signal.count()))
}

/// Results of the blocks so far.
struct KeptResults {
    keep: Keep,
    finite: bool,
    last: Received,
    spectra: Vec<Complex32>,
    decibels: Vec<f32>,
}

impl KeptResults {
    fn new(keep: Keep) -> Self {
        Self {
            keep,
            finite: true,
            last: Received::default(),
            spectra: Vec::new(),
            decibels: Vec::new(),
        }
    }

    /// Returns the exact spectra of a block; none from the first one on that is not finite.
    fn begin_block(
        &mut self,
        problem: &impl ReceiverProblem,
        block: &[Complex32],
    ) -> Result<Option<ExactSpectra>, CommandFailure> {
        interrupt::check()?;
        self.finite &= block.iter().all(|z| z.is_finite());
        Ok(self.finite.then(|| problem.exact(block)))
    }

    /// Keeps the result of a block.
    fn end_block(&mut self, received: Received) {
        self.last = received;
        if self.keep.spectra {
            self.spectra.extend(&self.last.spectra);
        }
        if self.keep.decibels {
            self.decibels.extend(&self.last.decibels);
        }
    }

    fn into_blocks<R>(self, runs: ChainRuns<R>, blocks: usize) -> ReceivedBlocks<R> {
        ReceivedBlocks {
            runs,
            blocks,
            finite: self.finite,
            last: self.last,
            spectra: self.spectra,
            decibels: self.decibels,
        }
    }
}

fn bits(received: &Received) -> impl Iterator<Item = u32> {
    let spectra = received.spectra.iter().flat_map(|z| [z.re, z.im]);
    spectra
        .chain(received.decibels.iter().copied())
        .map(f32::to_bits)
}
