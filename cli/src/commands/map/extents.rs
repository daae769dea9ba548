//! Extents of blocks and halos: `8`, `8x64`, `4x8x64`, slowest axis first.

use std::fmt;
use std::str::FromStr;

/// One to three extents, slowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extents(pub(crate) Vec<u64>);

impl FromStr for Extents {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split('x').map(str::parse);
        match parts.collect::<Result<Vec<u64>, _>>() {
            Ok(parts) if parts.len() <= 3 => Ok(Self(parts)),
            _ => Err(
                "expected one to three numbers with x between them, slowest axis first, as 8x64"
                    .to_owned(),
            ),
        }
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(u64::to_string).collect();
        f.write_str(&parts.join("x"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_read_slowest_first() {
        assert_eq!("8x64".parse(), Ok(Extents(vec![8, 64])));
        assert_eq!("7".parse(), Ok(Extents(vec![7])));
        for wrong in ["", "8x", "x", "1x2x3x4", "-1", "8 x 4", "8X4"] {
            assert!(wrong.parse::<Extents>().is_err(), "{wrong}");
        }
    }
}
