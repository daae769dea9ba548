//! Tests of `cp2 spmv`: figures, formats, files, wrong inputs.

use crate::bench::{Bench, bytes, lanes, npy};

/// Makes the five-point matrix of a square of `side` points; the lower triangle is declared symmetric.
fn laplace(side: usize) -> String {
    let mut entries = Vec::new();
    for i in 0..side * side {
        if i >= side {
            entries.push(format!("{} {} -1", i + 1, i - side + 1));
        }
        if i % side > 0 {
            entries.push(format!("{} {} -1", i + 1, i));
        }
        entries.push(format!("{} {} 4", i + 1, i + 1));
    }
    let (n, count) = (side * side, entries.len());
    let entries = entries.join("\n");
    format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {count}\n{entries}\n")
}

/// The product with a constant vector is 0 except at the edges, in every format.
#[test]
fn a_matrix_is_read_multiplied_judged_and_written() {
    let bench = Bench::new();
    bench.write("a.mtx", laplace(12));
    bench.write("x.npy", npy("<f4", "False", "(144,)", &bytes(&[1.0; 144])));
    for format in [
        "",
        "--format gather",
        "--format diagonal",
        "--format sell --machine vm7+section-addressing",
        "--format sell-words --machine vm7+section-addressing+word-addressing",
    ] {
        let line = format!(
            "spmv --matrix a.mtx --x x.npy --output y.npy {format} --picture a.svg --check --json"
        );
        let json = bench.cp2(&line).works().json();
        assert_eq!(json["schema"], "cp2-spmv/1");
        assert_eq!(json["verified"].as_bool(), Some(true));
        assert_eq!(json["nnz"].as_u64(), Some(5 * 144 - 4 * 12));
        for field in [
            "rows",
            "cols",
            "padding",
            "cycles",
            "bound_cycles",
            "reference_cycles",
            "expected_cycles",
            "efficiency",
            "csr_ratio",
            "pack_seconds",
            "pays_after",
        ] {
            assert!(json[field].as_f64().unwrap() > 0.0, "{field}: {json}");
        }
        assert_eq!(json["expected_cycles"], json["cycles"]);
        let y = lanes(&bench.read("y.npy"));
        let sums = (0..144).map(|i: usize| {
            let edges = [i.is_multiple_of(12), i % 12 == 11, i < 12, i >= 132];
            edges.into_iter().filter(|edge| *edge).count() as f32
        });
        assert!(y.iter().copied().eq(sums), "{y:?}");
        assert!(bench.read("a.svg").starts_with(b"<svg"));
    }
}

/// The plan lists every format with its cost, computes nothing, and refuses options of a computation.
#[test]
fn a_plan_compares_formats() {
    let bench = Bench::new();
    bench.write("a.mtx", laplace(9));
    let json = bench
        .cp2("spmv --matrix a.mtx --plan --json")
        .works()
        .json();
    let formats = json["formats"].as_array().unwrap();
    assert_eq!(formats.len(), 2);
    assert_eq!(formats.iter().filter(|f| f["chosen"] == true).count(), 1);
    assert!(json["expected_cycles"].as_u64() > Some(0) && json["cycles"].is_null());
    bench
        .cp2("spmv --matrix a.mtx --plan --check")
        .fails(2, &["--plan"]);
}

