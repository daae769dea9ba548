//! A stencil on several processors: slabs of planes that exchange halos.
//!
//! Each processor has a slab of planes (of rows, where the array has two axes) and, beside it, ghost planes: copies of
//! the neighbouring slabs' outermost planes. With fixed edges a slab with its ghosts is a smaller array with fixed
//! edges, which a pass leaves as they are: so the kernels of one processor compute it. Before each pass neighbours
//! exchange as many planes as the pass has steps.
//!
//! ```text
//! processor 0   f o o o o g               f  fixed edge of the array
//!                       | ^ send           o  own planes
//! processor 1           v g o o o o f      g  ghosts
//! ```

use super::{FLOAT, StencilError, Stencils, blocking};
use crate::Job;
use blocking::PassSteps;
use cp2_host::{Buffer, DeviceOptions, MessageRegion};
use cp2_machine::Machine;
use cp2_problems::stencil::{Edge, StencilProblem};
use cp2_reference::Figures;
use std::ops::Range;
use std::sync::Arc;

/// Tags of messages to the processor with the planes above, and below.
const TAGS: [u32; 2] = [0, 1];

/// A stencil planned for several processors of a machine.
#[derive(Clone, Debug)]
pub struct StencilSlabs {
    problem: StencilProblem,
    slabs: Vec<StencilSlab>,
    figures: Figures,
}

/// The slab of one processor.
#[derive(Clone, Debug)]
pub struct StencilSlab {
    /// Planes of the array that the processor computes.
    planes: Range<usize>,
    /// Ghost planes before and behind them.
    ghosts: [usize; 2],
    /// Processors with the planes before and behind.
    neighbours: [Option<u64>; 2],
    plan: Stencils,
}

/// Halos that a slab exchanges before each pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlabHalo {
    neighbours: [Option<u64>; 2],
    ghosts: [usize; 2],
    planes: usize,
}

impl StencilSlabs {
    /// Plans a problem with fixed edges for so many processors.
    ///
    /// # Errors
    /// The edges are others; there are more processors than planes; or a slab does not fit the machine.
    pub fn new(
        problem: &StencilProblem,
        machine: &Arc<Machine>,
        processors: usize,
    ) -> Result<Self, StencilError> {
        if problem.edge() != Edge::Fixed {
            return Err(StencilError::SlabEdge {
                edge: problem.edge().name(),
            });
        }
        let planes = problem.shape().first().copied().unwrap_or(1);
        if processors == 0 || processors > planes {
            return Err(StencilError::SlabCount { processors, planes });
        }
        let depth = 1;
        let mut plans: Vec<Stencils> = Vec::new();
        let mut slabs = Vec::with_capacity(processors);
        for processor in 0..processors {
            let own = cp2_network::share_of(planes, processors, processor);
            let ghosts = [own.start.min(depth), (planes - own.end).min(depth)];
            let mut shape = problem.shape().to_vec();
            if let Some(first) = shape.first_mut() {
                *first = own.len() + ghosts[0] + ghosts[1];
            }
            // Slabs of one height have one plan.
            let known = plans.iter().find(|plan| plan.problem().shape() == shape);
            let plan = match known {
                Some(plan) => plan.clone(),
                None => {
                    let part = problem.with_shape(&shape)?;
                    let plan = Stencils::with_steps(&part, machine.clone(), PassSteps::One)?;
                    plans.push(plan.clone());
                    plan
                }
            };
            let number = processor as u64;
            slabs.push(StencilSlab {
                neighbours: [
                    number.checked_sub(1),
                    Some(number + 1).filter(|&next| next < processors as u64),
                ],
                planes: own,
                ghosts,
                plan,
            });
        }
        let figures = Stencils::figures_of(problem, machine).shared(processors as u64);
        Ok(Self {
            problem: problem.clone(),
            slabs,
            figures,
        })
    }

    /// Returns the whole problem.
    #[must_use]
    pub fn problem(&self) -> &StencilProblem {
        &self.problem
    }

