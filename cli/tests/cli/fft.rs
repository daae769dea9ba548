//! `cp2 fft` and `cp2 demo`: figures, files, inputs of every kind.

use crate::bench::{Bench, bytes, lanes, npy, wav};

/// The definition, in f64.
fn dft(x: &[f32], k: usize) -> (f64, f64) {
    let n = x.len() / 2;
    let terms = (0..n).map(|j| {
        let (sin, cos) = (-std::f64::consts::TAU * (j * k % n) as f64 / n as f64).sin_cos();
        let (re, im) = (f64::from(x[2 * j]), f64::from(x[2 * j + 1]));
        (re * cos - im * sin, re * sin + im * cos)
    });
    terms.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
}

#[test]
fn json_has_every_figure_and_they_agree() {
    let bench = Bench::new();
    let ended = bench.cp2("fft --n 256 --batch 64 --json");
    let json = ended.works().json();
    for field in [
        "schema",
        "tool_version",
        "machine",
        "machine_hash",
        "engine",
        "seed",
        "n",
        "batch",
        "inverse",
        "cycles",
        "bound_cycles",
        "efficiency",
        "seconds_simulated",
        "gflops",
        "causes",
        "rel_error_vs_rustfft",
        "host_seconds",
    ] {
        assert!(!json[field].is_null(), "{field} is missing in {json}");
    }
    assert_eq!(
        (
            json["n"].as_u64(),
            json["batch"].as_u64(),
            json["inverse"].as_bool()
        ),
        (Some(256), Some(64), Some(false))
    );
    let cycles = json["cycles"].as_u64().unwrap();
    let causes: u64 = json["causes"]
        .as_object()
        .unwrap()
        .values()
        .map(|v| v.as_u64().unwrap())
        .sum();
    assert_eq!(causes, cycles, "the causes add up");
    let efficiency = json["bound_cycles"].as_f64().unwrap() / cycles as f64;
    assert!((json["efficiency"].as_f64().unwrap() - efficiency).abs() < 1e-12);
    let seconds = json["seconds_simulated"].as_f64().unwrap();
    assert!(
        (seconds - cycles as f64 / 200e6).abs() < 1e-12,
        "vm7 runs at 200 MHz"
    );
    let gflops = 5.0 * 256.0 * 8.0 * 64.0 / seconds / 1e9;
    assert!((json["gflops"].as_f64().unwrap() / gflops - 1.0).abs() < 1e-9);
    let error = json["rel_error_vs_rustfft"].as_f64().unwrap();
    assert!(error > 0.0 && error < 1e-6, "{error}");
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_does_not() {
    let bench = Bench::new();
    let outputs: Vec<Vec<u8>> = ["1", "1", "2"]
        .iter()
        .map(|seed| {
            bench
                .cp2(&format!(
                    "fft --n 64 --batch 8 --seed {seed} --output y.npy"
                ))
                .works();
            bench.read("y.npy")
        })
        .collect();
    assert_eq!(outputs[0], outputs[1]);
    assert_ne!(outputs[0], outputs[2]);
}

#[test]
fn arrays_keep_their_shape_and_are_transformed() {
    let bench = Bench::new();
    let x: Vec<f32> = (0..2 * 3 * 16)
        .map(|i| ((i * 37 % 23) as f32 - 11.0) / 8.0)
        .collect();
    bench.write("x.npy", npy("<c8", "False", "(3, 16)", &bytes(&x)));
    let json = bench
        .cp2("fft --input x.npy --output y.npy --check --json")
        .works()
        .json();
    assert_eq!(
        (json["n"].as_u64(), json["batch"].as_u64()),
        (Some(16), Some(3))
    );
    assert!(json["seed"].is_null() && json["input"] == "x.npy");
    let file = bench.read("y.npy");
    assert!(String::from_utf8_lossy(&file[..100]).contains("(3, 16)"));
    let y = lanes(&file);
    for row in 0..3 {
        for k in 0..16 {
            let (re, im) = dft(&x[row * 32..][..32], k);
            let (a, b) = (
                f64::from(y[row * 32 + 2 * k]),
                f64::from(y[row * 32 + 2 * k + 1]),
            );
            assert!(
                (a - re).abs() < 1e-4 && (b - im).abs() < 1e-4,
                "{row} {k}: {a} {b} {re} {im}"
            );
        }
    }
    // The inverse of the transform is 16 times the input.
    bench
        .cp2("fft --input y.npy --inverse --output z.npy")
        .works();
    for (z, x) in lanes(&bench.read("z.npy")).iter().zip(&x) {
        assert!((z / 16.0 - x).abs() < 1e-5);
    }
    // Fortran order and a 1-D array of real numbers.
    let real: Vec<f32> = (0..32).map(|i| i as f32).collect();
    bench.write("r.npy", npy("<f4", "False", "(32,)", &bytes(&real)));
    bench.cp2("fft --input r.npy --n 16 --output s.npy").works();
    let file = bench.read("s.npy");
    assert!(String::from_utf8_lossy(&file[..100]).contains("(32,)"));
    assert_eq!(lanes(&file)[0], (0..16).sum::<i32>() as f32);
}

#[test]
fn a_recording_becomes_a_spectrogram() {
    let bench = Bench::new();
    let tone: Vec<i16> = (0..5000)
        .map(|i| (8000.0 * (std::f64::consts::TAU * 3000.0 * f64::from(i) / 48000.0).sin()) as i16)
        .collect();
    bench.write("tone.wav", wav(48_000, &tone));
    let json = bench
        .cp2("fft --input tone.wav --n 512 --output y.npy --spectrogram s.png --json")
        .works()
        .json();
    // 1 + ceil((5000 - 512) / 256) frames.
    assert_eq!(json["batch"].as_u64(), Some(19));
    assert_eq!(json["sample_rate"].as_u64(), Some(48_000));
    assert!(bench.read("s.png").starts_with(b"\x89PNG"));
    let y = lanes(&bench.read("y.npy"));
    let power = |k: usize| y[2 * k].hypot(y[2 * k + 1]);
    let peak = (0..256)
        .max_by(|&a, &b| power(a).total_cmp(&power(b)))
        .unwrap();
    assert_eq!(peak, 32, "3 kHz of 48 kHz is bin 32 of 512");
    bench
        .cp2("fft --input tone.wav --n 512 --hop 512 --window rect --spectrogram s.svg")
        .works();
    assert!(
        String::from_utf8(bench.read("s.svg"))
            .unwrap()
            .contains("frequency [kHz]")
    );
}

/// Real speech, where `.ci/test` has installed it.
#[test]
fn a_real_recording_works_too() {
    let Ok(recording) = std::env::var("CP2_RECORDING") else {
        eprintln!("skipped: CP2_RECORDING does not name a recording; .ci/test installs one");
        return;
    };
    let bench = Bench::new();
    std::fs::copy(recording, bench.path("speech.wav")).unwrap();
    let json = bench
        .cp2("fft --input speech.wav --spectrogram s.png --json")
        .works()
        .json();
    assert_eq!(json["sample_rate"].as_u64(), Some(48_000));
    assert!(json["batch"].as_u64().unwrap() > 50);
    assert_eq!(json["verified"].as_bool(), Some(true));
}

#[test]
fn emitted_runs_repeat_bits_and_cycles_and_notice_changes() {
    let bench = Bench::new();
    let first = bench
        .cp2("fft --n 64 --batch 10 --emit run --json")
        .works()
        .json();
    let again = bench.cp2("run run --json").works().json();
    assert_eq!(first["cycles"], again["cycles"]);
    assert_eq!(again["replay"]["same_bits"].as_bool(), Some(true));
    let other = bench.cp2("run run --machine vm9 --json").works().json();
    assert_eq!(other["replay"]["same_bits"].as_bool(), Some(true));
    assert_ne!(first["cycles"], other["cycles"]);
    bench.write(
        "two.toml",
        "base = \"vm7\"\ncp2.sections = { value = 2, unit = \"sections\" }\n",
    );
    bench
        .cp2("run run --machine two.toml")
        .fails(2, &["recorded for 4 sections"]);
    // One bit of the input is another input.
    let mut memory = bench.read("run/memory.bin");
    memory[3] ^= 1;
    bench.write("run/memory.bin", &memory);
    bench.cp2("run run").fails(1, &["differs"]);
    bench.write("run/memory.bin", &memory[1..]);
    bench.cp2("run run").fails(2, &["commands.json"]);
    bench.write("run/commands.json", "{}");
    bench.cp2("run run").fails(2, &["commands.json"]);
    std::fs::remove_file(bench.path("run/commands.json")).unwrap();
    bench.cp2("run run").fails(2, &["commands.json"]);
}

#[test]
fn timelines_and_profiles() {
    let bench = Bench::new();
    let ended = bench.cp2("fft --n 64 --batch 16 --trace t.json --profile");
    ended.works();
    let trace: serde_json::Value = serde_json::from_slice(&bench.read("t.json")).unwrap();
    assert!(trace["traceEvents"].as_array().unwrap().len() > 10);
    assert!(
        ended.out.contains("bfly"),
        "the listing shows the kernel's source"
    );
    bench.cp2("fft --n 64 --batch 16 --trace t.svg").works();
    assert!(bench.read("t.svg").starts_with(b"<svg"));
    let json = bench
        .cp2("fft --n 64 --batch 16 --profile --json")
        .works()
        .json();
    let lines = json["profile"].as_array().unwrap();
    let issued: u64 = lines.iter().map(|l| l["issued"].as_u64().unwrap()).sum();
    assert_eq!(
        Some(issued),
        json["words"].as_u64(),
        "every issued word belongs to a line"
    );
}

#[test]
fn hostile_sizes_and_options_are_errors() {
    let bench = Bench::new();
    bench
        .cp2("fft --batch 1000000000000")
        .fails(2, &["1000000000000 transforms", "at most"]);
    bench
        .cp2("fft --batch 18446744073709551615 --n 16")
        .fails(2, &["at most"]);
    bench
        .cp2("fft --batch 99999999999999999999")
        .fails(2, &["--batch"]);
    bench.cp2("fft --batch 0").fails(2, &["at least 1"]);
    bench
        .cp2("fft --n 4194305")
        .fails(2, &["4194305", "1 to 2097152"]);
    bench.cp2("fft --n 0").fails(2, &["length 0"]);
    bench
        .cp2("fft --n 18446744073709551615")
        .fails(2, &["1 to 2097152"]);
    bench.cp2("fft --hop 3").fails(2, &["--hop", ".wav"]);
    bench.cp2("fft --machine vm8").fails(2, &["vm8", "vm7"]);
    bench.cp2("fft --frobnicate").fails(2, &["--frobnicate"]);
    bench.cp2("fft --trace t.txt").fails(2, &[".json"]);
    bench.cp2("fft --output y.txt").fails(2, &[".npy"]);
    bench
        .cp2("fft --output no/y.npy")
        .fails(2, &["no directory no"]);
    bench
        .cp2("fft --spectrogram s.gif")
        .fails(2, &[".png, .svg"]);
    bench.write("x.npy", npy("<c8", "False", "(16,)", &[0; 128]));
    bench
        .cp2("fft --input x.npy --batch 3")
        .fails(2, &["--batch"]);
    bench
        .cp2("fft --input x.npy --n 16 --output x.npy")
        .fails(2, &["also an input"]);
    bench
        .cp2("fft --input x.npy --n 16 --spectrogram x.npy")
        .fails(2, &[]);
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
            &["3 dimensions"],
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
    bench
        .cp2("fft --input folder.npy")
        .fails(2, &["folder.npy", "is a directory"]);
    bench
        .cp2("fft --input missing.npy")
        .fails(2, &["missing.npy", "No such file"]);
    bench.cp2("fft --input x.csv").fails(2, &[".npy, .wav"]);
    bench.write("e.wav", "");
    bench.cp2("fft --input e.wav").fails(2, &["e.wav"]);
    bench.write("silent.wav", wav(48_000, &[]));
    bench
        .cp2("fft --input silent.wav")
        .fails(2, &["no samples"]);
    bench.write("one.wav", wav(48_000, &[1]));
    bench
        .cp2("fft --input one.wav --n 16 --hop 17")
        .fails(2, &["--hop 17"]);
    bench
        .cp2("fft --input one.wav --n 16 --channel 1")
        .fails(2, &["--channel 0 to 0"]);
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
fn the_demonstration_finds_the_targets() {
    let bench = Bench::new();
    let json = bench.cp2("demo --json").works().json();
    assert_eq!(json["verified"].as_bool(), Some(true));
    let files = json["files"].as_array().unwrap();
    assert_eq!(files.len(), 6);
    for file in files {
        assert!(!bench.read(file.as_str().unwrap()).is_empty());
    }
    for target in json["detections"]["targets"].as_array().unwrap() {
        assert!(target["detected"].as_u64().unwrap() > 240, "{target}");
    }
    let text = bench
        .cp2("demo --output elsewhere --machine vm9")
        .works()
        .out
        .clone();
    assert!(text.contains("range error") && text.contains("elsewhere/range-time.png"));
    bench.write("file", "");
    bench.cp2("demo --output file").fails(2, &["file"]);
}

#[test]
fn real_transforms_go_there_and_back() {
    let bench = Bench::new();
    let x: Vec<f32> = (0..3 * 240).map(|j| ((j * 7) % 31) as f32 - 15.0).collect();
    bench.write("x.npy", npy("<f4", "False", "(3, 240)", &bytes(&x)));
    let there = bench.cp2("fft --input x.npy --real --output y.npy --json");
    let json = there.works().json();
    assert_eq!(json["real"].as_bool(), Some(true));
    assert_eq!(json["n"].as_u64(), Some(240));
    assert_eq!(json["verified"].as_bool(), Some(true));
    let y = lanes(&bench.read("y.npy"));
    assert_eq!(y.len(), 3 * 2 * 121);
    let sum: f32 = x[..240].iter().sum();
    assert!((y[0] - sum).abs() < 1e-2 && y[1] == 0.0, "{} {sum}", y[0]);
    let back = bench.cp2("fft --input y.npy --real --inverse --output z.npy --json");
    assert_eq!(back.works().json()["verified"].as_bool(), Some(true));
    let z = lanes(&bench.read("z.npy"));
    assert_eq!(z.len(), x.len());
    for (x, z) in x.iter().zip(&z) {
        assert!((x * 240.0 - z).abs() < 0.05, "{x} {z}");
    }
    bench
        .cp2("fft --input y.npy --real --n 121")
        .fails(2, &["imaginary"]);
    // 5 numbers are the half spectrum of 8 real ones, or of 9: --n says which.
    bench.write("h.npy", npy("<c8", "False", "(5,)", &bytes(&[1.0; 10])));
    bench
        .cp2("fft --input h.npy --real --inverse --n 9")
        .fails(2, &["row 0", "number 0"]);
    bench.write("x9.npy", npy("<f4", "False", "(9,)", &bytes(&x[..9])));
    bench
        .cp2("fft --input x9.npy --real --n 9 --output h.npy")
        .works();
    let back = bench.cp2("fft --input h.npy --real --inverse --n 9 --output z.npy --json");
    assert_eq!(back.works().json()["n"].as_u64(), Some(9));
    for (x, z) in x.iter().zip(&lanes(&bench.read("z.npy"))) {
        assert!((x * 9.0 - z).abs() < 1e-3, "{x} {z}");
    }
    bench
        .cp2("fft --input h.npy --real --inverse --n 12")
        .fails(2, &["no multiple", "7"]);
}

#[test]
fn the_planner_lists_what_it_chooses_from() {
    let bench = Bench::new();
    for (line, chosen, count) in [
        ("--n 1024", "stockham", 3),
        ("--n 360", "mixed", 1),
        ("--n 101", "bluestein", 1),
        ("--n 65536", "65536", 1),
        ("--n 512 --real", "split", 1),
        ("--n 512 --real --inverse", "merge", 1),
    ] {
        let ended = bench.cp2(&format!("fft {line} --plan --json"));
        let json = ended.works().json();
        let text = json["chosen"].as_str().unwrap();
        assert!(text.contains(chosen), "{line}: {text}");
        let candidates = json["candidates"].as_array().unwrap();
        assert_eq!(candidates.len(), count, "{line}: {candidates:?}");
        let cycles = |i: usize| candidates[i]["expected_cycles"].as_u64().unwrap();
        assert!((1..count).all(|i| cycles(0) <= cycles(i)), "{line}");
        assert!(
            candidates[0]["bound_cycles"].as_u64().unwrap() <= cycles(0),
            "{line}"
        );
    }
    bench
        .cp2("fft --plan --n 4096 --batch 0")
        .fails(2, &["--batch 0"]);
    bench
        .cp2("fft --plan --n 4194305")
        .fails(2, &["4194305", "1 to 2097152"]);
}

#[test]
fn a_transform_alone_is_divided_among_the_sections() {
    let bench = Bench::new();
    let cycles = |batch: usize| {
        let line = format!("fft --n 4096 --batch {batch} --json");
        let json = bench.cp2(&line).works().json();
        assert_eq!(json["verified"].as_bool(), Some(true));
        json["cycles"].as_u64().unwrap()
    };
    let (one, four) = (cycles(1), cycles(4));
    assert!(2 * one < four, "{one} {four}");
}

#[test]
fn arrays_are_transformed_over_all_axes() {
    let bench = Bench::new();
    let json = bench
        .cp2("fft --shape 32x64 --batch 2 --json")
        .works()
        .json();
    assert_eq!(json["n"].as_u64(), Some(2048));
    assert_eq!(json["verified"].as_bool(), Some(true));
    // A constant becomes a single number.
    bench.write(
        "x.npy",
        npy("<f4", "False", "(32, 64)", &bytes(&[1.0; 2048])),
    );
    bench
        .cp2("fft --shape 32x64 --input x.npy --output y.npy")
        .works();
    let y = lanes(&bench.read("y.npy"));
    assert_eq!(y[0], 2048.0);
    assert!(y[1..].iter().all(|y| y.abs() < 1e-3));
    bench
        .cp2("fft --shape 64x32 --input x.npy")
        .fails(2, &["axes 32x64", "--shape 64x32"]);
    bench.cp2("fft --shape 32x").fails(2, &["256x256"]);
    bench.cp2("fft --shape 3x5").fails(2, &["[3, 5]"]);
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
    rows[65 + 64][1] = 2.0;
    bench.write(
        "x.npy",
        npy("<c8", "False", "(2, 65)", &bytes(rows.as_flattened())),
    );
    bench
        .cp2("fft --real --inverse --input x.npy")
        .fails(2, &["row 1", "number 64", "expected 0"]);
}

#[test]
fn a_finer_granule_changes_no_result() {
    let bench = Bench::new();
    bench.write(
        "g.toml",
        "base = 'vm7'\nname = 'fine'\n[dma]\ngranule = { value = 4, unit = 'B' }\n",
    );
    for what in [
        "--n 10",
        "--n 64",
        "--n 343",
        "--n 37",
        "--real --n 10",
        "--real --n 256",
    ] {
        let json = bench
            .cp2(&format!("fft {what} --batch 9 --machine g.toml --json"))
            .works()
            .json();
        assert_eq!(json["verified"].as_bool(), Some(true), "{what}");
    }
}
