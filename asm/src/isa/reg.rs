//! Register names and sets.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// Number of shared 32-bit scalar registers. The flat order is `a0..a15`, `s0..s15`, `c0..c15`, `b0..b7`,
/// `l0..l7`.
pub const SCALARS: usize = 64;

/// A shared scalar register by flat index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scalar(pub u8);

/// Prefix, first flat index and number of each bank of scalar registers.
const BANKS: [(&str, u8, u8); 5] = [
    ("a", 0, 16),
    ("s", 16, 16),
    ("c", 32, 16),
    ("b", 48, 8),
    ("l", 56, 8),
];

impl Scalar {
    /// Returns address register `a<i>`.
    #[must_use]
    pub const fn address(i: u8) -> Self {
        Self(i)
    }

    /// Returns step register `s<i>`.
    #[must_use]
    pub const fn step(i: u8) -> Self {
        Self(16 + i)
    }

    /// Returns control register `c<i>`.
    #[must_use]
    pub const fn control(i: u8) -> Self {
        Self(32 + i)
    }

    /// Returns the modulo base `b<i>` of address register `a<i>`, `i < 8`.
    #[must_use]
    pub const fn base(i: u8) -> Self {
        Self(48 + i)
    }

    /// Returns the modulo length `l<i>` of address register `a<i>`, `i < 8`.
    #[must_use]
    pub const fn length(i: u8) -> Self {
        Self(56 + i)
    }

    /// Finds the register called `name`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        BANKS.iter().find_map(|&(prefix, first, count)| {
            let digits = name.strip_prefix(prefix)?;
            index(digits, count).map(|i| Self(first + i))
        })
    }

    /// Returns the register as a member of a [`RegSet`].
    #[must_use]
    pub const fn reg(self) -> Reg {
        Reg(64 + self.0)
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (prefix, first, count) in BANKS {
            if (first..first + count).contains(&self.0) {
                return write!(f, "{prefix}{}", self.0 - first);
            }
        }
        write!(f, "x{}", self.0)
    }
}

/// Reads a decimal index below `count`, without sign or leading zeros.
pub(crate) fn index(digits: &str, count: u8) -> Option<u8> {
    let plain = digits.len() <= 2 && digits.bytes().all(|b| b.is_ascii_digit());
    let canonical = digits == "0" || !digits.starts_with('0');
    digits
        .parse()
        .ok()
        .filter(|&i: &u8| plain && canonical && i < count)
}

/// Any register, flat: 0..64 section pairs, 64..128 shared scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u8);

impl Reg {
    /// Returns section register `r<i>`.
    #[must_use]
    pub const fn pair(i: u8) -> Self {
        Self(i)
    }
}

impl fmt::Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 64 {
            write!(f, "r{}", self.0)
        } else {
            Scalar(self.0 - 64).fmt(f)
        }
    }
}

/// A set of registers: one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RegSet(pub u128);

impl RegSet {
    /// No register.
    pub const EMPTY: Self = Self(0);

    /// Returns the set of a single register.
    #[must_use]
    pub const fn one(reg: Reg) -> Self {
        Self(1 << reg.0)
    }

    /// True if the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if `reg` is in the set.
    #[must_use]
    pub const fn contains(self, reg: Reg) -> bool {
        self.0 >> reg.0 & 1 != 0
    }

    /// Returns the number of registers in the set.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Iterates over the registers in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Reg> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let i = rest.trailing_zeros() as u8;
                rest &= rest - 1;
                Reg(i)
            })
        })
    }
}

impl BitOr for RegSet {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for RegSet {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for RegSet {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}
