//! Iterations in single precision, in the order of the definition.

use super::{HimenoArrays, HimenoProblem};
use crate::multiply_add::MultiplyAdd;

/// Sums of three coefficients times the neighbours in one direction each, or of differences of neighbours: signs and
/// offsets along planes, rows and columns.
const DIFFERENCES: [[(f32, [isize; 3]); 4]; 3] = [
    [
        (1.0, [1, 1, 0]),
        (-1.0, [1, -1, 0]),
        (-1.0, [-1, 1, 0]),
        (1.0, [-1, -1, 0]),
    ],
    [
        (1.0, [0, 1, 1]),
        (-1.0, [0, -1, 1]),
        (-1.0, [0, 1, -1]),
        (1.0, [0, -1, -1]),
    ],
    [
        (1.0, [1, 0, 1]),
        (-1.0, [-1, 0, 1]),
        (-1.0, [1, 0, -1]),
        (1.0, [-1, 0, -1]),
    ],
];

impl HimenoProblem {
    /// Computes p after all iterations, and gosa of the last one, whose squares are added in double precision in the
    /// order of the points.
    pub(super) fn iterate_in_order(
        &self,
        arrays: &HimenoArrays<'_>,
        rounding: MultiplyAdd,
    ) -> (Vec<f32>, f64) {
        let (mut p, mut gosa) = (arrays.p.to_vec(), 0.0);
        let [_, rows, columns] = self.shape;
        for _ in 0..self.iterations {
            gosa = 0.0;
            let all = 0..p.len();
            let next = all.map(|at| {
                let place = [at / columns / rows, at / columns % rows, at % columns];
                let own = at_index(&p, at);
                let mut ends = place.iter().zip(self.shape);
                if ends.any(|(&index, n)| index == 0 || index + 1 == n) {
                    return own;
                }
                let change = self.change(arrays, &p, at, rounding);
                gosa += f64::from(change) * f64::from(change);
                rounding.compute(Self::OMEGA, change, own)
            });
            p = next.collect();
        }
        (p, gosa)
    }

    /// Computes ss of a point inside the box.
    fn change(
        &self,
        arrays: &HimenoArrays<'_>,
        p: &[f32],
        at: usize,
        rounding: MultiplyAdd,
    ) -> f32 {
        let [_, rows, columns] = self.shape.map(|n| n as isize);
        let near = |[z, y, x]: [isize; 3]| {
            let there = at.checked_add_signed((z * rows + y) * columns + x);
            there.map_or(0.0, |there| at_index(p, there))
        };
        let ahead = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(near);
        let behind = [[-1, 0, 0], [0, -1, 0], [0, 0, -1]].map(near);
        let [a0, a1, a2, a3] = arrays.a;
        let mut sum = at_index(a0, at) * ahead[0];
        for (a, neighbour) in [a1, a2].into_iter().zip(&ahead[1..]) {
            sum = rounding.compute(at_index(a, at), *neighbour, sum);
        }
        for (b, terms) in arrays.b.iter().zip(DIFFERENCES) {
            let terms = terms.map(|(sign, offset)| sign * near(offset));
            let difference = terms[0] + terms[1] + terms[2] + terms[3];
            sum = rounding.compute(at_index(b, at), difference, sum);
        }
        for (c, neighbour) in arrays.c.iter().zip(behind) {
            sum = rounding.compute(at_index(c, at), neighbour, sum);
        }
        sum += at_index(arrays.wrk1, at);
        rounding.compute(sum, at_index(a3, at), -at_index(p, at)) * at_index(arrays.bnd, at)
    }
}

fn at_index(x: &[f32], at: usize) -> f32 {
    x.get(at).copied().unwrap_or_default()
}
