//! Heat in a plate on a grid of processors, as straight code.
//!
//! Each processor has a block of the plate and ghosts of its neighbours' outermost rows and columns. It exchanges
//! halos in both axes before each step. `cargo run -p cp2-kernels --example plate`
#![allow(clippy::print_stdout, reason = "an example prints")]

use cp2_host::{Buffer, DeviceOptions, MessageRegion};
use cp2_kernels::stencil::{StencilError, Stencils};
use cp2_kernels::{Job, JobCommunicator, JobPart, JobProgram, run_job_programs};
use cp2_machine::Machine;
use cp2_network::{CartesianGrid, InProcess, NetworkReport, Transport, share_of};
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use std::convert::Infallible;
use std::error::Error;
use std::ops::Range;
use std::sync::Arc;

/// A plate of rows and columns, a grid of processors, and the number of steps.
#[derive(Clone, Copy, Debug)]
pub struct Plate {
    /// Rows and columns of the plate.
    pub shape: [usize; 2],
    /// Rows and columns of processors.
    pub grid: [usize; 2],
    /// Number of steps.
    pub steps: usize,
}

/// A neighbour of a block: its number, its side (axis, and 1 for the side behind), rows and columns of what goes to it
/// and of its ghosts.
type Neighbour = (usize, u32, [Range<usize>; 2], [Range<usize>; 2]);

