//! Tests of `cp2 solve`: outputs, ends, and refusals.

use crate::bench::{Bench, bytes, lanes, npy};

/// Makes the matrix of a row of points with their neighbours subtracted, and 2.5 on the diagonal.
fn laplacian(n: usize) -> String {
    chain(n, "2.5")
}

fn chain(n: usize, diagonal: &str) -> String {
    let mut text = format!(
        "%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}\n",
        2 * n - 1
    );
    for i in 1..=n {
        text += &format!("{i} {i} {diagonal}\n");
        if i > 1 {
            text += &format!("{i} {} -1\n", i - 1);
        }
    }
    text
}

/// Makes an array file of float32.
fn vector(values: &[f32]) -> Vec<u8> {
    npy(
        "<f4",
        "False",
        &format!("({},)", values.len()),
        &bytes(values),
    )
}

#[test]
fn systems_are_solved_by_every_method() {
    let bench = Bench::new();
    let n = 101;
    bench.write("a.mtx", laplacian(n));
    bench.write("b.npy", vector(&vec![1.0; n]));
    for (method, machine) in [("cg", "vm7"), ("pcg", "vm9"), ("bicgstab", "vm7")] {
        let line = format!(
            "solve --matrix a.mtx --rhs b.npy --method {method} --machine {machine} --output x.npy --picture h.svg --check --json"
        );
        let json = bench.cp2(&line).works().json();
        assert_eq!(json["schema"], "cp2-solve/1");
        assert_eq!(json["converged"], true, "{method}");
        assert_eq!(json["method"], method);
        let claimed = json["residual"].as_f64().unwrap();
        let exact = json["true_residual"].as_f64().unwrap();
        assert!(
            claimed <= 1e-5 && exact <= 1e-5,
            "{method}: {claimed} {exact}"
        );
        assert_eq!(json["outcome"], "converged");
        assert_eq!(json["method_end"], "converged");
        let history = json["residuals"].as_array().unwrap();
        let iterations = json["iterations"].as_u64().unwrap();
        assert_eq!(history.len() as u64, iterations + 1);
        assert_eq!(history[0], 1.0);
        // The x of the file is a solution: a point in the middle has 2.5 x - x - x = 1.
        let middle = lanes(&bench.read("x.npy"))[n / 2];
        assert!((middle - 2.0).abs() < 1e-3, "{middle}");
        let picture = String::from_utf8(bench.read("h.svg")).unwrap();
        assert!(picture.contains("polyline") && picture.contains("iteration"));
    }
    // A run that ends without a solution says so, and what to do.
    let line = "solve --matrix a.mtx --rhs b.npy --method cg --iterations 2";
    let ended = bench.cp2(line);
    ended.fails(1, &["not solved", "--iterations"]);
}

/// A column gives a column and a row gives a row, in every format. A wrong end names the format and the
/// alternative.
#[test]
fn x_has_the_shape_of_b() {
    let bench = Bench::new();
    bench.write("a.mtx", laplacian(8));
    let ones = bytes(&[1.0; 8]);
    for (shape, format) in [("(8, 1)", "gather"), ("(8,)", "diagonal")] {
        bench.write("b.npy", npy("<f4", "False", shape, &ones));
        let line = format!("solve --matrix a.mtx --rhs b.npy --method cg --format {format}");
        let json = bench.cp2(&format!("{line} --output x.npy --json"));
        assert_eq!(json.works().json()["format"], format);
        let x = String::from_utf8_lossy(&bench.read("x.npy")).into_owned();
        assert!(x.contains(shape), "{x}");
    }
    let symmetric = "%%MatrixMarket matrix coordinate real symmetric";
    bench.write("saddle.mtx", format!("{symmetric}\n2 2 2\n1 1 1\n2 2 -1\n"));
    bench.write("both.npy", vector(&[1.0, 1.0]));
    let line = "solve --matrix saddle.mtx --rhs both.npy --method cg";
    for (format, other) in [("gather", "diagonal"), ("diagonal", "gather")] {
        let packed = format!("packed as `{format}`");
        let compare = format!("compare with --format {other}");
        let ended = bench.cp2(&format!("{line} --format {format}"));
        ended.fails(1, &["not solved", &packed, &compare]);
    }
}

