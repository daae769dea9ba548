//! Rows of the registry on changed machines: chosen, measured, kept.

use crate::interrupt;
use crate::io::{FileError, write_whole};
use crate::outcome::{CommandFailure, GUEST_FAULT, UNVERIFIED};
use crate::progress;
use cp2_host::DeviceOptions;
use cp2_kernels::registry::{self, Kernel, KernelError, PricedRow, Size};
use cp2_machine::Machine;
use cp2_problems::npb::Precision;
use cp2_reference::Rival;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A row of the registry: a kernel and its size.
#[derive(Clone)]
pub(crate) struct RowName {
    pub(crate) kernel: &'static dyn Kernel,
    pub(crate) size: Size,
}

impl std::fmt::Display for RowName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.kernel.name(), self.size)
    }
}

impl RowName {
    /// Returns the row in the precision of a proposal, if it has one.
    pub(super) fn with_precision(&self, precision: Option<Precision>) -> Result<Self, RowRefusal> {
        let Some(precision) = precision else {
            return Ok(self.clone());
        };
        let value = format!("{} {}={precision}", self.size, Precision::PARAMETER.name);
        match Size::parse(self.kernel.parameters(), &value) {
            Ok(size) => Ok(Self {
                kernel: self.kernel,
                size,
            }),
            Err(_) => Err(RowRefusal {
                reason: format!(
                    "{} has no kernel in {precision} precision",
                    self.kernel.name()
                ),
                exit: 0,
            }),
        }
    }
}

/// Rows without `--kernels`: each kind of program of the library, regular and not, as `KERNEL:NAME=VALUE..`.
pub(super) const DEFAULT_ROWS: [&str; 22] = [
    "npb-mg:n=64:cycles=2",
    "npb-ft:planes=64:rows=64:columns=64:steps=6",
    "npb-cg:rows=1400:entries=7:iterations=1:shift=10",
    "fft:n=1024:batch=1024",
    "fft:n=4096:batch=64",
    "fft-large:n=8192:batch=8",
    "fft-real:n=4096:batch=64",
    "fft-nd:planes=1:rows=512:columns=512:batch=1",
    "conv:taps=129:samples=262144:channels=1",
    "fir:taps=64:samples=65536:channels=1",
    "stencil:planes=1:rows=512:columns=512:points=5:steps=1:edge=zero:coefficients=class",
    "stencil:planes=128:rows=128:columns=128:points=7:steps=1:edge=zero:coefficients=class",
    "stencil:planes=64:rows=64:columns=128:points=27:steps=1:edge=periodic:coefficients=class",
    "stencil:planes=32:rows=61:columns=70:points=7:steps=1:edge=mirrored:coefficients=class",
    "stencil:planes=61:rows=61:columns=61:points=27:steps=1:edge=zero:coefficients=class",
    "transpose:rows=64:columns=64:count=64",
    "transpose:rows=31:columns=33:count=64",
    "spmv:pattern=random:n=1400:each=56",
    "spmv:pattern=random:n=10000:each=8",
    "spmv:pattern=band:n=10000:each=9",
    "spmv:pattern=power-law:n=10000:each=8",
    "small-products:m=4:k=4:n=4:count=4096",
];

/// Returns the rows of a list such as `npb-mg,fft:n=64:batch=8`: a name alone stands for the sizes of its table.
pub(super) fn select_rows(option: Option<&str>) -> Result<Vec<RowName>, CommandFailure> {
    let of_tables = |kernel: &'static dyn Kernel| {
        let sizes = kernel.sizes().into_iter();
        sizes.map(move |size| RowName { kernel, size })
    };
    let mut rows: Vec<RowName> = Vec::new();
    match option {
        None => {
            for text in DEFAULT_ROWS {
                rows.push(parse_row(text)?);
            }
        }
        Some("all") => rows.extend(registry::all().into_iter().flat_map(of_tables)),
        Some(list) => {
            for text in list.split(',').map(str::trim) {
                match text.contains(':') {
                    true => rows.push(parse_row(text)?),
                    false => rows.extend(of_tables(find_kernel(text)?)),
                }
            }
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    rows.retain(|row| seen.insert(row.to_string()));
    Ok(rows)
}

/// Returns the row of a text such as `fft:n=64:batch=8`; parameters that are not named have their defaults.
pub(crate) fn parse_row(text: &str) -> Result<RowName, CommandFailure> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let kernel = find_kernel(name)?;
    let size = Size::parse(kernel.parameters(), &rest.replace(':', " "));
    let size = size.map_err(|e| {
        let names: Vec<&str> = kernel.parameters().iter().map(|p| p.name).collect();
        CommandFailure::input(format!(
            "{text}: {e}; the parameters of {name} are {}",
            names.join(", ")
        ))
    })?;
    // Words and sizes that the problem cannot have are no row.
    let problem = kernel.problem(&size);
    problem.map_err(|e| {
        CommandFailure::input(format!("{text}: {}", shorten_reason(&e.to_string())))
    })?;
    Ok(RowName { kernel, size })
}

