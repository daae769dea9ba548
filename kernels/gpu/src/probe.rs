//! How the adapter computes: fused or not, subnormal numbers, division and roots.

use crate::adapter::{ArithmeticProbe, Contraction};
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Shader, read, write};
use crate::session::Session;
use cp2_problems::Random;
use std::sync::Arc;

pub(crate) const ARITHMETIC: Shader = Shader {
    name: "probe/arithmetic",
    parts: &[include_str!("probe/arithmetic.wgsl")],
};

/// Results of each triple of numbers.
const EACH: usize = 8;
/// Triples of numbers.
const COUNT: usize = 1024;

/// Returns triples a, b, c for which `a * b + c` cancels most of the product, so that its rounding shows.
fn triples() -> Vec<[f32; 3]> {
    let mut random = Random::new(7);
    let triple = |_| {
        let a = 1.5 + random.uniform() / 2.0;
        let b = 1.5 + random.uniform() / 2.0;
        [a, b, -(a * b)]
    };
    (0..COUNT).map(triple).collect()
}

/// Returns triples a, b, 0 of normal numbers of all sizes and signs, whose quotients are normal numbers too.
fn dividends() -> Vec<[f32; 3]> {
    let mut random = Random::new(8);
    let mut normal = |exponent: i32| {
        let size = f64::from(1.5 + random.uniform() / 2.0);
        let sign = if random.uniform() < 0.0 { -1.0 } else { 1.0 };
        (sign * libm::ldexp(size, exponent)) as f32
    };
    let mut exponents = Random::new(9);
    let mut draw = |from: i32, to: i32| {
        let all = (to - from + 1) as u64;
        from + (exponents.next_u64() % all) as i32
    };
    let triple = |_| {
        let a = draw(-126, 126);
        // The exponent of the quotient is a - b or one less.
        let b = draw((a - 126).max(-126), (a + 125).min(126));
        [normal(a), normal(b), 0.0]
    };
    (0..COUNT).map(triple).collect()
}

/// Computes the shader's results of triples.
fn compute(device: &Arc<GpuDevice>, triples: &[[f32; 3]]) -> Result<Vec<[f32; EACH]>, GpuError> {
    let numbers: GpuBuffer<[f32; 3]> =
        GpuBuffer::from_slice(device, "numbers of the probe", triples)?;
    let results: GpuBuffer<[f32; EACH]> =
        GpuBuffer::new(device, "results of the probe", triples.len())?;
    let step = device.step(
        &ARITHMETIC,
        &[("COUNT", triples.len() as f64)],
        &[read(&numbers), write(&results)],
        triples.len().div_ceil(64),
    )?;
    let mut session = Session::new(device)?;
    session.execute([&step])?;
    session.read(&results)
}

/// Finds out how the device computes.
pub(crate) fn arithmetic(device: &Arc<GpuDevice>) -> Result<ArithmeticProbe, GpuError> {
    let given = triples();
    let found = compute(device, &given)?;
    let pairs = || given.iter().zip(&found);
    let fused = |[a, b, c]: [f32; 3]| libm::fmaf(a, b, c);
    let twice = |[a, b, c]: [f32; 3]| a * b + c;
    // The three expressions of a product and a sum.
    let all = |wanted: &dyn Fn([f32; 3]) -> f32| {
        pairs().all(|(&given, found)| found[1..4].iter().all(|&sum| sum == wanted(given)))
    };
    let contraction = match (all(&fused), all(&twice)) {
        (true, _) => Contraction::Fused,
        (false, true) => Contraction::RoundedTwice,
        (false, false) => Contraction::Depends,
    };
    let divided = dividends();
    let quotients = compute(device, &divided)?;
    let quotients = || divided.iter().zip(&quotients);
    let small = f32::from_bits(3 << 20);
    let tiny = compute(device, &[[small, 1.0, 0.0], [small, small, 0.0]])?;
    // A product with 1, a sum of 0 and the number, and a sum of the number with itself.
    let kept = tiny[0][4] == small && tiny[0][0] == small && tiny[1][5] == small + small;
    Ok(ArithmeticProbe {
        fma_is_fused: pairs().all(|(&given, found)| found[0] == fused(given)),
        contraction,
        subnormals_are_flushed: !kept,
        division_is_exact: quotients().all(|([a, b, _], found)| found[6] == a / b),
        root_is_exact: quotients().all(|([a, ..], found)| found[7] == libm::sqrtf(a.abs())),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// Quotients are those of all sizes, small and large ones among them, and each is a normal number.
    #[test]
    fn dividends_have_all_sizes() {
        let all = dividends();
        let size = |pick: fn(&[f32; 3]) -> f32| {
            let sizes = all.iter().map(|numbers| pick(numbers).abs());
            (
                sizes.clone().fold(f32::MAX, f32::min),
                sizes.fold(0.0, f32::max),
            )
        };
        for (least, most) in [
            size(|[a, ..]| *a),
            size(|[_, b, _]| *b),
            size(|[a, b, _]| a / b),
        ] {
            assert!(least.is_normal() && most.is_normal());
            assert!(least < 1e-36 && most > 1e36, "{least:e} {most:e}");
        }
    }
}
