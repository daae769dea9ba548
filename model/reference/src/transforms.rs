//! The least counts of known algorithms for one complex transform.
//!
//! The search is a memoised recursion over the factorisations of a length. Every length has two counts: one
//! of the plain transform, and one of the transform whose inputs but the first have constant factors
//! (`twiddled`), as in the second stage of a mixed-radix transform, where products are part of butterflies.
//! Whether a butterfly with a factor is one issue or two depends on the machine. So the search is done for
//! several fixed prices of it, and each machine takes the best of all results.

use crate::count::Count;
use std::collections::HashMap;

/// The set of methods that a count uses, one bit for each of [`MEANS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Means(u16);

/// Names and sources of methods, in the order in which a method's text names them.
const MEANS: [(&str, &str); 8] = [
    (
        "Rader",
        "Rader, Discrete Fourier transforms when the number of data samples is prime, Proc. IEEE 56 (1968)",
    ),
    (
        "Rader by a longer convolution",
        "Rader (1968); Frigo, Johnson, The design and implementation of FFTW3, Proc. IEEE 93 (2005)",
    ),
    (
        "Bluestein",
        "Bluestein, A linear filtering approach to the computation of the discrete Fourier transform, IEEE Trans. AU 18 (1970)",
    ),
    (
        "Good-Thomas",
        "Good, The interaction algorithm and practical Fourier analysis, J. R. Stat. Soc. B 20 (1958); Thomas, Using a computer to solve problems in physics (1963)",
    ),
    (
        "split radix",
        "Duhamel, Hollmann, Split radix FFT algorithm, Electron. Lett. 20 (1984)",
    ),
    (
        "mixed radix",
        "Cooley, Tukey, An algorithm for the machine calculation of complex Fourier series, Math. Comp. 19 (1965)",
    ),
    (
        "odd radix",
        "Singleton, An algorithm for computing the mixed radix fast Fourier transform, IEEE Trans. AU 17 (1969)",
    ),
    (
        "radix 2",
        "Cooley, Tukey, An algorithm for the machine calculation of complex Fourier series, Math. Comp. 19 (1965)",
    ),
];
const RADER: Means = Means(1);
const PADDED: Means = Means(2);
const BLUESTEIN: Means = Means(4);
const COPRIME: Means = Means(8);
const SPLIT: Means = Means(16);
const MIXED: Means = Means(32);
const ODD: Means = Means(64);
const TWO: Means = Means(128);

impl Means {
    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn used(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let named = move |i: usize| self.0 >> i & 1 == 1;
        let radices = MIXED.0 | COPRIME.0 | SPLIT.0 | RADER.0 | PADDED.0 | BLUESTEIN.0;
        // Radices are named only if no other method is used.
        let alone = self.0 & radices == 0;
        let shown = move |i: usize| named(i) && (i < 6 || alone);
        MEANS
            .iter()
            .enumerate()
            .filter(move |(i, _)| shown(*i))
            .map(|(_, means)| *means)
    }

    pub(crate) fn method(self) -> String {
        let names: Vec<_> = self.used().map(|(name, _)| name).collect();
        match names.is_empty() {
            true => "nothing to compute".to_owned(),
            false => names.join(" x "),
        }
    }

    pub(crate) fn source(self) -> String {
        let sources: Vec<_> = self.used().map(|(_, source)| source).collect();
        sources.join("; ")
    }
}

/// The count of a length and the methods that it uses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Way {
    pub(crate) count: Count,
    pub(crate) means: Means,
}

impl Way {
    fn of(count: Count, means: Means) -> Self {
        Self { count, means }
    }

    fn and(self, other: Self) -> Self {
        Self::of(self.count + other.count, self.means.with(other.means))
    }

    fn times(self, times: u64) -> Self {
        match times {
            0 => Self::default(),
            _ => Self::of(self.count * times as f64, self.means),
        }
    }

    fn by(self, means: Means) -> Self {
        Self::of(self.count, self.means.with(means))
    }

    fn products(self, products: f64) -> Self {
        let count = Count {
            products,
            ..Count::default()
        };
        Self::of(self.count + count, self.means)
    }
}

/// Prices of a butterfly with a factor, and of a product or multiply-add, in issues of other operations.
/// Prices direct the search only: for every machine the results of all prices are compared at its own costs.
const PRICES: [(f64, f64); 6] = [
    (1.0, 1.0),
    (1.3, 1.0),
    (1.5, 1.0),
    (2.0, 1.0),
    (1.0, 3.0),
    (3.0, 3.0),
];

