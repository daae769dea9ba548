//! Named arrays: the inputs and outputs of problems.

use num_complex::{Complex32, Complex64};
use std::fmt;

/// Type of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Real numbers of 4 bytes.
    F32,
    /// Real numbers of 8 bytes.
    F64,
    /// Complex numbers of two [`Kind::F32`], real part first.
    Complex64,
    /// Complex numbers of two [`Kind::F64`], real part first.
    Complex128,
    /// Real numbers as sums of two [`Kind::F32`], upper part first, see [`DoubleSingle`](crate::DoubleSingle).
    DoubleSingle,
    /// Complex numbers of two [`Kind::DoubleSingle`], real part first.
    ComplexDoubleSingle,
    /// Signed integers of 4 bytes.
    I32,
    /// Unsigned integers of 4 bytes.
    U32,
    /// Bytes.
    U8,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
            Self::DoubleSingle => "double-single",
            Self::ComplexDoubleSingle => "complex double-single",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::U8 => "uint8",
        })
    }
}

/// The elements of an array, the last index fastest.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Elements of [`Kind::F32`].
    F32(Vec<f32>),
    /// Elements of [`Kind::F64`].
    F64(Vec<f64>),
    /// Elements of [`Kind::Complex64`].
    Complex64(Vec<Complex32>),
    /// Elements of [`Kind::Complex128`].
    Complex128(Vec<Complex64>),
    /// Elements of [`Kind::DoubleSingle`].
    DoubleSingle(Vec<[f32; 2]>),
    /// Elements of [`Kind::ComplexDoubleSingle`].
    ComplexDoubleSingle(Vec<[[f32; 2]; 2]>),
    /// Elements of [`Kind::I32`].
    I32(Vec<i32>),
    /// Elements of [`Kind::U32`].
    U32(Vec<u32>),
    /// Elements of [`Kind::U8`].
    U8(Vec<u8>),
}

/// Evaluates one expression for the vector of any kind of values.
macro_rules! each {
    ($values:expr, $v:ident => $what:expr) => {
        match $values {
            Values::F32($v) => $what,
            Values::F64($v) => $what,
            Values::Complex64($v) => $what,
            Values::Complex128($v) => $what,
            Values::DoubleSingle($v) => $what,
            Values::ComplexDoubleSingle($v) => $what,
            Values::I32($v) => $what,
            Values::U32($v) => $what,
            Values::U8($v) => $what,
        }
    };
}

impl Values {
    /// Returns the type of the elements.
    #[must_use]
    pub fn kind(&self) -> Kind {
        fn kind<T: Element>(_: &[T]) -> Kind {
            T::KIND
        }
        each!(self, v => kind(v))
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        each!(self, v => v.len())
    }

    /// True if there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of the elements as they are in memory, the least significant first.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        fn bytes<T: Element>(values: &[T]) -> Vec<u8> {
            let mut all = Vec::with_capacity(std::mem::size_of_val(values));
            for value in values {
                value.bytes(&mut all);
            }
            all
        }
        each!(self, v => bytes(v))
    }
}

/// A type that elements of arrays can have.
pub trait Element: Copy + Default + fmt::Debug + Send + Sync + 'static {
    /// The kind of this type.
    const KIND: Kind;
    /// Returns the values as a slice of this type, if they are of it.
    fn typed_values(values: &Values) -> Option<&[Self]>;
    /// Converts a vector to values.
    fn values(values: Vec<Self>) -> Values;
    /// Appends the bytes of a value.
    fn bytes(self, all: &mut Vec<u8>);
}

macro_rules! element {
    ($($type:ty, $kind:ident, $self:ident => [$($part:expr),*];)*) => {$(
        impl Element for $type {
            const KIND: Kind = Kind::$kind;
            fn typed_values(values: &Values) -> Option<&[Self]> {
                match values {
                    Values::$kind(values) => Some(values),
                    _ => None,
                }
            }
            fn values(values: Vec<Self>) -> Values {
                Values::$kind(values)
            }
            fn bytes($self, all: &mut Vec<u8>) {
                $(all.extend($part.to_le_bytes());)*
            }
        }
    )*};
}

element! {
    f32, F32, self => [self];
    f64, F64, self => [self];
    Complex32, Complex64, self => [self.re, self.im];
    Complex64, Complex128, self => [self.re, self.im];
    [f32; 2], DoubleSingle, self => [self[0], self[1]];
    [[f32; 2]; 2], ComplexDoubleSingle, self => [self[0][0], self[0][1], self[1][0], self[1][1]];
    i32, I32, self => [self];
    u32, U32, self => [self];
    u8, U8, self => [self];
}

