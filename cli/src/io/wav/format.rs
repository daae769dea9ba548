//! The sample format of a recording.

use super::EXPECTED;

/// Meaningful bytes of the longest format: a `WAVEFORMATEXTENSIBLE`.
pub(super) const LONGEST: usize = 40;
/// Bytes of the shortest format.
const SHORTEST: usize = 16;
/// Tag of formats that give the kind of samples as a GUID, which begins with one of the older tags.
const EXTENSIBLE: u16 = 0xfffe;
/// Remaining bytes of such a GUID.
const GUID: [u8; 14] = [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71];
/// Tags of encoded samples, which are not supported, with their names.
const CODED: [(u16, &str); 12] = [
    (0x0002, "Microsoft ADPCM"),
    (0x0006, "A-law"),
    (0x0007, "mu-law"),
    (0x0011, "IMA ADPCM"),
    (0x0016, "G.723 ADPCM"),
    (0x0031, "GSM 6.10"),
    (0x0040, "G.721 ADPCM"),
    (0x0050, "MPEG layer 1 or 2"),
    (0x0055, "MP3"),
    (0x00ff, "AAC"),
    (0x0161, "Windows Media Audio"),
    (0x2000, "AC-3"),
];
/// Full scale of an integer that is shifted to the top of 64 bits.
const FULL_SCALE: f32 = (1_u64 << 63) as f32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Integer of one byte with an offset of 0x80.
    Unsigned,
    /// Integer of several bytes, in two's complement.
    Signed,
    Float32,
    Float64,
}

/// Format of the samples in a recording.
#[derive(Clone, Copy, Debug)]
pub(super) struct WavFormat {
    /// Number of channels, at least one, whose samples are interleaved.
    pub(super) channels: u16,
    /// Samples of a channel per second, at least one.
    pub(super) rate: u32,
    /// Bytes of a sample.
    container: usize,
    kind: Kind,
}

impl WavFormat {
    /// Parses the beginning of a `fmt ` chunk. An error holds what was found and what is expected.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, (String, String)> {
        let wrong = |found: String, expected: &str| Err((found, expected.to_owned()));
        if bytes.len() < SHORTEST {
            return wrong(
                format!("a format of {} bytes", bytes.len()),
                "16 bytes at least",
            );
        }
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let (channels, block, bits) = (half(2), half(12), half(14));
        let rate = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        let tag = match (half(0), bytes.get(24..LONGEST)) {
            (EXTENSIBLE, Some(guid)) if guid[2..] == GUID => half(24),
            (EXTENSIBLE, Some(guid)) => {
                let digits: String = guid.iter().map(|b| format!("{b:02x}")).collect();
                return wrong(format!("samples of the kind {digits}"), EXPECTED);
            }
            (EXTENSIBLE, None) => {
                return wrong(
                    format!("an extensible format of {} bytes", bytes.len()),
                    "40 bytes at least",
                );
            }
            (tag, _) => tag,
        };
        if channels == 0 {
            return wrong("0 channels".to_owned(), "one at least");
        }
        if rate == 0 {
            return wrong("a sample rate of 0".to_owned(), "a positive rate");
        }
        let coded = CODED.iter().find(|(code, _)| *code == tag);
        if let Some((_, name)) = coded {
            let expected = format!("{EXPECTED}: decode it first");
            return wrong(format!("samples in {name}"), &expected);
        }
        // Samples with fewer bits occupy the upper bits of their bytes, so that the number of bits does not
        // matter.
        let container = usize::from(block / channels);
        let fits = block.is_multiple_of(channels) && usize::from(bits) <= 8 * container;
        let kind = match (tag, container, bits) {
            (1, 1, 1..) if fits => Kind::Unsigned,
            // Files disagree whether samples of at most 8 bits in several bytes are unsigned: those are
            // refused.
            (1, 2..=8, 9..) if fits => Kind::Signed,
            (3, 4, 32) if fits => Kind::Float32,
            (3, 8, 64) if fits => Kind::Float64,
            (1, ..) | (3, ..) => {
                let what = if tag == 1 { "PCM" } else { "float" };
                return wrong(
                    format!("{what} samples of {bits} bits, {channels} of them in {block} bytes"),
                    EXPECTED,
                );
            }
            _ => return wrong(format!("samples of the kind {tag:#06x}"), EXPECTED),
        };
        Ok(Self {
            channels,
            rate,
            container,
            kind,
        })
    }

    /// Returns the bytes of a block: one sample of each channel.
    pub(super) fn block(&self) -> usize {
        self.container * usize::from(self.channels)
    }

    /// Returns the sample of a channel in a block; full scale of an integer is 1.
    pub(super) fn sample(&self, block: &[u8], channel: u16) -> f32 {
        let start = usize::from(channel) * self.container;
        let bytes = &block[start..start + self.container];
        let mut word = [0; 8];
        match self.kind {
            Kind::Unsigned => word[7] = bytes[0] ^ 0x80,
            Kind::Signed => word[8 - bytes.len()..].copy_from_slice(bytes),
            Kind::Float32 => return f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            Kind::Float64 => {
                word.copy_from_slice(bytes);
                return f64::from_le_bytes(word) as f32;
            }
        }
        // The conversion rounds once, since the scale is a power of two.
        i64::from_le_bytes(word) as f32 / FULL_SCALE
    }
}
