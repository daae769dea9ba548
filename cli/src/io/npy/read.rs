//! Reads `.npy` arrays.
//!
//! The header is read and checked first; elements are read on demand, so that a long array need not be on the
//! host as a whole. Nothing is allocated for sizes that a header merely declares. The remaining risks, the
//! amount of data that is read and the length of a header, are limited.

use super::advice::advice;
use super::header::{NpyHeader, string};
use super::{Kind, NpyArray, expected};
use crate::io::{FileError, open, regular_length};
use crate::memory::check_memory;
use num_complex::Complex32;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Longest header accepted. NumPy writes 118 bytes.
const HEADER_LIMIT: usize = 16 * 1024;
/// Most characters of an invalid header in a message.
const SHOWN: usize = 200;

/// Array in a file: the header has been read, the elements follow in order.
#[derive(Debug)]
pub(crate) struct Npy<R = BufReader<File>> {
    path: PathBuf,
    /// Element type.
    pub(crate) kind: Kind,
    /// Lengths of the axes, at least one.
    pub(crate) shape: Vec<usize>,
    /// Text of the header, for messages.
    text: String,
    stream: R,
    /// Bytes of all elements, and of those already given.
    bytes: usize,
    given: usize,
    /// True if the first index varies fastest in the file.
    fortran: bool,
    /// All elements of such an array in C order, once the first has been requested.
    turned: Option<Vec<u8>>,
    /// Buffer for the bytes of one read.
    part: Vec<u8>,
}

impl Npy {
    /// Opens an array of one of these types with at most `limit` bytes, the machine's memory.
    pub(crate) fn open(path: &Path, kinds: &[Kind], limit: u64) -> Result<Self, FileError> {
        let file = open(path)?;
        let length = regular_length(&file);
        Self::new(path, kinds, limit, (BufReader::new(file), length))
    }

    /// Opens an array of one or two dimensions.
    pub(crate) fn rows(path: &Path, kinds: &[Kind], limit: u64) -> Result<Self, FileError> {
        let array = Self::open(path, kinds, limit)?;
        if array.shape.len() > 2 {
            return Err(FileError::format(
                path,
                format!("an array of {} dimensions", array.shape.len()),
                "one dimension or two",
            ));
        }
        Ok(array)
    }
}

/// Reads a whole array.
pub(crate) fn read_npy(path: &Path, kinds: &[Kind], limit: u64) -> Result<NpyArray, FileError> {
    Npy::open(path, kinds, limit)?.read_all()
}

/// Reads a vector with one finite number per row of a matrix; returns it with its shape, which may be any.
pub(crate) fn read_vector(
    path: &Path,
    rows: usize,
    limit: u64,
) -> Result<(Vec<f32>, Vec<usize>), FileError> {
    let array = read_npy(path, &[Kind::Float32], limit)?;
    let numbers: usize = array.shape.iter().product();
    if numbers != rows {
        let found = format!("{numbers} numbers");
        let expected = format!("{rows}, as many as the matrix has rows");
        return Err(FileError::format(path, found, expected));
    }
    let numbers = array.bytes.chunks_exact(4);
    let b: Vec<f32> = numbers
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    if let Some(at) = b.iter().position(|b| !b.is_finite()) {
        let found = format!("{} at {at} (from 0 on)", b[at]);
        return Err(FileError::format(path, found, "finite numbers"));
    }
    Ok((b, array.shape))
}

/// Reads a whole array of one or two dimensions.
pub(crate) fn read_rows(path: &Path, kinds: &[Kind], limit: u64) -> Result<NpyArray, FileError> {
    Npy::rows(path, kinds, limit)?.read_all()
}

