//! What `cp2 spmv` says.

use crate::outcome::Outcome;
use crate::picture::matrix::{Block, MatrixPicture};
use crate::simulation::{figures, merge, outside_time, table};
use crate::table::{Align, Table, seconds};
use cp2_kernels::sparse::Products;
use cp2_kernels::{KernelRun, Verdict};
use cp2_machine::Machine;
use cp2_problems::sparse::SpmvProblem;
use cp2_problems::{Data, Problem as _};
use serde_json::{Value, json};

/// What packing costs, and products without it.
#[derive(Debug)]
pub(super) struct Packing {
    /// Of this computer.
    host_seconds: f64,
    /// Bytes per cycle of the control CPU, and cycles of an operation.
    copy: f64,
    scalar: f64,
    clock: f64,
    /// Cycles of the control CPU for the products of the compressed rows.
    unpacked: f64,
    /// Bytes of the compressed rows, without vectors.
    rows: f64,
    /// Bytes of them and of vectors over the DMA channel, in cycles.
    csr: f64,
}

impl Packing {
    pub(super) fn new(problem: &SpmvProblem, machine: &Machine, host_seconds: f64) -> Self {
        let matrix = problem.matrix();
        let (number, operations) = match matrix.is_complex() {
            true => (8.0, 8.0),
            false => (4.0, 2.0),
        };
        let (nnz, vectors) = (matrix.nnz() as f64, problem.vectors() as f64);
        let rows = nnz * (number + 4.0) + 4.0 * matrix.rows() as f64;
        let copy = machine.host.copy.as_f64();
        let scalar = machine.host.scalar.0 as f64;
        // For each vector: an entry, its column, a number of x and two operations (eight of complex numbers); a number of y for each row.
        let moved = rows + number * (nnz + matrix.rows() as f64);
        Self {
            host_seconds,
            copy,
            scalar,
            clock: machine.cp2.clock_hz as f64,
            unpacked: vectors * (moved / copy + operations * nnz * scalar),
            rows,
            csr: problem.csr_bytes() as f64 / machine.dma.bandwidth.as_f64(),
        }
    }

    /// Cycles of the control CPU to pack: it reads the compressed rows and writes the packed matrix, and orders each entry in some ten operations.
    fn cycles(&self, bytes: u64, entries: usize) -> f64 {
        (self.rows + bytes as f64) / self.copy + ORDER * entries as f64 * self.scalar
    }

    /// Products after which packing pays: before, the control CPU alone would have been done earlier.
    fn pays_after(&self, pack: f64, product: f64) -> Option<u64> {
        let saved = self.unpacked - product;
        (saved > 0.0).then(|| (pack / saved).ceil() as u64)
    }
}

/// Operations for each entry that is put into its place, about: a comparison or two, a place, a word.
const ORDER: f64 = 10.0;

/// The formats and what they cost.
fn formats(products: &Products, csr: f64) -> (String, Value) {
    let mut lines = Table::new(&[
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ]);
    lines.row(["format", "cycles", "csr ratio", "packed", ""]);
    let mut all = Vec::new();
    for found in products.product().candidates() {
        let chosen = found.format == products.product().format();
        let (cycles, why) = match &found.cycles {
            Ok(cycles) => (Some(cycles.0), String::new()),
            Err(error) => (None, error.to_string()),
        };
        let note = if chosen { "chosen" } else { &why };
        lines.row([
            found.format.name(),
            &cycles.map_or_else(|| "-".to_owned(), |cycles| cycles.to_string()),
            &cycles.map_or_else(
                || "-".to_owned(),
                |cycles| format!("{:.3}", csr / cycles as f64),
            ),
            &format!("{} B", found.bytes),
            note,
        ]);
        all.push(json!({
            "format": found.format.name(),
            "cycles": cycles,
            "csr_ratio": cycles.map(|cycles| csr / cycles as f64),
            "bytes": found.bytes,
            "places": found.places,
            "chosen": chosen,
            "refused": (!why.is_empty()).then_some(why),
        }));
    }
    (lines.to_string(), json!(all))
}

