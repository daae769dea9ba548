//! Tests of steps of the control CPU, words that decide, and parts of a run.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_asm::{Program, Source, assemble};
use cp2_emu::Cause;
use cp2_host::emit::{EmittedArray, Replay};
use cp2_host::{
    Buffer, CommandError, Device, DeviceOptions, Event, FinishedRun, HostError, HostStep,
    PageKernel, Paging, RunEnd, RunReport, Stream, StreamPlan,
};
use cp2_machine::Machine;
use std::sync::Arc;

/// Kernel that doubles every float, in blocks of 16 bytes.
const DOUBLE: &str = include_str!("../../tests/kernels/double.s");

fn vm7() -> Arc<Machine> {
    Arc::new(Machine::builtin("vm7").unwrap())
}

fn assembled(text: &str) -> Arc<Program> {
    let assembled = assemble(&Source::new("test.s", text), &cp2_asm::Options::default());
    Arc::new(assembled.unwrap().program)
}

fn assert_accounts(report: &RunReport) {
    assert_eq!(report.causes.total(), report.cycles, "{:?}", report.end);
}

/// Returns the cycles of a step of `words` words of 4 bytes and `operations` operations on vm7.
const fn cycles(words: u64, operations: u64) -> u64 {
    4 * words + 8 * operations
}

#[test]
fn a_step_computes_in_double_precision_and_pays_for_it() {
    let mut device = Device::new(vm7());
    let x = device.alloc_from(&[3.0f32, -16.0, f32::NAN, 1e-3]).unwrap();
    let wide = device.alloc_from(&[0.1f64]).unwrap();
    let y = device.alloc::<f32>(8).unwrap();
    let n = device.alloc::<u32>(4).unwrap();
    let mut step = HostStep::new();
    let [a, b, nan, small] = [0, 1, 2, 3].map(|i| step.load(x, i).unwrap());
    let tenth = step.load(wide, 0).unwrap();
    let one = step.constant(1.0);
    let results = [
        step.add(a, tenth),
        step.subtract(a, b),
        step.multiply(a, b),
        step.divide(one, a),
        step.minimum(nan, a),
        step.largest(a, nan),
        step.select(small, a, b),
        step.negate(b),
    ];
    for (i, result) in results.into_iter().enumerate() {
        step.store(y, i as u64, result).unwrap();
    }
    let root = step.magnitude(b);
    let root = step.square_root(root);
    let floor = step.floor(b);
    let less = step.less(b, a);
    let none = step.logical_and(less, nan);
    let some = step.logical_or(none, one);
    for (i, whole) in [root, floor, nan, some].into_iter().enumerate() {
        step.store(n, i as u64, whole).unwrap();
    }
    device.host_step("step", step, &[]).unwrap();
    let run = device.finish().unwrap();
    let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let expected = [
        (3.0 + 0.1f64) as f32,
        19.0,
        -48.0,
        (1.0f64 / 3.0) as f32,
        f32::from_bits(0x7fc0_0000),
        3.0,
        3.0,
        16.0,
    ];
    assert_eq!(bits(&run.read(y).unwrap()), bits(&expected));
    // Stored as unsigned integers, negative numbers and NaN are 0. As a condition NaN counts as not 0.
    assert_eq!(run.read(n).unwrap(), [4, 0, 0, 1]);
    // 4 floats, one of 8 bytes, 12 words out; 8 and 6 operations.
    assert_eq!(run.report.cycles, cycles(4 + 2 + 12, 14));
    assert_eq!(run.report.causes.get(Cause::WaitHost), run.report.cycles);
    assert_accounts(&run.report);
}

/// A number is stored at an index that another number gives, and nowhere if the index is outside the array.
#[test]
fn a_step_writes_at_an_index_that_it_computes() {
    let mut device = Device::new(vm7());
    let indices = [1.9f32, 4.0, -1.0, f32::NAN, f32::INFINITY, 3.0];
    let places = device.alloc_from(&indices).unwrap();
    let y = device.alloc_from(&[-1.0f32; 8]).unwrap();
    let part = Buffer::<f32>::from_address(y.address(), 4);
    let mut step = HostStep::new();
    for i in 0..indices.len() as u64 {
        let (place, number) = (step.load(places, i).unwrap(), step.constant(i as f64));
        step.put(part, place, number).unwrap();
    }
    device.host_step("step", step, &[]).unwrap();
    let run = device.finish().unwrap();
    let expected = [-1.0, 0.0, -1.0, 5.0, -1.0, -1.0, -1.0, -1.0];
    assert_eq!(run.read(y).unwrap(), expected);
    // Six words in, six out, written or not, and an address for each.
    assert_eq!(run.report.cycles, cycles(12, 6));
    let mut beyond = HostStep::new();
    let place = beyond.constant(0.0);
    let memory = Buffer::<f32>::from_address(0, u64::MAX / 4);
    beyond.put(memory, place, place).unwrap();
    assert!(Device::new(vm7()).host_step("s", beyond, &[]).is_err());
}