impl<R: Read> Npy<R> {
    /// Reads the header of a stream; `length` is the stream's size in bytes, if known.
    fn new(
        path: &Path,
        kinds: &[Kind],
        limit: u64,
        (mut stream, length): (R, Option<u64>),
    ) -> Result<Self, FileError> {
        let (start, text) = read_header(path, &mut stream)?;
        let present = length.map(|length| length.saturating_sub(start as u64));
        let too_large = || {
            let found = "more elements than the machine has memory for";
            FileError::format(path, found, memory(limit))
        };
        if present.is_some_and(|bytes| bytes > limit) {
            return Err(too_large());
        }
        let NpyHeader {
            descr,
            fortran,
            shape,
        } = NpyHeader::parse(&text).ok_or_else(|| {
            let more = if text.chars().nth(SHOWN).is_some() {
                "..."
            } else {
                ""
            };
            let start: String = text.chars().take(SHOWN).collect();
            FileError::format(path, format!("the header {start:?}{more}"), DICTIONARY)
        })?;
        let known = |kind: &&Kind| string(descr) == Some(kind.descr());
        let Some(&kind) = kinds.iter().find(known) else {
            // The type is quoted once, even if the text has quotation marks of its own.
            let found = format!("elements of type {:?}", string(descr).unwrap_or(descr));
            let types = format!("{}: in NumPy, {}", expected(kinds), advice(descr, kinds));
            return Err(FileError::format(path, found, types));
        };
        let bytes = shape
            .iter()
            .try_fold(kind.bytes(), |bytes, &d| bytes.checked_mul(d))
            .filter(|&bytes| isize::try_from(bytes).is_ok());
        let Some(bytes) = bytes else {
            let present = present.map_or("fewer".to_owned(), |n| n.to_string());
            return Err(FileError::format(
                path,
                format_size_mismatch(&text, &present),
                memory(limit),
            ));
        };
        let mut array = Self {
            path: path.to_owned(),
            kind,
            shape,
            text,
            stream,
            bytes,
            given: 0,
            fortran,
            turned: None,
            part: Vec::new(),
        };
        match present {
            Some(present) if present != bytes as u64 => {
                return Err(array.make_size_error(&present.to_string()));
            }
            None if bytes as u64 > limit => return Err(too_large()),
            _ => {}
        }
        if array.shape.is_empty() {
            let found = "an array of 0 dimensions, a single number";
            let expected = "at least one dimension: in NumPy, x.reshape(1)";
            return Err(FileError::format(path, found, expected));
        }
        if bytes == 0 {
            array.end()?;
        }
        // With at most one axis longer than 1, both orders are equal.
        array.fortran &= array.shape.iter().filter(|&&d| d != 1).count() > 1;
        Ok(array)
    }

    /// Returns the number of elements.
    pub(crate) fn elements(&self) -> usize {
        self.bytes / self.kind.bytes()
    }

    /// Reads the bytes of the next elements, little-endian, last index fastest, until `out` is full. The
    /// caller never asks for more than are left.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<(), FileError> {
        if self.fortran && self.turned.is_none() {
            self.check_memory(TURNED)?;
            self.turned = Some(self.turn()?);
        }
        if let Some(all) = &self.turned {
            out.copy_from_slice(&all[self.given..self.given + out.len()]);
        } else {
            let mut done = 0;
            while done < out.len() {
                match self.stream.read(&mut out[done..]) {
                    Ok(0) => return Err(self.make_size_error(&(self.given + done).to_string())),
                    Ok(n) => done += n,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return Err(FileError::system(&self.path, "read", e)),
                }
            }
        }
        self.given += out.len();
        if self.given == self.bytes {
            // All elements are in place; the memory is released for the steps that follow.
            self.turned = None;
            self.fortran = false;
            self.end()?;
        }
        Ok(())
    }

    /// Reads the next elements as complex numbers; elements of one lane become real parts.
    pub(crate) fn read_complex(&mut self, numbers: &mut [Complex32]) -> Result<(), FileError> {
        self.read_elements(numbers, |lanes| {
            let im = lanes.get(1).copied().map_or(0.0, f32::from_le_bytes);
            Complex32::new(f32::from_le_bytes(lanes[0]), im)
        })
    }

    /// Reads the first lane of each of the next elements.
    pub(crate) fn read_real(&mut self, numbers: &mut [f32]) -> Result<(), FileError> {
        self.read_elements(numbers, |lanes| f32::from_le_bytes(lanes[0]))
    }

    /// Reads the next elements, each converted from its lanes.
    fn read_elements<T>(
        &mut self,
        numbers: &mut [T],
        of: impl Fn(&[[u8; 4]]) -> T,
    ) -> Result<(), FileError> {
        let mut part = std::mem::take(&mut self.part);
        part.resize(numbers.len() * self.kind.bytes(), 0);
        self.read(&mut part)?;
        let lanes = part.as_chunks().0.chunks_exact(self.kind.bytes() / 4);
        for (number, lanes) in numbers.iter_mut().zip(lanes) {
            *number = of(lanes);
        }
        self.part = part;
        Ok(())
    }

    /// Reads all elements.
    pub(crate) fn read_all(mut self) -> Result<NpyArray, FileError> {
        self.check_memory(WHOLE)?;
        let bytes = match self.fortran {
            true => self.turn()?,
            false => self.read_file_order()?,
        };
        self.end()?;
        Ok(NpyArray {
            kind: self.kind,
            shape: self.shape,
            bytes,
        })
    }

    /// Checks that this computer has memory for `copies` copies of all elements.
    fn check_memory(&self, copies: u64) -> Result<(), FileError> {
        let what = format!("the array of {}", self.path.display());
        let bytes = copies.saturating_mul(self.bytes as u64);
        Ok(check_memory(what, bytes)?)
    }

    /// Reads all elements in the order of the file.
    fn read_file_order(&mut self) -> Result<Vec<u8>, FileError> {
        let mut bytes = Vec::new();
        // Memory is reserved for bytes that are there, not for bytes that are declared.
        let read = self
            .stream
            .by_ref()
            .take(self.bytes as u64)
            .read_to_end(&mut bytes);
        read.map_err(|e| FileError::system(&self.path, "read", e))?;
        if bytes.len() < self.bytes {
            return Err(self.make_size_error(&bytes.len().to_string()));
        }
        Ok(bytes)
    }

    /// Reads all elements of an array whose first index varies fastest, and returns them in C order.
    fn turn(&mut self) -> Result<Vec<u8>, FileError> {
        let raw = self.read_file_order()?;
        Ok(match self.kind.bytes() {
            8 => reorder_to_c_order::<8>(&raw, &self.shape),
            _ => reorder_to_c_order::<4>(&raw, &self.shape),
        })
    }

    /// Checks that nothing follows the elements.
    fn end(&mut self) -> Result<(), FileError> {
        let more = self.stream.by_ref().take(1).read_to_end(&mut Vec::new());
        match more.map_err(|e| FileError::system(&self.path, "read", e))? {
            0 => Ok(()),
            _ => Err(self.make_size_error(&format!("more than {}", self.bytes))),
        }
    }

    fn make_size_error(&self, present: &str) -> FileError {
        FileError::format(
            &self.path,
            format_size_mismatch(&self.text, present),
            format!("exactly {} bytes of elements", self.bytes),
        )
    }
}

