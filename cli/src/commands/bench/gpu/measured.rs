//! Measurements of `cp2 bench gpu`, one row after the other.

use super::GpuArgs;
use super::machines::{SimulatedTime, expect_machines};
use super::report::{SpeedReport, outcome};
use crate::interrupt;
use crate::io::{display_path, read_matrix};
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::progress;
use cp2_gpu::bench::{SPEED_ROWS, SpeedError, SpeedFigures, SpeedPlan, SpeedRow, SpeedSubject};
use cp2_gpu::{AdapterChoice, Gpu, GpuGroup};
use cp2_machine::Machine;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long all runs of a row may take.
const LIMIT: Duration = Duration::from_secs(600);
/// Name of the row of the copy.
pub(super) const COPY: &str = "copy";
/// Entries of a repeated matrix on a processor, and on a card.
const ENTRIES: [usize; 2] = [100_000, 60_000_000];
/// Most rows or columns of a matrix.
const MOST_SIDE: usize = 1 << 31;
/// Goal of products with matrices from files.
const MATRIX_GOAL: &str = "1.00 x cuSPARSE";

/// Clock of measured times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SpeedClock {
    /// The card's own clock.
    Device,
    /// The host's clock.
    Host,
}

/// A matrix from a file, repeated along the diagonal.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct TiledMatrix {
    /// The file.
    pub(super) file: String,
    /// Number of copies.
    pub(super) copies: usize,
    /// Entries of all copies.
    pub(super) entries: usize,
}

/// A row with its figures.
#[derive(Debug)]
pub(super) struct MeasuredRow {
    pub(super) name: String,
    pub(super) title: String,
    /// Goal in words; empty without one.
    pub(super) goal: &'static str,
    pub(super) figures: SpeedFigures,
    pub(super) clock: SpeedClock,
    /// Adapters that the row was divided among.
    pub(super) adapters: usize,
    pub(super) matrix: Option<TiledMatrix>,
    pub(super) simulated: Vec<SimulatedTime>,
}

/// A row that is to be measured.
enum WantedRow<'a> {
    Known(&'static SpeedRow),
    Matrix(&'a Path, String),
}

impl WantedRow<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Known(row) => row.name,
            Self::Matrix(_, name) => name,
        }
    }
}

/// Choices that hold for all rows.
struct Measuring<'a> {
    choice: AdapterChoice,
    plan: SpeedPlan,
    entries: usize,
    machines: &'a [Arc<Machine>],
    planned_entries: usize,
}

/// Runs `cp2 bench gpu`.
pub(in crate::commands::bench) fn run(
    args: &GpuArgs,
    json: bool,
) -> Result<CommandOutcome, CommandFailure> {
    let adapters = args.adapters as usize;
    let rows = find_divided(find_rows(&args.rows)?, &args.rows, adapters)?;
    let matrices = name_matrices(args, adapters)?;
    let machines = args.machines.load()?;
    let choice = AdapterChoice {
        name: args.adapter.name().map(str::to_owned),
        time_limit: LIMIT,
        ..AdapterChoice::default()
    };
    let gpu = Gpu::open(&choice).map_err(CommandFailure::input)?;
    if adapters > 1 {
        // Too few are refused before anything is measured.
        GpuGroup::open(&choice, adapters).map_err(CommandFailure::input)?;
    }
    let [few, many] = ENTRIES;
    let usual = if gpu.is_processor() { few } else { many };
    let measuring = Measuring {
        plan: plan(args, &gpu)?,
        choice,
        entries: args.entries.map_or(usual, |entries| entries as usize),
        machines: &machines,
        planned_entries: args.planned_entries,
    };
    let known = rows.into_iter().map(WantedRow::Known);
    let wanted: Vec<WantedRow<'_>> = known.chain(matrices).collect();
    let steps = progress::steps(wanted.len() as u64 + 1, json);
    steps.begin(COPY);
    let mut found = vec![measuring.copy(&gpu)?];
    steps.count_step();
    for row in &wanted {
        steps.begin(row.name());
        found.push(measuring.row(row)?);
        if let (WantedRow::Known(row), true) = (row, adapters > 1) {
            found.push(measuring.divided(row, adapters)?);
        }
        steps.count_step();
    }
    drop(steps);
    Ok(outcome(&SpeedReport {
        adapter: gpu.adapter(),
        plan: measuring.plan,
        machines: &machines,
        rows: found,
    }))
}

/// Returns the plan of all measurements.
fn plan(args: &GpuArgs, gpu: &Gpu) -> Result<SpeedPlan, CommandFailure> {
    let most = gpu.most_array_bytes();
    let bytes = match args.mib.map(|mib| mib << 20) {
        Some(bytes) if bytes > most => {
            return Err(CommandFailure::input(format!(
                "--mib: the adapter has arrays of at most {} MiB; take no more",
                most >> 20
            )));
        }
        Some(bytes) => bytes,
        None => gpu.suggest_array_bytes(),
    };
    Ok(SpeedPlan {
        bytes,
        repetitions: args.repetitions as usize,
        seed: args.seed,
    })
}

