//! The benchmark divided among devices, along planes.
//!
//! In an iteration each device computes the chunks beside its neighbours first. While it computes the others, the host
//! reads their outermost planes and writes them to the neighbours, which need them in the next iteration.

use super::{HimenoParts, HimenoShare, add_squares};
use crate::backend::GpuFailure;
use crate::buffer::allocate;
use crate::device::{GpuDevice, describe};
use crate::error::GpuError;
use crate::program::Dispatch;
use crate::session::Session;
use cp2_problems::NamedArrays;
use cp2_problems::himeno::HimenoProblem;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// The benchmark on several devices.
#[derive(Debug)]
pub(crate) struct DividedHimeno {
    problem: HimenoProblem,
    shares: Vec<HimenoShare>,
    halos: Vec<HaloPlane>,
}

/// A plane that one device computes and its neighbour needs.
#[derive(Debug)]
struct HaloPlane {
    /// Shares that compute and that need it.
    shares: [usize; 2],
    /// Its first byte in the arrays of both.
    at: [u64; 2],
    bytes: u64,
    /// Memory that the host reads.
    staged: wgpu::Buffer,
}

/// A plane on its way to the host.
type MappedPlane = Receiver<Result<(), wgpu::BufferAsyncError>>;

fn refused(error: &dyn std::error::Error) -> GpuError {
    GpuError::Refused {
        what: "the exchange of planes",
        reason: describe(error),
    }
}

impl DividedHimeno {
    /// Divides the planes among devices, in whole chunks.
    pub(crate) fn new(
        devices: &[Arc<GpuDevice>],
        problem: &HimenoProblem,
    ) -> Result<Self, GpuError> {
        let chunks = HimenoParts::new(problem).chunks;
        let count = devices.len();
        if count > chunks {
            return Err(GpuError::Limit {
                what: "chunks of planes",
                found: count as u64,
                most: chunks as u64,
            });
        }
        let share = |(i, device): (usize, &Arc<GpuDevice>)| {
            HimenoShare::new(
                device,
                problem,
                chunks * i / count..chunks * (i + 1) / count,
            )
        };
        let shares: Vec<HimenoShare> = devices
            .iter()
            .enumerate()
            .map(share)
            .collect::<Result<_, _>>()?;
        let mut halos = Vec::new();
        for (i, pair) in shares.windows(2).enumerate() {
            let [below, above] = pair else { continue };
            // The last plane of the lower share goes up, and the first one of the upper share goes down.
            for (plane, from, to) in [(below.own.end - 1, i, i + 1), (above.own.start, i + 1, i)] {
                halos.push(HaloPlane::new(&shares, plane, [from, to])?);
            }
        }
        Ok(Self {
            problem: problem.clone(),
            shares,
            halos,
        })
    }

    /// Describes the division.
    pub(crate) fn describe(&self) -> String {
        let planes: Vec<_> = self
            .shares
            .iter()
            .map(|share| share.own.len().to_string())
            .collect();
        format!(
            "{} planes on {} adapters, those at the ends first",
            planes.join(" + "),
            self.shares.len()
        )
    }

    /// Begins a run on each device.
    pub(crate) fn sessions(&self) -> Result<Vec<Session>, GpuError> {
        let all = self.shares.iter();
        all.map(|share| Session::new(&share.device)).collect()
    }

    /// Computes the output of an input.
    pub(crate) fn compute(
        &self,
        sessions: &mut [Session],
        input: &NamedArrays,
    ) -> Result<NamedArrays, GpuFailure> {
        let arrays = self.problem.arrays(input)?;
        for share in &self.shares {
            share.upload(&arrays)?;
        }
        let iterations = self.problem.iterations();
        self.iterate(sessions, iterations)?;
        let (mut p, mut sums) = (Vec::with_capacity(self.problem.count()), Vec::new());
        for (share, session) in self.shares.iter().zip(sessions) {
            let held: Vec<f32> = session.read(&share.p[iterations % 2])?;
            let first = (share.own.start - share.held.start) * share.plane;
            let own = first..first + share.own.len() * share.plane;
            p.extend_from_slice(held.get(own).unwrap_or_default());
            sums.extend(share.read_sums(session)?);
        }
        Ok(self.problem.wrap_results(p, add_squares(&sums)))
    }

