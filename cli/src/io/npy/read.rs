//! Reading an array.
//!
//! The format itself is `ndarray-npy`'s business. Its views compare the shape
//! with the bytes that are there and allocate nothing for what a header merely
//! announces; what is left to guard is how much is read, and how long and how
//! deeply nested a header is handed to its recursive parser.

use super::{Array, Kind, expected};
use crate::io::{FileError, open};
use ndarray::ArrayViewD;
use ndarray_npy::{ViewElement, ViewNpyError, ViewNpyExt};
use num_complex::Complex32;
use std::io::{BufReader, Read};
use std::path::Path;

/// Longest header accepted. NumPy writes 118 bytes.
const HEADER_LIMIT: usize = 16 * 1024;
/// Most brackets in a header: a dictionary, a shape, and some to spare.
const BRACKET_LIMIT: usize = 16;
/// Alignment of the widest element's lanes, which a view asks of its data.
const ALIGNMENT: usize = 8;

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
            "one dimension or two",
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
    let types = |descr: &str| {
        let nearest = Kind::nearest(descr, kinds).map_or("", Kind::name);
        format!("{}: in NumPy, x.astype('{nearest}')", expected(kinds))
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
                types(&descr),
            )
        }
        Some(ViewNpyError::NonNativeEndian) => (format!("the header {text:?}"), types(text)),
        Some(ViewNpyError::MissingBytes(n)) => (size, exactly(present + n)),
        Some(ViewNpyError::ExtraBytes(n)) => (size, exactly(present.saturating_sub(n))),
        Some(ViewNpyError::LengthOverflow) => (size, memory(limit)),
        Some(error) => (
            format!("the header {text:?}: {error}"),
            "a dictionary with 'descr', 'fortran_order' and 'shape', as NumPy writes it".to_owned(),
        ),
        None => (size, types(text)),
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
mod tests;
