//! Sound: PCM of 8, 16, 24 and 32 bits, and 32-bit float.

use super::{FileError, open};
use hound::{SampleFormat, WavReader};
use std::io::BufReader;
use std::path::Path;

/// One channel of a recording.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sound {
    /// Samples per second.
    pub(crate) rate: u32,
    /// Samples; full scale is 1.
    pub(crate) samples: Vec<f32>,
}

/// Reads one channel (counted from 0) of at most `limit` samples.
pub(crate) fn read_wav(path: &Path, channel: u16, limit: usize) -> Result<Sound, FileError> {
    let wrong = |e: hound::Error| match e {
        hound::Error::IoError(e)
            if e.kind() != std::io::ErrorKind::UnexpectedEof
                && e.kind() != std::io::ErrorKind::Other =>
        {
            FileError::system(path, "read", e)
        }
        e => FileError::format(
            path,
            e.to_string(),
            "a complete .wav file of PCM or 32-bit float samples",
        ),
    };
    let mut reader = WavReader::new(BufReader::new(open(path)?)).map_err(wrong)?;
    let spec = reader.spec();
    if channel >= spec.channels {
        return Err(FileError::format(
            path,
            format!("{} channels, so none with number {channel}", spec.channels),
            format!("--channel 0 to {}", spec.channels.saturating_sub(1)),
        ));
    }
    if spec.sample_rate == 0 {
        return Err(FileError::format(
            path,
            "a sample rate of 0",
            "a positive rate",
        ));
    }
    let samples = reader.duration() as usize;
    if samples > limit {
        return Err(FileError::format(
            path,
            format!("{samples} samples"),
            format!(
                "at most {limit}, whose frames the machine's memory holds: with a larger --hop more fit, or with another --machine"
            ),
        ));
    }
    // The iterators read as they go: a header that promises too much is an error, not an allocation.
    let samples = match spec.sample_format {
        SampleFormat::Float => pick(reader.samples::<f32>(), spec.channels, channel),
        SampleFormat::Int => {
            let scale = (1.0 / f64::powi(2.0, i32::from(spec.bits_per_sample) - 1)) as f32;
            pick(
                reader.samples::<i32>().map(|s| s.map(|s| s as f32 * scale)),
                spec.channels,
                channel,
            )
        }
    };
    Ok(Sound {
        rate: spec.sample_rate,
        samples: samples.map_err(wrong)?,
    })
}

/// One channel of interleaved samples; an error in any channel is an error.
fn pick(
    samples: impl Iterator<Item = Result<f32, hound::Error>>,
    channels: u16,
    channel: u16,
) -> Result<Vec<f32>, hound::Error> {
    samples
        .enumerate()
        .filter(|(i, s)| s.is_err() || i % usize::from(channels) == usize::from(channel))
        .map(|(_, s)| s)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hound::{WavSpec, WavWriter};

    fn file(
        bits: u16,
        format: SampleFormat,
        write: impl Fn(&mut WavWriter<std::io::BufWriter<std::fs::File>>),
    ) -> tempfile::TempPath {
        let path = tempfile::Builder::new()
            .suffix(".wav")
            .tempfile()
            .unwrap()
            .into_temp_path();
        let spec = WavSpec {
            channels: 2,
            sample_rate: 48_000,
            bits_per_sample: bits,
            sample_format: format,
        };
        let mut writer = WavWriter::create(&path, spec).unwrap();
        write(&mut writer);
        writer.finalize().unwrap();
        path
    }

    #[test]
    fn every_width_and_channel() {
        for bits in [8, 16, 24, 32] {
            let half = 1_i32 << (bits - 2);
            let path = file(bits, SampleFormat::Int, |w| {
                for i in 0..4 {
                    w.write_sample(if i % 2 == 0 { half } else { -half })
                        .unwrap();
                }
            });
            assert_eq!(
                read_wav(&path, 0, 100).unwrap().samples,
                [0.5, 0.5],
                "{bits} bits"
            );
            assert_eq!(
                read_wav(&path, 1, 100).unwrap().samples,
                [-0.5, -0.5],
                "{bits} bits"
            );
            assert_eq!(read_wav(&path, 1, 100).unwrap().rate, 48_000);
            assert!(
                read_wav(&path, 2, 100)
                    .unwrap_err()
                    .to_string()
                    .contains("--channel 0 to 1")
            );
        }
        let path = file(32, SampleFormat::Float, |w| {
            w.write_sample(0.25_f32).unwrap();
            w.write_sample(-0.75_f32).unwrap();
        });
        assert_eq!(read_wav(&path, 1, 100).unwrap().samples, [-0.75]);
    }

    #[test]
    fn truncated_and_foreign_files_are_errors() {
        let path = file(16, SampleFormat::Int, |w| {
            (0..100).for_each(|i| w.write_sample(i).unwrap())
        });
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 3, 11, 20, 40, 44, 60, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let error = read_wav(&path, 0, 100).unwrap_err().to_string();
            assert!(error.contains(".wav"), "{cut}: {error}");
        }
    }
}
