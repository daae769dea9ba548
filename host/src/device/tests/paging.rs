//! Tests of paged runs: results, exact times, estimates and deadlocks.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_paged_run_is_right_clean_and_accounted_for(
        blocks in 1usize..70, slow in 0u32..300, vm9: bool, in_place: bool,
        size in prop_oneof![(1u32..6).prop_map(BlocksPerSection::Fixed), Just(BlocksPerSection::ANY)],
        buffering in prop::sample::select(vec![Buffering::Auto, Buffering::Single, Buffering::Double, Buffering::Triple]),
    ) {
        let machine = vm(if vm9 { "vm9" } else { "vm7" });
        let mut job = MapJob::new("slow", 16);
        (job.size, job.buffering, job.in_place, job.args, job.options) = (size, buffering, in_place, vec![slow], checked());
        let input = floats(4 * blocks);
        let done = map(assembled(SLOW), machine.clone(), &input, &job);
        let report = &done.run.report;
        prop_assert_eq!(&report.end, &RunEnd::Finished);
        prop_assert_eq!(&done.output, &doubled(&input));
        prop_assert_eq!(&report.findings, &vec![]);
        prop_assert_eq!(report.causes.total(), report.cycles);
        prop_assert_eq!(report.counters.kernels, 1);
        let pages: Vec<_> = slices(report, Category::Page).map(|s| s.page).collect();
        prop_assert_eq!(pages, (0..done.plan.pages().len()).map(Some).collect::<Vec<_>>());
        prop_assert_eq!(report.dma.stored, input.len() as u64);
        // A second run gives an equal report, whatever the host.
        let again = map(assembled(SLOW), machine, &input, &job);
        prop_assert_eq!(&again.run.report, report);
    }
}

#[test]
fn page_k_computes_while_its_neighbours_move() {
    let mut job = MapJob::new("slow", 16);
    (job.size, job.buffering, job.in_place, job.args) = (
        BlocksPerSection::Fixed(8),
        Buffering::Double,
        true,
        vec![400],
    );
    let done = map(assembled(SLOW), vm("vm7"), &floats(4 * 32 * 6), &job);
    let report = &done.run.report;
    for kernel in slices(report, Category::Page) {
        let page = kernel.page.unwrap();
        let during = |c: Category, p: u64| {
            slices(report, c)
                .any(|s| s.page == Some(p) && s.start < kernel.end && s.end > kernel.start)
        };
        assert!(
            page == 0 || page == 5 || during(Category::Load, page + 1),
            "load {}",
            page + 1
        );
        assert!(
            page == 0 || during(Category::Store, page - 1),
            "store of page {}",
            page - 1
        );
    }
    assert_eq!(slices(report, Category::Page).count(), 6);
    // The kernel is the bottleneck: it is launched once, and after its first
    // page finds every page loaded.
    assert_eq!(report.causes.get(Cause::Launch), 40);
    let waits = |page: &Slice| page.start.0;
    let ends: Vec<u64> = slices(report, Category::Page).map(|s| s.end.0).collect();
    let starts: Vec<u64> = slices(report, Category::Page).map(waits).collect();
    assert_eq!(starts[1..], ends[..5]);
    assert_accounts(report);
}

