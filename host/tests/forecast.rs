//! Tests that a device that computes nothing takes as long as one that computes.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use cp2_asm::{Program, Source, assemble};
use cp2_dma::{Descriptor, Target};
use cp2_emu::cycles::Counter;
use cp2_host::{Command, Device, Event, HostAction, HostError, KernelSteps, PlacedProgram, RunEnd};
use cp2_machine::{Cycles, Machine};
use proptest::prelude::*;
use std::sync::Arc;

/// Kernel that takes pages as they come: words without memory access, so that ports do not matter.
const PAGES: u64 = 6;
const KERNEL: &str = "
.program
    movi c0, 6
    loop c0 {
        wait 0
        movi c1, 70
        loop c1 {
            nop
        }
        signal 1
    }
    stop
";

fn assembled() -> Arc<Program> {
    let source = Source::new("test.s", KERNEL);
    Arc::new(
        assemble(&source, &cp2_asm::Options::default())
            .unwrap()
            .program,
    )
}

/// Transfer: its number of granules, true for a store, and how many commands before it the one is that it
/// waits for.
type Moved = (u64, bool, Option<u64>);

/// Gives a device a program, transfers, a kernel with its pages, and transfers behind it.
fn give(
    device: &mut Device,
    placed: &PlacedProgram,
    moved: &[Moved],
    writes: u64,
) -> Result<(), HostError> {
    let mut given = vec![device.load(placed, &[])?];
    let granule = device.machine().dma.granule.0;
    let transfer = |device: &mut Device, after: &[Event], page: Option<u64>, one: Moved| {
        let (granules, store, back) = one;
        let bytes = granules * granule;
        let mut descriptor = match store {
            true => Descriptor::store(Target::Section(0), 1 << 20, 4096, bytes),
            false => Descriptor::load(Target::Broadcast, 1 << 20, 4096, bytes),
        };
        descriptor.event = page.map(|_| 0);
        let last = after.len() - 1;
        let after = back.map(|back| after[last.saturating_sub(back as usize)]);
        device.dma("moved", descriptor, after.as_slice())
    };
    for &one in moved {
        let event = transfer(device, &given, None, one)?;
        given.push(event);
    }
    let launched = device.launch("kernel", placed.program.entry.into(), 0, &given[..1])?;
    for page in 0..PAGES {
        transfer(device, &given, Some(page), (20 + 30 * page, false, None))?;
    }
    for page in 0..PAGES {
        let wait = Command::new("done", HostAction::WaitSignal { event: 1 });
        let done = device.command(wait)?;
        let store = Descriptor::store(Target::Section(0), 1 << 20, 8192, (1 + page) * granule);
        device.dma("store", store, &[done])?;
        let action = HostAction::Work {
            cycles: writes,
            bytes: 0,
        };
        device.command(Command::new("work", action).wait_for(&[done]))?;
    }
    device.mark("pages")?;
    device.dma(
        "last",
        Descriptor::load(Target::Program, placed.image, 0, 64),
        &[launched],
    )?;
    Ok(())
}

fn moved() -> impl Strategy<Value = Vec<Moved>> {
    let one = (1u64..200, any::<bool>(), prop::option::of(0u64..3));
    prop::collection::vec(one, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_computes_nothing_takes_as_long(
        moved in moved(),
        queue in 1usize..5,
        costs in prop::array::uniform5(0u64..300),
        ports in 1u32..3,
        writes in 0u64..500,
    ) {
        let mut machine = Machine::builtin("vm7").unwrap();
        machine.dma.queue = queue;
        machine.cp2.dmem_ports = ports;
        let [idle, queued, launch, completion, descriptor] = costs.map(Cycles);
        (machine.dma.setup_idle, machine.dma.setup_queued) = (idle, queued);
        let host = &mut machine.host;
        (host.launch, host.completion, host.descriptor) = (launch, completion, descriptor);
        let machine = Arc::new(machine);
        let program = assembled();
        let mut device = Device::new(machine.clone());
        device.alloc::<u8>(2 << 20).unwrap();
        let placed = device.place("kernel", program.clone()).unwrap();
        give(&mut device, &placed, &moved, writes).unwrap();
        let report = device.finish().unwrap().report;
        prop_assert_eq!(&report.end, &RunEnd::Finished);
        let mut counter = Counter::new(&program.words, program.entry.into(), Vec::new(), &machine).unwrap();
        let counted = counter.count(&machine, 0, (0, &[])).unwrap();
        let steps: Vec<_> = counted.steps().collect();
        let steps: KernelSteps = Box::new(steps.into_iter());
        let mut forecast = Device::forecast(machine, [steps]);
        give(&mut forecast, &placed, &moved, writes).unwrap();
        let ends = forecast.expected().unwrap();
        prop_assert_eq!(ends, Some(vec![report.parts[0].until, report.cycles]));
    }
}

/// A forecast gives no price for a kernel without counts, a kernel that waits in vain, or a decision by
/// computed data.
#[test]
fn what_is_not_known_is_not_said() {
    let machine = Arc::new(Machine::builtin("vm7").unwrap());
    let placed = |device: &mut Device| device.place("kernel", assembled()).unwrap();
    let counted = || {
        let program = assembled();
        let mut counter = Counter::new(&program.words, 0, Vec::new(), &machine).unwrap();
        let steps: Vec<_> = counter
            .count(&machine, 0, (0, &[]))
            .unwrap()
            .steps()
            .collect();
        Box::new(steps.into_iter()) as KernelSteps
    };
    let mut none = Device::forecast(machine.clone(), []);
    let kernel = placed(&mut none);
    give(&mut none, &kernel, &[], 0).unwrap();
    assert_eq!(none.expected().unwrap(), None);
    let mut waits = Device::forecast(machine.clone(), [counted()]);
    let loaded = waits.load(&kernel, &[]).unwrap();
    waits.launch("kernel", 0, 0, &[loaded]).unwrap();
    assert_eq!(waits.expected().unwrap(), None);
    let mut decided = Device::forecast(machine.clone(), []);
    let word = decided.alloc::<u32>(1).unwrap();
    assert_eq!(decided.host_asks("more", word).unwrap(), None);
    assert_eq!(decided.expected().unwrap(), None);
    // A device that computes gives no forecast.
    assert_eq!(Device::new(machine).expected().unwrap(), None);
}
