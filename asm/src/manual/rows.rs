//! The manual's section for one operand form.

use super::bits;
use crate::isa::{Address, Form, Inst, Kind, Op, Operand, Row, Slot};
use cp2_machine::{Class, Machine};

/// Returns a form's section: heading, bits, operand ranges, and the table of its rows.
pub(super) fn section(form: Form, all: &[Op], machines: &[Machine]) -> String {
    let arith = form.slot() == Slot::Arith;
    let names: String = machines.iter().map(|m| format!(" {} |", m.name)).collect();
    let (counts, dashes) = if arith {
        (" mul | add |", "---|---|")
    } else {
        ("", "")
    };
    let notes: Vec<String> = form.operands().iter().filter_map(note).collect();
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!("{}.\n\n", notes.join("; "))
    };
    let mut text = format!(
        "\n### {}\n\n```text\n{}\n```\n\n{notes}| name | major | minor | class |{names}{counts} meaning |\n|---|---|---|---|{}{dashes}---|\n",
        heading(form),
        bits::form(form),
        "---|".repeat(machines.len()),
    );
    for row in all.iter().map(|op| op.row()).filter(|row| row.form == form) {
        text += &line(row, machines, arith);
    }
    text
}

/// Formats the operands with their kinds: `d:pair, a:pair`.
fn heading(form: Form) -> String {
    if form.operands().is_empty() {
        return "No operands".to_owned();
    }
    let operands: Vec<String> = form
        .operands()
        .iter()
        .map(|o| format!("{}:{}", o.name, kind(o.kind)))
        .collect();
    format!("`{}`", operands.join(", "))
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Pair => "pair",
        Kind::Quad => "quad",
        Kind::Scalar => "scalar",
        Kind::ScalarCouple => "two-scalars",
        Kind::Imm { .. } => "int",
        Kind::Float24 => "float",
        Kind::Target => "label",
        Kind::LoopEnd => "loop-end",
        Kind::Mem { bytes: 4, .. } => "address-4",
        Kind::Mem { bytes: 8, align: 8 } => "address-8",
        Kind::Mem { bytes: 8, .. } => "word-address-8",
        Kind::Mem { bytes, align } if bytes == align => "address-16",
        Kind::Mem { .. } => "word-address-16",
        Kind::OwnMem { bytes: 4 } => "own-address-4",
        Kind::OwnMem { bytes: 8 } => "own-address-8",
        Kind::OwnMem { .. } => "own-address-16",
    }
}

/// Describes the values that the field of an operand may hold.
fn note(operand: &Operand) -> Option<String> {
    let bits = operand.field.bits;
    let text = match operand.kind {
        Kind::Pair | Kind::Quad | Kind::Scalar => return None,
        Kind::ScalarCouple => {
            "names two consecutive scalars by the first, which is even".to_owned()
        }
        Kind::Imm { signed: true, .. } => {
            format!("-{0} to {1}", 1u64 << (bits - 1), (1u64 << (bits - 1)) - 1)
        }
        Kind::Imm { signed: false, min } => format!("{min} to {}", (1u64 << bits) - 1),
        Kind::Float24 => "the upper 24 bits of a binary32 whose lower eight are zero".to_owned(),
        Kind::Target => "word address in program memory".to_owned(),
        Kind::LoopEnd => format!(
            "length of the loop body in words, 1 to {}",
            (1u64 << bits) - 1
        ),
        Kind::Mem { bytes, align } => {
            let range = Address::immediate_range(align);
            let unit = if align == bytes {
                String::new()
            } else {
                format!(" from a multiple of {align}")
            };
            format!(
                "DMEM address, see above; {bytes} bytes{unit}, immediates {} to {}",
                range.start(),
                range.end()
            )
        }
        Kind::OwnMem { bytes } => {
            format!(
                "own DMEM address, see above; {bytes} bytes, and the half-word counts {bytes} bytes"
            )
        }
    };
    Some(format!("`{}`: {text}", operand.name))
}

fn line(row: &Row, machines: &[Machine], arith: bool) -> String {
    let minor = row.form.minor().map_or("-".to_owned(), |field| {
        format!("`{:0w$b}`", row.minor, w = field.bits as usize)
    });
    let latency = |m: &Machine| match (row.class, row.op) {
        (Class::Control, _) => " - |".to_owned(),
        (_, Op::User(own)) if !m.cp2.rows.contains(&own) => " - |".to_owned(),
        _ => format!(" {} |", Inst::new(row.op).latency(&m.cp2)),
    };
    let latencies: String = machines.iter().map(latency).collect();
    let counts = if arith {
        format!(" {} | {} |", row.muls, row.adds)
    } else {
        String::new()
    };
    let requires: Vec<String> = row
        .requires
        .names()
        .map(|name| format!(" Requires `{name}`."))
        .collect();
    let lanes = match row.op {
        Op::User(own) => format!(" Lanes: `{}`.", own.definition().lanes),
        _ => String::new(),
    };
    let doc = (row.doc.to_owned() + &lanes).replace('|', "\\|");
    let doc = doc.trim_start();
    format!(
        "| `{}` | `{:05b}` | {minor} | {} |{latencies}{counts} {doc}{} |\n",
        row.mnemonic,
        row.major,
        row.class,
        requires.concat()
    )
}
