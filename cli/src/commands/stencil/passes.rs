//! The passes of a stencil's plan with their expected cycles.

use crate::table::{Align, TextTable};
use cp2_kernels::stencil::Stencils;
use cp2_kernels::{Job, Pass};
use serde_json::{Value, json};
use std::sync::Arc;

/// One pass of a job.
struct Planned<'a> {
    pass: &'a Pass,
    /// Number of stencil steps; 0 for a pass that only changes an array's layout.
    steps: usize,
    /// Expected cycles, if known.
    cycles: Option<u64>,
}

impl Planned<'_> {
    fn what(&self) -> String {
        match self.steps {
            0 => "another layout".to_owned(),
            1 => "1 step".to_owned(),
            steps => format!("{steps} steps"),
        }
    }

    /// True if both passes can share a line of the table.
    fn is_like(&self, other: &Self) -> bool {
        let of = |planned: &Self| (planned.steps, planned.pass.pages(), planned.cycles);
        of(self) == of(other)
    }
}

/// All passes of a job, in order.
pub(super) struct Passes<'a> {
    all: Vec<Planned<'a>>,
}

impl<'a> Passes<'a> {
    pub(super) fn of(plan: &Stencils, job: &'a Job) -> Self {
        let prices = job.expected_of_passes().unwrap_or_default();
        let mut steps = plan.steps_of_passes().into_iter();
        let passes = job.passes().iter().enumerate();
        let passes = passes.map(|(number, pass)| Planned {
            pass,
            steps: match pass.is_relayout() {
                true => 0,
                false => steps.next().unwrap_or_default(),
            },
            cycles: prices.get(number).map(|cycles| cycles.0),
        });
        Self {
            all: passes.collect(),
        }
    }

    /// Returns the table of the passes with their prices, and the pages of each program that performs steps.
    pub(super) fn text(&self) -> String {
        let mut table = TextTable::new(&[Align::Left, Align::Left, Align::Right, Align::Right]);
        table.row(["pass", "what", "pages", "cycles each"]);
        let mut number = 1;
        for alike in self.all.chunk_by(Planned::is_like) {
            let Some(first) = alike.first() else {
                continue;
            };
            let last = number + alike.len() - 1;
            table.row([
                match alike.len() {
                    1 => number.to_string(),
                    _ => format!("{number}-{last}"),
                },
                first.what(),
                first.pass.pages().to_string(),
                first
                    .cycles
                    .map_or_else(|| "-".to_owned(), |cycles| cycles.to_string()),
            ]);
            number = last + 1;
        }
        let mut text = format!("\n{table}");
        let mut shown = Vec::new();
        for (number, planned) in self.all.iter().enumerate() {
            let program = Arc::as_ptr(&planned.pass.program().program);
            let Some(nest) = planned.pass.nest().filter(|_| !shown.contains(&program)) else {
                continue;
            };
            shown.push(program);
            // The pass's price is in the table already.
            let nest = format!("{nest:#}");
            text += &format!(
                "\npages of pass {}, {}: {}\n",
                number + 1,
                planned.what(),
                nest.trim_end()
            );
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let of = |planned: &Planned<'_>| {
            json!({
                "steps": planned.steps,
                "relayout": planned.pass.is_relayout(),
                "pages": planned.pass.pages(),
                "expected_cycles": planned.cycles,
            })
        };
        self.all.iter().map(of).collect()
    }
}
