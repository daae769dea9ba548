//! Tests of kernels that access foreign areas or end before their pages.

use super::*;
use cp2_emu::{Objection, Owner};

/// Runs the job on 4 x 40 blocks of 16 bytes under the checkers.
fn mapped(text: &str, change: impl FnOnce(&mut MapJob)) -> MapRun {
    let mut job = MapJob::new("k", 16);
    job.options = checked();
    job.size = BlocksPerSection::Fixed(4);
    change(&mut job);
    map(assembled(text), vm("vm7"), &floats(4 * 4 * 40 - 4), &job)
}

/// Returns the source line, the owner, true for a store, and the page of each objection, in order.
fn outside(text: &str, done: &MapRun) -> Vec<(u32, Owner, bool, u64)> {
    let program = assembled(text);
    let findings = done.run.report.findings.iter();
    let of = findings.filter_map(|finding| match finding.objection {
        Objection::Outside {
            owner, write, page, ..
        } => {
            let place = program.location(finding.pc? as usize)?;
            let line = place.strip_prefix("test.s:")?.split(':').next()?;
            Some((line.parse().ok()?, owner, write, page))
        }
        _ => None,
    });
    of.collect()
}

/// Returns a kernel that doubles, and executes `line` for every block, in line 8 of the source.
fn with(line: &str) -> String {
    format!(
        "
.include \"page.s\"
.program
    page_begin
    ldx2 a0, [a15]
    ldx2 c0, [a15 + 8]
    mov a2, c1
    loop c0 {{
        {line}
        ldq q0, [a0]+16
        add q1, q0, q0
        stq q1, [a1]+16
    }}
    page_end
    stop
"
    )
}

#[test]
fn scratch_must_be_declared() {
    let text = with("stq q0, [a2]").replace(
        "page_begin\n",
        "page_begin\n    lif r0, 1.0\n    lif r1, 2.0\n",
    );
    let done = mapped(&text, |job| job.scratch = 16);
    assert_eq!(done.run.report.findings, []);
    // If scratch is not declared, its address is 0: here the first page buffer, which belongs to another page
    // every second time.
    let done = mapped(&text, |_| ());
    assert!(!outside(&text, &done).is_empty());
    let far = "
.include \"page.s\"
.program
    page_begin
    ldx2 a0, [a15]
    ldx c0, [a15 + 8]
    lix a2, 40960
    loop c0 {
        ldq q0, [a0]+16
        add q1, q0, q0
        stq q1, [a2]
        stq q1, [a1]+16
    }
    page_end
    stop
";
    let far = &far.replace("lix a2", "movi a2");
    let done = mapped(far, |_| ());
    assert_eq!(outside(far, &done), [(11, Owner::None, true, 0)]);
    let said = done.run.report.findings[0].to_string();
    assert!(said.contains("scratch"), "{said}");
    // Checks cost no simulated time.
    let free = mapped(far, |job| job.options = DeviceOptions::default());
    assert_eq!(free.run.report.cycles, done.run.report.cycles);
    assert!(free.run.report.findings.is_empty());
}

/// The last block of a page has no neighbour: the bytes behind it depend on the size of the pages.
#[test]
fn blocks_of_other_pages_are_not_read() {
    let text = "
.include \"page.s\"
.program
    page_begin
    ldx2 a0, [a15]
    ldx c0, [a15 + 8]
    loop c0 {
        ldq q0, [a0]+16
        ldq q1, [a0]
        add q2, q0, q1
        stq q2, [a1]+16
    }
    page_end
    stop
";
    let by = |size| mapped(text, |job| job.size = BlocksPerSection::Fixed(size));
    let [four, eight] = [4, 8].map(by);
    assert_ne!(four.output, eight.output);
    for done in [four, eight] {
        let found = outside(text, &done);
        assert!(matches!(found[..], [(9, _, false, 0)]), "{found:?}");
    }
    // With one buffer a full page is followed by its own output, which it may read. The last page does not
    // fill the buffer, so the bytes behind it belong to the page before.
    let part = mapped(text, |job| {
        job.size = BlocksPerSection::Fixed(24);
        job.buffering = Buffering::Single;
    });
    assert_eq!(outside(text, &part), [(9, Owner::OtherPage, false, 1)]);
}

