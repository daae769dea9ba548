//! Tests of runs that end early, and of requests that are refused.

use super::*;

#[test]
fn every_early_end_keeps_its_report() {
    let run = |text: &str, change: fn(&mut DeviceOptions), more: fn(&mut Device)| {
        let mut options = DeviceOptions::default();
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
                || report.end == RunEnd::Interrupted
        );
        report
    };
    let endless = ".program\nself:\n    jmp self\n    stop\n";
    let limit = run(endless, |o| o.max_cycles = Some(100_000), |_| {});
    assert_eq!(limit.end, RunEnd::MaxCycles { limit: 100_000 });
    assert!(limit.cycles.abs_diff(100_000) < 10 && limit.counters.words > 20_000);
    let stopped = run(
        endless,
        |o| o.interrupt = Some(Arc::new(AtomicBool::new(true))),
        |_| {},
    )
    .end;
    assert_eq!(stopped, RunEnd::Interrupted);

    let fault = run(
        ".program\n    nop\n    movi a0, 131056\n    ldp r0, [a0]\n    stop\n",
        |_| {},
        |_| {},
    );
    assert!(
        matches!(&fault.end, RunEnd::Fault(f) if f.pc == 2),
        "{}",
        fault.end
    );

    let kernel = run(".program\n    wait 4\n    stop\n", |_| {}, |_| {});
    assert_eq!(
        kernel.end,
        RunEnd::Deadlock {
            since: kernel.cycles,
            kernel: Some((4, 0)),
            waiting: vec![],
            unsignalled: None,
        }
    );
    let host = run(
        ".program\n    stop\n",
        |_| {},
        |d| {
            d.command(Command::new(
                "for ever",
                HostAction::WaitSignal { event: 1 },
            ))
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
        DeviceOptions {
            interrupt: Some(flag.clone()),
            ..DeviceOptions::default()
        },
    );
    let placed = device
        .place("k", assembled(".program\nself:\n    jmp self\n    stop\n"))
        .unwrap();
    let loaded = device.load(&placed, &[]).unwrap();
    device.launch("k", 0, 0, &[loaded]).unwrap();
    let finish = move || device.finish().unwrap();
    let run = std::thread::Builder::new().spawn(finish).unwrap();
    flag.store(true, Ordering::Relaxed);
    assert_eq!(run.join().unwrap().report.end, RunEnd::Interrupted);
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
        refused(device.launch("k", 0, 0, &[Event::from_number(0)]))
            .contains("waits for command 0, which does not come before")
    );
    assert!(
        refused(device.command(Command::new("p", HostAction::Post { event: 32 })))
            .contains("32 events")
    );
    assert!(
        refused(device.command(Command::new(
            "w",
            HostAction::Work {
                cycles: u64::MAX,
                bytes: 9
            }
        )))
        .contains("exceeds the range")
    );
    assert!(
        refused(device.command(Command::new(
            "r",
            HostAction::Read {
                address: u64::MAX,
                bytes: 9,
                decided: None
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
    // None of the refused requests was carried out.
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

/// Rows of a message that no memory has, or that are endless, are refused when the command is given, as a wait is that
/// ends behind all time.
#[test]
fn rows_of_messages_and_waits_are_refused_when_given() {
    let mut device = Device::new(vm("vm7"));
    let mut refused = |row, rows, pitch| {
        let region = MessageRegion {
            address: 0,
            row,
            rows,
            pitch,
        };
        let sent = device.send_message("m", 0, (1, 0), region, &[]);
        sent.unwrap_err().to_string()
    };
    for (row, rows, pitch) in [
        (0, u64::MAX, 0),
        (1, u64::MAX, 0),
        (1 << 29, 8, 0),
        (0, 2, 16),
        (32, 2, 16),
    ] {
        let message = refused(row, rows, pitch);
        assert!(
            message.contains("do not overlap"),
            "{row} {rows} {pitch}: {message}"
        );
    }
    for (row, rows, pitch) in [(1, u64::MAX, 1), (u64::MAX, 1, 0), (16, 2, u64::MAX)] {
        let message = refused(row, rows, pitch);
        assert!(
            message.contains("lie outside"),
            "{row} {rows} {pitch}: {message}"
        );
    }
    let late = device.await_messages("w", 1 << 60, 0, Vec::new());
    let late = late.unwrap_err().to_string();
    assert!(
        late.contains("exceeds the range of simulated time"),
        "{late}"
    );
}