/// A job with its program, the array of the result, and rows, columns and width of the block in it.
type BlockProgram = (JobProgram<'static, f32>, Buffer<f32>, [Range<usize>; 3]);

/// Values of a block after all steps, and the largest value of the plate.
pub type BlockResult = (Vec<f32>, f32);

/// The block of a processor in an array with ghosts, the two arrays that steps go to and fro between, and the steps.
struct Block {
    neighbours: Vec<Neighbour>,
    width: usize,
    arrays: [Buffer<f32>; 2],
    sweeps: [JobPart; 2],
}

impl Block {
    /// Returns rows and columns of an array as a message.
    fn region(&self, array: Buffer<f32>, [rows, columns]: &[Range<usize>; 2]) -> MessageRegion {
        let at = rows.start * self.width + columns.start;
        MessageRegion {
            address: array.address() + 4 * at as u64,
            row: 4 * columns.len() as u64,
            rows: rows.len() as u64,
            pitch: 4 * self.width as u64,
        }
    }
}

/// The program of every processor. Returns the largest value of the whole plate.
async fn heat(own: JobCommunicator, block: Block, steps: usize) -> Result<f32, Infallible> {
    for step in 0..steps {
        let array = block.arrays[step % 2];
        let mut halos = Vec::new();
        for (neighbour, side, _, ghosts) in &block.neighbours {
            // The neighbour names the side that it sends to.
            halos.push(own.start_receive(block.region(array, ghosts), *neighbour, side ^ 1));
        }
        for (neighbour, side, rows, _) in &block.neighbours {
            halos.push(own.start_send(block.region(array, rows), *neighbour, *side));
        }
        own.wait_all(halos).await;
        own.carry_out(block.sweeps[step % 2]);
    }
    let values = own.read(block.arrays[steps % 2]).await;
    let mut largest = [values.into_iter().fold(f32::MIN, f32::max)];
    own.messages().allreduce(&mut largest, f32::max).await;
    Ok(largest[0])
}

impl Plate {
    /// Returns the rows and columns of the plate that a processor computes.
    #[must_use]
    pub fn own(&self, rank: usize) -> [Range<usize>; 2] {
        let at = [rank / self.grid[1], rank % self.grid[1]];
        [0, 1].map(|axis| share_of(self.shape[axis], self.grid[axis], at[axis]))
    }

    /// Puts job and program of a processor together for the plate `u`. Returns them with the array of the result,
    /// and the rows and columns of the block in it.
    fn program(
        &self,
        machine: &Arc<Machine>,
        rank: usize,
        u: &[f32],
    ) -> Result<BlockProgram, StencilError> {
        let own = self.own(rank);
        let grid = CartesianGrid::new(&self.grid.map(|processors| (processors, false)));
        let beside = [0, 1].map(|axis| grid.shift(rank, axis, 1));
        // One ghost on each side with a neighbour: without one the edge of the plate is there.
        let first = beside.map(|(before, _)| usize::from(before.is_some()));
        let inner = [0, 1].map(|axis| first[axis]..first[axis] + own[axis].len());
        let extent = [0, 1].map(|axis| inner[axis].end + usize::from(beside[axis].1.is_some()));
        let mut neighbours = Vec::new();
        for axis in [0, 1] {
            let Range { start, end } = inner[axis];
            let (before, behind) = beside[axis];
            for (other, side, rows, ghosts) in [
                (before, 0, start..start + 1, start.saturating_sub(1)..start),
                (behind, 1, end - 1..end, end..end + 1),
            ] {
                let across = |along: Range<usize>| match axis {
                    0 => [along, inner[1].clone()],
                    _ => [inner[0].clone(), along],
                };
                if let Some(other) = other {
                    let side = 2 * axis as u32 + side;
                    neighbours.push((other, side, across(rows), across(ghosts)));
                }
            }
        }
        let width = extent[1];
        let mut values = vec![0.0; extent[0] * width];
        for (row, from) in inner[0].clone().zip(own[0].clone()) {
            let from = from * self.shape[1] + own[1].start;
            let at = row * width + inner[1].start;
            values[at..at + own[1].len()].copy_from_slice(&u[from..from + own[1].len()]);
        }
        let stencil = StencilShape::from_classes(5, None)?;
        let problem = StencilProblem::new(&extent, stencil, Edge::Fixed, 1)?;
        let step = Stencils::new(&problem, machine.clone())?;
        let mut job = Job::new(machine.clone(), DeviceOptions::default());
        let shape = extent.map(|n| n as u64);
        let arrays = [job.input("u", &values, &shape)?, job.output("v", &shape)?];
        let [u, v] = arrays;
        let sweeps = [
            job.part(|job| step.add_step(job, u, v))?,
            job.part(|job| step.add_step(job, v, u))?,
        ];
        let block = Block {
            neighbours,
            width,
            arrays,
            sweeps,
        };
        let (steps, size) = (self.steps, self.grid[0] * self.grid[1]);
        let program = JobProgram::new(job, (rank, size), |own| heat(own, block, steps));
        let [rows, columns] = inner;
        Ok((program, arrays[steps % 2], [rows, columns, 0..width]))
    }

    /// Runs this rank's processors. Returns what happened on the network, and for each of them the values of its block
    /// and the largest value of the plate.
    ///
    /// # Errors
    /// A block does not fit the machine, or ranks differ.
    pub fn run(
        &self,
        transport: &mut dyn Transport,
        machine: &Arc<Machine>,
        u: &[f32],
    ) -> Result<(NetworkReport, Vec<BlockResult>), Box<dyn Error>> {
        let size = self.grid[0] * self.grid[1];
        let (mut programs, mut places) = (Vec::new(), Vec::new());
        for rank in share_of(size, transport.ranks(), transport.rank()) {
            let (program, result, place) = self.program(machine, rank, u)?;
            programs.push(program);
            places.push((result, place));
        }
        let (report, runs) = run_job_programs(transport, machine, size, programs, 2, b"plate")?;
        let mut blocks = Vec::new();
        for ((done, largest), (result, [rows, columns, width])) in runs.iter().zip(places) {
            let values = done.run.read(result)?;
            let row = |row: usize| &values[row * width.end..][columns.clone()];
            blocks.push((rows.flat_map(row).copied().collect(), *largest));
        }
        Ok((report, blocks))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Arc::new(Machine::load("vm7")?);
    let mut u = vec![0.0; 96 * 128];
    u[40 * 128 + 50] = 1000.0;
    for grid in [[1, 1], [1, 2], [2, 2], [2, 4]] {
        let (shape, steps) = ([96, 128], 8);
        let plate = Plate { shape, grid, steps };
        let (report, blocks) = plate.run(&mut InProcess, &machine, &u)?;
        let last = report.ends.iter().max().copied().unwrap_or_default();
        let largest = blocks.first().map_or(0.0, |(_, largest)| *largest);
        println!(
            "{grid:?}: {last}, {} messages, largest {largest}",
            report.messages
        );
    }
    Ok(())
}