/// An array with its name and shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its name among the arrays of the problem.
    pub name: &'static str,
    /// Its sides, the last one contiguous; empty for a single number.
    pub shape: Vec<usize>,
    /// Its elements.
    pub values: Values,
}

/// Named arrays: the input or the output of a problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedArrays {
    arrays: Vec<Array>,
}

impl NamedArrays {
    /// Adds an array.
    #[must_use]
    pub fn add_array<T: Element>(
        mut self,
        name: &'static str,
        shape: &[usize],
        values: Vec<T>,
    ) -> Self {
        self.arrays.push(Array {
            name,
            shape: shape.to_vec(),
            values: T::values(values),
        });
        self
    }

    /// Returns arrays that consist of one array.
    #[must_use]
    pub fn from_array<T: Element>(name: &'static str, shape: &[usize], values: Vec<T>) -> Self {
        Self::default().add_array(name, shape, values)
    }

    /// Returns the arrays, in the problem's order.
    #[must_use]
    pub fn arrays(&self) -> &[Array] {
        &self.arrays
    }

    /// Returns the array of a name.
    ///
    /// # Errors
    /// There is no such array.
    pub fn array(&self, name: &'static str) -> Result<&Array, DataError> {
        let found = self.arrays.iter().find(|array| array.name == name);
        found.ok_or_else(|| DataError::Missing {
            name,
            found: self.arrays.iter().map(|array| array.name).collect(),
        })
    }

    /// Returns the elements of the array of a name.
    ///
    /// # Errors
    /// There is no such array, or its elements are of another type.
    pub fn get<T: Element>(&self, name: &'static str) -> Result<&[T], DataError> {
        let array = self.array(name)?;
        T::typed_values(&array.values).ok_or(DataError::Kind {
            name,
            found: array.values.kind(),
            expected: T::KIND,
        })
    }

    /// Returns the elements of the array of a name, if there are `len` of them.
    ///
    /// # Errors
    /// There is no such array, its elements are of another type, or there is another number of them.
    pub fn get_sized<T: Element>(&self, name: &'static str, len: usize) -> Result<&[T], DataError> {
        let values = self.get(name)?;
        if values.len() == len {
            return Ok(values);
        }
        Err(DataError::Length {
            name,
            found: values.len(),
            expected: len,
        })
    }

    /// Renames an array.
    pub fn rename(&mut self, from: &str, to: &'static str) {
        for array in &mut self.arrays {
            if array.name == from {
                array.name = to;
            }
        }
    }
}

/// Arrays that do not fit the problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    /// An array is missing.
    #[error("there is no array `{name}`, only {found:?}")]
    Missing {
        /// Its name.
        name: &'static str,
        /// Names of the arrays that are present.
        found: Vec<&'static str>,
    },
    /// An array with elements of another type.
    #[error("array `{name}` is of {found}; expected {expected}")]
    Kind {
        /// Its name.
        name: &'static str,
        /// Type of its elements.
        found: Kind,
        /// Expected type.
        expected: Kind,
    },
    /// An array with another number of elements.
    #[error("array `{name}` holds {found} elements; expected {expected}")]
    Length {
        /// Its name.
        name: &'static str,
        /// Number of its elements.
        found: usize,
        /// Expected number.
        expected: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_said() {
        let data =
            NamedArrays::from_array("x", &[2], vec![1.0f32, 2.0]).add_array("n", &[], vec![7u32]);
        assert_eq!(data.get::<f32>("x"), Ok(&[1.0, 2.0][..]));
        let said = data.get::<f32>("y").unwrap_err().to_string();
        assert_eq!(said, "there is no array `y`, only [\"x\", \"n\"]");
        let said = data.get::<f32>("n").unwrap_err().to_string();
        assert_eq!(said, "array `n` is of uint32; expected float32");
        assert!(data.get_sized::<f32>("x", 3).is_err());
    }

    #[test]
    fn bytes_are_those_of_a_memory() {
        let z = Values::Complex64(vec![Complex32::new(1.0, -2.0)]);
        assert_eq!(z.bytes(), [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]);
        assert_eq!((z.len(), z.kind()), (1, Kind::Complex64));
    }
}
