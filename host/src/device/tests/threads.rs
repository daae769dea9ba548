//! Tests that reports do not depend on the number of host threads.

use super::*;
use cp2_emu::Engine;
use std::sync::atomic::AtomicU64;

/// Runs a job on `threads` threads, and returns the number of segments that were taken over.
fn on_threads(
    threads: usize,
    (program, machine, input, job): (&Arc<Program>, &Arc<Machine>, &[u8], &MapJob),
) -> (MapRun, u64) {
    let taken = Arc::new(AtomicU64::new(0));
    let job = MapJob {
        options: DeviceOptions {
            threads,
            stages: true,
            taken_over: Some(taken.clone()),
            ..job.options.clone()
        },
        ..job.clone()
    };
    let run = map(program.clone(), machine.clone(), input, &job);
    (run, taken.load(Ordering::Relaxed))
}

/// Runs a job on one thread and on several, and compares everything observable.
fn compared(threads: usize, task: (&Arc<Program>, &Arc<Machine>, &[u8], &MapJob)) -> (MapRun, u64) {
    let (one, none) = on_threads(1, task);
    let (many, taken) = on_threads(threads, task);
    assert_eq!(none, 0);
    assert_eq!(one.run.report.end, many.run.report.end);
    assert_eq!(one.run.report.cycles, many.run.report.cycles);
    assert_eq!(one.run.report.causes, many.run.report.causes);
    assert!(one.run.report == many.run.report);
    assert!(one.output == many.output);
    assert!(one.run.processor() == many.run.processor());
    (many, taken)
}

fn paged(blocks: u32, buffering: Buffering) -> MapJob {
    MapJob {
        size: BlocksPerSection::Fixed(blocks),
        buffering,
        ..MapJob::new("paged", 16)
    }
}

#[test]
fn pages_run_on_several_threads() {
    let program = assembled(SLOW);
    let input = floats(4 * 4 * 2 * 1000);
    for (name, slow) in [("vm7", 0), ("vm7", 300), ("vm9", 120)] {
        let job = MapJob {
            args: vec![slow],
            ..paged(2, Buffering::Double)
        };
        for threads in [2, 4] {
            let (run, taken) = compared(threads, (&program, &vm(name), &input, &job));
            assert_eq!(run.output, doubled(&input));
            assert_eq!(taken, threads as u64 - 1, "{name} {slow} {threads}");
        }
    }
}