/// What is known before anything is computed.
fn described(
    (problem, products, packing): (&SpmvProblem, &Products, &Packing),
    cycles: u64,
) -> (String, Value) {
    let (matrix, product) = (problem.matrix(), products.product());
    let (lines, all) = formats(products, packing.csr / problem.vectors() as f64);
    let each = if matrix.is_complex() { 2 } else { 1 };
    let padding = product.places() as f64 / (each * matrix.nnz()).max(1) as f64;
    let pack = packing.cycles(product.bytes(), matrix.nnz());
    let pays = packing.pays_after(pack, cycles as f64);
    let pays_text = match pays {
        Some(products) => format!("pays after {products} of them"),
        None => "never pays: the control CPU is as fast with compressed rows".to_owned(),
    };
    let text = format!(
        "{}\n{lines}{}: {}\n{} B packed, {padding:.2} places for each entry\n{}",
        problem.title(),
        product.format(),
        product.recipe(),
        product.bytes(),
        outside_time(&[&format!(
            "packing the matrix ({} on this computer; the control CPU would take {}, which {pays_text})",
            seconds(packing.host_seconds),
            seconds(pack / packing.clock)
        )])
    );
    let json = json!({
        "rows": matrix.rows(),
        "cols": matrix.cols(),
        "nnz": matrix.nnz(),
        "symmetry": matrix.symmetry().to_string(),
        "vectors": problem.vectors(),
        "format": product.format().name(),
        "formats": all,
        "recipe": product.recipe(),
        "packed_bytes": product.bytes(),
        "padding": padding,
        "pack_seconds": packing.host_seconds,
        "pack_seconds_simulated": pack / packing.clock,
        "pays_after": pays,
    });
    (text, json)
}

/// What would be done.
pub(super) fn planned(problem: &SpmvProblem, products: &Products, packing: &Packing) -> Outcome {
    let cycles = products.product().expected().0;
    let known = products.figures();
    let (text, own) = described((problem, products, packing), cycles);
    Outcome {
        text: format!("{text}{}\n", known.text()),
        json: merge(
            merge(own, json!(known)),
            json!({ "expected_cycles": cycles }),
        ),
        ..Outcome::default()
    }
}

/// What was done.
pub(super) fn done(
    (problem, products, packing): (&SpmvProblem, &Products, &Packing),
    run: &KernelRun<Data>,
    verdict: Option<Verdict>,
    host_seconds: f64,
) -> Outcome {
    let report = &run.run.report;
    let finished = report.end.is_finished();
    let ratio = finished.then(|| packing.csr / report.cycles as f64);
    let (mut text, own) = described((problem, products, packing), report.cycles);
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
    text += &match verdict {
        Some(v) => format!(
            "error against f64: {:.2e} relative RMS, worst row {:.2} of the bound of its sum\n",
            v.rms, v.worst
        ),
        None => "error: not known (no result)\n".to_owned(),
    };
    let more = json!({
        "efficiency": finished.then(|| run.efficiency()),
        "csr_ratio": ratio,
        "csr_bytes": problem.csr_bytes(),
        "expected_cycles": run.expected.map(|price| price.0),
        "rel_error": verdict.map(|v| v.rms),
        "worst_error_over_tolerance": verdict.map(|v| v.worst),
        "verified": verdict.map(|v| v.holds()),
        "host_seconds": host_seconds,
    });
    Outcome {
        text,
        json: merge(figures(report), merge(own, merge(json!(run.figures), more))),
        ..Outcome::default()
    }
}

/// A picture with what is multiplied with one piece of the vector.
pub(super) fn divided(picture: MatrixPicture, products: &Products) -> MatrixPicture {
    let (legend, regions) = products.product().regions();
    let blocks = regions.into_iter().map(|(rows, columns, kind)| Block {
        rows,
        columns,
        kind,
    });
    picture.with_blocks(legend, blocks.collect())
}
