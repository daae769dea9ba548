//! The pages of a pass: what they load and store, for one step or two.

use super::{FLOAT, temporal_blocking};
use cp2_host::nest::{AXES, BoundaryRule, FirstLoad, GridField, GridPass, March};
use cp2_host::{BlocksPerSection, Buffering};
use cp2_machine::Machine;
use cp2_problems::stencil::{self, StencilProblem};

/// The pages of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct StencilPages {
    /// Planes, rows, columns of a block.
    pub(super) block: [u64; AXES],
    /// Blocks are as wide as the array.
    pub(super) whole: bool,
    /// Steps that the pass makes: one or two.
    pub(super) steps: usize,
    pub(super) buffering: Buffering,
    /// See [`cp2_host::nest::GridPass::marches_apart`].
    pub(super) apart: bool,
    /// Bytes of what rows keep for the next.
    pub(super) kept: u64,
}

impl StencilPages {
    fn fused(&self) -> bool {
        self.steps > 1
    }

    /// What a page loads of an array at an address, whose rows have so many columns there.
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
            // What blocks are handed they need not compute.
            true => field.opening(FirstLoad::Further(temporal_blocking::HANDED as u64)),
            false => field,
        }
    }

    /// Pages of a march, and blocks beside each other.
    fn grid(&self, problem: &StencilProblem) -> [u64; AXES] {
        let [planes, rows, _] = problem.extents().map(|n| n as u64);
        let [more, _] = temporal_blocking::beyond(problem.edge());
        let [_, height, _] = self.block;
        [planes + more, rows.div_ceil(height.max(1)), 1]
    }

    /// Planes of the first step that are made.
    fn made(&self, problem: &StencilProblem) -> u64 {
        self.grid(problem)[0] - u64::from(temporal_blocking::skips(problem.edge()))
    }

    /// Blocks of a section's share.
    fn share(&self, problem: &StencilProblem, machine: &Machine) -> u64 {
        let [_, blocks, _] = self.grid(problem);
        temporal_blocking::share(blocks as usize, 1, machine) as u64
    }

    /// Blocks that are the first of a section's share, of all planes of the first step.
    pub(super) fn openings(&self, problem: &StencilProblem, machine: &Machine) -> u64 {
        let [_, blocks, _] = self.grid(problem);
        let share = self.share(problem, machine).max(1);
        match self.fused() {
            true => self.made(problem) * blocks.div_ceil(share),
            false => 0,
        }
    }

    /// Bytes of the rows that blocks hand over.
    pub(super) fn handed_bytes(&self, problem: &StencilProblem, machine: &Machine) -> u64 {
        let [_, blocks, _] = self.grid(problem);
        let row = self.block[2] * FLOAT;
        match self.fused() && self.share(problem, machine) > 1 {
            true => self.made(problem) * blocks * temporal_blocking::HANDED as u64 * row,
            false => 0,
        }
    }

    /// Rows of the first step that a block finds, and those that it leaves to the next block, at an address: for each page the blocks' rows one behind the other. They lie in
    /// the planes of the first step, which are kept.
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

    /// The same of the coefficients of every element: a row of them for each point is a row here.
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

    /// What a page stores.
    pub(super) fn output(&self, problem: &StencilProblem, at: u64, columns: u64) -> GridField {
        let [planes, rows, _] = problem.extents().map(|n| n as u64);
        let field = GridField::new("v", at, FLOAT, [planes, rows, columns], self.block);
        // The second step is a plane behind the first.
        field.offset(self.offset(problem, self.steps as i64 - 1))
    }

    /// Where the first page's block begins, so many planes behind what it loads.
    fn offset(&self, problem: &StencilProblem, behind: i64) -> [i64; AXES] {
        match self.fused() {
            true => {
                let [_, before] = temporal_blocking::beyond(problem.edge());
                [-(before as i64) - behind, 0, 0]
            }
            false => [0; AXES],
        }
    }

    /// All pages, with a table of zeros and, of two steps, an address for [what blocks hand over](Self::handed_bytes).
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

/// The axis that pages march along.
pub(super) fn march(problem: &StencilProblem) -> Option<March> {
    (problem.shape().len() == 3).then_some(March::Planes)
}

/// What a window has beyond the array: what fixed edges make of it is the kernel's to replace.
pub(super) fn edge(edge: stencil::Edge) -> BoundaryRule {
    match edge {
        stencil::Edge::Zero | stencil::Edge::Fixed => BoundaryRule::Zero,
        stencil::Edge::Mirrored => BoundaryRule::Clamp,
        stencil::Edge::Periodic => BoundaryRule::Periodic,
    }
}
