//! Reads the pointers of linear blocks.

use super::declarations::scalar_register;
use crate::diag::{Fail, Problem};
use crate::expr::Value;
use crate::isa::Scalar;
use crate::linear::{
    BlockExtent, BlockPointer, BlockStep, LinearBlock, PointerOrigin, TableAddress, TableLabel,
};
use crate::source::Span;
use crate::syntax::{Parser, Register};
use std::rc::Rc;

/// Most copies of a pointer in one declaration.
const COPIES: i64 = 64;

/// Reads `.pointer P[copies] = place by step round extent`, or `by table LABEL round bytes round extent`.
pub(super) fn read_pointers(p: &mut Parser<'_, '_>, block: &mut LinearBlock) -> Result<(), Fail> {
    let name = p.name("the name of a pointer")?;
    let mut copies = None;
    if p.eat("[") {
        let (number, at) = p.constant_int("the number of copies")?;
        p.expect("]")?;
        if !(1..=COPIES).contains(&number) {
            let problem = Problem::OutOfRange {
                what: "the number of copies".into(),
                value: number,
                least: 1,
                most: COPIES,
            };
            return Err(Fail::new(problem, at));
        }
        copies = Some(number);
    }
    p.expect("=")?;
    let (base, bytes) = match register_and_bytes(p)? {
        Some((scalar, bytes)) => (PointerOrigin::Register(scalar), bytes),
        None => (
            PointerOrigin::Address(p.constant_int("the place of a pointer")?.0),
            0,
        ),
    };
    if !p.eat_word("by") {
        return p.expected("`by` and the bytes from an iteration to the next");
    }
    let table = p.eat_word("table");
    let step = match p.attempt(|p| {
        if table {
            return None;
        }
        let name = p.name("a register").ok()?;
        Register::named(&name.text, p.names)?.step()
    }) {
        _ if table => read_table(p, block, &name.text)?,
        Some(register) => BlockStep::Register(register),
        None => BlockStep::Bytes(p.constant_int("the step of a pointer")?.0),
    };
    let round = match p.eat_word("round") {
        true => Some(read_extent(p)?),
        false => None,
    };
    let names: Vec<Rc<str>> = match copies {
        None => vec![name.text.shared()],
        Some(copies) => (0..copies)
            .map(|copy| format!("{}[{copy}]", &*name.text).into())
            .collect(),
    };
    for own in names {
        block.define_pointer(BlockPointer {
            name: own,
            base,
            bytes,
            step,
            round,
            at: name.at,
            used: None,
        })?;
    }
    Ok(())
}

/// Reads the names of `.apart P, Q`.
pub(super) fn read_places(p: &mut Parser<'_, '_>, block: &mut LinearBlock) -> Result<(), Fail> {
    let mut names = Vec::new();
    loop {
        names.push(p.value_name("a pointer, or a value that is an address")?);
        if !p.eat(",") {
            break;
        }
    }
    block.named_apart.push(names);
    Ok(())
}

/// Reads `LABEL round EXTENT` of a table of steps; the label may come later in the source.
fn read_table(
    p: &mut Parser<'_, '_>,
    block: &mut LinearBlock,
    pointer: &str,
) -> Result<BlockStep, Fail> {
    let (expr, at) = p.expression()?;
    let label = expr.symbol().map(|(key, _)| key.clone());
    let address = match (expr.eval(p.names), label) {
        (Ok(value), _) => {
            TableAddress::Known(integer(value, "the address of a table of steps", at)?)
        }
        (Err(fail), Some(key)) if matches!(fail.0.problem, Problem::UnknownName { .. }) => {
            let pointer = pointer.into();
            TableAddress::Label(block.enter_table(TableLabel { key, at, pointer }))
        }
        (Err(fail), _) => return Err(fail),
    };
    if !p.eat_word("round") {
        return p.expected("`round` and the bytes of the table");
    }
    Ok(BlockStep::Table(address, read_extent(p)?))
}

/// Reads the extent in which a pointer goes round: a number, or a register with bytes added or taken away.
fn read_extent(p: &mut Parser<'_, '_>) -> Result<BlockExtent, Fail> {
    Ok(match register_and_bytes(p)? {
        Some((scalar, bytes)) => BlockExtent::Register(scalar, bytes),
        None => BlockExtent::Bytes(p.constant_int("the extent of a pointer")?.0),
    })
}

/// Reads a scalar register with bytes added or taken away; none if no such register stands here.
fn register_and_bytes(p: &mut Parser<'_, '_>) -> Result<Option<(Scalar, i64)>, Fail> {
    let Some(scalar) = scalar_register(p) else {
        return Ok(None);
    };
    let mut bytes = 0;
    if p.is("+") || p.is("-") {
        let (expr, at) = p.offset()?;
        bytes = integer(expr.eval(p.names)?, "the offset", at)?;
    }
    Ok(Some((scalar, bytes)))
}

/// Returns an integer, or the error that there is none.
fn integer(value: Value, what: &str, at: Span) -> Result<i64, Fail> {
    value.as_int().ok_or_else(|| {
        let what = what.to_owned();
        Fail::new(Problem::NotInteger { what, value }, at)
    })
}
