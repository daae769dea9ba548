//! Tests of `.npy` files of every accepted form, and of damaged ones.

use super::*;
use ndarray::{IxDyn, ShapeBuilder as _};
use proptest::prelude::*;

fn raw(dict: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(dict.len() + 1).unwrap().to_le_bytes());
    bytes.extend(dict.as_bytes());
    bytes.push(b'\n');
    bytes.extend(payload);
    bytes
}

fn read(bytes: &[u8]) -> Result<NpyArray, FileError> {
    let stream = (bytes, Some(bytes.len() as u64));
    Npy::new(Path::new("x.npy"), Kind::SIGNAL, 1 << 30, stream)?.read_all()
}

/// Reads an array element by element.
fn read_slowly(bytes: &[u8]) -> Result<NpyArray, FileError> {
    let stream = (bytes, Some(bytes.len() as u64));
    let mut npy = Npy::new(Path::new("x.npy"), Kind::SIGNAL, 1 << 30, stream)?;
    let mut all = vec![0; npy.elements() * npy.kind.bytes()];
    for element in all.chunks_mut(npy.kind.bytes()) {
        npy.read(element)?;
    }
    Ok(NpyArray {
        kind: npy.kind,
        shape: npy.shape,
        bytes: all,
    })
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
    let open = |bytes| Npy::new(Path::new("-"), Kind::ANY, 1 << 30, (bytes, None));
    let whole = open(&bytes[..])
        .unwrap()
        .read_all()
        .unwrap_err()
        .to_string();
    assert!(whole.contains("but 8 bytes"), "{whole}");
    let mut npy = open(&bytes[..]).unwrap();
    assert!(npy.read(&mut [0; 8]).is_ok());
    let part = npy.read(&mut [0; 8]).unwrap_err().to_string();
    assert!(part.contains("but 8 bytes"), "{part}");
    let long = raw(&dict("<c8", "False", "(1,)"), &[0; 9]);
    let more = open(&long[..]).unwrap().read(&mut [0; 8]).unwrap_err();
    assert!(more.to_string().contains("but more than 8 bytes"), "{more}");
    let huge = raw(&dict("<c8", "False", "(1073741824,)"), &[]);
    assert!(open(&huge[..]).is_err());
}

proptest! {
    #[test]
    fn written_is_read(rows in 0_usize..5, columns in 0_usize..5, bits in any::<u64>()) {
        let value = Complex32::new(f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32));
        let array = NpyArray::from_complex(&[rows, columns], &vec![value; rows * columns]);
        let back = read(&array.to_npy()).unwrap();
        prop_assert_eq!(&back, &array);
        prop_assert_eq!(&read_slowly(&array.to_npy()).unwrap(), &array);
        let again = NpyArray::from_complex(&back.shape, &back.to_complex());
        prop_assert_eq!(again, array);
    }

    #[test]
    fn others_read_and_write_the_same(shape in proptest::collection::vec(0_usize..5, 1..5), fortran in any::<bool>()) {
        use ndarray_npy::{ReadNpyExt as _, WriteNpyExt as _};
        let count: usize = shape.iter().product();
        let numbers: Vec<f32> = (0..count).map(|i| i as f32).collect();
        let theirs = match fortran {
            true => ndarray::ArrayD::from_shape_vec(IxDyn(&shape).f(), numbers),
            false => ndarray::ArrayD::from_shape_vec(IxDyn(&shape), numbers),
        }
        .unwrap();
        let mut file = Vec::new();
        theirs.write_npy(&mut file).unwrap();
        let ours = read(&file).unwrap();
        prop_assert_eq!(&ours, &read_slowly(&file).unwrap());
        prop_assert_eq!(&ours.shape, &shape);
        prop_assert!(ours.bytes.iter().copied().eq(theirs.iter().flat_map(|x| x.to_le_bytes())));
        let written = ours.to_npy();
        prop_assert!(fortran || written == file);
        prop_assert_eq!(ndarray::ArrayD::<f32>::read_npy(&written[..]).unwrap(), theirs);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
        let _ = read(&raw(&String::from_utf8_lossy(&bytes), &[]));
    }
}
