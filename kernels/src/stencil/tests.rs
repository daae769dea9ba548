//! Tests of stencils: all shapes, edges and coefficients, and their prices.

use super::*;
use cp2_emu::Engine;
use cp2_problems::stencil::{Edge, StencilPoint, StencilShape};
use cp2_problems::{Case, NamedArrays, Problem as _};

/// Runs a problem under the checkers and returns what is wrong with it, or nothing.
fn wrong(problem: &StencilProblem, machine: &str, case: Case) -> Option<String> {
    wrong_on(problem, Arc::new(Machine::builtin(machine).unwrap()), case)
}

/// Returns a machine with word addresses.
fn with_words(name: &str) -> Arc<Machine> {
    Arc::new(Machine::load(&format!("{name}+word-addressing")).unwrap())
}

fn wrong_on(problem: &StencilProblem, machine: Arc<Machine>, case: Case) -> Option<String> {
    match Stencils::new(problem, machine) {
        Ok(plan) => wrong_plan(&plan, case),
        Err(e) => Some(format!("{}: {e}", problem.title())),
    }
}

fn wrong_plan(plan: &Stencils, case: Case) -> Option<String> {
    let problem = plan.problem();
    let input = problem.input(case, 7);
    let options = DeviceOptions {
        check: true,
        ..DeviceOptions::default()
    };
    let c = problem.is_per_element().then(|| input.get("c").unwrap());
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
    let verdict = problem.judge(
        &input,
        &NamedArrays::from_array("v", problem.shape(), v.clone()),
    );
    if !verdict.is_within_tolerance() {
        return Some(format!("{title}: {verdict:?}"));
    }
    let (price, took) = (done.expected.unwrap().0, report.cycles);
    let off = price.abs_diff(took) as f64 / took as f64;
    (off > 0.03).then(|| format!("{title}: price {price}, took {took}"))
}

fn problem(shape: &[usize], points: usize, edge: Edge, steps: usize) -> StencilProblem {
    let stencil = StencilShape::from_classes(points, None).unwrap();
    StencilProblem::new(shape, stencil, edge, steps).unwrap()
}

/// Arrays of all kinds of shapes, odd ones among them, with all edges.
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

/// Several marches that do not overlap: with higher blocks, each begins when the one before is stored.
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

