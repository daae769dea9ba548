//! Figures and profiles of programs, summed over the processors that run them.

use crate::outcome::CommandOutcome;
use crate::simulation::{ProfileArg, name};
use cp2_asm::Program;
use cp2_emu::{Causes, Counters};
use cp2_host::profile::Profile;
use cp2_host::{DmaReport, FinishedRun};
use cp2_kernels::ProcessorRun;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Activity of a program in a pass of a processor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ProgramShare {
    pass: Option<String>,
    name: String,
    /// The program as an object file; empty where profiles are not wanted.
    object: Vec<u8>,
    cycles: u64,
    causes: Causes,
    counters: Counters,
    dma: DmaReport,
}

/// Activity of a program in a pass, summed over the processors that run the same words, with their numbers.
pub(super) type ProgramSum = (ProgramShare, Vec<usize>);

impl ProgramShare {
    /// Returns the activity of all programs of a run, with the programs if profiles are wanted.
    fn of_run(run: &FinishedRun, profiled: bool) -> Vec<Self> {
        let stages = run.report.stages.iter().map(|report| {
            let placed = report
                .stage
                .program
                .filter(|_| profiled)
                .and_then(|program| run.programs().get(program));
            Self {
                pass: report.stage.pass.as_deref().map(str::to_owned),
                name: name(run, &report.stage).to_owned(),
                object: placed.map_or_else(Vec::new, |placed| placed.program.to_elf()),
                cycles: report.cycles,
                causes: report.causes.clone(),
                counters: report.counters.clone(),
                dma: report.dma.clone(),
            }
        });
        stages.collect()
    }

    fn is_like(&self, other: &Self) -> bool {
        (&self.pass, &self.name, &self.object) == (&other.pass, &other.name, &other.object)
    }

    fn add(&mut self, other: &Self) {
        self.cycles += other.cycles;
        self.causes.merge(&other.causes);
        self.counters.merge(&other.counters);
        self.dma.transfers += other.dma.transfers;
        self.dma.loaded += other.dma.loaded;
        self.dma.stored += other.dma.stored;
    }
}

/// Sums the programs of runs, which are those of processors from `first` on.
pub(super) fn sum_programs(runs: &[ProcessorRun], first: usize, profiled: bool) -> Vec<ProgramSum> {
    let mut sums = Vec::new();
    for (number, ProcessorRun { run, .. }) in (first..).zip(runs) {
        for share in ProgramShare::of_run(run, profiled) {
            add_sum(&mut sums, (share, vec![number]));
        }
    }
    sums
}

/// Adds the sum of more processors to those of the same program.
pub(super) fn add_sum(sums: &mut Vec<ProgramSum>, (share, numbers): ProgramSum) {
    match sums.iter_mut().find(|(sum, _)| sum.is_like(&share)) {
        Some((sum, known)) => {
            sum.add(&share);
            known.extend(numbers);
        }
        None => sums.push((share, numbers)),
    }
}

/// Reports each program in each pass with its profile, if requested.
pub(super) fn report_programs(
    profiled: Option<ProfileArg>,
    sums: Vec<ProgramSum>,
    mut source: impl FnMut(&str) -> Option<String>,
    outcome: &mut CommandOutcome,
) {
    if sums.is_empty() {
        return;
    }
    let named = sums.iter().any(|(sum, _)| sum.pass.is_some());
    let mut all = Vec::new();
    for (sum, numbers) in sums {
        let mut object = json!({
            "pass": sum.pass,
            "program": sum.name,
            "processors": numbers,
            "launches": sum.counters.kernels,
            "cycles": sum.cycles,
            "causes": sum.causes.to_map(),
            "words": sum.counters.words,
            "flops": sum.counters.work.flops,
            "dma": {
                "transfers": sum.dma.transfers,
                "bytes_loaded": sum.dma.loaded,
                "bytes_stored": sum.dma.stored,
            },
        });
        // If passes have names, those without one only change the layout of arrays.
        let shown = sum.counters.words > 0 && (sum.pass.is_some() || !named);
        let by = profiled.filter(|_| shown);
        let program = by.and_then(|_| Program::from_elf(&sum.object).ok());
        if let Some((program, by)) = program.zip(by) {
            let profile = Profile::new(&program, &sum.counters, by.into());
            let pass = sum
                .pass
                .map_or_else(String::new, |pass| format!("{pass}, "));
            outcome.text += &format!(
                "\nprofile of {pass}{}, the sum of {}\n\n{}",
                sum.name,
                list(&numbers),
                profile.listing(&program, &mut source)
            );
            object["profile"] = json!(profile);
        }
        all.push(object);
    }
    outcome.json["stages"] = json!(all);
}

/// Lists processors with neighbours in ranges: `processors 0, 2-5`.
fn list(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let runs = runs.filter_map(|run| match run {
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    });
    let plural = if numbers.len() == 1 { "" } else { "s" };
    format!("processor{plural} {}", runs.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn neighbours_are_ranges() {
        assert_eq!(super::list(&[3]), "processor 3");
        assert_eq!(super::list(&[0, 2, 3, 4, 9]), "processors 0, 2-4, 9");
    }
}
