//! Moves an array through DMEM and back: commands, events, and where the time goes.
//!
//! `cargo run -p cp2-host --example copy`

use cp2_dma::{Descriptor, Target};
use cp2_host::{Device, HostError};
use cp2_machine::Machine;
use std::sync::Arc;

fn main() -> Result<(), HostError> {
    let Some(machine) = Machine::builtin("vm7") else {
        return Ok(());
    };
    let mut device = Device::new(Arc::new(machine));
    // Before simulated time begins, memory is free to fill.
    let x = device.alloc_from(&(0..4096).map(|i| i as f32).collect::<Vec<_>>())?;
    let y = device.alloc::<f32>(4096)?;

    // Every section gets a quarter: 4096 bytes, one transfer for all four.
    let quarter = Target::Blocks { stride: 4096 };
    let load = device.dma("x", Descriptor::load(quarter, x.address(), 0, 4096), &[])?;
    // A store may queue behind the load it depends on: the DMA works in order.
    device.dma(
        "y",
        Descriptor::store(quarter, y.address(), 0, 4096),
        &[load],
    )?;

    let run = device.finish()?;
    assert_eq!(run.read(y)?, run.read(x)?);
    println!(
        "{} cycles, {:.2} us",
        run.report.cycles,
        run.report.seconds_simulated * 1e6
    );
    for (cause, cycles) in run.report.causes.iter() {
        println!("  {cause:<12} {cycles:>6}");
    }
    Ok(())
}
