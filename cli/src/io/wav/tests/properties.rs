//! Whatever the formats allow, and what they do not.

use super::*;
use proptest::prelude::*;

fn kinds() -> impl Strategy<Value = Kind> {
    let pcm = (1_u16..=8).prop_flat_map(|container| {
        // From 9 bits on where there are more bytes than one; 32 are numbers that the expected values hold exactly.
        let (fewest, most) = if container == 1 {
            (1, 8)
        } else {
            (9, 8 * container.min(4))
        };
        (Just(1_u16), Just(container), fewest..=most)
    });
    let float = prop::sample::select(vec![4_u16, 8]).prop_map(|bytes| (3, bytes, 8 * bytes));
    let sample = prop_oneof![3 => pcm, 1 => float];
    (sample, 1_u16..5, any::<bool>(), 0_usize..5).prop_map(
        |((tag, container, bits), channels, extensible, more)| Kind {
            tag,
            channels,
            container,
            bits,
            extensible,
            more,
        },
    )
}

/// Names that mean nothing here, and what is in them.
fn others() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let names = prop::sample::select(vec![*b"LIST", *b"bext", *b"fact", *b"id3 ", *b"junk"]);
    let any = (names, prop::collection::vec(any::<u8>(), 0..20));
    prop::collection::vec(any.prop_map(|(name, data)| chunk(&name, &data)), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is written as the formats define it is read as it was meant, however its length is put.
    #[test]
    fn what_is_written_is_read(
        kind in kinds(),
        [before, between, behind] in [others(), others(), others()],
        drawn in prop::collection::vec(any::<i64>(), 0..30),
        put in 0_usize..6,
    ) {
        let channels = usize::from(kind.channels);
        let frames: Vec<Vec<(Vec<u8>, f32)>> = drawn
            .chunks_exact(channels)
            .map(|frame| frame.iter().map(|&number| kind.sample(number)).collect())
            .collect();
        let data: Vec<u8> = frames.iter().flatten().flat_map(|(bytes, _)| bytes.clone()).collect();
        let length = [data.len() as u32, u32::MAX, u32::MAX - 1, 0, 0x7fff_fff0, data.len() as u32 + 1000][put];
        let mut chunks = [before, vec![kind.format()], between].concat();
        if put == 0 {
            chunks.push(chunk(b"data", &data));
            chunks.extend(behind);
        } else {
            // What has no length has nothing behind it, and no pad byte.
            chunks.push([&b"data"[..], &length.to_le_bytes(), &data].concat());
        }
        let mut file = riff(&chunks);
        if put > 0 {
            file[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
        }
        for channel in 0..channels {
            let sound = read_bytes(&file, channel as u16, 100).unwrap();
            let expected: Vec<f32> = frames.iter().map(|frame| frame[channel].1).collect();
            prop_assert_eq!(sound.samples, expected);
            prop_assert_eq!(sound.rate, 48_000);
            prop_assert_eq!(sound.warning.is_some(), put == 5);
        }
        prop_assert!(read_bytes(&file, channels as u16, 100).is_err());
    }

    /// The beginning of a file is an error, or the beginning of its samples and a warning.
    #[test]
    fn a_part_of_a_file_is_no_other_recording(kind in kinds(), list in others(), drawn in prop::collection::vec(any::<i64>(), 1..9)) {
        let data: Vec<u8> = drawn.iter().flat_map(|&number| kind.sample(number).0).collect();
        let block = usize::from(kind.channels * kind.container);
        let data = &data[..data.len() / block * block];
        let mut chunks = list;
        chunks.extend([kind.format(), chunk(b"data", data)]);
        let file = riff(&chunks);
        let whole = read_bytes(&file, 0, 100).unwrap().samples;
        for end in 0..file.len() {
            if let Ok(part) = read_bytes(&file[..end], 0, 100) {
                prop_assert!(whole.starts_with(&part.samples));
                prop_assert!(part.samples.len() == whole.len() || part.warning.is_some());
            }
        }
    }

    /// No bytes are fatal, or make more samples than there are bytes.
    #[test]
    fn no_bytes_are_fatal(kind in kinds(), list in others(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let (data, _) = ramp();
        let mut chunks = list;
        chunks.extend([kind.format(), chunk_of(b"data", 512 / u32::from(kind.channels * kind.container), &data)]);
        let mut file = riff(&chunks);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Ok(sound) = read_bytes(&file, 0, usize::MAX) {
            prop_assert!(sound.samples.len() <= file.len());
        }
    }
}
