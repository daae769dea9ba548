//! Tests of `cp2 stencil`: figures, files, wrong inputs.

use crate::bench::{Bench, bytes, lanes, npy};

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i * 7 % 23) as f32 - 11.0).collect()
}

/// The stencil is the mean of the four neighbours, with zeros beyond the edges.
#[test]
fn an_array_is_read_computed_judged_and_written() {
    let bench = Bench::new();
    let u = ramp(35);
    bench.write("u.npy", npy("<f4", "False", "(5, 7)", &bytes(&u)));
    let json = bench
        .cp2("stencil --input u.npy --points 5 --coefficients 0,0.25 --output v.npy --check --json")
        .works()
        .json();
    assert_eq!(json["schema"], "cp2-stencil/1");
    assert_eq!(
        (json["points"].as_u64(), json["edge"].as_str()),
        (Some(5), Some("zero"))
    );
    assert_eq!(
        (json["verified"].as_bool(), json["seed"].is_null()),
        (Some(true), true)
    );
    for field in [
        "cycles",
        "bound_cycles",
        "reference_cycles",
        "expected_cycles",
        "efficiency",
    ] {
        assert!(json[field].as_f64().unwrap() > 0.0, "{field}: {json}");
    }
    let v = lanes(&bench.read("v.npy"));
    let at = |y: i32, x: i32| match (0..5).contains(&y) && (0..7).contains(&x) {
        true => u[(7 * y + x) as usize],
        false => 0.0,
    };
    for (i, v) in (0..).zip(&v) {
        let (y, x) = (i / 7, i % 7);
        let mean = 0.25 * (at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1));
        assert!((v - mean).abs() < 1e-5, "{y} {x}: {v} {mean}");
    }
}

/// Points from a file, coefficients from a file, and generated numbers are all judged.
#[test]
fn points_and_coefficients_may_be_files() {
    let bench = Bench::new();
    bench.write(
        "points",
        "# to the west and down\n0 0 -1 0.5\n1 0 0 -0.25 # below\n",
    );
    for (line, coefficients) in [
        (
            "--points points --shape 4x5x6 --steps 3 --edge periodic --check",
            "point",
        ),
        (
            "--points 19 --shape 3x4x9 --coefficients random --edge mirrored",
            "element",
        ),
        (
            "--points 9 --shape 12x20 --coefficients 0.1,-0.2,0.3 --edge fixed --steps 2",
            "class",
        ),
    ] {
        let json = bench.cp2(&format!("stencil {line} --json")).works().json();
        assert_eq!(json["coefficients"], coefficients);
        assert_eq!(
            (json["verified"].as_bool(), json["seed"].as_u64()),
            (Some(true), Some(1))
        );
    }
    // With a coefficient of 1 for the element itself and 0 for all others, nothing changes.
    let own: Vec<f32> = (0..5 * 2 * 6)
        .map(|i| if i / 6 % 5 == 2 { 1.0 } else { 0.0 })
        .collect();
    bench.write("c.npy", npy("<f4", "False", "(2, 5, 6)", &bytes(&own)));
    bench.write("u.npy", npy("<f4", "False", "(2, 6)", &bytes(&ramp(12))));
    let line = "stencil --input u.npy --points 5 --coefficients c.npy --steps 2 --output v.npy";
    bench.cp2(line).works();
    assert_eq!(lanes(&bench.read("v.npy")), ramp(12));
}

#[test]
fn a_plan_runs_nothing() {
    let bench = Bench::new();
    let plan = bench.cp2("stencil --shape 32x32x32 --plan");
    assert!(plan.works().out.contains("expected"), "{}", plan.out);
    let json = bench
        .cp2("stencil --shape 32x32x32 --plan --json")
        .works()
        .json();
    let expected = json["expected_cycles"].as_u64().unwrap();
    let run = bench.cp2("stencil --shape 32x32x32 --json").works().json();
    assert_eq!(run["cycles"].as_u64(), Some(expected));
}

