//! Runs the blocks of a signal through a chain on every machine.

use super::ChainOptions;
use crate::interrupt;
use crate::outcome::CommandFailure;
use cp2_kernels::chain::{
    Accuracy, ChainError, Received, Receiver, ReceiverProblem as _, StageCost, add_stages,
};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::borrow::Cow;
use std::path::Path;
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

/// Results of all blocks.
pub(super) struct ReceivedBlocks<R> {
    /// Chains by machine: at least one.
    pub(super) machines: Vec<OnMachine<R>>,
    pub(super) blocks: usize,
    /// True if all samples are finite: otherwise errors are unknown.
    pub(super) finite: bool,
    /// Results of the last block on the first machine.
    pub(super) last: Received,
    /// Spectra of all blocks on the first machine, if they are kept.
    pub(super) spectra: Vec<Complex32>,
    pub(super) decibels: Vec<f32>,
}

impl<R> ReceivedBlocks<R> {
    /// Returns the chain on the first machine.
    fn receiver(&self) -> &R {
        &self.machines[0].receiver
    }
}

/// Plans a chain on every machine and runs all blocks: those of the file, or the requested number of blocks
/// of the generated scene. The problem's reference judges every machine's results.
pub(super) fn receive<R: Receiver>(
    common: &ChainOptions,
    plan: impl Fn(&Arc<Machine>) -> Result<R, ChainError>,
    shape: [&str; 2],
    keep: Keep,
    json: bool,
) -> Result<ReceivedBlocks<R>, CommandFailure> {
    let on = |machine: Arc<Machine>| {
        Ok::<_, CommandFailure>(OnMachine {
            receiver: plan(&machine)?,
            machine,
            stages: Vec::new(),
            accuracy: Accuracy::default(),
            same_bits: true,
        })
    };
    let machines = common
        .machines
        .load()?
        .into_iter()
        .map(on)
        .collect::<Result<Vec<_>, _>>()?;
    let size = match machines.first() {
        Some(first) => first.receiver.problem().block(),
        None => {
            return Err(CommandFailure::input(
                "--machine: expected at least one machine",
            ));
        }
    };
    let file = common.load(size, shape)?;
    let numbers = size[0] * size[1];
    let blocks = match &file {
        Some(data) => data.len() / numbers,
        None => common.blocks as usize,
    };
    let mut results = ReceivedBlocks {
        machines,
        blocks,
        finite: true,
        last: Received::default(),
        spectra: Vec::new(),
        decibels: Vec::new(),
    };
    let progress = crate::progress::steps(blocks as u64, json);
    for k in 0..blocks {
        progress.begin("blocks");
        let block: Cow<'_, [Complex32]> = match &file {
            Some(data) => data[k * numbers..][..numbers].into(),
            None => {
                let seed = common.seed.wrapping_add(k as u64);
                results.receiver().problem().scene(seed).into()
            }
        };
        // Only the first block is emitted: the commands of the others are equal.
        results.run_block(&block, common, common.emit.as_deref().filter(|_| k == 0))?;
        if keep.spectra {
            results.spectra.extend(&results.last.spectra);
        }
        if keep.decibels {
            results.decibels.extend(&results.last.decibels);
        }
        progress.count_step();
    }
    Ok(results)
}

impl<R: Receiver> ReceivedBlocks<R> {
    /// Runs a block on every machine. The job on the first machine is written to the directory `emit`, if
    /// there is one.
    fn run_block(
        &mut self,
        block: &[Complex32],
        common: &ChainOptions,
        emit: Option<&Path>,
    ) -> Result<(), CommandFailure> {
        interrupt::check()?;
        self.finite &= block.iter().all(|z| z.is_finite());
        let exact = self.finite.then(|| self.receiver().problem().exact(block));
        for (i, on) in self.machines.iter_mut().enumerate() {
            interrupt::check()?;
            let emit = emit.filter(|_| i == 0);
            let options = common.options(emit.is_some());
            let (received, run) = on.receiver.job(block, &options)?.run()?;
            if let Some(folder) = emit {
                run.emit(folder).map_err(CommandFailure::input)?;
            }
            add_stages(&mut on.stages, &received.stages);
            if let Some(exact) = &exact {
                on.accuracy = on.accuracy.worst(received.accuracy(exact));
            }
            if i == 0 {
                self.last = received;
            } else {
                on.same_bits &= bits(&received).eq(bits(&self.last));
            }
        }
        Ok(())
    }
}

fn bits(received: &Received) -> impl Iterator<Item = u32> {
    let spectra = received.spectra.iter().flat_map(|z| [z.re, z.im]);
    spectra
        .chain(received.decibels.iter().copied())
        .map(f32::to_bits)
}
