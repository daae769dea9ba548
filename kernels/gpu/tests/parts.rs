//! Problems whose arrays are larger than a binding, against the undivided run.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_gpu::{AdapterChoice, Gpu};
use cp2_problems::conv::{ConvProblem, ConvolutionMode, OutputRate};
use cp2_problems::fft::{FftProblem, RealFftProblem, TransformDirection};
use cp2_problems::himeno::{HimenoData, HimenoProblem};
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use cp2_problems::vector::{
    BeamProblem, MapOp, MapProblem, ProductProblem, ReduceProblem, ReductionOp, TransposeProblem,
};
use cp2_problems::{Backend, Case, Problem, Random, RunError};

/// Most bytes of an array in these tests.
const MOST: u64 = 1 << 20;

fn open(most_binding_bytes: Option<u64>) -> Gpu {
    let choice = AdapterChoice {
        most_binding_bytes,
        ..AdapterChoice::default()
    };
    Gpu::open(&choice).unwrap_or_else(|error| panic!("{error}"))
}

/// Computes problems undivided and in so many parts: outputs have the same bits. A prepared problem computes a second
/// input too.
fn compare(problems: &[(usize, &dyn Problem)]) {
    let (whole, small) = (open(None), open(Some(MOST)));
    for &(parts, problem) in problems {
        let title = problem.title();
        let prepare = |gpu: &Gpu| {
            let ready = gpu.prepare(problem);
            ready.unwrap_or_else(|error| panic!("{title}: {error}"))
        };
        let (mut undivided, mut divided) = (prepare(&whole), prepare(&small));
        let recipe = undivided.recipe().unwrap();
        assert!(!recipe.contains("parts"), "{title}: {recipe}");
        let recipe = divided.recipe().unwrap();
        let suffix = format!("; in {parts} parts");
        assert!(recipe.ends_with(&suffix), "{title}: {recipe}");
        for seed in [3, 4] {
            let input = problem.input(Case::Random, seed);
            let [one, other] =
                [&mut undivided, &mut divided].map(|prepared| prepared.run(&input).unwrap().output);
            let forms = problem.outputs();
            assert_eq!(other.arrays().len(), forms.len(), "{title}");
            for ((a, b), form) in one.arrays().iter().zip(other.arrays()).zip(forms) {
                assert_eq!((b.name, &b.shape), (form.name, &form.shape), "{title}");
                assert!(a.values.bytes() == b.values.bytes(), "{title}: {}", a.name);
            }
        }
    }
}

/// Every method, and a method with arrays that are larger than input and output.
#[test]
fn transforms_in_parts() {
    use TransformDirection::{Forward, Inverse};
    let complex =
        |axes: &[usize], direction, batch| FftProblem::from_axes(axes, direction, batch).unwrap();
    let real = |n, direction, batch| RealFftProblem::new(n, direction, batch).unwrap();
    compare(&[
        (4, &complex(&[1000], Forward, 301)),
        (4, &complex(&[1009], Inverse, 331)),
        (3, &complex(&[65_536], Forward, 5)),
        (2, &complex(&[10_007], Forward, 7)),
        (2, &complex(&[50, 60], Inverse, 53)),
        (4, &real(1000, Forward, 701)),
        (4, &real(1000, Inverse, 701)),
        (8, &real(45, Forward, 15_001)),
        (8, &real(45, Inverse, 15_001)),
    ]);
}

/// Sums of products and blocks, real and complex samples, at every rate.
#[test]
fn filters_in_parts() {
    let mut random = Random::new(4);
    let real: Vec<_> = random.uniforms(100).into_iter().map(Into::into).collect();
    let (few, many) = (random.complexes(9), random.complexes(3000));
    let same =
        |taps, channels, samples, mode| ConvProblem::new(taps, channels, samples, mode).unwrap();
    let at_rate = |rate| ConvProblem::resampled(&few, 11, 30_000, rate).unwrap();
    let reals = ConvProblem::new(&real, 11, 40_000, ConvolutionMode::Full).unwrap();
    compare(&[
        (4, &same(&few, 13, 20_000, ConvolutionMode::Valid)),
        (4, &same(&real, 13, 20_000, ConvolutionMode::Same)),
        (3, &same(&many, 3, 60_000, ConvolutionMode::Full)),
        (2, &reals.into_real().unwrap()),
        (4, &at_rate(OutputRate::decimate_by(3))),
        (11, &at_rate(OutputRate::interpolate_by(4))),
    ]);
}

