//! A stencil on several processors: slabs of planes that exchange halos.
//!
//! Each processor has a slab of planes (of rows, where the array has two axes) and, beside it, ghost planes: copies of
//! the neighbouring slabs' outermost planes. With fixed edges a slab with its ghosts is a smaller array with fixed
//! edges, which a pass leaves as they are: so the kernels of one processor compute it. Before each pass neighbours
//! exchange as many planes as the pass has steps. The first of two steps leaves the outermost ghost as it is and
//! computes the one beside the own planes, which the second step needs.
//!
//! ```text
//! processor 0   f o o o o g               f  fixed edge of the array
//!                       | ^ send           o  own planes
//! processor 1           v g o o o o f      g  ghosts
//! ```

use super::slab_halo::{SlabHalo, exchange_cycles};
use super::{StencilError, Stencils, blocking};
use crate::Job;
use blocking::PassSteps;
use cp2_host::{Buffer, DeviceOptions};
use cp2_machine::Machine;
use cp2_problems::stencil::{Edge, StencilProblem};
use cp2_reference::Figures;
use std::ops::Range;
use std::sync::Arc;

/// Steps of a pass that has more than one.
const TWO_STEPS: usize = 2;

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
            let unit = match problem.shape().len() {
                3 => "planes",
                _ => "rows",
            };
            return Err(StencilError::SlabCount {
                processors,
                planes,
                unit,
            });
        }
        let single = Self::cut(problem, machine, processors, PassSteps::One)?;
        // A neighbour's planes alone become ghosts, so the thinnest slab has as many.
        let thick = planes / processors >= TWO_STEPS && problem.steps() >= TWO_STEPS;
        let double = match thick {
            // If passes of two steps cannot be planned, passes of one step are taken.
            true => Self::cut(problem, machine, processors, PassSteps::Two).ok(),
            false => None,
        };
        let double = double.filter(|double| {
            let fused = |slab: &StencilSlab| slab.plan.steps_of_passes().contains(&TWO_STEPS);
            // All processors exchange as often.
            double.slabs.iter().all(fused)
                && match (double.price(machine), single.price(machine)) {
                    (Some(two), Some(one)) => two < one,
                    (_, _) => false,
                }
        });
        Ok(double.unwrap_or(single))
    }

    /// Cuts the array into slabs with as many ghost planes on a side as passes have steps.
    fn cut(
        problem: &StencilProblem,
        machine: &Arc<Machine>,
        processors: usize,
        steps: PassSteps,
    ) -> Result<Self, StencilError> {
        let planes = problem.shape().first().copied().unwrap_or(1);
        let depth = match steps {
            PassSteps::Two => TWO_STEPS,
            PassSteps::One | PassSteps::ByPrice => 1,
        };
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
                    let plan = Stencils::with_steps(&part, machine.clone(), steps)?;
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

    /// Returns about the cycles of the slab that takes longest, exchanges included.
    fn price(&self, machine: &Machine) -> Option<u64> {
        let processors = self.slabs.len();
        let plane = self.problem.shape().iter().skip(1).product::<usize>() as u64;
        let mut most = 0;
        let mut known: Option<&StencilSlab> = None;
        for slab in &self.slabs {
            // Neighbours mostly have one plan.
            if known.is_some_and(|known| known.plan.problem() == slab.plan.problem()) {
                continue;
            }
            known = Some(slab);
            let exchanges = slab.plan.steps_of_passes().into_iter();
            let exchanges =
                exchanges.map(|steps| exchange_cycles(machine, processors, plane, steps));
            let exchanges: u64 = exchanges.sum::<Option<u64>>()?;
            most = most.max(slab.plan.price()?.saturating_add(exchanges));
        }
        Some(most)
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

    /// Returns the number of ghost planes before and behind them.
    #[must_use]
    pub fn ghosts(&self) -> [usize; 2] {
        self.ghosts
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
            own: self.planes.len(),
        };
        self.plan.job_with_halo(&own, c, options, Some(halo))
    }

    /// Returns the elements of a plane.
    fn plane(&self) -> usize {
        self.plan.problem().shape().iter().skip(1).product()
    }
}
