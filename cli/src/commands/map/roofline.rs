//! The roofline of a machine with the points of a run.

use crate::io::{FileError, Outputs, check_extension, display_path, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::picture::roofline::{RooflineRates, svg};
use cp2_kernels::map::Mapped;
use cp2_machine::Machine;
use cp2_model::{Roofline, Slope, System, cp2};
use serde_json::json;
use std::path::PathBuf;

/// Name of the local memories of all sections, as a channel.
const DMEM: &str = "dmem";

/// The `--roofline` option.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct RooflineArg {
    /// Write the roofline of the machine with the points of the run, over bytes of system memory and of DMEM: .svg
    /// [default: not written]
    #[arg(long, value_name = "FILE")]
    pub(crate) roofline: Option<PathBuf>,
}

impl RooflineArg {
    /// Checks the file before the work starts.
    pub(crate) fn check(&self, outputs: &mut Outputs) -> Result<(), FileError> {
        if let Some(path) = &self.roofline {
            check_extension(path, "svg", ".svg")?;
            outputs.check(path)?;
        }
        Ok(())
    }

    /// Writes the picture of a run that finished; otherwise notes that there is none.
    pub(crate) fn write(
        &self,
        done: &Mapped,
        title: &str,
        outcome: &mut CommandOutcome,
    ) -> Result<(), CommandFailure> {
        let Some(path) = &self.roofline else {
            return Ok(());
        };
        if !done.run.report.end.is_finished() {
            outcome.notes += &format!(
                "warning: --roofline {}: nothing was written, for the run has not finished\n",
                path.display()
            );
            return Ok(());
        }
        let roofline = of_run(done, title);
        if roofline.points.is_empty() {
            outcome.text += "roofline: no point, since there are no floating-point operations or no transfers\n";
        }
        let cycles = done.run.report.cycles.max(1) as f64;
        let rates = RooflineRates {
            expected: done.expected.map(|price| cycles / price.0.max(1) as f64),
            measured: Some(1.0),
        };
        write_whole(path, svg(&roofline, rates).as_bytes())?;
        outcome.text += &format!("roofline: {}\n", path.display());
        outcome.json["roofline"] = json!(display_path(path));
        Ok(())
    }
}

/// Returns the roofline of a run at its measured rate, with a slope and a point of DMEM beside those of the DMA.
fn of_run(done: &Mapped, title: &str) -> Roofline {
    let machine = done.run.processor().machine();
    let mut roofline = Roofline::without_points(title, &System::from_machine(machine));
    roofline.slopes.push(Slope {
        name: DMEM.to_owned(),
        bytes_per_second: dmem_bytes_per_second(machine),
    });
    let report = &done.run.report;
    let (work, seconds) = (&report.counters.work, report.seconds_simulated);
    let moved = (report.dma.loaded + report.dma.stored) as f64;
    let accessed = (work.dmem_read + work.dmem_written) as f64;
    roofline.add_point(cp2::DMA, work.flops as f64, moved, seconds);
    roofline.add_point(DMEM, work.flops as f64, accessed, seconds);
    roofline
}

/// Returns the bandwidth of the local memories: a quad, of two registers, in each section and cycle.
fn dmem_bytes_per_second(machine: &Machine) -> f64 {
    let bytes = 2 * machine.register_bytes() * machine.cp2.sections;
    bytes as f64 * machine.cp2.clock_hz as f64
}
