//! The pages of a pass: loads and stores of one step or two.

use super::{FLOAT, temporal_blocking};
use cp2_host::nest::{AXES, BoundaryRule, FirstLoad, GridField, GridPass, March};
use cp2_host::{BlocksPerSection, Buffering};
use cp2_machine::Machine;
use cp2_problems::stencil::{self, StencilProblem};

/// Pages of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct StencilPages {
    /// Planes, rows and columns of a block.
    pub(super) block: [u64; AXES],
    /// True if blocks are as wide as the array.
    pub(super) whole: bool,
    /// Steps of the pass: one or two.
    pub(super) steps: usize,
    pub(super) buffering: Buffering,
    /// See [`cp2_host::nest::GridPass::marches_apart`].
    pub(super) apart: bool,
    /// Bytes of the sums that rows keep for later rows.
    pub(super) kept: u64,
}

impl StencilPages {
    fn fused(&self) -> bool {
        self.steps > 1
    }

    /// Returns the loads from an array at address `at`, whose rows have `columns` columns there.
    pub(super) fn input(&self, problem: &StencilProblem, at: u64, columns: u64) -> GridField {
        let [planes, rows, _] = problem.extents().map(|n| n as u64);
        let halo = [
            u64::from(problem.shape().len() == 3),
            self.steps as u64,
            u64::from(!self.whole),
        ];
        let field = GridField::new("u", at, FLOAT, [planes, rows, columns], self.block);
        let field = field
            .halo(halo, edge(problem.edge()))
            .offset(self.offset(problem, 0));
        match self.fused() {
            // Blocks need not compute the rows that they are handed.
            true => field.opening(FirstLoad::Further(temporal_blocking::HANDED as u64)),
            false => field,
        }
    }

    /// Returns the pages of a march, and the number of blocks of a plane.
    fn grid(&self, problem: &StencilProblem) -> [u64; AXES] {
        let [planes, rows, _] = problem.extents().map(|n| n as u64);
        let [more, _] = temporal_blocking::beyond(problem.edge());
        let [_, height, _] = self.block;
        [planes + more, rows.div_ceil(height.max(1)), 1]
    }

    /// Returns the number of planes of the first step that are computed.
    fn made(&self, problem: &StencilProblem) -> u64 {
        self.grid(problem)[0] - u64::from(temporal_blocking::skips(problem.edge()))
    }

    /// Returns the blocks of a section's share.
    fn share(&self, problem: &StencilProblem, machine: &Machine) -> u64 {
        let [_, blocks, _] = self.grid(problem);
        temporal_blocking::share(blocks as usize, 1, machine) as u64
    }

    /// Returns the number of blocks that are the first of a section's share, in all planes of the first step.
    pub(super) fn openings(&self, problem: &StencilProblem, machine: &Machine) -> u64 {
        let [_, blocks, _] = self.grid(problem);
        let share = self.share(problem, machine).max(1);
        match self.fused() {
            true => self.made(problem) * blocks.div_ceil(share),
            false => 0,
        }
    }

    /// Returns the bytes of the rows that blocks hand over.
    pub(super) fn handed_bytes(&self, problem: &StencilProblem, machine: &Machine) -> u64 {
        let [_, blocks, _] = self.grid(problem);
        let row = self.block[2] * FLOAT;
        match self.fused() && self.share(problem, machine) > 1 {
            true => self.made(problem) * blocks * temporal_blocking::HANDED as u64 * row,
            false => 0,
        }
    }

    /// Returns the fields of the rows of the first step that a block receives, and of those that it leaves to
    /// the next block, in an array at `at`: for each page the rows of its blocks, one behind the other. In
    /// local memory they lie in the kept planes of the first step.
    fn handed(&self, problem: &StencilProblem, at: u64) -> [GridField; 2] {
        let [_, blocks, _] = self.grid(problem);
        let [_, height, width] = self.block;
        let rows = temporal_blocking::HANDED as u64;
        let shape = [self.made(problem), blocks * rows, width];
        let field = GridField::new("rows handed over", at, FLOAT, shape, [1, rows, width]);
        let left = field.clone().place_in_input(1, [1, height as i64]);
        // The page's plane is the last one of its window.
        let found = field.halo([1, 0, 0], BoundaryRule::Zero);
        let found = found.offset([-1, -(rows as i64), 0]).room(height);
        [found.opening(FirstLoad::Nothing), left]
    }

    /// Returns the loads of the coefficients of every element: each point of a row has a row of them.
    pub(super) fn coefficient_field(
        &self,
        problem: &StencilProblem,
        at: u64,
        columns: u64,
    ) -> GridField {
        let points = problem.stencil().points().len() as u64;
        let [planes, rows, _] = problem.extents().map(|n| n as u64);
        let [plane, row, width] = self.block;
        let shape = [planes, rows * points, columns];
        GridField::new("c", at, FLOAT, shape, [plane, row * points, width])
    }

    /// Returns the stores into an array at address `at`, whose rows have `columns` columns there.
    pub(super) fn output(&self, problem: &StencilProblem, at: u64, columns: u64) -> GridField {
        let [planes, rows, _] = problem.extents().map(|n| n as u64);
        let field = GridField::new("v", at, FLOAT, [planes, rows, columns], self.block);
        // The second step is a plane behind the first.
        field.offset(self.offset(problem, self.steps as i64 - 1))
    }

    /// Returns the offset of the first page's block, `behind` planes behind its loads.
    fn offset(&self, problem: &StencilProblem, behind: i64) -> [i64; AXES] {
        match self.fused() {
            true => {
                let [_, before] = temporal_blocking::beyond(problem.edge());
                [-(before as i64) - behind, 0, 0]
            }
            false => [0; AXES],
        }
    }

    /// Returns all pages. `zeros` is a table of zeros; with two steps, `handed` is the address of the [rows
    /// handed over](Self::handed_bytes).
    pub(super) fn sweep(
        &self,
        (problem, machine): (&StencilProblem, &Machine),
        mut inputs: Vec<GridField>,
        output: GridField,
        (zeros, handed): ((u64, u64), u64),
    ) -> GridPass {
        let fused = self.fused();
        let mut outputs = vec![output];
        if fused {
            let [found, left] = self.handed(problem, handed);
            inputs.push(found);
            if self.share(problem, machine) > 1 {
                outputs.push(left);
            }
        }
        GridPass {
            march: march(problem),
            grid: fused.then(|| self.grid(problem)),
            shares: fused,
            scratch: self.kept,
            size: BlocksPerSection::Fixed(1),
            buffering: self.buffering,
            marches_apart: self.apart,
            zeros,
            ..GridPass::new(inputs, outputs)
        }
    }
}

/// Returns the axis that pages march along.
pub(super) fn march(problem: &StencilProblem) -> Option<March> {
    (problem.shape().len() == 3).then_some(March::Planes)
}

/// Returns the rule for elements of a window beyond the array. The kernel replaces results at fixed edges
/// itself.
pub(super) fn edge(edge: stencil::Edge) -> BoundaryRule {
    match edge {
        stencil::Edge::Zero | stencil::Edge::Fixed => BoundaryRule::Zero,
        stencil::Edge::Mirrored => BoundaryRule::Clamp,
        stencil::Edge::Periodic => BoundaryRule::Periodic,
    }
}
