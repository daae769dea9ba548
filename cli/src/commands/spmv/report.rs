//! The report of `cp2 spmv`.

use crate::digits::decimal;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::packing::PackingCost;
use crate::picture::matrix::{LegendBlock, MatrixPicture};
use crate::simulation::{figures, merge, outside_time, table};
use crate::table::{Align, TextTable};
use cp2_kernels::sparse::{PackedMatrix, Products, csr_ratio};
use cp2_kernels::{KernelRun, Verdict};
use cp2_machine::{Cycles, Machine};
use cp2_problems::sparse::{SparseMatrix, SpmvProblem};
use cp2_problems::{NamedArrays, Problem as _};
use serde_json::{Value, json};

/// Product that was requested, with its plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedProduct<'a> {
    pub(super) problem: &'a SpmvProblem,
    pub(super) products: &'a Products,
    pub(super) machine: &'a Machine,
    /// Seconds of host time for packing.
    pub(super) host_seconds: f64,
}

impl PlannedProduct<'_> {
    /// Returns the format's figure of merit for the products of all vectors: the time of compressed rows
    /// relative to `cycles`.
    fn csr_ratio(&self, cycles: u64) -> f64 {
        let (matrix, vectors) = (self.problem.matrix(), self.problem.vectors());
        csr_ratio(matrix, vectors, Cycles(cycles), self.machine)
    }
}

/// Lists the formats with their costs.
fn formats(planned: &PlannedProduct<'_>) -> (String, Value) {
    let products = planned.products;
    let mut lines = TextTable::new(&[
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ]);
    lines.row(["format", "cycles", "csr ratio", "packed", ""]);
    let mut all = Vec::new();
    for (found, chosen) in products.candidates() {
        let (cycles, why) = match &found.cycles {
            Ok(cycles) => (Some(cycles.0), String::new()),
            Err(error) => (None, error.to_string()),
        };
        let all_products = products.price_of(found);
        let ratio = all_products.map(|cycles| planned.csr_ratio(cycles.0));
        let note = if chosen { "chosen" } else { &why };
        lines.row([
            &match found.vectors {
                1 => found.format.name().to_owned(),
                several => format!("{}, {several} vectors", found.format),
            },
            &cycles.map_or_else(|| "-".to_owned(), |cycles| cycles.to_string()),
            &ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.3}")),
            &format!("{} B", found.bytes),
            note,
        ]);
        all.push(json!({
            "format": found.format.name(),
            "vectors": found.vectors,
            "cycles": cycles,
            "all_cycles": all_products.map(|cycles| cycles.0),
            "csr_ratio": ratio,
            "bytes": found.bytes,
            "places": found.places,
            "chosen": chosen,
            "refused": (!why.is_empty()).then_some(why),
        }));
    }
    (lines.to_string(), json!(all))
}

/// Returns the warning about entries that are not finite; empty if there are none.
pub(super) fn not_finite(matrix: &SparseMatrix) -> String {
    let Some((count, [row, column])) = matrix.not_finite() else {
        return String::new();
    };
    let what = if count == 1 {
        "1 entry is"
    } else {
        &format!("{count} entries are")
    };
    format!(
        "{what} not finite, first that at row {}, column {} (from 1 on): so are the results of such rows\n",
        row + 1,
        column + 1
    )
}

/// Work of the host outside of simulated time.
const PACKING: &str = "packing the matrix";

/// Reports what is known before the product is computed.
fn describe_product(planned: &PlannedProduct<'_>, cycles: u64) -> (String, Value) {
    let PlannedProduct {
        problem,
        products,
        machine,
        host_seconds,
    } = *planned;
    let (matrix, product) = (problem.matrix(), products.product());
    let (lines, all) = formats(planned);
    let padding = product.padding(matrix.nnz());
    let each = cycles as f64 / problem.vectors() as f64;
    let packed = PackingCost::new(products.packing(), host_seconds, each, machine);
    let text = format!(
        "{}\n{}{lines}{}: {}\n{} B packed, {padding:.2} places for each entry\n{}",
        problem.title(),
        not_finite(matrix),
        product.format(),
        products.recipe(),
        products.bytes(),
        outside_time(&[&format!("{PACKING} ({})", packed.text())])
    );
    let json = json!({
        "format": product.format().name(),
        "formats": all,
        "recipe": products.recipe(),
        "packed_bytes": products.bytes(),
        "padding": padding,
        "outside_time": [PACKING],
    });
    (
        text,
        merge(describe_problem(problem), merge(json, packed.json())),
    )
}

