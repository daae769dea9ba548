//! Repeated runs of the same steps, each with its time on the device's clock.

use super::copy::poison;
use crate::buffer::{DeviceMemory, allocate};
use crate::device::{GpuDevice, describe};
use crate::error::GpuError;
use crate::program::Dispatch;
use crate::session::Session;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for which a card is kept busy before runs are measured. While the host makes inputs, a card lowers its clocks:
/// an H100 that had waited for half a minute took the Himeno benchmark 2.4 times as long in the first runs.
const WARM_UP: Duration = Duration::from_secs(1);

/// Steps of a submission of the warm-up.
const WARM_UP_STEPS: usize = 64;

/// Keeps a card busy until its clocks are up, by overwriting outputs.
fn warm_up(session: &Session, device: &GpuDevice, poisons: &[Dispatch]) -> Result<(), GpuError> {
    if poisons.is_empty() || device.info.device_type == wgpu::DeviceType::Cpu {
        return Ok(());
    }
    let begin = Instant::now();
    while begin.elapsed() < WARM_UP {
        let submitted = device.guarded(|| {
            let mut encoder = device.raw.create_command_encoder(&Default::default());
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for step in poisons.iter().cycle().take(WARM_UP_STEPS) {
                step.encode(&mut pass);
            }
            drop(pass);
            device.queue.submit([encoder.finish()])
        });
        session.wait(Some(submitted.map_err(|error| refused(&error))?))?;
    }
    Ok(())
}

/// How often steps are repeated, and the times of all runs but the first.
#[derive(Debug)]
pub(crate) struct RepeatedRuns {
    count: usize,
    pub(crate) seconds: Vec<f64>,
}

/// Arrays that steps overwrite.
#[derive(Debug, Default)]
struct WrittenArrays {
    /// Arrays that are written before they are read.
    outputs: Vec<Arc<DeviceMemory>>,
    /// Arrays that are read first: they are restored before each run.
    changed: Vec<Arc<DeviceMemory>>,
}

fn contains(all: &[Arc<DeviceMemory>], one: &Arc<DeviceMemory>) -> bool {
    all.iter().any(|other| Arc::ptr_eq(other, one))
}

impl WrittenArrays {
    fn new(steps: &[&Dispatch]) -> Self {
        let mut found = Self::default();
        let mut read: Vec<Arc<DeviceMemory>> = Vec::new();
        for step in steps {
            for (memory, _) in step.memory.iter().filter(|(_, written)| !written) {
                if !contains(&found.outputs, memory) && !contains(&read, memory) {
                    read.push(memory.clone());
                }
            }
            for (memory, _) in step.memory.iter().filter(|(_, written)| *written) {
                let place = match contains(&read, memory) {
                    true => &mut found.changed,
                    false => &mut found.outputs,
                };
                if !contains(place, memory) {
                    place.push(memory.clone());
                }
            }
        }
        found
    }
}

fn refused(error: &wgpu::Error) -> GpuError {
    GpuError::Refused {
        what: "repeated steps",
        reason: describe(error),
    }
}

impl RepeatedRuns {
    /// Returns so many runs to come, and one before them.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            count: count.max(1),
            seconds: Vec::new(),
        }
    }

    /// Carries out steps several times. Outputs are overwritten before each run, and inputs are restored.
    pub(crate) fn run(
        &self,
        session: &Session,
        device: &Arc<GpuDevice>,
        steps: &[&Dispatch],
    ) -> Result<RepeatedTimes, GpuError> {
        let Some(tick) = device.tick else {
            return Err(GpuError::Unfit {
                what: "the adapter has no clock of its own".to_owned(),
                instead: "take another adapter",
            });
        };
        let arrays = WrittenArrays::new(steps);
        let poisons = arrays.outputs.iter().map(|memory| poison(device, memory));
        let poisons: Vec<Dispatch> = poisons.collect::<Result<_, _>>()?;
        warm_up(session, device, &poisons)?;
        let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let originals = arrays.changed.iter().map(|memory| {
            let bytes = memory.raw.size();
            Ok((
                memory,
                allocate(device, "a copy of an input", bytes, usage)?,
            ))
        });
        let originals: Vec<_> = originals.collect::<Result<_, GpuError>>()?;
        let times = 2 * (self.count as u32 + 1);
        let bytes = u64::from(times) * size_of::<u64>() as u64;
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let resolved = allocate(device, "times", bytes, usage)?;
        let submitted = device.guarded(|| {
            let set = device.raw.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("times of runs"),
                ty: wgpu::QueryType::Timestamp,
                count: times,
            });
            for run in 0..=self.count as u32 {
                let mut encoder = device.raw.create_command_encoder(&Default::default());
                for (memory, original) in &originals {
                    let size = original.size();
                    match run {
                        0 => encoder.copy_buffer_to_buffer(&memory.raw, 0, original, 0, size),
                        _ => encoder.copy_buffer_to_buffer(original, 0, &memory.raw, 0, size),
                    }
                }
                let steps_of = |encoder: &mut wgpu::CommandEncoder, times, all: &[&Dispatch]| {
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                        label: None,
                        timestamp_writes: times,
                    });
                    for step in all {
                        step.encode(&mut pass);
                    }
                };
                steps_of(&mut encoder, None, &poisons.iter().collect::<Vec<_>>());
                // A submission of its own: its time begins when what is before it has ended.
                device.queue.submit([encoder.finish()]);
                let mut encoder = device.raw.create_command_encoder(&Default::default());
                let times = wgpu::ComputePassTimestampWrites {
                    query_set: &set,
                    beginning_of_pass_write_index: Some(2 * run),
                    end_of_pass_write_index: Some(2 * run + 1),
                };
                steps_of(&mut encoder, Some(times), steps);
                device.queue.submit([encoder.finish()]);
            }
            let mut encoder = device.raw.create_command_encoder(&Default::default());
            encoder.resolve_query_set(&set, 0..times, &resolved, 0);
            device.queue.submit([encoder.finish()]);
        });
        submitted.map_err(|error| refused(&error))?;
        Ok(RepeatedTimes {
            resolved,
            bytes,
            tick,
        })
    }
}

/// Times of runs in the device's memory.
#[derive(Debug)]
pub(crate) struct RepeatedTimes {
    pub(crate) resolved: wgpu::Buffer,
    pub(crate) bytes: u64,
    tick: f64,
}

impl RepeatedTimes {
    /// Returns the seconds of all runs but the first.
    pub(crate) fn seconds(&self, bytes: &[u8]) -> Vec<f64> {
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(bytes);
        let runs = ticks.chunks_exact(2).skip(1);
        let seconds = runs.map(|pair| match *pair {
            [begin, end] => end.saturating_sub(begin) as f64 * self.tick,
            _ => f64::NAN,
        });
        seconds.collect()
    }
}
