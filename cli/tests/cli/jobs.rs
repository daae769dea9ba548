//! Jobs of several passes as their users meet them.

use crate::bench::{Bench, bytes, npy};

const DOUBLE: &str = include_str!("../../../tests/kernels/double.s");

/// `u.npy`: 0 to 63; `twice.npy`: what doubling makes of it; `zeros.npy`.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("double.s", DOUBLE);
    let u: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let twice: Vec<f32> = u.iter().map(|x| 2.0 * x).collect();
    for (name, numbers) in [("u", &u), ("twice", &twice), ("zeros", &vec![0.0; 64])] {
        let file = npy("<f4", "False", "(64,)", &bytes(numbers));
        bench.write(&format!("{name}.npy"), file);
    }
    bench
}

/// A job that doubles `u.npy`, with more lines for its result.
fn job(more: &str) -> String {
    format!(
        "[arrays.x]\ninput = \"u.npy\"\n[arrays.y]\nshape = [64]\noutput = \"y.npy\"\n{more}\n\
         [[pass]]\nkernel = \"double.s\"\nblock = [4]\ninputs = [{{ array = \"x\" }}]\noutputs = [{{ array = \"y\" }}]\n"
    )
}

#[test]
fn a_tolerance_is_judged_alike_in_a_job_and_on_the_command_line() {
    let bench = bench();
    let map = "map double.s --input u.npy --output y.npy --block 4 --expect zeros.npy";
    for key in ["tolerance", "tolerance-largest", "tolerance-rms"] {
        for text in ["nan", "inf", "-inf", "-1.0", "-1e-9"] {
            let expected = "expected a finite number from 0 on";
            bench.write(
                "job.toml",
                job(&format!("expect = \"zeros.npy\"\n{key} = {text}")),
            );
            bench
                .cp2("job run job.toml")
                .fails(2, &["job.toml:7:", expected]);
            bench
                .cp2(&format!("{map} --{key}={text}"))
                .fails(2, &[&format!("--{key}"), expected]);
        }
        bench.write("job.toml", job(&format!("{key} = 0.5")));
        bench
            .cp2("job run job.toml")
            .fails(2, &["tolerance", "`expect`"]);
    }
    assert!(!bench.files().contains(&"y.npy".to_owned()));
}

#[test]
fn a_result_is_judged_alike_in_a_job_and_on_the_command_line() {
    let bench = bench();
    let map = "map double.s --input u.npy --output y.npy --block 4";
    // 126 is the farthest from zeros, which have no largest and no mean; u is half of the result everywhere.
    for (expect, key, tolerance, right) in [
        ("twice", "tolerance", "0", true),
        ("zeros", "tolerance", "125.9", false),
        ("zeros", "tolerance", "126", true),
        ("zeros", "tolerance-largest", "1e30", false),
        ("zeros", "tolerance-rms", "1e30", false),
        ("u", "tolerance", "0.99", false),
        ("u", "tolerance", "1", true),
        ("u", "tolerance-largest", "0.99", false),
        ("u", "tolerance-largest", "1", true),
        ("u", "tolerance-rms", "0.99", false),
        ("u", "tolerance-rms", "1.0000001", true),
    ] {
        let more = format!("expect = \"{expect}.npy\"\n{key} = {tolerance}");
        bench.write("job.toml", job(&more));
        let run = bench.cp2("job run job.toml --json");
        let line = format!("{map} --expect {expect}.npy --{key} {tolerance} --json");
        let other = bench.cp2(&line);
        let compared = &run.json()["compared"][0];
        assert_eq!(compared, &other.json()["compared"][0], "{more}");
        assert_eq!(compared["close"], right, "{more}: {compared}");
        assert_eq!([run.code, other.code], [i32::from(!right); 2], "{more}");
    }
}

#[test]
fn what_is_wrong_of_a_result_is_placed() {
    let bench = bench();
    let mut wrong: Vec<f32> = (0..64).map(|i| 2.0 * i as f32).collect();
    // Rows 3 and 5 of 8, columns 1 to 6.
    for (at, by) in [(25, 0.5), (30, 200.0), (42, 0.25)] {
        wrong[at] += by;
    }
    let square = |x: &[f32]| npy("<f4", "False", "(8, 8)", &bytes(x));
    let u: Vec<f32> = (0..64).map(|i| i as f32).collect();
    bench.write("u.npy", square(&u));
    bench.write("wrong.npy", square(&wrong));
    let map = "map double.s --input u.npy --output y.npy --block 4 --expect wrong.npy";
    let run = bench.cp2(map);
    assert_eq!(run.code, 1, "{}", run.err);
    let words = "3 of 64 elements are too far, all of them within [3:6, 1:7]; the farthest is [3, 6]: 60 instead of 260";
    assert!(run.out.contains(words), "{}", run.out);
    let json = bench.cp2(&format!("{map} --json")).json();
    let compared = &json["compared"][0];
    assert_eq!(
        compared["wrong_within"],
        serde_json::json!([[3, 6], [1, 7]])
    );
    assert_eq!(compared["worst"]["at"], serde_json::json!([3, 6]));
}
