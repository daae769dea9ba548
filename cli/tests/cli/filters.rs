//! Tests of `cp2 conv` and `cp2 fir`: figures, files, wrong inputs.

use crate::bench::{Bench, bytes, lanes, npy};

fn ramp(n: usize, step: usize, wrap: usize) -> Vec<f32> {
    (0..n)
        .map(|i| (i * step % wrap) as f32 - (wrap / 2) as f32)
        .collect()
}

/// Computes a convolution by its definition, in f64.
fn convolved(x: &[f32], h: &[f32]) -> Vec<f64> {
    let mut y = vec![0.0; x.len() + h.len() - 1];
    for (i, x) in x.iter().enumerate() {
        for (j, h) in h.iter().enumerate() {
            y[i + j] += f64::from(*x) * f64::from(*h);
        }
    }
    y
}

fn close(y: &[f32], exact: &[f64]) {
    assert_eq!(y.len(), exact.len());
    for (i, (y, exact)) in y.iter().zip(exact).enumerate() {
        assert!((f64::from(*y) - exact).abs() < 1e-2, "{i}: {y} {exact}");
    }
}

/// Writes two real channels of 300 samples and 20 real taps, and returns them.
fn channels(bench: &Bench) -> (Vec<f32>, Vec<f32>) {
    let (x, h) = (ramp(600, 7, 17), ramp(20, 5, 13));
    bench.write("x.npy", npy("<f4", "False", "(2, 300)", &bytes(&x)));
    bench.write("h.npy", npy("<f4", "False", "(20,)", &bytes(&h)));
    (x, h)
}

#[test]
fn channels_are_convolved_in_every_mode() {
    let bench = Bench::new();
    let (x, h) = channels(&bench);
    for (mode, from, len) in [("full", 0, 319), ("same", 9, 300), ("valid", 19, 281)] {
        let json = bench
            .cp2(&format!(
                "conv --input x.npy --taps h.npy --mode {mode} --output y.npy --check --json"
            ))
            .works()
            .json();
        assert_eq!(json["schema"], "cp2-conv/1");
        assert_eq!(json["mode"], mode);
        for field in [
            "cycles",
            "bound_cycles",
            "reference_cycles",
            "efficiency",
            "rel_error",
        ] {
            assert!(json[field].as_f64().unwrap() > 0.0, "{field}: {json}");
        }
        assert!(json["rel_error"].as_f64().unwrap() < 1e-6);
        assert_eq!(json["outputs"].as_u64(), Some(len as u64));
        let file = bench.read("y.npy");
        assert!(String::from_utf8_lossy(&file[..100]).contains(&format!("(2, {len})")));
        let y = lanes(&file);
        for channel in 0..2 {
            let exact = convolved(&x[300 * channel..][..300], &h);
            close(&y[len * channel..][..len], &exact[from..from + len]);
        }
    }
}