fn residual(b: &[f32], x: &[f32]) -> f64 {
    let at = |i: usize| x.get(i).copied().map_or(0.0, f64::from);
    let left = |i: usize| {
        let before = if i == 0 { 0.0 } else { at(i - 1) };
        f64::from(b[i]) - (2.0 * at(i) - before - at(i + 1))
    };
    let norm = b.iter().map(|&b| f64::from(b).powi(2)).sum::<f64>();
    let left = (0..b.len()).map(|i| left(i).powi(2)).sum::<f64>();
    (left / norm).sqrt()
}

/// A right-hand side whose square is 0 or infinite in single precision is solved like others. If x has no
/// digits left, the message says so.
#[test]
fn right_hand_sides_of_any_size_are_solved_or_not_confirmed() {
    let bench = Bench::new();
    bench.write("a.mtx", chain(2, "2"));
    for method in ["cg", "pcg", "bicgstab"] {
        for size in [1e-45f32, 1e-40, 1e-24, 1.0, 1e15, 1e20, 3e38] {
            let b = [size; 2];
            bench.write("b.npy", vector(&b));
            let line =
                format!("solve --matrix a.mtx --rhs b.npy --method {method} --output x.npy --json");
            let done = bench.cp2(&line);
            let json = done.json();
            let x = lanes(&bench.read("x.npy"));
            let exact = residual(&b, &x);
            let said = json["true_residual"].as_f64().unwrap();
            assert!(
                (said - exact).abs() <= 1e-12,
                "{method} {size:e}: {said} {exact}"
            );
            let is_solved = exact <= 1e-5;
            assert_eq!(json["converged"], is_solved, "{method} {size:e}");
            assert_eq!(done.code == 0, is_solved, "{}", done.err);
            // The solution is exactly b.
            assert_eq!(x, b, "{method}");
            assert!(is_solved);
        }
        bench.write("b.npy", vector(&[0.0; 2]));
        let none = bench.cp2(&format!(
            "solve --matrix a.mtx --rhs b.npy --method {method} --json"
        ));
        assert_eq!(none.works().json()["converged"], true);
    }
    // The quotient of 1e-30 and 1e15 has no digits in single precision.
    let head = "%%MatrixMarket matrix coordinate real symmetric";
    bench.write("large.mtx", format!("{head}\n2 2 2\n1 1 3e15\n2 2 1e15\n"));
    bench.write("b.npy", vector(&[1e-30; 2]));
    let ended = bench.cp2("solve --matrix large.mtx --rhs b.npy --method pcg --tolerance 1e-6");
    ended.fails(
        1,
        &[
            "not confirmed",
            "numbers of x leave the range",
            "multiply b",
        ],
    );
    assert!(ended.out.starts_with("2 equations") && ended.out.contains("\nnot confirmed after"));
}

/// The method's own residual does not count: a tolerance below single precision gives a warning, and the
/// solution is not confirmed.
#[test]
fn what_double_precision_does_not_find_is_not_confirmed() {
    let bench = Bench::new();
    bench.write("l.mtx", chain(50, "2"));
    let b = [1.0f32; 50];
    bench.write("b.npy", vector(&b));
    for (method, tolerance) in [("bicgstab", "1e-12"), ("bicgstab", "1e-5"), ("cg", "1e-12")] {
        let line = format!(
            "solve --matrix l.mtx --rhs b.npy --method {method} --tolerance {tolerance} --output x.npy --json"
        );
        let ended = bench.cp2(&line);
        let json = ended.json();
        let exact = residual(&b, &lanes(&bench.read("x.npy")));
        assert!((json["true_residual"].as_f64().unwrap() - exact).abs() < 1e-9);
        let asked: f64 = tolerance.parse().unwrap();
        assert_eq!(json["converged"], exact <= asked, "{json}");
        assert_eq!(ended.code == 0, exact <= asked);
        let is_less = asked < 2f64.powi(-23);
        assert_eq!(
            ended.err.starts_with("warning: --tolerance 1e-12"),
            is_less,
            "{}",
            ended.err
        );
        if ended.code != 0 {
            ended.fails(1, &["not solved"]);
            let attainable = json["attainable"].as_f64().unwrap();
            assert!(attainable > exact, "{attainable} {exact}");
            if json["method_end"] == "converged" {
                assert_eq!(json["outcome"], "not confirmed");
                ended.fails(1, &["not confirmed", "single precision holds about"]);
            }
        }
    }
}

