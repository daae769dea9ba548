//! NumPy's `.npy`: complex64, or float32 taken as real parts; C or Fortran order.
//!
//! The format itself is `ndarray-npy`'s business. Its views compare the shape
//! with the bytes that are there and allocate nothing for what a header merely
//! announces; what is left to guard is how much is read, and how long and how
//! deeply nested a header is handed to its recursive parser.

use super::{FileError, open};
use ndarray::{ArrayView, ArrayViewD, IxDyn};
use ndarray_npy::{ViewElement, ViewNpyError, ViewNpyExt, WritableElement, WriteNpyExt};
use num_complex::Complex32;
use std::io::{BufReader, Read};
use std::path::Path;

/// Longest header accepted. NumPy writes 118 bytes.
const HEADER_LIMIT: usize = 16 * 1024;
/// Most brackets in a header: a dictionary, a shape, and some to spare.
const BRACKET_LIMIT: usize = 16;
/// Alignment of the widest element's lanes, which a view asks of its data.
const ALIGNMENT: usize = 8;

/// Element types, all little-endian and of 32-bit lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Two float32.
    Complex64,
    /// 32-bit float.
    Float32,
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

    /// NumPy's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Complex64 => "complex64",
            Self::Float32 => "float32",
            Self::Int32 => "int32",
            Self::Uint32 => "uint32",
        }
    }

    /// As the header writes it.
    const fn descr(self) -> &'static str {
        match self {
            Self::Complex64 => "<c8",
            Self::Float32 => "<f4",
            Self::Int32 => "<i4",
            Self::Uint32 => "<u4",
        }
    }

    /// Bytes of one element.
    pub(crate) const fn bytes(self) -> usize {
        if matches!(self, Self::Complex64) {
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
pub(crate) struct Array {
    /// Element type.
    pub(crate) kind: Kind,
    /// Lengths of its axes.
    pub(crate) shape: Vec<usize>,
    /// The elements in little-endian bytes, last index fastest.
    pub(crate) bytes: Vec<u8>,
}

impl Array {
    /// An array of complex numbers.
    pub(crate) fn of_complex(shape: &[usize], data: &[Complex32]) -> Self {
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

    /// An array of the real parts of complex numbers.
    pub(crate) fn of_real(shape: &[usize], data: &[Complex32]) -> Self {
        let bytes = data.iter().flat_map(|z| z.re.to_le_bytes()).collect();
        Self {
            kind: Kind::Float32,
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
        let lanes = || self.bytes.chunks_exact(4).map(|b| [b[0], b[1], b[2], b[3]]);
        match self.kind {
            Kind::Complex64 => write(&self.shape, &self.to_complex()),
            Kind::Float32 => write(
                &self.shape,
                &lanes().map(f32::from_le_bytes).collect::<Vec<_>>(),
            ),
            Kind::Int32 => write(
                &self.shape,
                &lanes().map(i32::from_le_bytes).collect::<Vec<_>>(),
            ),
            Kind::Uint32 => write(
                &self.shape,
                &lanes().map(u32::from_le_bytes).collect::<Vec<_>>(),
            ),
        }
    }
}

fn write<T: WritableElement>(shape: &[usize], elements: &[T]) -> Vec<u8> {
    let mut out = Vec::new();
    let array = ArrayView::from_shape(IxDyn(shape), elements);
    // The elements fill the shape by construction, and a vector takes all bytes.
    let written = array.is_ok_and(|a| a.write_npy(&mut out).is_ok());
    debug_assert!(written, "{} elements in {shape:?}", elements.len());
    out
}

/// Reads an array of one of these kinds, of at most `limit` bytes: what the machine's memory holds.
pub(crate) fn read_npy(path: &Path, kinds: &[Kind], limit: u64) -> Result<Array, FileError> {
    let file = open(path)?;
    let length = file
        .metadata()
        .ok()
        .filter(std::fs::Metadata::is_file)
        .map(|m| m.len());
    parse(path, kinds, limit, BufReader::new(file), length)
}

/// The same of one or two dimensions.
pub(crate) fn read_rows(path: &Path, kinds: &[Kind], limit: u64) -> Result<Array, FileError> {
    let array = read_npy(path, kinds, limit)?;
    if array.shape.len() > 2 {
        return Err(FileError::format(
            path,
            format!("an array of {} dimensions", array.shape.len()),
            "one dimension, or two (a row is one block)",
        ));
    }
    Ok(array)
}

/// Parses an array; `length` is the size of the whole stream where known.
fn parse(
    path: &Path,
    kinds: &[Kind],
    limit: u64,
    mut stream: impl Read,
    length: Option<u64>,
) -> Result<Array, FileError> {
    let (mut file, text) = read_header(path, &mut stream)?;
    let start = file.len();
    let too_large = |length: u64| length.saturating_sub(start as u64) > limit;
    if !length.is_some_and(too_large) {
        stream
            .take(limit.saturating_add(1))
            .read_to_end(&mut file)
            .map_err(|e| FileError::system(path, "read", e))?;
    }
    if length.is_some_and(too_large) || too_large(file.len() as u64) {
        return Err(FileError::format(
            path,
            "more elements than the machine has memory for".to_owned(),
            memory(limit),
        ));
    }
    // A view wants its data aligned: begin where that makes it so.
    let address = file.as_ptr() as usize + start;
    let gap = address.next_multiple_of(ALIGNMENT) - address;
    if gap > 0 {
        let mut moved = Vec::with_capacity(file.len() + ALIGNMENT);
        let address = moved.as_ptr() as usize + start;
        moved.resize(address.next_multiple_of(ALIGNMENT) - address, 0);
        let skip = moved.len();
        moved.extend_from_slice(&file);
        return elements(path, kinds, &text, &moved[skip..], start, limit);
    }
    elements(path, kinds, &text, &file, start, limit)
}

/// What is expected of the size, for messages.
fn memory(limit: u64) -> String {
    format!("at most {limit} bytes of elements, what the machine's memory holds")
}

/// The elements of a whole file whose data begin at `start`.
fn elements(
    path: &Path,
    kinds: &[Kind],
    text: &str,
    file: &[u8],
    start: usize,
    limit: u64,
) -> Result<Array, FileError> {
    let mut failure = None;
    for &kind in kinds {
        let viewed = match kind {
            Kind::Complex64 => view(file, |z: &Complex32| {
                let ([a, b, c, d], [e, f, g, h]) = (z.re.to_le_bytes(), z.im.to_le_bytes());
                [a, b, c, d, e, f, g, h]
            }),
            Kind::Float32 => view(file, |x: &f32| x.to_le_bytes()),
            Kind::Int32 => view(file, |x: &i32| x.to_le_bytes()),
            Kind::Uint32 => view(file, |x: &u32| x.to_le_bytes()),
        };
        match viewed {
            Ok((shape, _)) if shape.is_empty() => {
                let found = "an array of 0 dimensions, a single number";
                return Err(FileError::format(path, found, "at least one dimension"));
            }
            Ok((shape, bytes)) => return Ok(Array { kind, shape, bytes }),
            Err(error @ ViewNpyError::WrongDescriptor(_)) => failure = Some(error),
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let types = || {
        format!(
            "{}: in NumPy, x.astype('{}')",
            expected(kinds),
            kinds[0].descr()
        )
    };
    let present = file.len() - start;
    let exactly = |bytes: usize| format!("exactly {bytes} bytes of elements");
    let size =
        format!("the header {text:?} announces a shape, but {present} bytes of elements follow");
    let (found, expected) = match failure {
        Some(ViewNpyError::WrongDescriptor(descr)) => {
            let descr = descr.to_string();
            (
                // Quoted once, whatever it has inside.
                format!("elements of type {:?}", descr.trim_matches(['\'', '"'])),
                types(),
            )
        }
        Some(ViewNpyError::NonNativeEndian) => (format!("the header {text:?}"), types()),
        Some(ViewNpyError::MissingBytes(n)) => (size, exactly(present + n)),
        Some(ViewNpyError::ExtraBytes(n)) => (size, exactly(present.saturating_sub(n))),
        Some(ViewNpyError::LengthOverflow) => (size, memory(limit)),
        Some(error) => (
            format!("the header {text:?}: {error}"),
            "a dictionary with 'descr', 'fortran_order' and 'shape', as NumPy writes it".to_owned(),
        ),
        None => (size, types()),
    };
    Err(FileError::format(path, found, &expected))
}

/// Shape and bytes, last index fastest, of a file of elements `T`.
fn view<T: ViewElement, const N: usize>(
    file: &[u8],
    bytes: impl Fn(&T) -> [u8; N],
) -> Result<(Vec<usize>, Vec<u8>), ViewNpyError> {
    let array = ArrayViewD::<T>::view_npy(file)?;
    Ok((
        array.shape().to_vec(),
        array.iter().flat_map(bytes).collect(),
    ))
}

/// Reads up to the end of the header and judges whether it may be parsed;
/// returns what was read, and the header's text.
fn read_header(path: &Path, stream: &mut impl Read) -> Result<(Vec<u8>, String), FileError> {
    let format = |found: &str, expected: String| FileError::format(path, found, expected);
    let mut fill = |bytes: &mut [u8]| match stream.read_exact(bytes) {
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Err(format(
            "the file ends within the header",
            "a whole .npy file".to_owned(),
        )),
        other => other.map_err(|e| FileError::system(path, "read", e)),
    };
    // Magic, version, and the two bytes of length that every version has.
    let mut raw = vec![0; 10];
    fill(&mut raw)?;
    if !raw.starts_with(b"\x93NUMPY") {
        return Err(format(
            "this is no .npy file (its first bytes are not \\x93NUMPY)",
            "an array as NumPy's save writes it".to_owned(),
        ));
    }
    if !(1..=3).contains(&raw[6]) {
        return Err(format(
            &format!("version {}.{} of the format", raw[6], raw[7]),
            "version 1, 2 or 3".to_owned(),
        ));
    }
    let mut size = usize::from(raw[8]) | usize::from(raw[9]) << 8;
    if raw[6] > 1 {
        let mut high = [0; 2];
        fill(&mut high)?;
        raw.extend(high);
        size |= usize::from(high[0]) << 16 | usize::from(high[1]) << 24;
    }
    if size > HEADER_LIMIT {
        return Err(format(
            &format!("a header of {size} bytes"),
            format!("at most {HEADER_LIMIT}"),
        ));
    }
    let start = raw.len();
    raw.resize(start + size, 0);
    fill(&mut raw[start..])?;
    let text = String::from_utf8_lossy(&raw[start..]).trim().to_owned();
    if text.matches(['(', '[', '{']).count() > BRACKET_LIMIT {
        let start: String = text.chars().take(40).collect();
        return Err(format(
            &format!("the header {start:?}..."),
            "a dictionary with 'descr', 'fortran_order' and 'shape', as NumPy writes it".to_owned(),
        ));
    }
    Ok((raw, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn raw(dict: &str, payload: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(u16::try_from(dict.len() + 1).unwrap().to_le_bytes());
        bytes.extend(dict.as_bytes());
        bytes.push(b'\n');
        bytes.extend(payload);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Array, FileError> {
        parse(
            Path::new("x.npy"),
            Kind::SIGNAL,
            1 << 30,
            bytes,
            Some(bytes.len() as u64),
        )
    }

    fn message(bytes: &[u8]) -> String {
        read(bytes).unwrap_err().to_string()
    }

    fn dict(descr: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}")
    }

    #[test]
    fn reads_both_types_and_both_orders() {
        let payload: Vec<u8> = (0..6_u8).flat_map(|i| f32::from(i).to_le_bytes()).collect();
        let c = read(&raw(&dict("<f4", "False", "(2, 3)"), &payload)).unwrap();
        assert_eq!(
            c.to_complex().iter().map(|z| z.re).collect::<Vec<_>>(),
            [0., 1., 2., 3., 4., 5.]
        );
        let f = read(&raw(&dict("<f4", "True", "(2, 3)"), &payload)).unwrap();
        assert_eq!(
            f.to_complex().iter().map(|z| z.re).collect::<Vec<_>>(),
            [0., 2., 4., 1., 3., 5.]
        );
        let z = read(&raw(&dict("<c8", "False", "(3,)"), &payload)).unwrap();
        assert_eq!(z.to_complex()[2], Complex32::new(4.0, 5.0));
        assert_eq!(z.shape, [3]);
    }

    #[test]
    fn hostile_headers_are_errors() {
        let huge = message(&raw(&dict("<c8", "False", "(1152921504606846976,)"), &[]));
        assert!(
            huge.contains("x.npy") && huge.contains("1152921504606846976"),
            "{huge}"
        );
        assert!(
            message(&raw(&dict("<c8", "False", "(4294967296, 4294967296)"), &[]))
                .contains("announces")
        );
        assert!(
            message(&raw(
                &dict("<c8", "False", "(99999999999999999999999,)"),
                &[]
            ))
            .contains("shape")
        );
        assert!(message(&raw(&dict(">c8", "False", "(1,)"), &[0; 8])).contains(">c8"));
        assert!(message(&raw(&dict("<f8", "False", "(1,)"), &[0; 8])).contains("<f8"));
        assert!(message(&raw(&dict("<c8", "False", "()"), &[0; 8])).contains("0 dimensions"));
        assert!(message(&raw(&dict("<c8", "False", "(2,)"), &[0; 8])).contains("16 bytes"));
        assert!(message(&raw(&dict("<c8", "False", "(1,)"), &[0; 9])).contains("9 bytes"));
        assert!(message(&raw(&"(".repeat(9000), &[])).contains("dictionary"));
        assert!(message(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").contains("header of 4294967295"));
        assert!(message(b"RIFF0000WAVE").contains("no .npy file"));
        assert!(message(b"").contains("ends within"));
    }

    #[test]
    fn a_stream_of_unknown_length_is_not_trusted_either() {
        let bytes = raw(&dict("<c8", "False", "(1048576,)"), &[0; 8]);
        assert!(
            parse(Path::new("-"), Kind::ANY, 1 << 30, bytes.as_slice(), None)
                .unwrap_err()
                .to_string()
                .contains("but 8 bytes")
        );
    }

    proptest! {
        #[test]
        fn written_is_read(rows in 0_usize..5, columns in 0_usize..5, bits in any::<u64>()) {
            let value = Complex32::new(f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32));
            let array = Array::of_complex(&[rows, columns], &vec![value; rows * columns]);
            let back = read(&array.to_npy()).unwrap();
            prop_assert_eq!(&back, &array);
            let again = Array::of_complex(&back.shape, &back.to_complex());
            prop_assert_eq!(again, array);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
            let _ = read(&raw(&String::from_utf8_lossy(&bytes), &[]));
        }
    }
}
