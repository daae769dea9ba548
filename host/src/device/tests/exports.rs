use super::*;

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
