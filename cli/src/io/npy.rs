//! NumPy's `.npy`: complex64, or float32 taken as real parts; C or Fortran order.

mod advice;
mod header;
mod read;

pub(crate) use read::{Npy, read_npy, read_rows, read_vector};

use num_complex::Complex32;

/// Element types, all little-endian; arrays for DMEM consist of 32-bit lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Complex number of two float32.
    Complex64,
    /// 32-bit float.
    Float32,
    /// 64-bit float: a result of the control CPU.
    Float64,
    /// Signed 32-bit integer.
    Int32,
    /// Unsigned 32-bit integer.
    Uint32,
}

impl Kind {
    /// Types of signals.
    pub(crate) const SIGNAL: &'static [Self] = &[Self::Complex64, Self::Float32];
    /// Types that DMEM can hold.
    pub(crate) const ANY: &'static [Self] =
        &[Self::Complex64, Self::Float32, Self::Int32, Self::Uint32];
    /// Types that a recorded run can have as a result.
    pub(crate) const RESULTS: &'static [Self] = &[
        Self::Complex64,
        Self::Float32,
        Self::Float64,
        Self::Int32,
        Self::Uint32,
    ];

    /// Returns NumPy's name of the type.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Complex64 => "complex64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Int32 => "int32",
            Self::Uint32 => "uint32",
        }
    }

    /// Returns the type's code in an `.npy` header.
    const fn descr(self) -> &'static str {
        match self {
            Self::Complex64 => "<c8",
            Self::Float32 => "<f4",
            Self::Float64 => "<f8",
            Self::Int32 => "<i4",
            Self::Uint32 => "<u4",
        }
    }

    /// Returns the bytes of one element.
    pub(crate) const fn bytes(self) -> usize {
        if matches!(self, Self::Complex64 | Self::Float64) {
            8
        } else {
            4
        }
    }
}

/// Names the types in words, for messages.
fn expected(kinds: &[Kind]) -> String {
    let names: Vec<String> = kinds
        .iter()
        .map(|k| format!("{} ('{}')", k.name(), k.descr()))
        .collect();
    format!("little-endian {}, no record", names.join(" or "))
}

/// Array of at least one dimension in C order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NpyArray {
    /// Element type.
    pub(crate) kind: Kind,
    /// Lengths of the axes.
    pub(crate) shape: Vec<usize>,
    /// The elements in little-endian bytes, last index fastest.
    pub(crate) bytes: Vec<u8>,
}

impl NpyArray {
    /// Makes an array of complex numbers.
    pub(crate) fn from_complex(shape: &[usize], data: &[Complex32]) -> Self {
        let bytes = data
            .iter()
            .flat_map(|z| [z.re.to_le_bytes(), z.im.to_le_bytes()])
            .flatten()
            .collect();
        Self {
            kind: Kind::Complex64,
            shape: shape.to_vec(),
            bytes,
        }
    }

    /// Converts the elements to complex numbers; elements of one lane become real parts.
    pub(crate) fn to_complex(&self) -> Vec<Complex32> {
        let mut lanes = self
            .bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        if self.kind != Kind::Complex64 {
            return lanes.map(|re| Complex32::new(re, 0.0)).collect();
        }
        let mut out = Vec::with_capacity(self.bytes.len() / 8);
        while let (Some(re), Some(im)) = (lanes.next(), lanes.next()) {
            out.push(Complex32::new(re, im));
        }
        out
    }

    /// Returns the contents of the `.npy` file.
    pub(crate) fn to_npy(&self) -> Vec<u8> {
        let mut file = header(self.kind, &self.shape);
        file.extend_from_slice(&self.bytes);
        file
    }
}

/// Returns the header of an `.npy` file of elements in C order.
pub(crate) fn header(kind: Kind, shape: &[usize]) -> Vec<u8> {
    /// Bytes of the magic string, the version, and the length field of two bytes.
    const PREFIX: usize = 10;
    /// Alignment of the elements in bytes: the header is padded to a multiple of it.
    const MULTIPLE: usize = 64;
    let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if axes.len() == 1 { "," } else { "" };
    let mut text = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma})}}",
        kind.descr(),
        axes.join(", ")
    );
    // At least one blank precedes the line feed, as in NumPy's files.
    let end = PREFIX + text.len() + 1;
    text += &" ".repeat(MULTIPLE - end % MULTIPLE);
    text.push('\n');
    // No shape that is read or requested has hundreds of axes.
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(length.to_le_bytes());
    out.extend(text.into_bytes());
    out
}
