//! The choice of the engine.

use crate::core::layout::one_group;
use crate::core::simd::Simd;
use cp2_machine::Machine;
use serde::{Deserialize, Serialize};

/// What executes kernels. All agree in every bit, cycle, cause, counter and fault.
///
/// Checkers want to see every access: a processor with checks runs on the
/// reference engine whatever is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Word by word, straight from the definitions.
    Reference,
    /// Block by block (`docs/engine.md`), the same code on every host.
    Portable,
    /// As [`Engine::Fast`], with host code of AVX2 at most.
    Avx2,
    /// Block by block, and host code for what runs often where the host has
    /// what that takes.
    #[default]
    Fast,
}

impl Engine {
    /// The best of the engine's tiers that this host can run, for reports.
    #[must_use]
    pub fn tier(self) -> &'static str {
        match self {
            Self::Reference => "word-by-word",
            _ => self.simd().name(),
        }
    }

    /// The engine that runs on `machine`: all but the reference one are made for four sections.
    #[must_use]
    pub fn resolve_engine(self, machine: &Machine) -> Self {
        if one_group(machine.cp2.sections, machine.cp2.dmem.0 as usize) {
            self
        } else {
            Self::Reference
        }
    }

    /// The host code that may be emitted.
    pub(crate) fn simd(self) -> Simd {
        match self {
            Self::Reference | Self::Portable => Simd::None,
            Self::Avx2 => Simd::best().min(Simd::Avx2),
            Self::Fast => Simd::best(),
        }
    }
}
