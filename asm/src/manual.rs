//! Generates the instruction set manual, `docs/isa.md`, from the table.

mod bits;
mod purposes;
mod rows;

use crate::isa::{Form, Isa, Op, SCALARS, Scalar, Slot};
use cp2_machine::{Class, Machine};
use std::collections::BTreeSet;

/// Prose of the manual, with marks in double braces for the generated parts.
const INTRO: &str = include_str!("manual/intro.md");

/// Returns the text of `docs/isa.md`.
#[must_use]
pub fn isa() -> String {
    let machines = Machine::names().into_iter().filter_map(Machine::builtin);
    isa_of(&machines.collect::<Vec<_>>())
}

/// Returns the manual for these machines, with the rows that their files define.
#[must_use]
pub fn isa_of(machines: &[Machine]) -> String {
    let own = machines.iter().flat_map(|m| Isa::of(m).operations());
    let own: BTreeSet<Op> = own.collect();
    let all: Vec<Op> = Op::ALL.iter().copied().chain(own).collect();
    let mut text = INTRO
        .replace("{{banks}}", &banks())
        .replace("{{word}}", &bits::word())
        .replace("{{address}}", &bits::address())
        .replace("{{latencies}}", &latencies(machines))
        .replace("{{purposes}}", &purposes::list_purposes());
    for (slot, title) in [
        (Slot::Arith, "Arithmetic slot"),
        (Slot::Mem, "Memory and control slot"),
    ] {
        text += &format!("\n## {title}\n");
        // Forms in the order in which the table first uses them.
        let mut forms: Vec<Form> = Vec::new();
        for form in all.iter().map(|op| op.row().form) {
            if form.slot() == slot && !forms.contains(&form) {
                forms.push(form);
            }
        }
        for form in forms {
            text += &rows::section(form, &all, machines);
        }
    }
    text
}

/// Formats the rows of the register table for the banks of shared scalars.
fn banks() -> String {
    let mut banks: Vec<(String, u8, u8)> = Vec::new();
    for i in 0..SCALARS as u8 {
        let prefix = Scalar(i)
            .to_string()
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .to_owned();
        match banks.last_mut() {
            Some((name, _, last)) if *name == prefix => *last = i,
            _ => banks.push((prefix, i, i)),
        }
    }
    let row = |(prefix, first, last): &(String, u8, u8)| {
        let what = match prefix.as_str() {
            "a" => "DMEM byte address",
            "s" => "step for post-increments, bytes",
            "c" => "control: counts, conditions",
            "b" => "start of the modulo range of the address register of the same number",
            "l" => "length of that range, bytes",
            _ => "",
        };
        format!(
            "| `{}`..`{}` | {first}..{last}, shared | {what} |",
            Scalar(*first),
            Scalar(*last)
        )
    };
    banks.iter().map(row).collect::<Vec<_>>().join("\n")
}

/// Formats a table of the latency and the interval, in cycles, of each class on each machine.
fn latencies(machines: &[Machine]) -> String {
    let names = |suffix: &str| {
        machines
            .iter()
            .map(|m| format!(" {}{suffix} |", m.name))
            .collect::<String>()
    };
    let mut text = format!(
        "| class |{}{}\n|---|{}\n",
        names(""),
        names(" interval"),
        "---|".repeat(2 * machines.len())
    );
    for class in Class::ALL
        .into_iter()
        .filter(|&class| class != Class::Control)
    {
        let latency = machines
            .iter()
            .map(|m| format!(" {} |", m.cp2.latency[class].get()));
        let interval = machines
            .iter()
            .map(|m| format!(" {} |", m.cp2.interval[class].get()));
        text += &format!(
            "| {class} |{}\n",
            latency.chain(interval).collect::<String>()
        );
    }
    text.trim_end().to_owned()
}
