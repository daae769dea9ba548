//! Tunes V-cycles by trying all blocks and fusions, and plans by the result.

use super::decomposition::DividedProblem;
use super::decomposition::points;
use super::kernel_choice::{PlannedKernels, attempt, blocks, fusible};
use super::kernels::OperatorBlock;
use super::plan::{MultigridPlan, PlannedOperator};
use super::rows::MultigridOperator;
use super::steps::{FusedOperators, steps};
use super::{MultigridError, plan};
use crate::sections::has_choice;
use cp2_machine::{Cycles, Machine};
use cp2_problems::npb::mg::MgProblem;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A pass of V-cycles: its operator, and the rows of its blocks. The passes of a plan determine which
/// operators are fused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassShape {
    /// Name of the operator in reports.
    pub operator: String,
    /// True if the result is added to a u that is not zero before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub add: bool,
    /// Points along an axis of the level, the finer one of two.
    pub points: u64,
    /// Rows of a block of the result; of the coarser level where a pass connects two levels and keeps no
    /// planes.
    pub rows: u64,
    /// True if blocks hand rows of the residual over to the next blocks of their sections.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub handed: bool,
}

/// A pass of a plan and its price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassPrice {
    /// Operator and blocks.
    pub shape: PassShape,
    /// Number of times that a run has the pass.
    pub times: u64,
    /// Price of the pass, once.
    pub cycles: Cycles,
}

/// A shape that is about to be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Shape of the pass.
    pub shape: PassShape,
    /// Number of trials before it.
    pub before: usize,
    /// Number of all trials.
    pub total: usize,
}

/// The reason why no plan follows from given shapes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TuningError {
    /// The cycles have no such pass, or not together with the others.
    #[error(
        "pass `{operator}` on {points} points: these cycles have no such pass beside the others; expected the passes that `cp2 tune mg` has found, each once: leave it out, or tune again"
    )]
    Unknown {
        /// Name of the operator.
        operator: String,
        /// Points along an axis of the level.
        points: u64,
    },
    /// The machine has no plan.
    #[error(transparent)]
    Unplanned(#[from] MultigridError),
    /// A pass is missing.
    #[error(
        "pass `{operator}` on {points} points is missing; expected the rows of its blocks, one of {legal:?}: add it, or tune again"
    )]
    Missing {
        /// Name of the operator.
        operator: String,
        /// Points along an axis of the level.
        points: u64,
        /// Numbers of rows that its blocks may have.
        legal: Vec<u64>,
    },
    /// The pass cannot have such blocks.
    #[error(
        "pass `{operator}` on {points} points: blocks of {rows} rows{handed}; expected one of {legal:?}: take one of these, or tune again"
    )]
    Rows {
        /// Words that say that blocks hand rows over, if they do.
        handed: &'static str,
        /// Name of the operator.
        operator: String,
        /// Points along an axis of the level.
        points: u64,
        /// Number of rows that its blocks should have.
        rows: u64,
        /// Numbers of rows that its blocks may have.
        legal: Vec<u64>,
    },
    /// The machine has no room or no schedule for such blocks.
    #[error(
        "pass `{operator}` on {points} points: blocks of {rows} rows: {source}; take other blocks, or tune again"
    )]
    Unfit {
        /// Name of the operator.
        operator: String,
        /// Points along an axis of the level.
        points: u64,
        /// Number of rows of the blocks.
        rows: u64,
        /// Error of planning the pass.
        source: Box<MultigridError>,
    },
}

/// An operator on a level.
type Key = (MultigridOperator, u32);

/// Returns the passes of cycles with these fusions, each once.
fn keys(divided: &DividedProblem, fused: &FusedOperators) -> Vec<Key> {
    let finest = divided.division.finest();
    let mut all = Vec::new();
    for key in steps(divided, fused)
        .iter()
        .filter_map(|step| step.key(finest))
    {
        if !all.contains(&key) {
            all.push(key);
        }
    }
    all
}

/// Returns all passes that cycles may have, with and without fusions.
fn possible(divided: &DividedProblem) -> Vec<Key> {
    let finest = divided.division.finest();
    let mut all = keys(divided, &FusedOperators::default());
    let levels = fusible(&divided.division).map(|level| (level, false));
    let most = FusedOperators {
        ascents: levels.chain([(finest, true)]).collect(),
        descent: true,
        first: true,
        last: true,
    };
    for key in keys(divided, &most) {
        if !all.contains(&key) {
            all.push(key);
        }
    }
    all
}

/// Describes a pass by its operator, level and block.
fn shape((operator, level): Key, block: OperatorBlock) -> PassShape {
    PassShape {
        operator: operator.name().to_owned(),
        add: operator.adds(),
        points: points(level),
        rows: block.rows,
        handed: block.handed,
    }
}

impl PassShape {
    /// Returns true if this is a shape of an operator on a level.
    fn is(&self, key: Key) -> bool {
        *self == shape(key, self.block())
    }

    /// Returns the block of the shape.
    fn block(&self) -> OperatorBlock {
        OperatorBlock {
            rows: self.rows,
            handed: self.handed,
        }
    }
}

