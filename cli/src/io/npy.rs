//! NumPy's `.npy`: complex64, or float32 taken as real parts; C or Fortran order.

mod advice;
mod header;
mod read;

pub(crate) use read::{Npy, read_npy, read_rows, read_vector};

use num_complex::Complex32;

/// Element types, all little-endian; those of the machine are of 32-bit lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Two float32.
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
    /// What signals are made of.
    pub(crate) const SIGNAL: &'static [Self] = &[Self::Complex64, Self::Float32];
    /// Whatever DMEM can hold.
    pub(crate) const ANY: &'static [Self] =
        &[Self::Complex64, Self::Float32, Self::Int32, Self::Uint32];
    /// What a recorded run can have as a result.
    pub(crate) const RESULTS: &'static [Self] = &[
        Self::Complex64,
        Self::Float32,
        Self::Float64,
        Self::Int32,
        Self::Uint32,
    ];

    /// NumPy's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Complex64 => "complex64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Int32 => "int32",
            Self::Uint32 => "uint32",
        }
    }

    /// As the header writes it.
    const fn descr(self) -> &'static str {
        match self {
            Self::Complex64 => "<c8",
            Self::Float32 => "<f4",
            Self::Float64 => "<f8",
            Self::Int32 => "<i4",
            Self::Uint32 => "<u4",
        }
    }

    /// Bytes of one element.
    pub(crate) const fn bytes(self) -> usize {
        if matches!(self, Self::Complex64 | Self::Float64) {
            8
        } else {
            4
        }
    }
}

/// The kinds in words, for messages.
fn expected(kinds: &[Kind]) -> String {
    let names: Vec<String> = kinds
        .iter()
        .map(|k| format!("{} ('{}')", k.name(), k.descr()))
        .collect();
    format!("little-endian {}, no record", names.join(" or "))
}

/// An array of one dimension or more in C order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NpyArray {
    /// Element type.
    pub(crate) kind: Kind,
    /// Lengths of its axes.
    pub(crate) shape: Vec<usize>,
    /// The elements in little-endian bytes, last index fastest.
    pub(crate) bytes: Vec<u8>,
}

impl NpyArray {
    /// An array of complex numbers.
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

    /// The elements as complex numbers, those of one lane as real parts.
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

    /// The whole `.npy` file.
    pub(crate) fn to_npy(&self) -> Vec<u8> {
        let mut file = header(self.kind, &self.shape);
        file.extend_from_slice(&self.bytes);
        file
    }
}

/// What a file of elements in C order begins with.
pub(crate) fn header(kind: Kind, shape: &[usize]) -> Vec<u8> {
    /// Magic string, version, and the two bytes of the rest's length.
    const PREFIX: usize = 10;
    /// A header has a multiple of so many bytes.
    const MULTIPLE: usize = 64;
    let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if axes.len() == 1 { "," } else { "" };
    let mut text = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma})}}",
        kind.descr(),
        axes.join(", ")
    );
    // One blank at least, as NumPy has it, and the end of the line.
    let end = PREFIX + text.len() + 1;
    text += &" ".repeat(MULTIPLE - end % MULTIPLE);
    text.push('\n');
    // No shape that was read or asked for has hundreds of axes.
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend(length.to_le_bytes());
    out.extend(text.into_bytes());
    out
}
