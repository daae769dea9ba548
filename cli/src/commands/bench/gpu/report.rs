//! Reports of `cp2 bench gpu`: JSON, and tables that name the clock of every time.

use super::cards::{CardSheet, ExpectedTime, expect_time, find_card};
use super::measured::{MeasuredRow, SpeedClock};
use crate::digits::decimal;
use crate::outcome::{CommandOutcome, UNVERIFIED};
use crate::table::{Align, TextTable, seconds};
use cp2_gpu::AdapterReport;
use cp2_gpu::bench::SpeedPlan;
use cp2_machine::Machine;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// All that was measured.
pub(super) struct SpeedReport<'a> {
    pub(super) adapter: &'a AdapterReport,
    pub(super) plan: SpeedPlan,
    pub(super) machines: &'a [Arc<Machine>],
    /// The copy, and the rows.
    pub(super) rows: Vec<MeasuredRow>,
}

/// The times that a row should take.
struct ExpectedTimes {
    /// By the card's data sheet, if it is known.
    sheet: Option<ExpectedTime>,
    /// At the bandwidth of the measured copy.
    copy: ExpectedTime,
}

/// Formats what there may be.
fn cell<T>(value: Option<T>, format: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), format)
}

/// Formats a ratio.
fn ratio(value: f64) -> String {
    decimal(value, 2, 1.0)
}

/// Returns the report as text and JSON; a wrong output makes it a failure.
pub(super) fn outcome(report: &SpeedReport<'_>) -> CommandOutcome {
    let sheet = find_card(&report.adapter.name);
    let all: Vec<(&MeasuredRow, ExpectedTimes)> = report
        .rows
        .iter()
        .map(|row| (row, report.expect(row, sheet.as_ref())))
        .collect();
    let wrong = || report.rows.iter().filter(|row| !row.figures.is_right());
    let passed = wrong().next().is_none();
    let notes = wrong().map(|row| {
        format!(
            "error: the output of {} is wrong: its error is {} of the tolerance\n",
            row.name,
            decimal(row.figures.worst, 3, 1.0)
        )
    });
    let json = json!({
        "schema": "cp2-bench-gpu/1",
        "tool_version": env!("CARGO_PKG_VERSION"),
        "card": report.adapter.name,
        "driver": report.adapter.driver,
        "adapter": report.adapter,
        "data_sheet": sheet,
        "date": today(),
        "command": command(),
        "seed": report.plan.seed,
        "array_bytes": report.plan.bytes,
        "repetitions": report.plan.repetitions,
        "machines": report.machines.iter().map(|m| &m.name).collect::<Vec<_>>(),
        "rows": all.iter().map(|(row, times)| report.object(row, times)).collect::<Vec<Value>>(),
        "passed": passed,
    });
    CommandOutcome {
        notes: notes.collect(),
        json,
        text: report.text(sheet.as_ref(), &all),
        exit: if passed { 0 } else { UNVERIFIED },
    }
}

