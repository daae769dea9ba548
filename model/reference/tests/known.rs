//! Counts are the published ones or those by hand, and have their properties.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_machine::{Class, Cycles, Machine};
use cp2_reference::{
    Coefficients, Diffusion, Fft, FftArray, Figures, Filter, Map, MapOperation, MatrixProducts,
    MatrixTimesVectors, NumberFormat, Radar, Rate, RealFft, Reduction, ReductionOperation, Sonar,
    SparseMethod, SparseNumbers, SparseProduct, SparseSolver, Stencil, Transposition,
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
    // Odd primes by pairs of inputs: h^2 + 2h.
    for (p, issues) in [(3, 3.0), (5, 8.0), (7, 15.0), (11, 35.0), (13, 48.0)] {
        assert_eq!(Fft::new(p, 1).issues(), issues, "{p}");
    }
    // No factors between coprime lengths: 840 = 8 x 3 x 5 x 7.
    let apart: f64 = 840.0 * (12.0 / 8.0 + 3.0 / 3.0 + 8.0 / 5.0 + 15.0 / 7.0);
    assert_eq!(Fft::new(840, 1).issues(), apart.round());
    // 4095 = 9 x 5 x 7 x 13, where nine is three columns of three and three rows of three, two of which have
    // factors.
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
}

/// FT of class A: a transform has 23 levels of N/2 butterflies in four sections, each step also N/2 products,
/// and both two passes of 16 N bytes; with 12.8 bytes a cycle the bytes still take no longer than a step.
#[test]
fn steps_of_diffusion_are_transforms_with_products() {
    let [vm7, vm9] = machines();
    let n = 1u64 << 23;
    let a = Diffusion {
        shape: [128, 256, 256],
        steps: 6,
        format: NumberFormat::Binary32,
    };
    assert_eq!(a.transform(&vm7).0, n / 8 * 23);
    assert_eq!(a.step(&vm7).0, n / 8 * 24);
    let figures = a.figures(&vm7);
    assert_eq!(
        [figures.bound.0, figures.reference.0],
        [n, n / 8 * (23 + 6 * 24)]
    );
    assert_eq!(a.step(&vm9).0, n / 8 * 24);
    // The transform alone has the reference of a three-dimensional FFT.
    let fft = FftArray::new(&[64; 3], 1).figures(&vm7).reference;
    let s = Diffusion {
        shape: [64; 3],
        steps: 6,
        format: NumberFormat::Binary32,
    };
    assert_eq!(s.transform(&vm7), fft);
    assert_eq!(fft.0, 589_824);
}

