//! Steps of diffusion by transforms over three axes: NPB FT.

use crate::count::Count;
use crate::fft::FftArray;
use crate::figures::Figures;
use cp2_machine::{Cycles, Machine};

/// The transform of a field over its axes, and of every step its product with real factors and the transform back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Diffusion {
    /// Lengths of the axes.
    pub shape: [usize; 3],
    /// Number of steps.
    pub steps: usize,
}

impl Diffusion {
    /// A transform with so many products of each number and a factor.
    fn passes(&self, products: f64, machine: &Machine) -> Figures {
        let numbers: f64 = self.shape.iter().map(|&n| n as f64).product();
        // A quad of products: two numbers times a real one each.
        let products = Count {
            adds: products * numbers / 2.0,
            ..Count::default()
        };
        FftArray::new(&self.shape, 1).figures_beside(products, machine)
    }

    /// The reference of the transform of the field.
    #[must_use]
    pub fn transform(&self, machine: &Machine) -> Cycles {
        self.passes(0.0, machine).reference
    }

    /// The reference of a step: products and the transform back.
    #[must_use]
    pub fn step(&self, machine: &Machine) -> Cycles {
        self.passes(1.0, machine).reference
    }

    /// Bound: the field in and out. Reference: the transform, and of each step products in the passes of the transform back.
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