/// Copies of an array that is read as a whole: bytes, numbers, and complex numbers that are converted from
/// real ones.
const WHOLE: u64 = 4;

/// Copies of an array whose elements are reordered.
const TURNED: u64 = 2;

const DICTIONARY: &str =
    "a dictionary with 'descr', 'fortran_order' and 'shape', as NumPy writes it";

fn format_size_mismatch(text: &str, present: &str) -> String {
    format!("the header {text:?} announces a shape, but {present} bytes of elements follow")
}

/// Describes the allowed size, for messages.
fn memory(limit: u64) -> String {
    format!("at most {limit} bytes of elements, what the machine's memory holds")
}

/// Reorders elements from first index fastest to last index fastest (C order).
fn reorder_to_c_order<const N: usize>(raw: &[u8], shape: &[usize]) -> Vec<u8> {
    let elements = raw.as_chunks::<N>().0;
    // Distance in `raw` between adjacent elements along each axis.
    let strides: Vec<usize> = shape
        .iter()
        .scan(1, |stride, &d| Some(std::mem::replace(stride, *stride * d)))
        .collect();
    let mut index = vec![0; shape.len()];
    let mut at = 0;
    let mut out = Vec::with_capacity(raw.len());
    while let Some(element) = elements.get(at) {
        out.extend_from_slice(element);
        // The last index that can advance does so; the indices after it restart at 0.
        let mut more = false;
        for ((i, &d), stride) in index.iter_mut().zip(shape).zip(&strides).rev() {
            *i += 1;
            at += stride;
            if *i < d {
                more = true;
                break;
            }
            at -= d * stride;
            *i = 0;
        }
        if !more {
            break;
        }
    }
    out
}

/// Reads up to the end of the header; returns the number of bytes read and the header's text.
fn read_header(path: &Path, stream: &mut impl Read) -> Result<(usize, String), FileError> {
    let format = |found: &str, expected: String| FileError::format(path, found, expected);
    let mut fill = |bytes: &mut [u8]| match stream.read_exact(bytes) {
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Err(format(
            "the file ends within the header",
            "a whole .npy file".to_owned(),
        )),
        other => other.map_err(|e| FileError::system(path, "read", e)),
    };
    // Magic string, version, and the two length bytes that every version has.
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
    Ok((raw.len(), text))
}

#[cfg(test)]
mod tests;
