//! Sizes of kernels: named numbers.

use std::fmt;

/// A number that a size of a kernel consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, and option on the command line.
    pub name: &'static str,
    /// Its value where none is given.
    pub default: u64,
    /// What it is, with its unit.
    pub help: &'static str,
}

impl Parameter {
    /// A parameter.
    #[must_use]
    pub const fn new(name: &'static str, default: u64, help: &'static str) -> Self {
        Self {
            name,
            default,
            help,
        }
    }
}

/// A size: a value for each parameter of a kernel, in the kernel's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size(Vec<(&'static str, u64)>);

impl Size {
    /// A size from its values.
    #[must_use]
    pub fn new(values: &[(&'static str, u64)]) -> Self {
        Self(values.to_vec())
    }

    /// Names and values, in the kernel's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().copied()
    }

    /// A parameter's value as a length.
    ///
    /// # Errors
    /// The size has no such parameter, or it is larger than an address.
    pub fn length(&self, name: &'static str) -> Result<usize, SizeError> {
        let found = self.0.iter().find(|(n, _)| *n == name);
        let (_, value) = found.ok_or_else(|| SizeError {
            name,
            size: self.to_string(),
            expected: "a value",
        })?;
        usize::try_from(*value).map_err(|_| SizeError {
            name,
            size: self.to_string(),
            expected: "a smaller value",
        })
    }

    /// A parameter's value as a length that is not zero.
    ///
    /// # Errors
    /// See [`Size::length`]; and it is zero.
    pub fn positive(&self, name: &'static str) -> Result<usize, SizeError> {
        match self.length(name)? {
            0 => Err(SizeError {
                name,
                size: self.to_string(),
                expected: "at least 1",
            }),
            value => Ok(value),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            write!(f, "{space}{name}={value}")?;
        }
        Ok(())
    }
}

/// A size that a kernel does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("size `{size}`: `{name}` should be {expected}")]
pub struct SizeError {
    /// The parameter.
    pub name: &'static str,
    /// The size.
    pub size: String,
    /// What was expected.
    pub expected: &'static str,
}