#[test]
fn correlation_reverses_and_conjugates_the_taps() {
    let bench = Bench::new();
    bench.write(
        "x.npy",
        npy(
            "<c8",
            "False",
            "(3,)",
            &bytes(&[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
        ),
    );
    bench.write(
        "h.npy",
        npy("<c8", "False", "(2,)", &bytes(&[1.0, 2.0, 3.0, 4.0])),
    );
    bench
        .cp2("conv --input x.npy --taps h.npy --correlate --output y.npy")
        .works();
    // The outputs from number 1 on are i times (3 - 4i, 1 - 2i).
    let exact = [0.0, 0.0, 4.0, 3.0, 2.0, 1.0, 0.0, 0.0];
    close(&lanes(&bench.read("y.npy")), &exact);
}

#[test]
fn filters_decimate_and_interpolate() {
    let bench = Bench::new();
    let (x, h) = channels(&bench);
    bench.write("x.npy", npy("<f4", "False", "(300,)", &bytes(&x[..300])));
    let full = convolved(&x[..300], &h);
    let json = bench
        .cp2("fir --input x.npy --taps h.npy --decimate 3 --output y.npy --check --json")
        .works()
        .json();
    assert_eq!(
        (json["schema"].as_str(), json["decimate"].as_u64()),
        (Some("cp2-fir/1"), Some(3))
    );
    let third: Vec<f64> = full.iter().step_by(3).copied().collect();
    close(&lanes(&bench.read("y.npy")), &third);
    bench
        .cp2("fir --input x.npy --taps h.npy --interpolate 2 --output y.npy")
        .works();
    let mut spread = vec![0.0; 599];
    for (i, x) in x[..300].iter().enumerate() {
        spread[2 * i] = *x;
    }
    close(&lanes(&bench.read("y.npy")), &convolved(&spread, &h));
}

/// Returns the first and last index of each run of outputs that are not finite.
fn spoiled(y: &[f32]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, _) in y.iter().enumerate().filter(|(_, y)| !y.is_finite()) {
        match runs.last_mut().filter(|run| run.1 + 1 == at) {
            Some(run) => run.1 = at,
            None => runs.push((at, at)),
        }
    }
    runs
}

/// `fir` at the full rate equals `conv`. A warning names the outputs that a NaN reaches wrongly, and the
/// option that prevents it.
#[test]
fn what_spreads_a_nan_says_so() {
    let bench = Bench::new();
    let mut x = ramp(20_000, 7, 17);
    x[6666] = f32::NAN;
    bench.write("x.npy", npy("<f4", "False", "(20000,)", &bytes(&x)));
    bench.write(
        "h.npy",
        npy("<f4", "False", "(200,)", &bytes(&ramp(200, 5, 13))),
    );
    let own = vec![(6666, 6865)];
    let mut cycles = Vec::new();
    for (options, exact) in [
        ("", false),
        ("--method overlap-save", false),
        ("--method direct", true),
        ("--exact-nonfinite", true),
    ] {
        for command in ["conv", "fir"] {
            let line =
                format!("{command} --input x.npy --taps h.npy {options} --output y.npy --json");
            let done = bench.cp2(&line);
            done.works();
            let json = done.json();
            let found = spoiled(&lanes(&bench.read("y.npy")));
            assert_eq!(found == own, exact, "{line}: {found:?}");
            assert_eq!(
                json["method"],
                if exact { "direct" } else { "overlap-save" }
            );
            assert_eq!(json["exact_nonfinite"], exact);
            assert_eq!(json["nonfinite_samples"], 1);
            assert_eq!(json["nonfinite_taps"], 0);
            assert_eq!(json["nonfinite_spread"], !exact);
            let said = [
                "1 of 20000 samples is not finite",
                "sample 6666 of channel 0",
                "--exact-nonfinite",
            ];
            for words in said {
                assert_eq!(done.err.contains(words), !exact, "{line}: {}", done.err);
            }
            cycles.push(json["cycles"].as_u64());
        }
    }
    assert!(
        cycles.chunks(2).all(|pair| pair[0] == pair[1]),
        "{cycles:?}"
    );
}

/// A tap that is not finite is multiplied with the zeros around a channel: only outputs that see samples
/// alone follow the definition.
#[test]
fn taps_that_are_not_finite_are_named() {
    let bench = Bench::new();
    let mut h = ramp(9, 5, 13);
    h[3] = f32::INFINITY;
    bench.write("h.npy", npy("<f4", "False", "(9,)", &bytes(&h)));
    for (options, words) in [
        (
            "",
            vec![
                "1 of 9 taps is not finite, the first is tap 3",
                "--mode valid",
            ],
        ),
        (
            "--method overlap-save",
            vec!["all outputs", "--method direct"],
        ),
        (
            "--method overlap-save --mode valid",
            vec!["all outputs", "--method direct"],
        ),
    ] {
        let line = format!("conv --real --samples 300 --taps h.npy {options} --json");
        let done = bench.cp2(&line);
        done.works();
        assert_eq!(done.json()["nonfinite_spread"], true);
        for words in words {
            assert!(done.err.contains(words), "{line}: {}", done.err);
        }
    }
    let line = "conv --real --samples 300 --taps h.npy --exact-nonfinite";
    bench.cp2(line).fails(2, &["tap 3", "--mode valid"]);
    let done = bench.cp2(&format!("{line} --mode valid --json"));
    done.works();
    assert_eq!(done.json()["nonfinite_spread"], false);
    assert_eq!(done.err, "");
}

#[test]
fn wrong_input_is_refused_with_words() {
    let bench = Bench::new();
    channels(&bench);
    bench.write("m.toml", "base = 'vm7'\nname = 'mine'\n");
    bench.write("none.npy", npy("<f4", "False", "(0,)", &[]));
    for (line, words) in [
        ("conv --input missing.npy", vec!["missing.npy"]),
        ("conv --input x.npy --taps x.npy", vec!["x.npy", "one row"]),
        (
            "conv --input none.npy",
            vec!["none.npy", "at least one sample"],
        ),
        ("conv --samples 0", vec!["--samples 0"]),
        ("conv --length 0", vec!["--length 0"]),
        (
            "conv --samples 10 --length 20 --mode valid",
            vec!["no shorter"],
        ),
        ("conv --samples 100 --length 600000", vec!["600000 taps"]),
        ("fir --samples 100 --decimate 0", vec!["at least 1"]),
        ("fir --samples 100 --length 600000", vec!["600000 taps"]),
        (
            "fir --samples 100 --length 100000 --method direct",
            vec!["100000 taps"],
        ),
        (
            "conv --method overlap-save --exact-nonfinite",
            vec!["--exact-nonfinite", "overlap-save", "--method direct"],
        ),
        (
            "fir --interpolate 3 --method overlap-save",
            vec!["3 outputs a sample", "direct"],
        ),
        (
            "conv --input x.npy --taps h.npy --output x.npy",
            vec!["x.npy"],
        ),
        (
            "conv --input x.npy --taps h.npy --output h.npy",
            vec!["h.npy"],
        ),
        ("conv --machine m.toml --trace m.toml", vec!["m.toml"]),
        ("conv --samples -5", vec!["-5", "--samples"]),
    ] {
        bench.cp2(line).fails(2, &words);
    }
}
