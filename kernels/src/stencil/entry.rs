//! Stencils in the registry of kernels.

use super::{StencilError, Stencils};
use crate::backend::{Failure, Method, Task};
use crate::catalogue::KernelFolder;
use crate::registry::{Entry, SizeParameter};
use cp2_machine::{Extensions, Machine};
use cp2_problems::stencil::StencilProblem;
use cp2_problems::{ArrayForm, Kind, Problem};
use std::sync::Arc;

/// Planner of this folder, and its kernels.
pub(crate) const ENTRIES: KernelFolder = KernelFolder {
    planners: &[stencil],
    entries: &KERNELS,
};

/// Kernels of the registry.
const KERNELS: [Entry; 1] = [Entry {
    name: "stencil",
    summary: "steps of a stencil over an array of two or three axes",
    sources: &[],
    parameters: &[
        SizeParameter::new(
            "planes",
            64,
            "extent of the slowest of three axes; 1 of two",
        ),
        SizeParameter::new("rows", 64, "rows of a plane"),
        SizeParameter::new("columns", 64, "elements of a row"),
        SizeParameter::new(
            "points",
            7,
            "points: 5 or 9 of two axes, 7, 19 or 27 of three",
        ),
        SizeParameter::new("steps", 1, "steps, one after the other"),
        SizeParameter::word("edge", "zero", "zero, fixed, mirrored or periodic"),
        SizeParameter::word("coefficients", "class", "class, or element: each its own"),
    ],
    sizes: &[
        "1 512 512 5 1 zero class",
        "128 128 128 7 1 zero class",
        "128 128 128 7 2 zero class",
        "128 128 128 7 2 fixed class",
        "64 64 128 27 1 periodic class",
        "64 64 128 19 1 zero element",
        "32 61 70 7 1 mirrored class",
    ],
    below: None,
    extensions: Extensions::WORD_ADDRESSING,
    problem: |_, size| Ok(Arc::new(StencilProblem::from_size(size)?)),
    plan: stencil,
}];

/// Returns the method of a stencil of two or three axes; none for other problems.
pub(crate) fn stencil(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<StencilProblem>()?;
    Some(method(machine, problem).map_err(Into::into))
}

fn method(machine: &Arc<Machine>, problem: &StencilProblem) -> Result<Method, StencilError> {
    let plan = Stencils::new(problem, machine.clone())?;
    let costs = (plan.figures(), plan.operations());
    let recipe = Some(plan.recipe());
    let form = ArrayForm::new("v", Kind::F32, problem.shape());
    Ok(Method::new(
        machine,
        recipe,
        costs,
        move |input, options| {
            let u = input.get::<f32>("u")?;
            let c = match plan.problem().is_per_element() {
                true => Some(input.get::<f32>("c")?),
                false => None,
            };
            Ok(Task::new(plan.job(u, c, options)?, form.clone()))
        },
    ))
}