/// Ten blocks in two pages, every cycle worked out by hand from `vm7.toml`:
/// descriptors 8, set-ups 32 and 4, a granule a cycle, launch and completion 40.
#[test]
fn a_small_paged_run_takes_the_cycles_of_its_parts() {
    let mut job = MapJob::new("double", 16);
    (job.size, job.buffering) = (BlocksPerSection::Fixed(2), Buffering::Double);
    let done = map(assembled(DOUBLE), vm("vm7"), &floats(4 * 10), &job);
    let report = &done.run.report;
    let spans = |category: &[Category]| -> Vec<(u64, u64)> {
        let slices = report.timeline.slices.iter();
        let slices = slices.filter(|s| category.contains(&s.category));
        slices.map(|s| (s.start.0, s.end.0)).collect()
    };
    // Program, arguments, page 0, page 1 (a block for all, then section 0's own).
    let build = [(0, 8), (8, 16), (16, 24), (24, 32), (32, 40)];
    // Page 0 is stored when its signal is seen, page 1 section by section.
    let rest = [(212, 220), (232, 240), (240, 248)];
    assert_eq!(spans(&[Category::Descriptor]), [&build[..], &rest].concat());
    // 18 words, two blocks of 16 + 16 bytes: 32 + 9 granules; 4 + 4; 4 + 8; 4 + 1 twice.
    let loads = [(8, 49), (49, 57), (57, 69), (69, 74), (74, 79)];
    assert_eq!(spans(&[Category::Load]), loads);
    // 32 + 8; 4 + 1 twice, queued while page 0 is stored.
    assert_eq!(
        spans(&[Category::Store]),
        [(220, 260), (260, 265), (265, 270)]
    );
    // The arguments are seen at 57 + 40, the launch takes 40: page 0 is loaded by then. Seven
    // words, in the last of them the number of pages is there, `loop` 2 more; then for each page
    // `wait`, three words, 4 cycles until the count is there, `loop` 1 + 2, seven cycles for
    // each block, `mov`, `signal`.
    let first = 57 + 40 + 40;
    let page = |blocks: u64| 1 + 3 + 4 + 3 + 7 * blocks + 2;
    let (one, two) = (first + 9 + page(2), first + 9 + page(2) + page(1));
    assert_eq!(spans(&[Category::Page]), [(first, one), (one, two)]);
    assert_eq!((one + 40 - 1, two + 40 - 1), (212, 232));
    assert_eq!(spans(&[Category::Kernel]), [(first, two + 1)]);
    // The last store is seen complete at 270 + 40.
    assert_eq!(report.cycles, 310);
    let causes = [
        (Cause::WaitLoad, 57 + 40),
        (Cause::Launch, 40),
        (Cause::WaitStore, 270 - (two + 1)),
        (Cause::WaitHost, 40),
        (Cause::Issue, 7 + 13 + 10 + 1),
    ];
    for (cause, cycles) in causes {
        assert_eq!(report.causes.get(cause), cycles, "{cause}");
    }
    assert_accounts(report);
}

#[test]
fn buffering_pays() {
    let run = |buffering| {
        let mut job = MapJob::new("slow", 16);
        (job.size, job.buffering, job.in_place, job.args) =
            (BlocksPerSection::Fixed(64), buffering, true, vec![300]);
        map(assembled(SLOW), vm("vm7"), &floats(4 * 256 * 8), &job)
            .run
            .report
            .cycles
    };
    let (single, double) = (run(Buffering::Single), run(Buffering::Double));
    assert!(double * 10 < single * 8, "single {single}, double {double}");
}

