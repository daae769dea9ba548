//! Operations of an algorithm, and the cycles that a section takes for them.

use cp2_machine::{Class, Machine};
use std::ops::{Add, Mul};

/// Format of the numbers that an algorithm computes with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberFormat {
    /// IEEE 754 binary32: a quad is four numbers, a pair is a complex one.
    #[default]
    Binary32,
    /// Sums of two binary32, on machines with `double-single`. Each operation counts as one on the upper parts, which a
    /// quad holds four of: a lower bound of every sequence of operations that computes a sum or a product.
    DoubleSingle,
    /// IEEE 754 binary64, on machines with `double`: a quad is two numbers, or a complex one.
    Binary64,
}

impl NumberFormat {
    /// Returns the bytes of a real number.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Binary32 => 4,
            Self::DoubleSingle | Self::Binary64 => 8,
        }
    }

    /// Returns the real numbers that an operation on a quad computes.
    #[must_use]
    pub fn numbers_of_quad(self) -> u64 {
        match self {
            Self::Binary32 | Self::DoubleSingle => 4,
            Self::Binary64 => 2,
        }
    }
}

/// Operation counts of an algorithm, in issues of one section. They are fractions: if two transforms share an
/// issue, each has a half.
///
/// An operation that several units can do is counted by its kind, not by the unit: [`Count::cycles`]
/// distributes it for the units of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    /// Butterflies x + yw, x - yw with a factor. Each is one issue of the butterfly unit; or a multiply-add
    /// and a multiply-subtract; or a product and an issue of quad adds.
    pub twiddled: f64,
    /// Butterflies with a power of i as factor. Each is an issue of the butterfly unit or of quad adds.
    pub plain: f64,
    /// Complex products and multiply-adds. Each is an issue of the multiply-adders, or of the butterfly unit,
    /// half of whose results are used.
    pub products: f64,
    /// Quads of additions. Each is an issue of the adders, or of the multiply-adders with a factor of one.
    pub adds: f64,
    /// Quads of real multiply-adds. Each is an issue of the multiply-adders, or a product and a sum, both by
    /// the adders, which multiply too.
    pub madds: f64,
    /// Permutes, selections and bit operations.
    pub integer: f64,
    /// Pairs of elementary functions.
    pub elementary: f64,
}

impl Add for Count {
    type Output = Self;
    fn add(self, b: Self) -> Self {
        Self {
            twiddled: self.twiddled + b.twiddled,
            plain: self.plain + b.plain,
            products: self.products + b.products,
            adds: self.adds + b.adds,
            madds: self.madds + b.madds,
            integer: self.integer + b.integer,
            elementary: self.elementary + b.elementary,
        }
    }
}

impl Mul<f64> for Count {
    type Output = Self;
    fn mul(self, times: f64) -> Self {
        Self {
            twiddled: self.twiddled * times,
            plain: self.plain * times,
            products: self.products * times,
            adds: self.adds * times,
            madds: self.madds * times,
            integer: self.integer * times,
            elementary: self.elementary * times,
        }
    }
}

/// Cycles between two issues of each unit.
struct Units {
    butterfly: f64,
    madd: f64,
    add: f64,
    integer: f64,
    elementary: f64,
}

impl Units {
    fn of(machine: &Machine, format: NumberFormat) -> Self {
        let every = |class| machine.cp2.interval[class].0.max(1) as f64;
        let [butterfly, madd, add] = match format {
            NumberFormat::Binary32 | NumberFormat::DoubleSingle => {
                [Class::Butterfly, Class::Madd, Class::Add]
            }
            NumberFormat::Binary64 => [Class::DoubleComplex, Class::DoubleMadd, Class::DoubleAdd],
        };
        Self {
            butterfly: every(butterfly),
            madd: every(madd),
            add: every(add),
            integer: every(Class::Integer),
            elementary: every(Class::Elementary),
        }
    }
}

impl Count {
    /// Returns the number of issues if every operation is one issue: the cycles on a machine whose units all
    /// take an operation every cycle.
    #[must_use]
    pub fn issues(&self) -> f64 {
        self.twiddled
            + self.plain
            + self.products
            + self.adds
            + self.madds
            + self.integer
            + self.elementary
    }

    /// Returns the fewest cycles of one section: one issue a cycle, each unit at its interval.
    ///
    /// Butterflies with factors go to the butterfly unit as far as it has time, as multiply-adders need two
    /// issues for one. Products and plain butterflies, which other units do in one issue, take the rest of
    /// its time. The fewest cycles for which the work fits are found by bisection.
    #[must_use]
    pub fn cycles(&self, machine: &Machine) -> f64 {
        self.cycles_of(NumberFormat::Binary32, machine)
    }