/// Products with the matrix and its transpose, with several vectors, and with complex numbers.
#[test]
fn transposes_and_several_vectors() {
    let bench = Bench::new();
    let head = "%%MatrixMarket matrix coordinate";
    bench.write(
        "a.mtx",
        format!("{head} integer general\n2 3 3\n1 1 5\n1 3 -2\n2 2 7\n"),
    );
    let x = [1.0, 10.0, 2.0, 20.0, 3.0, 30.0];
    bench.write("x.npy", npy("<f4", "False", "(3, 2)", &bytes(&x)));
    bench
        .cp2("spmv --matrix a.mtx --x x.npy --output y.npy --check")
        .works();
    assert_eq!(lanes(&bench.read("y.npy")), [-1.0, -10.0, 14.0, 140.0]);
    let x: Vec<f32> = (0..57).map(|i| i as f32).collect();
    bench.write("x.npy", npy("<f4", "False", "(3, 19)", &bytes(&x)));
    bench
        .cp2("spmv --matrix a.mtx --x x.npy --output y.npy --check")
        .works();
    let row = |row: usize| (0..19).map(move |vector| (19 * row + vector) as f32);
    let first = row(0).zip(row(2)).map(|(a, b)| 5.0 * a - 2.0 * b);
    let y: Vec<f32> = first.chain(row(1).map(|b| 7.0 * b)).collect();
    assert_eq!(lanes(&bench.read("y.npy")), y);
    // A column gives a column.
    bench.write(
        "x.npy",
        npy("<f4", "False", "(3, 1)", &bytes(&[1.0, 2.0, 3.0])),
    );
    let json = bench
        .cp2("spmv --matrix a.mtx --x x.npy --output y.npy --json")
        .works()
        .json();
    assert_eq!(lanes(&bench.read("y.npy")), [-1.0, 14.0]);
    let y = String::from_utf8_lossy(&bench.read("y.npy")).into_owned();
    assert!(y.contains("(2, 1)"), "{y}");
    assert_eq!(json["outside_time"].as_array().map(Vec::len), Some(1));
    // Only memory limits the number of vectors.
    bench
        .cp2("spmv --matrix a.mtx --vectors 4294967297")
        .fails(2, &["4294967297", "at most 53687091", "memory"]);
    // An assumption that concerns both packed matrices is named once.
    let plan = bench.cp2("spmv --matrix a.mtx --vectors 3 --format gather --plan");
    assert_eq!(plan.works().out.matches("D11").count(), 1, "{}", plan.out);
    bench.write("x.npy", npy("<f4", "False", "(2,)", &bytes(&[1.0, 2.0])));
    bench
        .cp2("spmv --matrix a.mtx --transpose --x x.npy --output y.npy")
        .works();
    assert_eq!(lanes(&bench.read("y.npy")), [5.0, 14.0, -2.0]);
    bench.write(
        "h.mtx",
        format!("{head} complex hermitian\n2 2 2\n1 1 1 0\n2 1 0 3\n"),
    );
    bench.write(
        "x.npy",
        npy("<c8", "False", "(2,)", &bytes(&[1.0, 0.0, 0.0, 1.0])),
    );
    bench
        .cp2("spmv --matrix h.mtx --x x.npy --output y.npy")
        .works();
    assert_eq!(lanes(&bench.read("y.npy")), [4.0, 0.0, 0.0, 3.0]);
}

