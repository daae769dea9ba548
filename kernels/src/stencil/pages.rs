//! The pages of a pass: what they load and store, for one step or two.

use super::{FLOAT, fused};
use cp2_host::nest::{AXES, Edge, Field, March, Sweep};
use cp2_host::{BlocksPerSection, Buffering};
use cp2_problems::stencil::{self, StencilProblem};

/// The pages of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pages {
    /// Planes, rows, columns of a block.
    pub(super) block: [u64; AXES],
    /// Blocks are as wide as the array.
    pub(super) whole: bool,
    /// Steps that the pass makes: one or two.
    pub(super) steps: usize,
    pub(super) buffering: Buffering,
    /// See [`Sweep::marches_apart`].
    pub(super) apart: bool,
    /// Bytes of what rows keep for the next.
    pub(super) kept: u64,
}

impl Pages {
    fn fused(&self) -> bool {
        self.steps > 1
    }

    /// What a page loads of an array at an address, whose rows have so many columns there.
    pub(super) fn input(&self, problem: &StencilProblem, at: u64, columns: u64) -> Field {
        let [planes, rows, _] = problem.extents().map(|n| n as u64);
        let halo = [
            u64::from(problem.shape().len() == 3),
            self.steps as u64,
            u64::from(!self.whole),
        ];
        let field = Field::new("u", at, FLOAT, [planes, rows, columns], self.block);
        field
            .halo(halo, edge(problem.edge()))
            .offset(self.offset(problem, 0))
    }

    /// The same of the coefficients of every element: a row of them for each point is a row here.
    pub(super) fn own(&self, problem: &StencilProblem, at: u64, columns: u64) -> Field {
        let points = problem.stencil().points().len() as u64;
        let [planes, rows, _] = problem.extents().map(|n| n as u64);
        let [plane, row, width] = self.block;
        let shape = [planes, rows * points, columns];
        Field::new("c", at, FLOAT, shape, [plane, row * points, width])
    }

    /// What a page stores.
    pub(super) fn output(&self, problem: &StencilProblem, at: u64, columns: u64) -> Field {
        let [planes, rows, _] = problem.extents().map(|n| n as u64);
        let field = Field::new("v", at, FLOAT, [planes, rows, columns], self.block);
        // The second step is a plane behind the first.
        field.offset(self.offset(problem, self.steps as i64 - 1))
    }

    /// Where the first page's block begins, so many planes behind what it loads.
    fn offset(&self, problem: &StencilProblem, behind: i64) -> [i64; AXES] {
        match self.fused() {
            true => {
                let [_, before] = fused::beyond(problem.edge());
                [-(before as i64) - behind, 0, 0]
            }
            false => [0; AXES],
        }
    }

    /// All pages.
    pub(super) fn sweep(
        &self,
        problem: &StencilProblem,
        inputs: Vec<Field>,
        output: Field,
        zeros: (u64, u64),
    ) -> Sweep {
        let [planes, rows, _] = problem.extents().map(|n| n as u64);
        let [_, height, width] = self.block;
        let [more, _] = fused::beyond(problem.edge());
        let fused = self.fused();
        let scratch = fused::scratch(height as usize, (width * FLOAT) as i64);
        Sweep {
            march: march(problem),
            grid: fused.then(|| [planes + more, rows.div_ceil(height.max(1)), 1]),
            scratch: self.kept + if fused { scratch.unsigned_abs() } else { 0 },
            size: BlocksPerSection::Fixed(1),
            buffering: self.buffering,
            marches_apart: self.apart,
            zeros,
            ..Sweep::new(inputs, vec![output])
        }
    }
}

/// The axis that pages march along.
pub(super) fn march(problem: &StencilProblem) -> Option<March> {
    (problem.shape().len() == 3).then_some(March::Planes)
}

/// What a window has beyond the array: what fixed edges make of it is the kernel's to replace.
pub(super) fn edge(edge: stencil::Edge) -> Edge {
    match edge {
        stencil::Edge::Zero | stencil::Edge::Fixed => Edge::Zero,
        stencil::Edge::Mirrored => Edge::Clamp,
        stencil::Edge::Periodic => Edge::Periodic,
    }
}
