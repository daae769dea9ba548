//! Counts that are published or worked out by hand, and what must hold of all of them.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_machine::{Class, Cycles, Machine};
use cp2_reference::{
    Fft, FftArray, Figures, Filter, Map, MapOperation, MatrixProducts, MatrixTimesVectors, Rate,
    RealFft, Reduction, ReductionOperation, Transposition,
};
use proptest::prelude::*;

fn machines() -> [Machine; 2] {
    ["vm7", "vm9"].map(|name| Machine::builtin(name).unwrap())
}

#[test]
fn transforms_take_what_is_known() {
    // Powers of two: N/2 log2 N.
    for b in 1..22u32 {
        let n = 1usize << b;
        assert_eq!(Fft::new(n, 1).issues(), (n / 2) as f64 * f64::from(b));
    }
    // Odd primes by couples: h^2 + 2h.
    for (p, issues) in [(3, 3.0), (5, 8.0), (7, 15.0), (11, 35.0), (13, 48.0)] {
        assert_eq!(Fft::new(p, 1).issues(), issues, "{p}");
    }
    // Without factors between coprime lengths: 840 = 8 x 3 x 5 x 7.
    let apart: f64 = 840.0 * (12.0 / 8.0 + 3.0 / 3.0 + 8.0 / 5.0 + 15.0 / 7.0);
    assert_eq!(Fft::new(840, 1).issues(), apart.round());
    // 4095 = 9 x 5 x 7 x 13, where nine are three columns of three, three rows of three, two of them with factors.
    let apart: f64 = 4095.0 * (20.0 / 9.0 + 8.0 / 5.0 + 15.0 / 7.0 + 48.0 / 13.0);
    assert_eq!(Fft::new(4095, 1).issues(), apart.round());
    // Rader over 126 = 2 x 7 x 9 and 250 = 2 x 125.
    for (p, most) in [(127, 1380.0), (251, 3300.0)] {
        let issues = Fft::new(p, 1).issues();
        assert!(issues <= most && issues > 0.8 * most, "{p}: {issues}");
        let vm7 = Machine::builtin("vm7").unwrap();
        let method = Fft::new(p, 1024).figures(&vm7).method;
        assert!(method.starts_with("Rader x Good-Thomas"), "{method}");
    }
    for n in [
        1, 2, 3, 61, 64, 97, 100, 127, 840, 1000, 1009, 4095, 4096, 10_007, 100_003,
    ] {
        println!("{n}: {}", Fft::new(n, 1).issues());
    }
}
