//! Arrays as they may come.

use super::*;
use proptest::prelude::*;

fn raw(dict: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(dict.len() + 1).unwrap().to_le_bytes());
    bytes.extend(dict.as_bytes());
    bytes.push(b'\n');
    bytes.extend(payload);
    bytes
}

fn read(bytes: &[u8]) -> Result<Array, FileError> {
    parse(
        Path::new("x.npy"),
        Kind::SIGNAL,
        1 << 30,
        bytes,
        Some(bytes.len() as u64),
    )
}

fn message(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

fn dict(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

#[test]
fn reads_both_types_and_both_orders() {
    let payload: Vec<u8> = (0..6_u8).flat_map(|i| f32::from(i).to_le_bytes()).collect();
    let c = read(&raw(&dict("<f4", "False", "(2, 3)"), &payload)).unwrap();
    assert_eq!(
        c.to_complex().iter().map(|z| z.re).collect::<Vec<_>>(),
        [0., 1., 2., 3., 4., 5.]
    );
    let f = read(&raw(&dict("<f4", "True", "(2, 3)"), &payload)).unwrap();
    assert_eq!(
        f.to_complex().iter().map(|z| z.re).collect::<Vec<_>>(),
        [0., 2., 4., 1., 3., 5.]
    );
    let z = read(&raw(&dict("<c8", "False", "(3,)"), &payload)).unwrap();
    assert_eq!(z.to_complex()[2], Complex32::new(4.0, 5.0));
    assert_eq!(z.shape, [3]);
}

#[test]
fn hostile_headers_are_errors() {
    let huge = message(&raw(&dict("<c8", "False", "(1152921504606846976,)"), &[]));
    assert!(
        huge.contains("x.npy") && huge.contains("1152921504606846976"),
        "{huge}"
    );
    assert!(
        message(&raw(&dict("<c8", "False", "(4294967296, 4294967296)"), &[])).contains("announces")
    );
    assert!(
        message(&raw(
            &dict("<c8", "False", "(99999999999999999999999,)"),
            &[]
        ))
        .contains("shape")
    );
    assert!(message(&raw(&dict(">c8", "False", "(1,)"), &[0; 8])).contains(">c8"));
    assert!(message(&raw(&dict("<f8", "False", "(1,)"), &[0; 8])).contains("<f8"));
    assert!(message(&raw(&dict("<c8", "False", "()"), &[0; 8])).contains("0 dimensions"));
    assert!(message(&raw(&dict("<c8", "False", "(2,)"), &[0; 8])).contains("16 bytes"));
    assert!(message(&raw(&dict("<c8", "False", "(1,)"), &[0; 9])).contains("9 bytes"));
    assert!(message(&raw(&"(".repeat(9000), &[])).contains("dictionary"));
    assert!(message(b"\x93NUMPY\x02\x00\xff\xff\xff\xff").contains("header of 4294967295"));
    assert!(message(b"RIFF0000WAVE").contains("no .npy file"));
    assert!(message(b"").contains("ends within"));
}

#[test]
fn a_stream_of_unknown_length_is_not_trusted_either() {
    let bytes = raw(&dict("<c8", "False", "(1048576,)"), &[0; 8]);
    assert!(
        parse(Path::new("-"), Kind::ANY, 1 << 30, bytes.as_slice(), None)
            .unwrap_err()
            .to_string()
            .contains("but 8 bytes")
    );
}

proptest! {
    #[test]
    fn written_is_read(rows in 0_usize..5, columns in 0_usize..5, bits in any::<u64>()) {
        let value = Complex32::new(f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32));
        let array = Array::of_complex(&[rows, columns], &vec![value; rows * columns]);
        let back = read(&array.to_npy()).unwrap();
        prop_assert_eq!(&back, &array);
        let again = Array::of_complex(&back.shape, &back.to_complex());
        prop_assert_eq!(again, array);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
        let _ = read(&raw(&String::from_utf8_lossy(&bytes), &[]));
    }
}
