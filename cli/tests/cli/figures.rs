//! Tests that every command that simulates reports all figures as JSON.

use crate::bench::{Bench, bytes, npy};
use serde_json::Value;

/// Kernel that doubles every number.
const KERNEL: &str = r#"
.include "page.s"
.program
        page_begin
        ldx2 a0, [a15]
        ldx c0, [a15 + 8]
        loop c0 {
            ldq q0, [a0]+16
            add q1, q0, q0
            stq q1, [a1]+16
        }
        page_end
        stop
"#;

/// Command lines at small sizes, with the number of entries in their `outside_time`.
const COMMANDS: &[(&str, usize)] = &[
    ("fft --n 64 --batch 4", 0),
    ("fft --n 64 --input real.npy", 1),
    ("fft --real --n 64 --input real.npy", 0),
    ("fft --shape 32x32 --batch 1", 0),
    ("conv --samples 512 --length 5 --method direct", 1),
    ("conv --samples 4096 --length 65 --method overlap-save", 1),
    ("conv --input real.npy --length 5", 2),
    ("fir --samples 512 --length 5", 1),
    ("fir --input real.npy --taps real.npy", 1),
    ("map double.s --block 16 --input real.npy --output y.npy", 0),
    ("job run job.toml", 0),
    ("stencil --shape 8x32", 0),
    ("spmv --matrix a.mtx", 1),
    ("spmv --matrix a.mtx --iterations 3", 2),
    ("solve --matrix a.mtx --rhs b.npy --method pcg", 2),
    ("npb ft --class S", 2),
    ("npb mg --class S", 1),
    ("npb cg --class S", 2),
    ("demo --output out", 1),
    ("pipeline radar --pulses 16 --ranges 100 --chirp 21", 0),
    (
        "pipeline sonar --hydrophones 8 --beams 8 --samples 512 --points 32",
        0,
    ),
];

fn setup() -> Bench {
    let bench = Bench::new();
    let ramp: Vec<f32> = (0..64).map(|i| (i % 7) as f32 - 3.0).collect();
    bench.write("real.npy", npy("<f4", "False", "(64,)", &bytes(&ramp)));
    bench.write("b.npy", npy("<f4", "False", "(4,)", &bytes(&[1.0; 4])));
    bench.write(
        "a.mtx",
        "%%MatrixMarket matrix coordinate real symmetric\n4 4 5\n1 1 2\n2 2 2\n3 3 2\n4 4 2\n2 1 1\n",
    );
    bench.write("double.s", KERNEL);
    bench.write(
        "job.toml",
        "[arrays.x]\ninput = \"real.npy\"\n[arrays.y]\nshape = [64]\noutput = \"y.npy\"\n\
         [[pass]]\nkernel = \"double.s\"\nblock = [16]\ninputs = [{ array = \"x\" }]\noutputs = [{ array = \"y\" }]\n",
    );
    bench
}

/// Returns the number of entries in `outside_time`, all of which must be texts.
fn outside(json: &Value) -> Option<usize> {
    let list = json["outside_time"].as_array()?;
    let are_words = list
        .iter()
        .all(|what| what.as_str().is_some_and(|what| !what.is_empty()));
    are_words.then_some(list.len())
}

#[test]
fn every_command_has_its_figures() {
    let bench = setup();
    for (line, known) in COMMANDS {
        let json = bench.cp2(&format!("{line} --json")).works().json();
        let number = |key: &str| json[key].as_f64().unwrap_or(f64::NAN);
        let (bound, reference) = (number("bound_cycles"), number("reference_cycles"));
        assert!(
            bound > 0.0 && bound <= reference,
            "{line}: {bound} {reference}"
        );
        let efficiency = number("efficiency");
        assert!(
            efficiency > 0.0 && efficiency <= 1.0,
            "{line}: {efficiency}"
        );
        assert!(
            (efficiency - reference / number("cycles")).abs() < 1e-9,
            "{line}"
        );
        assert_eq!(
            outside(&json),
            Some(*known),
            "{line}: {}",
            json["outside_time"]
        );
    }
    // A run that was stopped has no efficiency, but all other figures.
    let stopped = bench.cp2("fft --n 4096 --max-cycles 1000 --json");
    assert_eq!(stopped.code, 3, "{}", stopped.err);
    let json = stopped.json();
    assert_eq!(json.get("efficiency"), Some(&Value::Null));
    assert!(json["bound_cycles"].as_u64() > Some(0) && outside(&json) == Some(0));
}

/// Programs and recorded commands are no known problems: they have no bounds.
#[test]
fn programs_have_no_figures() {
    let bench = setup();
    bench.write("stop.s", ".program\nnop\nstop\n");
    bench.cp2("stencil --shape 8x32 --emit recorded").works();
    for (line, known) in [("run stop.s", 0), ("run recorded", 1)] {
        let json = bench.cp2(&format!("{line} --json")).works().json();
        for key in ["bound_cycles", "reference_cycles", "efficiency"] {
            assert_eq!(json.get(key), Some(&Value::Null), "{line}: {key}");
        }
        assert_eq!(outside(&json), Some(known), "{line}");
    }
}
