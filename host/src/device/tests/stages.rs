//! Tests of the shares of programs and passes in a run.

use super::*;

/// Returns a kernel that issues `words` words before its `stop`, and reads a register that it never wrote.
fn kernel(words: usize) -> Arc<Program> {
    let adds = "    add r1, r0, r0\n".repeat(words);
    assembled(&format!("{adds}    stop\n"))
}

/// A pass of a run: index of the program, name, granules loaded before it and stored behind it.
type Step = (usize, Option<u8>, u64, u64);

/// Carries out the passes in order; a program is loaded if another one was there.
fn run(programs: &[Arc<Program>], steps: &[Step], options: DeviceOptions) -> FinishedRun {
    let mut device = Device::with_options(vm("vm7"), options);
    let x = device.alloc::<f32>(4096).unwrap();
    let placed: Vec<PlacedProgram> = programs
        .iter()
        .map(|program| device.place("kernel", program.clone()).unwrap())
        .collect();
    let (mut after, mut there) = (Vec::new(), None);
    for &(program, name, loads, stores) in steps {
        device.name_pass(name.map(|name| format!("pass {name}").into()));
        if there.replace(program) != Some(program) {
            after = vec![device.load(&placed[program], &after).unwrap()];
        }
        let target = Target::Section(0);
        for _ in 0..loads {
            let load = Descriptor::load(target, x.address(), 0, 16);
            after = vec![device.dma("x", load, &after).unwrap()];
        }
        after = vec![device.launch("kernel", 0, 0, &after).unwrap()];
        for _ in 0..stores {
            let store = Descriptor::store(target, x.address() + 64, 0, 16);
            after = vec![device.dma("y", store, &after).unwrap()];
        }
    }
    device.finish().unwrap()
}

fn counted(options: DeviceOptions) -> DeviceOptions {
    DeviceOptions {
        stages: true,
        ..options
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Cycles, causes, words and bytes of all stages add up to those of the run, each stage has those of its
    /// passes, and the rest of the report is the same as without stages.
    #[test]
    fn stages_share_the_run(steps in proptest::collection::vec((0usize..3, proptest::option::of(0u8..3), 0u64..3, 0u64..3), 1..12)) {
        let programs = [kernel(1), kernel(5), kernel(30)];
        let report = run(&programs, &steps, counted(DeviceOptions::default())).report;
        prop_assert_eq!(report.cycles, report.stages.iter().map(|s| s.cycles).sum::<u64>());
        let mut causes = cp2_emu::Causes::default();
        report.stages.iter().for_each(|s| causes.merge(&s.causes));
        prop_assert_eq!(&causes, &report.causes);
        for stage in &report.stages {
            let own: Vec<&Step> = steps.iter().filter(|step| {
                Some(step.0) == stage.stage.program && step.1.map(|n| format!("pass {n}")).as_deref() == stage.stage.pass.as_deref()
            }).collect();
            prop_assert_eq!(stage.counters.kernels, own.len() as u64);
            let words: u64 = own.iter().map(|step| programs[step.0].words.len() as u64).sum();
            prop_assert_eq!(stage.counters.words, words);
            prop_assert_eq!(stage.counters.per_word.len(), own.first().map_or(0, |step| programs[step.0].words.len()));
            prop_assert_eq!(stage.dma.stored, own.iter().map(|step| 16 * step.3).sum::<u64>());
            // A kernel takes at least a cycle for each word, and its launch takes some.
            prop_assert!(stage.cycles > words || own.is_empty());
        }
        let loaded: u64 = report.stages.iter().map(|s| s.dma.loaded).sum();
        prop_assert_eq!(loaded, report.dma.loaded);
        let plain = run(&programs, &steps, DeviceOptions::default()).report;
        prop_assert!(plain.stages.is_empty());
        prop_assert_eq!(plain, RunReport { stages: Vec::new(), ..report });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    /// If each pass waits for the kernel of the one before, the first passes take as long as on a device of
    /// their own.
    #[test]
    fn a_stage_ends_where_a_run_of_it_would(steps in proptest::collection::vec((0usize..3, 0u64..3), 2..6)) {
        let programs = [kernel(1), kernel(5), kernel(30)];
        let steps: Vec<Step> = steps.iter().zip(0..).map(|(&(program, loads), name)| (program, Some(name), loads, 0)).collect();
        let report = run(&programs, &steps, counted(DeviceOptions::default())).report;
        for first in 1..=steps.len() {
            let own = run(&programs, &steps[..first], DeviceOptions::default()).report;
            let stages = report.stages.iter().filter(|stage| {
                steps[..first].iter().any(|step| step.1.map(|n| format!("pass {n}")).as_deref() == stage.stage.pass.as_deref())
            });
            prop_assert_eq!(stages.map(|stage| stage.cycles).sum::<u64>(), own.cycles, "{}", first);
        }
    }
}

/// Findings name the program and the pass, because a word address means nothing without its program.
#[test]
fn findings_are_of_a_program_and_a_pass() {
    let programs = [kernel(1), kernel(2)];
    let steps = [(0, Some(1), 1, 0), (1, Some(2), 1, 0), (1, Some(2), 1, 0)];
    let report = run(&programs, &steps, counted(checked())).report;
    let found: Vec<_> = report
        .findings
        .iter()
        .map(|f| (f.pc, f.launched, f.count))
        .collect();
    assert_eq!(
        found,
        [(Some(0), 0, 1), (Some(0), 1, 2), (Some(1), 1, 2)],
        "{:?}",
        report.findings
    );
    let stages: Vec<_> = report
        .stages
        .iter()
        .map(|s| (s.stage.program, s.stage.pass.as_deref()))
        .collect();
    assert_eq!(
        stages,
        [(Some(0), Some("pass 1")), (Some(1), Some("pass 2"))]
    );
    assert_eq!(report.stage, None);
}

#[test]
fn a_fault_is_of_a_program_and_a_pass() {
    let faulty =
        assembled("    nop\n    movi a0, 2\n    nop\n    nop\n    ldq q0, [a0]\n    stop\n");
    for stages in [false, true] {
        let options = DeviceOptions {
            stages,
            ..DeviceOptions::default()
        };
        let steps = [(0, Some(1), 1, 1), (1, Some(2), 1, 1), (0, Some(3), 0, 0)];
        let report = run(&[kernel(3), faulty.clone()], &steps, options).report;
        assert!(
            matches!(&report.end, RunEnd::Fault(fault) if fault.pc == 4),
            "{:?}",
            report.end
        );
        let stage = report.stage.unwrap();
        assert_eq!(
            (stage.program, stage.pass.as_deref()),
            (Some(1), Some("pass 2"))
        );
        let cycles: u64 = report.stages.iter().map(|s| s.cycles).sum();
        assert_eq!(cycles, if stages { report.cycles } else { 0 });
    }
}

/// A restarted device gives the same stages as a new one.
#[test]
fn stages_begin_anew_with_a_run() {
    let mut device = Device::with_options(vm("vm7"), counted(DeviceOptions::default()));
    let placed = device.place("kernel", kernel(4)).unwrap();
    let mut reports = Vec::new();
    for _ in 0..2 {
        device.name_pass(Some("pass".into()));
        let load = device.load(&placed, &[]).unwrap();
        device.launch("kernel", 0, 0, &[load]).unwrap();
        reports.push(device.finish_and_restart().unwrap());
    }
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0].stages.last().map(|s| s.counters.words), Some(5));
}
