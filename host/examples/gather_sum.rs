//! Sums up single points of a field by the control CPU and by a list.
//!
//! They are the 1024 points of a checksum of NPB FT, class S.
//!
//! `cargo run -p cp2-host --example gather_sum`

use cp2_asm::{Options, Source, assemble};
use cp2_dma::{Descriptor, ListTarget, ListTransfer, Target};
use cp2_host::{Buffer, Device, HostStep};
use cp2_machine::Machine;
use std::error::Error;
use std::sync::Arc;

/// Points along each axis, and points of a checksum.
const SIDE: usize = 64;
const POINTS: usize = 1024;

/// Sums 256 pairs of each section to two, in four partial sums.
const SUM: &str = "
.program
    movi a0, 0
    movi a1, 2048
    ldq q4, [a0]+16
    ldq q5, [a0]+16
    ldq q6, [a0]+16
    ldq q7, [a0]+16
    loop 31 {
        ldq q0, [a0]+16
        ldq q1, [a0]+16
        ldq q2, [a0]+16
        ldq q3, [a0]+16
        add q4, q4, q0
        add q5, q5, q1
        add q6, q6, q2
        add q7, q7, q3
    }
    add q4, q4, q5
    add q6, q6, q7
    add q4, q4, q6
    stq q4, [a1]
    stop
";

/// Returns the numbers of the points of a checksum in a field.
fn points() -> impl Iterator<Item = usize> + Clone {
    (1..=POINTS).map(|j| (5 * j % SIDE * SIDE + 3 * j % SIDE) * SIDE + j % SIDE)
}

/// Makes the step of the control CPU that adds up complex numbers.
fn sum_of(
    numbers: Buffer<f32>,
    places: impl Iterator<Item = usize> + Clone,
    result: Buffer<f64>,
) -> Result<HostStep, Box<dyn Error>> {
    let mut step = HostStep::new();
    for part in 0..2 {
        let mut sum = None;
        for place in places.clone() {
            let next = step.load(numbers, (2 * place + part) as u64)?;
            sum = Some(sum.map_or(next, |sum| step.add(sum, next)));
        }
        if let Some(sum) = sum {
            step.store(result, part as u64, sum)?;
        }
    }
    Ok(step)
}

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Arc::new(Machine::load("vm7+list-transfers+dma.granule=4B")?);
    let mut state = 1u32;
    let field: Vec<f32> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state as f32 / u32::MAX as f32 - 0.25
    })
    .take(2 * SIDE.pow(3))
    .collect();

    let mut device = Device::new(machine.clone());
    let w = device.alloc_from(&field)?;
    let result = device.alloc::<f64>(2)?;
    device.host_step("sum", sum_of(w, points(), result)?, &[])?;
    let by_cpu = device.finish()?;

    let mut device = Device::new(machine);
    let w = device.alloc_from(&field)?;
    let partial = device.alloc::<f32>(16)?;
    let result_by_list = device.alloc::<f64>(2)?;
    let program = assemble(&Source::new("sum.s", SUM), &Options::default())?.program;
    let placed = device.place("sum", Arc::new(program))?;
    let program = device.load(&placed, &[])?;
    // Point k is number k / 4 of section k mod 4.
    let entries = points()
        .enumerate()
        .map(|(k, point)| (8 * point as u32, 8 * (k as u32 / 4)));
    let list = ListTransfer::load(ListTarget::Deal, w.address(), 8, entries);
    println!("{list}");
    let loaded = device.dma("points", list, &[])?;
    let summed = device.launch("sum", 0, 0, &[program, loaded])?;
    let store = Descriptor::store(Target::Deal, partial.address(), 2048, 64);
    let stored = device.dma("partial sums", store, &[summed])?;
    device.host_step("sum", sum_of(partial, 0..8, result_by_list)?, &[stored])?;
    let by_list = device.finish()?;

    let (exact, sum) = (by_cpu.read(result)?, by_list.read(result_by_list)?);
    let [before, after] = [&by_cpu, &by_list].map(|run| run.report.cycles);
    println!(
        "by the control CPU: {before} cycles, {:.9} {:+.9}i",
        exact[0], exact[1]
    );
    println!(
        "by a list transfer: {after} cycles, {:.9} {:+.9}i",
        sum[0], sum[1]
    );
    assert!(
        exact
            .iter()
            .zip(&sum)
            .all(|(a, b)| (a - b).abs() < 1e-6 * a.abs())
    );
    assert!(after < before / 6);
    Ok(())
}
