//! One run: steps carried out, arrays read back, and the time between.

use crate::bench::RepeatedRuns;
use crate::buffer::{GpuBuffer, allocate};
use crate::device::{GpuDevice, describe};
use crate::error::GpuError;
use crate::program::Dispatch;
use bytemuck::Pod;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Steps of the first submission, and most of one; a driver may take longer ones for a hang.
const STEPS: [usize; 2] = [16, 512];

/// Time of a submission below which the next one has twice as many steps; it has half as many otherwise.
const SUBMITTED: Duration = Duration::from_millis(250);

/// A run in progress.
#[derive(Debug)]
pub(crate) struct Session {
    device: Arc<GpuDevice>,
    started: Instant,
    /// Times at the begin and at the end of all steps, on the device's clock.
    clock: Option<wgpu::QuerySet>,
    first_submission: Option<Instant>,
    last_answer: Option<Instant>,
    dispatches: usize,
    /// Measurements of steps, which are then repeated.
    repeats: Option<RepeatedRuns>,
}

/// Time that the device was busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DeviceTime {
    pub(crate) seconds: f64,
    /// True if the device measured it.
    pub(crate) is_own: bool,
    /// Shaders that were started.
    pub(crate) dispatches: usize,
}

impl Session {
    /// Begins a run.
    pub(crate) fn new(device: &Arc<GpuDevice>) -> Result<Self, GpuError> {
        device.check_driver()?;
        let clock = device.tick.map(|_| {
            device.raw.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("times"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            })
        });
        Ok(Self {
            device: device.clone(),
            started: Instant::now(),
            clock,
            first_submission: None,
            last_answer: None,
            dispatches: 0,
            repeats: None,
        })
    }

    /// Begins a run that repeats its steps and measures each repetition. Steps are all carried out at once.
    pub(crate) fn repeated(
        device: &Arc<GpuDevice>,
        repeats: RepeatedRuns,
    ) -> Result<Self, GpuError> {
        let session = Self::new(device)?;
        Ok(Self {
            repeats: Some(repeats),
            ..session
        })
    }

    /// Returns the seconds of all repetitions.
    pub(crate) fn take_repeated_seconds(&mut self) -> Vec<f64> {
        let repeats = self.repeats.take();
        repeats.map(|repeats| repeats.seconds).unwrap_or_default()
    }

    /// Carries out repeated steps, and waits for them.
    fn repeat(&mut self, mut repeats: RepeatedRuns, steps: &[&Dispatch]) -> Result<(), GpuError> {
        let times = repeats.run(self, &self.device.clone(), steps)?;
        let bytes = self.read_raw("times", &[(&times.resolved, times.bytes)])?;
        repeats.seconds = times.seconds(&bytes);
        self.repeats = Some(repeats);
        self.device.check()
    }

    /// Carries out steps, one after the other: a step sees what those before it have written.
    pub(crate) fn execute<'a>(
        &mut self,
        steps: impl IntoIterator<Item = &'a Dispatch>,
    ) -> Result<(), GpuError> {
        if let Some(repeats) = self.repeats.take() {
            return self.repeat(repeats, &steps.into_iter().collect::<Vec<_>>());
        }
        let mut steps = steps.into_iter().peekable();
        let [mut count, most] = STEPS;
        while steps.peek().is_some() {
            let submission = Instant::now();
            let device = self.device.clone();
            let begins = self.first_submission.is_none();
            self.first_submission.get_or_insert_with(Instant::now);
            let submitted = device.guarded(|| {
                let mut encoder = device.raw.create_command_encoder(&Default::default());
                let times = self
                    .clock
                    .as_ref()
                    .map(|set| wgpu::ComputePassTimestampWrites {
                        query_set: set,
                        beginning_of_pass_write_index: begins.then_some(0),
                        end_of_pass_write_index: Some(1),
                    });
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                    label: None,
                    timestamp_writes: times,
                });
                for step in steps.by_ref().take(count) {
                    step.encode(&mut pass);
                    self.dispatches += 1;
                }
                drop(pass);
                device.queue.submit([encoder.finish()])
            });
            let index = submitted.map_err(|error| GpuError::Refused {
                what: "steps",
                reason: describe(&error),
            })?;
            if steps.peek().is_some() {
                self.wait(Some(index))?;
                count = match submission.elapsed() < SUBMITTED {
                    true => most.min(2 * count),
                    false => (count / 2).max(1),
                };
            }
        }
        self.device.check()
    }

    /// Sets all elements of an array to 0.
    pub(crate) fn clear<T: Pod>(&mut self, buffer: &GpuBuffer<T>) -> Result<(), GpuError> {
        let device = &self.device;
        let cleared = device.guarded(|| {
            let mut encoder = device.raw.create_command_encoder(&Default::default());
            encoder.clear_buffer(&buffer.memory.raw, 0, None);
            device.queue.submit([encoder.finish()])
        });
        let cleared = cleared.map_err(|error| GpuError::Refused {
            what: buffer.what(),
            reason: describe(&error),
        });
        cleared.map(drop)
    }

    /// Waits for a submission, or for all of them.
    pub(crate) fn wait(&self, index: Option<wgpu::SubmissionIndex>) -> Result<(), GpuError> {
        let device = &self.device;
        let limit = device.time_limit;
        let left = limit.saturating_sub(self.started.elapsed());
        if left.is_zero() {
            return Err(device.give_up(GpuError::TimedOut { limit }));
        }
        let polled = device.raw.poll(wgpu::PollType::Wait {
            submission_index: index,
            timeout: Some(left),
        });
        device.check()?;
        match polled {
            Ok(_) => Ok(()),
            Err(wgpu::PollError::Timeout) => Err(device.give_up(GpuError::TimedOut { limit })),
            Err(error) => Err(device.give_up(GpuError::Lost {
                reason: describe(&error),
            })),
        }
    }

    /// Reads an array back, when all steps are done.
    pub(crate) fn read<T: Pod>(&mut self, buffer: &GpuBuffer<T>) -> Result<Vec<T>, GpuError> {
        let all = self.read_all(&[buffer])?;
        Ok(all.into_iter().next().unwrap_or_default())
    }

    /// Reads several arrays back at once, when all steps are done.
    pub(crate) fn read_all<T: Pod>(
        &mut self,
        buffers: &[&GpuBuffer<T>],
    ) -> Result<Vec<Vec<T>>, GpuError> {
        let what = buffers.first().map_or("", |buffer| buffer.what());
        let parts: Vec<_> = buffers
            .iter()
            .map(|buffer| (&buffer.memory.raw, buffer.bytes()))
            .collect();
        let bytes = self.read_raw(what, &parts)?;
        let mut rest = &bytes[..];
        let mut all = Vec::with_capacity(parts.len());
        for (_, count) in parts {
            let (part, behind) = rest.split_at_checked(count as usize).unwrap_or((rest, &[]));
            all.push(bytemuck::pod_collect_to_vec(part));
            rest = behind;
        }
        Ok(all)
    }

    fn read_raw(
        &mut self,
        what: &'static str,
        parts: &[(&wgpu::Buffer, u64)],
    ) -> Result<Vec<u8>, GpuError> {
        let bytes = parts.iter().map(|(_, bytes)| bytes).sum();
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let device = self.device.clone();
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let copy = allocate(&device, what, bytes, usage)?;
        let (send, receive) = channel();
        let submitted = device.guarded(|| {
            let mut encoder = device.raw.create_command_encoder(&Default::default());
            let mut at = 0;
            for &(from, count) in parts {
                encoder.copy_buffer_to_buffer(from, 0, &copy, at, count);
                at += count;
            }
            let index = device.queue.submit([encoder.finish()]);
            copy.map_async(wgpu::MapMode::Read, .., move |mapped| {
                // Nobody receives any more if the time limit was reached.
                let _ = send.send(mapped);
            });
            index
        });
        let refused = |reason: String| GpuError::Refused { what, reason };
        let index = submitted.map_err(|error| refused(describe(&error)))?;
        self.wait(Some(index))?;
        let mapped = receive.try_recv();
        let mapped = mapped.map_err(|_| refused("it was not mapped".to_owned()))?;
        mapped.map_err(|error| refused(describe(&error)))?;
        let view = copy.get_mapped_range(..);
        let view = view.map_err(|error| refused(describe(&error)))?;
        self.last_answer = Some(Instant::now());
        Ok(view.to_vec())
    }

    /// Returns the time from the begin of the first step to the end of the last one.
    pub(crate) fn time(&mut self) -> Result<DeviceTime, GpuError> {
        let waited = match (self.first_submission, self.last_answer) {
            (Some(first), Some(last)) => last.saturating_duration_since(first).as_secs_f64(),
            _ => 0.0,
        };
        let mut time = DeviceTime {
            seconds: waited,
            is_own: false,
            dispatches: self.dispatches,
        };
        let (Some(set), Some(tick), true) = (&self.clock, self.device.tick, self.dispatches > 0)
        else {
            return Ok(time);
        };
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let resolved = allocate(&self.device, "times", 16, usage)?;
        let done = self.device.guarded(|| {
            let mut encoder = self.device.raw.create_command_encoder(&Default::default());
            encoder.resolve_query_set(set, 0..2, &resolved, 0);
            self.device.queue.submit([encoder.finish()])
        });
        done.map_err(|error| GpuError::Refused {
            what: "times",
            reason: describe(&error),
        })?;
        let bytes = self.read_raw("times", &[(&resolved, 16)])?;
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(&bytes);
        if let [begin, end] = ticks[..] {
            time.seconds = end.saturating_sub(begin) as f64 * tick;
            time.is_own = true;
        }
        Ok(time)
    }
}
