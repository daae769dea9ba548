//! Bluestein's algorithm in DMEM: a DFT of any length as a convolution.

use super::block_fft::{BlockFft, BlockRecipe};
use super::page_kernels::bluestein;
use super::radix::{factorize, least_issues};
use super::recipe::{LONGEST_LOCAL_LENGTH, MixedRecipe, best_order, best_radices, cost, factors};
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use cp2_asm::cis;
use cp2_machine::Machine;
use num_complex::Complex64;
use std::fmt;
use std::sync::Arc;

/// A transform of any length N as a convolution of length M >= 2 N - 1, a product of the mixed radices: with
/// `b[j] = exp(-pi i j^2/N)`, `X[k] = b[k] sum over j of (b[j] x[j]) conj b[k-j]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BluesteinRecipe {
    n: usize,
    direction: TransformDirection,
    m: usize,
    radices: Vec<usize>,
}

impl BluesteinRecipe {
    /// Chooses the convolution length with the fewest slots. None where no local memory has room for one.
    #[must_use]
    pub fn new(n: usize, direction: TransformDirection) -> Option<Self> {
        let least = n.checked_mul(2)?.checked_sub(1)?;
        if least > LONGEST_LOCAL_LENGTH {
            return None;
        }
        let lengths = least..=least.checked_next_power_of_two()?;
        let recipes = lengths.filter_map(|m| Some((m, best_order(factors(m)?, (false, false)))));
        let slots = |(_, radices): &(usize, Vec<usize>)| cost(radices, (false, false));
        let (m, _) = recipes.min_by_key(slots)?;
        let radices = best_radices(m, (false, false))?;
        Some(Self {
            n,
            direction,
            m,
            radices,
        })
    }

    /// Returns the length of the convolution.
    #[must_use]
    pub fn convolution(&self) -> usize {
        self.m
    }

    /// Computes the chirp b.
    fn chirp(&self) -> Vec<Complex64> {
        chirp(self.n)
    }

    /// Computes the filter H of the convolution: the transform of conj b, divided by M.
    fn filter(&self) -> Vec<Complex64> {
        filter(self.n, self.m)
    }
}

/// Returns the least arithmetic issues known for one complex transform of `n` numbers: by radices or, where
/// these are not enough, by the convolution that takes fewest, with its products with the chirp and the
/// filter.
pub(in crate::fft) fn find_least_issues(n: usize) -> u64 {
    if let Some(radices) = factorize(n) {
        return least_issues(&radices);
    }
    let convolution = |m: usize| {
        let products = (m as u64).saturating_add(2 * n as u64);
        Some(2 * least_issues(&factorize(m)?) + products)
    };
    let long = n.checked_mul(2).and_then(usize::checked_next_power_of_two);
    let local = BluesteinRecipe::new(n, TransformDirection::Forward).map(|recipe| recipe.m);
    let all = [long, local].into_iter().flatten().filter_map(convolution);
    all.min().unwrap_or(0)
}

/// Computes the chirp `b[j] = exp(-pi i j^2/N)`, with the angle reduced exactly.
pub(super) fn chirp(n: usize) -> Vec<Complex64> {
    let b = |j: usize| {
        let eighths = j as u128 * j as u128 % (2 * n as u128);
        // Below 2^63: no length is that long.
        let (re, im) = cis(-(eighths as i64), 2 * n as i64);
        Complex64::new(re, im)
    };
    (0..n).map(b).collect()
}

/// Computes the filter H of the convolution: the transform over M >= 2 N - 1 numbers of conj b, divided by M.
pub(super) fn filter(n: usize, m: usize) -> Vec<Complex64> {
    let mut h = vec![Complex64::default(); m];
    for (j, b) in chirp(n).into_iter().enumerate() {
        let c = b.conj() / m as f64;
        h[j] = c;
        h[(m - j) % m] = c;
    }
    cp2_rustfft::scalar_double(m, cp2_rustfft::FftDirection::Forward).process(&mut h);
    h
}

impl BlockRecipe for BluesteinRecipe {
    fn len(&self) -> usize {
        self.n
    }

    fn direction(&self) -> TransformDirection {
        self.direction
    }

    /// Returns the least arithmetic issues of the algorithm: two transforms of length M, M products with the
    /// filter and 2 N with the chirp.
    fn issues(&self) -> u64 {
        let transform = MixedRecipe::new(self.m, self.direction).map_or(0, |r| r.issues());
        2 * transform + self.m as u64 + 2 * self.n as u64
    }
}

impl fmt::Display for BluesteinRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let radices: Vec<String> = self.radices.iter().map(usize::to_string).collect();
        let (n, direction, m) = (self.n, self.direction, self.m);
        write!(
            f,
            "fft {n} {direction}: bluestein by {m} = {}",
            radices.join(" x ")
        )
    }
}

/// A planned transform by Bluestein's algorithm, the whole convolution in local memory.
pub type BluesteinFft = BlockFft<BluesteinRecipe>;

impl BluesteinFft {
    pub(in crate::fft) fn new(
        recipe: BluesteinRecipe,
        machine: Arc<Machine>,
    ) -> Result<Self, FftError> {
        // The longest array in local memory is a buffer of the convolution, M numbers.
        let (n, m) = (recipe.n, recipe.m);
        let directives = |h: Vec<Complex64>| -> Vec<String> {
            h.iter()
                .map(|z| format!(".complex {:?}, {:?}", z.re, z.im))
                .collect()
        };
        let (chirp, filter) = (directives(recipe.chirp()), directives(recipe.filter()));
        Self::build(recipe, machine.clone(), m, move |recipe, pairs| {
            let (convolution, factors) = ((m, &recipe.radices[..]), (&chirp[..], &filter[..]));
            bluestein(n, convolution, recipe.direction, factors, pairs, &machine)
        })
    }
}