impl SpeedReport<'_> {
    /// Returns the rate of the copy, bytes a second.
    fn copy_rate(&self) -> f64 {
        let copy = self.rows.first();
        copy.map_or(f64::NAN, |copy| copy.figures.rate())
    }

    /// Returns the times that a row should take; several adapters have as much of everything.
    fn expect(&self, row: &MeasuredRow, sheet: Option<&CardSheet>) -> ExpectedTimes {
        let adapters = row.adapters as f64;
        let peak = sheet.map(|sheet| sheet.fp32_teraflops * 1e12 * adapters);
        let expect = |bandwidth: f64| expect_time(&row.figures, bandwidth * adapters, peak);
        ExpectedTimes {
            sheet: sheet.map(|sheet| expect(sheet.memory_terabytes_per_second * 1e12)),
            copy: expect(self.copy_rate()),
        }
    }

    fn object(&self, row: &MeasuredRow, times: &ExpectedTimes) -> Value {
        let figures = &row.figures;
        let expected = |time: ExpectedTime| {
            json!({
                "seconds": time.seconds,
                "limit": time.limit,
                "over_measured": time.seconds / figures.seconds,
            })
        };
        let simulated = row.simulated.iter().map(|time| {
            json!({
                "machine": time.machine,
                "model_seconds": time.seconds.as_ref().ok(),
                "reason": time.seconds.as_ref().err(),
            })
        });
        json!({
            "name": row.name,
            "title": row.title,
            "goal": row.goal,
            "size": figures.size,
            "matrix": row.matrix,
            "clock": row.clock,
            "adapters": row.adapters,
            "seconds": figures.seconds,
            "least_seconds": figures.range[0],
            "most_seconds": figures.range[1],
            "bytes": figures.bytes,
            "operations": figures.operations,
            "gigabytes_per_second": figures.rate() * 1e-9,
            "gigaflops": figures.operations / figures.seconds * 1e-9,
            "times_copy": figures.rate() / self.copy_rate(),
            "expected_by_data_sheet": times.sheet.map(expected),
            "expected_by_copy": expected(times.copy),
            "simulated": simulated.collect::<Vec<Value>>(),
            "recipe": figures.recipe,
            "worst_error_over_tolerance": figures.worst.is_finite().then_some(figures.worst),
            "passed": figures.is_right(),
        })
    }

    fn text(&self, sheet: Option<&CardSheet>, all: &[(&MeasuredRow, ExpectedTimes)]) -> String {
        let adapter = self.adapter;
        let mut text = format!("{} ({}, {})\n", adapter.name, adapter.kind, adapter.driver);
        let clocks = [
            (SpeedClock::Device, "measured by the card's clock"),
            (SpeedClock::Host, "measured by the host's clock"),
        ];
        for (clock, measured) in clocks {
            let rows: Vec<_> = all.iter().filter(|(row, _)| row.clock == clock).collect();
            if !rows.is_empty() {
                text += &format!("\n{}", self.speeds(&rows, measured));
                text += &format!("\n{}", self.comparison(&rows, measured));
            }
        }
        text += &self.footnotes();
        let by = match sheet {
            Some(sheet) => format!(
                "{} TB/s and {} TFLOPS ({})",
                sheet.memory_terabytes_per_second, sheet.fp32_teraflops, sheet.source
            ),
            None => "unknown for this adapter".to_owned(),
        };
        text + &format!(
            "median of {} runs; arrays of about {} MiB; bytes are the least that known algorithms read and write\n\
             expected: the longer time of bytes and operations, by the data sheet ({by}) and with the bandwidth of the \
             copy\n\
             simulated: seconds on a machine's own clock that the performance model expects for the same problem\n",
            self.plan.repetitions,
            decimal(self.plan.bytes as f64 / f64::from(1 << 20), 0, 1.0),
        )
    }

    /// Returns the table of speeds.
    fn speeds(&self, rows: &[&(&MeasuredRow, ExpectedTimes)], measured: &str) -> TextTable {
        use Align::{Left, Right};
        let mut table = TextTable::new(&[Left, Right, Right, Right, Right, Right, Left]);
        table.row(["row", "size", measured, "GB/s", "GFLOPS", "x copy", "how"]);
        for (row, _) in rows {
            let figures = &row.figures;
            let size: Vec<_> = figures.size.iter().map(ToString::to_string).collect();
            let flops = (figures.operations > 0.0).then_some(figures.operations / figures.seconds);
            table.row([
                row.name.clone(),
                size.join(" x "),
                seconds(figures.seconds),
                decimal(figures.rate() * 1e-9, 1, 1.0),
                cell(flops, |flops| decimal(flops * 1e-9, 1, 1.0)),
                ratio(figures.rate() / self.copy_rate()),
                figures.recipe.clone(),
            ]);
        }
        table
    }

    /// Returns the table of expected and measured times, with those of machines.
    fn comparison(&self, rows: &[&(&MeasuredRow, ExpectedTimes)], measured: &str) -> TextTable {
        let left = std::iter::once(Align::Left);
        let right = std::iter::repeat_n(Align::Right, 5 + self.machines.len());
        let mut table = TextTable::new(&left.chain(right).collect::<Vec<_>>());
        let heads = [
            "row",
            measured,
            "expected by data sheet",
            "/ measured",
            "expected by copy",
            "/ measured",
        ];
        let machines = self.machines.iter();
        let machines = machines.map(|machine| format!("{}, simulated", machine.name));
        table.row(heads.map(str::to_owned).into_iter().chain(machines));
        for (row, times) in rows {
            let own = row.figures.seconds;
            let over = |time: ExpectedTime| ratio(time.seconds / own);
            let mut cells = vec![
                row.name.clone(),
                seconds(own),
                cell(times.sheet, |time| seconds(time.seconds)),
                cell(times.sheet, over),
                seconds(times.copy.seconds),
                over(times.copy),
            ];
            let simulated = |index: usize| row.simulated.get(index)?.seconds.as_ref().ok();
            let indices = 0..self.machines.len();
            cells.extend(indices.map(|index| cell(simulated(index), |time| seconds(*time))));
            table.row(cells);
        }
        table
    }

    /// Says why rows have no time of a machine.
    fn footnotes(&self) -> String {
        let mut reasons: Vec<(&str, &str, Vec<&str>)> = Vec::new();
        for row in &self.rows {
            for time in &row.simulated {
                let Err(reason) = &time.seconds else { continue };
                let same = |known: &&mut (&str, &str, Vec<&str>)| {
                    known.0 == time.machine && known.1 == reason
                };
                match reasons.iter_mut().find(same) {
                    Some((.., rows)) => rows.push(&row.name),
                    None => reasons.push((&time.machine, reason, vec![&row.name])),
                }
            }
        }
        let line = |(machine, reason, rows): &(&str, &str, Vec<&str>)| {
            format!("- of {machine}: {}: {reason}\n", rows.join(", "))
        };
        reasons.iter().map(line).collect()
    }
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
}