fn find_kernel(name: &str) -> Result<&'static dyn Kernel, CommandFailure> {
    registry::find(name).ok_or_else(|| {
        let names: Vec<&str> = registry::all().iter().map(|k| k.name()).collect();
        CommandFailure::input(format!(
            "there is no kernel `{name}`; expected one of {}",
            names.join(", ")
        ))
    })
}

/// Figures of a row whose result was judged to be right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowFigures {
    pub(crate) cycles: u64,
    pub(crate) reference_cycles: u64,
    /// Clock that these cycles are of.
    pub(crate) clock_hz: u64,
    /// Term of the model that takes most of the time.
    pub(crate) limit: String,
    /// Busy time of the DMA channel / that of the busiest computing unit.
    pub(crate) balance: Option<f64>,
    /// Base plan that competes with changes of the machine.
    pub(crate) rival: Option<Rival>,
}

/// Reason for which a row has no figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RowRefusal {
    pub(crate) reason: String,
    /// Exit code of the command: 0 where the kernel does not fit the machine, which is no fault.
    pub(crate) exit: u8,
}

pub(crate) type RowResult = Result<RowFigures, RowRefusal>;

/// Source of a row's cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CycleSource {
    /// A run, whose result is judged.
    Run,
    /// The price of the job, which takes a small part of the time; a run where the job has no price.
    Price,
}

/// Returns the machine for which a row is priced: without the extensions that no plan of the kernel makes use of, so
/// that machines which differ in these alone share a price. A run takes the machine as it is.
pub(super) fn strip_machine(
    source: CycleSource,
    row: &RowName,
    machine: &Arc<Machine>,
) -> Arc<Machine> {
    let idle = machine.cp2.extensions - row.kernel.extensions();
    match source {
        CycleSource::Price if !idle.is_empty() => Arc::new(machine.without_extensions(idle)),
        CycleSource::Run | CycleSource::Price => machine.clone(),
    }
}

/// A row on a machine.
#[derive(Clone)]
pub(crate) struct RowCase {
    pub(crate) row: RowName,
    pub(crate) machine: Arc<Machine>,
    pub(crate) source: CycleSource,
}

impl RowCase {
    /// Returns the name by which a result is kept.
    fn key(&self) -> String {
        match self.source {
            CycleSource::Run => self.row.to_string(),
            CycleSource::Price => format!("price of {}", self.row),
        }
    }
}

/// Folder of results that earlier runs of the same program have left.
#[derive(Debug)]
pub(crate) struct KeptRows {
    folder: PathBuf,
    /// Hash of the program file, so that no result of another build is taken.
    tool: String,
}

/// Contents of a file of a result.
#[derive(Debug, Serialize, Deserialize)]
struct KeptFile {
    row: String,
    machine_hash: String,
    tool: String,
    result: RowResult,
}

/// Returns the 64-bit hash FNV-1a of parts, in hexadecimal: the same on every host and in every build.
pub(super) fn hash(parts: &[&[u8]]) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for part in parts {
        add(&(part.len() as u64).to_le_bytes());
        add(part);
    }
    format!("{hash:016x}")
}

impl KeptRows {
    /// Opens a folder, which is made if it does not exist.
    pub(crate) fn open(folder: &Path) -> Result<Self, CommandFailure> {
        std::fs::create_dir_all(folder).map_err(|e| FileError::system(folder, "make", e))?;
        let own = std::env::current_exe().and_then(std::fs::read);
        let own = own.map_err(|e| {
            CommandFailure::input(format!(
                "--keep: this program cannot read itself ({e}), so that nothing would say which build made a result; leave out --keep"
            ))
        })?;
        Ok(Self {
            folder: folder.to_owned(),
            tool: hash(&[&own]),
        })
    }

    fn path(&self, row: &str, machine: &Machine) -> PathBuf {
        let name = hash(&[
            row.as_bytes(),
            machine.hash.as_bytes(),
            self.tool.as_bytes(),
        ]);
        self.folder.join(format!("{name}.json"))
    }

    /// Returns a result of this row, machine and build; none if there is no such file or it is damaged.
    fn find(&self, case: &RowCase) -> Option<RowResult> {
        let row = case.key();
        let text = std::fs::read_to_string(self.path(&row, &case.machine)).ok()?;
        let file: KeptFile = serde_json::from_str(&text).ok()?;
        let own = (&file.row, &file.machine_hash, &file.tool);
        (own == (&row, &case.machine.hash, &self.tool)).then_some(file.result)
    }