impl Measuring<'_> {
    fn copy(&self, gpu: &Gpu) -> Result<MeasuredRow, CommandFailure> {
        let figures = measure(COPY, || gpu.measure_copy(&self.plan))?;
        let reason = "the copy is no problem that kernels compute";
        let simulated = self.machines.iter().map(|machine| SimulatedTime {
            machine: machine.name.clone(),
            seconds: Err(reason.to_owned()),
        });
        Ok(MeasuredRow {
            name: COPY.to_owned(),
            title: COPY.to_owned(),
            goal: "",
            figures,
            clock: SpeedClock::Device,
            adapters: 1,
            matrix: None,
            simulated: simulated.collect(),
        })
    }

    fn row(&self, row: &WantedRow<'_>) -> Result<MeasuredRow, CommandFailure> {
        let name = row.name();
        let (subject, title, goal, matrix) = match row {
            WantedRow::Known(row) => {
                let made = row.make(self.plan.bytes);
                let subject = made.map_err(|error| in_row(name, error))?;
                (subject, row.title.to_owned(), row.goal, None)
            }
            WantedRow::Matrix(path, _) => {
                let matrix = read_matrix(path, MOST_SIDE)?;
                let made = SpeedSubject::from_tiles(&matrix, self.entries);
                let (subject, copies) =
                    made.map_err(|error| CommandFailure::in_file(path, error))?;
                let title = format!("SpMV, {} x {copies}", name.trim_start_matches(MATRIX));
                let tiled = TiledMatrix {
                    file: display_path(path),
                    copies,
                    entries: copies * matrix.nnz(),
                };
                (subject, title, MATRIX_GOAL, Some(tiled))
            }
        };
        // Arrays of a device that has had others before may lie where they are several times slower.
        let figures = measure(name, || {
            let gpu = Gpu::open(&self.choice)?;
            gpu.measure(&subject, &self.plan)
        })?;
        let (seed, most) = (self.plan.seed, self.planned_entries);
        Ok(MeasuredRow {
            name: name.to_owned(),
            title,
            goal,
            figures,
            clock: SpeedClock::Device,
            adapters: 1,
            matrix,
            simulated: expect_machines(&subject, seed, self.machines, most)?,
        })
    }

    fn divided(&self, row: &SpeedRow, adapters: usize) -> Result<MeasuredRow, CommandFailure> {
        let figures = measure(row.name, || {
            let group = GpuGroup::open(&self.choice, adapters)?;
            group.measure_row(row, &self.plan)
        })?;
        Ok(MeasuredRow {
            name: format!("{}-{adapters}", row.name),
            title: format!("{}, {adapters} adapters", row.title),
            goal: "",
            figures,
            clock: SpeedClock::Host,
            adapters,
            matrix: None,
            simulated: Vec::new(),
        })
    }
}

fn in_row(name: &str, error: impl std::fmt::Display) -> CommandFailure {
    CommandFailure::input(format!("row {name}: {error}"))
}

fn measure(
    name: &str,
    work: impl FnOnce() -> Result<SpeedFigures, SpeedError>,
) -> Result<SpeedFigures, CommandFailure> {
    interrupt::compute_interruptible(work)?.map_err(|error| in_row(name, error))
}

/// Finds rows by their names; all of them for none.
fn find_rows(names: &[String]) -> Result<Vec<&'static SpeedRow>, CommandFailure> {
    let known = || SPEED_ROWS.iter().map(|row| row.name).collect::<Vec<_>>();
    let find = |name: &String| {
        let found = SPEED_ROWS.iter().find(|row| row.name == name);
        found.ok_or_else(|| {
            CommandFailure::input(format!(
                "--rows: there is no row `{name}`; expected some of {}, or {COPY}",
                known().join(", ")
            ))
        })
    };
    match names.is_empty() {
        true => Ok(SPEED_ROWS.iter().collect()),
        // The copy is measured anyhow.
        false => names
            .iter()
            .filter(|name| *name != COPY)
            .map(find)
            .collect(),
    }
}

/// Returns the rows that several adapters divide: those that were named, or all that can be.
fn find_divided(
    rows: Vec<&'static SpeedRow>,
    named: &[String],
    adapters: usize,
) -> Result<Vec<&'static SpeedRow>, CommandFailure> {
    let undivided = |row: &&SpeedRow| adapters > 1 && !row.is_divisible();
    match rows.iter().copied().find(undivided) {
        Some(row) if !named.is_empty() => Err(CommandFailure::input(format!(
            "--adapters: row {} is not divided among adapters; take rows of Himeno",
            row.name
        ))),
        _ => Ok(rows.into_iter().filter(|row| !undivided(row)).collect()),
    }
}

/// Begin of the names of rows of matrices from files.
const MATRIX: &str = "matrix-";

/// Returns the rows of matrices, named by their files.
fn name_matrices(args: &GpuArgs, adapters: usize) -> Result<Vec<WantedRow<'_>>, CommandFailure> {
    if adapters > 1 && !args.matrices.is_empty() {
        return Err(CommandFailure::input(
            "--adapters: products with a --matrix are not divided among adapters; take one adapter",
        ));
    }
    let mut names: Vec<String> = Vec::new();
    for path in &args.matrices {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = format!("{MATRIX}{stem}");
        if names.contains(&name) {
            return Err(CommandFailure::input(format!(
                "--matrix: two files are called {stem}, and rows have the names of their files; rename one of them"
            )));
        }
        names.push(name);
    }
    let rows = args.matrices.iter().zip(names);
    Ok(rows
        .map(|(path, name)| WantedRow::Matrix(path, name))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_name() {
        assert_eq!(find_rows(&[]).unwrap().len(), SPEED_ROWS.len());
        let named = ["stencil-7", "copy", "fft-3d"].map(str::to_owned);
        let found = find_rows(&named).unwrap();
        let names: Vec<_> = found.iter().map(|row| row.name).collect();
        assert_eq!(names, ["stencil-7", "fft-3d"]);
        assert!(find_rows(&[COPY.to_owned()]).unwrap().is_empty());
        let error = find_rows(&["fft-3".to_owned()]).unwrap_err().message;
        assert!(
            error.contains("`fft-3`") && error.contains("fft-3d"),
            "{error}"
        );
    }
}
