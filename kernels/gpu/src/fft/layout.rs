//! How a transform is divided: radices, threads, and transforms of a workgroup.

/// Radices of the passes there are.
const RADICES: [usize; 7] = [16, 8, 4, 2, 3, 5, 7];

/// Numbers that a thread holds, about.
const HELD: usize = 8;

/// Threads of a workgroup, if a transform does not need more.
const THREADS: usize = 128;

/// Fewest and most lines that a workgroup transforms, where they lie side by side in memory: four numbers are the
/// least that memory transfers.
const SIDE_BY_SIDE: [usize; 2] = [4, 16];

/// Numbers of such lines, about: with more of them, fewer workgroups run at a time.
const NUMBERS: usize = 4096;

/// Limits of a workgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupLimits {
    /// Most threads.
    pub(crate) threads: usize,
    /// Floats of memory that they share.
    pub(crate) floats: usize,
}

impl GroupLimits {
    pub(crate) fn new(limits: &wgpu::Limits) -> Self {
        let threads = limits.max_compute_invocations_per_workgroup;
        Self {
            threads: threads.min(limits.max_compute_workgroup_size_x) as usize,
            floats: limits.max_compute_workgroup_storage_size as usize / 4,
        }
    }
}

/// How transforms of a length are computed within a workgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupLayout {
    /// Length of a transform.
    pub(crate) n: usize,
    /// Radices of its passes.
    pub(crate) radices: Vec<usize>,
    /// Threads of a transform.
    pub(crate) lanes: usize,
    /// Transforms of a workgroup.
    pub(crate) together: usize,
    /// Floats of shared memory for one transform.
    pub(crate) pitch: usize,
}

/// Returns the radices whose product is a length; none if a prime factor is too large.
pub(crate) fn radices(n: usize) -> Option<Vec<usize>> {
    let mut rest = n;
    let mut found = Vec::new();
    for odd in [7, 5, 3] {
        while rest.is_multiple_of(odd) {
            found.push(odd);
            rest /= odd;
        }
    }
    if !rest.is_power_of_two() {
        return None;
    }
    // One pass of radix 16 at most, since three of them take longer on a card, and one where there are four passes:
    // half as many threads are enough then. Else radices to 8 that differ as little as possible.
    let mut bits = rest.ilog2() as usize;
    let mut passes = bits.saturating_sub(1).div_ceil(3).max(bits.min(1));
    let mut even = Vec::new();
    while passes > 0 {
        let each = match passes {
            4 => 4,
            _ => bits.div_ceil(passes),
        };
        even.push(1 << each);
        bits -= each;
        passes -= 1;
    }
    even.extend(found);
    if even.is_empty() {
        even.push(1);
    }
    even.iter()
        .all(|r| *r == 1 || RADICES.contains(r))
        .then_some(even)
}

/// Returns the place of a number in shared memory: one float is left out after each 32, so that steps of
/// powers of two do not meet in one bank.
pub(crate) fn padded(i: usize) -> usize {
    i + (i >> 5)
}

impl GroupLayout {
    /// Returns the layout for a length; none if it has too large a prime factor or does not fit.
    pub(crate) fn new(n: usize, side_by_side: bool, limits: GroupLimits) -> Option<Self> {
        let radices = radices(n)?;
        let most = radices.iter().copied().max().unwrap_or(1);
        let lanes = n.div_ceil(HELD.max(most)).min(limits.threads);
        let pitch = padded(n) | 1;
        if pitch > limits.floats {
            return None;
        }
        let [fewest, most] = SIDE_BY_SIDE;
        let wanted = match side_by_side {
            true => (NUMBERS / n).clamp(fewest, most).max(THREADS / lanes),
            false => THREADS / lanes,
        };
        let fitting = (limits.floats / pitch).min(limits.threads / lanes).max(1);
        Some(Self {
            n,
            radices,
            lanes,
            // A power of two, so that lines begin where memory's units of transfer do.
            together: 1 << wanted.clamp(1, fitting).ilog2(),
            pitch,
        })
    }

    /// Returns the floats of shared memory.
    pub(crate) fn floats(&self) -> usize {
        self.pitch * self.together
    }

    /// Returns the threads of a workgroup.
    pub(crate) fn threads(&self) -> usize {
        self.lanes * self.together
    }

    /// Returns the workgroups for a number of transforms.
    pub(crate) fn groups(&self, transforms: usize) -> usize {
        transforms.div_ceil(self.together)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radices_multiply_to_the_length() {
        for n in 1..3000 {
            let smooth = [2, 3, 5, 7].iter().fold(n, |mut rest, &p| {
                while rest % p == 0 {
                    rest /= p;
                }
                rest
            });
            let found = radices(n);
            assert_eq!(found.is_some(), smooth == 1, "{n}");
            if let Some(found) = found {
                assert_eq!(found.iter().product::<usize>(), n);
            }
        }
        assert_eq!(radices(1024), Some(vec![16, 8, 8]));
        assert_eq!(radices(4096), Some(vec![16, 8, 8, 4]));
    }

    #[test]
    fn a_workgroup_keeps_its_limits() {
        let limits = GroupLimits {
            threads: 256,
            floats: 4096,
        };
        for n in 1..4096 {
            for side_by_side in [false, true] {
                let Some(layout) = GroupLayout::new(n, side_by_side, limits) else {
                    continue;
                };
                assert!(
                    layout.threads() <= 256 && layout.floats() <= 4096,
                    "{layout:?}"
                );
            }
        }
        assert!(GroupLayout::new(4096, false, limits).is_none());
    }
}