    fn keep(&self, case: &RowCase, result: &RowResult) -> Result<(), CommandFailure> {
        let file = KeptFile {
            row: case.key(),
            machine_hash: case.machine.hash.clone(),
            tool: self.tool.clone(),
            result: result.clone(),
        };
        let text = serde_json::to_string(&file).map_err(CommandFailure::input)?;
        let path = self.path(&file.row, &case.machine);
        Ok(write_whole(&path, text.as_bytes())?)
    }
}

/// Returns the first two lines of an error as one: what was refused, and why.
pub(super) fn shorten_reason(error: &str) -> String {
    let lines = error.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take(2).collect::<Vec<_>>().join(" ")
}

/// Returns the refusal of an error.
fn refuse(error: &KernelError) -> RowRefusal {
    RowRefusal {
        reason: shorten_reason(&error.to_string()),
        exit: match error {
            KernelError::Unfinished { .. } => GUEST_FAULT,
            KernelError::Wrong { .. } => UNVERIFIED,
            _ => 0,
        },
    }
}

/// Runs or prices a row.
fn measure_row(case: &RowCase, options: DeviceOptions) -> RowResult {
    let RowName { kernel, size } = &case.row;
    let priced = match case.source {
        CycleSource::Run => None,
        CycleSource::Price => {
            registry::price(*kernel, size, &case.machine).map_err(|e| refuse(&e))?
        }
    };
    let row = match priced {
        Some(row) => row,
        None => {
            let measured = registry::measure(*kernel, size, &case.machine, options);
            let row = measured.map_err(|e| refuse(&e))?;
            PricedRow {
                cycles: row.emulated_cycles,
                limit: row.limit,
                balance: row.balance,
                figures: row.figures,
            }
        }
    };
    let problem = kernel.problem(size).ok();
    Ok(RowFigures {
        cycles: row.cycles,
        reference_cycles: row.figures.reference.get(),
        clock_hz: case.machine.cp2.clock_hz,
        limit: row.limit,
        balance: row.balance.map(rounded),
        rival: problem.and_then(|problem| registry::find_rival(&*problem, &case.machine)),
    })
}

/// Rounds a ratio to the three decimals that are printed, so that a verdict follows from what is seen.
pub(crate) fn rounded(ratio: f64) -> f64 {
    (ratio * 1000.0).round() / 1000.0
}

/// Measures the cases on as many host threads as there are cores, and keeps each result as soon as it is there.
pub(crate) fn measure_cases(
    cases: &[RowCase],
    keep: Option<&KeptRows>,
    quiet: bool,
) -> Result<Vec<RowResult>, CommandFailure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, bar) = (
        AtomicUsize::new(0),
        progress::steps(cases.len() as u64, quiet),
    );
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(case) = cases.get(at) else {
                return Ok(done);
            };
            interrupt::check()?;
            bar.begin(&format!("{} on {}", case.row, case.machine.name));
            let result = match keep.and_then(|keep| keep.find(case)) {
                Some(result) => result,
                None => {
                    let options = DeviceOptions {
                        interrupt: Some(interrupt::flag()),
                        ..DeviceOptions::default()
                    };
                    let result = measure_row(case, options);
                    // A run that an interrupt has ended is no result.
                    interrupt::check()?;
                    if let Some(keep) = keep {
                        keep.keep(case, &result)?;
                    }
                    result
                }
            };
            done.push((at, result));
            bar.count_step();
        }
    };
    let parts: Vec<Result<Vec<_>, CommandFailure>> = std::thread::scope(|scope| {
        // Fewer helpers suffice where no more can be started.
        let begin = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let workers: Vec<_> = (1..threads).map_while(begin).collect();
        let own = work();
        let parts = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        let parts = parts.map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        parts.chain([own]).collect()
    });
    let mut all = Vec::new();
    for part in parts {
        all.extend(part?);
    }
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_rows_are_rows() {
        let rows = select_rows(None).unwrap_or_else(|e| panic!("{}", e.message));
        assert_eq!(rows.len(), DEFAULT_ROWS.len());
        for row in &rows {
            assert!(row.kernel.problem(&row.size).is_ok(), "{row}");
        }
    }

    #[test]
    fn rows_are_named_with_their_parameters() {
        let rows = select_rows(Some("fft:n=64:batch=3,fft,fft")).unwrap_or_default();
        assert_eq!(rows[0].to_string(), "fft n=64 batch=3");
        assert_eq!(rows.len(), 10);
        for wrong in [
            "ftf",
            "fft:m=3",
            "fft:n=x",
            "",
            "npb-mg:precision=quad",
            "stencil:edge=no",
        ] {
            assert!(select_rows(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
