//! `cp2 solve`: what it writes, how it ends, and what it refuses.

use crate::bench::{Bench, bytes, lanes, npy};

/// The Laplacian of a row of points.
fn laplacian(n: usize) -> String {
    let mut text = format!(
        "%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}\n",
        2 * n - 1
    );
    for i in 1..=n {
        text += &format!("{i} {i} 2.5\n");
        if i > 1 {
            text += &format!("{i} {} -1\n", i - 1);
        }
    }
    text
}

/// An array of float32 as a file.
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
            claimed <= 1e-5 && exact < 1.2e-5,
            "{method}: {claimed} {exact}"
        );
        let history = json["residuals"].as_array().unwrap();
        let iterations = json["iterations"].as_u64().unwrap();
        assert_eq!(history.len() as u64, iterations + 1);
        assert_eq!(history[0], 1.0);
        // x of the file is a solution: a point in the middle has 2.5 x - x - x = 1.
        let middle = lanes(&bench.read("x.npy"))[n / 2];
        assert!((middle - 2.0).abs() < 1e-3, "{middle}");
        let picture = String::from_utf8(bench.read("h.svg")).unwrap();
        assert!(picture.contains("polyline") && picture.contains("iteration"));
    }
    // Another end says so, and what to do.
    let line = "solve --matrix a.mtx --rhs b.npy --method cg --iterations 2";
    let ended = bench.cp2(line);
    ended.fails(1, &["not solved", "--iterations"]);
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