/// Returns the problem as JSON.
pub(super) fn describe_problem(problem: &SpmvProblem) -> Value {
    let matrix = problem.matrix();
    json!({
        "rows": matrix.rows(),
        "cols": matrix.cols(),
        "nnz": matrix.nnz(),
        "not_finite": matrix.not_finite().map_or(0, |(count, _)| count),
        "symmetry": matrix.symmetry().to_string(),
        "vectors": problem.vectors(),
        "csr_bytes": problem.csr_bytes(),
    })
}

/// Reports the plan of a product that is not computed.
pub(super) fn report_plan(
    planned: &PlannedProduct<'_>,
    x: &NamedArrays,
) -> Result<CommandOutcome, CommandFailure> {
    let products = planned.products;
    let task = products.task(x, cp2_host::DeviceOptions::default());
    let expected = task.map_err(CommandFailure::input)?.job.expected();
    let cycles = expected.unwrap_or_else(|| products.expected()).0;
    let known = products.figures();
    let (text, own) = describe_product(planned, cycles);
    Ok(CommandOutcome {
        text: format!("{text}{}\nexpected {cycles} cycles\n", known.text()),
        json: merge(
            merge(own, json!(known)),
            json!({ "expected_cycles": cycles }),
        ),
        ..CommandOutcome::default()
    })
}

/// Reports a product that was computed.
pub(super) fn report_product(
    planned: &PlannedProduct<'_>,
    run: &KernelRun<NamedArrays>,
    verdict: Option<Verdict>,
    host_seconds: f64,
) -> CommandOutcome {
    let (problem, report) = (planned.problem, &run.run.report);
    let finished = report.end.is_finished();
    let ratio = finished.then(|| planned.csr_ratio(report.cycles));
    let (mut text, own) = describe_product(planned, report.cycles);
    text += &table(report);
    text += &run.figures.text();
    text += &match ratio {
        Some(ratio) => format!(
            ", efficiency {:.3}\ncsr ratio {ratio:.3}: to compressed rows ({} B) over the channel\n",
            run.efficiency(),
            problem.csr_bytes()
        ),
        None => ", not finished\n".to_owned(),
    };
    text += &error_text(verdict);
    let more = json!({
        "efficiency": finished.then(|| run.efficiency()),
        "csr_ratio": ratio,
        "expected_cycles": run.expected.map(|price| price.0),
        "rel_error": verdict.map(|v| v.rms),
        "worst_error_over_tolerance": verdict.map(|v| v.worst),
        "verified": verdict.map(|v| v.is_within_tolerance()),
        "host_seconds": host_seconds,
    });
    CommandOutcome {
        text,
        json: merge(figures(report), merge(own, merge(json!(run.figures), more))),
        ..CommandOutcome::default()
    }
}

/// Returns the line about the error.
pub(super) fn error_text(verdict: Option<Verdict>) -> String {
    match verdict {
        Some(v) => format!(
            "error against f64: {:.2e} relative RMS, worst row {} of the bound of its sum\n",
            v.rms,
            decimal(v.worst, 2, 1.0)
        ),
        None => "error: not known (no result)\n".to_owned(),
    }
}

/// Colours a picture by the parts of the matrix that are multiplied with one piece of the vector.
pub(super) fn divided(picture: MatrixPicture, product: &PackedMatrix) -> MatrixPicture {
    let (legend, regions) = product.regions();
    let blocks = regions
        .into_iter()
        .map(|(rows, columns, kind)| LegendBlock {
            rows,
            columns,
            kind,
        });
    picture.with_blocks(legend, blocks.collect())
}