/// The matrix adds the neighbours of points in a row: its largest eigenvalue is 2.5 + 2 cos(pi / 9).
#[test]
fn powers_come_near_an_eigenvalue() {
    let bench = Bench::new();
    let mut text = "%%MatrixMarket matrix coordinate real symmetric\n8 8 15\n".to_owned();
    for i in 1..=8 {
        text += &format!("{i} {i} 2.5\n");
        if i > 1 {
            text += &format!("{i} {} 1\n", i - 1);
        }
    }
    bench.write("a.mtx", text);
    bench.write("ones.npy", npy("<f4", "False", "(8,)", &bytes(&[1.0; 8])));
    let line = "spmv --matrix a.mtx --iterations 40 --x ones.npy --output x.npy --picture a.svg --check --json";
    let json = bench.cp2(line).works().json();
    assert_eq!(json["schema"], "cp2-power/1");
    assert_eq!(json["seed"], serde_json::Value::Null);
    assert_eq!(json["verified"], true);
    assert_eq!(json["expected_cycles"], json["cycles"]);
    assert_eq!(json["cols"], 8);
    assert!(json["pays_after"].is_u64() || json["pays_after"].is_null());
    assert!(json["pack_seconds_simulated"].as_f64() > Some(0.0));
    // A column gives a column.
    bench.write(
        "column.npy",
        npy("<f4", "False", "(8, 1)", &bytes(&[1.0; 8])),
    );
    let column = "spmv --matrix a.mtx --iterations 3 --x column.npy --output column-out.npy";
    bench.cp2(column).works();
    let column = String::from_utf8_lossy(&bench.read("column-out.npy")).into_owned();
    assert!(column.contains("(8, 1)"), "{column}");
    let largest = 2.5 + 2.0 * (std::f64::consts::PI / 9.0).cos();
    for field in ["eigenvalue", "eigenvalue_f64"] {
        let found = json[field].as_f64().unwrap();
        assert!((found - largest).abs() < 1e-5, "{field}: {found}");
    }
    let values = json["values"].as_array().unwrap();
    assert_eq!((values.len(), &values[40]), (41, &json["eigenvalue"]));
    // The quotient of the start vector of ones is 2.5 + 14 / 8, from seven neighbours on either side.
    assert!((values[0].as_f64().unwrap() - (2.5 + 14.0 / 8.0)).abs() < 1e-6);
    assert!(json["residual"].as_f64().unwrap() < 1e-3);
    let x = lanes(&bench.read("x.npy"));
    let length: f32 = x.iter().map(|x| x * x).sum();
    assert!((length - 1.0).abs() < 1e-5 && x[3] > x[0], "{x:?}");
    assert!(bench.read("a.svg").starts_with(b"<svg"));
    // The matrix shifts the vector by one point: after some iterations x is 0.
    let shift = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1\n2 3 1\n";
    bench.write("shift.mtx", shift);
    let ended = bench.cp2("spmv --matrix shift.mtx --iterations 5");
    ended.fails(1, &["has become 0", "--x"]);
    assert!(!ended.out.contains("residual"), "{}", ended.out);
    let ended = bench.cp2("spmv --matrix shift.mtx --iterations 5 --json");
    assert_eq!(ended.json()["eigenvalue"], serde_json::Value::Null);
    assert_eq!(ended.json()["residual"], serde_json::Value::Null);
    let wide = "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n";
    bench.write("wide.mtx", wide);
    let complex = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 0 1\n";
    bench.write("complex.mtx", complex);
    bench.write("zeros.npy", npy("<f4", "False", "(8,)", &bytes(&[0.0; 8])));
    bench.write("short.npy", npy("<f4", "False", "(7,)", &bytes(&[1.0; 7])));
    for (line, said) in [
        ("spmv --matrix wide.mtx --iterations 2", "2 x 3"),
        ("spmv --matrix complex.mtx --iterations 2", "real numbers"),
        ("spmv --matrix a.mtx --iterations 0", "1 to 1000"),
        (
            "spmv --matrix a.mtx --iterations 2 --vectors 2",
            "--vectors",
        ),
        ("spmv --matrix a.mtx --iterations 2 --plan", "--plan"),
        (
            "spmv --matrix a.mtx --iterations 2 --x zeros.npy",
            "all numbers are 0",
        ),
        (
            "spmv --matrix a.mtx --iterations 2 --x short.npy",
            "short.npy",
        ),
    ] {
        bench.cp2(line).fails(2, &[said]);
    }
}

/// Ones are an eigenvector of every matrix with equal row sums. The start without --x is not, and the report
/// claims nothing that the residual cannot show.
#[test]
fn a_start_without_structure_finds_what_ones_hide() {
    let bench = Bench::new();
    // Four points that are all neighbours have the eigenvalues 1, 5, 5 and 5; that of ones is the first.
    bench.write(
        "m.mtx",
        "%%MatrixMarket matrix array real symmetric\n4 4\n4\n-1\n-1\n-1\n4\n-1\n-1\n4\n-1\n4\n",
    );
    bench.write("ones.npy", npy("<f4", "False", "(4,)", &bytes(&[1.0; 4])));
    let value = |line: &str| {
        let json = bench.cp2(line).works().json();
        (json["eigenvalue"].as_f64().unwrap(), json["seed"].clone())
    };
    for (seed, line) in [
        (1, "spmv --matrix m.mtx --iterations 60 --json"),
        (7, "spmv --matrix m.mtx --iterations 60 --seed 7 --json"),
    ] {
        let (found, said) = value(line);
        assert!((found - 5.0).abs() < 1e-5, "{found}");
        assert_eq!(said, seed);
    }
    let (found, _) = value("spmv --matrix m.mtx --iterations 60 --x ones.npy --json");
    assert!((found - 1.0).abs() < 1e-5, "{found}");
    let text = bench.cp2("spmv --matrix m.mtx --iterations 60 --x ones.npy");
    let text = &text.works().out;
    assert!(text.contains("an eigenvalue is near, not which"), "{text}");
    assert!(!text.contains("eigenvalue of the largest size:"), "{text}");
}

