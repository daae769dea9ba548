//! `cp2 bench gpu`: measures the shaders of a graphics card beside a copy on it.

use crate::backends::AdapterArg;
#[cfg(not(feature = "gpu"))]
use crate::outcome::{CommandFailure, CommandOutcome};

/// Arguments of `bench gpu`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: cp2 bench gpu --rows fft-1024,stencil-27 --json > h100.json\n\
                  Times are those of the card's own clock. Before each run its output is overwritten, and the last \
                  output is compared with double precision: exit code 1 if one is wrong (docs/gpu.md)."
)]
pub(super) struct GpuArgs {
    /// Rows to measure, with a comma between: fft-1024, fft-4096, stencil-27, conv-1024, conv-4096, spmv-27,
    /// fft-1009, fft-10007, fft-1048576, fft-3d, fft-1000, stencil-7, himeno-l, himeno-xl [default: all of them]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    rows: Vec<String>,
    /// MiB of an array, at most half of what the adapter binds [default: 512 on a card, 1 on a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    mib: Option<u64>,
    /// Timed runs of each row, of which the median counts
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Seed of the inputs
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Graphics cards: with more than one, rows of Himeno are measured on one and divided among all, the latter by the
    /// host's clock and compared to the bit with one
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    adapters: u32,
    #[command(flatten)]
    adapter: AdapterArg,
}

/// Says that graphics cards are missing.
#[cfg(not(feature = "gpu"))]
pub(super) fn run(_: &GpuArgs, _: bool) -> Result<CommandOutcome, CommandFailure> {
    Err(CommandFailure::input(
        "bench gpu: this program was built without graphics cards; build it with `--features gpu`",
    ))
}

#[cfg(feature = "gpu")]
pub(super) use measured::run;