/// Returns a strategy for machines whose transfers take fractions of cycles.
fn odd_machine() -> impl Strategy<Value = Arc<Machine>> {
    let bandwidth = prop::sample::select(vec![(16, 1), (32, 3), (100, 7), (8, 1)]);
    (
        any::<bool>(),
        1u32..=2,
        bandwidth,
        0u64..40,
        0u64..20,
        1u64..60,
    )
        .prop_map(|(vm9, ports, bandwidth, idle, queued, completion)| {
            let mut machine = Machine::builtin(if vm9 { "vm9" } else { "vm7" }).unwrap();
            machine.cp2.dmem_ports = ports;
            (machine.dma.bandwidth.num, machine.dma.bandwidth.den) = bandwidth;
            machine.dma.setup_idle.0 = idle;
            machine.dma.setup_queued.0 = queued;
            machine.host.completion.0 = completion;
            Arc::new(machine)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn nothing_depends_on_the_number_of_threads(
        machine in odd_machine(), blocks in 1usize..6000, slow in 0u32..60, in_place: bool, threads in 2usize..6,
        size in 1u32..4, engine in prop::sample::select(vec![Engine::Reference, Engine::Portable, Engine::Fast]),
        buffering in prop::sample::select(vec![Buffering::Single, Buffering::Double, Buffering::Triple]),
        limit in prop::option::of(0.0f64..1.1), kept in prop::sample::select(vec![0, 500, 100_000]),
    ) {
        let program = assembled(SLOW);
        let input = floats(4 * blocks);
        let mut job = MapJob { in_place, args: vec![slow], ..paged(size, buffering) };
        job.options.engine = engine;
        job.options.trace.limit = kept;
        if let Some(part) = limit {
            let (whole, _) = on_threads(1, (&program, &machine, &input, &job));
            job.options.max_cycles = Some((whole.run.report.cycles as f64 * part) as u64);
        }
        compared(threads, (&program, &machine, &input, &job));
    }
}

/// Registers carry data from page to page, so no guess is right.
#[test]
fn sums_over_all_pages_are_no_guesswork() {
    let text = DOUBLE.replace("add q1, q0, q0", "add q2, q2, q0\n        mov q1, q2");
    let input = floats(4 * 4 * 1000);
    let task = (
        &assembled(&text),
        &vm("vm7"),
        &input[..],
        &paged(1, Buffering::Double),
    );
    let (_, taken) = compared(3, task);
    assert_eq!(taken, 0);
}

/// Kernel whose pages take as long as their data say, or fault.
const DATA: &str = "
.include \"page.s\"
.program
    page_begin
    ldx2 a0, [a15]
    ldx c0, [a0]
    ldx a2, [a0 + 8]
    .rept 8
    nop
    .endr
    loop c0 {
        nop
    }
    ldx c1, [a2]
    ldq q0, [a0]
    stq q0, [a1]
    page_end
    stop
";

/// Returns a block of [`DATA`]: a number of passes, and an address.
fn block(passes: u32, address: u32) -> Vec<u8> {
    [passes, 0, address, 0]
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .collect()
}

#[test]
fn kernels_may_look_at_their_data() {
    let program = assembled(DATA);
    let machine = vm("vm7");
    let job = paged(1, Buffering::Double);
    let array = |passes: &dyn Fn(usize) -> u32, bad: Option<usize>| -> Vec<u8> {
        let address = |i: usize| if bad == Some(i / 4) { 1 << 30 } else { 0 };
        (0..4000)
            .flat_map(|i| block(passes(i / 4), address(i)))
            .collect()
    };
    // Times that differ from page to page.
    let (_, taken) = compared(
        2,
        (
            &program,
            &machine,
            &array(&|k| 1 + (k * k % 1009 % 11) as u32 * 20, None),
            &job,
        ),
    );
    assert_eq!(taken, 0);
    // Equal times except for a few pages: a segment with one is thrown away, others are not.
    let seldom = |k: usize| if k % 400 == 399 { 900 } else { 20 };
    compared(4, (&program, &machine, &array(&seldom, None), &job));
    // A fault in the middle, at several positions.
    for bad in [3, 100, 300, 611, 998] {
        let input = array(&|_| 20, Some(bad));
        let (run, _) = compared(3, (&program, &machine, &input, &job));
        assert!(matches!(run.run.report.end, RunEnd::Fault(_)), "{bad}");
    }
}

/// The run would take hours; the interrupt ends it, at any time of the host.
#[test]
fn an_interrupt_ends_all_threads() {
    let (flag, progress) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let mut job = MapJob {
        args: vec![1 << 30],
        ..paged(1, Buffering::Double)
    };
    job.options.interrupt = Some(flag.clone());
    job.options.progress = Some(progress.clone());
    let input = floats(4 * 4 * 20_000);
    let (program, machine) = (assembled(SLOW), vm("vm7"));
    let run = std::thread::scope(|scope| {
        let run = || on_threads(3, (&program, &machine, &input, &job)).0.run;
        let run = std::thread::Builder::new()
            .spawn_scoped(scope, run)
            .unwrap();
        while progress.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        flag.store(true, Ordering::Relaxed);
        run.join().unwrap()
    });
    assert_eq!(run.report.end, RunEnd::Interrupted);
    assert_accounts(&run.report);
}

/// Pages that are loaded from addresses where others are stored, in consecutive passes.
#[test]
fn passes_follow_each_other() {
    let run = |threads: usize| {
        let machine = vm("vm7");
        let taken = Arc::new(AtomicU64::new(0));
        let options = DeviceOptions {
            threads,
            stages: true,
            taken_over: Some(taken.clone()),
            ..DeviceOptions::default()
        };
        let mut device = Device::with_options(machine.clone(), options);
        let placed = device.place("slow", assembled(SLOW)).unwrap();
        let input = floats(4 * 4 * 500);
        let x = device.alloc_from(&input).unwrap();
        let y = device.alloc::<u8>(x.bytes()).unwrap();
        let mut reports = Vec::new();
        for again in 0..3 {
            let mut after = vec![device.load(&placed, &[]).unwrap()];
            for (from, to) in [(x, y), (y, x), (x, x)] {
                let stream = |name, at: Buffer<u8>| Stream::contiguous(name, at.address(), 16);
                let paging = Paging {
                    reserved: placed.reserved(),
                    size: BlocksPerSection::Fixed(1),
                    args: PageArgs { words: vec![7] },
                    ..Paging::new(2000, vec![stream("x", from)], vec![stream("y", to)])
                };
                let plan = StreamPlan::new(paging, &machine).unwrap();
                let arguments = device.page_arguments(&plan).unwrap();
                let kernel = PageKernel {
                    name: format!("pass {again}"),
                    entry: 0,
                };
                after = device
                    .pages(&plan, &kernel, &arguments, &after)
                    .unwrap()
                    .events()
                    .to_vec();
            }
            reports.push(device.finish_and_restart().unwrap());
        }
        let run = device.finish().unwrap();
        (reports, run.read(x).unwrap(), taken.load(Ordering::Relaxed))
    };
    let (one, many) = (run(1), run(2));
    assert!(one.0 == many.0 && one.1 == many.1);
    // The last pass of each round loads what it stores.
    assert_eq!((one.2, many.2), (0, 6));
}
