use super::*;
use cp2_problems::stencil::{Edge, Point, Stencil};
use cp2_problems::{Case, Data, Problem as _};

/// Runs a problem under the checkers and says what is wrong.
fn wrong(problem: &StencilProblem, machine: &str, case: Case) -> Option<String> {
    wrong_on(problem, Arc::new(Machine::builtin(machine).unwrap()), case)
}

fn wrong_on(problem: &StencilProblem, machine: Arc<Machine>, case: Case) -> Option<String> {
    let input = problem.input(case, 7);
    let options = Options {
        check: true,
        ..Options::default()
    };
    let c = problem.is_per_element().then(|| input.get("c").unwrap());
    let plan = match Stencils::new(problem, machine) {
        Ok(plan) => plan,
        Err(e) => return Some(format!("{}: {e}", problem.title())),
    };
    let done = plan
        .process_with(input.get("u").unwrap(), c, options)
        .unwrap();
    let report = &done.run.report;
    let title = format!("{}, {}", problem.title(), plan.recipe());
    if !report.findings.is_empty() {
        return Some(format!("{title}: {}", report.findings[0]));
    }
    let Some(v) = &done.output else {
        return Some(format!("{title}: {}", report.end));
    };
    let verdict = problem.judge(&input, &Data::of("v", problem.shape(), v.clone()));
    if !verdict.holds() {
        return Some(format!("{title}: {verdict:?}"));
    }
    let (price, took) = (done.expected.unwrap().0, report.cycles);
    let off = price.abs_diff(took) as f64 / took as f64;
    (off > 0.03).then(|| format!("{title}: price {price}, took {took}"))
}

fn problem(shape: &[usize], points: usize, edge: Edge, steps: usize) -> StencilProblem {
    let stencil = Stencil::of_classes(points, None).unwrap();
    StencilProblem::new(shape, stencil, edge, steps).unwrap()
}

/// Shapes of all kinds, odd ones among them, with all edges.
#[test]
fn stencils_are_right_on_arrays_of_any_shape() {
    let mut found = Vec::new();
    for edge in Edge::ALL {
        for (shape, points, steps) in [
            (&[1, 1][..], 5, 1),
            (&[2, 3], 9, 2),
            (&[9, 16], 5, 1),
            (&[21, 37], 9, 3),
            (&[5, 1100], 5, 1),
            (&[1, 1, 1], 7, 1),
            (&[3, 4, 5], 27, 2),
            (&[2, 7, 16], 19, 1),
            (&[6, 9, 33], 7, 2),
            (&[4, 3, 300], 27, 1),
        ] {
            found.extend(wrong(
                &problem(shape, points, edge, steps),
                "vm7",
                Case::Random,
            ));
        }
        for (shape, points) in [(&[5, 6, 18][..], 19), (&[7, 12], 9), (&[2, 3, 170], 27)] {
            let problem = problem(shape, points, edge, 1).per_element();
            found.extend(wrong(&problem, "vm9", Case::Random));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Several marches that are apart: of higher blocks, each begun when the one before it is stored.
#[test]
fn marches_may_be_apart() {
    let cube = problem(&[24, 128, 128], 7, Edge::Periodic, 1);
    for machine in ["vm7", "vm9"] {
        let plan = Stencils::new(&cube, Arc::new(Machine::builtin(machine).unwrap())).unwrap();
        assert!(plan.chosen[0].pages.apart, "{}", plan.recipe());
        assert_eq!(wrong(&cube, machine, Case::Random), None);
    }
}

/// Latencies that no schedule of the usual length hides: the loop is stretched, and no word of it waits.
#[test]
fn long_latencies_stretch_the_loop() {
    for cycles in [18, 60] {
        let of = |class| format!("latency.{class} = {{ value = {cycles}, unit = \"cycles\" }}\n");
        let lines = ["add", "madd", "load"].map(of).concat();
        let text = format!("name = \"slow\"\nbase = \"vm7\"\n[cp2]\n{lines}");
        let machine = Arc::new(Machine::parse("slow", &text).unwrap());
        let of_points = [
            problem(&[3, 9, 20], 27, Edge::Fixed, 1),
            problem(&[3, 9, 20], 19, Edge::Zero, 1).per_element(),
            problem(&[9, 20], 9, Edge::Periodic, 2),
        ];
        for problem in of_points {
            assert_eq!(wrong_on(&problem, machine.clone(), Case::Random), None);
        }
    }
}

/// Points of no class: to one side only, with coefficients all different, a single one.
#[test]
fn stencils_of_any_points_are_right() {
    let all = |axes: usize| {
        let points = (0..27i8).filter(move |at| axes == 3 || at / 9 == 1);
        points.map(|at| Point {
            offset: [at / 9 - 1, at / 3 % 3 - 1, at % 3 - 1],
            coefficient: 0.01 * f32::from(at) - 0.1,
        })
    };
    let some = |axes: usize, wanted: &dyn Fn(&Point) -> bool| {
        Stencil::new(axes, all(axes).filter(wanted).collect()).unwrap()
    };
    let mut found = Vec::new();
    for (shape, stencil) in [
        (&[4, 9, 14][..], some(3, &|_| true)),
        (&[11, 14], some(2, &|p| p.offset[2] > 0)),
        (&[11, 14], some(2, &|p| p.offset[2] < 1)),
        (&[3, 5, 9], some(3, &|p| p.offset == [1, -1, 1])),
        (&[3, 5, 9], some(3, &|p| p.offset[0] == -1)),
    ] {
        for edge in Edge::ALL {
            let problem = StencilProblem::new(shape, stencil.clone(), edge, 2).unwrap();
            for case in [Case::Random, Case::Outlier, Case::Subnormal] {
                found.extend(wrong(&problem, "vm7", case));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    let large = problem(&[1 << 10, 1 << 10, 1 << 10], 7, Edge::Zero, 1);
    let refused = Stencils::new(&large, vm7.clone()).unwrap_err().to_string();
    assert!(refused.contains("system memory"), "{refused}");
    // Rows that are no whole granules are that, not too large.
    let mut coarse = (*vm7).clone();
    coarse.dma.granule = cp2_machine::Bytes(64);
    let rows = problem(&[40, 40], 5, Edge::Zero, 1);
    let refused = Stencils::new(&rows, coarse.into()).unwrap_err().to_string();
    assert!(
        refused.contains("granule") && refused.contains("160 bytes"),
        "{refused}"
    );
    let small = problem(&[4, 4], 5, Edge::Zero, 1);
    let plan = Stencils::new(&small, vm7).unwrap();
    assert!(plan.process(&[0.0; 15], None).is_err());
}

/// What schedules and passes take, in cycles a quad: a probe, not a test.
#[test]
#[ignore]
fn probe() {
    for machine in ["vm7", "vm9"] {
        let machine = Arc::new(Machine::builtin(machine).unwrap());
        for (points, edge, steps) in [
            (27, Edge::Zero, 1),
            (27, Edge::Periodic, 1),
            (7, Edge::Zero, 2),
            (7, Edge::Periodic, 2),
            (7, Edge::Fixed, 2),
            (7, Edge::Mirrored, 2),
            (27, Edge::Zero, 2),
            (19, Edge::Zero, 2),
        ] {
            let cube = problem(&[128, 128, 128], points, edge, steps);
            let start = std::time::Instant::now();
            let lines = choice::probe(&cube, &machine);
            println!("{} {} {:?}", machine.name, cube.title(), start.elapsed());
            for line in lines {
                println!("    {line}");
            }
        }
    }
}
