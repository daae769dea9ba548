//! Tests of inputs that `cp2 fft` refuses, and of those it cannot verify.

use crate::bench::{Bench, bytes, npy, wav};

#[test]
fn hostile_sizes_and_options_are_errors() {
    let bench = Bench::new();
    bench.refuses(&[
        (
            "fft --batch 1000000000000",
            &["1000000000000 transforms", "at most"],
        ),
        ("fft --batch 18446744073709551615 --n 16", &["at most"]),
        ("fft --batch 99999999999999999999", &["--batch"]),
        ("fft --batch 0", &["at least 1"]),
        ("fft --n 4194305", &["4194305", "1 to 2097152"]),
        ("fft --n 0", &["length 0"]),
        ("fft --n 18446744073709551615", &["1 to 2097152"]),
        ("fft --hop 3", &["--hop", ".wav"]),
        ("fft --machine vm8", &["vm8", "vm7"]),
        ("fft --frobnicate", &["--frobnicate"]),
        ("fft --trace t.txt", &[".json"]),
        ("fft --output y.txt", &[".npy"]),
        ("fft --output no/y.npy", &["no directory no"]),
        ("fft --spectrogram s.gif", &[".png, .svg"]),
    ]);
    bench.write("x.npy", npy("<c8", "False", "(16,)", &[0; 128]));
    bench.refuses(&[
        ("fft --input x.npy --batch 3", &["--batch"]),
        (
            "fft --input x.npy --n 16 --output x.npy",
            &["also an input"],
        ),
        ("fft --input x.npy --n 16 --spectrogram x.npy", &[]),
        ("fft --input x.npy --n 0", &["--n 0", "at least 1"]),
        (
            "fft --input x.npy --n 0 --stride 4",
            &["--n 0", "at least 1"],
        ),
    ]);
    assert_eq!(
        bench.files(),
        ["x.npy"],
        "no command that failed left a file"
    );
}

#[test]
fn hostile_arrays_are_errors() {
    let bench = Bench::new();
    let cases: &[(&str, Vec<u8>, &[&str])] = &[
        (
            "huge",
            npy("<c8", "False", "(1152921504606846976,)", &[]),
            &["1152921504606846976", "expected at most"],
        ),
        (
            "wrap",
            npy("<c8", "False", "(4294967296, 4294967296)", &[]),
            &["4294967296"],
        ),
        (
            "short",
            npy("<c8", "False", "(16,)", &[0; 8]),
            &["8 bytes", "128 bytes"],
        ),
        (
            "long",
            npy("<c8", "False", "(16,)", &[0; 256]),
            &["256 bytes", "128 bytes"],
        ),
        (
            "big-endian",
            npy(">c8", "False", "(16,)", &[0; 128]),
            &[">c8", "complex64"],
        ),
        (
            "double",
            npy("<f8", "False", "(16,)", &[0; 128]),
            &["<f8", "astype"],
        ),
        (
            "cube",
            npy("<f4", "False", "(2, 2, 2)", &[0; 32]),
            &["rows of 2 numbers"],
        ),
        (
            "scalar",
            npy("<f4", "False", "()", &[0; 4]),
            &["0 dimensions"],
        ),
        (
            "ragged",
            npy("<c8", "False", "(17,)", &[0; 136]),
            &["17", "multiple of N = 16"],
        ),
        (
            "row",
            npy("<c8", "False", "(1, 17)", &[0; 136]),
            &["17 numbers", "--n 16"],
        ),
        (
            "none",
            npy("<c8", "False", "(0,)", &[]),
            &["without elements"],
        ),
        (
            "nothing",
            npy("<c8", "False", "(0, 16)", &[]),
            &["without elements"],
        ),
        ("empty", Vec::new(), &["ends within the header"]),
        ("text", b"hello, world".to_vec(), &["no .npy file"]),
        (
            "nested",
            [b"\x93NUMPY\x01\x00\x00\x20".to_vec(), vec![b'('; 0x2000]].concat(),
            &["header"],
        ),
        (
            "header",
            b"\x93NUMPY\x03\x00\xff\xff\xff\xff".to_vec(),
            &["4294967295"],
        ),
    ];
    for (name, contents, words) in cases {
        let file = format!("{name}.npy");
        bench.write(&file, contents);
        let words: Vec<&str> = words.iter().copied().chain([file.as_str()]).collect();
        bench
            .cp2(&format!("fft --n 16 --input {file}"))
            .fails(2, &words);
    }
    std::fs::create_dir(bench.path("folder.npy")).unwrap();
    bench.refuses(&[
        ("fft --input folder.npy", &["folder.npy", "is a directory"]),
        ("fft --input missing.npy", &["missing.npy", "No such file"]),
        ("fft --input x.csv", &[".npy, .wav"]),
    ]);
    bench.write("e.wav", "");
    bench.cp2("fft --input e.wav").fails(2, &["e.wav"]);
    bench.write("silent.wav", wav(48_000, &[]));
    bench
        .cp2("fft --input silent.wav")
        .fails(2, &["no samples"]);
    bench.write("one.wav", wav(48_000, &[1]));
    bench.refuses(&[
        ("fft --input one.wav --n 16 --hop 17", &["--hop 17"]),
        (
            "fft --input one.wav --n 16 --channel 1",
            &["--channel 0 to 0"],
        ),
    ]);
    bench.cp2("fft --input one.wav --n 16").works();
}

#[test]
fn numbers_that_f32_cannot_hold_do_not_verify() {
    let bench = Bench::new();
    bench.write("x.npy", npy("<c8", "False", "(16,)", &bytes(&[3e38; 32])));
    bench
        .cp2("fft --input x.npy --n 16")
        .fails(1, &["overflow"]);
    bench.write(
        "x.npy",
        npy("<c8", "False", "(16,)", &bytes(&[f32::NAN; 32])),
    );
    let json = bench.cp2("fft --input x.npy --n 16 --json").works().json();
    assert!(json["rel_error_vs_rustfft"].is_null() && json["verified"].is_null());
}

#[test]
fn half_spectra_are_those_of_real_numbers() {
    let bench = Bench::new();
    let json = bench
        .cp2("fft --real --inverse --n 128 --batch 3 --json")
        .works()
        .json();
    assert_eq!(json["verified"].as_bool(), Some(true));
    let mut rows = vec![[0.5f32, 0.0]; 2 * 65];
    let write = |name: &str, rows: &[[f32; 2]]| {
        bench.write(
            name,
            npy("<c8", "False", "(2, 65)", &bytes(rows.as_flattened())),
        );
    };
    write("x.npy", &rows);
    let real = "fft --real --inverse --output y.npy --input";
    let ended = bench.cp2(&format!("{real} x.npy --json"));
    assert!(ended.works().err.is_empty(), "{}", ended.err);
    let expected = bench.read("y.npy");
    // A product of two spectra may leave imaginary parts in numbers 0 and N/2: they count as 0, with a
    // warning.
    rows[0][1] = 1e-30;
    rows[65 + 64][1] = -2.0;
    write("x.npy", &rows);
    let ended = bench.cp2(&format!("{real} x.npy --json"));
    assert_eq!(ended.works().json()["verified"].as_bool(), Some(true));
    for word in ["warning", "row 1", "number 64", "-2"] {
        assert!(ended.err.contains(word), "{word}: {}", ended.err);
    }
    assert_eq!(bench.read("y.npy"), expected);
}