    /// Returns the cause of an error: the loss of a device, if that is it.
    pub(crate) fn cause(&self, error: GpuError) -> GpuError {
        let mut devices = self.shares.iter().map(|share| &share.device);
        let lost = devices.find_map(|device| device.check_driver().err());
        lost.unwrap_or(error)
    }

    /// Carries out iterations, and returns their seconds by the host's clock.
    pub(crate) fn iterate(&self, sessions: &[Session], iterations: usize) -> Result<f64, GpuError> {
        let wait_all = || sessions.iter().try_for_each(|session| session.wait(None));
        // Inputs are there when time begins.
        for share in &self.shares {
            share.device.queue.submit([]);
        }
        wait_all()?;
        let started = Instant::now();
        for i in 0..iterations {
            self.iterate_once(sessions, i % 2)?;
        }
        wait_all()?;
        for share in &self.shares {
            share.device.check()?;
        }
        Ok(started.elapsed().as_secs_f64())
    }

    /// Carries out an iteration from one of the two arrays of the pressure to the other one.
    fn iterate_once(&self, sessions: &[Session], from: usize) -> Result<(), GpuError> {
        let mut submitted = Vec::new();
        let mut mapped: Vec<Option<MappedPlane>> = self.halos.iter().map(|_| None).collect();
        for (number, share) in self.shares.iter().enumerate() {
            let device = &share.device;
            let index = device.guarded(|| {
                let mut encoder = device.raw.create_command_encoder(&Default::default());
                encode(&mut encoder, &share.outer[from]);
                let own = self.halos.iter().zip(&mut mapped);
                let own: Vec<_> = own.filter(|(halo, _)| halo.shares[0] == number).collect();
                for (halo, _) in &own {
                    let computed = &share.p[1 - from].memory.raw;
                    encoder.copy_buffer_to_buffer(
                        computed,
                        halo.at[0],
                        &halo.staged,
                        0,
                        halo.bytes,
                    );
                }
                let index = device.queue.submit([encoder.finish()]);
                for (halo, place) in own {
                    let (send, receive) = channel();
                    halo.staged
                        .map_async(wgpu::MapMode::Read, .., move |result| {
                            // Nobody receives any more if the time limit was reached.
                            let _ = send.send(result);
                        });
                    *place = Some(receive);
                }
                let mut encoder = device.raw.create_command_encoder(&Default::default());
                encode(&mut encoder, &share.inner[from]);
                device.queue.submit([encoder.finish()]);
                index
            });
            submitted.push(index.map_err(|error| refused(&error))?);
        }
        for (session, index) in sessions.iter().zip(submitted) {
            session.wait(Some(index))?;
        }
        for (halo, mapped) in self.halos.iter().zip(mapped) {
            let result = mapped.and_then(|mapped| mapped.try_recv().ok());
            let result = result.ok_or_else(|| GpuError::Refused {
                what: "the exchange of planes",
                reason: "a plane was not mapped".to_owned(),
            })?;
            result.map_err(|error| refused(&error))?;
            let Some(to) = self.shares.get(halo.shares[1]) else {
                continue;
            };
            let view = halo.staged.get_mapped_range(..);
            let view = view.map_err(|error| refused(&error))?;
            let device = &to.device;
            let needed = &to.p[1 - from].memory.raw;
            let written = device.guarded(|| device.queue.write_buffer(needed, halo.at[1], &view));
            written.map_err(|error| refused(&error))?;
            drop(view);
            halo.staged.unmap();
        }
        Ok(())
    }
}

/// Adds steps to an encoder as a pass.
fn encode<'a>(encoder: &mut wgpu::CommandEncoder, steps: impl IntoIterator<Item = &'a Dispatch>) {
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: None,
        timestamp_writes: None,
    });
    for step in steps {
        step.encode(&mut pass);
    }
}

impl HaloPlane {
    fn new(shares: &[HimenoShare], plane: usize, [from, to]: [usize; 2]) -> Result<Self, GpuError> {
        let place = |share: &HimenoShare| {
            ((plane - share.held.start) * share.plane * size_of::<f32>()) as u64
        };
        let bytes = (shares[from].plane * size_of::<f32>()) as u64;
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        Ok(Self {
            shares: [from, to],
            at: [place(&shares[from]), place(&shares[to])],
            bytes,
            staged: allocate(
                &shares[from].device,
                "a plane for a neighbour",
                bytes,
                usage,
            )?,
        })
    }
}
