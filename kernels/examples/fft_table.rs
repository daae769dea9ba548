//! Prints the tables of `docs/fft.md`, section "Measured".
//!
//! `cargo run --release -p cp2-kernels --example fft_table`

use cp2_kernels::fft::{FftPlanner, FftProblem, TransformDirection};
use cp2_machine::Machine;
use std::error::Error;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "| N | vm7: cycles | bound | efficiency | B = 1024 | vm9: cycles | bound | efficiency | B = 1024 | RMS error | of rustfft's |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for n in (4..=12).map(|b| 1 << b) {
        let mut row = format!("| {n} |");
        let mut error = None;
        for name in ["vm7", "vm9"] {
            let machine = Arc::new(Machine::builtin(name).ok_or("no such machine")?);
            let fft = FftPlanner::new(machine).plan_forward(n)?;
            let problem = FftProblem::new(n, TransformDirection::Forward, 256)?;
            let input = problem.random(n as u64);
            let run = fft.process(&input)?;
            row += &format!(
                " {} | {} | {:.3} |",
                run.run.report.cycles,
                run.figures.reference.0,
                run.efficiency()
            );
            if let (None, Some(output)) = (error, &run.output) {
                let ours = problem.verdict(&input, output).rms;
                let mut scalar = input.clone();
                cp2_rustfft::scalar_single(n, cp2_rustfft::FftDirection::Forward)
                    .process(&mut scalar);
                error = Some((ours, ours / problem.verdict(&input, &scalar).rms));
            }
            let long = FftProblem::new(n, TransformDirection::Forward, 1024)?;
            let run = fft.process(&long.random(n as u64))?;
            row += &format!(" {:.3} |", run.efficiency());
        }
        if let Some((ours, ratio)) = error {
            row += &format!(" {ours:.1e} | {ratio:.2} |");
        }
        println!("{row}");
    }
    Ok(())
}
