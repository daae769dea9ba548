//! Multigrid as a method of the backend.

use super::MultigridPlan;
use crate::backend::{Failure, Method};
use cp2_machine::Machine;
use cp2_problems::Problem;
use cp2_problems::npb::Precision;
use cp2_problems::npb::mg::MgProblem;
use std::sync::Arc;

/// Plans V-cycles, if the problem is MG.
pub(crate) fn solve(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<MgProblem>()?;
    let plan = MultigridPlan::new(problem.clone(), machine);
    Some(plan.map(MultigridPlan::into_method).map_err(Into::into))
}

impl MultigridPlan {
    /// Turns the plan into a method, whose input is the array `v` of the problem.
    #[must_use]
    pub fn into_method(self) -> Method {
        let costs = (self.figures(), self.operations());
        let count = self.problem().count();
        let (machine, recipe) = (self.used.clone(), self.recipe());
        let precision = self.problem().precision();
        Method::new(&machine, recipe, costs, move |input, options| {
            Ok(match precision {
                Precision::Single => self.task::<f32>(input.get_sized("v", count)?, options)?,
                Precision::DoubleSingle => {
                    self.task::<[f32; 2]>(input.get_sized("v", count)?, options)?
                }
                Precision::Double => self.task::<f64>(input.get_sized("v", count)?, options)?,
            })
        })
    }
}