/// The store is reported, whatever its later consequences.
#[test]
fn argument_blocks_are_not_written() {
    let text = with("stq q0, [a15 - 16]").replace(
        "page_begin\n",
        "page_begin\n    lif r0, 1024.0\n    lif r1, 1024.0\n",
    );
    let done = mapped(&text, |_| ());
    assert!(
        matches!(done.run.report.end, RunEnd::Fault(_)),
        "{}",
        done.run.report.end
    );
    assert_eq!(outside(&text, &done)[0], (11, Owner::Arguments, true, 0));
}

/// A deadlock ends the run where nothing can happen any more, independent of any polling.
#[test]
fn a_deadlock_ends_where_it_begins() {
    let deadlock = |text: &str| {
        let done = mapped(text, |_| ());
        let report = done.run.report;
        assert_accounts(&report);
        let said = report.end.to_string();
        let RunEnd::Deadlock {
            since, unsignalled, ..
        } = report.end
        else {
            panic!("{said}");
        };
        assert_eq!(since, report.cycles, "{said}");
        assert!(since < 2000, "{said}");
        assert!(
            said.starts_with(&format!("deadlock since cycle {since}: ")),
            "{said}"
        );
        (unsignalled, said)
    };
    // A kernel without a page loop stops after the first page.
    let (page, said) = deadlock(
        ".program
    wait 0
    ldx2 a0, [a15]
    ldq q0, [a0]+16
    stq q0, [a1]+16
    stop
",
    );
    assert_eq!(page, Some(0));
    assert!(said.contains("`page_begin`"), "{said}");
    // A loop that is closed by hand gives no page back.
    let (page, said) = deadlock(&with("nop").replace("    page_end", "    mov a15, c15\n    }"));
    assert_eq!(page, Some(0));
    assert!(said.contains("`page_end`"), "{said}");
    // A wait for an event of the kernel's own, behind the words before it.
    let (page, said) = deadlock(".program\n    nop\n    wait 4\n    stop\n");
    assert_eq!(page, Some(0));
    assert!(said.contains("event 4"), "{said}");
}

/// A store that goes on behind its array's last granule would damage another array: the checkers report it,
/// whatever lies there.
#[test]
fn stores_behind_an_array_are_found() {
    for (granule, bytes, found) in [
        (16, 32, false),
        (16, 48, true),
        (4, 32, false),
        (4, 36, true),
    ] {
        let mut machine = (*vm("vm7")).clone();
        machine.dma.granule = cp2_machine::Bytes(granule);
        let mut device = Device::with_options(machine.into(), checked());
        let x = device.alloc_from(&[7u32; 64]).unwrap();
        // The array has 20 bytes and owns the rest of its second quad.
        let y = device.alloc::<u32>(5).unwrap();
        let z = device.alloc::<u32>(64).unwrap();
        assert!(z.address() >= y.address() + 32);
        let load = Descriptor::load(Target::Section(0), x.address(), 0, 256);
        let load = device.dma("x", load, &[]).unwrap();
        let store = Descriptor::store(Target::Section(0), y.address(), 0, bytes);
        device.dma("y", store, &[load]).unwrap();
        let run = device.finish().unwrap();
        let findings: Vec<_> = run.report.findings.iter().map(|f| f.objection).collect();
        let expected = cp2_emu::Objection::BehindArray {
            tag: 1,
            address: y.address(),
            bytes,
            end: y.address() + 32,
        };
        match (found, &findings[..]) {
            (true, [one]) => assert_eq!(*one, expected),
            (false, []) => {}
            other => panic!("{granule}, {bytes}: {other:?}"),
        }
    }
}
