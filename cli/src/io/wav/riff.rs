//! Reads RIFF files: chunks with a name and a length.
//!
//! A file is read once from its beginning to its end, since a pipe cannot be read twice.

use super::EXPECTED;
use super::format::LONGEST;
use crate::io::FileError;
use std::io::{ErrorKind, Read};
use std::path::Path;

/// First bytes of other kinds of files, with their names.
const OTHERS: [(&[u8], &str); 11] = [
    (b"RF64", "an RF64 file, for more than 4 GiB"),
    (b"BW64", "a BW64 file, for more than 4 GiB"),
    (b"riff", "a Sony Wave64 file"),
    (b"RIFX", "a big-endian .wav file (RIFX)"),
    (b"FORM", "an AIFF file"),
    (b"caff", "a Core Audio file"),
    (b".snd", "a Sun .au file"),
    (b"fLaC", "a FLAC file"),
    (b"OggS", "an Ogg file"),
    (b"ID3", "an MP3 file"),
    (b"\xff\xfb", "an MP3 file"),
];

/// Name of a chunk, and its length as the file has it.
pub(super) struct RiffChunk {
    pub(super) name: [u8; 4],
    pub(super) length: u32,
}

/// A RIFF file of the form WAVE.
pub(super) struct Riff<'a, R> {
    path: &'a Path,
    stream: R,
    /// Number of bytes read so far.
    at: u64,
    /// Number of bytes after the length field of the file, as that field says.
    length: u32,
}

impl<'a, R: Read> Riff<'a, R> {
    /// Reads up to the first chunk.
    pub(super) fn open(path: &'a Path, stream: R) -> Result<Self, FileError> {
        let mut riff = Self {
            path,
            stream,
            at: 0,
            length: 0,
        };
        let mut head = [0; 12];
        let read = riff.read(&mut head)?;
        let [r, i, f, g, a, b, c, d, form @ ..] = head;
        if &[r, i, f, g] == b"RIFF" && &form == b"WAVE" {
            riff.length = u32::from_le_bytes([a, b, c, d]);
            return Ok(riff);
        }
        let other = OTHERS.iter().find(|(start, _)| head.starts_with(start));
        Err(match (read, other) {
            (0, _) => riff.make_format_error("an empty file"),
            (_, Some((_, what))) => riff.make_format_error(what),
            (_, None) => riff
                .make_format_error("this is no .wav file (it does not begin with RIFF and WAVE)"),
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.path
    }

    /// Returns the number of bytes read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.at
    }

    /// True if exactly the bytes that the header announces were read, with or without a final pad byte.
    pub(super) fn is_at_its_end(&self) -> bool {
        let end = u64::from(self.length) + 8;
        (end..=end + 1).contains(&self.at)
    }

    /// Makes an error about the file's contents.
    pub(super) fn make_format_error(&self, found: &str) -> FileError {
        FileError::format(self.path, found, EXPECTED)
    }

    /// Reads the head of the next chunk; `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<RiffChunk>, FileError> {
        let mut head = [0; 8];
        let read = self.read(&mut head)?;
        let [name @ .., a, b, c, d] = head;
        Ok((read == head.len()).then_some(RiffChunk {
            name,
            length: u32::from_le_bytes([a, b, c, d]),
        }))
    }

    /// Reads the first bytes of a chunk and skips the rest; returns them with their number.
    pub(super) fn beginning(
        &mut self,
        chunk: &RiffChunk,
    ) -> Result<([u8; LONGEST], usize), FileError> {
        let mut bytes = [0; LONGEST];
        let length = bytes.len().min(chunk.length as usize);
        let read = self.read(&mut bytes[..length])?;
        if read < length {
            return Err(self.make_end_error(chunk));
        }
        self.pass(chunk, length)?;
        Ok((bytes, length))
    }

    /// Skips a chunk.
    pub(super) fn skip(&mut self, chunk: &RiffChunk) -> Result<(), FileError> {
        self.pass(chunk, 0)
    }

    /// Skips the rest of a chunk after `read` bytes; a chunk of odd length has a pad byte.
    fn pass(&mut self, chunk: &RiffChunk, read: usize) -> Result<(), FileError> {
        let rest = u64::from(chunk.length) + u64::from(chunk.length % 2) - read as u64;
        let mut rest_of = self.stream.by_ref().take(rest);
        let passed = std::io::copy(&mut rest_of, &mut std::io::sink())
            .map_err(|e| FileError::system(self.path, "read", e))?;
        self.at += passed;
        match passed == rest {
            true => Ok(()),
            false => Err(self.make_end_error(chunk)),
        }
    }

    fn make_end_error(&self, chunk: &RiffChunk) -> FileError {
        let name = String::from_utf8_lossy(&chunk.name);
        let length = chunk.length;
        self.make_format_error(&format!(
            "the file ends within its chunk {name:?} of {length} bytes"
        ))
    }

    /// Fills `bytes`; returns less than its length only at the end of the file.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, FileError> {
        let mut done = 0;
        while done < bytes.len() {
            match self.stream.read(&mut bytes[done..]) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(FileError::system(self.path, "read", e)),
            }
        }
        self.at += done as u64;
        Ok(done)
    }
}
