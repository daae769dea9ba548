//! Tests of `--backend` on commands that compute one problem.

use crate::bench::{Bench, bytes, lanes, npy, wav};
use serde_json::Value;

/// Backends besides the emulated one.
const MEASURED: &[&str] = match cfg!(feature = "gpu") {
    true => &["native", "gpu"],
    false => &["native"],
};

/// Keys that only say something about a simulation.
const SIMULATED: [&str; 8] = [
    "machine",
    "engine",
    "cycles",
    "seconds_simulated",
    "causes",
    "efficiency",
    "expected_cycles",
    "bound_cycles",
];

fn keys(json: &Value) -> Vec<&String> {
    json.as_object().unwrap().keys().collect()
}

/// Checks that two files of floats have nearly the same ones, in the same shape.
fn close(bench: &Bench, one: &str, other: &str) {
    let [one, other] = [one, other].map(|name| bench.read(name));
    let header = |file: &[u8]| file.iter().position(|&byte| byte == b'\n').unwrap();
    assert_eq!(one[..header(&one)], other[..header(&other)]);
    let [one, other] = [lanes(&one), lanes(&other)];
    let size = one.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    assert_eq!(one.len(), other.len());
    for (a, b) in one.iter().zip(&other) {
        assert!((a - b).abs() <= 1e-5 * size, "{a} {b} of {size}");
    }
}

/// Runs a command on CP2 and elsewhere: outputs are close, and reports have their clocks and the same keys.
fn compare(bench: &Bench, line: &str) {
    let cp2 = bench.cp2(&format!("{line} --output cp2.npy --json"));
    let cp2 = cp2.works().json();
    assert_eq!(cp2["backend"], "cp2");
    assert_eq!(cp2["clock"], "simulated");
    assert_eq!(cp2["seconds"], cp2["seconds_simulated"]);
    assert!(cp2["adapter"].is_null());
    for backend in MEASURED {
        let ended = bench.cp2(&format!(
            "{line} --backend {backend} --output {backend}.npy --json"
        ));
        let json = ended.works().json();
        assert_eq!(json["schema"], cp2["schema"]);
        assert_eq!(json["backend"], *backend);
        assert_eq!(json["clock"], "measured");
        assert!(json["seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(json["adapter"].is_null(), *backend == "native", "{json}");
        assert_eq!(json["verified"], true);
        for key in SIMULATED {
            assert!(
                cp2.get(key).is_some() && json[key].is_null(),
                "{key}: {json}"
            );
        }
        let own = keys(&json);
        let lacking: Vec<_> = keys(&cp2)
            .into_iter()
            .filter(|key| !own.contains(key))
            .collect();
        assert!(lacking.is_empty(), "{line}: {lacking:?}");
        for key in [
            "n",
            "batch",
            "real",
            "shape",
            "points",
            "stride",
            "seed",
            "samples_padded",
            "edge",
        ] {
            assert_eq!(json.get(key), cp2.get(key), "{line}: {key}");
        }
        close(bench, "cp2.npy", &format!("{backend}.npy"));
    }
}

#[test]
fn transforms_elsewhere_are_those_of_cp2() {
    let bench = Bench::new();
    let floats = |n: u32| (0..n).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0);
    let x: Vec<f32> = floats(12 * 60).collect();
    bench.write("real.npy", npy("<f4", "False", "(12, 60)", &bytes(&x)));
    bench.write("x.npy", npy("<c8", "False", "(2, 3, 60)", &bytes(&x)));
    let flat: Vec<f32> = floats(4096).collect();
    bench.write("flat.npy", npy("<c8", "False", "(2048,)", &bytes(&flat)));
    let samples: Vec<i16> = (0..500)
        .map(|i| (i * 7919 % 20_001 - 10_000) as i16)
        .collect();
    bench.write("speech.wav", wav(8000, &samples));
    for line in [
        "fft --n 64 --batch 5",
        "fft --n 37 --batch 3 --inverse --seed 9",
        "fft --shape 16x32 --batch 2",
        "fft --input x.npy",
        "fft --input flat.npy --shape 64x16 --inverse",
        "fft --input speech.wav --n 64 --hop 16",
    ] {
        compare(&bench, line);
    }
    // Reals there and back, and rows that lie apart.
    bench
        .cp2("fft --input real.npy --real --output half.npy")
        .works();
    for line in [
        "fft --input real.npy --real",
        "fft --n 30 --real --batch 4",
        "fft --input speech.wav --n 64 --real",
        "fft --input half.npy --real --inverse",
        "fft --input real.npy --n 48 --stride 60 --real",
    ] {
        compare(&bench, line);
    }
    let text = bench
        .cp2("fft --n 64 --backend native --input speech.wav --spectrogram s.svg --output y.npy");
    for words in [
        "FFTs of 64",
        "native: this computer",
        " measured, ",
        "error against rustfft in f64",
        "s.svg",
        "y.npy",
    ] {
        assert!(text.works().out.contains(words), "{words}: {}", text.out);
    }
    assert!(
        !text.out.contains("cycles") && !text.out.contains("simulated"),
        "{}",
        text.out
    );
    assert!(bench.read("s.svg").starts_with(b"<svg"));
}

#[test]
fn stencils_elsewhere_are_those_of_cp2() {
    let bench = Bench::new();
    let u: Vec<f32> = (0..6 * 7 * 8).map(|i| (i % 13) as f32 - 6.0).collect();
    bench.write("u.npy", npy("<f4", "False", "(6, 7, 8)", &bytes(&u)));
    for line in [
        "stencil --shape 20x33 --points 9 --steps 3 --edge periodic",
        "stencil --input u.npy --points 27 --steps 2 --edge fixed",
        "stencil --shape 5x6x7 --points 7 --coefficients random --seed 4 --edge mirrored",
    ] {
        compare(&bench, line);
    }
    let text = bench.cp2("stencil --input u.npy --backend native --output v.npy");
    for words in [
        "1 step of a stencil of 7 points",
        "native: ",
        " measured, ",
        "million updates/s",
        "error against f64",
        "v.npy",
    ] {
        assert!(text.works().out.contains(words), "{words}: {}", text.out);
    }
}

/// Options of a simulation are refused by name, and nothing is written.
#[test]
fn options_of_simulations_are_refused_elsewhere() {
    let bench = Bench::new();
    for command in ["fft --n 64", "stencil --shape 8x8"] {
        for option in [
            "--trace t.svg",
            "--profile",
            "--check",
            "--emit run",
            "--engine portable",
            "--threads 2",
            "--max-cycles 100",
            "--machine vm7",
            "--plan",
        ] {
            let name = option.split(' ').next().unwrap();
            let line = format!("{command} --backend native {option}");
            bench
                .cp2(&line)
                .fails(2, &[name, "--backend native", "measured"]);
        }
    }
    bench.refuses(&[
        (
            "stencil --shape 8x8x8 --edge fixed --procs 2 --backend native",
            &["--procs", "--backend native"],
        ),
        ("fft --backend fpga", &["fpga", "native"]),
        (
            "fft --n 1048576 --batch 100000000 --backend native",
            &["memory"],
        ),
        (
            "stencil --shape 1000000x1000000 --backend native",
            &["memory"],
        ),
        ("fft --n 0 --backend native", &["0"]),
    ]);
    assert!(bench.files().is_empty(), "{:?}", bench.files());
}
