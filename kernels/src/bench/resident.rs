//! A kernel that runs again and again on data that stays in DMEM, without DMA.

use super::{BenchError, BenchSample};
use crate::job::{KernelRun, Pass};
use cp2_emu::{Notice, Processor};
use cp2_machine::Ticks;
use std::time::Instant;

/// A processor with a loaded program and its data, whose kernel can be launched again and again.
#[derive(Clone, Debug)]
pub struct Resident {
    name: String,
    processor: Processor,
    entry: u32,
    args: u32,
    /// Number of parts of the data that the kernel waits for: event 0 is posted so often before a launch.
    parts: u32,
    /// Address and bytes of DMEM that are written before each launch, in every section.
    input: Option<(u32, Vec<u8>)>,
    /// Words that a launch executes, once they have been counted.
    words: Option<u64>,
}

impl Resident {
    /// Creates the workload of a processor that has the program and its data.
    #[must_use]
    pub fn new(name: &str, processor: Processor, entry: u32, args: u32) -> Self {
        Self {
            name: name.to_owned(),
            processor,
            entry,
            args,
            parts: 0,
            input: None,
            words: None,
        }
    }

    /// Creates the workload of the first page of a job that has been run.
    ///
    /// # Errors
    /// The job did not finish, or has no page.
    pub fn from_run<O>(name: &str, done: &KernelRun<O>, entry: u32) -> Result<Self, BenchError> {
        let fail = |reason: String| BenchError::Unfinished {
            workload: name.to_owned(),
            reason,
        };
        let end = &done.run.report.end;
        if !end.is_finished() {
            return Err(fail(end.to_string()));
        }
        let plan = done.passes.first().and_then(Pass::plan);
        let args = plan.and_then(cp2_host::StreamPlan::first_args);
        let args = args.ok_or_else(|| fail("it has no page".to_owned()))?;
        let processor = done.run.processor().clone();
        Ok(Self {
            parts: 1,
            ..Self::new(name, processor, entry, args.address)
        })
    }

    /// Posts the event of arrived data so many times before each launch.
    #[must_use]
    pub fn with_parts(mut self, parts: u32) -> Self {
        self.parts = parts;
        self
    }

    /// Writes `bytes` to `address` in every section before each launch:
    /// kernels may overwrite their input.
    #[must_use]
    pub fn with_input(mut self, address: u32, bytes: Vec<u8>) -> Self {
        self.input = Some((address, bytes));
        self
    }

    /// Launches the kernel and runs it to its end.
    ///
    /// Restoring the input is not measured. The kernel's control flow must not depend on the input: words are
    /// counted in the first launch only, since counting goes through all that the processor knows about its
    /// programs and would evict the kernel from the host's caches.
    ///
    /// # Errors
    /// The kernel cannot be launched, or faults.
    pub fn run(&mut self) -> Result<BenchSample, BenchError> {
        if let Some((address, bytes)) = &self.input {
            for section in 0..self.processor.machine().cp2.sections {
                self.processor
                    .poke_dmem(section, *address, bytes)
                    .map_err(|kind| BenchError::Dmem {
                        workload: self.name.clone(),
                        kind,
                    })?;
            }
        }
        let before = match self.words {
            Some(_) => 0,
            None => self.processor.counters().words,
        };
        let began = self.processor.now();
        for _ in 0..self.parts {
            // The data are in DMEM already, so the events can be posted at once.
            self.processor
                .post(cp2_host::PAGE_EVENT)
                .map_err(|e| self.unfinished(&e))?;
        }
        let started = Instant::now();
        self.processor.launch(self.entry, self.args)?;
        self.finish()?;
        let seconds = started.elapsed().as_secs_f64();
        let base = self.processor.time_base();
        let ticks = Ticks(self.processor.now().0 - began.0);
        let words = match self.words {
            Some(words) => words,
            None => self.processor.counters().words - before,
        };
        self.words = Some(words);
        Ok(BenchSample {
            words,
            cycles: base.floor_cycles(ticks).0,
            seconds,
        })
    }

    /// Runs until the kernel stops.
    fn finish(&mut self) -> Result<(), BenchError> {
        let limit = Ticks(self.processor.now().0.saturating_add(FAR));
        loop {
            match self.processor.run_until(limit) {
                Notice::KernelStopped => return Ok(()),
                Notice::Fault(fault) => return Err(self.unfinished(&fault)),
                Notice::Limit => return Err(self.unfinished(&"it does not end")),
                _ => {}
            }
        }
    }

    /// Makes the error of a kernel that does not reach its end.
    fn unfinished(&self, reason: &dyn std::fmt::Display) -> BenchError {
        BenchError::Unfinished {
            workload: self.name.clone(),
            reason: reason.to_string(),
        }
    }
}

/// Ticks after which a kernel is taken to be endless: none of the library takes so long.
const FAR: u64 = 1 << 32;
