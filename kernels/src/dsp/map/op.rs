//! Elementwise operations: their programs in `map.s`, and their references.

use cp2_problems::vector::MapOp;
use cp2_reference::MapOperation;

/// Schemes for evaluating a polynomial; latencies and registers decide which is faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Horner's scheme, one multiply-add after the other: the fewest operations.
    Horner,
    /// Estrin's scheme, pairs of terms, then pairs of these: one square more for each level, but a much
    /// shorter chain.
    Estrin,
}

impl Scheme {
    pub(super) const ALL: [Self; 2] = [Self::Horner, Self::Estrin];
}

/// The way in which the kernel of an operation is made.
pub(super) trait Formula {
    /// Returns the schemes to compute it, of which a machine takes the fastest.
    fn schemes(&self) -> &'static [Scheme];
    /// Returns the name of the operation in the references.
    fn operation(&self) -> MapOperation;
    /// Returns the lines that call its macros of `map.s`.
    fn program(&self) -> &'static str;
}

impl Formula for MapOp {
    fn schemes(&self) -> &'static [Scheme] {
        match self {
            Self::Phase => &Scheme::ALL,
            _ => &[Scheme::Horner],
        }
    }

    fn operation(&self) -> MapOperation {
        match self {
            Self::Scale(_) => MapOperation::Scale,
            Self::Axpy(_) => MapOperation::Axpy,
            Self::Add | Self::Subtract => MapOperation::Add,
            Self::Multiply | Self::Window(_) => MapOperation::Multiply,
            Self::ComplexMultiply => MapOperation::ComplexMultiply,
            Self::Power => MapOperation::Power,
            Self::Magnitude => MapOperation::Magnitude,
            Self::Phase => MapOperation::Phase,
            Self::Decibels => MapOperation::Decibels,
        }
    }

    fn program(&self) -> &'static str {
        match self {
            Self::Scale(_) => "map_program scale, map_scale, 1, 1\n",
            Self::Axpy(_) => "map_program axpy, map_axpy, 2, 1\n",
            Self::Add => "map_program add, map_add, 2, 1\n",
            Self::Subtract => "map_program subtract, map_subtract, 2, 1\n",
            Self::Multiply => "map_program multiply, map_multiply, 2, 1\n",
            Self::ComplexMultiply => "map_program complex_multiply, map_complex_multiply, 2, 1\n",
            Self::Window(_) => "map_window_program\n",
            Self::Power => "map_program power, map_power, 1, 2\n",
            Self::Magnitude => "map_program magnitude, map_magnitude, 1, 2\n",
            Self::Phase => "map_phase_numbers\nmap_program phase, map_phase, 1, 2\n",
            Self::Decibels => "map_program decibels, map_decibels, 1, 2\n",
        }
    }
}
