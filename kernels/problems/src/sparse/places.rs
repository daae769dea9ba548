//! Generates the positions of entries for each family of patterns.

use super::pattern::{GeneratedMatrix, Pattern};
use crate::random::Random;
use std::collections::BTreeSet;

/// Generator of the positions in a matrix of `rows` rows and `cols` columns.
pub(super) struct EntryGenerator<'a> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) made: &'a GeneratedMatrix,
}

/// Highest power by which the columns of [`Pattern::PowerLaw`] crowd, and the exponent of its rows' lengths.
const CROWDING: f64 = 3.0;
const LENGTHS: f64 = 0.6;

impl EntryGenerator<'_> {
    /// Returns all positions, each once.
    pub(super) fn all(&self, random: &mut Random) -> Vec<(u32, u32)> {
        let n = self.made.n;
        match self.made.pattern {
            Pattern::Band => self.band(),
            Pattern::Grid5 => self.pair_neighbours([1, n, n], |class| class <= 1),
            Pattern::Grid7 => self.pair_neighbours([n; 3], |class| class <= 1),
            Pattern::Grid27 => self.pair_neighbours([n; 3], |_| true),
            Pattern::Fem => self.elements(),
            Pattern::Mesh => self.mesh(random),
            Pattern::Random => self.draw_rows(random, |_| true),
            Pattern::PowerLaw => self.draw_crowded_columns(random),
            Pattern::DenseRow => {
                let full = self.rows / 2;
                let mut all = self.draw_rows(random, |row| row != full);
                all.extend((0..self.cols as u32).map(|j| (full as u32, j)));
                all
            }
            Pattern::DenseColumn => {
                let full = (self.cols / 2) as u32;
                let mut all = self.draw_rows(random, |_| true);
                all.retain(|&(_, j)| j != full);
                all.extend((0..self.rows as u32).map(|i| (i, full)));
                all
            }
            Pattern::Empty => {
                let mut all = self.draw_rows(random, |row| row % 3 != 1);
                all.retain(|(_, j)| j % 5 != 3);
                all
            }
        }
    }

    fn band(&self) -> Vec<(u32, u32)> {
        let diagonals: BTreeSet<i64> = self.made.diagonals.iter().copied().collect();
        let row = |i: usize| {
            let columns = diagonals
                .iter()
                .filter_map(move |d| (i as i64).checked_add(*d));
            let inside = columns.filter(|j| (0..self.cols as i64).contains(j));
            inside.map(move |j| (i as u32, j as u32))
        };
        (0..self.rows).flat_map(row).collect()
    }

    /// Returns pairs of a point of a box and a point next to it, or itself, whose class (the number of axes
    /// with different coordinates) is `wanted`.
    fn pair_neighbours(
        &self,
        [planes, rows, columns]: [usize; 3],
        wanted: fn(usize) -> bool,
    ) -> Vec<(u32, u32)> {
        let near = |at: usize, count: usize| at.saturating_sub(1)..(at + 2).min(count);
        let mut all = Vec::new();
        for (z, y, x) in (0..planes)
            .flat_map(|z| (0..rows).flat_map(move |y| (0..columns).map(move |x| (z, y, x))))
        {
            let here = (z * rows + y) * columns + x;
            for c in near(z, planes) {
                for b in near(y, rows) {
                    for a in near(x, columns) {
                        let class = usize::from(c != z) + usize::from(b != y) + usize::from(a != x);
                        if wanted(class) {
                            all.push((here as u32, ((c * rows + b) * columns + a) as u32));
                        }
                    }
                }
            }
        }
        all
    }

    /// Returns the side of the smallest square with at least `count` points.
    fn square(count: usize) -> usize {
        (1..).find(|side| side * side >= count).unwrap_or(1)
    }

    fn elements(&self) -> Vec<(u32, u32)> {
        let each = self.made.each;
        let points = self.rows.div_ceil(each);
        let side = Self::square(points);
        let mut all = Vec::new();
        for (i, j) in self.pair_neighbours([1, points.div_ceil(side), side], |_| true) {
            let unknowns = |point: u32| {
                let first = point as usize * each;
                first.min(self.rows)..(first + each).min(self.rows)
            };
            for i in unknowns(i) {
                all.extend(unknowns(j).map(|j| (i as u32, j as u32)));
            }
        }
        all
    }

    /// Returns pairs of corners that share an edge in a mesh of squares with a diagonal each, with the
    /// corners numbered at random.
    fn mesh(&self, random: &mut Random) -> Vec<(u32, u32)> {
        let side = Self::square(self.rows);
        let mut number: Vec<u32> = (0..self.rows as u32).collect();
        for i in (1..self.rows).rev() {
            number.swap(i, (random.next_u64() % (i as u64 + 1)) as usize);
        }
        let places = self.pair_neighbours([1, self.rows.div_ceil(side), side], |_| true);
        let joined = places.into_iter().filter(|&(i, j)| {
            let at = |i: u32| (i as usize / side, i as usize % side);
            let ((y, x), (b, a)) = (at(i), at(j));
            // The edge is that diagonal of a square along which both coordinates grow.
            y == b || x == a || (b > y) == (a > x)
        });
        let named =
            joined.filter_map(|(i, j)| Some((*number.get(i as usize)?, *number.get(j as usize)?)));
        named.collect()
    }

    /// Draws `each` different columns in each of the rows that are `wanted`.
    fn draw_rows(&self, random: &mut Random, wanted: impl Fn(usize) -> bool) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for row in (0..self.rows).filter(|&row| wanted(row)) {
            let draw = |random: &mut Random| random.next_u64() % self.cols as u64;
            self.different(row, self.made.each, random, draw, &mut all);
        }
        all
    }

    /// Draws different columns of a row; if too many draws repeat a column, takes the first missing columns
    /// instead.
    fn different(
        &self,
        row: usize,
        count: usize,
        random: &mut Random,
        draw: impl Fn(&mut Random) -> u64,
        all: &mut Vec<(u32, u32)>,
    ) {
        let mut columns = BTreeSet::new();
        for _ in 0..4 * count {
            if columns.len() == count {
                break;
            }
            columns.insert(draw(random) as u32);
        }
        let mut first = 0;
        while columns.len() < count {
            columns.insert(first);
            first += 1;
        }
        all.extend(columns.into_iter().map(|j| (row as u32, j)));
    }

    fn draw_crowded_columns(&self, random: &mut Random) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for row in 0..self.rows {
            let unit = |random: &mut Random| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
            // Lengths have the mean `each`: u^-a with uniform u has the mean 1 / (1 - a).
            let length =
                self.made.each as f64 * (1.0 - LENGTHS) * libm::pow(1.0 - unit(random), -LENGTHS);
            let count = (length as usize).clamp(1, self.cols);
            let draw =
                |random: &mut Random| (libm::pow(unit(random), CROWDING) * self.cols as f64) as u64;
            self.different(row, count, random, draw, &mut all);
        }
        all
    }
}
