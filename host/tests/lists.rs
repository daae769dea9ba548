//! Tests of list transfers as commands: times, refusals, recordings.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_dma::{Descriptor, ListTarget, ListTransfer, Movement, Target};
use cp2_host::emit::Replay;
use cp2_host::{Buffer, Device, DeviceOptions, HostAction};
use cp2_machine::Machine;
use std::sync::Arc;

fn lists() -> Arc<Machine> {
    Arc::new(Machine::load("vm7+list-transfers").unwrap())
}

/// Gives the commands that move every third quad of `x`, the last first, to a dense `y`.
fn gather(device: &mut Device) -> [Buffer<u32>; 2] {
    let x = device.alloc_from(&(0..400).collect::<Vec<u32>>()).unwrap();
    let y = device.alloc::<u32>(4 * 32).unwrap();
    let entries = (0..32u32).map(|i| (48 * (31 - i), 16 * (i / 4)));
    let load = ListTransfer::load(ListTarget::Deal, x.address(), 16, entries);
    let load = device.dma("x", load, &[]).unwrap();
    let store = Descriptor::store(Target::Deal, y.address(), 0, 512);
    device.dma("y", store, &[load]).unwrap();
    [x, y]
}

#[test]
fn a_list_takes_what_the_machine_says() {
    let mut device = Device::with_options(
        lists(),
        DeviceOptions {
            check: true,
            ..DeviceOptions::default()
        },
    );
    let [_, y] = gather(&mut device);
    let run = device.finish().unwrap();
    let expected = (0..32).flat_map(|i| (0..4).map(move |lane| 12 * (31 - i) + lane));
    assert_eq!(run.read(y).unwrap(), expected.collect::<Vec<u32>>());
    assert_eq!(run.report.findings, []);
    // An entry is half a granule and each element a granule behind a gap; then the store behind it.
    let load = 32 + 32 / 2 + 32 + 31;
    assert_eq!(run.report.cycles, 8 + load + 4 + 32 + 40);
    assert_eq!(run.report.causes.total(), run.report.cycles);
}

#[test]
fn a_machine_without_lists_refuses_by_name() {
    let mut device = Device::new(Arc::new(Machine::builtin("vm7").unwrap()));
    let list = ListTransfer::load(ListTarget::Section(0), 0, 16, [(0, 0)]);
    let refused = device.dma("x", list, &[]).unwrap_err().to_string();
    assert!(
        refused.contains("does not have the extension `list-transfers`"),
        "{refused}"
    );
    assert!(
        refused.contains("command 0 (x)") || refused.contains('x'),
        "{refused}"
    );
}

#[test]
fn recordings_have_lists_as_commands_of_their_own() {
    let options = DeviceOptions {
        record: true,
        ..DeviceOptions::default()
    };
    let mut device = Device::with_options(lists(), options);
    gather(&mut device);
    let run = device.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    run.emit(&path).unwrap();
    let replay = Replay::read(&path).unwrap();
    let again = replay
        .run(replay.machine.clone(), DeviceOptions::default())
        .unwrap();
    assert_eq!(again.report, run.report);
    let text = std::fs::read_to_string(path.join("commands.json")).unwrap();
    assert!(text.contains("\"entries\""), "{text}");
}

/// A strided transfer in a file is what it was before there were lists; a list has entries.
#[test]
fn commands_are_written_as_their_kind() {
    let strided = Descriptor::load(Target::Section(1), 64, 0, 32);
    let json = serde_json::to_value(HostAction::Dma(strided.clone().into())).unwrap();
    assert_eq!(json["dma"], serde_json::to_value(&strided).unwrap());
    let list = ListTransfer::load(ListTarget::Section(1), 64, 8, [(0, 16), (640, 24)]).event(2);
    for one in [Movement::from(strided), Movement::from(list)] {
        let text = serde_json::to_string(&one).unwrap();
        assert_eq!(
            serde_json::from_str::<Movement>(&text).unwrap(),
            one,
            "{text}"
        );
    }
}
