//! Steps of diffusion by transforms over three axes: NPB FT.

use crate::count::Count;
use crate::fft::FftArray;
use crate::figures::Figures;
use cp2_machine::{Cycles, Machine};

/// Forward transform of a field over its axes; then in each step the product with real factors and the
/// inverse transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diffusion {
    /// Lengths of the axes.
    pub shape: [usize; 3],
    /// Number of steps.
    pub steps: usize,
}

impl Diffusion {
    /// Returns the figures of one transform and `products` products of each number with a real factor.
    fn passes(&self, products: f64, machine: &Machine) -> Figures {
        let numbers: f64 = self.shape.iter().map(|&n| n as f64).product();
        // A quad of products multiplies two complex numbers by a real factor each.
        let products = Count {
            adds: products * numbers / 2.0,
            ..Count::default()
        };
        FftArray::new(&self.shape, 1).figures_beside(products, machine)
    }

    /// Returns the reference of the forward transform of the field.
    #[must_use]
    pub fn transform(&self, machine: &Machine) -> Cycles {
        self.passes(0.0, machine).reference
    }

    /// Returns the reference of a step: products and the inverse transform.
    #[must_use]
    pub fn step(&self, machine: &Machine) -> Cycles {
        self.passes(1.0, machine).reference
    }

    /// Returns bound and reference. Bound: the field in and out. Reference: the forward transform, and for
    /// each step products in the passes of the inverse transform.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let transform = self.passes(0.0, machine);
        let steps = self.step(machine).0.saturating_mul(self.steps as u64);
        Figures {
            reference: Cycles(transform.reference.0.saturating_add(steps)),
            method: format!("{}; factors in passes of each step", transform.method),
            source: format!(
                "Bailey et al., The NAS Parallel Benchmarks, RNR-94-007 (1994); {}",
                transform.source
            ),
            ..transform
        }
    }
}
