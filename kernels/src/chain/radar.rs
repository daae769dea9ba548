//! A pulse-Doppler radar: its stages and how they are paged.

use super::error::{name_stage, staged};
use super::spectra::Spectra;
use super::stages::ChainBuilder;
use super::{ChainError, ChainJob, RadarProblem, Receiver, ReceiverProblem as _, check_block};
use crate::conv::{ConvolutionMode, Convolver, matched};
use crate::dsp::TransposePlan;
use crate::job::Job;
use cp2_host::DeviceOptions;
use cp2_machine::{Class, Machine};
use cp2_reference::Figures;
use num_complex::Complex32;
use std::sync::Arc;

/// A planned radar.
#[derive(Debug)]
pub struct RadarPlan {
    problem: RadarProblem,
    compress: Convolver,
    turn: TransposePlan,
    spectra: Spectra,
}

impl RadarPlan {
    /// Plans the chain.
    ///
    /// # Errors
    /// A stage has no kernel for its size, or system memory no room for it.
    pub fn new(problem: RadarProblem, machine: &Arc<Machine>) -> Result<Self, ChainError> {
        let spec = problem.spec();
        let (pulses, ranges, samples) = (spec.pulses, spec.ranges, spec.samples());
        let taps = matched(problem.pulse());
        let compress =
            Convolver::new::<Complex32>(machine, &taps, pulses, samples, ConvolutionMode::Valid);
        let compress = compress.and_then(|filter| {
            filter.fits::<Complex32>(pulses * samples)?;
            Ok(filter)
        });
        let turn = TransposePlan::new(pulses, ranges, machine.clone());
        Ok(Self {
            compress: name_stage(
                "pulse compression",
                format!(
                    "{pulses} pulses of {samples} samples, {} of them chirp",
                    spec.chirp
                ),
                compress,
            )?,
            turn: name_stage(
                "corner turn",
                format!("{pulses} pulses x {ranges} ranges"),
                turn,
            )?,
            spectra: Spectra::new(ranges, pulses, "pulses", machine)?,
            problem,
        })
    }
}

impl Receiver for RadarPlan {
    type Problem = RadarProblem;

    fn problem(&self) -> &RadarProblem {
        &self.problem
    }

    fn machine(&self) -> &Arc<Machine> {
        self.turn.machine()
    }

    fn recipe(&self) -> String {
        format!("{}; {}", self.compress.kernel(), self.spectra.recipe())
    }

    fn filter(&self) -> (&'static str, &Convolver) {
        ("pulse compression", &self.compress)
    }

    fn figures(&self) -> Figures {
        let spec = self.problem.spec();
        let radar = cp2_reference::Radar {
            pulses: spec.pulses,
            ranges: spec.ranges,
            pulse: spec.chirp,
            real_pulse: self.problem.pulse().iter().all(|h| h.im == 0.0),
        };
        radar.figures(self.machine())
    }

    fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let stages = [
            self.compress
                .operations::<Complex32>(self.problem.spec().pulses),
            self.turn.operations(),
            self.spectra.operations(),
        ];
        stages.concat()
    }

    fn job(&self, echoes: &[Complex32], options: &DeviceOptions) -> Result<ChainJob, ChainError> {
        check_block(echoes, &self.problem)?;
        let spec = self.problem.spec();
        let shape = self.problem.block().map(|side| side as u64);
        let mut job = Job::new(self.machine().clone(), options.clone());
        let echoes = staged("pulse compression", job.input("echoes", echoes, &shape))?;
        let mut stages = ChainBuilder::new(job);
        let figures = self.compress.figures::<Complex32>(spec.pulses);
        let compressed = stages.add("pulse compression", figures, |job| {
            self.compress
                .append_channels(job, echoes.into(), 0..spec.ranges)
        })?;
        let turned = stages.add("corner turn", self.turn.figures(), |job| {
            self.turn.append(job, compressed.into())
        })?;
        self.spectra.append(stages, turned, &self.problem.spectra())
    }
}