impl MultigridPlan {
    /// Plans the cycles of a problem by the prices of all blocks that fit, of all passes.
    ///
    /// With `fusions`, all fusions are compared too, otherwise each operator has a pass of its own. `each` is
    /// told of every trial before it is made and may end the search; then the result is none.
    ///
    /// # Errors
    /// See [`MultigridPlan::new`].
    pub fn tune(
        problem: MgProblem,
        machine: &Arc<Machine>,
        fusions: bool,
        mut each: impl FnMut(Trial) -> ControlFlow<()>,
    ) -> Result<Option<Self>, MultigridError> {
        let used = &Self::used(&problem, machine)?;
        let divided = DividedProblem::whole(problem);
        let of = |key| {
            let blocks = [false, true].map(|handed| blocks(key, divided.division, handed, used));
            blocks.into_iter().flatten().map(move |block| (key, block))
        };
        let none = FusedOperators::default();
        let passes = match fusions {
            true => possible(&divided),
            false => keys(&divided, &none),
        };
        let trials: Vec<(Key, OperatorBlock)> = passes.into_iter().flat_map(of).collect();
        let mut known = PlannedKernels::default();
        let mut least = HashMap::new();
        let total = trials.len();
        for (before, (key, block)) in trials.into_iter().enumerate() {
            let trial = Trial {
                shape: shape(key, block),
                before,
                total,
            };
            if each(trial).is_break() {
                return Ok(None);
            }
            // Blocks that do not fit are no candidates.
            let Ok(planned) = attempt(&divided, key, block, &mut known, used) else {
                continue;
            };
            if least.get(&key).is_none_or(|&least| planned.price < least) {
                least.insert(key, planned.price);
                known.insert(Arc::new(planned));
            }
        }
        if fusions {
            return Self::plan_with_kernels(divided, known, (machine, used)).map(Some);
        }
        Self::plan_with_fusions(divided, &none, known, (machine, used)).map(Some)
    }

    /// Plans the cycles of a problem with passes of these shapes.
    ///
    /// # Errors
    /// The error is about the first pass that is missing, that the cycles do not have, or whose blocks this
    /// machine cannot have.
    pub fn tuned(
        problem: MgProblem,
        shapes: &[PassShape],
        machine: &Arc<Machine>,
    ) -> Result<Self, TuningError> {
        let has = |key: Key| shapes.iter().any(|shape| shape.is(key));
        let divided = DividedProblem::whole(problem);
        let mut fused = FusedOperators::default();
        for key in possible(&divided).into_iter().filter(|&key| has(key)) {
            match key {
                (MultigridOperator::Ascend { add }, level) => fused.ascents.push((level, add)),
                (MultigridOperator::Descend, _) => fused.descent = true,
                (MultigridOperator::Begin, _) => fused.first = true,
                (MultigridOperator::Finish, _) => fused.last = true,
                _ => {}
            }
        }
        let keys = keys(&divided, &fused);
        for (i, shape) in shapes.iter().enumerate() {
            let twice = |other: &PassShape| {
                (&other.operator, other.add, other.points)
                    == (&shape.operator, shape.add, shape.points)
            };
            if !keys.iter().any(|&key| shape.is(key)) || shapes[..i].iter().any(twice) {
                return Err(TuningError::Unknown {
                    operator: shape.operator.clone(),
                    points: shape.points,
                });
            }
        }
        let used = Self::used(&divided.problem, machine)?;
        let mut known = PlannedKernels::default();
        for key in keys {
            let planned = plan_kernel(&divided, key, shapes, &mut known, &used)?;
            known.insert(Arc::new(planned));
        }
        let plan = Self::plan_with_fusions(divided, &fused, known, (machine, &used))?;
        Ok(plan)
    }

    /// Returns the machine with the sections that a plan by prices uses: blocks are tuned for these.
    fn used(problem: &MgProblem, machine: &Arc<Machine>) -> Result<Arc<Machine>, MultigridError> {
        match has_choice(machine) {
            true => Ok(Self::new(problem.clone(), machine)?.used),
            false => Ok(machine.clone()),
        }
    }

    /// Returns the passes of the plan, each once, in the order in which they first occur.
    ///
    /// # Errors
    /// A pass cannot be priced.
    pub fn passes(&self) -> Result<Vec<PassPrice>, MultigridError> {
        let mut all: Vec<PassPrice> = Vec::new();
        for planned in self.passes_in_order() {
            let plan::OperatorPages {
                operator,
                level,
                block,
                ..
            } = planned.shape;
            let shape = shape((operator, level), block);
            match all.iter_mut().find(|one| one.shape == shape) {
                Some(one) => one.times += 1,
                None => all.push(PassPrice {
                    shape,
                    times: 1,
                    cycles: Cycles(planned.price),
                }),
            }
        }
        Ok(all)
    }
}

/// Plans the kernel of a pass with the block of its shape.
fn plan_kernel(
    divided: &DividedProblem,
    key: Key,
    shapes: &[PassShape],
    known: &mut PlannedKernels,
    machine: &Arc<Machine>,
) -> Result<PlannedOperator, TuningError> {
    let (operator, points) = (key.0.name().to_owned(), points(key.1));
    let shape = shapes.iter().find(|shape| shape.is(key));
    let handed = shape.is_some_and(|shape| shape.handed);
    let legal = blocks(key, divided.division, handed, machine);
    let mut legal: Vec<u64> = legal.into_iter().map(|block| block.rows).collect();
    legal.sort_unstable();
    let Some(shape) = shape else {
        return Err(TuningError::Missing {
            operator,
            points,
            legal,
        });
    };
    let rows = shape.rows;
    if !legal.contains(&rows) {
        let handed = match handed {
            true => " that hand rows over (`handed`)",
            false => "",
        };
        return Err(TuningError::Rows {
            handed,
            operator,
            points,
            rows,
            legal,
        });
    }
    attempt(divided, key, shape.block(), known, machine).map_err(|source| TuningError::Unfit {
        operator,
        points,
        rows,
        source: Box::new(source),
    })
}