#[test]
fn steps_that_cannot_be_carried_out_are_refused() {
    let mut device = Device::new(vm7());
    let x = device.alloc::<f32>(4).unwrap();
    let mut step = HostStep::new();
    assert!(matches!(
        step.load(x, 4),
        Err(HostError::Length { values: 5, len: 4 })
    ));
    let last = step.load(x, 3).unwrap();
    let foreign = step.add(last, last);
    let mut other = HostStep::new();
    other.store(x, 0, foreign).unwrap();
    let refused = |device: &mut Device, step| match device.host_step("s", step, &[]) {
        Err(HostError::Command { reason, .. }) => *reason,
        other => panic!("{other:?}"),
    };
    assert!(matches!(
        refused(&mut device, other),
        CommandError::StepOrder { operation: 0 }
    ));
    let mut far = HostStep::new();
    far.load(Buffer::<f64>::from_address(u64::MAX - 7, 1), 0)
        .unwrap();
    assert!(matches!(refused(&mut device, far), CommandError::Memory(_)));
    let mut long = HostStep::new();
    for _ in 0..=HostStep::MOST {
        long.constant(0.0);
    }
    assert!(matches!(
        refused(&mut device, long),
        CommandError::StepTooLong { .. }
    ));
}

/// Doubles a number until it is 100 or more, decided by a host program that reads it.
fn doubled_until(start: f32, record: bool) -> FinishedRun {
    let mut device = Device::with_options(
        vm7(),
        DeviceOptions {
            record,
            ..DeviceOptions::default()
        },
    );
    let x = device.alloc_from(&[start]).unwrap();
    device.input(EmittedArray::new("x", x, &[1]));
    device.output(EmittedArray::new("x", x, &[1]));
    while device.host_decide("is it large", x).unwrap().unwrap()[0] < 100.0 {
        let mut step = HostStep::new();
        let a = step.load(x, 0).unwrap();
        let twice = step.add(a, a);
        step.store(x, 0, twice).unwrap();
        device.host_step("double", step, &[]).unwrap();
    }
    device.finish().unwrap()
}

/// A replay computes anew, and goes on as it was recorded or reports that it cannot.
#[test]
fn a_replay_computes_and_says_where_it_would_have_gone_on_otherwise() {
    let recorded = doubled_until(7.0, true);
    let plain = doubled_until(7.0, false);
    assert_eq!(recorded.report, plain.report);
    // Four turns: five reads of a word, and a step of two words and an operation.
    assert_eq!(plain.report.cycles, 5 * cycles(1, 0) + 4 * cycles(2, 1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    recorded.emit(&path).unwrap();
    let replay = |bytes: &[u8]| {
        let memory = path.join("memory.bin");
        let mut image = std::fs::read(&memory).unwrap();
        image[..4].copy_from_slice(bytes);
        std::fs::write(&memory, image).unwrap();
        let replay = Replay::read(&path).unwrap();
        assert!(!replay.is_changed);
        replay.run(vm7(), DeviceOptions::default()).unwrap()
    };
    let again = replay(&7.0f32.to_le_bytes());
    assert_eq!(again.report, plain.report);
    match replay(&8.0f32.to_le_bytes()).report.end {
        RunEnd::Diverged { command: 0, name } => assert_eq!(name, "is it large"),
        other => panic!("{other:?}"),
    }
}

/// Parts are the time between marks; they add up, and a part that begins on an idle device takes as long as
/// on a new one.
#[test]
fn parts_of_a_run_add_up() {
    let parts = |marks: usize| {
        let mut device = Device::new(vm7());
        let x = device.alloc_from(&[1.5f32; 4 * 64]).unwrap();
        let program = device.place("double", assembled(DOUBLE)).unwrap();
        let bytes = Stream::contiguous("x", x.address(), 16);
        let paging = Paging {
            in_place: true,
            reserved: program.reserved(),
            ..Paging::new(64, vec![bytes.clone()], vec![bytes])
        };
        let plan = StreamPlan::new(paging, device.machine()).unwrap();
        let arguments = device.page_arguments(&plan).unwrap();
        let kernel = PageKernel {
            name: "double".to_owned(),
            entry: 0,
        };
        let mut after: Vec<Event> = Vec::new();
        for k in 0..marks {
            let loaded = device.load(&program, &after).unwrap();
            let pages = device.pages(&plan, &kernel, &arguments, &[loaded]).unwrap();
            after = pages.events().to_vec();
            device.mark(&format!("part {k}")).unwrap();
        }
        device.finish().unwrap().report
    };
    let (one, three) = (parts(1), parts(3));
    assert_eq!(one.parts.len(), 1);
    assert_eq!(one.parts[0].cycles, one.cycles);
    assert_eq!(one.parts[0].causes, one.causes);
    assert_eq!(three.cycles, 3 * one.cycles);
    for (k, part) in three.parts.iter().enumerate() {
        assert_eq!(part.name, format!("part {k}"));
        assert_eq!((part.cycles, &part.causes), (one.cycles, &one.causes));
        assert_eq!(part.until, (k as u64 + 1) * one.cycles);
    }
    assert_accounts(&three);
}
