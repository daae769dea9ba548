//! Tests of `cp2 fft` and `cp2 demo`: figures, files, inputs of every kind.

use crate::bench::{Bench, bytes, lanes, npy, wav};

/// Computes a DFT by its definition, in f64.
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
        "reference_cycles",
        "reference_method",
        "reference_source",
        "reference_term",
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
    let figure = |name: &str| json[name].as_f64().unwrap();
    assert!(figure("bound_cycles") <= figure("reference_cycles"));
    let price = figure("expected_cycles") / cycles as f64;
    assert!(
        (price - 1.0).abs() < 0.03,
        "priced at {price} of the cycles"
    );
    let efficiency = figure("reference_cycles") / cycles as f64;
    assert!(efficiency <= 1.0);
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

/// A slower unit in the machine file raises the expected time as it raises that of the run, since the price
/// comes from the program.
#[test]
fn prices_follow_the_machine() {
    let bench = Bench::new();
    let text = "base = \"vm7\"\n[cp2]\ninterval.butterfly = { value = 4, unit = \"cycles\" }\n";
    bench.write("slow.toml", text);
    let run = bench
        .cp2("fft --n 256 --batch 64 --machine slow.toml --json")
        .works()
        .json();
    let figure = |name: &str| run[name].as_f64().unwrap();
    let (cycles, price) = (figure("cycles"), figure("expected_cycles"));
    assert!((price / cycles - 1.0).abs() < 0.03, "{price} {cycles}");
    assert!(figure("bound_cycles") <= cycles && figure("reference_cycles") <= cycles);
    let plan = bench
        .cp2("fft --n 256 --batch 64 --machine slow.toml --plan --json")
        .works()
        .json();
    let planned = plan["candidates"][0]["expected_cycles"].as_f64().unwrap();
    assert!((planned / cycles - 1.0).abs() < 0.03, "{planned} {cycles}");
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
    // With more axes the last one is transformed, or several with --shape.
    bench.write("deep.npy", npy("<c8", "False", "(1, 3, 16)", &bytes(&x)));
    bench.cp2("fft --input deep.npy --output d.npy").works();
    assert_eq!(lanes(&bench.read("d.npy")), y);
    assert!(String::from_utf8_lossy(&bench.read("d.npy")[..100]).contains("(1, 3, 16)"));
    bench.write(
        "x3.npy",
        npy("<c8", "False", "(2, 32, 32)", &bytes(&vec![1.0; 2 * 2048])),
    );
    bench
        .cp2("fft --input x3.npy --shape 32x32 --output y3.npy")
        .works();
    let y3 = lanes(&bench.read("y3.npy"));
    assert!((0..2 * 2048).all(|i| y3[i] == if i % 2048 < 2 { 1024.0 } else { 0.0 }));
    // Forward and inverse transform together multiply by 16.
    bench
        .cp2("fft --input y.npy --inverse --output z.npy")
        .works();
    for (z, x) in lanes(&bench.read("z.npy")).iter().zip(&x) {
        assert!((z / 16.0 - x).abs() < 1e-5);
    }
    // Fortran order, and a 1-D array of real numbers.
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
    // The number of frames is 1 + ceil((5000 - 512) / 256).
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

/// Tests a real recording of speech, if `.ci/test` has installed it.
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
    // Another bit in the input is another input; elsewhere it is damage.
    let manifest: serde_json::Value =
        serde_json::from_slice(&bench.read("run/commands.json")).unwrap();
    let memory = bench.read("run/memory.bin");
    let flipped = |at: u64| {
        let mut memory = memory.clone();
        memory[at as usize] ^= 1;
        bench.write("run/memory.bin", memory);
        bench.cp2("run run")
    };
    let [input, output] = ["inputs", "outputs"].map(|list| &manifest[list][0]["offset"]);
    let ended = flipped(3 + input.as_u64().unwrap());
    ended.works();
    assert!(
        ended
            .out
            .contains("same commands, other data (x), cycles equal")
    );
    flipped(output.as_u64().unwrap()).fails(1, &["something else than an input"]);
    bench.write("run/memory.bin", &memory);
    bench.cp2("run run").works();
    let commands = bench.read("run/commands.json");
    let text = String::from_utf8(commands.clone()).unwrap();
    bench.write(
        "run/commands.json",
        text.replacen("\"page\": 1", "\"page\": 2", 1),
    );
    bench
        .cp2("run run")
        .fails(1, &["something else than an input"]);
    bench.write("run/commands.json", commands);
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

/// If no byte can be written, the folders that were made are removed.
#[cfg(unix)]
#[test]
fn a_demonstration_that_cannot_write_leaves_no_folder() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("there")).unwrap();
    for (folder, left) in [("new", vec!["there"]), ("there/a/b", vec!["there"])] {
        let demo = bench.command(&format!("demo --seed 1 --output {folder}"));
        let mut shell = std::process::Command::new("sh");
        // A write then fails, as on a full disk, instead of ending the process.
        shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]);
        shell.arg(demo.get_program()).args(demo.get_args());
        let ended = shell.current_dir(bench.folder()).output().unwrap();
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{err}");
        assert!(err.contains("echoes.npy"), "{err}");
        assert_eq!(bench.files(), left, "{folder}");
        assert_eq!(std::fs::read_dir(bench.path("there")).unwrap().count(), 0);
    }
}
