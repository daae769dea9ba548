//! Radix-r butterflies as operations: one column of two transforms.
//!
//! One transform (or one of two columns) is in the lower, the other in the upper pair of every quad.
//!
//! A column of r numbers x and a factor w becomes
//! `y[m'] = sum over m of x[m] (w W_r^m')^m`, `W_r = exp(-2 pi i/r)`.
//! Radix 2 is one butterfly, radix 4 two levels of two, radix 8 three levels of four, and radix 6 two columns
//! of radix 3 and three butterflies.
//!
//! An odd radix with h = (r - 1)/2: h products and h butterflies give
//! `a[k], b[k] = w^k x[k] +- w^(r-k) x[r-k]`; h/2 issues (quad additions serve two
//! columns) `y[0]`; h^2/2 `m[j] = x[0] + sum of cos(2 pi jk/r) a[k]`; h (h-1)/2
//! `n[j] = sum of sin(2 pi jk/r) b[k]`, divided by its largest sine; and h
//! butterflies `m[j] -+ i n[j]` multiply by that sine. Without factors the h
//! products are not there.

use super::last_level::LastButterflyLevel;
use super::radix_constants::{RadixConstant, angle, root, sines};
use super::radix_operands::RadixOperands;
use crate::fft::TransformDirection;
use crate::pipeline::{BlockBody, BodyOperand, BodyValue};

/// The lanes of a quad.
pub(super) const LANES: [fn(BodyValue) -> BodyOperand; 2] = [BodyOperand::Lo, BodyOperand::Hi];

/// Computes c + k a, where k may be negative and the register holds |k|.
pub(super) fn multiply_add(
    body: &mut BlockBody,
    (k, factor): (f64, BodyOperand),
    a: BodyValue,
    c: BodyValue,
) -> BodyValue {
    let name = if k < 0.0 { "nmsub" } else { "madd" };
    body.quad_op(
        name,
        &[BodyOperand::Whole(a), factor, BodyOperand::Whole(c)],
    )
}

/// Computes x + conj(y) and x - conj(y).
pub(super) fn mirror(
    body: &mut BlockBody,
    (x, y): (BodyValue, BodyValue),
    one: BodyOperand,
) -> (BodyValue, BodyValue) {
    let (d, e) = (body.quad(), body.quad());
    for lane in LANES {
        body.op("bflyy", &[lane(d), lane(e)], &[lane(x), lane(y), one]);
    }
    (d, e)
}

/// Factors, constants and form of the transform of a column.
pub(super) struct ColumnDft<'a> {
    /// Direction of the transform: the inverse conjugates all factors.
    pub(super) direction: TransformDirection,
    /// Registers of the powers of w of `powers` for both lanes; empty if w = 1.
    pub(super) factors: &'a [[BodyOperand; 2]],
    /// Registers of the radix's `constants`.
    pub(super) constants: &'a RadixOperands,
    /// True if the upper half of the rows are conjugates; for radices that are powers of two, w = 1.
    pub(super) mirrored: bool,
    /// True if this is column L - c and the factors are those of column c; forward, for radices that are
    /// powers of two.
    pub(super) opposite: bool,
    /// True if results 2j and 2j + 1 of one lane make a quad, those of the lower lane first; w = 1, even
    /// radices.
    pub(super) across: bool,
    /// Factor of all results: 1 or, where w = 1, 1/2. Only row 0 takes a product for it, since all other rows
    /// meet a factor on their way.
    pub(super) scale: f64,
}

impl<'a> ColumnDft<'a> {
    /// Makes a column without factors.
    pub(super) fn plain(direction: TransformDirection, constants: &'a RadixOperands) -> Self {
        Self {
            direction,
            factors: &[],
            constants,
            mirrored: false,
            opposite: false,
            across: false,
            scale: 1.0,
        }
    }

