//! Vector instruction sets of the host that emitted code may use.

/// Instruction set that emitted code may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Simd {
    /// No code is emitted.
    #[default]
    None,
    /// AVX2, FMA, BMI2.
    Avx2,
    /// AVX-512 F, VL, DQ as well.
    Avx512,
}

impl Simd {
    /// Returns the largest set that this host has.
    #[cfg(all(target_arch = "x86_64", target_endian = "little"))]
    pub(crate) fn best() -> Self {
        use std::arch::is_x86_feature_detected as has;
        let avx2 = has!("avx2") && has!("fma") && has!("bmi2");
        let avx512 = has!("avx512f") && has!("avx512vl") && has!("avx512dq");
        match (avx2, avx512) {
            (true, true) => Self::Avx512,
            (true, false) => Self::Avx2,
            (false, _) => Self::None,
        }
    }

    /// Returns the set of this host: no code is emitted for it.
    #[cfg(not(all(target_arch = "x86_64", target_endian = "little")))]
    pub(crate) fn best() -> Self {
        Self::None
    }

    /// Returns the set's name in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}
