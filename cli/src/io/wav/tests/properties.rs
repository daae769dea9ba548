//! Property tests of everything the formats allow, and of damaged files.

use super::*;
use proptest::prelude::*;

fn kinds() -> impl Strategy<Value = Kind> {
    let pcm = (1_u16..=8).prop_flat_map(|container| {
        // With more than one byte, at least 9 bits; at most 32, which the expected values hold exactly.
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

/// Strategy for chunks with unknown names and their contents.
fn others() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let names = prop::sample::select(vec![*b"LIST", *b"bext", *b"fact", *b"id3 ", *b"junk"]);
    let any = (names, prop::collection::vec(any::<u8>(), 0..20));
    prop::collection::vec(any.prop_map(|(name, data)| chunk(&name, &data)), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A file that follows the definitions is read exactly, however its length is given.
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
            // A recording of unknown length has no chunk behind it, and no pad byte.
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

    /// A truncated file is an error, or gives the beginning of its samples and a warning.
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

    /// Arbitrary bytes cause no panic, and give no more samples than bytes.
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
