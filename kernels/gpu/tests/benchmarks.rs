//! Classes of the NAS benchmarks on an adapter reach the official values.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_gpu::{AdapterChoice, Gpu, GpuGroup};
use cp2_problems::himeno::{HimenoData, HimenoProblem, HimenoSize};
use cp2_problems::npb::cg::CgClass;
use cp2_problems::npb::ft::{CHECKSUM_TOLERANCE, official};
use cp2_problems::npb::mg::{MgClass, MgProblem, Smoother, charges};
use cp2_problems::npb::{FtProblem, NpbClass, Precision};
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use cp2_problems::{Backend, Case, NamedArrays, Problem, run_judged};

fn run(problem: &dyn Problem, input: &NamedArrays) -> NamedArrays {
    let gpu = Gpu::open(&AdapterChoice::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut prepared = gpu
        .prepare(problem)
        .unwrap_or_else(|error| panic!("{error}"));
    let outcome = prepared
        .run(input)
        .unwrap_or_else(|error| panic!("{error}"));
    println!("{}: {}", problem.title(), outcome.report.unwrap().text());
    outcome.output
}

#[test]
fn multigrid() {
    let benchmark = MgClass::from_class(NpbClass::S);
    let problem = benchmark.problem();
    let v = charges(problem.shape(), 1);
    let output = run(&problem, &NamedArrays::from_array("v", &problem.shape(), v));
    let norm = output.get::<f64>("norms").unwrap()[1];
    let off = (norm / benchmark.official - 1.0).abs();
    assert!(
        off < MgClass::tolerance(Precision::Single),
        "{norm}, off by {off}"
    );
    // So many points that a thread computes several planes.
    let problem = MgProblem::with_shape([128, 64, 64], 1, Smoother::B).unwrap();
    let input = problem.input(Case::Random, 1);
    let verdict = problem.judge(&input, &run(&problem, &input));
    assert!(verdict.is_within_tolerance(), "{verdict:?}");
}

#[test]
fn transforms() {
    let class = NpbClass::S;
    let problem = FtProblem::from_class(class);
    let output = run(&problem, &problem.initial());
    let found = output.get::<f64>("checksums").unwrap();
    for (found, official) in found.chunks(2).zip(official(class)) {
        let size = libm::hypot(official[0], official[1]);
        let off = libm::hypot(found[0] - official[0], found[1] - official[1]) / size;
        assert!(off < CHECKSUM_TOLERANCE, "{found:?} {official:?}");
    }
}

#[test]
fn conjugate_gradients() {
    let benchmark = CgClass::from_class(NpbClass::S);
    let problem = benchmark.problem();
    let output = run(&problem, &problem.input(Case::Random, 1));
    let zeta = output.get::<f64>("zeta").unwrap().last().copied().unwrap();
    let off = (zeta / benchmark.official - 1.0).abs();
    assert!(
        off < CgClass::tolerance(Precision::Single),
        "{zeta}, off by {off}"
    );
}

/// Arrays so large that a thread computes several planes.
#[test]
fn stencils_march() {
    let gpu = Gpu::open(&AdapterChoice::default()).unwrap_or_else(|error| panic!("{error}"));
    for (points, edge) in [(7, Edge::Fixed), (19, Edge::Zero), (27, Edge::Periodic)] {
        let shape = StencilShape::from_classes(points, None).unwrap();
        let problem = StencilProblem::new(&[81, 90, 100], shape, edge, 2).unwrap();
        let input = problem.input(Case::Random, 3);
        let mut prepared = gpu.prepare(&problem).unwrap();
        run_judged(&mut *prepared, &problem, &input).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Gosa of the Himeno benchmark reaches the values of an independent program in double precision, with one plane a
/// thread and with several.
#[test]
fn himeno() {
    let standard = HimenoData::Standard;
    for (size, iterations, data, expected, tolerance) in [
        (
            HimenoSize::XS,
            10,
            standard,
            5.358_178_521e-3,
            HimenoSize::XS.gosa_tolerance(),
        ),
        (
            HimenoSize::S,
            3,
            standard,
            3.296_217_567e-3,
            HimenoSize::S.gosa_tolerance(),
        ),
        (
            HimenoSize::M,
            1,
            standard,
            1.723_985_144e-3,
            HimenoSize::M.gosa_tolerance(),
        ),
        (
            HimenoSize::XS,
            10,
            HimenoData::General,
            7.977_930_760e-1,
            1e-6,
        ),
        (HimenoSize::S, 3, HimenoData::General, 5.851_925_873e2, 1e-6),
    ] {
        let problem = size.problem(iterations, data).unwrap();
        let output = run(&problem, &problem.input(Case::Random, 1));
        let gosa = output.get::<f64>("gosa").unwrap()[0];
        let off = (gosa / expected - 1.0).abs();
        assert!(off < tolerance, "{}: {gosa}, off by {off}", problem.title());
    }
    let problem = HimenoProblem::new([81, 90, 100], 3, HimenoData::Random).unwrap();
    let input = problem.input(Case::Random, 3);
    let verdict = problem.judge(&input, &run(&problem, &input));
    assert!(verdict.is_within_tolerance(), "{verdict:?}");
}

/// The benchmark that devices divide has the bits of one device, whatever their number; here all are one adapter.
#[test]
fn himeno_divided_among_devices() {
    let open = |_| Gpu::open(&AdapterChoice::default()).unwrap_or_else(|error| panic!("{error}"));
    let gpus: Vec<Gpu> = (0..4).map(open).collect();
    // Chunks of one plane, of two with an incomplete one at the end, and sizes without a chunk between outer ones.
    for shape in [[9, 6, 67], [4, 30, 20], [81, 90, 100]] {
        let problem = HimenoProblem::new(shape, 5, HimenoData::Random).unwrap();
        let input = problem.input(Case::Random, 6);
        let expected = gpus[0]
            .prepare(&problem)
            .unwrap()
            .run(&input)
            .unwrap()
            .output;
        assert!(problem.judge(&input, &expected).is_within_tolerance());
        for count in 1..=gpus.len() {
            let group = GpuGroup::from_adapters(gpus[..count].to_vec());
            let mut prepared = group.prepare(&problem).unwrap();
            // A second run begins anew.
            for _ in 0..2 {
                let output = prepared.run(&input).unwrap().output;
                assert!(output.equal_bits(&expected), "{shape:?} on {count}");
            }
        }
    }
}

/// Problems that are not divided, and more devices than there are parts, are refused.
#[test]
fn other_problems_are_not_divided() {
    let gpu = Gpu::open(&AdapterChoice::default()).unwrap_or_else(|error| panic!("{error}"));
    let group = GpuGroup::from_adapters(vec![gpu; 4]);
    let other = MgClass::from_class(NpbClass::S).problem();
    let said = group.prepare(&other).unwrap_err().to_string();
    assert!(said.contains("`npb-mg` is not divided"), "{said}");
    let small = HimenoProblem::new([3, 9, 9], 1, HimenoData::Random).unwrap();
    assert!(group.prepare(&small).is_err());
    let many = GpuGroup::open(&AdapterChoice::default(), 1000).unwrap_err();
    assert!(
        many.to_string().contains("1000 graphics adapters"),
        "{many}"
    );
}
