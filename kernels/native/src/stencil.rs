//! Stencils in single precision, by plain loops.

use crate::NativeProblem;
use crate::fft::wrap_output;
use cp2_problems::Problem;
use cp2_problems::stencil::{Edge, StencilProblem};

pub(crate) fn stencil(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<StencilProblem>()?.clone();
    Some(NativeProblem::new(
        "plain loops in single precision",
        move |input| {
            let mut u = input.get_sized::<f32>("u", problem.elements())?.to_vec();
            let points = problem.stencil().points().len();
            let c = match problem.is_per_element() {
                true => Some(input.get_sized::<f32>("c", problem.elements() * points)?),
                false => None,
            };
            for _ in 0..problem.steps() {
                u = stepped(&problem, &u, c);
            }
            Ok(wrap_output(&problem, u))
        },
    ))
}

/// Computes one step of the stencil.
fn stepped(problem: &StencilProblem, u: &[f32], c: Option<&[f32]>) -> Vec<f32> {
    let extents = problem.extents();
    let [planes, rows, columns] = extents;
    let (points, edge) = (problem.stencil().points(), problem.edge());
    let first = 3 - problem.shape().len();
    let mut v = Vec::with_capacity(u.len());
    for z in 0..planes {
        for y in 0..rows {
            for x in 0..columns {
                let at = [z, y, x];
                let outermost = (first..3).any(|a| at[a] == 0 || at[a] + 1 == extents[a]);
                if edge == Edge::Fixed && outermost {
                    v.push(u[v.len()]);
                    continue;
                }
                let mut sum = 0.0;
                for (p, point) in points.iter().enumerate() {
                    let near = |a: usize| {
                        edge.index(at[a] as isize + isize::from(point.offset[a]), extents[a])
                    };
                    if let (Some(z), Some(y), Some(x)) = (near(0), near(1), near(2)) {
                        let own =
                            |c: &[f32]| c[(v.len() / columns * points.len() + p) * columns + at[2]];
                        sum += c.map_or(point.coefficient, own) * u[(z * rows + y) * columns + x];
                    }
                }
                v.push(sum);
            }
        }
    }
    v
}
