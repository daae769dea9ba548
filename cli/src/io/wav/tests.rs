//! Tests of recordings, with files built byte by byte as RIFF and WAVE define.

mod properties;

use super::*;

const GUID: [u8; 14] = *b"\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71";

fn chunk_of(name: &[u8; 4], length: u32, data: &[u8]) -> Vec<u8> {
    let mut chunk = [&name[..], &length.to_le_bytes(), data].concat();
    if data.len() % 2 == 1 {
        chunk.push(0);
    }
    chunk
}

fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    chunk_of(name, data.len() as u32, data)
}

fn riff(chunks: &[Vec<u8>]) -> Vec<u8> {
    let body = [b"WAVE".to_vec(), chunks.concat()].concat();
    [&b"RIFF"[..], &(body.len() as u32).to_le_bytes(), &body].concat()
}

/// Format of the samples that a test builds.
#[derive(Clone, Debug)]
struct Kind {
    tag: u16,
    channels: u16,
    /// Bytes of a sample.
    container: u16,
    /// Number of valid bits in a sample.
    bits: u16,
    extensible: bool,
    /// Extra bytes of the format after its fields.
    more: usize,
}

impl Kind {
    const PLAIN: Self = Self {
        tag: 1,
        channels: 1,
        container: 2,
        bits: 16,
        extensible: false,
        more: 0,
    };

    fn format(&self) -> Vec<u8> {
        let block = self.channels * self.container;
        let (tag, bits) = match self.extensible {
            true => (0xfffe, 8 * self.container),
            false => (self.tag, self.bits),
        };
        let mut data = Vec::new();
        data.extend(tag.to_le_bytes());
        data.extend(self.channels.to_le_bytes());
        data.extend(48_000_u32.to_le_bytes());
        data.extend((48_000 * u32::from(block)).to_le_bytes());
        data.extend(block.to_le_bytes());
        data.extend(bits.to_le_bytes());
        if self.extensible {
            data.extend((22 + self.more as u16).to_le_bytes());
            data.extend(self.bits.to_le_bytes());
            data.extend([0; 4]);
            data.extend(self.tag.to_le_bytes());
            data.extend(GUID);
        }
        data.extend(vec![0xee; self.more]);
        chunk(b"fmt ", &data)
    }

    /// Makes a sample from 64 random bits: its bytes in the file, and its value.
    fn sample(&self, drawn: i64) -> (Vec<u8>, f32) {
        if self.tag == 3 {
            let value = drawn as f32 / i64::MAX as f32;
            return match self.container {
                4 => (value.to_le_bytes().to_vec(), value),
                _ => (f64::from(value).to_le_bytes().to_vec(), value),
            };
        }
        let number = drawn >> (64 - self.bits);
        let value = number as f64 / f64::powi(2.0, i32::from(self.bits) - 1);
        let mut place = number << (8 * self.container - self.bits);
        if self.container == 1 {
            place += 128;
        }
        let bytes = place.to_le_bytes()[..usize::from(self.container)].to_vec();
        (bytes, value as f32)
    }
}

fn read_bytes(file: &[u8], channel: u16, limit: usize) -> Result<Sound, String> {
    let of = |length| read(Path::new("x.wav"), (file, length), channel, limit);
    let (known, unknown) = (of(Some(file.len() as u64)), of(None));
    if let (Ok(known), Ok(unknown)) = (&known, &unknown) {
        assert_eq!(known, unknown, "a pipe gives the same");
    }
    assert_eq!(known.is_ok(), unknown.is_ok());
    known.map_err(|e| e.to_string())
}

fn samples(file: &[u8]) -> Vec<f32> {
    read_bytes(file, 0, 1000).unwrap().samples
}

fn said(file: &[u8]) -> String {
    let said = read_bytes(file, 0, 1000).unwrap_err();
    assert!(said.starts_with("x.wav: "), "{said}");
    said
}

fn ramp() -> (Vec<u8>, Vec<f32>) {
    let bytes = (0..256_i16).flat_map(i16::to_le_bytes).collect();
    (
        bytes,
        (0..256_u16).map(|i| f32::from(i) / 32768.0).collect(),
    )
}

/// The upper 24 bits of words of 32 are the valid ones, and none is lost.
#[test]
fn fewer_bits_than_their_bytes_have_are_at_the_top() {
    for (container, bits, extensible) in [
        (4, 24, true),
        (4, 16, true),
        (3, 16, false),
        (4, 16, false),
        (2, 12, false),
        (3, 20, true),
    ] {
        let kind = Kind {
            container,
            bits,
            extensible,
            ..Kind::PLAIN
        };
        let half = 1_i64 << (8 * container - 2);
        let least = 1_i64 << (8 * container - bits);
        let words = [half, -half, least, -2 * half];
        let data: Vec<u8> = words
            .iter()
            .flat_map(|word| word.to_le_bytes()[..usize::from(container)].to_vec())
            .collect();
        let file = riff(&[kind.format(), chunk(b"data", &data)]);
        let step = f32::powi(2.0, 1 - i32::from(bits));
        assert_eq!(samples(&file), [0.5, -0.5, step, -1.0], "{kind:?}");
    }
}