    /// Returns the fewest cycles of one section, as [`Count::cycles`] does, for operations on numbers of a format.
    #[must_use]
    pub fn cycles_of(&self, format: NumberFormat, machine: &Machine) -> f64 {
        let units = Units::of(machine, format);
        let easy = self.issues().max(0.0);
        if self.fits(&units, easy) {
            return easy;
        }
        let (mut less, mut more) = (easy, easy.max(1.0));
        while !self.fits(&units, more) {
            (less, more) = (more, 2.0 * more);
        }
        // 64 halvings are more than the bits of a double's significand.
        for _ in 0..64 {
            let middle = f64::midpoint(less, more);
            match self.fits(&units, middle) {
                true => more = middle,
                false => less = middle,
            }
        }
        more
    }

    /// Returns true if the units can do everything in `cycles` cycles.
    fn fits(&self, units: &Units, cycles: f64) -> bool {
        // The tolerance covers the rounding of floating-point sums.
        let within = |what: f64, most: f64| what <= most * (1.0 + 1e-12) + 1e-9;
        let room = cycles / units.butterfly;
        let twiddled = self.twiddled.min(room);
        let products = self.products.min(room - twiddled);
        let plain = self.plain.min(room - twiddled - products);
        // A butterfly for which its unit has no time takes two issues: one of the multiply-adders, and one of
        // either the adders or the multiply-adders.
        let rest = self.twiddled - twiddled;
        let multiplied = self.products - products + self.madds + rest;
        let added = self.adds + self.plain - plain + rest;
        // Real multiply-adds for which the multiply-adders have no time are split into a product and a sum,
        // both by the adders.
        let apart = (multiplied - cycles / units.madd).clamp(0.0, self.madds);
        let (multiplied, added) = (multiplied - apart, added + 2.0 * apart);
        let issues =
            twiddled + plain + products + multiplied + added + self.integer + self.elementary;
        within(multiplied, cycles / units.madd)
            && within(multiplied + added, cycles / units.madd + cycles / units.add)
            && within(self.integer, cycles / units.integer)
            && within(self.elementary, cycles / units.elementary)
            && within(issues, cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(intervals: &[(&str, u64)]) -> Machine {
        let lines = intervals.iter().map(|(unit, cycles)| {
            format!("interval.{unit} = {{ value = {cycles}, unit = \"cycles\" }}\n")
        });
        let text = format!("base = \"vm7\"\n[cp2]\n{}", lines.collect::<String>());
        Machine::parse("changed", &text).unwrap_or_else(|e| panic!("{e}"))
    }

    /// While a butterfly is issued every third cycle, there is time for a multiply-add and a
    /// multiply-subtract, which do another one.
    #[test]
    fn slow_butterflies_are_helped_by_the_multiply_adders() {
        let count = Count {
            twiddled: 300.0,
            ..Count::default()
        };
        let took = |interval| count.cycles(&machine(&[("butterfly", interval)])).round();
        assert_eq!([1, 2, 3, 1000].map(took), [300.0, 400.0, 450.0, 599.0]);
    }

    /// Compares the greedy distribution with every integer distribution of the work among the units.
    #[test]
    fn no_split_of_the_work_is_faster() {
        for intervals in [
            [1, 1, 1],
            [2, 1, 1],
            [3, 1, 1],
            [3, 2, 1],
            [4, 1, 5],
            [7, 3, 2],
        ] {
            let [b, m, a] = intervals;
            let units = machine(&[("butterfly", b), ("madd", m), ("add", a)]);
            for (t, p, c, q, r) in [
                (6, 2, 3, 4, 5),
                (12, 0, 0, 0, 0),
                (0, 8, 4, 2, 1),
                (3, 3, 9, 0, 2),
            ] {
                let count = Count {
                    twiddled: f64::from(t),
                    plain: f64::from(p),
                    products: f64::from(c),
                    adds: f64::from(q),
                    madds: f64::from(r),
                    ..Count::default()
                };
                let mut least = f64::INFINITY;
                for on in 0..=t {
                    for plain in 0..=p {
                        for products in 0..=c {
                            let rest = t - on;
                            // `x` issues of work that either unit can do go to the adders, and `y`
                            // multiply-adds are split.
                            let both = (0..=rest + p - plain + q)
                                .flat_map(|x| (0..=r).map(move |y| (x, y)));
                            for (adders, apart) in both {
                                let either = rest + p - plain + q - adders;
                                let butterflies = on + plain + products;
                                let madds = rest + c - products + r - apart + either;
                                let adders = adders + 2 * apart;
                                let slots = butterflies + madds + adders;
                                let time = [
                                    butterflies * b as i32,
                                    madds * m as i32,
                                    adders * a as i32,
                                    slots,
                                ];
                                let time = time.into_iter().max().unwrap_or(0);
                                least = least.min(f64::from(time));
                            }
                        }
                    }
                }
                let greedy = count.cycles(&units);
                // Whole operations take up to an interval of each unit longer than fractions of operations.
                assert!(
                    greedy <= least + 1e-6,
                    "{intervals:?} {count:?}: {greedy} {least}"
                );
                assert!(
                    greedy + 2.0 * 7.0 >= least,
                    "{intervals:?}: {greedy} {least}"
                );
            }
        }
    }
}
