//! Benchmarks a power-of-two kernel on a page that stays in DMEM.

use super::fft_trait::Fft as _;
use super::power_of_two::{FftRun, LocalFft};
use super::power_of_two_recipe::PassLayout;
use crate::bench::{BenchError, Resident};
use crate::job::{Job, JobError, Pass};
use cp2_host::{BlocksPerSection, Buffering, DeviceOptions, Paging};
use cp2_problems::Random;
use num_complex::Complex32;

/// Transforms of a section after which the ring of 12 blocks starts over: 3 x 8 blocks are two turns.
const TURN: u32 = 3;
/// Bytes of the ring (`fft4096.s`).
const RING_BYTES: usize = 12 * 4096;

impl LocalFft {
    /// Returns a processor with the page kernel and as many transforms as fit DMEM, and the number of these.
    ///
    /// # Errors
    /// Not even one transform per section fits.
    pub fn resident(
        &self,
        name: &str,
        options: DeviceOptions,
    ) -> Result<(Resident, usize), BenchError> {
        let sections = self.machine().cp2.sections;
        if self.local_recipe().layout() == PassLayout::Ring {
            let batch = TURN as usize * sections;
            return Ok((self.turn(name, batch, options)?, batch));
        }
        let most = self.machine().cp2.dmem.0 / self.block_bytes();
        let mut refused = None;
        for blocks in (1..=most.max(1) as u32).rev() {
            let batch = blocks as usize * sections;
            match self.page(name, blocks, batch, options.clone()) {
                Ok(resident) => return Ok((resident, batch)),
                Err(BenchError::Job(JobError::Paging(error))) => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(refused.map_or_else(
            || BenchError::Fft(super::FftError::Empty),
            |error| BenchError::Job(JobError::Paging(error)),
        ))
    }

    /// Prepares the kernel of a ring of blocks, on [`TURN`] transforms a section.
    fn turn(
        &self,
        name: &str,
        batch: usize,
        options: DeviceOptions,
    ) -> Result<Resident, BenchError> {
        let mut random = Random::new(1);
        let input: Vec<Complex32> = (0..batch * self.len()).map(|_| random.complex()).collect();
        let (job, y) = self.job(&input, options)?;
        let done = job.run(self.figures(batch), |run| run.read(y))?;
        self.judge_run(name, &input, &done)?;
        let entry = self.kernel().symbol("start").unwrap_or(0) as u32;
        let blocks: Vec<u8> = (0..RING_BYTES / 4)
            .flat_map(|_| random.uniform().to_le_bytes())
            .collect();
        let processor = done.run.processor().clone();
        Ok(Resident::new(name, processor, entry, self.ring_arguments())
            .with_parts(8 * TURN)
            .with_input(0, blocks))
    }

    /// Refuses a run that did not finish or whose transforms are wrong. The benchmark repeats the kernel of
    /// that run on data that stay in DMEM.
    fn judge_run(&self, name: &str, input: &[Complex32], done: &FftRun) -> Result<(), BenchError> {
        let Some(output) = &done.output else {
            return Err(BenchError::Unfinished {
                workload: name.to_owned(),
                reason: done.run.report.end.to_string(),
            });
        };
        BenchError::judge(name, (self.len(), self.direction()), input, output)
    }

    fn page(
        &self,
        name: &str,
        blocks: u32,
        batch: usize,
        options: DeviceOptions,
    ) -> Result<Resident, BenchError> {
        let mut random = Random::new(1);
        let input: Vec<Complex32> = (0..batch * self.len()).map(|_| random.complex()).collect();
        let mut job = Job::new(self.machine().clone(), options);
        let x = job.input("x", &input, &[batch as u64, self.len() as u64])?;
        let y = job.output::<Complex32>("y", &[input.len() as u64])?;
        let program = job.program(name, self.kernel())?;
        let entry = self.kernel().entry.into();
        let paging = Paging {
            size: BlocksPerSection::Fixed(blocks),
            buffering: Buffering::Single,
            ..self.paging(batch, x.address(), y.address())
        };
        let pitch = paging.inputs.iter().map(|s| s.pitch).sum::<u64>() as usize;
        job.pass(&program, entry, paging)?;
        let done = job.run(self.figures(batch), |run| run.read(y))?;
        self.judge_run(name, &input, &done)?;
        let resident = Resident::from_run(name, &done, entry)?;
        // Word 0 of the arguments: the input page.
        let plan = done.passes.first().and_then(Pass::plan);
        let args = plan.and_then(cp2_host::StreamPlan::first_args);
        let page = args.and_then(|args| args.words.first().copied());
        let fill: Vec<u8> = (0..blocks as usize * pitch / 4)
            .flat_map(|_| random.uniform().to_le_bytes())
            .collect();
        Ok(match page {
            Some(page) => resident.with_input(page, fill),
            None => resident,
        })
    }
}
