//! Sound recordings in RIFF/WAVE files.
//!
//! The format is defined in Microsoft and IBM, *Multimedia Programming Interface and Data Specifications
//! 1.0*, 1991, and by `WAVEFORMATEXTENSIBLE`.
//!
//! # Why not the reader of a crate
//!
//! `hound` (3.5) and `symphonia` (0.5) were tried on the files that the tests here make. Only the plainest
//! files are read correctly by both:
//!
//! * 24 valid bits in 32 are the upper bits of the word; `hound` takes the lower ones, which is another
//!   signal;
//! * 16 bits in blocks of 32 are read by `symphonia` as two samples, which is another signal;
//! * a chunk of an odd length, with its pad byte, is an error for both; so is a format of more than 40 bytes;
//! * a file written to a pipe has lengths that nobody could correct: `hound` fails; `symphonia` fails or
//!   returns an empty recording;
//! * `symphonia` does not report that a file was cut off.

mod format;
mod riff;
#[cfg(test)]
mod tests;

use super::{FileError, open, regular_length};
use format::WavFormat;
use riff::Riff;
use std::io::{BufReader, Read};
use std::path::Path;

/// Bytes read at a time; at least one block is read.
const PART: usize = 1 << 16;
/// Smallest length that counts as unknown. Programs that cannot know the length in advance, nor return to the
/// header, write such large values.
const UNKNOWN_LENGTH: u32 = 0x7fff_0000;
/// Description of a supported file, for messages.
const EXPECTED: &str =
    "a complete .wav file (RIFF) of PCM samples of 1 to 8 bytes, or of float ones of 4 or 8 bytes";

/// One channel of a recording.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sound {
    /// Samples per second.
    pub(crate) rate: u32,
    /// Samples; full scale is 1.
    pub(crate) samples: Vec<f32>,
    /// Warning about a file that ends early.
    pub(crate) warning: Option<String>,
}

/// Reads one channel (counted from 0) of at most `limit` samples. If the header announces more samples than
/// follow, or does not say how many, the samples that follow are all.
pub(crate) fn read_wav(path: &Path, channel: u16, limit: usize) -> Result<Sound, FileError> {
    let file = open(path)?;
    let length = regular_length(&file);
    read(path, (BufReader::new(file), length), channel, limit)
}

/// Reads a recording from a stream; `length` is its size in bytes, if known.
fn read(
    path: &Path,
    (stream, length): (impl Read, Option<u64>),
    channel: u16,
    limit: usize,
) -> Result<Sound, FileError> {
    let mut riff = Riff::open(path, stream)?;
    let (format, promised) = data(&mut riff)?;
    if channel >= format.channels {
        return Err(FileError::format(
            path,
            format!(
                "{} channels, so none with number {channel}",
                format.channels
            ),
            format!("--channel 0 to {}", format.channels - 1),
        ));
    }
    let block = format.block();
    let too_many = |samples: String| {
        FileError::format(
            path,
            format!("{samples} samples"),
            format!(
                "at most {limit}, whose frames the machine's memory holds: with a larger --hop more fit, or with another --machine"
            ),
        )
    };
    // For a pipe, and for a recording of unknown length, the number of samples is known only after reading.
    if let Some(length) = length.filter(|_| promised != 0) {
        let rest = length
            .saturating_sub(riff.bytes_read())
            .min(promised.into());
        if rest / block as u64 > limit as u64 {
            return Err(too_many((rest / block as u64).to_string()));
        }
    }
    let most = match promised {
        0 => u64::MAX,
        promised => u64::from(promised),
    };
    let mut samples = Vec::new();
    let mut part = vec![0; block * (PART / block).max(1)];
    let mut taken = 0;
    loop {
        let wanted = (most - taken).min(part.len() as u64) as usize;
        let read = riff.read(&mut part[..wanted])?;
        taken += read as u64;
        let frames = part[..read].chunks_exact(block);
        if samples.len() + frames.len() > limit {
            return Err(too_many(format!("more than {limit}")));
        }
        samples
            .try_reserve(frames.len())
            .map_err(|e| FileError::system(path, "read", e.into()))?;
        samples.extend(frames.map(|frame| format.sample(frame, channel)));
        if read < wanted || taken == most {
            break;
        }
    }
    let mut warning = None;
    if promised == 0 && riff.is_at_its_end() {
        // The header announces no samples, and the length of the whole file agrees: what follows is no
        // sample.
        samples.clear();
    } else if taken == most && !taken.is_multiple_of(block as u64) {
        return Err(FileError::format(
            path,
            format!("{taken} bytes of samples"),
            format!("a multiple of {block}, the bytes of a sample of each channel"),
        ));
    } else if taken < most && (1..UNKNOWN_LENGTH).contains(&promised) {
        warning = Some(format!(
            "warning: {}: the file ends behind {taken} of {promised} bytes of samples; what is there is all that is read: was it cut off?\n",
            path.display()
        ));
    }
    Ok(Sound {
        rate: format.rate,
        samples,
        warning,
    })
}

/// Reads up to the samples; returns their format and their length in bytes as the header has it.
fn data<R: Read>(riff: &mut Riff<'_, R>) -> Result<(WavFormat, u32), FileError> {
    let mut format = None;
    while let Some(chunk) = riff.next()? {
        match &chunk.name {
            b"fmt " if format.is_none() => {
                let (bytes, length) = riff.beginning(&chunk)?;
                format = Some(WavFormat::parse(&bytes[..length]).map_err(
                    |(found, expected)| FileError::format(riff.path(), found, expected),
                )?);
            }
            b"fmt " => return Err(riff.make_format_error("a second format of its samples")),
            b"data" => {
                let before = || riff.make_format_error("samples before their format");
                return Ok((format.ok_or_else(before)?, chunk.length));
            }
            _ => riff.skip(&chunk)?,
        }
    }
    let missing = match format {
        Some(_) => "the file ends before its samples (no `data` chunk)",
        None => "the file ends before the format of its samples (no `fmt ` chunk)",
    };
    Err(riff.make_format_error(missing))
}