/// The advice fits the method and the cause.
#[test]
fn advice_fits_the_end() {
    let bench = Bench::new();
    let general = "%%MatrixMarket matrix coordinate real general";
    let symmetric = "%%MatrixMarket matrix coordinate real symmetric";
    bench.write("turn.mtx", format!("{general}\n2 2 2\n1 2 1\n2 1 -1\n"));
    bench.write("saddle.mtx", format!("{symmetric}\n2 2 2\n1 1 1\n2 2 -1\n"));
    bench.write("swap.mtx", format!("{symmetric}\n2 2 1\n2 1 1\n"));
    bench.write(
        "huge.mtx",
        format!("{symmetric}\n2 2 2\n1 1 3e38\n2 2 2e38\n"),
    );
    bench.write(
        "tiny.mtx",
        format!("{symmetric}\n2 2 2\n1 1 1e-50\n2 2 1e-50\n"),
    );
    // Single precision cannot hold this solution to the tolerance, but after one iteration the residual is
    // far above that limit as well.
    bench.write("long.mtx", chain(50, "2"));
    bench.write("ones.npy", vector(&[1.0; 50]));
    bench.write("one.npy", vector(&[1.0, 0.0]));
    bench.write("both.npy", vector(&[1.0, 1.0]));
    let cases: [(&str, &[&str], &[&str]); 7] = [
        (
            "long.mtx --rhs ones.npy --method cg --iterations 1",
            &["allow more --iterations"],
            &["a --tolerance of", "fault of cp2"],
        ),
        (
            "tiny.mtx --rhs both.npy --method bicgstab",
            &[
                "2 of its numbers are too small for single precision",
                "every number of the matrix is 0",
            ],
            &["order the rows"],
        ),
        (
            "turn.mtx --rhs one.npy --method bicgstab",
            &["broke down", "order the rows"],
            &["bicgstab", "cg"],
        ),
        (
            "swap.mtx --rhs one.npy --method bicgstab",
            &["broke down", "take cg or pcg"],
            &["bicgstab"],
        ),
        (
            "saddle.mtx --rhs both.npy --method cg",
            &["broke down", "p A p", "take bicgstab"],
            &[],
        ),
        (
            "saddle.mtx --rhs both.npy --method pcg",
            &["broke down", "take bicgstab"],
            &[],
        ),
        (
            "huge.mtx --rhs both.npy --method cg",
            &["3.0e38", "multiply it by a power of two"],
            &["positive definite"],
        ),
    ];
    for (line, said, unsaid) in cases {
        let ended = bench.cp2(&format!("solve --matrix {line}"));
        ended.fails(1, said);
        for word in unsaid {
            assert!(!ended.err.contains(word), "`{word}` in: {}", ended.err);
        }
    }
}

#[test]
fn what_is_no_system_is_refused() {
    let bench = Bench::new();
    bench.write("a.mtx", laplacian(8));
    bench.write("b.npy", vector(&[1.0; 8]));
    bench.write("short.npy", vector(&[1.0; 7]));
    bench.write("nan.npy", vector(&[f32::NAN; 8]));
    let wide = "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n";
    bench.write("wide.mtx", wide);
    let unsymmetric = "%%MatrixMarket matrix coordinate real general\n8 8 1\n1 1 1\n";
    bench.write("general.mtx", unsymmetric);
    bench.refuses(&[
        ("solve --matrix a.mtx --rhs b.npy", &["--method"]),
        (
            "solve --matrix a.mtx --rhs b.npy --method lu",
            &["cg, pcg or bicgstab"],
        ),
        (
            "solve --matrix a.mtx --rhs short.npy --method cg",
            &["short.npy", "7", "8"],
        ),
        (
            "solve --matrix a.mtx --rhs nan.npy --method cg",
            &["nan.npy", "finite"],
        ),
        (
            "solve --matrix wide.mtx --rhs b.npy --method cg",
            &["wide.mtx", "2 x 3"],
        ),
        (
            "solve --matrix general.mtx --rhs b.npy --method cg",
            &["general.mtx", "bicgstab"],
        ),
        (
            "solve --matrix a.mtx --rhs b.npy --method cg --tolerance 2",
            &["tolerance", "below 1"],
        ),
        (
            "solve --matrix none.mtx --rhs b.npy --method cg",
            &["none.mtx"],
        ),
    ]);
}
