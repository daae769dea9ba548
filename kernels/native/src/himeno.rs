//! The Himeno benchmark in single precision, by plain loops.

use crate::NativeProblem;
use cp2_problems::Problem;
use cp2_problems::himeno::{HimenoArrays, HimenoProblem};

pub(crate) fn himeno(problem: &dyn Problem) -> Option<NativeProblem> {
    let problem = problem.downcast_ref::<HimenoProblem>()?.clone();
    Some(NativeProblem::new(
        "plain loops in single precision, squares added in double precision",
        move |input| {
            let arrays = problem.arrays(input)?;
            let (mut p, mut gosa) = (arrays.p.to_vec(), 0.0);
            let mut next = p.clone();
            for _ in 0..problem.iterations() {
                gosa = iterate(problem.shape(), &arrays, &p, &mut next);
                std::mem::swap(&mut p, &mut next);
            }
            Ok(problem.wrap_results(p, gosa))
        },
    ))
}

/// Computes an iteration and returns gosa; points at faces are in `next` already.
fn iterate(
    [planes, rows, columns]: [usize; 3],
    arrays: &HimenoArrays<'_>,
    p: &[f32],
    next: &mut [f32],
) -> f64 {
    let HimenoArrays {
        a: [a0, a1, a2, a3],
        b: [b0, b1, b2],
        c: [c0, c1, c2],
        wrk1,
        bnd,
        ..
    } = *arrays;
    let (plane, row) = (rows * columns, columns);
    let mut gosa = 0.0;
    for i in 1..planes - 1 {
        for j in 1..rows - 1 {
            let first = i * plane + j * row;
            for n in first + 1..first + columns - 1 {
                let (above, below) = (n + plane, n - plane);
                let s0 = a0[n] * p[above]
                    + a1[n] * p[n + row]
                    + a2[n] * p[n + 1]
                    + b0[n] * (p[above + row] - p[above - row] - p[below + row] + p[below - row])
                    + b1[n] * (p[n + row + 1] - p[n - row + 1] - p[n + row - 1] + p[n - row - 1])
                    + b2[n] * (p[above + 1] - p[below + 1] - p[above - 1] + p[below - 1])
                    + c0[n] * p[below]
                    + c1[n] * p[n - row]
                    + c2[n] * p[n - 1]
                    + wrk1[n];
                let ss = (s0 * a3[n] - p[n]) * bnd[n];
                gosa += f64::from(ss) * f64::from(ss);
                next[n] = p[n] + HimenoProblem::OMEGA * ss;
            }
        }
    }
    gosa
}
