//! Drawings of bit fields in text.

use crate::isa::{Address, Field, Form, Kind, OwnAddress, Slot};

/// One cell of a drawing: highest bit, lowest bit, name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    high: u32,
    low: u32,
    name: String,
}

impl Cell {
    fn new(field: Field, name: &str) -> Self {
        Self {
            high: field.lsb + field.bits - 1,
            low: field.lsb,
            name: name.to_owned(),
        }
    }
}

/// Draws the two slots of a word.
pub(super) fn word() -> String {
    let cell = |slot: Slot, name| {
        Cell::new(
            Field {
                lsb: slot.shift(),
                bits: slot.bits(),
            },
            name,
        )
    };
    draw(&[
        cell(Slot::Arith, "arithmetic slot"),
        cell(Slot::Mem, "memory and control slot"),
    ])
}

/// Draws the fields of an address for each kind of mode.
pub(super) fn address() -> String {
    let common = [
        Cell::new(Address::BASE, "a"),
        Cell::new(Address::MODE, "mode"),
    ];
    let imm = [Cell::new(Address::IMM, "imm")];
    let step = [
        Cell::new(Address::STEP, "s"),
        Cell::new(Address::STEP_KIND, "kind"),
        Cell::new(Address::STEP_ZERO, "0"),
    ];
    let with = |tail: &[Cell]| draw(&[&common, tail].concat());
    let own = [
        Cell::new(Address::BASE, "a"),
        Cell::new(OwnAddress::REGISTER, "r"),
        Cell::new(OwnAddress::HALF, "h"),
    ];
    format!("{}\n\n{}\n\n{}", with(&imm), with(&step), draw(&own))
}

/// Draws the slot's bits for a form; unused bits are shown as 0.
pub(super) fn form(form: Form) -> String {
    let bits = form.slot().bits();
    let mut cells = vec![Cell::new(
        Field {
            lsb: bits - 5,
            bits: 5,
        },
        "major",
    )];
    cells.extend(form.minor().map(|minor| Cell::new(minor, "minor")));
    for operand in form.operands() {
        cells.push(match operand.kind {
            // An own address leaves the minor opcode below it.
            Kind::OwnMem { .. } => {
                let high = Address::BASE.lsb + Address::BASE.bits;
                let lsb = OwnAddress::HALF.lsb;
                Cell::new(
                    Field {
                        lsb,
                        bits: high - lsb,
                    },
                    operand.name,
                )
            }
            // A composite address takes all bits from its base register down to bit 0.
            Kind::Mem { .. } => {
                let high = Address::BASE.lsb + Address::BASE.bits;
                Cell::new(
                    Field {
                        lsb: Address::IMM.lsb,
                        bits: high,
                    },
                    operand.name,
                )
            }
            _ => Cell::new(operand.field, operand.name),
        });
    }
    cells.sort_by_key(|cell| std::cmp::Reverse(cell.high));
    let mut all = Vec::new();
    let mut next = bits;
    for cell in cells {
        push_gap(&mut all, next, cell.high + 1);
        next = cell.low;
        all.push(cell);
    }
    push_gap(&mut all, next, 0);
    draw(&all)
}

/// Adds a cell for the unused bits from `low` up to, not including, `high`.
fn push_gap(cells: &mut Vec<Cell>, high: u32, low: u32) {
    if high > low {
        cells.push(Cell {
            high: high - 1,
            low,
            name: "0".to_owned(),
        });
    }
}

/// Draws boxes from the highest bit to the lowest, with bit numbers above.
fn draw(cells: &[Cell]) -> String {
    let mut rows = [String::new(), String::from("+"), String::from("|")];
    for cell in cells {
        let (high, low) = (cell.high.to_string(), cell.low.to_string());
        let width = (cell.name.len() + 2).max(high.len() + low.len() + 1);
        let numbers = if high == low {
            format!("{high:>width$}")
        } else {
            format!("{high}{low:>rest$}", rest = width - high.len())
        };
        rows[0] += &format!(" {numbers}");
        rows[1] += &format!("{}+", "-".repeat(width));
        rows[2] += &format!("{:^width$}|", cell.name);
    }
    let [numbers, line, names] = rows;
    format!("{numbers}\n{line}\n{names}\n{line}")
}
