//! The device with tiny kernels.

use super::*;
use crate::map::{MapJob, map};
use crate::schedule::{BlocksPerSection, Buffering};
use crate::timeline::{Category, Slice};
use cp2_asm::{Program, Source, assemble};
use cp2_dma::Target;
use cp2_emu::Cause;
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Doubles every float; blocks of 16 bytes.
pub(crate) const DOUBLE: &str = "
.program
    ldx2 a0, [a15]
    ldx c0, [a15 + 8]
    loop c0 {
        ldq q0, [a0]+16
        add q1, q0, q0
        stq q1, [a1]+16
    }
    stop
";

/// Works on nothing for a number of cycles given in word 4, then doubles.
const SLOW: &str = "
.program
    ldx2 a0, [a15]
    ldx c0, [a15 + 8]
    ldx c1, [a15 + 16]
    loop c1 {
        nop
    }
    loop c0 {
        ldq q0, [a0]+16
        add q1, q0, q0
        stq q1, [a1]+16
    }
    stop
";

pub(crate) fn vm(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

pub(crate) fn assembled(text: &str) -> Arc<Program> {
    match assemble(&Source::new("test.s", text), &cp2_asm::Options::default()) {
        Ok(assembly) => Arc::new(assembly.program),
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

fn checked() -> Options {
    Options {
        check: true,
        ..Options::default()
    }
}

fn floats(n: usize) -> Vec<u8> {
    (0..n)
        .flat_map(|i| (i as f32 - 7.5).to_le_bytes())
        .collect()
}

fn doubled(bytes: &[u8]) -> Vec<u8> {
    bytes
        .chunks_exact(4)
        .flat_map(|b| (2.0 * f32::from_le_bytes([b[0], b[1], b[2], b[3]])).to_le_bytes())
        .collect()
}

fn assert_accounts(report: &RunReport) {
    assert_eq!(
        report.causes.total(),
        report.cycles,
        "{:?} {:?}",
        report.causes.to_map(),
        report.end
    );
}

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
        let done = map(assembled(SLOW), machine.clone(), &input, &job).unwrap();
        let report = &done.run.report;
        prop_assert_eq!(&report.end, &End::Finished);
        prop_assert_eq!(&done.output, &doubled(&input));
        prop_assert_eq!(&report.findings, &vec![]);
        prop_assert_eq!(report.causes.total(), report.cycles);
        prop_assert_eq!(report.counters.kernels, done.plan.pages().len());
        prop_assert_eq!(report.dma.stored, input.len() as u64);
        // Nothing in it depends on the computer that simulates.
        let again = map(assembled(SLOW), machine, &input, &job).unwrap();
        prop_assert_eq!(&again.run.report, report);
    }
}

fn slices<'a>(report: &'a RunReport, category: Category) -> impl Iterator<Item = &'a Slice> + 'a {
    report
        .timeline
        .slices
        .iter()
        .filter(move |s| s.category == category)
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
    let done = map(assembled(SLOW), vm("vm7"), &floats(4 * 32 * 6), &job).unwrap();
    let report = &done.run.report;
    for kernel in slices(report, Category::Kernel) {
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
    assert_eq!(slices(report, Category::Kernel).count(), 6);
    // The kernel is the bottleneck: between pages only launch and completion are lost.
    assert_eq!(report.causes.get(Cause::Launch), 5 * 80 + 40);
    assert_accounts(report);
}

#[test]
fn buffering_pays() {
    let run = |buffering| {
        let mut job = MapJob::new("slow", 16);
        (job.size, job.buffering, job.in_place, job.args) =
            (BlocksPerSection::Fixed(64), buffering, true, vec![300]);
        map(assembled(SLOW), vm("vm7"), &floats(4 * 256 * 8), &job)
            .unwrap()
            .run
            .report
            .cycles
    };
    let (single, double) = (run(Buffering::Single), run(Buffering::Double));
    assert!(double * 10 < single * 8, "single {single}, double {double}");
}

/// Copies through DMEM with exact times, from the numbers of the machine.
#[test]
fn a_load_and_a_store_take_what_the_machine_says() {
    let mut device = Device::new(vm("vm7"));
    let x = device.alloc_from(&[7u32; 64]).unwrap();
    let y = device.alloc::<u32>(64).unwrap();
    let load = device
        .dma(
            "x",
            Descriptor::load(Target::Section(0), x.address(), 0, 256),
            &[],
        )
        .unwrap();
    device
        .dma(
            "y",
            Descriptor::store(Target::Section(0), y.address(), 0, 256),
            &[load],
        )
        .unwrap();
    let run = device.finish().unwrap();
    assert_eq!(run.read(y).unwrap(), [7u32; 64]);
    // Descriptor 8, set-up 32, 16 granules, then queued set-up 4, 16 granules, seen 40 later.
    assert_eq!(run.report.cycles, 8 + 32 + 16 + 4 + 16 + 40);
    assert_eq!(run.report.dma.busy.0, 32 + 16 + 4 + 16);
    assert_eq!(run.report.causes.get(Cause::WaitStore), 76);
    assert_eq!(run.report.causes.get(Cause::WaitHost), 40);
    assert_accounts(&run.report);
}

#[test]
fn a_launch_is_charged_by_what_it_waited_for() {
    let program = assembled(".program\n    stop\n");
    let cycles = |prepare: fn(&mut Device, Event) -> Event| {
        let mut device = Device::new(vm("vm7"));
        let placed = device.place("k", program.clone()).unwrap();
        let loaded = device.load(&placed, &[]).unwrap();
        let ready = prepare(&mut device, loaded);
        device.launch("k", 0, 0, &[loaded, ready]).unwrap();
        let report = device.finish().unwrap().report;
        assert_accounts(&report);
        report
    };
    // Program of one granule: 8 + 32 + 1, seen 40 later.
    let plain = cycles(|_, loaded| loaded);
    assert_eq!(
        (
            plain.causes.get(Cause::WaitLoad),
            plain.causes.get(Cause::Launch)
        ),
        (81, 40)
    );
    let work = cycles(|d, l| {
        d.command(
            Command::new(
                "work",
                Action::Work {
                    cycles: 500,
                    bytes: 100,
                },
            )
            .after(&[l]),
        )
        .unwrap()
    });
    // The work is seen last: all before the launch is the host's.
    assert_eq!(work.causes.get(Cause::WaitHost), 81 + 600 + 40);
    assert_eq!(work.cycles, plain.cycles + 600);
}

#[test]
fn the_control_cpu_pays_for_every_byte() {
    let mut device = Device::new(vm("vm7"));
    let x = device.alloc::<u8>(1000).unwrap();
    device.host_write("fill", x, &[5; 1000], &[]).unwrap();
    assert_eq!(device.host_read("look", x).unwrap().unwrap(), [5; 1000]);
    assert!(matches!(device.write(x, &[1]), Err(HostError::Started)));
    device.host_write("again", x, &[6; 10], &[]).unwrap();
    let run = device.finish().unwrap();
    assert_eq!(run.report.cycles, 1000 + 1000 + 10);
    assert_eq!(run.report.causes.get(Cause::WaitHost), 2010);
    assert_eq!(run.read(x).unwrap()[9..11], [6, 5]);
}

#[test]
fn the_queue_holds_what_the_machine_says() {
    let mut device = Device::new(vm("vm7"));
    for _ in 0..40 {
        device
            .dma(
                "x",
                Descriptor::load(Target::Section(0), 0, 0, 32 * 1024),
                &[],
            )
            .unwrap();
    }
    let report = device.finish().unwrap().report;
    assert_eq!(report.dma.transfers, 40);
    // Back to back all the same: one set-up from idle, the rest queued.
    assert_eq!(report.cycles, 8 + 32 + 40 * 2048 + 39 * 4 + 40);
    let built: Vec<u64> = slices(&report, Category::Descriptor)
        .map(|s| s.start.0)
        .collect();
    assert_eq!(built[15], 15 * 8);
    // The seventeenth waits until the first is seen complete.
    assert_eq!(built[16], 8 + 32 + 2048 + 40);
}

#[test]
fn signals_and_events_pass_between_kernel_and_host() {
    let program = assembled(".program\n    signal 3\n    wait 5\n    stop\n");
    let mut device = Device::new(vm("vm7"));
    let placed = device.place("k", program).unwrap();
    let loaded = device.load(&placed, &[]).unwrap();
    device.launch("k", 0, 0, &[loaded]).unwrap();
    let seen = device
        .command(Command::new("wait", Action::WaitSignal { event: 3 }))
        .unwrap();
    let work = device
        .command(
            Command::new(
                "think",
                Action::Work {
                    cycles: 100,
                    bytes: 0,
                },
            )
            .after(&[seen]),
        )
        .unwrap();
    device
        .command(Command::new("go", Action::Post { event: 5 }).after(&[work]))
        .unwrap();
    let report = device.finish().unwrap().report;
    assert_eq!(report.end, End::Finished);
    assert!(
        report.causes.get(Cause::WaitHost) >= 140,
        "{:?}",
        report.causes.to_map()
    );
    assert_accounts(&report);
}

#[test]
fn every_early_end_keeps_its_report() {
    let run = |text: &str, change: fn(&mut Options), more: fn(&mut Device)| {
        let mut options = Options::default();
        change(&mut options);
        let mut device = Device::with_options(vm("vm7"), options);
        let placed = device.place("k", assembled(text)).unwrap();
        let loaded = device.load(&placed, &[]).unwrap();
        device.launch("k", 0, 0, &[loaded]).unwrap();
        more(&mut device);
        let report = device.finish().unwrap().report;
        assert_accounts(&report);
        assert!(
            report.dump.is_some() && !report.timeline.slices.is_empty()
                || report.end == End::Interrupted
        );
        report
    };
    let endless = ".program\nself:\n    jmp self\n    stop\n";
    let limit = run(endless, |o| o.max_cycles = Some(100_000), |_| {});
    assert_eq!(limit.end, End::MaxCycles { limit: 100_000 });
    assert!(limit.cycles.abs_diff(100_000) < 10 && limit.counters.words > 20_000);
    let stopped = run(
        endless,
        |o| o.interrupt = Some(Arc::new(AtomicBool::new(true))),
        |_| {},
    )
    .end;
    assert_eq!(stopped, End::Interrupted);

    let fault = run(
        ".program\n    nop\n    movi a0, 131056\n    ldp r0, [a0]\n    stop\n",
        |_| {},
        |_| {},
    );
    assert!(
        matches!(&fault.end, End::Fault(f) if f.pc == 2),
        "{}",
        fault.end
    );

    let kernel = run(".program\n    wait 4\n    stop\n", |_| {}, |_| {});
    assert_eq!(
        kernel.end,
        End::Deadlock {
            kernel: Some((4, 0)),
            waiting: vec![]
        }
    );
    let host = run(
        ".program\n    stop\n",
        |_| {},
        |d| {
            d.command(Command::new("for ever", Action::WaitSignal { event: 1 }))
                .unwrap();
        },
    );
    assert!(host.end.to_string().contains("`for ever`"), "{}", host.end);
}

#[test]
fn an_interrupt_ends_a_run_from_outside() {
    let flag = Arc::new(AtomicBool::new(false));
    let mut device = Device::with_options(
        vm("vm7"),
        Options {
            interrupt: Some(flag.clone()),
            ..Options::default()
        },
    );
    let placed = device
        .place("k", assembled(".program\nself:\n    jmp self\n    stop\n"))
        .unwrap();
    let loaded = device.load(&placed, &[]).unwrap();
    device.launch("k", 0, 0, &[loaded]).unwrap();
    let run = std::thread::spawn(move || device.finish().unwrap());
    flag.store(true, Ordering::Relaxed);
    assert_eq!(run.join().unwrap().report.end, End::Interrupted);
}

#[test]
fn what_cannot_be_done_is_refused_when_given() {
    let mut device = Device::new(vm("vm7"));
    let refused = |result: Result<Event, HostError>| result.unwrap_err().to_string();
    assert!(
        refused(device.dma("x", Descriptor::load(Target::Section(9), 0, 0, 16), &[]))
            .contains("`x`")
    );
    assert!(
        refused(device.launch("k", 0, 0, &[Event::at(0)]))
            .contains("waits for command 0, which does not come before")
    );
    assert!(
        refused(device.command(Command::new("p", Action::Post { event: 32 })))
            .contains("32 events")
    );
    assert!(
        refused(device.command(Command::new(
            "w",
            Action::Work {
                cycles: u64::MAX,
                bytes: 9
            }
        )))
        .contains("exceeds the range")
    );
    assert!(
        refused(device.command(Command::new(
            "r",
            Action::Read {
                address: u64::MAX,
                bytes: 9
            }
        )))
        .contains("lie outside")
    );
    assert!(matches!(
        device.alloc::<u64>(u64::MAX),
        Err(HostError::TooLarge { .. })
    ));
    assert!(matches!(
        device.alloc::<u64>(1 << 40),
        Err(HostError::OutOfMemory { .. })
    ));
    let big = Program {
        words: vec![0; 8193],
        ..Program::default()
    };
    assert!(matches!(
        device.place("big", Arc::new(big)),
        Err(HostError::ProgramTooLarge {
            words: 8193,
            limit: 8192
        })
    ));
    let outside = Program {
        dmem: vec![cp2_asm::Segment {
            address: 65_530,
            bytes: vec![1; 8],
        }],
        words: vec![0],
        ..Program::default()
    };
    assert!(matches!(
        device.place("data", Arc::new(outside)),
        Err(HostError::DataOutside { .. } | HostError::Machine(_))
    ));
    // Nothing was taken.
    assert_eq!(device.finish().unwrap().report.cycles, 0);
}

#[test]
fn a_launch_outside_the_program_is_an_error_of_the_command() {
    let mut device = Device::new(vm("vm7"));
    device.launch("nowhere", 1 << 20, 0, &[]).unwrap();
    assert!(
        device
            .finish()
            .unwrap_err()
            .to_string()
            .contains("`nowhere`")
    );
}

#[test]
fn data_segments_that_touch_are_one_load() {
    let segment = |address, bytes: &[u8]| cp2_asm::Segment {
        address,
        bytes: bytes.to_vec(),
    };
    let stop = assembled(".program\n    stop\n");
    let dmem = vec![
        segment(8, &[1; 4]),
        segment(12, &[2; 12]),
        segment(100, &[3; 4]),
    ];
    let program = Program {
        dmem,
        ..(*stop).clone()
    };
    let parts = program::parts(&program, &vm("vm7")).unwrap();
    let data: Vec<_> = parts[1..].iter().map(|p| (p.1, p.2.clone())).collect();
    let mut first = vec![0; 32];
    first[8..12].fill(1);
    first[12..24].fill(2);
    let mut second = vec![0; 16];
    second[4..8].fill(3);
    assert_eq!(data, [(0, first), (96, second)]);
}

#[test]
fn a_long_stream_is_taken_a_window_at_a_time() {
    use std::cell::Cell;
    let made = Cell::new(0u64);
    let mut device = Device::with_options(
        vm("vm7"),
        Options {
            trace: Trace::none(),
            ..Options::default()
        },
    );
    let mut most = 0;
    let n = 100_000;
    let last = device
        .stream(|first| {
            let made = &made;
            (0..n).map(move |i| {
                made.set(i);
                let after: Vec<Event> = i
                    .checked_sub(1)
                    .map(|b| Event::at(first.number() + b))
                    .into_iter()
                    .collect();
                Command::new(
                    "w",
                    Action::Work {
                        cycles: 1,
                        bytes: 0,
                    },
                )
                .after(&after)
            })
        })
        .unwrap();
    most = most.max(last.number());
    assert_eq!(most, n - 1);
    // The stream returns with its last commands still in the window.
    let done = device.engine.processor.now().0;
    assert!(done + WINDOW as u64 >= n && done < n, "{done}");
    let report = device.finish().unwrap().report;
    assert_eq!((report.cycles, report.timeline.dropped), (n, n));
}

#[test]
fn an_emitted_run_replays_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut job = MapJob::new("slow", 16);
    (job.size, job.args, job.options.record) = (BlocksPerSection::Fixed(2), vec![50], true);
    let done = map(assembled(SLOW), vm("vm9"), &floats(4 * 21), &job).unwrap();
    done.run.emit(&path).unwrap();
    let replay = crate::emit::Replay::read(&path).unwrap();
    assert_eq!(
        *replay.machine,
        Machine {
            provenance: replay.machine.provenance.clone(),
            ..(*vm("vm9")).clone()
        }
    );
    let run = replay
        .run(replay.machine.clone(), Options::default())
        .unwrap();
    assert_eq!(run.report, done.run.report);
    let output = &replay.outputs[0];
    assert_eq!(
        run.read_bytes(output.address, output.bytes).unwrap(),
        done.output
    );
    assert_eq!(
        crate::emit::Expected::of(&run, &replay.outputs).unwrap(),
        replay.expected
    );
    // Recording changes nothing.
    job.options.record = false;
    assert_eq!(
        map(assembled(SLOW), vm("vm9"), &floats(4 * 21), &job)
            .unwrap()
            .run
            .report,
        done.run.report
    );
    // A damaged directory is an error.
    std::fs::write(path.join("memory.bin"), b"short").unwrap();
    assert!(
        crate::emit::Replay::read(&path)
            .unwrap_err()
            .to_string()
            .contains("memory.bin holds 5 B")
    );
    std::fs::write(path.join("commands.json"), b"{}").unwrap();
    assert!(
        crate::emit::Replay::read(&path)
            .unwrap_err()
            .to_string()
            .contains("commands.json")
    );
}