/// Odd numbers whose multiples by powers of two are searched as lengths of convolutions.
const SMOOTH: [u64; 14] = [1, 3, 5, 7, 9, 15, 21, 25, 27, 35, 45, 63, 75, 105];

/// Largest odd prime whose transform is searched by sums and differences of pairs of inputs, which take a
/// number of operations quadratic in the prime.
const LARGEST_ODD: u64 = 64;

/// Search for the least counts at one price.
pub(crate) struct Search {
    price: (f64, f64),
    plain: HashMap<u64, Way>,
    twiddled: HashMap<u64, Way>,
}

/// Returns one search for each price.
pub(crate) fn searches() -> Vec<Search> {
    let made = PRICES.into_iter().map(|price| Search {
        price,
        plain: HashMap::new(),
        twiddled: HashMap::new(),
    });
    made.collect()
}

/// Returns the prime factors of a number, each with its power, as pairs `(p, p^k)`.
pub(crate) fn factors(mut n: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut p = 2;
    while p * p <= n {
        let mut power = 1;
        while n.is_multiple_of(p) {
            n /= p;
            power *= p;
        }
        if power > 1 {
            found.push((p, power));
        }
        p += 1;
    }
    if n > 1 {
        found.push((n, n));
    }
    found
}

impl Search {
    fn cost(&self, way: &Way) -> f64 {
        let c = &way.count;
        let (twiddled, product) = self.price;
        twiddled * c.twiddled + product * (c.products + c.madds) + c.plain + c.adds
    }

    fn best(&self, ways: impl IntoIterator<Item = Way>) -> Way {
        let ways = ways.into_iter();
        let best = ways.min_by(|a, b| self.cost(a).total_cmp(&self.cost(b)));
        best.unwrap_or_default()
    }

    /// Returns the least count of one plain transform of `n` numbers.
    pub(crate) fn plain(&mut self, n: u64) -> Way {
        if n <= 1 {
            return Way::default();
        }
        if let Some(known) = self.plain.get(&n) {
            return *known;
        }
        let mut ways = short(n).into_iter().collect::<Vec<_>>();
        let factors = factors(n);
        match factors[..] {
            [(p, q)] if p == q => ways.extend(self.prime(n)),
            _ => {
                for &(p, q) in &factors {
                    if q < n {
                        let (a, b) = (q, n / q);
                        let both = self.plain(a).times(b).and(self.plain(b).times(a));
                        ways.push(both.by(COPRIME));
                    }
                    for a in [p, p * p, p * p * p] {
                        if n.is_multiple_of(a) && a < n {
                            ways.extend(self.mixed(a, n / a));
                            ways.extend(self.mixed(n / a, a));
                        }
                    }
                }
                if n.is_power_of_two() {
                    ways.push(self.split(n));
                }
                if factors.iter().any(|&(p, _)| p > LARGEST_ODD) {
                    ways.extend(self.bluestein(n));
                }
            }
        }
        let best = self.best(ways);
        self.plain.insert(n, best);
        best
    }

    /// Counts a Cooley-Tukey step: `b` transforms of `a` numbers, then `a` of `b`, all but one of which have
    /// factors.
    fn mixed(&mut self, a: u64, b: u64) -> [Way; 1] {
        let means = if (a * b).is_power_of_two() {
            TWO
        } else {
            MIXED
        };
        let columns = self.plain(a).times(b);
        let rows = self.plain(b).and(self.twiddled(b).times(a - 1));
        [columns.and(rows).by(means)]
    }

    /// Counts split radix for a power of two: a half-length transform of the even inputs, two quarter-length
    /// ones of the odd inputs, and n/4 butterflies of four numbers with two products each (the first
    /// without).
    fn split(&mut self, n: u64) -> Way {
        let quarter = n / 4;
        let parts = self.plain(n / 2).and(self.plain(quarter).times(2));
        let butterflies = Way::of(
            Count {
                plain: 3.0 * quarter as f64,
                products: 2.0 * (quarter - 1) as f64,
                ..Count::default()
            },
            SPLIT,
        );
        parts.and(butterflies)
    }