#[cfg(feature = "gpu")]
mod measured {
    use super::GpuArgs;
    use crate::digits::decimal;
    use crate::interrupt;
    use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED};
    use crate::progress;
    use crate::table::{Align, TextTable, seconds};
    use cp2_gpu::bench::{SPEED_ROWS, SpeedFigures, SpeedPlan, SpeedRow};
    use cp2_gpu::{AdapterChoice, Gpu, GpuGroup};
    use serde_json::{Value, json};
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    /// How long all runs of a row may take.
    const LIMIT: Duration = Duration::from_secs(600);
    /// Name of the row of the copy.
    const COPY: &str = "copy";

    /// Runs `cp2 bench gpu`.
    pub(crate) fn run(args: &GpuArgs, json: bool) -> Result<CommandOutcome, CommandFailure> {
        let adapters = args.adapters as usize;
        let rows = find_divided(find_rows(&args.rows)?, &args.rows, adapters)?;
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
        let plan = SpeedPlan {
            bytes,
            repetitions: args.repetitions as usize,
            seed: args.seed,
        };
        let steps = progress::steps(rows.len() as u64 + 1, json);
        steps.begin(COPY);
        let copy = interrupt::compute_interruptible(|| gpu.measure_copy(&plan))?;
        let copy = copy.map_err(CommandFailure::input)?;
        let mut found = vec![(COPY.to_owned(), COPY.to_owned(), copy)];
        steps.count_step();
        for row in rows {
            steps.begin(row.name);
            // Arrays of a device that has had others before may lie where they are several times slower.
            let figures = interrupt::compute_interruptible(|| {
                let gpu = Gpu::open(&choice)?;
                gpu.measure_row(row, &plan)
            })?;
            let figures = figures
                .map_err(|error| CommandFailure::input(format!("row {}: {error}", row.name)))?;
            found.push((row.name.to_owned(), row.title.to_owned(), figures));
            if adapters > 1 {
                let figures = interrupt::compute_interruptible(|| {
                    let group = GpuGroup::open(&choice, adapters)?;
                    group.measure_row(row, &plan)
                })?;
                let figures = figures
                    .map_err(|error| CommandFailure::input(format!("row {}: {error}", row.name)))?;
                let name = format!("{}-{adapters}", row.name);
                let title = format!("{}, {adapters} adapters", row.title);
                found.push((name, title, figures));
            }
            steps.count_step();
        }
        drop(steps);
        Ok(outcome(&gpu, &plan, &found))
    }

    /// Finds rows by their names; all of them for none.
    fn find_rows(names: &[String]) -> Result<Vec<&'static SpeedRow>, CommandFailure> {
        let known = || SPEED_ROWS.iter().map(|row| row.name).collect::<Vec<_>>();
        let find = |name: &String| {
            let found = SPEED_ROWS.iter().find(|row| row.name == name);
            found.ok_or_else(|| {
                CommandFailure::input(format!(
                    "--rows: there is no row `{name}`; expected some of {}",
                    known().join(", ")
                ))
            })
        };
        match names.is_empty() {
            true => Ok(SPEED_ROWS.iter().collect()),
            false => names.iter().map(find).collect(),
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

    fn outcome(
        gpu: &Gpu,
        plan: &SpeedPlan,
        found: &[(String, String, SpeedFigures)],
    ) -> CommandOutcome {
        let copy = found.first().map_or(f64::NAN, |(_, _, copy)| copy.rate());
        let object = |(name, title, row): &(String, String, SpeedFigures)| {
            json!({
                "name": name,
                "title": title,
                "size": row.size,
                "seconds": row.seconds,
                "least_seconds": row.range[0],
                "most_seconds": row.range[1],
                "bytes": row.bytes,
                "gigabytes_per_second": row.rate() * 1e-9,
                "times_copy": row.rate() / copy,
                "recipe": row.recipe,
                "worst_error_over_tolerance": row.worst.is_finite().then_some(row.worst),
                "passed": row.is_right(),
            })
        };
        let adapter = gpu.adapter();
        let wrong: Vec<_> = found.iter().filter(|(_, _, row)| !row.is_right()).collect();
        let json = json!({
            "schema": "cp2-bench-gpu/1",
            "tool_version": env!("CARGO_PKG_VERSION"),
            "card": adapter.name,
            "driver": adapter.driver,
            "adapter": adapter,
            "date": today(),
            "command": command(),
            "seed": plan.seed,
            "array_bytes": plan.bytes,
            "repetitions": plan.repetitions,
            "rows": found.iter().map(object).collect::<Vec<Value>>(),
            "passed": wrong.is_empty(),
        });
        let notes = wrong.iter().map(|(name, _, row)| {
            format!(
                "error: the output of {name} is wrong: its error is {} of the tolerance\n",
                decimal(row.worst, 3, 1.0)
            )
        });
        CommandOutcome {
            text: text(gpu, plan, found, copy),
            json,
            notes: notes.collect(),
            exit: if wrong.is_empty() { 0 } else { UNVERIFIED },
        }
    }

    fn text(
        gpu: &Gpu,
        plan: &SpeedPlan,
        found: &[(String, String, SpeedFigures)],
        copy: f64,
    ) -> String {
        use Align::{Left, Right};
        let mut table = TextTable::new(&[Left, Right, Right, Right, Right, Left]);
        table.row(["row", "size", "time", "GB/s", "x copy", "how"]);
        for (name, _, row) in found {
            let size: Vec<_> = row.size.iter().map(ToString::to_string).collect();
            table.row([
                name.clone(),
                size.join(" x "),
                seconds(row.seconds),
                decimal(row.rate() * 1e-9, 1, 1.0),
                decimal(row.rate() / copy, 2, 1.0),
                row.recipe.clone(),
            ]);
        }
        let adapter = gpu.adapter();
        format!(
            "{} ({}, {})\n{table}median of {} runs by the card's clock; arrays of about {} MiB; bytes are the least \
             that has to be read and written\n",
            adapter.name,
            adapter.kind,
            adapter.driver,
            plan.repetitions,
            decimal(plan.bytes as f64 / f64::from(1 << 20), 0, 1.0),
        )
    }

    /// Returns the command line of this run.
    fn command() -> String {
        let all = std::env::args().skip(1);
        std::iter::once("cp2".to_owned())
            .chain(all)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns today's date in UTC.
    fn today() -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let days = now.map_or(0, |time| time.as_secs() / 86400);
        let [year, month, day] = date(days);
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// Returns year, month and day so many days after the begin of 1970.
    fn date(days: u64) -> [u64; 3] {
        // Years begin in March, so that the day of a leap year is the last one.
        let days = days + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let first = (153 * month + 2) / 5;
        let later = u64::from(month >= 10);
        [
            era * 400 + year + later,
            month + 3 - 12 * later,
            day - first + 1,
        ]
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn dates_are_those_of_the_calendar() {
            assert_eq!(date(0), [1970, 1, 1]);
            assert_eq!(date(11_016), [2000, 2, 29]);
            assert_eq!(date(11_017), [2000, 3, 1]);
            assert_eq!(date(19_722), [2023, 12, 31]);
            assert_eq!(date(19_723), [2024, 1, 1]);
        }

        #[test]
        fn rows_are_found_by_name() {
            assert_eq!(find_rows(&[]).unwrap().len(), SPEED_ROWS.len());
            let found = find_rows(&["stencil-7".to_owned(), "fft-3d".to_owned()]).unwrap();
            let names: Vec<_> = found.iter().map(|row| row.name).collect();
            assert_eq!(names, ["stencil-7", "fft-3d"]);
            let error = find_rows(&["fft-3".to_owned()]).unwrap_err().message;
            assert!(
                error.contains("`fft-3`") && error.contains("fft-3d"),
                "{error}"
            );
        }
    }
}
