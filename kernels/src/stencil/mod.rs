//! Stencils over arrays of two and three axes: a pass for each step, whose pages march from plane to plane.
//!
//! Blocks are as wide as the array where its rows are short: what lies beyond a row's ends is known while the kernel is generated then, and
//! nothing of it is loaded. Longer rows are cut, and each block has a quad of neighbours on either side. What
//! lies beyond the other edges the windows of `cp2_host::nest` have.

mod choice;
mod error;
mod kernel;
mod maker;
mod outputs;
mod registered;
mod row;
#[cfg(test)]
mod tests;

pub use error::StencilError;
pub(crate) use registered::{KERNELS, stencil};

use crate::job::{Job, JobError, KernelRun, room};
use choice::Chosen;
use cp2_host::nest::{self, AXES, Field, March, Sweep};
use cp2_host::{BlocksPerSection, Buffer, Options};
use cp2_machine::{Class, Machine};
use cp2_problems::stencil::{Edge, StencilProblem};
use cp2_reference::{Coefficients, Figures};
use std::sync::Arc;

/// Bytes of a number.
const FLOAT: u64 = 4;

/// A stencil planned for a machine.
///
/// ```
/// use cp2_kernels::stencil::Stencils;
/// use cp2_machine::Machine;
/// use cp2_problems::stencil::{Edge, Stencil, StencilProblem};
///
/// // Each number becomes the mean of its four neighbours; around the array there are zeros.
/// let mean = Stencil::of_classes(5, Some(&[0.0, 0.25]))?;
/// let problem = StencilProblem::new(&[3, 5], mean, Edge::Zero, 1)?;
/// let vm7 = Machine::builtin("vm7").unwrap();
/// let done = Stencils::new(&problem, vm7.into())?.process(&[1.0; 15], None)?;
/// assert_eq!(done.output.unwrap()[..6], [0.5, 0.75, 0.75, 0.75, 0.5, 0.75]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stencils {
    problem: StencilProblem,
    machine: Arc<Machine>,
    chosen: Chosen,
}

impl Stencils {
    /// Plans a problem.
    ///
    /// # Errors
    /// It does not fit the machine.
    pub fn new(problem: &StencilProblem, machine: Arc<Machine>) -> Result<Self, StencilError> {
        let [planes, rows, columns] = problem.extents().map(|n| n as u128);
        let own = match problem.is_per_element() {
            true => problem.stencil().points().len() as u128,
            false => 0,
        };
        // Input, result, what a step leaves to the next, and rows filled up to whole quads.
        let arrays = 2 + own + u128::from(problem.steps() > 1);
        let wide = columns.next_multiple_of(4);
        let filled = match columns == wide {
            true => 0,
            false => 2 + own,
        };
        let bytes = (arrays * columns + filled * wide)
            .saturating_mul(planes.saturating_mul(rows))
            .saturating_mul(FLOAT.into());
        let most = machine.host.memory.0;
        let refused = |most| StencilError::OutOfMemory {
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            most,
            machine: machine.name.clone(),
        };
        if bytes > most.into() {
            return Err(refused(most));
        }
        let chosen = choice::choose(problem, &machine)?;
        let most = room(&machine, &chosen.kernel.program).saturating_sub(machine.cp2.dmem.0);
        if bytes > most.into() {
            return Err(refused(most));
        }
        Ok(Self {
            problem: problem.clone(),
            machine,
            chosen,
        })
    }

    /// The problem.
    #[must_use]
    pub fn problem(&self) -> &StencilProblem {
        &self.problem
    }

