//! Steps of diffusion by transforms over three axes: NPB FT.

use crate::count::{Count, NumberFormat};
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
    /// Format of the field's numbers.
    pub format: NumberFormat,
}

impl Diffusion {
    /// Returns the figures of one transform and `products` products of each number with a real factor.
    fn passes(&self, products: f64, machine: &Machine) -> Figures {
        let numbers: f64 = self.shape.iter().map(|&n| n as f64).product();
        // A quad of products multiplies the complex numbers in it, two or one, by a real factor each.
        let complex = self.format.numbers_of_quad() as f64 / 2.0;
        let products = Count {
            adds: products * numbers / complex,
            ..Count::default()
        };
        FftArray::new(&self.shape, 1).figures_beside(products, self.format, machine)
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
