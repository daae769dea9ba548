//! Sines, cosines and powers of w that a radix multiplies by.

use cp2_asm::cis;

/// A constant of a radix that stays in registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RadixConstant {
    /// A real number in all four lanes: a quad.
    Real(f64),
    /// A real number as a complex one: a pair.
    Complex(f64),
    /// exp(-2 pi i num/den): a pair.
    Root(u32, u32),
    /// Half of exp(-2 pi i num/den): a pair.
    HalfRoot(u32, u32),
}

/// Returns the number of parts of a turn in which [`powers`] counts.
pub(super) fn parts(radix: usize) -> usize {
    if radix.is_power_of_two() { 8 } else { radix }
}

/// Returns the powers of w that a column of a radix loads: each has a multiple of the angle of w, and an
/// additional multiple of one of [`parts`] of a turn.
pub(super) fn powers(radix: usize) -> Vec<(usize, usize)> {
    match radix {
        2 => vec![(1, 0)],
        4 => vec![(2, 0), (1, 0)],
        8 => vec![(4, 0), (2, 0), (1, 0), (1, 1)],
        r if r % 2 == 0 => {
            let inner = (1..r / 2).map(|m| (2 * m, 0));
            inner.chain((0..r / 2).map(|k| (1, k))).collect()
        }
        r => (1..r).map(|m| (m, 0)).collect(),
    }
}

/// Returns cosine and sine of `k` of `r` parts of a turn.
pub(super) fn angle(r: usize, k: usize) -> (f64, f64) {
    cis(k as i64, r as i64)
}

/// Returns row j of the sine matrix sin(2 pi jk/r): the pivot k, which has the largest |sine|; that |sine|;
/// whether the sine is negative; and for the other k their ratio to the pivot's sine.
pub(super) fn sines(r: usize, j: usize) -> (usize, f64, bool, Vec<(usize, f64)>) {
    let h = (r - 1) / 2;
    let sine = |k: usize| angle(r, j * k).1;
    let mut pivot = 1;
    for k in 2..=h {
        // The first of several sines that differ only by rounding is the pivot.
        if sine(k).abs() > sine(pivot).abs() + 1e-9 {
            pivot = k;
        }
    }
    let others = (1..=h)
        .filter(|&k| k != pivot)
        .map(|k| (k, sine(k) / sine(pivot)));
    (
        pivot,
        sine(pivot).abs(),
        sine(pivot) < 0.0,
        others.collect(),
    )
}

/// Lists the constants of a radix, for its `first` pass without factors or for others; `scale` is
/// `ColumnDft::scale`.
pub(super) fn constants(radix: usize, first: bool, scale: f64) -> Vec<RadixConstant> {
    let mut all: Vec<RadixConstant> = Vec::new();
    let mut need = |c: RadixConstant| {
        if place(&all, c).is_none() {
            all.push(c);
        }
    };
    if scale != 1.0 {
        need(RadixConstant::Real(scale));
    }
    if !radix.is_power_of_two() {
        let odd = if radix.is_multiple_of(2) {
            radix / 2
        } else {
            radix
        };
        let h = (odd - 1) / 2;
        for j in 1..=h {
            (1..=h).for_each(|k| need(RadixConstant::Real(scale * angle(odd, j * k).0.abs())));
            let (_, sine, _, others) = sines(odd, j);
            others
                .iter()
                .for_each(|(_, ratio)| need(RadixConstant::Real(ratio.abs())));
            need(RadixConstant::Complex(scale * sine));
        }
        if first && odd < radix {
            need(RadixConstant::Complex(1.0));
            (1..odd as u32).for_each(|k| need(RadixConstant::Root(k, radix as u32)));
        }
    } else if first {
        if scale != 1.0 {
            need(RadixConstant::Complex(scale));
        }
        need(RadixConstant::Complex(1.0));
        if radix == 8 {
            need(root(scale));
        }
    }
    all
}

/// Returns the root of an eighth of a turn, scaled by 1 or 1/2.
pub(super) fn root(scale: f64) -> RadixConstant {
    if scale == 1.0 {
        RadixConstant::Root(1, 8)
    } else {
        RadixConstant::HalfRoot(1, 8)
    }
}

/// Returns the index of a constant in a list; numbers that differ only by rounding are equal.
pub(super) fn place(all: &[RadixConstant], wanted: RadixConstant) -> Option<usize> {
    all.iter().position(|&c| match (c, wanted) {
        (RadixConstant::Real(a), RadixConstant::Real(b))
        | (RadixConstant::Complex(a), RadixConstant::Complex(b)) => (a - b).abs() < 1e-12,
        (a, b) => a == b,
    })
}