/// Products with entries that are not finite follow the definition, with a warning; iterations refuse such
/// entries.
#[test]
fn entries_that_are_not_finite_are_named() {
    let bench = Bench::new();
    let head = "%%MatrixMarket matrix coordinate real general\n2 2";
    bench.write("a.mtx", format!("{head} 3\n1 1 1\n1 2 2\n2 2 inf\n"));
    bench.write("x.npy", npy("<f4", "False", "(2,)", &bytes(&[1.0, 2.0])));
    bench.write("big.npy", npy("<f4", "False", "(2,)", &bytes(&[1e20, 0.0])));
    let done = bench.cp2("spmv --matrix a.mtx --x x.npy --output y.npy");
    assert!(
        done.works()
            .out
            .contains("1 entry is not finite, first that at row 2, column 2"),
        "{}",
        done.out
    );
    assert_eq!(lanes(&bench.read("y.npy")), [5.0, f32::INFINITY]);
    for line in [
        "spmv --matrix a.mtx --iterations 3",
        "solve --matrix a.mtx --rhs x.npy --method bicgstab",
    ] {
        let said = ["a.mtx", "1 not finite", "row 2, column 2"];
        bench.cp2(line).fails(2, &said);
    }
    bench.write("b.mtx", format!("{head} 1\n1 1 1\n"));
    let title = bench.cp2("spmv --matrix b.mtx --plan");
    assert!(
        title.works().out.contains("with 1 entry times"),
        "{}",
        title.out
    );
    let said = ["big.npy", "the square of the length of x", "power of two"];
    bench
        .cp2("spmv --matrix b.mtx --iterations 3 --x big.npy")
        .fails(2, &said);
    let ended = bench.cp2("solve --matrix b.mtx --rhs x.npy --method bicgstab --tolerance 0");
    ended.fails(2, &["--tolerance", "above 0 and below 1"]);
    assert!(!ended.err.contains("b.mtx"), "{}", ended.err);
}

/// Refusals say where the error is and what was expected, and leave no file.
#[test]
fn wrong_inputs_are_refused() {
    let bench = Bench::new();
    bench.write("a.mtx", laplace(3));
    bench.write(
        "b.mtx",
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n",
    );
    bench.write("x.npy", npy("<f4", "False", "(8,)", &bytes(&[0.0; 8])));
    for (line, said) in [
        ("spmv --matrix none.mtx", "none.mtx"),
        ("spmv --matrix b.mtx", "line 3"),
        (
            "spmv --matrix a.mtx --x x.npy --output y.npy",
            "expected [9] or [9, K]",
        ),
        (
            "spmv --matrix a.mtx --format csr",
            "gather or diagonal or sell or sell-words",
        ),
        (
            "spmv --matrix a.mtx --format sell",
            "--machine vm7+section-addressing",
        ),
        (
            "spmv --matrix a.mtx --format sell-words --machine vm7+section-addressing",
            "--machine vm7+section-addressing+word-addressing",
        ),
        ("spmv --matrix a.mtx --vectors 0", "0"),
        ("spmv --matrix a.mtx --output y.txt", ".npy"),
        ("spmv --matrix a.mtx --picture y.pdf", ".png"),
    ] {
        bench.cp2(line).fails(2, &[said]);
    }
    assert!(!bench.path("y.npy").exists());
}
