//! NumPy's `.npy`: complex64, or float32 taken as real parts; one or two
//! dimensions; C or Fortran order.
//!
//! The header is judged before anything is allocated for it: its length,
//! its element type, and its shape against the size of the file.

use super::npy_header::Header;
use super::{FileError, open};
use num_complex::Complex32;
use std::io::{BufReader, Read};
use std::path::Path;

/// Longest header accepted. NumPy writes 118 bytes.
const HEADER_LIMIT: usize = 16 * 1024;

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
    format!("little-endian {}", names.join(" or "))
}

/// An array of one or two dimensions in C order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    /// Element type.
    pub(crate) kind: Kind,
    /// `[length]` or `[rows, columns]`.
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
        let header = Header {
            descr: self.kind.descr().to_owned(),
            fortran_order: false,
            shape: self.shape.clone(),
        };
        let mut out = header.to_bytes();
        out.extend_from_slice(&self.bytes);
        out
    }
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

/// Parses an array; `length` is the size of the whole stream where known.
fn parse(
    path: &Path,
    kinds: &[Kind],
    limit: u64,
    mut stream: impl Read,
    length: Option<u64>,
) -> Result<Array, FileError> {
    let format = |found: String, expected: &str| FileError::format(path, found, expected);
    let (before, header) = read_header(path, &mut stream)?;
    let Some(kind) = kinds.iter().copied().find(|k| k.descr() == header.descr) else {
        let found = format!("elements of type '{}'", header.descr.escape_debug());
        return Err(format(
            found,
            &format!(
                "{}: in NumPy, x.astype('{}')",
                expected(kinds),
                kinds[0].descr()
            ),
        ));
    };
    if !(1..=2).contains(&header.shape.len()) {
        let found = format!("an array of {} dimensions", header.shape.len());
        return Err(format(found, "one dimension, or two (a row is one block)"));
    }
    let bytes = header
        .shape
        .iter()
        .try_fold(kind.bytes() as u64, |bytes, &n| bytes.checked_mul(n as u64))
        .filter(|&bytes| bytes <= limit)
        .ok_or_else(|| {
            let found = format!("a header that announces the shape {:?}", header.shape);
            format(
                found,
                &format!("at most {limit} bytes of elements, what the machine's memory holds"),
            )
        })?;
    let wrong = |present: u64| {
        let found = format!("shape {:?}, but {present} bytes of elements", header.shape);
        format(found, &format!("exactly {bytes} bytes of elements"))
    };
    if let Some(present) = length
        .map(|l| l.saturating_sub(before))
        .filter(|&p| p != bytes)
    {
        return Err(wrong(present));
    }
    let mut data = Vec::new();
    stream
        .take(bytes)
        .read_to_end(&mut data)
        .map_err(|e| FileError::system(path, "read", e))?;
    if data.len() as u64 != bytes {
        return Err(wrong(data.len() as u64));
    }
    if let (true, &[rows, columns]) = (header.fortran_order, header.shape.as_slice()) {
        data = transpose(&data, rows, columns, kind.bytes());
    }
    Ok(Array {
        kind,
        shape: header.shape,
        bytes: data,
    })
}

/// The number of bytes before the elements, and the header.
fn read_header(path: &Path, stream: &mut impl Read) -> Result<(u64, Header), FileError> {
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
    let text = String::from_utf8_lossy(&raw[start..]);
    let header = Header::parse(&text)
        .map_err(|expected| format(&format!("the header {:?}", text.trim()), expected))?;
    Ok((raw.len() as u64, header))
}

/// Column-major to row-major.
fn transpose(data: &[u8], rows: usize, columns: usize, size: usize) -> Vec<u8> {
    let element = |r: usize, c: usize| &data[(c * rows + r) * size..][..size];
    (0..rows)
        .flat_map(|r| (0..columns).flat_map(move |c| element(r, c)))
        .copied()
        .collect()
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
        assert!(
            message(&raw(&dict("<c8", "False", "(1, 1, 1)"), &[0; 8])).contains("3 dimensions")
        );
        assert!(message(&raw(&dict("<c8", "False", "(2,)"), &[0; 8])).contains("16 bytes"));
        assert!(message(&raw(&dict("<c8", "False", "(1,)"), &[0; 9])).contains("9 bytes"));
        assert!(message(&raw(&"(".repeat(9000), &[])).contains("expected '{'"));
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
