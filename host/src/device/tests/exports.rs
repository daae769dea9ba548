//! Tests of emitted runs, their replay, and exported timelines.

use super::*;

#[test]
fn an_emitted_run_replays_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut job = MapJob::new("slow", 16);
    (job.size, job.args, job.options.record) = (BlocksPerSection::Fixed(2), vec![50], true);
    let done = map(assembled(SLOW), vm("vm9"), &floats(4 * 21), &job);
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
        .run(replay.machine.clone(), DeviceOptions::default())
        .unwrap();
    assert_eq!(run.report, done.run.report);
    let output = &replay.outputs[0];
    assert_eq!(
        run.read_bytes(output.address, output.bytes).unwrap(),
        done.output
    );
    assert_eq!(
        crate::emit::RecordedFigures::measure_run(&run, &replay.outputs).unwrap(),
        replay.expected
    );
    // Recording does not change the report.
    job.options.record = false;
    assert_eq!(
        map(assembled(SLOW), vm("vm9"), &floats(4 * 21), &job)
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

/// Two plans on one device with a read of the result between them give the same report plain, recorded and
/// replayed.
#[test]
fn recording_and_replaying_change_nothing_in_a_longer_run() {
    let machine = vm("vm7");
    let run = |record: bool| {
        let options = DeviceOptions {
            record,
            ..checked()
        };
        let mut device = Device::with_options(machine.clone(), options);
        let placed = device.place("slow", assembled(SLOW)).unwrap();
        let x = device.alloc_from(&floats(4 * 300)).unwrap();
        let plan = StreamPlan::new(
            super::paging::job(&placed, 300, x.address(), x.address(), 9),
            &machine,
        )
        .unwrap();
        let kernel = PageKernel {
            name: "again".into(),
            entry: 0,
        };
        let first = device.page(&plan, &placed, 0, &[]).unwrap();
        // Time has begun, so the control CPU writes the arguments.
        let arguments = device.page_arguments(&plan).unwrap();
        let again = |device: &mut Device, after: &[Event]| {
            device.pages(&plan, &kernel, &arguments, after).unwrap()
        };
        let second = again(&mut device, &first.events());
        let seen = device.host_read("look", x).unwrap().unwrap();
        assert_eq!(seen, doubled(&doubled(&floats(4 * 300))));
        again(&mut device, &second.events());
        device.finish().unwrap()
    };
    let (plain, recorded) = (run(false), run(true));
    assert_eq!(recorded.report.cycles, plain.report.cycles);
    assert_eq!(recorded.report, plain.report);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    recorded.emit(&path).unwrap();
    let replay = crate::emit::Replay::read(&path).unwrap();
    let replayed = replay.run(machine.clone(), checked()).unwrap();
    assert_eq!(replayed.report, plain.report);
    // The recorded transfers deal blocks to four sections.
    let mut other = (*machine).clone();
    other.cp2.sections = 2;
    let refused = replay.run(Arc::new(other), checked()).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("for 4 sections; machine vm7 has 2")
    );
}

#[test]
fn the_timeline_exports() {
    let mut job = MapJob::new("slow & <steady>", 16);
    (job.size, job.args) = (BlocksPerSection::Fixed(2), vec![500]);
    let report = map(assembled(SLOW), vm("vm9"), &floats(4 * 30), &job)
        .run
        .report;
    let mut bytes = Vec::new();
    report.timeline.write_perfetto(&mut bytes, "vm9").unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let complete: Vec<_> = events.iter().filter(|e| e["ph"] == "X").collect();
    assert_eq!(complete.len(), report.timeline.slices.len());
    for track in 1..=3 {
        // Slices of a track do not overlap, except pages with their kernel.
        let mut spans: Vec<(f64, f64)> = complete
            .iter()
            .filter(|e| e["tid"] == track && e["cat"] != "kernel")
            .map(|e| (e["ts"].as_f64().unwrap(), e["dur"].as_f64().unwrap()))
            .collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(!spans.is_empty() && spans.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0 + 1e-9));
    }
    let svg = report.timeline.to_svg("a <title>");
    assert!(
        svg.contains("slow &amp; &lt;steady&gt; page 1 (page)") && svg.contains("a &lt;title&gt;"),
        "{svg}"
    );
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    // No label is centred where half of it would leave the picture.
    for text in svg.lines().filter(|l| l.contains("\"middle\"")) {
        let x: f64 = text
            .split_once("<text x=\"")
            .and_then(|(_, rest)| rest.split_once('"'))
            .map_or(0.0, |(x, _)| x.parse().unwrap());
        assert!(x <= 1152.0, "{text}");
    }

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
        .for_each(|s| windowed.push(s.start, s.end, || s.clone()));
    assert_eq!(windowed.slices.len(), 5);
    assert_eq!(windowed.dropped as usize + 5, report.timeline.slices.len());
    assert!(
        windowed
            .slices
            .iter()
            .all(|s| s.end.0 > 400 && s.start.0 < 12_000)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Any contents of the files give an error or a run that ends, never a panic.
    #[test]
    fn damaged_directories_are_errors_or_other_runs(
        which in 0usize..4, edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..4)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let mut job = MapJob::new("double", 16);
        job.options.record = true;
        map(assembled(DOUBLE), vm("vm7"), &floats(8), &job).run.emit(&path).unwrap();
        let file = path.join(["commands.json", "memory.bin", "kernel.elf", "machine.toml"][which]);
        let mut bytes = std::fs::read(&file).unwrap();
        for (at, value, digit) in edits {
            let digits: Vec<usize> = (0..bytes.len()).filter(|&i| bytes[i].is_ascii_digit()).collect();
            if digit && which != 2 && !digits.is_empty() {
                bytes[digits[at.index(digits.len())]] = b'0' + value % 10;
            } else {
                let i = at.index(bytes.len());
                bytes[i] = value;
            }
        }
        std::fs::write(&file, bytes).unwrap();
        if let Ok(replay) = crate::emit::Replay::read(&path) {
            let options = DeviceOptions { max_cycles: Some(100_000), ..checked() };
            if let Ok(run) = replay.run(replay.machine.clone(), options) {
                prop_assert_eq!(run.report.causes.total(), run.report.cycles);
                let _ = crate::emit::RecordedFigures::measure_run(&run, &replay.outputs);
            }
        }
    }
}