/// Compares with every division of a length into factors, with and without products between coprime ones;
/// primes by pairs of inputs.
#[test]
fn no_order_of_factors_is_cheaper() {
    fn column(p: usize, factors: bool) -> f64 {
        let h = ((p - 1) / 2) as f64;
        match (p, factors) {
            (2, _) => 1.0,
            (_, true) => h * h + 3.0 * h,
            (_, false) => h * h + 2.0 * h,
        }
    }
    fn gcd(a: usize, b: usize) -> usize {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    // Least count without factors, and with one on every input but the first.
    fn least(n: usize, factors: bool) -> f64 {
        if (2..n).all(|a| !n.is_multiple_of(a)) {
            return column(n, factors);
        }
        let mut best = f64::INFINITY;
        for a in (2..n).filter(|a| n.is_multiple_of(*a)) {
            let b = n / a;
            let all = |with: bool| b as f64 * least(a, with) + a as f64 * least(b, with);
            best = best.min(match (factors, gcd(a, b)) {
                (true, _) => all(true),
                (false, 1) => all(false),
                (false, _) => {
                    let rows = least(b, false) + (a - 1) as f64 * least(b, true);
                    b as f64 * least(a, false) + rows
                }
            });
        }
        best
    }
    // Primes from 11 have other algorithms, and are left out.
    let smooth = (2..=128usize)
        .filter(|n| (11..=*n).all(|p| n % p != 0 || p % 2 == 0 || (3..p).any(|a| p % a == 0)));
    let mut looked = 0;
    for n in smooth.filter(|n| !n.is_power_of_two() || *n < 64) {
        let (found, all) = (Fft::new(n, 1).issues(), least(n, false));
        assert!((found - all).abs() < 1e-9, "{n}: {found} {all}");
        looked += 1;
    }
    assert!(looked > 40, "{looked}");
}

#[test]
fn traffic_is_proved_once_and_planned_more_often() {
    let [vm7, vm9] = machines();
    for (n, planned) in [
        (4096usize, 16),
        (8191, 16),
        (8192, 28),
        (16_384, 28),
        (32_768, 32),
    ] {
        let figures = Fft::new(n, 4).figures(&vm7);
        assert_eq!(
            figures.bound.get(),
            4 * n as u64,
            "{n}: 16 N bytes at 16 a cycle"
        );
        assert!(
            figures.reference.get() >= planned * 4 * n as u64 / 16,
            "{n}"
        );
    }
    // 28 N bytes at 12.8 a cycle; 14 N + 8 bytes for real numbers, whose spectra have N/2 + 1 numbers.
    assert_eq!(Fft::new(16_384, 4).figures(&vm9).reference.get(), 143_360);
    let real = RealFft::new(32_768, 8, false).figures(&vm9);
    assert_eq!(real.reference.get(), 8 * (14 * 32_768 + 8) * 10 / 128);
    assert!(real.method.contains("14 N bytes"), "{}", real.method);
    let array = FftArray::new(&[64, 64, 64], 1).figures(&vm7);
    assert_eq!(array.reference.get(), 64 * 64 * 64 / 8 * 18);
}

/// Returns vm7 with a channel that never limits.
fn fast() -> Machine {
    let mut machine = Machine::builtin("vm7").unwrap();
    machine.dma.bandwidth.num = 1 << 40;
    machine
}

#[test]
fn real_transforms_take_half() {
    for n in [64usize, 360, 1024, 1000, 127] {
        let complex = Fft::new(n, 1024).figures(&fast()).reference.get();
        let real = RealFft::new(n, 1024, true).figures(&fast()).reference.get();
        assert!(real.abs_diff(complex / 2) <= 1, "{n}: {real} {complex}");
    }
}

/// With a butterfly every n-th cycle the multiply-adders help: by a multiply-add and a multiply-subtract, or
/// by split radix, which has fewer products.
#[test]
fn slow_butterflies_are_not_the_only_way() {
    let slow = |interval: u64| {
        let mut machine = fast();
        machine.cp2.interval[Class::Butterfly] = Cycles(interval);
        Fft::new(4096, 1024).figures(&machine)
    };
    for interval in [2u64, 3, 10, 1000] {
        let butterflies = 1024 * 2048 * 12 / 4;
        let cycles = slow(interval).reference.get();
        assert!(
            cycles > butterflies && cycles < butterflies * interval.min(2),
            "{interval}"
        );
    }
    // Split radix takes N/2 log2 N quads of sums, and about N/3 log2 N products.
    let figures = slow(1000);
    assert_eq!(figures.method, "split radix");
    let share = figures.reference.get() as f64 / (1024.0 * 4096.0 * 12.0 / 4.0);
    assert!((0.70..0.84).contains(&share), "{share}");
}

fn fir(taps: usize, rate: Rate) -> Filter {
    Filter {
        taps,
        real_taps: true,
        samples: 200_000,
        channels: 1,
        real: false,
        rate,
    }
}

fn same(taps: usize, samples: usize) -> Rate {
    let count = samples + taps - 1;
    Rate::Same { from: 0, count }
}

/// Returns all outputs of a decimating filter.
fn every(every: usize, taps: usize, samples: usize) -> Rate {
    let count = (samples + taps - 1).div_ceil(every);
    Rate::Decimate { every, count }
}

#[test]
fn filters_take_what_is_known() {
    let fast = fast();
    // 256 real taps, every 8th output: 16 issues a sample directly, at most half of that by transforms.
    let figures = fir(256, every(8, 256, 200_000)).figures(&fast);
    let direct = 200_000 * 256 / 8 / 2 / 4;
    assert!(2 * figures.reference.get() <= direct, "{figures:?}");
    assert!(figures.method.contains("overlap-save"), "{figures:?}");
    // Few taps are fastest directly: half an issue a tap.
    let figures = fir(3, same(3, 200_000)).figures(&fast);
    assert_eq!(figures.reference.get(), 200_000 * 3 / 2 / 4);
    assert_eq!(figures.method, "directly");
    // 1025 complex taps: overlap-save, N (log2 N + 1/2) issues for N - L + 1 outputs.
    let wanted = Filter {
        real_taps: false,
        ..fir(1025, same(1025, 200_000))
    };
    let cycles = wanted.figures(&fast).reference.get();
    let blocks = (11..18).map(|b| {
        let n = f64::from(1 << b);
        (201_024.0 / (n - 1024.0)) * n * (f64::from(b) + 0.5) / 4.0
    });
    let least = blocks.fold(f64::INFINITY, f64::min);
    assert!(
        cycles as f64 <= least && cycles as f64 > 0.9 * least,
        "{cycles} {least}"
    );
    let real = Filter {
        real: true,
        ..wanted
    };
    let real = real.figures(&fast).reference.get();
    assert!(real.abs_diff(cycles / 2) <= 1);
}

/// Compares the formulas with the pairs of a tap and a sample, counted one by one.
#[test]
fn direct_filters_count_every_product() {
    let mut one = fast();
    one.cp2.sections = 1;
    let mut direct = 0;
    for (taps, samples) in (1..4usize).flat_map(|t| [1usize, 2, 3, 9].map(|n| (t, n))) {
        let full = samples + taps - 1;
        let mut rates = vec![Rate::Interpolate(3)];
        for every in 2..4 {
            let all = 1..=full.div_ceil(every);
            rates.extend(all.map(|count| Rate::Decimate { every, count }));
        }
        for from in 0..full {
            rates.extend((1..=full - from).map(|count| Rate::Same { from, count }));
        }
        for rate in rates {
            let met = (0..samples).flat_map(|j| (0..taps).map(move |t| j + t));
            let met = met.filter(|k| match rate {
                Rate::Same { from, count } => (from..from + count).contains(k),
                Rate::Decimate { every, count } => k % every == 0 && k / every < count,
                Rate::Interpolate(_) => true,
            });
            let filter = Filter {
                taps,
                real_taps: false,
                samples,
                channels: 1000,
                real: false,
                rate,
            };
            let pairs = 1000 * met.count() as u64;
            let figures = filter.figures(&one);
            assert!(
                figures.reference.get() <= pairs.max(figures.bound.get()),
                "{filter:?}"
            );
            if figures.method == "directly" {
                assert_eq!(figures.reference.get(), pairs, "{filter:?}");
                direct += 1;
            }
        }
    }
    assert!(direct > 50, "{direct}");
}

#[test]
fn matrices_take_what_is_known() {
    // Small matrices are fastest by the definition.
    let eight = MatrixProducts::new([8, 8, 8], 100).figures(&fast());
    let found = (eight.reference.get(), eight.method.as_str());
    assert_eq!(found, (100 * 512 / 4, "the definition"));
    // With 64 elements and 32 beams one level of Strassen takes 7/8 of 2048 issues and 60 more; further
    // levels take less.
    let beams = MatrixTimesVectors::new(64, 32, 4096).figures(&fast());
    let beams = beams.reference.get();
    assert!(
        beams <= 4096 * (1792 + 60) / 4 && beams > 4096 * 1300 / 4,
        "{beams}"
    );
}

#[test]
fn maps_and_reductions_take_what_is_known() {
    let [vm7, _] = machines();
    // 30 issues for four phases.
    let phase = Map::new(MapOperation::Phase, 1, 262_144).figures(&vm7);
    assert_eq!(phase.reference.get(), 262_144 / 2 / 4 * 30 / 4);
    let sum = Reduction::new(ReductionOperation::Sum, [1, 1], [1024, 100]).figures(&vm7);
    assert_eq!(sum.bound.get(), (1024 * 100 + 100) * 4 / 16);
    let transposed = Transposition::new(64, 64, 64).figures(&vm7);
    let both = Cycles(64 * 4096);
    assert_eq!((transposed.bound, transposed.reference), (both, both));
}

type Problem = (String, Box<dyn Fn(&Machine) -> Figures>);

/// Lists every problem, with sizes `n` and `k`.
fn problems(n: usize, k: usize) -> Vec<Problem> {
    let mut all: Vec<Problem> = Vec::new();
    let mut add = |name: &str, figures: Box<dyn Fn(&Machine) -> Figures>| {
        all.push((format!("{name} {n} {k}"), figures));
    };
    add("fft", Box::new(move |m| Fft::new(n, k).figures(m)));
    add(
        "array",
        Box::new(move |m| FftArray::new(&[n, k], 3).figures(m)),
    );
    for inverse in [false, true] {
        add(
            "real",
            Box::new(move |m| RealFft::new(n, k, inverse).figures(m)),
        );
    }
    for rate in [
        same(k, n),
        every(k, k, n),
        every(5, k, n),
        Rate::Interpolate(3),
    ] {
        for real in [false, true] {
            let filter = Filter {
                samples: n,
                channels: 2,
                real,
                ..fir(k, rate)
            };
            add("filter", Box::new(move |m| filter.figures(m)));
        }
    }
    let radar = Radar {
        pulses: k,
        ranges: n,
        pulse: k,
        real_pulse: false,
    };
    add("radar", Box::new(move |m| radar.figures(m)));
    let sonar = Sonar {
        hydrophones: 4,
        samples: 5 * n,
        taps: k,
        decimate: 2,
        beams: 3,
        frames: 2,
        points: n,
    };
    add("sonar", Box::new(move |m| sonar.figures(m)));
    for operation in [
        MapOperation::Axpy,
        MapOperation::ComplexMultiply,
        MapOperation::Power,
        MapOperation::Phase,
        MapOperation::Decibels,
    ] {
        add(
            "map",
            Box::new(move |m| Map::new(operation, 1, 8 * n).figures(m)),
        );
    }
    for operation in [
        ReductionOperation::Sum,
        ReductionOperation::Dot,
        ReductionOperation::ComplexDot,
        ReductionOperation::Max,
    ] {
        add(
            "reduction",
            Box::new(move |m| Reduction::new(operation, [2, 1], [n, k]).figures(m)),
        );
    }
    add(
        "products",
        Box::new(move |m| MatrixProducts::new([k, 4, 8], n).figures(m)),
    );
    add(
        "beams",
        Box::new(move |m| MatrixTimesVectors::new(k, 8, n).figures(m)),
    );
    add(
        "transpose",
        Box::new(move |m| Transposition::new(k, n, 3).figures(m)),
    );
    for coefficients in [
        Coefficients::Class,
        Coefficients::Point,
        Coefficients::Element,
    ] {
        let points = if coefficients == Coefficients::Class {
            27
        } else {
            k.min(27)
        };
        add(
            "stencil",
            Box::new(move |m| Stencil::new([k, n, 50], points, coefficients, 3).figures(m)),
        );
    }
    for numbers in [
        SparseNumbers::Ones,
        SparseNumbers::Real,
        SparseNumbers::Complex,
    ] {
        let entries = 5 * n;
        add(
            "spmv",
            Box::new(move |m| {
                SparseProduct::new([n, n + k], entries, entries / 2, numbers, k).figures(m)
            }),
        );
    }
    for method in [
        SparseMethod::Cg,
        SparseMethod::Pcg,
        SparseMethod::Bicgstab,
        SparseMethod::Inverse { steps: 25 },
    ] {
        add(
            "solve",
            Box::new(move |m| {
                let entries = [9 * n, 5 * n];
                SparseSolver::new(method, n, entries, SparseNumbers::Real, k).figures(m)
            }),
        );
    }
    all
}

/// Units of arithmetic.
const UNITS: [Class; 5] = [
    Class::Butterfly,
    Class::Madd,
    Class::Add,
    Class::Integer,
    Class::Elementary,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A bound is at most the reference, and a slower unit or channel makes neither smaller.
    #[test]
    fn bounds_lie_below_references_which_grow_with_intervals(
        n in 1usize..3000, k in 1usize..40, unit in 0usize..5,
        intervals in prop::array::uniform5(1u64..6), more in 1u64..8,
    ) {
        let mut machine = Machine::builtin("vm9").unwrap();
        for (class, interval) in UNITS.into_iter().zip(intervals) {
            machine.cp2.interval[class] = Cycles(interval);
        }
        let mut slower = machine.clone();
        slower.cp2.interval[UNITS[unit]] = Cycles(intervals[unit] + more);
        let mut narrow = machine.clone();
        narrow.dma.bandwidth.den *= 3;
        for (name, figures) in problems(n, k) {
            let of = figures(&machine);
            prop_assert!(of.bound <= of.reference, "{name}: {of:?}");
            prop_assert!(!of.method.is_empty() && !of.source.is_empty(), "{name}: {of:?}");
            let slow = figures(&slower);
            prop_assert!(slow.reference >= of.reference, "{name}: {of:?} {slow:?}");
            prop_assert!(slow.bound == of.bound, "{name}: {of:?} {slow:?}");
            let narrow = figures(&narrow);
            prop_assert!(narrow.reference >= of.reference, "{name}: {of:?} {narrow:?}");
            prop_assert!(narrow.bound > of.bound, "{name}: {of:?} {narrow:?}");
        }
    }
}

/// Expected cycles by hand: 4 bytes for a value and for a number, 8 if complex, at 16 bytes a cycle; a
/// symmetric matrix has half of its values to move; with many vectors sixteen multiply-adds a cycle limit.
#[test]
fn sparse_products_move_values_once() {
    let [vm7, vm9] = machines();
    let of = |machine: &Machine, known, numbers, vectors| {
        let product = SparseProduct::new([1000, 600], 32_000, known, numbers, vectors);
        let figures = product.figures(machine);
        (figures.bound.get(), figures.reference.get())
    };
    let real = |known, vectors| of(&vm7, known, SparseNumbers::Real, vectors);
    assert_eq!(real(32_000, 1), (8400, 8400));
    assert_eq!(real(16_600, 1), (4550, 4550));
    assert_eq!(real(32_000, 8), ((32_000 + 8 * 1600) / 4, 32_000 * 8 / 16));
    assert_eq!(of(&vm9, 32_000, SparseNumbers::Real, 1).0, 8400 * 5 / 4);
    assert_eq!(
        of(&vm7, 64_000, SparseNumbers::Complex, 1),
        (16_800, 16_800)
    );
    assert_eq!(of(&vm7, 32_000, SparseNumbers::Ones, 1), (400, 2000));
}

/// NPB CG of class A: 15 iterations of 26 products, the values of one triangle, and 14,000 rows whose five
/// vectors exceed local memory.
#[test]
fn inverse_iterations_are_products_and_passes() {
    let [vm7, _] = machines();
    let (n, entries) = (14_000u64, 1_853_104u64);
    let known = (entries + n) / 2;
    let inverse = SparseMethod::Inverse { steps: 25 };
    let both = [entries as usize, known as usize];
    let solver = SparseSolver::new(inverse, n as usize, both, SparseNumbers::Real, 15);
    let figures = solver.figures(&vm7);
    assert_eq!(figures.bound.get(), (known + 2 * n) / 4);
    let moved = 15 * (26 * known + (25 * 10 + 4) * n) / 4;
    assert_eq!(figures.reference.get(), moved);
}

/// Expected cycles by hand: inputs read once and outputs stored once, and with a fast channel the issues of
/// every stage.
#[test]
fn receivers_are_their_stages_without_what_is_between() {
    let radar = Radar {
        pulses: 16,
        ranges: 64,
        pulse: 3,
        real_pulse: false,
    };
    let bytes = 16 * (64 + 2) * 8 + 64 * 16 * (8 + 4);
    let vm7 = Machine::builtin("vm7").unwrap();
    assert_eq!(radar.figures(&vm7).bound.get(), bytes / 16);
    let numbers = 64 * 16;
    // Issues for a number: three products, half a quad for the window, two butterflies; 8 for the decibels of
    // four numbers.
    let decibels = Map::new(MapOperation::Decibels, 1, 2 * numbers);
    let decibels = decibels.figures(&fast()).reference.get();
    let figures = radar.figures(&fast());
    let rest = (3 * numbers + numbers / 2 + 2 * numbers) as u64 / 4;
    assert_eq!(figures.reference.get(), rest + decibels);
    assert!(figures.method.contains("directly") && figures.method.contains("radix 2"));

    let sonar = Sonar {
        hydrophones: 8,
        samples: 1100,
        taps: 2,
        decimate: 2,
        beams: 4,
        frames: 8,
        points: 64,
    };
    // The last sample that is needed is that of the last output.
    let bytes = 8 * (2 * 511 + 1) * 8 + 4 * 512 * (8 + 4);
    assert_eq!(sonar.figures(&vm7).bound.get(), bytes / 16);
}