    /// Returns the slab of each processor.
    #[must_use]
    pub fn slabs(&self) -> &[StencilSlab] {
        &self.slabs
    }

    /// Returns what any program and the best known one take on so many processors, each with an equal share.
    #[must_use]
    pub fn figures(&self) -> Figures {
        self.figures.clone()
    }
}

impl StencilSlab {
    /// Returns the planes of the array that the processor computes.
    #[must_use]
    pub fn planes(&self) -> Range<usize> {
        self.planes.clone()
    }

    /// Returns the plan of its passes.
    #[must_use]
    pub fn plan(&self) -> &Stencils {
        &self.plan
    }

    /// Returns the elements of the whole array that the processor computes, row by row.
    #[must_use]
    pub fn elements(&self) -> Range<usize> {
        let plane = self.plane();
        self.planes.start * plane..self.planes.end * plane
    }

    /// Returns the elements of the result in the array of its job, which has ghosts.
    #[must_use]
    pub fn own_elements(&self) -> Range<usize> {
        let first = self.ghosts[0] * self.plane();
        first..first + self.elements().len()
    }

    /// Puts the job together that computes the slab of `u`, the whole array, with the coefficients `c` of
    /// every element of it where the problem has such. Returns it with its result, which has ghosts. Ghosts
    /// are empty at the beginning: the first pass gets them as every other one does.
    ///
    /// # Errors
    /// Arrays have another length, or do not fit the machine.
    pub fn job(
        &self,
        u: &[f32],
        c: Option<&[f32]>,
        options: DeviceOptions,
    ) -> Result<(Job, Buffer<f32>), StencilError> {
        let plane = self.plane();
        let mut own = vec![0.0; self.ghosts[0] * plane];
        own.extend(u.get(self.elements()).unwrap_or_default());
        own.resize(own.len() + self.ghosts[1] * plane, 0.0);
        let points = self.plan.problem().stencil().points().len();
        let all = self.planes.start - self.ghosts[0]..self.planes.end + self.ghosts[1];
        let each = plane * points;
        let c = c.map(|c| c.get(all.start * each..all.end * each).unwrap_or_default());
        let halo = SlabHalo {
            neighbours: self.neighbours,
            ghosts: self.ghosts,
            planes: self.planes.len(),
        };
        self.plan.job_with_halo(&own, c, options, Some(halo))
    }

    /// Returns the elements of a plane.
    fn plane(&self) -> usize {
        self.plan.problem().shape().iter().skip(1).product()
    }
}

impl SlabHalo {
    /// Exchanges the outermost own planes of an array with the neighbours, and waits for theirs.
    pub(super) fn exchange(&self, job: &mut Job, array: u64, plane_elements: u64) {
        let bytes = plane_elements * FLOAT;
        let region = |first: usize, planes: usize| {
            let address = array + first as u64 * bytes;
            MessageRegion::contiguous(address, planes as u64 * bytes)
        };
        let [below, above] = self.ghosts;
        let end = below + self.planes;
        // First ghost plane and number of ghosts, then first own plane and number of planes that leave, on each side.
        let sides = [
            (0, below, below, below.min(self.planes)),
            (
                end,
                above,
                end - above.min(self.planes),
                above.min(self.planes),
            ),
        ];
        let mut requests = Vec::new();
        for (side, (to, ghosts, _, _)) in sides.into_iter().enumerate() {
            if let Some(neighbour) = self.neighbours[side] {
                let tag = Some(TAGS[1 - side]);
                let request = job.receive("halo", Some(neighbour), tag, region(to, ghosts));
                requests.push(request);
            }
        }
        for (side, (_, _, from, planes)) in sides.into_iter().enumerate() {
            if let Some(neighbour) = self.neighbours[side] {
                let request = job.send("halo", neighbour, TAGS[side], region(from, planes));
                requests.push(request);
            }
        }
        if !requests.is_empty() {
            job.wait_messages(&requests);
        }
    }
}
