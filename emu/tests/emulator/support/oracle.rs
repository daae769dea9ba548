//! Elementary functions to more than 90 bits, to judge `elementary` by.
//!
//! The oracle uses double-double arithmetic and other algorithms than the ones under test
//! (longer series, Newton's iteration for the logarithm). A binary64 estimate
//! from `libm` decides all but about one result in 2^25.

use cp2_emu::semantics::elementary::Function;

/// An unevaluated sum of two `f64`, `|lo|` at most half an ulp of `hi`.
#[derive(Clone, Copy, Debug)]
struct Dd {
    hi: f64,
    lo: f64,
}

const LN_2: Dd = Dd {
    hi: std::f64::consts::LN_2,
    lo: 2.3190468138462996e-17,
};
const INVERSE_LN_2: Dd = Dd {
    hi: std::f64::consts::LOG2_E,
    lo: 2.0355273740931033e-17,
};
const TAU: Dd = Dd {
    hi: std::f64::consts::TAU,
    lo: 2.4492935982947064e-16,
};

impl Dd {
    fn from(hi: f64) -> Self {
        Self { hi, lo: 0.0 }
    }

    fn sum(a: f64, b: f64) -> Self {
        let hi = a + b;
        let t = hi - a;
        Self {
            hi,
            lo: (a - (hi - t)) + (b - t),
        }
    }

    fn add(self, other: Self) -> Self {
        let (s, t) = (Self::sum(self.hi, other.hi), Self::sum(self.lo, other.lo));
        let u = Self::sum(s.hi, s.lo + t.hi);
        Self::sum(u.hi, u.lo + t.lo)
    }

    fn mul(self, other: Self) -> Self {
        let hi = self.hi * other.hi;
        let lo = self.hi.mul_add(other.hi, -hi) + (self.hi * other.lo + self.lo * other.hi);
        Self::sum(hi, lo)
    }

    fn div(self, divisor: f64) -> Self {
        let hi = self.hi / divisor;
        let rest = (-hi).mul_add(divisor, self.hi) + self.lo;
        Self::sum(hi, rest / divisor)
    }

    fn neg(self) -> Self {
        Self {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}

/// Sums a part of the exponential series: from one term to the next, it multiplies by `factor` and
/// divides by `step` consecutive integers, counted from `start` on.
fn series(first: Dd, factor: Dd, start: f64, step: usize) -> Dd {
    let (mut term, mut total, mut i) = (first, first, start);
    for _ in 0..40 {
        term = term.mul(factor);
        for _ in 0..step {
            term = term.div(i);
            i += 1.0;
        }
        total = total.add(term);
    }
    total
}

/// Returns `2^f` for `|f| <= 1`.
fn exp2_fraction(f: f64) -> Dd {
    series(Dd::from(1.0), LN_2.mul(Dd::from(f)), 1.0, 1)
}

fn scale(a: Dd, n: i32) -> Dd {
    Dd {
        hi: libm::ldexp(a.hi, n),
        lo: libm::ldexp(a.lo, n),
    }
}

fn exp2(x: f64) -> Dd {
    let n = x.round();
    scale(exp2_fraction(x - n), n as i32)
}

/// Makes one Newton step from the estimate `y`: `log2 x = y + log2(x / 2^y)`.
fn log2(x: f64, y: f64) -> Dd {
    let n = y.round();
    let ratio = scale(exp2_fraction(n - y).mul(Dd::from(x)), -n as i32);
    let d = ratio.add(Dd::from(-1.0));
    let correction = d.add(d.mul(d).mul(Dd::from(-0.5))).mul(INVERSE_LN_2);
    Dd::from(y).add(correction)
}

/// Returns `sin(2 pi r)` for `|r| <= 1/4`.
fn sin_quarter(r: Dd) -> Dd {
    let t = TAU.mul(r);
    series(t, t.mul(t).neg(), 2.0, 2)
}

/// Returns `x` less the nearest multiple of half a turn, and true if that multiple is odd.
fn half_turns(x: f64) -> (f64, bool) {
    let k = (2.0 * x).round();
    (x - 0.5 * k, k % 2.0 != 0.0)
}

fn flip(a: Dd, odd: bool) -> Dd {
    if odd { a.neg() } else { a }
}

/// Returns a quick estimate with a relative error of about 2^-51.
pub(crate) fn estimate(function: Function, x: f32) -> f64 {
    let x = f64::from(x);
    match function {
        Function::Rcp => 1.0 / x,
        Function::Rsqrt => 1.0 / x.sqrt(),
        Function::Exp2 => libm::exp2(x),
        Function::Log2 => libm::log2(x),
        Function::Sin => {
            let (r, odd) = half_turns(x);
            let y = libm::sin(std::f64::consts::TAU * r);
            if odd { -y } else { y }
        }
        Function::Cos => {
            let (r, odd) = half_turns(x);
            let y = libm::sin(std::f64::consts::TAU * (0.25 - r.abs()));
            if odd { -y } else { y }
        }
    }
}

/// Returns the value to about 100 bits as `hi + lo`, for finite results of finite arguments.
pub(crate) fn precise(function: Function, x: f32) -> (f64, f64) {
    let y = estimate(function, x);
    let x = f64::from(x);
    let value = match function {
        // One Newton step each; `x` and `y * y` are exact in a `Dd`.
        Function::Rcp => {
            let d = Dd::from(x).mul(Dd::from(y)).add(Dd::from(-1.0));
            Dd::from(y).add(Dd::from(-y).mul(d))
        }
        Function::Rsqrt => {
            let d = Dd::from(y)
                .mul(Dd::from(y))
                .mul(Dd::from(x))
                .add(Dd::from(-1.0));
            let correction = d.mul(Dd::from(-0.5)).add(d.mul(d).mul(Dd::from(0.375)));
            Dd::from(y).add(Dd::from(y).mul(correction))
        }
        Function::Exp2 => exp2(x),
        Function::Log2 => log2(x, y),
        Function::Sin => {
            let (r, odd) = half_turns(x);
            flip(sin_quarter(Dd::from(r)), odd)
        }
        Function::Cos => {
            let (r, odd) = half_turns(x);
            flip(sin_quarter(Dd::sum(0.25, -r.abs())), odd)
        }
    };
    (value.hi, value.lo)
}

/// Returns the correctly rounded result.
pub(crate) fn rounded(function: Function, x: f32) -> f32 {
    let y = estimate(function, x);
    let margin = 2f64.powi(-50);
    let (low, high) = ((y * (1.0 - margin)) as f32, (y * (1.0 + margin)) as f32);
    if low.to_bits() == high.to_bits() || y.is_nan() {
        return low;
    }
    let (hi, lo) = precise(function, x);
    let distance = |c: f32| ((hi - f64::from(c)) + lo).abs();
    if distance(low) <= distance(high) {
        low
    } else {
        high
    }
}

/// Returns the error of `got` in units in the last place of the exact value.
pub(crate) fn ulps(function: Function, x: f32, got: f32) -> f64 {
    let (hi, lo) = precise(function, x);
    ((f64::from(got) - hi) - lo).abs() / ulp(hi)
}

/// Returns the spacing of binary32 numbers at `y`.
fn ulp(y: f64) -> f64 {
    let exponent = ((y.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(-126);
    2f64.powi(exponent - 23)
}