    /// Returns the least count of a transform whose inputs but the first have factors.
    fn twiddled(&mut self, n: u64) -> Way {
        if n <= 1 {
            return Way::default();
        }
        if let Some(known) = self.twiddled.get(&n) {
            return *known;
        }
        let mut ways = vec![self.plain(n).products((n - 1) as f64)];
        if n == 2 {
            ways.push(butterflies(1.0));
        }
        let factors = factors(n);
        match factors[..] {
            [(p, q)] if p == q => ways.extend(odd(p, true)),
            _ => {
                for (p, _) in factors {
                    // A factor common to a whole column multiplies one of its results, and is merged into the
                    // next stage's factors.
                    let (a, b) = (p, n / p);
                    ways.push(self.twiddled(a).times(b).and(self.twiddled(b).times(a)));
                }
            }
        }
        let best = self.best(ways);
        self.twiddled.insert(n, best);
        best
    }

    /// Returns the least count of a transform of an even length whose inputs all have arbitrary factors: half
    /// of the products are part of the first butterflies.
    pub(crate) fn scaled(&mut self, n: u64) -> Way {
        let all = self.plain(n).products(n as f64);
        if n < 2 || !n.is_multiple_of(2) {
            return all;
        }
        let half = n / 2;
        let first = butterflies(half as f64).products(half as f64);
        let rest = match half % 2 {
            1 => self.plain(half).times(2).by(COPRIME),
            _ => self.plain(half).and(self.twiddled(half)).by(TWO),
        };
        self.best([all, first.and(rest)])
    }

    /// Counts the algorithms for a prime length: pairs of inputs, and Rader's convolution of p - 1 numbers.
    fn prime(&mut self, p: u64) -> Vec<Way> {
        let mut ways = odd(p, false).into_iter().collect::<Vec<_>>();
        if p > 3 {
            // The factors but the first have equal absolute values: one needs a product, and all others are
            // part of butterflies.
            let riding = self.twiddled(p - 1).products(1.0);
            let scaled = self.scaled(p - 1);
            let back = self.best([riding, scaled]);
            // An addition for the first output; the first input is added in the product of the convolution's
            // zeroth frequency.
            let sum = Way::of(
                Count {
                    adds: 0.5,
                    ..Count::default()
                },
                RADER,
            );
            ways.push(self.plain(p - 1).and(back).and(sum));
            // Lengths of longer convolutions have the primes up to 7 as factors, whose own search must not
            // recurse here.
            if p > 7 {
                let longer = self.convolution(2 * p - 3);
                ways.push(longer.and(sum).by(PADDED));
            }
        }
        ways
    }

    /// Counts a circular convolution with constants of at least `least` numbers.
    fn convolution(&mut self, least: u64) -> Way {
        let most = least.next_power_of_two();
        let mut lengths = Vec::new();
        for odd in SMOOTH {
            let mut m = 2 * odd;
            while m < least {
                m *= 2;
            }
            if m <= most {
                lengths.push(m);
            }
        }
        let ways: Vec<_> = lengths
            .into_iter()
            .map(|m| self.plain(m).and(self.scaled(m)))
            .collect();
        self.best(ways)
    }

    /// Counts Bluestein's algorithm: a convolution with a chirp, and products with the chirp before and after
    /// it.
    fn bluestein(&mut self, n: u64) -> [Way; 1] {
        let convolution = self.convolution(2 * n - 1);
        [convolution.products(2.0 * n as f64).by(BLUESTEIN)]
    }
}

fn butterflies(twiddled: f64) -> Way {
    let count = Count {
        twiddled,
        ..Count::default()
    };
    Way::of(count, TWO)
}

/// Counts transforms whose factors are multiples of an eighth of a turn.
fn short(n: u64) -> Option<Way> {
    let (plain, twiddled) = match n {
        2 => (1.0, 0.0),
        4 => (4.0, 0.0),
        8 => (10.0, 2.0),
        _ => return None,
    };
    let count = Count {
        plain,
        twiddled,
        ..Count::default()
    };
    Some(Way::of(count, TWO))
}

/// Counts an odd prime p = 2h + 1 by sums and differences of pairs of inputs: h butterflies; h complex sums
/// for the first output; h^2 products of sums with cosines and h (h - 1) of differences with sines, as the
/// first of each row is a factor of the last h butterflies. Two transforms share an issue of quads. With
/// `factors` there are h products more, and the first butterflies take the other factors.
fn odd(p: u64, factors: bool) -> Option<Way> {
    if p.is_multiple_of(2) || p > LARGEST_ODD {
        return None;
    }
    let h = ((p - 1) / 2) as f64;
    let (with, without) = if factors { (h, 0.0) } else { (0.0, h) };
    let count = Count {
        twiddled: with + h,
        plain: without,
        products: with,
        adds: h / 2.0,
        madds: h * h - h / 2.0,
        ..Count::default()
    };
    Some(Way::of(count, ODD))
}
