//! Processors as the points of a grid.

/// Processors in a grid of any number of axes, numbered with the last axis first, as in MPI.
///
/// ```
/// use cp2_network::CartesianGrid;
///
/// // Two rows of three: a strip that is closed along its columns alone.
/// let grid = CartesianGrid::new(&[(2, false), (3, true)]);
/// assert_eq!(grid.size(), 6);
/// assert_eq!(grid.coordinates(4), [1, 1]);
/// assert_eq!(grid.rank(&[1, 3]), Some(3));
/// assert_eq!(grid.rank(&[2, 0]), None);
/// // One step down: from above, and to nobody below.
/// assert_eq!(grid.shift(4, 0, 1), (Some(1), None));
/// assert_eq!(grid.shift(5, 1, 1), (Some(4), Some(3)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CartesianGrid {
    axes: Vec<(usize, bool)>,
}

impl CartesianGrid {
    /// Makes a grid from the number of processors along each axis, and whether the axis is periodic.
    #[must_use]
    pub fn new(axes: &[(usize, bool)]) -> Self {
        let axes = axes.to_vec();
        Self { axes }
    }

    /// Returns the number of processors.
    #[must_use]
    pub fn size(&self) -> usize {
        let extents = self.axes.iter().map(|(extent, _)| *extent);
        extents.fold(1, usize::saturating_mul)
    }

    /// Returns the place of a processor on each axis.
    #[must_use]
    pub fn coordinates(&self, rank: usize) -> Vec<usize> {
        let mut rest = rank;
        let places = self.axes.iter().rev().map(|(extent, _)| {
            let extent = (*extent).max(1);
            let place = rest % extent;
            rest /= extent;
            place
        });
        let mut places: Vec<usize> = places.collect();
        places.reverse();
        places
    }

    /// Returns the processor at a place: counted round on axes that are periodic, none beyond the ends of others.
    #[must_use]
    pub fn rank(&self, coordinates: &[i64]) -> Option<usize> {
        let mut rank = 0usize;
        for ((extent, periodic), at) in self.axes.iter().zip(coordinates) {
            let length = i64::try_from(*extent).ok().filter(|length| *length > 0)?;
            let at = if *periodic {
                at.rem_euclid(length)
            } else {
                *at
            };
            let at = usize::try_from(at).ok().filter(|at| at < extent)?;
            rank = rank.checked_mul(*extent)?.checked_add(at)?;
        }
        (coordinates.len() == self.axes.len()).then_some(rank)
    }

    /// Returns the processors between which a shift by some places along an axis moves values: from which they
    /// come to `rank`, and to which its own go.
    #[must_use]
    pub fn shift(&self, rank: usize, axis: usize, by: i64) -> (Option<usize>, Option<usize>) {
        let own = self.coordinates(rank).into_iter();
        let own: Vec<i64> = own
            .map(|at| i64::try_from(at).unwrap_or(i64::MAX))
            .collect();
        let moved = |by: i64| {
            let mut at = own.clone();
            let place = at.get_mut(axis)?;
            *place = place.checked_add(by)?;
            self.rank(&at)
        };
        (by.checked_neg().and_then(moved), moved(by))
    }
}