    /// The assembly of its page kernel.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.chosen.kernel.source
    }

    /// How it is computed, in words.
    #[must_use]
    pub fn recipe(&self) -> String {
        let [_, rows, columns] = self.chosen.block;
        let march = match self.axes() {
            3 => "planes marched through, ",
            _ => "",
        };
        let whole = match self.chosen.whole {
            true => "whole rows",
            false => "parts of rows",
        };
        format!("a pass for each step, {march}blocks of {rows} x {columns}, {whole}")
    }

    /// What any program and the best known one take.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let (problem, stencil) = (&self.problem, self.problem.stencil());
        let coefficients = match (problem.is_per_element(), stencil.is_of_classes()) {
            (true, _) => Coefficients::Element,
            (false, true) => Coefficients::Class,
            (false, false) => Coefficients::Point,
        };
        let points = stencil.points().len();
        cp2_reference::Stencil::new(problem.extents(), points, coefficients, problem.steps())
            .figures(&self.machine)
    }

    /// What every pass issues, for the model.
    pub(crate) fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let extents = self.problem.extents().map(|n| n as u64);
        let blocks: u64 = (0..AXES)
            .map(|axis| extents[axis].div_ceil(self.chosen.block[axis].max(1)))
            .product();
        let step = self.chosen.kernel.operations.times(blocks);
        vec![step; self.problem.steps()]
    }

    fn axes(&self) -> usize {
        self.problem.shape().len()
    }

    /// Computes the array after all steps of `u`, row by row, with the coefficients `c` of every element where the problem has such.
    ///
    /// # Errors
    /// Arrays of another length, or that do not fit the machine.
    pub fn process(
        &self,
        u: &[f32],
        c: Option<&[f32]>,
    ) -> Result<KernelRun<Vec<f32>>, StencilError> {
        self.process_with(u, c, Options::default())
    }

    /// The same on a device with options.
    ///
    /// # Errors
    /// See [`Stencils::process`].
    pub fn process_with(
        &self,
        u: &[f32],
        c: Option<&[f32]>,
        options: Options,
    ) -> Result<KernelRun<Vec<f32>>, StencilError> {
        let (job, v) = self.job(u, c, options)?;
        Ok(job.run(self.figures(), |run| run.read(v))?)
    }

    /// The job that computes it, nothing of it done yet, and its result: inputs are called `u` and `c`, the output `v`.
    ///
    /// # Errors
    /// See [`Stencils::process`].
    pub fn job(
        &self,
        u: &[f32],
        c: Option<&[f32]>,
        options: Options,
    ) -> Result<(Job, Buffer<f32>), StencilError> {
        let problem = &self.problem;
        self.sized("u", u, 1)?;
        let points = problem.stencil().points().len();
        let own = c.filter(|_| problem.is_per_element());
        if problem.is_per_element() {
            self.sized("c", own.unwrap_or_default(), points)?;
        }
        let mut job = Job::new(self.machine.clone(), options);
        let shape: Vec<u64> = problem.shape().iter().map(|&n| n as u64).collect();
        let u = job.input("u", u, &shape)?.address();
        let own = match own {
            Some(c) => {
                let mut shape = shape.clone();
                shape.insert(shape.len() - 1, points as u64);
                let at = job.input("c", c, &shape)?.address();
                let field = self.own_field(at);
                Some(job.windows(field, at, (self.march(), false))?)
            }
            None => None,
        };
        let v = job.output::<f32>("v", &shape)?;
        let between = self.between(&mut job)?;
        let placed = job.program("stencil", &self.chosen.kernel.program)?;
        let zeros = job.edge_zeros()?;
        let steps = problem.steps();
        for step in 0..steps {
            let [planes, rows, columns] = problem.extents().map(|n| n as u64);
            let wide = |of: u64| match self.chosen.whole {
                true => of.next_multiple_of(4),
                false => of,
            };
            // Steps leave their results to the next in two arrays in turn.
            let (from, from_columns) = match step {
                0 => (u, columns),
                _ => (between[(step - 1) % 2], wide(columns)),
            };
            let (to, to_columns) = match step + 1 == steps {
                true => (v.address(), columns),
                false => (between[step % 2], wide(columns)),
            };
            let block = self.chosen.block;
            let input = Field::new("u", from, FLOAT, [planes, rows, from_columns], block);
            let input = input.halo(self.halo(), edge(problem.edge()));
            let input = job.windows(input, from, (self.march(), false))?;
            let output = Field::new("v", to, FLOAT, [planes, rows, to_columns], block);
            let (output, back) = job.blocks(output, to)?;
            let inputs = [Some(input), own.clone()].into_iter().flatten().collect();
            let sweep = Sweep {
                march: self.march(),
                size: BlocksPerSection::Fixed(1),
                buffering: self.chosen.pages.buffering,
                marches_apart: self.chosen.pages.apart,
                zeros,
                ..Sweep::new(inputs, vec![output])
            };
            job.sweep(&placed, placed.program.entry.into(), sweep)?;
            if let Some(back) = back {
                back.append(&mut job)?;
            }
        }
        Ok((job, v))
    }

    fn sized(&self, name: &'static str, values: &[f32], of: usize) -> Result<(), StencilError> {
        let expected = self.problem.elements() * of;
        if values.len() == expected {
            return Ok(());
        }
        Err(cp2_problems::DataError::Length {
            name,
            found: values.len(),
            expected,
        }
        .into())
    }

    /// Addresses of what steps leave to the next.
    fn between(&self, job: &mut Job) -> Result<Vec<u64>, JobError> {
        let [planes, rows, columns] = self.problem.extents().map(|n| n as u64);
        let numbers = planes * rows * columns.next_multiple_of(4);
        let count = (self.problem.steps() - 1).min(2);
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(job.temporary::<f32>(numbers)?.address());
        }
        Ok(all)
    }

    fn march(&self) -> Option<March> {
        choice::march(&self.problem)
    }

    fn halo(&self) -> [u64; AXES] {
        choice::halo(&self.problem, self.chosen.whole)
    }

    /// The coefficients of every element: a row of them for each point is a row here.
    fn own_field(&self, at: u64) -> Field {
        let points = self.problem.stencil().points().len() as u64;
        let [planes, rows, columns] = self.problem.extents().map(|n| n as u64);
        let [plane, row, width] = self.chosen.block;
        let shape = [planes, rows * points, columns];
        Field::new("c", at, FLOAT, shape, [plane, row * points, width])
    }
}

/// What a window has beyond the array: what fixed edges make of it is the kernel's to replace.
fn edge(edge: Edge) -> nest::Edge {
    match edge {
        Edge::Zero | Edge::Fixed => nest::Edge::Zero,
        Edge::Mirrored => nest::Edge::Clamp,
        Edge::Periodic => nest::Edge::Periodic,
    }
}