    fn name(&self, forward: &'static str, inverse: &'static str) -> &'static str {
        match self.direction {
            TransformDirection::Forward => forward,
            TransformDirection::Inverse => inverse,
        }
    }

    /// Computes x + yw and x - yw or, if `turned`, x - i yw and x + i yw; the inverse conjugates w and the
    /// factor -i.
    pub(super) fn butterfly(
        &self,
        body: &mut BlockBody,
        (x, y): (BodyValue, BodyValue),
        w: [BodyOperand; 2],
        turned: bool,
    ) -> (BodyValue, BodyValue) {
        let (d, e) = (body.quad(), body.quad());
        let to = [d, e].map(|z| LANES.map(|lane| lane(z)));
        self.butterfly_to(body, (x, y), w, turned, to);
        (d, e)
    }

    /// Computes the butterfly with results to given registers: for each result those of both lanes.
    pub(super) fn butterfly_to(
        &self,
        body: &mut BlockBody,
        (x, y): (BodyValue, BodyValue),
        w: [BodyOperand; 2],
        turned: bool,
        to: [[BodyOperand; 2]; 2],
    ) {
        let name = if turned {
            self.name("bflyn", "bflyci")
        } else {
            self.name("bfly", "bflyc")
        };
        for (i, lane) in LANES.iter().enumerate() {
            body.op(name, &[to[0][i], to[1][i]], &[lane(x), lane(y), w[i]]);
        }
    }

    /// Computes x w, or x conj(w) in the inverse.
    pub(super) fn product(
        &self,
        body: &mut BlockBody,
        x: BodyValue,
        w: [BodyOperand; 2],
    ) -> BodyValue {
        let y = body.quad();
        for (lane, w) in LANES.iter().zip(w) {
            body.op(self.name("cmul", "cmulc"), &[lane(y)], &[lane(x), w]);
        }
        y
    }

    /// Computes x + y and x - y.
    pub(super) fn sum(
        body: &mut BlockBody,
        (x, y): (BodyValue, BodyValue),
    ) -> (BodyValue, BodyValue) {
        let operands = [BodyOperand::Whole(x), BodyOperand::Whole(y)];
        (
            body.quad_op("add", &operands),
            body.quad_op("sub", &operands),
        )
    }

    /// Computes c + k a, where k may be negative and |k| is one of the constants.
    fn multiply_add(&self, body: &mut BlockBody, k: f64, a: BodyValue, c: BodyValue) -> BodyValue {
        let factor = self.constants.operand(RadixConstant::Real(k.abs()));
        multiply_add(body, (k, factor), a, c)
    }

    /// Computes the transform of column `x`.
    pub(super) fn transform(&self, body: &mut BlockBody, x: &[BodyValue]) -> Vec<BodyValue> {
        if x.len().is_multiple_of(2) && !x.len().is_power_of_two() {
            return self.halves(body, x);
        }
        let mut rows = x.to_vec();
        if self.scale != 1.0 {
            let scale = self.constants.operand(RadixConstant::Real(self.scale));
            rows[0] = body.quad_op("mul", &[BodyOperand::Whole(x[0]), scale]);
        }
        // Scale of butterflies whose first operand has been scaled.
        let scaled = self.scale;
        let mut last = LastButterflyLevel::new(self, body, rows.len());
        match *rows {
            [a, b] => last.level(body, (a, b), (0, false), [0, 1]),
            [a, b, c, d] => {
                let (a, c) = self.level(body, (a, c), 0, false, scaled);
                let (b, d) = self.level(body, (b, d), 0, false, 1.0);
                last.level(body, (a, b), (1, false), [0, 2]);
                last.level(body, (c, d), (1, true), [1, 3]);
            }
            [x0, x1, x2, x3, x4, x5, x6, x7] => {
                let (s0, d0) = self.level(body, (x0, x4), 0, false, scaled);
                let (s2, d2) = self.level(body, (x2, x6), 0, false, 1.0);
                let (s1, d1) = self.level(body, (x1, x5), 0, false, 1.0);
                let (s3, d3) = self.level(body, (x3, x7), 0, false, 1.0);
                let (e0, e2) = self.level(body, (s0, s2), 1, false, scaled);
                let (o0, o2) = self.level(body, (s1, s3), 1, false, 1.0);
                let (e1, e3) = self.level(body, (d0, d2), 1, true, scaled);
                let (o1, o3) = self.level(body, (d1, d3), 1, true, 1.0);
                last.level(body, (e0, o0), (2, false), [0, 4]);
                last.level(body, (e2, o2), (2, true), [2, 6]);
                last.level(body, (e1, o1), (3, false), [1, 5]);
                last.level(body, (e3, o3), (3, true), [3, 7]);
            }
            _ => return self.odd(body, &rows),
        }
        last.results
    }

    /// Computes radix 2 r, r odd: the transforms of the even and of the odd rows by radix r with w^2, and
    /// butterflies with `w W_2r^k`.
    fn halves(&self, body: &mut BlockBody, x: &[BodyValue]) -> Vec<BodyValue> {
        let half = x.len() / 2;
        let part = ColumnDft {
            factors: self.factors.get(..half - 1).unwrap_or_default(),
            across: false,
            ..*self
        };
        let mut rows = |first: usize| {
            let rows: Vec<BodyValue> = x.iter().copied().skip(first).step_by(2).collect();
            part.transform(body, &rows)
        };
        let (even, odd) = (rows(0), rows(1));
        let mut last = LastButterflyLevel::new(self, body, x.len());
        for (k, pair) in even.into_iter().zip(odd).enumerate() {
            let root = RadixConstant::Root(k as u32, x.len() as u32);
            let own = match self.factors.get(half - 1 + k) {
                Some(&w) => Some(w),
                None => (k > 0).then(|| [self.constants.operand(root); 2]),
            };
            last.butterfly(body, pair, own, [k, k + half]);
        }
        last.results
    }

    /// Computes a butterfly with the power of w at `index` of `powers`, whose first operand has been
    /// scaled.
    pub(super) fn level(
        &self,
        body: &mut BlockBody,
        pair: (BodyValue, BodyValue),
        index: usize,
        turned: bool,
        scale: f64,
    ) -> (BodyValue, BodyValue) {
        if self.mirrored && index == 0 {
            let one = self.constants.operand(RadixConstant::Complex(1.0));
            return mirror(body, pair, one);
        }
        if self.opposite {
            return self.opposite(body, pair, index, turned);
        }
        match (self.factors.get(index), index, turned) {
            (None, 0..=2, false) if scale == 1.0 => Self::sum(body, pair),
            _ => self.butterfly(body, pair, self.factor(index, scale), turned),
        }
    }

    /// Returns the power of w at `index` of `powers`, scaled where it is 1 or an eighth of a turn.
    pub(super) fn factor(&self, index: usize, scale: f64) -> [BodyOperand; 2] {
        let constant = match index {
            3 => root(scale),
            _ => RadixConstant::Complex(scale),
        };
        let own = || [self.constants.operand(constant); 2];
        self.factors.get(index).copied().unwrap_or_else(own)
    }

    /// Computes a butterfly of column L - c with the factors of column c. The factor of the first level is
    /// `-conj w`, those of the others are `-i conj w`, and the two of the last level of radix 8 change
    /// places.
    fn opposite(
        &self,
        body: &mut BlockBody,
        (x, y): (BodyValue, BodyValue),
        index: usize,
        turned: bool,
    ) -> (BodyValue, BodyValue) {
        let (name, index) = match (index, turned) {
            (0, _) => ("bflyc", 0),
            (1, false) => ("bflyci", 1),
            (1, true) => ("bflyc", 1),
            (i, false) => ("bflyci", 5 - i),
            (i, true) => ("bflyc", 5 - i),
        };
        // A missing factor is a bug, which the assembler finds: there is no such register.
        let missing = [BodyOperand::Pair(u8::MAX); 2];
        let w = self.factors.get(index).copied().unwrap_or(missing);
        let (d, e) = (body.quad(), body.quad());
        for (lane, w) in LANES.iter().zip(w) {
            body.op(name, &[lane(e), lane(d)], &[lane(x), lane(y), w]);
        }
        (d, e)
    }

    /// Computes `w^k x[k] +- w^(r-k) x[r-k]` of an odd radix, k = 1 .. h.
    pub(super) fn pairs(
        &self,
        body: &mut BlockBody,
        x: &[BodyValue],
    ) -> Vec<(BodyValue, BodyValue)> {
        let (r, h) = (x.len(), (x.len() - 1) / 2);
        let pair = |k| match (self.factors.get(k - 1), self.factors.get(r - k - 1)) {
            (Some(&near), Some(&far)) => {
                let near = self.product(body, x[k], near);
                self.butterfly(body, (near, x[r - k]), far, false)
            }
            _ => Self::sum(body, (x[k], x[r - k])),
        };
        (1..=h).map(pair).collect()
    }

    fn odd(&self, body: &mut BlockBody, x: &[BodyValue]) -> Vec<BodyValue> {
        let (r, h) = (x.len(), (x.len() - 1) / 2);
        let pairs = self.pairs(body, x);
        let mut zero = x[0];
        for &(a, _) in &pairs {
            zero = if self.scale == 1.0 {
                body.quad_op("add", &[BodyOperand::Whole(zero), BodyOperand::Whole(a)])
            } else {
                self.multiply_add(body, self.scale, a, zero)
            };
        }
        let mut y = vec![zero; r];
        for j in 1..=h {
            let mut m = x[0];
            for (k, &(a, _)) in (1..).zip(&pairs) {
                m = self.multiply_add(body, self.scale * angle(r, j * k).0, a, m);
            }
            let (pivot, sine, negative, others) = sines(r, j);
            let mut n = pairs[pivot - 1].1;
            for (k, ratio) in others {
                n = self.multiply_add(body, ratio, pairs[k - 1].1, n);
            }
            let sine = self
                .constants
                .operand(RadixConstant::Complex(self.scale * sine));
            let (minus, plus) = self.butterfly(body, (m, n), [sine; 2], true);
            (y[j], y[r - j]) = if negative {
                (plus, minus)
            } else {
                (minus, plus)
            };
        }
        y
    }
}