/// Returns a job over `blocks` blocks of 16 bytes from `x` to `y`.
pub(super) fn job(placed: &PlacedProgram, blocks: u64, x: u64, y: u64, slow: u32) -> Paging {
    Paging {
        in_place: true,
        reserved: placed.reserved(),
        args: PageArgs { words: vec![slow] },
        size: BlocksPerSection::Fixed(32),
        buffering: Buffering::Double,
        cycles_per_block: Some(0),
        ..Paging::new(
            blocks,
            vec![Stream::contiguous("x", x, 16)],
            vec![Stream::contiguous("y", y, 16)],
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn the_estimate_comes_close(
        pages in 1u64..12, slow in 0u32..600, vm9: bool,
        buffering in prop::sample::select(vec![Buffering::Single, Buffering::Double, Buffering::Triple]),
    ) {
        let machine = vm(if vm9 { "vm9" } else { "vm7" });
        let run = |cycles_per_page: u64| {
            let mut device = Device::new(machine.clone());
            let placed = device.place("slow", assembled(SLOW)).unwrap();
            let blocks = pages * 128;
            let x = device.alloc_from(&floats(4 * blocks as usize)).unwrap();
            let mut job = job(&placed, blocks, x.address(), x.address(), slow);
            (job.buffering, job.cycles_per_page) = (buffering, cycles_per_page);
            let plan = StreamPlan::new(job, &machine).unwrap();
            device.page(&plan, &placed, 0, &[]).unwrap();
            (plan.estimate().cycles, device.finish().unwrap().report)
        };
        // The caller must know the kernel's own time: it is measured in a first run.
        let (_, first) = run(0);
        let kernel = slices(&first, Category::Page).next().unwrap();
        let ticks = machine.time_base().ticks_per_cycle;
        let (estimate, report) = run((kernel.end.0 - kernel.start.0) / ticks);
        // The estimate leaves out the loads of the program and the arguments.
        let error = report.cycles as f64 - estimate;
        prop_assert!(error.abs() < 150.0 + 0.02 * report.cycles as f64, "estimate {estimate}, measured {}", report.cycles);
    }
}

#[test]
fn one_device_runs_one_plan_after_another() {
    let machine = vm("vm7");
    let mut device = Device::with_options(machine.clone(), checked());
    let placed = device.place("slow", assembled(SLOW)).unwrap();
    let input = floats(4 * 300);
    let x = device.alloc_from(&input).unwrap();
    let y = device.alloc::<u8>(x.bytes()).unwrap();
    let plan = |from, to| StreamPlan::new(job(&placed, 300, from, to, 9), &machine).unwrap();
    let there = plan(x.address(), y.address());
    let first = device.page(&there, &placed, 0, &[]).unwrap();
    let kernel = PageKernel {
        name: "again".into(),
        entry: 0,
    };
    let back = plan(y.address(), x.address());
    let arguments = device.page_arguments(&back).unwrap();
    device
        .pages(&back, &kernel, &arguments, &first.events())
        .unwrap();
    let run = device.finish().unwrap();
    assert_eq!(run.report.end, RunEnd::Finished);
    assert_eq!(run.read(x).unwrap(), doubled(&doubled(&input)));
    assert_eq!(run.report.findings, []);
    assert_accounts(&run.report);
    // Time had begun when the second plan's arguments were written.
    assert!(slices(&run.report, Category::Work).any(|s| s.name == "arguments" && s.bytes > 0));
}

/// The kernel has no input, so the CPU announces the pages.
#[test]
fn a_kernel_without_inputs_makes_an_array() {
    const ONES: &str = "
.include \"page.s\"
.program
    lif r0, 1.0
    lif r1, 1.0
    page_begin
    ldx2 a0, [a15]
    ldx c0, [a15 + 8]
    loop c0 {
        stq q0, [a1]+16
    }
    page_end
    stop
";
    let machine = vm("vm7");
    let mut device = Device::with_options(machine.clone(), checked());
    let placed = device.place("ones", assembled(ONES)).unwrap();
    let y = device.alloc::<f32>(4 * 70).unwrap();
    let job = Paging {
        reserved: placed.reserved(),
        size: BlocksPerSection::Fixed(3),
        ..Paging::new(70, vec![], vec![Stream::contiguous("y", y.address(), 16)])
    };
    let plan = StreamPlan::new(job, &machine).unwrap();
    device.page(&plan, &placed, 0, &[]).unwrap();
    let run = device.finish().unwrap();
    assert_eq!(run.report.end, RunEnd::Finished);
    assert_eq!(run.report.findings, []);
    assert_eq!(run.read(y).unwrap(), [1.0; 4 * 70]);
    assert_accounts(&run.report);
}

/// The kernel has no outputs: registers keep their values from page to page, and the sums are fetched when
/// the plan is done.
#[test]
fn a_kernel_without_outputs_sums_an_array() {
    const SUM: &str = "
.include \"page.s\"
.program
    lif r0, 0.0
    lif r1, 0.0
    ldx a2, [a15 + 16]
    page_begin
    ldx a0, [a15]
    ldx c0, [a15 + 8]
    loop c0 {
        ldq q1, [a0]+16
        add q0, q0, q1
    }
    page_end
    stq q0, [a2]
    stop
.dmem 0
    .space 16
";
    let machine = vm("vm7");
    let mut device = Device::with_options(machine.clone(), checked());
    let placed = device.place("sum", assembled(SUM)).unwrap();
    let x = device.alloc_from(&[0.5f32; 4 * 96]).unwrap();
    let sums = device.alloc::<f32>(4 * 4).unwrap();
    let job = Paging {
        reserved: placed.reserved(),
        size: BlocksPerSection::Fixed(2),
        // Pages of further inputs and outputs would come first, and there are none.
        args: PageArgs { words: vec![0] },
        ..Paging::new(96, vec![Stream::contiguous("x", x.address(), 16)], vec![])
    };
    let plan = StreamPlan::new(job, &machine).unwrap();
    assert_eq!(plan.pages().len(), 12);
    let paged = device.page(&plan, &placed, 0, &[]).unwrap();
    let store = Descriptor::store(Target::Blocks { stride: 16 }, sums.address(), 0, 16);
    device.dma("sums", store, &paged.events()).unwrap();
    let run = device.finish().unwrap();
    assert_eq!(run.report.end, RunEnd::Finished);
    assert_eq!(run.report.findings, []);
    // 24 blocks a section, four sums side by side.
    assert_eq!(run.read(sums).unwrap(), [12.0; 16]);
    assert_accounts(&run.report);
}

/// A kernel that never gives a page back ends in a deadlock.
#[test]
fn a_kernel_that_gives_no_page_back_is_a_deadlock() {
    let text = ".program\n    wait 0\n    stop\n";
    let job = MapJob::new("old", 16);
    let done = map(assembled(text), vm("vm7"), &floats(4 * 40), &job);
    let RunEnd::Deadlock {
        kernel, waiting, ..
    } = &done.run.report.end
    else {
        panic!("{:?}", done.run.report.end);
    };
    assert_eq!(*kernel, None);
    assert_eq!(waiting[0].1, "old");
    assert_accounts(&done.run.report);
}
