//! Prints the tables of transforms larger than DMEM, of one axis and of arrays.
//!
//! They are those of `docs/fft-large.md` and `docs/fft-arrays.md`.
//!
//! `cargo run -p cp2-kernels --example large_fft [BITS..]`

use cp2_kernels::Random;
use cp2_kernels::fft::{Fft as _, FftNd, FourStepFft, TransformDirection};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    let chosen: Vec<u32> = std::env::args()
        .skip(1)
        .map(|bits| bits.parse())
        .collect::<Result<_, _>>()?;
    println!(
        "| N | batch | machine | columns x rows | cycles | bound | efficiency | of own bound |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for bits in 13..=22 {
        for batch in [1, 4] {
            for name in ["vm7", "vm9"] {
                let wanted = if chosen.is_empty() {
                    batch == 1 || bits <= 16
                } else {
                    chosen.contains(&bits) && batch == 1
                };
                let Some(machine) = Machine::builtin(name).filter(|_| wanted) else {
                    continue;
                };
                println!("{}", row(bits, batch, Arc::new(machine))?);
            }
        }
    }
    if chosen.is_empty() {
        println!("\n| shape | machine | cycles | bound | efficiency |");
        println!("|---|---|---|---|---|");
        let shapes: [&[usize]; 30] = [
            &[16, 1024],
            &[32, 2048],
            &[32, 4096],
            &[256, 16],
            &[256, 32],
            &[512, 16],
            &[1024, 16],
            &[2048, 16],
            &[1024, 64],
            &[128, 128],
            &[256, 256],
            &[512, 512],
            &[1024, 1024],
            &[16, 32, 16],
            &[32, 32, 32],
            &[32, 128, 16],
            &[64, 64, 64],
            &[4, 4, 512],
            &[16, 16, 128],
            &[8, 4, 2048],
            &[32, 32, 128],
            &[4, 256, 128],
            &[4, 2048, 16],
            &[128, 64, 256],
            &[128, 128, 128],
            &[256, 256, 16],
            &[16, 128, 1024],
            &[128, 128, 256],
            &[64, 64, 1024],
            &[4096, 1024],
        ];
        for shape in shapes {
            for machine in ["vm7", "vm9"].into_iter().filter_map(Machine::builtin) {
                println!("{}", array(shape, 1, Arc::new(machine))?);
            }
        }
        for shape in [[32, 16], [32, 32], [32, 64], [64, 16], [64, 32], [128, 16]] {
            for machine in ["vm7", "vm9"].into_iter().filter_map(Machine::builtin) {
                let machine = Arc::new(machine);
                for batch in [4, 16, 256] {
                    println!("{}", array(&shape, batch, machine.clone())?);
                }
            }
        }
    }
    Ok(())
}

fn array(shape: &[usize], batch: usize, machine: Arc<Machine>) -> Result<String, Box<dyn Error>> {
    let name = machine.name.clone();
    let fft = FftNd::new(shape, TransformDirection::Forward, machine)?;
    let done = fft.process(&random(batch * fft.len()))?;
    let cycles = done.run.report.cycles;
    let shape: Vec<String> = shape.iter().map(usize::to_string).collect();
    let many = match batch {
        1 => String::new(),
        _ => format!("{batch} of "),
    };
    Ok(format!(
        "| {many}{} | {name} | {cycles} | {} | {:.3} |",
        shape.join("x"),
        done.figures.reference.0,
        done.efficiency()
    ))
}

fn random(len: usize) -> Vec<Complex32> {
    let mut random = Random::new(1);
    (0..len).map(|_| random.complex()).collect()
}

fn row(bits: u32, batch: usize, machine: Arc<Machine>) -> Result<String, Box<dyn Error>> {
    let n = 1 << bits;
    let name = machine.name.clone();
    let fft = FourStepFft::new(n, TransformDirection::Forward, machine)?;
    let done = fft.process(&random(batch * n))?;
    let (division, cycles) = (fft.division(), done.run.report.cycles);
    let [columns, rows] = [division.columns(), division.rows()].map(|lines| {
        let radices: Vec<String> = lines.radices().iter().map(usize::to_string).collect();
        format!("{} ({})", lines.len(), radices.join("."))
    });
    Ok(format!(
        "| 2^{bits} | {batch} | {name} | {columns} x {rows} | {cycles} | {} | {:.3} | {:.3} |",
        done.figures.reference.0,
        done.efficiency(),
        fft.recipe_floor(batch).map_or(f64::NAN, |own| own.0) / cycles as f64
    ))
}
