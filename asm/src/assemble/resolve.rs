//! Evaluates an operation's expressions and checks that they fit its fields.

use super::data::binary32;
use super::select::{Selected, immediate_range};
use super::symbols::Table;
use crate::diag::{Fail, Problem};
use crate::expr::{Expr, Value};
use crate::isa::{Address, AddressOperand, Inst, Kind, Mode, Operand};
use crate::program::SymbolKind;
use crate::source::Span;

/// Completes the operation at word `pc`. `block_end` is the last word of the loop block that the operation
/// opens.
pub(super) fn resolve(
    selected: &Selected,
    pc: usize,
    block_end: Option<usize>,
    names: &Table,
) -> Result<Inst, Fail> {
    let mut inst = selected.inst;
    for operand in inst.row().form.operands() {
        match operand.kind {
            Kind::Pair | Kind::Quad | Kind::Scalar | Kind::ScalarCouple | Kind::OwnMem { .. } => {}
            Kind::Mem { align, .. } => {
                if let (Some((expr, at)), AddressOperand::Shared(address)) =
                    (&selected.offset, &mut inst.place)
                {
                    address.mode = offset(address.mode, expr, *at, align, names)?;
                }
            }
            Kind::Imm { .. } => {
                if let Some((expr, at)) = &selected.value {
                    let (least, most) = immediate_range(operand);
                    let value = integer(expr, *at, called(operand), names)?;
                    inst.imm = ranged(value, least, most, *at, operand)? as i32;
                }
            }
            Kind::Float24 => {
                if let Some((expr, at)) = &selected.value {
                    inst.imm = short_float(expr.eval(names)?, *at)? as i32;
                }
            }
            Kind::Target => {
                if let Some((expr, at)) = &selected.target {
                    let (least, most) = immediate_range(operand);
                    inst.target = ranged(
                        place(expr, *at, called(operand), names)?,
                        least,
                        most,
                        *at,
                        operand,
                    )? as u16;
                }
            }
            Kind::LoopEnd => {
                let (end, at) = match (&selected.target, block_end) {
                    (Some((expr, at)), None) => (place(expr, *at, called(operand), names)?, *at),
                    (_, Some(end)) => (end as i64, selected.at),
                    (None, None) => continue,
                };
                let (least, most) = immediate_range(operand);
                let words = end.saturating_sub(pc as i64);
                if !(least..=most).contains(&words) {
                    return Err(Fail::new(Problem::LoopLength { words, most }, at));
                }
                inst.target = words as u16;
            }
        }
    }
    Ok(inst)
}

fn integer(expr: &Expr, at: Span, what: String, names: &Table) -> Result<i64, Fail> {
    match expr.eval(names)? {
        Value::Int(v) => Ok(v),
        value => Err(Fail::new(Problem::NotInteger { what, value }, at)),
    }
}

/// Evaluates an expression as a word address of the program; an address of DMEM is refused.
pub(super) fn place(expr: &Expr, at: Span, what: String, names: &Table) -> Result<i64, Fail> {
    let value = integer(expr, at, what, names)?;
    match expr.origin(names) {
        Some(origin) if origin.kind == SymbolKind::Dmem => {
            let name = origin.name.to_string();
            Err(Fail::new(Problem::NotProgram { name }, origin.at))
        }
        _ => Ok(value),
    }
}

/// Names an operand for messages.
fn called(operand: &Operand) -> String {
    format!("operand `{}`", operand.name)
}

fn ranged(value: i64, least: i64, most: i64, at: Span, operand: &Operand) -> Result<i64, Fail> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Fail::new(
        Problem::OutOfRange {
            what: called(operand),
            value,
            least,
            most,
        },
        at,
    ))
}

fn offset(mode: Mode, expr: &Expr, at: Span, align: u32, names: &Table) -> Result<Mode, Fail> {
    let (what, make): (_, fn(i32) -> Mode) = match mode {
        Mode::Offset(_) => ("the offset", Mode::Offset),
        Mode::Post(_) => ("the increment", Mode::Post),
        other => return Ok(other),
    };
    let value = match expr.eval(names)? {
        Value::Int(v) => v,
        value => {
            return Err(Fail::new(
                Problem::NotInteger {
                    what: what.to_owned(),
                    value,
                },
                at,
            ));
        }
    };
    let range = Address::immediate_range(align);
    let (least, most) = (i64::from(*range.start()), i64::from(*range.end()));
    if !(least..=most).contains(&value) {
        return Err(Fail::new(
            Problem::OutOfRange {
                what: what.to_owned(),
                value,
                least,
                most,
            },
            at,
        ));
    }
    let multiple = i64::from(align);
    if value % multiple != 0 {
        return Err(Fail::new(
            Problem::Misaligned {
                what: what.to_owned(),
                value,
                multiple,
            },
            at,
        ));
    }
    Ok(make(value as i32))
}

fn short_float(value: Value, at: Span) -> Result<u32, Fail> {
    let bits = binary32(value, at)?;
    if bits & 0xff == 0 {
        return Ok(bits);
    }
    let below = bits & !0xff;
    let (below, above) = (
        Value::from_f32_bits(below),
        Value::from_f32_bits(below.wrapping_add(0x100)),
    );
    Err(Fail::new(
        Problem::Float24 {
            value,
            bits,
            below,
            above,
        },
        at,
    ))
}