/// Stencils whose points are no classes: to one side only, with all coefficients different, a single point.
#[test]
fn stencils_of_any_points_are_right() {
    let all = |axes: usize| {
        let points = (0..27i8).filter(move |at| axes == 3 || at / 9 == 1);
        points.map(|at| StencilPoint {
            offset: [at / 9 - 1, at / 3 % 3 - 1, at % 3 - 1],
            coefficient: 0.01 * f32::from(at) - 0.1,
        })
    };
    let some = |axes: usize, wanted: &dyn Fn(&StencilPoint) -> bool| {
        StencilShape::new(axes, all(axes).filter(wanted).collect()).unwrap()
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
            found.extend(wrong_on(&problem, with_words("vm7"), Case::Random));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Neighbours along a row are loaded at word addresses, in arrays of all kinds of shapes.
#[test]
fn stencils_are_right_with_word_addresses() {
    let mut found = Vec::new();
    for (place, edge) in Edge::ALL.into_iter().enumerate() {
        let machine = with_words(["vm7", "vm9"][place % 2]);
        for (shape, points, steps) in [
            (&[2, 3][..], 9, 2),
            (&[9, 16], 5, 1),
            (&[21, 37], 9, 3),
            (&[5, 1100], 5, 1),
            (&[3, 4, 5], 27, 2),
            (&[2, 7, 16], 19, 1),
            (&[6, 9, 33], 7, 2),
            (&[6, 16, 64], 7, 3),
            (&[5, 16, 64], 27, 1),
            (&[4, 3, 300], 27, 1),
        ] {
            let problem = problem(shape, points, edge, steps);
            found.extend(wrong_on(&problem, machine.clone(), Case::Random));
        }
        let own = problem(&[5, 6, 18], 19, edge, 1).per_element();
        found.extend(wrong_on(&own, machine, Case::Random));
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// With loads at word addresses hardly anything is shifted: an issue a quad fewer, or nearly two of two steps.
#[test]
fn word_addresses_save_shifts() {
    let price = |problem: &StencilProblem, machine: Arc<Machine>| {
        let plan = Stencils::new(problem, machine.clone()).unwrap();
        plan.chosen[0].price(problem, &machine).unwrap() as f64
    };
    for (name, points, steps, gain) in [
        ("vm7", 27, 1, 1.07),
        ("vm9", 27, 1, 1.07),
        ("vm7", 19, 1, 1.09),
        ("vm9", 7, 2, 1.09),
    ] {
        let problem = problem(&[16, 128, 128], points, Edge::Zero, steps);
        let before = price(&problem, Arc::new(Machine::builtin(name).unwrap()));
        let after = price(&problem, with_words(name));
        assert!(
            before >= gain * after,
            "{name}, {points} points: {before} {after}"
        );
    }
}

#[test]
fn arrays_that_do_not_fit_are_refused() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    let large = problem(&[1 << 10, 1 << 10, 1 << 10], 7, Edge::Zero, 1);
    let refused = Stencils::new(&large, vm7.clone()).unwrap_err().to_string();
    assert!(refused.contains("system memory"), "{refused}");
    let small = problem(&[4, 4], 5, Edge::Zero, 1);
    let plan = Stencils::new(&small, vm7).unwrap();
    assert!(plan.process(&[0.0; 15], None).is_err());
}

/// Plans passes of two steps, whatever they cost, and one of one step if the number of steps is odd.
fn fused(problem: &StencilProblem, machine: &str) -> Stencils {
    let machine = Arc::new(Machine::builtin(machine).unwrap());
    let mut chosen = vec![blocking::double(problem, &machine).unwrap().unwrap()];
    if problem.steps() % 2 == 1 {
        chosen.push(blocking::single(problem, &machine).unwrap());
    }
    Stencils {
        problem: problem.clone(),
        used: machine.clone(),
        machine,
        chosen,
    }
}

/// Two steps in a pass, with all edges: arrays of one element, of one block, of blocks beyond the last row,
/// of several marches.
#[test]
fn two_steps_in_a_pass_are_right() {
    let mut found = Vec::new();
    for edge in Edge::ALL {
        for (shape, points, steps, machine) in [
            (&[1, 1, 1][..], 7, 2, "vm7"),
            (&[2, 1, 6], 27, 3, "vm7"),
            (&[1, 5, 8], 19, 2, "vm9"),
            (&[3, 4, 5], 7, 5, "vm7"),
            (&[6, 9, 33], 27, 2, "vm9"),
            (&[4, 45, 20], 7, 4, "vm9"),
            (&[3, 131, 200], 7, 2, "vm7"),
            // The last of the blocks is not the last of its section's share.
            (&[3, 117, 200], 7, 2, "vm7"),
            (&[2, 70, 160], 19, 3, "vm7"),
        ] {
            let plan = fused(&problem(shape, points, edge, steps), machine);
            found.extend(wrong_plan(&plan, Case::Random));
        }
        for case in [Case::Outlier, Case::Subnormal] {
            let plan = fused(&problem(&[3, 10, 24], 7, edge, 2), "vm7");
            found.extend(wrong_plan(&plan, case));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Coefficients for which no unit is left out: all of them 0, or far from 1.
#[test]
fn two_steps_are_right_with_coefficients_of_any_size() {
    for coefficients in [
        [0.0, 0.0],
        [1e-15, 2e-15],
        [1e12, -1e11],
        [0.0, 1.0],
        [-0.5, 1e-8],
        [8.0, 1e-36],
        [0.125, 1e-37],
        [1e6, 1e-36],
        [9e5, 1.0],
    ] {
        let stencil = StencilShape::from_classes(7, Some(&coefficients)).unwrap();
        let problem = StencilProblem::new(&[4, 9, 20], stencil, Edge::Mirrored, 2).unwrap();
        let plan = fused(&problem, "vm7");
        for case in [Case::Random, Case::Outlier, Case::Subnormal] {
            assert_eq!(wrong_plan(&plan, case), None, "{coefficients:?} {case:?}");
        }
    }
}

/// Parts of rows have a granule of neighbours on either side, also if a granule is larger than a quad, and
/// for rows that are whole granules or not.
#[test]
fn parts_of_rows_have_neighbours_of_whole_granules() {
    for granule in [32, 64] {
        let mut machine = Machine::builtin("vm7").unwrap();
        machine.dma.granule = cp2_machine::Bytes(granule);
        let machine = Arc::new(machine);
        for (shape, points, steps) in [
            (&[3, 848][..], 5, 1),
            (&[8, 2048], 9, 2),
            (&[5, 1030], 5, 3),
            (&[4, 5, 1100], 7, 2),
            (&[2, 3, 1501], 27, 1),
        ] {
            for edge in Edge::ALL {
                let problem = problem(shape, points, edge, steps);
                let plan = Stencils::new(&problem, machine.clone()).unwrap();
                let wrong = wrong_plan(&plan, Case::Random);
                assert_eq!(wrong, None, "{shape:?} {edge:?}, {granule}");
            }
        }
    }
}

/// Rows that are no whole granules are padded on the way in, and the padding is removed on the way out.
#[test]
fn rows_are_filled_up_to_large_granules() {
    for granule in [32, 64] {
        let mut machine = Machine::builtin("vm7").unwrap();
        machine.dma.granule = cp2_machine::Bytes(granule);
        let machine = Arc::new(machine);
        for (shape, points, steps) in [
            (&[3, 4][..], 5, 1),
            (&[7, 61], 9, 3),
            (&[4, 19, 20], 7, 2),
            (&[3, 5, 33], 27, 2),
        ] {
            for edge in Edge::ALL {
                let problem = problem(shape, points, edge, steps);
                let plan = Stencils::new(&problem, machine.clone()).unwrap();
                let wrong = wrong_plan(&plan, Case::Random);
                assert_eq!(wrong, None, "{shape:?} {edge:?}, {granule}");
            }
        }
    }
}

/// Both engines give the same bits and cycles, with two steps in a pass and with sums of planes that are
/// kept.
#[test]
fn engines_agree() {
    let kept = |edge| {
        Stencils::new(
            &problem(&[3, 40, 64], 27, edge, 1),
            Arc::new(Machine::builtin("vm7").unwrap()),
        )
    };
    for plan in [
        fused(&problem(&[4, 21, 32], 7, Edge::Zero, 3), "vm9"),
        fused(&problem(&[4, 21, 32], 27, Edge::Mirrored, 2), "vm7"),
        kept(Edge::Zero).unwrap(),
        kept(Edge::Periodic).unwrap(),
    ] {
        let input = plan.problem().input(Case::Random, 3);
        let [fast, reference] = [Engine::Fast, Engine::Reference].map(|engine| {
            let options = DeviceOptions {
                engine,
                ..DeviceOptions::default()
            };
            let done = plan
                .process_with(input.get("u").unwrap(), None, options)
                .unwrap();
            let bits = done.output.unwrap().into_iter().map(f32::to_bits);
            (bits.collect::<Vec<_>>(), done.run.report.cycles)
        });
        assert_eq!(fast, reference, "{}", plan.recipe());
    }
}

/// Two passes of 7 points wait for the channel, a pass of two steps does not; 27 points do not wait either.
/// Sums of planes are kept.
#[test]
fn passes_are_chosen_by_price() {
    for (machine, most) in [("vm7", 13.5), ("vm9", 14.5)] {
        let machine = Arc::new(Machine::builtin(machine).unwrap());
        let of = |points: usize, steps: usize| problem(&[128, 128, 128], points, Edge::Zero, steps);
        for (points, two) in [(7, true), (27, false)] {
            let plan = Stencils::new(&of(points, 3), machine.clone()).unwrap();
            let recipe = plan.recipe();
            assert_eq!(recipe.contains("two steps"), two, "{points}: {recipe}");
            assert_eq!(plan.chosen.len(), 1 + usize::from(two));
        }
        let cube = of(27, 1);
        let plan = Stencils::new(&cube, machine.clone()).unwrap();
        let price = plan.chosen[0].price(&cube, &machine).unwrap();
        let quad = 16.0 * price as f64 / cube.elements() as f64;
        assert!((12.0..most).contains(&quad), "{quad}");
    }
}

/// Two steps in a pass take less system memory than two passes with an array between them, apart from the
/// rows that blocks hand over.
#[test]
fn passes_fit_system_memory() {
    let of = |kibibytes: u64, steps: usize| {
        let mut machine = Machine::builtin("vm7").unwrap();
        machine.host.memory = cp2_machine::Bytes(kibibytes * 1024);
        Stencils::new(
            &problem(&[8, 160, 64], 7, Edge::Zero, steps),
            machine.into(),
        )
    };
    let plan = of(900, 2).unwrap();
    let handed = plan.handed_bytes();
    assert!(
        handed > 0 && plan.recipe().contains("two steps"),
        "{handed}"
    );
    assert_eq!(wrong_plan(&plan, Case::Random), None);
    // From three passes on there are two arrays between them.
    let array = 8 * 160 * 64 * 4;
    for (steps, arrays) in [(2, 2), (4, 3), (6, 4), (9, 4)] {
        let said = of(660, steps).err().unwrap().to_string();
        let bytes = arrays * array + handed;
        assert!(said.contains(&format!("{bytes} bytes of arrays")), "{said}");
    }
}

/// Points times 0 do not count, and points with equal coefficients are added up first: nothing takes fewer
/// cycles than its reference.
#[test]
fn references_are_below_what_any_coefficients_take() {
    let box_of = |points: usize| {
        let usual = StencilShape::from_classes(27, None).unwrap();
        let points = usual.points()[..points].iter().map(|point| StencilPoint {
            coefficient: 0.25,
            ..*point
        });
        StencilShape::new(3, points.collect()).unwrap()
    };
    let classes =
        |points, coefficients: &[f32]| StencilShape::from_classes(points, Some(coefficients));
    for stencil in [
        classes(7, &[-0.003, 0.0]).unwrap(),
        classes(27, &[0.5, 0.0, 0.25, 0.25]).unwrap(),
        classes(27, &[0.0; 4]).unwrap(),
        // Separable coefficients, and equal ones.
        classes(27, &[0.125, 0.0625, 0.03125, 0.015625]).unwrap(),
        classes(27, &[0.037; 4]).unwrap(),
        classes(7, &[0.142; 2]).unwrap(),
        box_of(26),
        box_of(14),
    ] {
        let problem = StencilProblem::new(&[24, 64, 64], stencil, Edge::Zero, 4).unwrap();
        let vm7 = Machine::builtin("vm7").unwrap();
        let plan = Stencils::new(&problem, vm7.into()).unwrap();
        let input = problem.input(Case::Random, 3);
        let done = plan.process(input.get("u").unwrap(), None).unwrap();
        let efficiency = done.efficiency();
        assert!(efficiency < 1.0, "{}: {efficiency}", problem.title());
    }
}

/// Numbers that cannot change the result are not counted in a bound: arrays whose elements are all kept,
/// coefficients of kept elements and of zeros beyond an edge.
#[test]
fn bounds_are_of_what_matters() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    let bound = |shape: &[usize], points, edge| {
        let stencil = StencilShape::from_classes(points, None).unwrap();
        let problem = StencilProblem::new(shape, stencil, edge, 1)
            .unwrap()
            .per_element();
        let plan = Stencils::new(&problem, vm7.clone()).unwrap();
        plan.figures().bound.0
    };
    // Four numbers a cycle.
    let cycles = |numbers: u64| numbers.div_ceil(4);
    assert_eq!(bound(&[2, 4000], 9, Edge::Fixed), cycles(2 * 8000));
    assert_eq!(
        bound(&[3, 4000], 9, Edge::Fixed),
        cycles(2 * 12_000 + 9 * 3998)
    );
    // With two rows, the upper one has no neighbours above, and no row has any beyond its ends.
    assert_eq!(
        bound(&[2, 4000], 5, Edge::Zero),
        cycles(2 * 8000 + 8000 + 2 * 4000 + 2 * 7998)
    );
    assert_eq!(bound(&[2, 4000], 5, Edge::Periodic), cycles(7 * 8000));
}

/// Equal coefficients allow more sharing, so they take no longer than others: the dataflow for different ones
/// is right for them as well.
#[test]
fn equal_coefficients_take_no_longer_than_different_ones() {
    let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
    for (equal, different) in [
        (
            &[0.1, 0.05, 0.05, 0.05][..],
            &[0.1, 0.05, 0.0500001, 0.0500002][..],
        ),
        (&[0.1, 0.1, 0.05, 0.025], &[0.1, 0.1000001, 0.05, 0.025]),
        (&[0.1, 0.05, 0.05], &[0.1, 0.05, 0.0500001]),
    ] {
        let [equal, different] = [equal, different].map(|coefficients| {
            let points = if coefficients.len() == 3 { 19 } else { 27 };
            let stencil = StencilShape::from_classes(points, Some(coefficients)).unwrap();
            let problem = StencilProblem::new(&[32, 32, 128], stencil, Edge::Zero, 1).unwrap();
            Stencils::new(&problem, vm7.clone())
                .unwrap()
                .price()
                .unwrap()
        });
        assert!(equal <= different, "{equal}, {different}");
    }
}

/// Fixed edges of narrow arrays: the first and the last column lie in one quad, or in two adjacent ones.
#[test]
fn fixed_columns_of_narrow_arrays_are_kept() {
    for machine in ["vm7", "vm9"] {
        for columns in 1..=9 {
            for (shape, points) in [
                (&[5, columns][..], 9),
                (&[3, columns], 5),
                (&[3, 4, columns], 27),
                (&[4, 3, columns], 7),
            ] {
                let stencil = StencilShape::from_classes(points, None).unwrap();
                let problem = StencilProblem::new(shape, stencil, Edge::Fixed, 3).unwrap();
                let machine = Arc::new(Machine::builtin(machine).unwrap());
                let plan = Stencils::new(&problem, machine).unwrap();
                assert_eq!(wrong_plan(&plan, Case::Random), None, "{shape:?}");
            }
        }
    }
}
