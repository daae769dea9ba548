//! A passive sonar: its stages and how they are paged.

use super::error::{name_stage, staged};
use super::spectra::Spectra;
use super::stages::ChainBuilder;
use super::{ChainError, ChainJob, Receiver, ReceiverProblem as _, SonarProblem, check_block};
use crate::conv::{Convolver, OutputRate};
use crate::dsp::{Beamformer, TransposePlan};
use crate::job::Job;
use cp2_host::DeviceOptions;
use cp2_machine::{Class, Machine};
use cp2_reference::Figures;
use num_complex::Complex32;
use std::sync::Arc;

/// A planned sonar.
#[derive(Debug)]
pub struct SonarPlan {
    problem: SonarProblem,
    filter: Convolver,
    to_snapshots: TransposePlan,
    beams: Beamformer,
    to_beams: TransposePlan,
    spectra: Spectra,
}

impl SonarPlan {
    /// Plans the chain.
    ///
    /// # Errors
    /// A stage has no kernel for its size, or system memory no room for it.
    pub fn new(problem: SonarProblem, machine: &Arc<Machine>) -> Result<Self, ChainError> {
        let spec = problem.spec();
        let (hydrophones, beams, time) = (spec.hydrophones, spec.beams, spec.filtered());
        let filter = Convolver::resampler::<Complex32>(
            machine,
            &spec.low_pass(),
            hydrophones,
            spec.samples,
            OutputRate::decimate_by(spec.decimate),
        );
        let filter = filter.and_then(|filter| {
            filter.fits::<Complex32>(hydrophones * spec.samples)?;
            Ok(filter)
        });
        let steering = Beamformer::new(&spec.weights(), hydrophones, machine.clone());
        let turn = |rows, columns| {
            let size = format!("{rows} rows of {columns}");
            let plan = TransposePlan::new(rows, columns, machine.clone());
            name_stage("corner turn", size, plan)
        };
        Ok(Self {
            filter: name_stage(
                "filter and decimate",
                format!(
                    "{} taps and an output every {} samples",
                    spec.taps, spec.decimate
                ),
                filter,
            )?,
            to_snapshots: turn(hydrophones, time)?,
            beams: name_stage(
                "beamforming",
                format!("{hydrophones} hydrophones and {beams} beams"),
                steering,
            )?,
            to_beams: turn(time, beams)?,
            spectra: Spectra::new(beams * spec.frames(), spec.points, "points", machine)?,
            problem,
        })
    }
}

impl Receiver for SonarPlan {
    type Problem = SonarProblem;

    fn problem(&self) -> &SonarProblem {
        &self.problem
    }

    fn machine(&self) -> &Arc<Machine> {
        self.to_beams.machine()
    }

    fn recipe(&self) -> String {
        format!("{}; {}", self.filter.kernel(), self.spectra.recipe())
    }

    fn filter(&self) -> (&'static str, &Convolver) {
        ("filter and decimate", &self.filter)
    }

    fn figures(&self) -> Figures {
        let spec = self.problem.spec();
        let sonar = cp2_reference::Sonar {
            hydrophones: spec.hydrophones,
            samples: spec.samples,
            taps: spec.taps,
            decimate: spec.decimate,
            beams: spec.beams,
            frames: spec.frames(),
            points: spec.points,
        };
        sonar.figures(self.machine())
    }

    fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let spec = self.problem.spec();
        let stages = [
            self.filter.operations::<Complex32>(spec.hydrophones),
            self.to_snapshots.operations(),
            self.beams.operations(spec.filtered()),
            self.to_beams.operations(),
            self.spectra.operations(),
        ];
        stages.concat()
    }

    fn job(&self, sound: &[Complex32], options: &DeviceOptions) -> Result<ChainJob, ChainError> {
        check_block(sound, &self.problem)?;
        let spec = self.problem.spec();
        let shape = self.problem.block().map(|side| side as u64);
        let mut job = Job::new(self.machine().clone(), options.clone());
        let sound = staged("filter and decimate", job.input("sound", sound, &shape))?;
        let mut stages = ChainBuilder::new(job);
        let figures = self.filter.figures::<Complex32>(spec.hydrophones);
        // The filter's outputs beyond the last whole frame are not computed.
        let filtered = stages.add("filter and decimate", figures, |job| {
            let channels = sound.into();
            self.filter
                .append_channels(job, channels, 0..spec.filtered())
        })?;
        let figures = self.to_snapshots.figures();
        let snapshots = stages.add("corner turn to snapshots", figures, |job| {
            self.to_snapshots.append(job, filtered.into())
        })?;
        let figures = self.beams.figures(spec.filtered());
        let beams = stages.add("beamforming", figures, |job| {
            self.beams.append(job, snapshots.into())
        })?;
        let figures = self.to_beams.figures();
        let beams = stages.add("corner turn to beams", figures, |job| {
            self.to_beams.append(job, beams.into())
        })?;
        self.spectra.append(stages, beams, &self.problem.spectra())
    }
}