#[test]
fn chunks_of_odd_lengths_have_a_pad_byte() {
    let (data, ramp) = ramp();
    let list = chunk(b"LIST", b"INFOICMT\x05\0\0\0abcd\0");
    assert_eq!(list.len(), 8 + 17 + 1);
    let file = riff(&[
        Kind::PLAIN.format(),
        list.clone(),
        chunk(b"data", &data),
        list,
    ]);
    assert_eq!(samples(&file), ramp);
    // Three samples of one byte, and a chunk behind their pad byte.
    let bytes = Kind {
        container: 1,
        bits: 8,
        ..Kind::PLAIN
    };
    let file = riff(&[
        bytes.format(),
        chunk(b"data", &[192, 64, 128]),
        chunk(b"note", b"abc"),
    ]);
    assert_eq!(samples(&file), [0.5, -0.5, 0.0]);
    let long = Kind {
        extensible: true,
        more: 2,
        ..Kind::PLAIN
    };
    assert_eq!(
        samples(&riff(&[long.format(), chunk(b"data", &data)])),
        ramp
    );
}

/// A program that writes to a pipe cannot return to correct the lengths.
#[test]
fn a_length_that_nobody_knew_is_the_file_s() {
    let (data, ramp) = ramp();
    let lengths = [
        u32::MAX,
        u32::MAX - 1,
        0x7fff_ffff,
        0x7fff_f000,
        0x8000_0000,
        0,
    ];
    for length in lengths {
        for of_all in [u32::MAX, 0, 36, length.wrapping_add(36)] {
            let mut file = riff(&[Kind::PLAIN.format(), chunk_of(b"data", length, &data)]);
            file[4..8].copy_from_slice(&of_all.to_le_bytes());
            let sound = read_bytes(&file, 0, 256).unwrap();
            assert_eq!(
                (sound.samples, sound.warning),
                (ramp.clone(), None),
                "{length:#x}"
            );
            assert!(
                read_bytes(&file, 0, 255)
                    .unwrap_err()
                    .contains(" samples; expected at most 255, ")
            );
            // The last sample is incomplete.
            file.pop();
            assert_eq!(samples(&file), ramp[..255], "{length:#x}");
        }
    }
    let empty = riff(&[
        Kind::PLAIN.format(),
        chunk(b"data", &[]),
        chunk(b"LIST", b"INFO"),
    ]);
    let none = samples(&empty);
    assert!(none.is_empty(), "no length is not an unknown one");
    // A file with a correct length was cut off.
    let file = riff(&[Kind::PLAIN.format(), chunk_of(b"data", 600, &data)]);
    let sound = read_bytes(&file, 0, 1000).unwrap();
    assert_eq!(sound.samples, ramp);
    let warning = sound.warning.unwrap();
    assert!(
        warning.contains("x.wav: the file ends behind 512 of 600 bytes"),
        "{warning}"
    );
}

#[test]
fn what_is_no_recording_is_refused_by_name() {
    let (data, _) = ramp();
    let of = |kind: Kind| riff(&[kind.format(), chunk(b"data", &data)]);
    let coded = |tag, extensible| Kind {
        tag,
        extensible,
        ..Kind::PLAIN
    };
    let plain = of(Kind::PLAIN);
    let patched = |at: usize, bytes: &[u8]| {
        let mut file = plain.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let mut other_guid = of(coded(1, true));
    other_guid[50] ^= 1;
    for (file, words) in [
        (of(coded(6, false)), "samples in A-law; expected"),
        (of(coded(7, true)), "samples in mu-law; expected"),
        (of(coded(0x11, false)), "samples in IMA ADPCM"),
        (of(coded(0x55, false)), "samples in MP3"),
        (of(coded(0x1234, true)), "samples of the kind 0x1234"),
        (other_guid, "samples of the kind 0100"),
        (
            of(coded(3, false)),
            "float samples of 16 bits, 1 of them in 2 bytes",
        ),
        (
            of(Kind {
                bits: 24,
                ..Kind::PLAIN
            }),
            "PCM samples of 24 bits, 1 of them in 2 bytes",
        ),
        (
            of(Kind {
                bits: 8,
                ..Kind::PLAIN
            }),
            "PCM samples of 8 bits",
        ),
        (
            of(Kind {
                container: 9,
                ..Kind::PLAIN
            }),
            "PCM samples of 16 bits, 1 of them in 9",
        ),
        (patched(22, &[3]), "PCM samples of 16 bits, 3 of them in 2"),
        (patched(22, &[0]), "0 channels"),
        (patched(24, &[0; 4]), "a sample rate of 0"),
        (patched(0, b"RF64"), "an RF64 file"),
        (patched(0, b"BW64"), "a BW64 file"),
        (patched(0, b"RIFX"), "big-endian"),
        (patched(0, b"fLaC"), "a FLAC file"),
        (patched(8, b"AVI "), "no .wav file"),
        (Vec::new(), "an empty file"),
        (riff(&[]), "no `fmt ` chunk"),
        (riff(&[chunk(b"fmt ", &[0; 15])]), "a format of 15 bytes"),
        (
            riff(&[chunk(b"fmt ", &[0xfe, 0xff].repeat(9))]),
            "an extensible format of 18 bytes",
        ),
        (riff(&[Kind::PLAIN.format()]), "no `data` chunk"),
        (
            riff(&[chunk(b"data", &data)]),
            "samples before their format",
        ),
        (
            riff(&[Kind::PLAIN.format(), Kind::PLAIN.format()]),
            "a second format",
        ),
        (
            riff(&[Kind::PLAIN.format(), chunk(b"data", &data[..511])]),
            "511 bytes of samples; expected a multiple of 2",
        ),
        (
            riff(&[Kind::PLAIN.format(), chunk_of(b"LIST", 99, &data[..9])]),
            "ends within its chunk \"LIST\" of 99 bytes",
        ),
    ] {
        let said = said(&file);
        assert!(
            said.contains(words) && said.contains("; expected"),
            "{words}: {said}"
        );
    }
    assert!(
        read_bytes(&plain, 1, 1000)
            .unwrap_err()
            .contains("--channel 0 to 0")
    );
}
