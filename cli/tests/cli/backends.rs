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

/// Keys that say what was computed.
const INPUTS: [&str; 23] = [
    "n",
    "batch",
    "real",
    "shape",
    "points",
    "stride",
    "seed",
    "samples_padded",
    "edge",
    "channels",
    "samples",
    "taps",
    "outputs",
    "channels_judged",
    "rows",
    "nnz",
    "vectors",
    "iterations",
    "tolerance",
    "class",
    "v_cycles",
    "blocks",
    "signal_seconds",
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

/// Runs a command on CP2 and elsewhere: reports have their clocks, the same keys, and are right.
fn compare_reports(bench: &Bench, line: &str, output: &str) {
    let option = |backend: &str| match output {
        "" => String::new(),
        name => format!("--output {backend}{name}"),
    };
    let cp2 = bench.cp2(&format!("{line} {} --json", option("cp2")));
    let cp2 = cp2.works().json();
    assert_eq!(cp2["backend"], "cp2", "{line}");
    assert_eq!(cp2["clock"], "simulated");
    assert!(cp2["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(cp2["seconds"], cp2["seconds_simulated"]);
    assert!(cp2["adapter"].is_null());
    for backend in MEASURED {
        let line = format!("{line} --backend {backend} {} --json", option(backend));
        let json = bench.cp2(&line).works().json();
        assert_eq!(json["schema"], cp2["schema"]);
        assert_eq!(json["backend"], *backend);
        assert_eq!(json["clock"], "measured");
        assert!(json["seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(json["adapter"].is_null(), *backend == "native", "{json}");
        let right = ["verified", "passed", "converged"];
        let right = right.into_iter().find_map(|key| json[key].as_bool());
        assert_eq!(right, Some(true), "{line}: {json}");
        assert!(!cp2["cycles"].is_null());
        for key in SIMULATED {
            assert!(json.get(key).is_none_or(Value::is_null), "{key}: {json}");
        }
        assert_eq!(keys(&json), keys(&cp2), "{line}");
        for key in INPUTS {
            assert_eq!(json.get(key), cp2.get(key), "{line}: {key}");
        }
    }
}

/// Runs a command on CP2 and elsewhere, as [`compare_reports`] does: outputs are close too.
fn compare(bench: &Bench, line: &str) {
    compare_reports(bench, line, ".npy");
    for backend in MEASURED {
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

/// A symmetric matrix of 40 rows with a dominant diagonal, and right-hand sides for it.
fn write_system(bench: &Bench) {
    let n = 40;
    let mut lines = String::new();
    for i in 1..=n {
        lines += &format!("{i} {i} 4\n");
        for j in [i + 1, i + 7].into_iter().filter(|&j| j <= n) {
            lines += &format!("{j} {i} -{}\n", 1.0 / f64::from(j % 3 + 1));
        }
    }
    let count = lines.lines().count();
    let head = "%%MatrixMarket matrix coordinate real symmetric";
    bench.write("a.mtx", format!("{head}\n{n} {n} {count}\n{lines}"));
    let b: Vec<f32> = (0..n).map(|i| (i * 37 % 11) as f32 - 5.0).collect();
    bench.write("b.npy", npy("<f4", "False", "(40,)", &bytes(&b)));
}

/// Every command that computes a problem takes every backend.
#[test]
fn every_command_computes_elsewhere() {
    let bench = Bench::new();
    write_system(&bench);
    let x: Vec<f32> = (0..2 * 300)
        .map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0)
        .collect();
    bench.write("x.npy", npy("<f4", "False", "(2, 300)", &bytes(&x)));
    for line in [
        "conv --channels 2 --samples 500 --length 20",
        "conv --input x.npy --length 9 --mode valid --correlate",
        "conv --input x.npy --length 9 --real --mode same",
        "fir --samples 600 --decimate 3 --real --length 40",
        "fir --samples 200 --interpolate 5 --seed 3",
        "spmv --matrix a.mtx",
        "spmv --matrix a.mtx --vectors 3 --transpose --seed 5",
        "solve --matrix a.mtx --rhs b.npy --method cg",
        "solve --matrix a.mtx --rhs b.npy --method pcg --tolerance 1e-4",
        "solve --matrix a.mtx --rhs b.npy --method bicgstab",
        "pipeline radar --pulses 16 --ranges 64 --chirp 16 --blocks 2",
        "pipeline sonar --hydrophones 8 --beams 8 --samples 512 --decimate 4 --taps 64 --points 64",
    ] {
        compare(&bench, line);
    }
    // An eigenvector may come out with either sign.
    compare_reports(&bench, "spmv --matrix a.mtx --iterations 5", ".npy");
    for line in [
        "npb cg --class S",
        "npb ft --class S",
        "npb mg --class S",
        "npb mg --grid 32x16x16 --cycles 2",
    ] {
        compare_reports(&bench, line, "");
    }
}

/// Pictures are drawn, plans have a clock, and numbers that are not finite are said, whatever computes.
#[test]
fn pictures_and_warnings_are_there_elsewhere() {
    let bench = Bench::new();
    write_system(&bench);
    let mut x = [0.25f32; 60];
    x[7] = f32::NAN;
    bench.write("x.npy", npy("<f4", "False", "(2, 30)", &bytes(&x)));
    for line in [
        "spmv --matrix a.mtx --picture p.svg",
        "spmv --matrix a.mtx --iterations 3 --picture p.svg",
        "solve --matrix a.mtx --rhs b.npy --method cg --picture p.svg",
        "pipeline radar --pulses 16 --ranges 64 --chirp 16 --picture p.svg",
        "pipeline sonar --samples 2048 --picture q.svg --spectrogram p.svg",
    ] {
        let text = bench.cp2(&format!("{line} --backend native"));
        let found = &text.works().out;
        for words in ["native: this computer", " measured", "p.svg"] {
            assert!(found.contains(words), "{line}: {words}: {found}");
        }
        assert!(
            !found.contains("cycles") && !found.contains("simulated"),
            "{found}"
        );
        assert!(bench.read("p.svg").starts_with(b"<svg"));
    }
    let text = bench.cp2("conv --input x.npy --length 5 --backend native");
    assert!(text.works().out.contains("worst channel"), "{}", text.out);
    assert!(text.out.contains("of 1 of 2 channels"), "{}", text.out);
    assert!(
        text.err.contains("1 of 60 samples is not finite"),
        "{}",
        text.err
    );
    for line in [
        "fft --n 64 --plan",
        "stencil --plan",
        "conv --plan",
        "spmv --matrix a.mtx --plan",
    ] {
        let json = bench.cp2(&format!("{line} --json")).works().json();
        assert_eq!(
            (&json["backend"], &json["clock"]),
            (&"cp2".into(), &"simulated".into())
        );
        assert!(json["seconds"].is_null(), "{line}");
    }
}

/// A result that does not satisfy the equations is said, with the exit code of one.
#[test]
fn what_does_not_converge_elsewhere_is_said() {
    let bench = Bench::new();
    write_system(&bench);
    let line = "solve --matrix a.mtx --rhs b.npy --method cg --iterations 1 --backend native";
    bench.cp2(line).fails(1, &["not solved", "--iterations"]);
}

/// An adapter is chosen by a part of its name; one that there is not is refused with those that there are.
#[test]
#[cfg(feature = "gpu")]
fn an_adapter_is_chosen_by_its_name() {
    let bench = Bench::new();
    let json = bench.cp2("fft --n 64 --backend gpu --json").works().json();
    let name = json["adapter"]["name"].as_str().unwrap().to_owned();
    assert!(json["adapter"]["probe"].is_object() && json.get("probe").is_none());
    let part = name.split(' ').next().unwrap().to_uppercase();
    let line = format!("stencil --shape 16x16 --backend gpu --json --adapter {part}");
    assert_eq!(
        bench.cp2(&line).works().json()["adapter"]["name"],
        name.as_str()
    );
    for line in [
        "fft --n 64 --backend gpu --adapter abacus",
        "npb ft --class S --backend gpu --adapter abacus",
        "crosscheck axpy --backend gpu --adapter abacus",
        "bench gpu --rows fft-1024 --adapter abacus",
    ] {
        bench.cp2(line).fails(2, &["`abacus`", "there are", &name]);
    }
}

/// An adapter for what has none is refused.
#[test]
fn only_graphics_cards_have_adapters() {
    let bench = Bench::new();
    for line in [
        "fft --n 64 --adapter any",
        "conv --backend native --adapter any",
        "crosscheck axpy --backend native --adapter any",
    ] {
        bench.cp2(line).fails(2, &["--adapter", "--backend gpu"]);
    }
}

/// Options of a simulation are refused by name, and nothing is written.
#[test]
fn options_of_simulations_are_refused_elsewhere() {
    let bench = Bench::new();
    for command in ["fft --n 64", "stencil --shape 8x8", "conv", "fir --real"] {
        for option in [
            "--trace t.svg",
            "--profile",
            "--check",
            "--emit run",
            "--engine portable",
            "--threads 1",
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
    for (command, option) in [
        ("stencil --shape 8x8x8 --edge fixed", "--procs 2"),
        ("stencil --shape 8x8x8", "--procs 1"),
        ("npb mg --class S", "--procs 1"),
        ("npb mg --class S", "--split 1x1"),
        ("npb mg --class S", "--sum tree"),
        ("npb mg --class S", "--tuned mg.toml"),
        ("npb cg --class S", "--trace t.svg"),
        ("npb ft --class S", "--machine vm9"),
        ("spmv --matrix a.mtx --iterations 3", "--emit run"),
        ("solve --matrix a.mtx --rhs b.npy --method cg", "--check"),
        ("conv", "--method auto"),
        ("fir", "--exact-nonfinite"),
        ("pipeline radar", "--machine vm9"),
        ("pipeline sonar", "--engine fast"),
    ] {
        let name = option.split(' ').next().unwrap();
        let line = format!("{command} {option} --backend native");
        bench
            .cp2(&line)
            .fails(2, &[name, "--backend native", "measured"]);
    }
    bench.refuses(&[
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

/// An interrupt ends a command on a graphics card, before it opens the driver and while the driver works, and leaves
/// nothing under the name of its output.
#[cfg(all(target_os = "linux", feature = "gpu"))]
#[test]
fn an_interrupt_ends_a_graphics_card() {
    use crate::bench::{interrupted_often, interrupted_when};
    let bench = Bench::new();
    // So many steps take minutes on a processor, and many seconds on a card.
    let line = "stencil --shape 1000x1000 --points 9 --steps 1000000 --backend gpu --output v.npy";
    let with_driver = |pid: u32| {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
        maps.unwrap().contains("libvulkan")
    };
    for ended in [
        interrupted_often(bench.command(line), 1),
        interrupted_when(bench.command(line), 1, with_driver),
    ] {
        ended.fails(3, &["error: interrupted"]);
        assert!(!bench.path("v.npy").exists());
    }
}
