//! Tests of commands: times, launches, the DMA queue, signals and streams.

use super::*;

/// A copy through DMEM takes exactly the times of the machine.
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
    // The store is what the run waits for last: its own time and the first
    // descriptor; while the load ahead of it moves, it waits for the load.
    assert_eq!(run.report.causes.get(Cause::WaitLoad), 32 + 16);
    assert_eq!(run.report.causes.get(Cause::WaitStore), 8 + 4 + 16);
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
                HostAction::Work {
                    cycles: 500,
                    bytes: 100,
                },
            )
            .wait_for(&[l]),
        )
        .unwrap()
    });
    // The work is seen last: all before the launch is the host's.
    assert_eq!(work.causes.get(Cause::WaitHost), 81 + 600 + 40);
    assert_eq!(work.cycles, plain.cycles + 600);
}

/// A launch that takes no time still takes its own cycle: the first issue is in the next one.
#[test]
fn a_launch_that_takes_no_time_is_accounted_for() {
    let mut machine = (*vm("vm7")).clone();
    machine.host.launch = cp2_machine::Cycles(0);
    let mut device = Device::new(Arc::new(machine));
    let placed = device
        .place("k", assembled(".program\n    stop\n"))
        .unwrap();
    let mut ready = device.load(&placed, &[]).unwrap();
    for _ in 0..3 {
        ready = device.launch("k", 0, 0, &[ready]).unwrap();
    }
    let report = device.finish().unwrap().report;
    // One cycle before each launch, and for the last two the time until the CPU sees the kernel before stop.
    assert_eq!(report.causes.get(Cause::Launch), 3 + 2 * 40);
    assert_accounts(&report);
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
    // The transfers are back to back nonetheless: one set-up from idle, the rest queued.
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
        .command(Command::new("wait", HostAction::WaitSignal { event: 3 }))
        .unwrap();
    let work = device
        .command(
            Command::new(
                "think",
                HostAction::Work {
                    cycles: 100,
                    bytes: 0,
                },
            )
            .wait_for(&[seen]),
        )
        .unwrap();
    device
        .command(Command::new("go", HostAction::Post { event: 5 }).wait_for(&[work]))
        .unwrap();
    let report = device.finish().unwrap().report;
    assert_eq!(report.end, RunEnd::Finished);
    assert!(
        report.causes.get(Cause::WaitHost) >= 140,
        "{:?}",
        report.causes.to_map()
    );
    assert_accounts(&report);
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
        DeviceOptions {
            trace: Trace::none(),
            ..DeviceOptions::default()
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
                    .map(|b| Event::from_number(first.number() + b))
                    .into_iter()
                    .collect();
                Command::new(
                    "w",
                    HostAction::Work {
                        cycles: 1,
                        bytes: 0,
                    },
                )
                .wait_for(&after)
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

/// Returns a strategy for commands of a small world: transfers, three kernels, work, events.
fn any_command() -> impl Strategy<Value = (HostAction, Vec<prop::sample::Index>)> {
    let size = (1u64..64).prop_map(|n| n * 16);
    let action = prop_oneof![
        (size, any::<bool>(), 0u32..4).prop_map(|(bytes, load, section)| {
            let target = Target::Section(section);
            let descriptor = if load {
                Descriptor::load(target, 65_536, 0, bytes)
            } else {
                Descriptor::store(target, 65_536, 0, bytes)
            };
            HostAction::Dma(descriptor.into())
        }),
        // `stop`; work, then `stop`; a signal and a wait.
        prop::sample::select(vec![0, 1, 4]).prop_map(|entry| HostAction::Launch {
            entry,
            args: 0,
            protection: None
        }),
        (0u64..200, 0u64..200).prop_map(|(cycles, bytes)| HostAction::Work { cycles, bytes }),
        (0u64..64).prop_map(|n| HostAction::Write {
            address: 65_536,
            bytes: vec![1; n as usize]
        }),
        (0u64..64).prop_map(|bytes| HostAction::Read {
            address: 0,
            bytes,
            decided: None
        }),
        Just(HostAction::Post { event: 1 }),
        Just(HostAction::WaitSignal { event: 2 }),
    ];
    (
        action,
        prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    )
}

const SMALL: &str = "
.program
    stop
    loop 30 {
        nop
    }
    stop
    signal 2
    wait 1
    stop
";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_commands_end_and_are_accounted_for(
        commands in prop::collection::vec(any_command(), 0..120), vm9: bool, max in prop::option::of(1u64..5000),
    ) {
        let machine = vm(if vm9 { "vm9" } else { "vm7" });
        let run = || {
            let options = DeviceOptions { max_cycles: max, ..DeviceOptions::default() };
            let mut device = Device::with_options(machine.clone(), options);
            let placed = device.place("small", assembled(SMALL)).unwrap();
            let loaded = device.load(&placed, &[]).unwrap();
            for (i, (action, after)) in commands.iter().enumerate() {
                let mut after: Vec<Event> = after.iter().map(|d| Event::from_number(d.index(i + 1) as u64)).collect();
                after.push(loaded);
                device.command(Command::new("c", action.clone()).wait_for(&after)).unwrap();
            }
            device.finish().unwrap().report
        };
        let report = run();
        prop_assert_eq!(report.causes.total(), report.cycles, "{:?}", report.end);
        prop_assert_eq!(&run(), &report);
        let has = |wanted: fn(&HostAction) -> bool| commands.iter().any(|c| wanted(&c.0));
        match &report.end {
            RunEnd::Finished => prop_assert_eq!(report.host.commands, commands.len() as u64 + 1),
            RunEnd::Deadlock { .. } => {
                let waits = has(|a| matches!(a, HostAction::WaitSignal { .. } | HostAction::Launch { entry: 4, .. }));
                prop_assert!(waits);
            }
            RunEnd::MaxCycles { limit } => prop_assert!(Some(*limit) == max && report.cycles + 60 >= *limit),
            other => prop_assert!(false, "{other:?}"),
        }
    }
}
