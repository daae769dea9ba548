//! Tests of `cp2 fft`: recipes, real transforms, several axes.

use crate::bench::{Bench, bytes, lanes, npy};

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
    // Five numbers are the half spectrum of 8 real numbers or of 9: --n decides.
    bench.write("h.npy", npy("<c8", "False", "(5,)", &bytes(&[1.0; 10])));
    let ended = bench.cp2("fft --input h.npy --real --inverse --n 9");
    assert!(
        ended.works().err.contains("row 0, number 0"),
        "{}",
        ended.err
    );
    bench.write("x9.npy", npy("<f4", "False", "(9,)", &bytes(&x[..9])));
    bench
        .cp2("fft --input x9.npy --real --n 9 --output h.npy")
        .works();
    let back = bench.cp2("fft --input h.npy --real --inverse --n 9 --output z.npy --json");
    assert_eq!(back.works().json()["n"].as_u64(), Some(9));
    for (x, z) in x.iter().zip(&lanes(&bench.read("z.npy"))) {
        assert!((x * 9.0 - z).abs() < 1e-3, "{x} {z}");
    }
    // A convolution leaves imaginary parts near 0: they are not written to the spectrum.
    bench.cp2("fft --real --n 74 --output c.npy").works();
    bench
        .cp2("fft --input c.npy --real --inverse --n 74")
        .works();
    bench
        .cp2("fft --input h.npy --real --inverse --n 12")
        .fails(2, &["no multiple", "7"]);
}

/// Transforms of a part of every row equal those of the parts alone.
#[test]
fn transforms_may_lie_apart() {
    let bench = Bench::new();
    let x: Vec<f32> = (0..2 * 300).map(|j| ((j * 7) % 31) as f32 - 15.0).collect();
    bench.write("x.npy", npy("<c8", "False", "(3, 100)", &bytes(&x)));
    for n in [64, 63, 60, 100] {
        let alone: Vec<f32> = x
            .chunks(200)
            .flat_map(|row| &row[..2 * n])
            .copied()
            .collect();
        let shape = format!("(3, {n})");
        bench.write("a.npy", npy("<c8", "False", &shape, &bytes(&alone)));
        bench.cp2("fft --input a.npy --output y.npy").works();
        let line = format!("fft --input x.npy --n {n} --stride 100 --output z.npy --json");
        let json = bench.cp2(&line).works().json();
        assert_eq!(json["batch"].as_u64(), Some(3));
        assert_eq!(json["stride"].as_u64(), Some(100));
        assert_eq!(json["verified"].as_bool(), Some(true));
        assert_eq!(bench.read("z.npy"), bench.read("y.npy"), "{n}");
    }
    bench.write("r.npy", npy("<f4", "False", "(264,)", &bytes(&x[..264])));
    let json = bench.cp2("fft --input r.npy --real --n 64 --stride 100 --output z.npy --json");
    assert_eq!(json.works().json()["batch"].as_u64(), Some(3));
    assert_eq!(lanes(&bench.read("z.npy")).len(), 3 * 2 * 33);
    // The only row needs no data a stride behind it.
    bench.write("one.npy", npy("<f4", "False", "(10,)", &bytes(&[1.0; 10])));
    let json = bench.cp2("fft --input one.npy --n 8 --stride 100000000 --output o.npy --json");
    let json = json.works().json();
    assert_eq!(json["batch"].as_u64(), Some(1));
    assert_eq!(lanes(&bench.read("o.npy"))[..3], [8.0, 0.0, 0.0]);
    // The conversion of real numbers to complex ones is outside of simulated time.
    assert_eq!(json["outside_time"].as_array().map(Vec::len), Some(1));
    bench
        .cp2("fft --input x.npy --n 64 --stride 63")
        .fails(2, &["--stride 63", "64 at least"]);
    bench
        .cp2("fft --input r.npy --n 65 --stride 100")
        .fails(2, &["264 numbers", "64 are left"]);
    bench
        .cp2("fft --n 8 --stride 30 --batch 2")
        .fails(2, &["--stride", "no input"]);
    bench
        .cp2("fft --input x.npy --stride 100")
        .fails(2, &["--n"]);
}

#[test]
fn the_planner_lists_what_it_chooses_from() {
    let bench = Bench::new();
    for (line, chosen, count) in [
        ("--n 1024", "stockham", 3),
        ("--n 360", "mixed", 1),
        ("--n 101", "bluestein", 1),
        ("--n 65536", "65536", 1),
        ("--n 512 --real", "split", 3),
        ("--n 512 --real --inverse", "merge", 3),
        ("--n 512 --real --inverse --batch 1", "join", 3),
        ("--n 2048 --real --batch 1", "couples of columns", 5),
        ("--n 4095 --real --inverse", "of complex numbers", 1),
    ] {
        let ended = bench.cp2(&format!("fft {line} --plan --json"));
        let json = ended.works().json();
        let text = json["chosen"].as_str().unwrap();
        assert!(text.contains(chosen), "{line}: {text}");
        let candidates = json["candidates"].as_array().unwrap();
        assert_eq!(candidates.len(), count, "{line}: {candidates:?}");
        let cycles = |i: usize| candidates[i]["expected_cycles"].as_u64().unwrap();
        assert!((1..count).all(|i| cycles(0) <= cycles(i)), "{line}");
        // Both figures are those of the problem, whatever the recipe.
        let (bound, reference) = (&json["bound_cycles"], &json["reference_cycles"]);
        assert!(bound.as_u64() <= reference.as_u64(), "{line}");
        assert!(reference.as_u64().unwrap() <= cycles(0), "{line}");
    }
    // The recipe listed as chosen is the one that runs.
    for line in [
        "--n 64 --batch 256",
        "--n 32 --machine vm9 --batch 256",
        "--n 24 --batch 4",
        "--shape 32x64 --batch 2",
        "--real --n 2048",
        "--real --inverse --n 1000 --batch 3",
    ] {
        let plan = bench
            .cp2(&format!("fft {line} --plan --json"))
            .works()
            .json();
        let run = bench.cp2(&format!("fft {line} --json")).works().json();
        assert_eq!(plan["chosen"], run["recipe"], "{line}");
        assert_eq!(plan["candidates"][0]["recipe"], run["recipe"], "{line}");
        for figure in ["bound_cycles", "reference_cycles", "reference_method"] {
            assert_eq!(plan[figure], run[figure], "{line}: {figure}");
        }
    }
    // The lower bound of a long transform's recipe comes with its formula.
    let long = bench.cp2("fft --n 8192 --batch 1 --json").works().json();
    assert!((0.92..=1.0).contains(&long["recipe_floor_efficiency"].as_f64().unwrap()));
    assert!(
        long["recipe_floor_formula"]
            .as_str()
            .unwrap()
            .contains("pages")
    );
    bench.refuses(&[
        ("fft --plan --n 4096 --batch 0", &["--batch 0"]),
        ("fft --plan --n 4194305", &["4194305", "1 to 2097152"]),
    ]);
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
    bench.refuses(&[
        (
            "fft --shape 64x32 --input x.npy",
            &["axes 32x64", "--shape 64x32"],
        ),
        ("fft --shape 32x", &["256x256"]),
    ]);
    bench.cp2("fft --shape 3x5").fails(2, &["[3, 5]"]);
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
        "--n 1009",
        "--n 16384",
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
