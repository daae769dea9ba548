//! Inputs of a kernel test as its reference closure sees them.

use cp2_host::nest::BoundaryRule;

/// Arrays of equal extents, and their continuation beyond their edges.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    pub(super) arrays: &'a [Vec<f32>],
    pub(super) shape: &'a [u64],
    pub(super) edge: BoundaryRule,
    pub(super) block: &'a [u64],
    pub(super) output_block: &'a [u64],
}

/// The inputs around an element, continued beyond their edges.
#[derive(Clone, Copy, Debug)]
pub struct Neighbourhood<'a> {
    inputs: Inputs<'a>,
    at: &'a [i64],
}

impl<'a> Inputs<'a> {
    /// Returns an input, its last axis fastest.
    #[must_use]
    pub fn array(&self, input: usize) -> &'a [f32] {
        self.arrays.get(input).map_or(&[], Vec::as_slice)
    }

    /// Returns the extents, slowest axis first.
    #[must_use]
    pub fn shape(&self) -> &'a [u64] {
        self.shape
    }

    /// Computes an output of the inputs' extents: `element` gives each of its elements from the inputs around
    /// it.
    #[must_use]
    pub fn map_elements(&self, mut element: impl FnMut(Neighbourhood<'_>) -> f32) -> Vec<f32> {
        let all = places(self.shape);
        all.map(|at| {
            element(Neighbourhood {
                inputs: *self,
                at: &at,
            })
        })
        .collect()
    }

    /// Computes an output block by block from the first input.
    ///
    /// `block` gets the elements of an input block in the order of rows and returns those of the output
    /// block. Where the input ends in the middle of a block, the block continues by the edge's rule.
    #[must_use]
    pub fn blocks(&self, mut block: impl FnMut(&[f32]) -> Vec<f32>) -> Vec<f32> {
        let grid: Vec<u64> = extents(self.shape, self.block).collect();
        let made = self.output_shape();
        let mut output = vec![0.0; made.iter().product::<u64>() as usize];
        for origin in places(&grid) {
            let scaled = |size: &[u64]| -> Vec<i64> {
                let both = origin.iter().zip(size);
                both.map(|(at, &n)| at * n as i64).collect()
            };
            let (from, to) = (scaled(self.block), scaled(self.output_block));
            let around = Neighbourhood {
                inputs: *self,
                at: &from,
            };
            let own: Vec<f32> = places(self.block)
                .map(|away| around.get(0, &away))
                .collect();
            let results = block(&own);
            for (away, result) in places(self.output_block).zip(results) {
                let at: Vec<i64> = to.iter().zip(&away).map(|(to, away)| to + away).collect();
                let inside = at.iter().zip(&made).all(|(&at, &n)| at < n as i64);
                if let Some(place) = output.get_mut(index(&at, &made)).filter(|_| inside) {
                    *place = result;
                }
            }
        }
        output
    }

    /// Returns the extents of the output: those of the inputs, or, where its blocks have other sizes, whole
    /// blocks in the number of the inputs' blocks.
    pub(super) fn output_shape(&self) -> Vec<u64> {
        if self.block == self.output_block {
            return self.shape.to_vec();
        }
        let grid = extents(self.shape, self.block).zip(self.output_block);
        grid.map(|(blocks, n)| blocks * n).collect()
    }
}

impl Neighbourhood<'_> {
    /// Returns the element of an input at a distance from this place along each axis.
    #[must_use]
    pub fn get(&self, input: usize, away: &[i64]) -> f32 {
        let Inputs { shape, edge, .. } = self.inputs;
        let mut there = Vec::with_capacity(shape.len());
        for (&n, (at, away)) in shape.iter().zip(self.at.iter().zip(away)) {
            let (n, i) = (n as i64, at + away);
            there.push(match edge {
                _ if (0..n).contains(&i) => i,
                BoundaryRule::Zero => return 0.0,
                BoundaryRule::Clamp => i.clamp(0, n - 1),
                BoundaryRule::Periodic => i.rem_euclid(n),
            });
        }
        let array = self.inputs.array(input);
        array.get(index(&there, shape)).copied().unwrap_or(0.0)
    }

    /// Returns the element of an input at this place.
    #[must_use]
    pub fn center_element(&self, input: usize) -> f32 {
        self.get(input, &[0; 3][..self.inputs.shape.len().min(3)])
    }

    /// Returns the index of this place along each axis.
    #[must_use]
    pub fn place(&self) -> &[i64] {
        self.at
    }
}

/// Returns the number of blocks along each axis.
fn extents<'a>(shape: &'a [u64], block: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
    let both = shape.iter().zip(block);
    both.map(|(n, block)| n.div_ceil((*block).max(1)))
}

/// Iterates over every index of an array with these extents, the last axis fastest.
pub(super) fn places(shape: &[u64]) -> impl Iterator<Item = Vec<i64>> + '_ {
    let count = shape.iter().product::<u64>();
    (0..count).map(|mut k| {
        let mut at: Vec<i64> = shape
            .iter()
            .rev()
            .map(|&n| {
                let digit = k % n;
                k /= n;
                digit as i64
            })
            .collect();
        at.reverse();
        at
    })
}

/// Returns the position of an index in an array, the last axis fastest.
fn index(at: &[i64], shape: &[u64]) -> usize {
    let both = at.iter().zip(shape);
    both.fold(0, |index, (&at, &n)| index * n as usize + at as usize)
}
