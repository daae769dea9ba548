//! Choice of the engine that executes kernels.

use crate::core::layout::is_one_group;
use crate::core::simd::Simd;
use cp2_machine::Machine;
use serde::{Deserialize, Serialize};

/// Engines that execute kernels. All agree in every bit, cycle, cause, counter and fault.
///
/// Checkers must see every access: a processor with checks runs on the reference engine, whatever
/// is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Word by word, straight from the definitions.
    Reference,
    /// Block by block (`docs/engine.md`), the same code on every host.
    Portable,
    /// [`Engine::Fast`] restricted to host code of AVX2 at most.
    Avx2,
    /// Block by block, with host code for blocks that run often, if the host has AVX2 and FMA or
    /// AVX-512.
    #[default]
    Fast,
}

impl Engine {
    /// Returns the name of the engine's best tier on this host, for reports.
    #[must_use]
    pub fn tier(self) -> &'static str {
        match self {
            Self::Reference => "word-by-word",
            _ => self.simd().name(),
        }
    }

    /// Returns the engine that runs on `machine`: engines other than the reference one require four
    /// sections.
    #[must_use]
    pub fn resolve_engine(self, machine: &Machine) -> Self {
        if is_one_group(machine.cp2.sections, machine.cp2.dmem.0 as usize) {
            self
        } else {
            Self::Reference
        }
    }

    /// Returns the instruction set of host code that may be emitted.
    pub(crate) fn simd(self) -> Simd {
        match self {
            Self::Reference | Self::Portable => Simd::None,
            Self::Avx2 => Simd::best().min(Simd::Avx2),
            Self::Fast => Simd::best(),
        }
    }
}
