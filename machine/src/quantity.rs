//! Kinds of quantities: their units, and exact conversion to and from text.

use crate::{Extensions, Ratio};

/// The kind of quantity a parameter holds, which fixes its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A frequency, kept in Hz.
    Frequency,
    /// A memory size, kept in bytes.
    Size,
    /// CP2 clock cycles.
    Cycles,
    /// Bytes per CP2 cycle, exact.
    Bandwidth,
    /// A duration, kept in picoseconds.
    Duration,
    /// Symbols a second of a line, kept in baud.
    SymbolRate,
    /// An exact fraction of the named things.
    Fraction(&'static str),
    /// One of these names, kept as its number.
    Choice(&'static [&'static str]),
    /// A count of the named things.
    Count(&'static str),
    /// A list of extension names.
    Names,
}

/// A parameter's value in the base unit of its [`Quantity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Integer(u64),
    /// An exact fraction.
    Ratio(Ratio),
    /// A set of extensions.
    Names(Extensions),
}

const FREQUENCY: &[(&str, u64)] = &[
    ("Hz", 1),
    ("kHz", 1_000),
    ("MHz", 1_000_000),
    ("GHz", 1_000_000_000),
];
const DURATION: &[(&str, u64)] = &[("ps", 1), ("ns", 1_000), ("us", 1_000_000)];
const SYMBOL_RATE: &[(&str, u64)] = &[
    ("baud", 1),
    ("kbaud", 1_000),
    ("Mbaud", 1_000_000),
    ("Gbaud", 1_000_000_000),
];
const SIZE: &[(&str, u64)] = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

impl Quantity {
    /// Unit names and their size in the base unit, smallest first; empty for names.
    #[must_use]
    pub fn units(self) -> Vec<(&'static str, u64)> {
        match self {
            Self::Frequency => FREQUENCY.to_vec(),
            Self::Size => SIZE.to_vec(),
            Self::Cycles => vec![("cycles", 1)],
            Self::Bandwidth => vec![("B/cycle", 1)],
            Self::Duration => DURATION.to_vec(),
            Self::SymbolRate => SYMBOL_RATE.to_vec(),
            Self::Count(unit) | Self::Fraction(unit) => vec![(unit, 1)],
            Self::Names | Self::Choice(_) => Vec::new(),
        }
    }

    /// True if values may be fractions.
    #[must_use]
    pub fn is_fractional(self) -> bool {
        matches!(self, Self::Bandwidth | Self::Fraction(_))
    }

    /// Formats the value for people: the number as text and the largest unit in which it is whole.
    #[must_use]
    pub fn format(self, value: Value) -> (String, &'static str) {
        let units = self.units();
        if let (Self::Choice(names), Value::Integer(v)) = (self, value) {
            let name = usize::try_from(v).ok().and_then(|v| names.get(v));
            return (name.copied().unwrap_or_default().to_owned(), "");
        }
        match value {
            Value::Integer(v) => {
                let whole = |&&(_, scale): &&(&str, u64)| v != 0 && v % scale == 0;
                let (unit, scale) = units
                    .iter()
                    .rev()
                    .find(whole)
                    .or(units.first())
                    .copied()
                    .unwrap_or(("", 1));
                ((v / scale).to_string(), unit)
            }
            Value::Ratio(r) => (format_ratio(r), units.first().map_or("", |u| u.0)),
            Value::Names(set) => (set.names().collect::<Vec<_>>().join(", "), ""),
        }
    }
}

/// Formats `64/5` as `12.8`; a fraction without a finite decimal expansion stays a fraction.
fn format_ratio(r: Ratio) -> String {
    let (num, den) = (u128::from(r.num), u128::from(r.den.max(1)));
    let mut scale = 1u128;
    for places in 0..=18usize {
        if scale.is_multiple_of(den) {
            let digits = num * (scale / den);
            if places == 0 {
                return digits.to_string();
            }
            return format!("{}.{:0places$}", digits / scale, digits % scale);
        }
        scale *= 10;
    }
    format!("{num}/{den}")
}

/// Reads a decimal number (`12.8`, `1e9`, `2_000`) or a fraction (`32/3`) exactly, as numerator and
/// denominator. Returns none for anything else, including negative numbers and numbers of more than 30
/// digits.
pub(crate) fn parse_exact(text: &str) -> Option<(u128, u128)> {
    if let Some((num, den)) = text.split_once('/') {
        let whole = |t: &str| t.trim().parse::<u64>().ok().map(u128::from);
        return whole(den)
            .filter(|&d| d > 0)
            .and_then(|d| Some((whole(num)?, d)));
    }
    let text = text.replace('_', "");
    let text = text.strip_prefix('+').unwrap_or(&text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    if whole.is_empty() || digits.len() > 30 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let power = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let scale = 10u128.checked_pow(power.unsigned_abs())?;
    let digits: u128 = digits.parse().ok()?;
    if power >= 0 {
        Some((digits.checked_mul(scale)?, 1))
    } else {
        Some((digits, scale))
    }
}

/// Returns `num / den * scale` as a value of the quantity; none if it does not fit, or is a fraction where
/// only whole numbers are meaningful.
pub(crate) fn scaled(quantity: Quantity, num: u128, den: u128, scale: u64) -> Option<Value> {
    let num = num.checked_mul(u128::from(scale))?;
    let g = gcd(num, den).max(1);
    let (num, den) = (u64::try_from(num / g).ok()?, u64::try_from(den / g).ok()?);
    match (quantity.is_fractional(), den) {
        (true, _) => Ratio::new(num, den).map(Value::Ratio),
        (false, 1) => Some(Value::Integer(num)),
        (false, _) => None,
    }
}

/// Returns the greatest common divisor; `gcd(0, n) = n`.
pub(crate) fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // 64-bit divisions are several times faster than 128-bit ones, and every event asks for time bases.
        let rest = match (u64::try_from(a), u64::try_from(b)) {
            (Ok(a), Ok(b)) => u128::from(a % b),
            _ => a % b,
        };
        (a, b) = (b, rest);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parse_exact("12.8"), Some((128, 10)));
        assert_eq!(parse_exact("12.800"), Some((128, 10)));
        assert_eq!(parse_exact("1e3"), Some((1000, 1)));
        assert_eq!(parse_exact("1.5e3"), Some((1500, 1)));
        assert_eq!(parse_exact("25e-1"), Some((25, 10)));
        assert_eq!(parse_exact("32/3"), Some((32, 3)));
        for bad in [
            "-1",
            "nan",
            "inf",
            "1/0",
            "",
            ".5",
            "1e999",
            "1e-2147483648",
            "0x10",
            "1.-5",
        ] {
            assert_eq!(parse_exact(bad), None, "{bad}");
        }
    }

    #[test]
    fn fractions_of_whole_quantities_are_refused() {
        assert_eq!(scaled(Quantity::Size, 3, 2, 1), None);
        assert_eq!(
            scaled(Quantity::Size, 3, 2, 1024),
            Some(Value::Integer(1536))
        );
        assert_eq!(
            scaled(Quantity::Frequency, u128::from(u64::MAX), 1, 1000),
            None
        );
    }

    #[test]
    fn ratios_print_as_decimals_where_they_can() {
        let text = |n, d| format_ratio(Ratio::new(n, d).unwrap());
        assert_eq!(text(64, 5), "12.8");
        assert_eq!(text(16, 1), "16");
        assert_eq!(text(1, 8), "0.125");
        assert_eq!(text(32, 3), "32/3");
        assert_eq!(text(101, 100), "1.01");
    }
}
