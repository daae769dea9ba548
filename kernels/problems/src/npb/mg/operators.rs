//! The operators of a multigrid cycle, written as they are defined.

use crate::real::Real;

/// A grid of points, x fastest, that continues periodically.
#[derive(Clone, Debug, PartialEq)]
pub struct PeriodicGrid<T> {
    /// Planes (z), rows (y) and columns (x).
    shape: [usize; 3],
    points: Vec<T>,
}

/// Sums of a row's neighbours in the plane across x: the four that share a face (`beside`), and the four at
/// the corners.
struct NeighbourSums<T> {
    beside: Vec<T>,
    corners: Vec<T>,
}

impl<T: Real> PeriodicGrid<T> {
    /// Returns a grid of zeros with so many planes, rows and columns.
    pub(super) fn zeros(shape: [usize; 3]) -> Self {
        Self::new(shape, vec![T::default(); shape.iter().product()])
    }

    /// Returns a grid of given points with so many planes, rows and columns, at least two of each.
    pub(super) fn new(shape: [usize; 3], points: Vec<T>) -> Self {
        Self { shape, points }
    }

    /// Returns all points.
    #[must_use]
    pub fn points(&self) -> &[T] {
        &self.points
    }

    /// Converts the grid to its points.
    #[must_use]
    pub fn into_points(self) -> Vec<T> {
        self.points
    }

    fn row(&self, z: usize, y: usize) -> &[T] {
        let [planes, rows, columns] = self.shape;
        let start = (z % planes * rows + y % rows) * columns;
        self.points.get(start..start + columns).unwrap_or(&[])
    }

    /// Computes the sums around a row. Rows and planes are counted from one period before the grid, so that
    /// no index is negative.
    fn sum_neighbours(&self, z: usize, y: usize, sums: &mut NeighbourSums<T>) {
        let (z, y) = (z + self.shape[0], y + self.shape[1]);
        let add = |rows: [&[T]; 4], sums: &mut [T]| {
            for (x, sum) in sums.iter_mut().enumerate() {
                *sum = (rows[0][x] + rows[1][x]) + (rows[2][x] + rows[3][x]);
            }
        };
        let beside = [(z - 1, y), (z + 1, y), (z, y - 1), (z, y + 1)];
        add(beside.map(|(z, y)| self.row(z, y)), &mut sums.beside);
        let corners = [
            (z - 1, y - 1),
            (z - 1, y + 1),
            (z + 1, y - 1),
            (z + 1, y + 1),
        ];
        add(corners.map(|(z, y)| self.row(z, y)), &mut sums.corners);
    }

    fn sums(&self) -> NeighbourSums<T> {
        NeighbourSums {
            beside: vec![T::default(); self.shape[2]],
            corners: vec![T::default(); self.shape[2]],
        }
    }

    /// Calls `of` with the result of the 27-point operator at every point, in order; `weights` are those of
    /// centre, faces, edges and corners, of which that of edges is not 0.
    ///
    /// Corners are added to edges in units of the edges' weight. With the weights of A, 16 times that of edges is the
    /// one of the centre to the last bit, so that constants are mapped to 0 and not to rounding errors, of which each
    /// coarser level would make four times as much.
    fn apply_to_points(&self, weights: [f64; 4], mut of: impl FnMut(usize, T)) {
        let [centre, faces, edges, corners] = weights;
        let [centre, faces, edges, ratio] =
            [centre, faces, edges, corners / edges].map(T::from_f64);
        let ([planes, rows, n], mut sums) = (self.shape, self.sums());
        for z in 0..planes {
            for y in 0..rows {
                self.sum_neighbours(z, y, &mut sums);
                let (row, a) = (self.row(z, y), &sums);
                let start = (z * rows + y) * n;
                let mut at = |x: usize, w: usize, e: usize| {
                    let inner = centre * row[x] + faces * (row[w] + row[e] + a.beside[x]);
                    let near = a.beside[w] + a.beside[e] + a.corners[x];
                    let outer = near + ratio * (a.corners[w] + a.corners[e]);
                    of(start + x, inner + edges * outer);
                };
                at(0, n - 1, 1 % n);
                for x in 1..n - 1 {
                    at(x, x - 1, x + 1);
                }
                at(n - 1, n - 2, 0);
            }
        }
    }

    /// Returns the residual v - A u, with this grid as u.
    pub(super) fn residual(&self, weights: [f64; 4], v: &Self) -> Self {
        let mut r = v.clone();
        self.apply_to_points(weights, |i, au| r.points[i] = r.points[i] - au);
        r
    }

    /// Adds S r to this grid.
    pub(super) fn smooth(&mut self, weights: [f64; 4], r: &Self) {
        r.apply_to_points(weights, |i, s| self.points[i] = self.points[i] + s);
    }

    /// Returns the right-hand side of the next coarser level: its point J is point 2 J + 1 of this grid.
    pub(super) fn project(&self) -> Self {
        let [half, quarter] = [0.5, 0.25].map(T::from_f64);
        let (shape, mut sums) = (self.shape.map(|n| n / 2), self.sums());
        let [planes, rows, columns] = shape;
        let mut points = Vec::with_capacity(planes * rows * columns);
        for z in 0..planes {
            for y in 0..rows {
                let (z, y) = (2 * z + 1, 2 * y + 1);
                self.sum_neighbours(z, y, &mut sums);
                let row = self.row(z, y);
                let across = |x: usize| {
                    let x = x % self.shape[2];
                    row[x] + half * sums.beside[x] + quarter * sums.corners[x]
                };
                points.extend((0..columns).map(|x| {
                    let x = 2 * x + 1;
                    half * across(x) + quarter * (across(x - 1) + across(x + 1))
                }));
            }
        }
        Self::new(shape, points)
    }

    /// Adds the linear interpolation of the next coarser level.
    pub(super) fn add_interpolated(&mut self, coarse: &Self) {
        let ([planes, rows, columns], half) = (self.shape, T::from_f64(0.5));
        // The two coarse points that a fine point lies between, or twice the coarse point that coincides with
        // it.
        let between = |axis: usize, i: usize| match i % 2 {
            1 => [i / 2, i / 2],
            _ => {
                let all = coarse.shape[axis];
                [(i / 2 + all - 1) % all, i / 2]
            }
        };
        for z in 0..planes {
            for y in 0..rows {
                let coarse_rows = |z: usize| between(1, y).map(|y| coarse.row(z, y));
                let [below, above] = between(0, z).map(coarse_rows);
                let [a, b] = below;
                let [c, d] = above;
                let across = |x: usize| half * half * ((a[x] + b[x]) + (c[x] + d[x]));
                let start = (z * rows + y) * columns;
                for x in 0..columns {
                    let [west, east] = between(2, x);
                    let e = half * (across(west) + across(east));
                    self.points[start + x] = self.points[start + x] + e;
                }
            }
        }
    }

    /// Returns the root mean square, computed in double precision.
    pub(super) fn norm(&self) -> f64 {
        let squares = self.points.iter().map(|x| x.wide() * x.wide());
        (squares.sum::<f64>() / self.points.len() as f64).sqrt()
    }
}
