//! Records as bytes, there and back.

use cp2_network::{NetworkError, Picoseconds, Record, RecordedOperation, Request};
use proptest::option;
use proptest::prelude::*;

fn requests() -> impl Strategy<Value = Vec<Request>> {
    proptest::collection::vec(any::<u64>().prop_map(Request), 0..5)
}

fn operations() -> impl Strategy<Value = RecordedOperation> {
    prop_oneof![
        (any::<usize>(), any::<u32>(), any::<u64>()).prop_map(|(destination, tag, bytes)| {
            RecordedOperation::Send {
                destination,
                tag,
                bytes,
            }
        }),
        (
            option::of(any::<usize>()),
            option::of(any::<u32>()),
            any::<u64>()
        )
            .prop_map(|(source, tag, bytes)| RecordedOperation::Receive {
                source,
                tag,
                bytes
            }),
        requests().prop_map(|requests| RecordedOperation::Wait { requests }),
        requests().prop_map(|requests| RecordedOperation::Test { requests }),
        Just(RecordedOperation::Pause),
        Just(RecordedOperation::End),
        (".*", any::<bool>())
            .prop_map(|(message, of_host)| RecordedOperation::Fail { message, of_host }),
    ]
}

fn records() -> impl Strategy<Value = Record> {
    // Small numbers take few bytes, and all lengths have to be drawn.
    let times = (any::<u64>(), 0_u32..64).prop_map(|(time, shift)| time >> shift);
    (times, operations()).prop_map(|(at, operation)| Record {
        at: Picoseconds(at),
        operation,
    })
}

proptest! {
    #[test]
    fn records_come_back(all in proptest::collection::vec(records(), 0..6)) {
        let mut bytes = Vec::new();
        for record in &all {
            record.encode(&mut bytes);
        }
        let mut rest = bytes.as_slice();
        for record in &all {
            let found = Record::decode(&mut rest, 0);
            prop_assert_eq!(found.as_ref(), Ok(record));
        }
        prop_assert!(rest.is_empty());
    }

    /// Whoever reads it knows its end, so a shorter one is none.
    #[test]
    fn parts_of_records_are_refused(record in records(), cut in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        bytes.truncate(cut.index(bytes.len()));
        let refused = matches!(
            Record::decode(&mut bytes.as_slice(), 3),
            Err(NetworkError::Record { rank: 3, offset, .. }) if offset <= bytes.len()
        );
        prop_assert!(refused);
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut rest = bytes.as_slice();
        while !rest.is_empty() && Record::decode(&mut rest, 0).is_ok() {}
    }

    /// Bytes that begin as a record, which random ones seldom do for long.
    #[test]
    fn changed_records_are_a_record_or_an_error(
        record in records(),
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        let place = place.index(bytes.len());
        bytes[place] = value;
        let _ = Record::decode(&mut bytes.as_slice(), 0);
    }
}

/// Three kinds of what a halo does, byte for byte.
#[test]
fn records_are_short() {
    let bytes = |at, operation| {
        let mut out = Vec::new();
        let at = Picoseconds(at);
        Record { at, operation }.encode(&mut out);
        out
    };
    let send = RecordedOperation::Send {
        destination: 5,
        tag: 300,
        bytes: 4,
    };
    assert_eq!(bytes(128, send), [0, 0x80, 1, 5, 0xac, 2, 4]);
    let receive = RecordedOperation::Receive {
        source: Some(2),
        tag: None,
        bytes: 127,
    };
    assert_eq!(bytes(1, receive), [1, 1, 1, 2, 0, 127]);
    let wait = RecordedOperation::Wait {
        requests: vec![Request(0), Request(9)],
    };
    assert_eq!(bytes(0, wait), [2, 0, 2, 0, 9]);
}

#[test]
fn numbers_of_more_than_64_bits_are_refused() {
    let mut bytes = vec![4];
    bytes.extend([0xff; 9]);
    for (last, fits) in [(1, true), (2, false), (0x80, false)] {
        let mut bytes = bytes.clone();
        bytes.push(last);
        let found = Record::decode(&mut bytes.as_slice(), 0);
        assert_eq!(found.is_ok(), fits, "{found:?}");
    }
}