#[test]
fn vectors_and_rows_in_parts() {
    let maps = MapOp::all().into_iter().map(|op| {
        let len = match &op {
            MapOp::Window(window) => 301 * window.len(),
            _ => 300_002,
        };
        MapProblem::new(op, len).unwrap()
    });
    let maps: Vec<_> = maps.collect();
    let reductions = ReductionOp::all().into_iter().flat_map(|op| {
        let sizes = [(1000, 301), (100_002, 5)];
        sizes.map(|(n, rows)| ReduceProblem::new(op, n, rows).unwrap())
    });
    let reductions: Vec<_> = reductions.collect();
    let maps = maps.iter().map(|map| (2, map as &dyn Problem));
    let reductions = reductions.iter().map(|reduction| {
        let parts = if reduction.rows() == 5 { 3 } else { 2 };
        (parts, reduction as &dyn Problem)
    });
    compare(&maps.chain(reductions).collect::<Vec<_>>());
}

#[test]
fn matrices_in_parts() {
    let weights = Random::new(1).complexes(33 * 7);
    compare(&[
        (4, &BeamProblem::new(&weights, 33, 9001).unwrap()),
        (4, &ProductProblem::new([3, 5, 2], 20_003).unwrap()),
        (3, &TransposeProblem::new(97, 310, 9).unwrap()),
    ]);
}

/// An item that is larger than a binding, and problems that do not consist of items, are refused with the sizes.
#[test]
fn what_cannot_be_divided_is_refused() {
    let gpu = open(Some(MOST));
    assert_eq!(gpu.adapter().binding_bytes, MOST);
    let long = FftProblem::new(200_000, TransformDirection::Forward, 3).unwrap();
    let himeno = HimenoProblem::new([64, 64, 128], 1, HimenoData::Random).unwrap();
    let shape = StencilShape::from_classes(7, None).unwrap();
    let stencil = StencilProblem::new(&[64, 64, 100], shape, Edge::Zero, 1).unwrap();
    let problems: [(&dyn Problem, usize); 3] = [
        (&long, 200_000 * 8),
        (&himeno, 64 * 64 * 128 * 4),
        (&stencil, 64 * 64 * 100 * 4),
    ];
    for (problem, bytes) in problems {
        let said = gpu.prepare(problem).unwrap_err().to_string();
        let sizes = format!("{bytes} bytes are needed, and the adapter binds at most {MOST} bytes");
        assert!(said.contains(&sizes), "{said}");
    }
}

/// Lengths in errors are those of the whole problem.
#[test]
fn inputs_of_parts_are_looked_at() {
    let gpu = open(Some(MOST));
    let problem = |batch| FftProblem::new(1000, TransformDirection::Forward, batch).unwrap();
    let mut prepared = gpu.prepare(&problem(301)).unwrap();
    for batch in [300, 302] {
        let input = problem(batch).input(Case::Random, 1);
        let error = prepared.run(&input).unwrap_err();
        assert!(matches!(error, RunError::Data(_)), "{error}");
        let lengths = format!("holds {batch}000 elements; expected 301000");
        assert!(error.to_string().contains(&lengths), "{error}");
    }
    let reals = RealFftProblem::new(1000, TransformDirection::Forward, 301).unwrap();
    let error = prepared.run(&reals.input(Case::Random, 1)).unwrap_err();
    assert!(error.to_string().contains("expected complex64"), "{error}");
}
