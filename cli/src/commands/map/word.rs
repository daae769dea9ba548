//! Words of a kernel's argument block, as users write them.

use std::fmt;
use std::str::FromStr;

/// A 32-bit word: an integer, in two's complement if negative, or the bits of a float32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapWord(pub(crate) u32);

/// Error for a text that is no 32-bit word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("found `{found}`; expected {expected}")]
pub(crate) struct NoWord {
    found: String,
    expected: &'static str,
}

impl NoWord {
    fn new(found: &str, expected: &'static str) -> Self {
        Self {
            found: found.to_owned(),
            expected,
        }
    }
}

/// Range of an integer, for messages.
const INTEGER: &str = "-2147483648 to 4294967295: an integer is 32 bits";
/// Range of a decimal number, for messages.
const FLOAT: &str =
    "a number that float32 can hold: its largest is 3.4028235e38, its least above 0 1e-45";
const ANY: &str = "an integer such as -1 or 0x10, or for the bits of a float32 a decimal number such as 0.375 or 1e-3";

impl FromStr for MapWord {
    type Err = NoWord;

    fn from_str(text: &str) -> Result<Self, NoWord> {
        let prefixes = [("0x", 16), ("0o", 8), ("0b", 2)];
        let prefixed = prefixes
            .iter()
            .find_map(|(prefix, radix)| Some((text.strip_prefix(prefix)?, *radix)));
        if let Some((digits, radix)) = prefixed {
            let sign = digits.starts_with(['+', '-']);
            let number = u64::from_str_radix(digits, radix).ok().filter(|_| !sign);
            let number = number.ok_or_else(|| NoWord::new(text, ANY))?;
            let word = u32::try_from(number);
            return word.map(Self).map_err(|_| NoWord::new(text, INTEGER));
        }
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
            let number = text.parse().ok().and_then(|number: i64| match number < 0 {
                true => i32::try_from(number).ok().map(i32::cast_unsigned),
                false => u32::try_from(number).ok(),
            });
            return number.map(Self).ok_or_else(|| NoWord::new(text, INTEGER));
        }
        let number: f32 = text.parse().map_err(|_| NoWord::new(text, ANY))?;
        // An infinity written by name is accepted; a decimal number that overflows to it, or underflows to 0,
        // is not.
        let named = digits.starts_with(|c: char| c.is_ascii_alphabetic());
        let mut mantissa = digits.bytes().take_while(|b| !b"eE".contains(b));
        let zero = !mantissa.any(|b| (b'1'..=b'9').contains(&b));
        let lost = (number.is_infinite() && !named) || (number == 0.0 && !zero);
        match lost {
            true => Err(NoWord::new(text, FLOAT)),
            false => Ok(Self(number.to_bits())),
        }
    }
}

impl fmt::Display for MapWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn word(text: &str) -> Option<u32> {
        text.parse::<MapWord>().ok().map(|word| word.0)
    }

    #[test]
    fn words_are_integers_or_the_bits_of_floats() {
        for (text, bits) in [
            ("5", 5),
            ("+5", 5),
            ("-1", u32::MAX),
            ("-2147483648", 1 << 31),
            ("4294967295", u32::MAX),
            ("0x40200000", 0x4020_0000),
            ("0b101", 5),
            ("0o17", 15),
            ("2.5", 0x4020_0000),
            ("25e-1", 0x4020_0000),
            ("-0.0", 1 << 31),
            ("0.0", 0),
            ("inf", 0x7f80_0000),
            ("-inf", 0xff80_0000),
            ("1e-45", 1),
        ] {
            assert_eq!(word(text), Some(bits), "{text}");
        }
        for text in [
            "",
            "x",
            "4294967296",
            "-2147483649",
            "99999999999999999999",
            "0x",
            "0x100000000",
            "0x-1",
            "1e39",
            "1e-50",
            "1e-400",
            "1e999",
            "0.375 ",
            "'1'",
            "1_0",
            "+",
            "--1",
        ] {
            assert_eq!(word(text), None, "{text}");
        }
        assert!(word("nan").is_some_and(|bits| f32::from_bits(bits).is_nan()));
    }

    proptest! {
        #[test]
        fn every_integer_and_every_float_is_a_word(bits in any::<u32>()) {
            prop_assert_eq!(word(&bits.to_string()), Some(bits));
            prop_assert_eq!(word(&bits.cast_signed().to_string()), Some(bits));
            prop_assert_eq!(word(&format!("{bits:#x}")), Some(bits));
            let float = f32::from_bits(bits);
            if !float.is_nan() {
                prop_assert_eq!(word(&format!("{float:e}")), Some(bits));
                prop_assert_eq!(word(&format!("{float:?}")), Some(bits));
            }
        }
    }
}