/// The plan lists every pass with its expected cycles, which add up to the job's price.
#[test]
fn plans_list_every_pass() {
    let bench = Bench::new();
    for (line, steps) in [
        // Two steps in one pass, and a pass for the remaining step.
        ("--shape 32x64x128 --steps 3", &[2, 1][..]),
        // Rows are padded before the first step and closed up after the last.
        ("--shape 24x61 --steps 2 --edge periodic", &[0, 1, 1, 0]),
        ("--shape 3x64 --points 9 --steps 4", &[1, 1, 1, 1]),
    ] {
        let line = format!("stencil {line}");
        let json = bench.cp2(&format!("{line} --plan --json")).works().json();
        let passes = json["passes"].as_array().unwrap();
        let number = |pass: &serde_json::Value, key: &str| pass[key].as_u64().unwrap();
        let found: Vec<u64> = passes.iter().map(|pass| number(pass, "steps")).collect();
        assert_eq!(found, steps, "{line}");
        for pass in passes {
            assert_eq!(pass["relayout"] == true, number(pass, "steps") == 0);
            assert!(number(pass, "pages") > 0 && number(pass, "expected_cycles") > 0);
        }
        let prices = passes.iter().map(|pass| number(pass, "expected_cycles"));
        assert_eq!(prices.sum::<u64>(), number(&json, "expected_cycles"));
        let run = bench.cp2(&format!("{line} --json")).works().json();
        assert_eq!(run["passes"].as_u64(), Some(passes.len() as u64));
        let [cycles, expected] = [number(&run, "cycles"), number(&json, "expected_cycles")];
        assert!(
            cycles.abs_diff(expected) <= cycles / 100,
            "{line}: {cycles} {expected}"
        );
        let text = bench.cp2(&format!("{line} --plan")).works().out.clone();
        assert!(text.contains("pages of pass"), "{text}");
        for pass in passes {
            let cycles = pass["expected_cycles"].to_string();
            assert!(text.contains(&cycles), "{cycles}: {text}");
        }
    }
}

#[test]
fn wrong_inputs_are_refused_in_words() {
    let bench = Bench::new();
    bench.write("u.npy", npy("<f4", "False", "(5, 7)", &bytes(&ramp(35))));
    bench.write("z.npy", npy("<c8", "False", "(2, 2)", &bytes(&ramp(8))));
    for (name, text) in [
        ("none", "# nothing\n"),
        ("far", "0 0 1.0\n0 2 1.0\n"),
        ("twice", "0 0 1\n0 1 1\n0 0 2\n"),
        ("mixed", "0 0 1\n0 0 0 1\n"),
        ("letters", "0 0 a\n"),
    ] {
        bench.write(name, text);
    }
    bench.refuses(&[
        ("stencil --points 6", &["5 or 9"]),
        ("stencil --input u.npy --points 7", &["u.npy", "axes"]),
        ("stencil --input z.npy --points 5", &["z.npy", "float32"]),
        ("stencil --input missing.npy", &["missing.npy"]),
        ("stencil --input u.txt", &["--input", ".npy"]),
        ("stencil --input u.npy --points 5 --shape 4x4", &["--shape"]),
        (
            "stencil --input u.npy --points 5 --output u.npy",
            &["u.npy"],
        ),
        ("stencil --input u.npy --points 5 --seed 3", &["--seed"]),
        ("stencil --points none", &["none:1", "points"]),
        ("stencil --points far", &["far:2", "`2`", "-1, 0 or 1"]),
        ("stencil --points twice", &["twice:3", "the same point"]),
        (
            "stencil --points mixed",
            &["mixed:2", "3 offsets", "expected 2"],
        ),
        ("stencil --points letters", &["letters:1", "`a`"]),
        (
            "stencil --points far --coefficients 1,2",
            &["far", "--coefficients"],
        ),
        ("stencil --coefficients 1,x", &["--coefficients", "1,x"]),
        ("stencil --coefficients 1,2,3", &["3 for 7 points"]),
        (
            "stencil --input u.npy --points 5 --coefficients u.npy",
            &["u.npy", "[5, 5, 7]"],
        ),
        ("stencil --steps 0", &["steps"]),
        ("stencil --shape 4x0x4", &["rows"]),
        ("stencil --shape 4096x4096x4096", &["memory"]),
        (
            "stencil --edge round",
            &["zero, fixed, mirrored or periodic"],
        ),
    ]);
    assert!(!bench.files().contains(&"v.npy".to_owned()));
}

/// A command that only plans refuses options of a run, which would have no effect.
#[test]
fn a_plan_refuses_options_of_runs() {
    let bench = Bench::new();
    for command in ["stencil", "conv", "fft", "fir"] {
        for option in ["--check", "--threads 2", "--max-cycles 5", "--emit run"] {
            let name = option.split(' ').next().unwrap();
            let ended = bench.cp2(&format!("{command} --plan {option}"));
            ended.fails(2, &["--plan", "cannot be used with", name]);
        }
    }
}

/// Without a number, the points are those across faces, for as many axes as the array has.
#[test]
fn points_follow_the_axes_of_the_array() {
    let bench = Bench::new();
    bench.write("u.npy", npy("<f4", "False", "(5, 7)", &bytes(&ramp(35))));
    for (arguments, points) in [
        ("--shape 20x20", 5),
        ("--shape 4x20x20", 7),
        ("--input u.npy", 5),
        ("--input u.npy --points 9", 9),
    ] {
        let json = bench
            .cp2(&format!("stencil {arguments} --json"))
            .works()
            .json();
        assert_eq!(json["points"].as_u64(), Some(points), "{arguments}");
        assert_eq!(json["outside_time"].as_array().map(Vec::len), Some(0));
    }
}