#[test]
fn the_timeline_exports() {
    let mut job = MapJob::new("slow & <steady>", 16);
    (job.size, job.args) = (BlocksPerSection::Fixed(2), vec![500]);
    let report = map(assembled(SLOW), vm("vm9"), &floats(4 * 30), &job)
        .unwrap()
        .run
        .report;
    let mut bytes = Vec::new();
    report.timeline.write_perfetto(&mut bytes, "vm9").unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let complete: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
    assert_eq!(complete.len(), report.timeline.slices.len());
    for track in 1..=3 {
        // No two slices of a track overlap.
        let mut spans: Vec<(f64, f64)> = complete
            .iter()
            .filter(|e| e["tid"] == track)
            .map(|e| (e["ts"].as_f64().unwrap(), e["dur"].as_f64().unwrap()))
            .collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(!spans.is_empty() && spans.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0 + 1e-9));
    }
    let svg = report.timeline.to_svg("a <title>");
    assert!(
        svg.contains("slow &amp; &lt;steady&gt; page 1 (kernel)")
            && svg.contains("a &lt;title&gt;"),
        "{svg}"
    );
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());

    let mut windowed = crate::timeline::Timeline::new(
        report.timeline.base,
        Trace {
            window: 100..3000,
            limit: 5,
        },
    );
    report
        .timeline
        .slices
        .iter()
        .for_each(|s| windowed.push(s.clone()));
    assert_eq!(windowed.slices.len(), 5);
    assert_eq!(windowed.dropped as usize + 5, report.timeline.slices.len());
    assert!(
        windowed
            .slices
            .iter()
            .all(|s| s.end.0 > 400 && s.start.0 < 12_000)
    );
}
