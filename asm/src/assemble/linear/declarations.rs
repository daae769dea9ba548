//! Reads the declarations of linear blocks: counts, constants, pointers, values.

use super::chain::OpenChain;
use crate::assemble::data::binary32;
use crate::assemble::symbols::Table;
use crate::diag::{Fail, Problem};
use crate::expr::{Value, cis};
use crate::isa::Scalar;
use crate::linear::{
    BlockConstant, BlockCount, FinalValue, InitialSource, InitialValue, LinearBlock,
};
use crate::source::Span;
use crate::syntax::{Parser, Register};
use std::rc::Rc;

/// Cycles of the longest interval that a block may ask for.
pub(super) const LONGEST_INTERVAL: u32 = 1 << 13;
/// Most iterations of which a count may be said to be a multiple.
const MOST_MULTIPLE: i64 = 4096;

/// Makes the error of a number that is out of its range.
pub(super) fn out_of_range(what: &str, value: i64, (least, most): (i64, i64), at: Span) -> Fail {
    let what = what.to_owned();
    let problem = Problem::OutOfRange {
        what,
        value,
        least,
        most,
    };
    Fail::new(problem, at)
}

/// Reads the count of a block: a number, or a register with `at least K` and `multiple of U`.
pub(super) fn read_count(p: &mut Parser<'_, '_>) -> Result<BlockCount, Fail> {
    let register = scalar_register(p);
    let most = i64::from(u32::MAX);
    let Some(register) = register else {
        let (count, at) = p.constant_int("the number of iterations")?;
        return match u32::try_from(count) {
            Ok(count) => Ok(BlockCount::Known(count.into())),
            Err(_) => Err(out_of_range(
                "the number of iterations",
                count,
                (0, most),
                at,
            )),
        };
    };
    let (mut at_least, mut multiple_of) = (0, 1);
    while !p.at_end() {
        let (what, range, number) = if p.eat_word("at") {
            if !p.eat_word("least") {
                return p.expected("`least`");
            }
            ("the least count", (0, most), &mut at_least)
        } else if p.eat_word("multiple") {
            if !p.eat_word("of") {
                return p.expected("`of`");
            }
            ("the multiple", (1, MOST_MULTIPLE), &mut multiple_of)
        } else {
            return p.expected("`at least`, `multiple of` or the end of the line");
        };
        let (value, at) = p.constant_int(what)?;
        if value < range.0 || value > range.1 {
            return Err(out_of_range(what, value, range, at));
        }
        *number = value.unsigned_abs();
    }
    Ok(BlockCount::Register {
        register,
        at_least,
        multiple_of,
    })
}

/// Reads `.before x@k = REGISTER or numbers, ..`.
pub(super) fn read_initial_values(
    p: &mut Parser<'_, '_>,
    block: &mut LinearBlock,
    (names, mut open): (&Table, Option<&mut OpenChain>),
) -> Result<(), Fail> {
    loop {
        let name = p.value_name("a value")?;
        let Some(distance) = name.distance.filter(|&k| k > 0 && name.half.is_none()) else {
            let problem = Problem::Expected {
                wanted: "a whole value of an iteration before the first, as `x@1`".into(),
                found: format!("`{}`", name.text),
            };
            return Err(Fail::new(problem, name.at));
        };
        p.expect("=")?;
        let (source, number) = match any_register(p, names) {
            Some(register) => (InitialSource::Register(register), Value::Int(0)),
            None => match open
                .as_deref_mut()
                .map(|open| value_of_chain(p, open))
                .transpose()?
                .flatten()
            {
                Some(source) => (source, Value::Int(0)),
                None => {
                    refuse_other_block(p, names, open.as_deref())?;
                    let (number, words) = quad_of_numbers(p)?;
                    (InitialSource::Words(words), number)
                }
            },
        };
        let value = block.enter_value(&name.text, name.at);
        let mut others = block.initial.iter();
        if let Some(first) = others.find(|own| (own.value, own.distance) == (value, distance)) {
            let problem = Problem::Redefined {
                name: format!("{}@{distance}", name.text),
                repeated: first.at == name.at,
            };
            return Err(Fail::new(problem, name.at).related(first.at, "given here"));
        }
        if let InitialSource::Register(register) = source {
            block.learn_register_width(value, register);
        }
        block.initial.push(InitialValue {
            value,
            distance,
            source,
            number,
            at: name.at,
        });
        if !p.eat(",") {
            return Ok(());
        }
    }
}

/// Reads a value of a block before in the chain, if one stands here; otherwise takes no token.
fn value_of_chain(
    p: &mut Parser<'_, '_>,
    open: &mut OpenChain,
) -> Result<Option<InitialSource>, Fail> {
    let found = p.attempt(|p| {
        let name = p.value_name("a value").ok()?;
        let (block, value) = open.find_value(&name.text)?;
        Some((name, block, value))
    });
    let Some((name, block, value)) = found else {
        let refused = p.attempt(|p| {
            let name = p.value_name("a value").ok()?;
            open.refuse_value(&name.text, name.at)
        });
        return refused.map_or(Ok(None), Err);
    };
    if name.half.is_some() || name.distance.is_some() {
        let problem = Problem::Expected {
            wanted: "a whole value of the last iteration".into(),
            found: "a half, or a value of another iteration".into(),
        };
        return Err(Fail::new(problem, name.at));
    }
    open.read_value((block, value));
    Ok(Some(InitialSource::Block { block, value }))
}

/// Refuses a value of another block that no chain hands on: a name with fields that stands for no number.
fn refuse_other_block(
    p: &mut Parser<'_, '_>,
    names: &Table,
    open: Option<&OpenChain>,
) -> Result<(), Fail> {
    let refused = p.attempt(|p| {
        let name = p.value_name("a value").ok()?;
        let (block, value) = name.text.split_once('.')?;
        if block.is_empty() || value.is_empty() || names.is_global(&name.text) {
            return None;
        }
        let what = format!("`{}`, a value of another block,", name.text);
        let why = match open {
            None => {
                "only blocks of a chain hand values on: put both between `.chain` and `.endchain`"
            }
            Some(_) => "a block of a chain begins with values of blocks before it in the chain",
        };
        let fail = Fail::new(Problem::Misplaced { what, why }, name.at);
        Some(match open {
            Some(open) => fail.related(open.at, "the chain begins here"),
            None => fail,
        })
    });
    refused.map_or(Ok(()), Err)
}

/// Reads `.after REGISTER = x, ..`.
pub(super) fn read_final_values(
    p: &mut Parser<'_, '_>,
    block: &mut LinearBlock,
    names: &Table,
) -> Result<(), Fail> {
    loop {
        let Some(register) = any_register(p, names) else {
            return p.expected("a register, as `q20`");
        };
        p.expect("=")?;
        let name = p.value_name("a value")?;
        if name.half.is_some() || name.distance.is_some() {
            let problem = Problem::Expected {
                wanted: "a whole value of the last iteration".into(),
                found: "a half, or a value of another iteration".into(),
            };
            return Err(Fail::new(problem, name.at));
        }
        let value = block.enter_value(&name.text, name.at);
        let mut others = block.finals.iter();
        if let Some(first) = others.find(|own| own.register == register) {
            let problem = Problem::Redefined {
                name: register.to_string(),
                repeated: first.at == name.at,
            };
            return Err(Fail::new(problem, name.at).related(first.at, "given here"));
        }
        block.learn_register_width(value, register);
        block.finals.push(FinalValue {
            register,
            value,
            at: name.at,
        });
        if !p.eat(",") {
            return Ok(());
        }
    }
}

/// Reads a register, if one stands here; otherwise takes no token.
fn any_register(p: &mut Parser<'_, '_>, names: &Table) -> Option<Register> {
    p.attempt(|p| {
        let name = p.name("a register").ok()?;
        Register::named(&name.text, names)
    })
}

/// Reads a scalar register, if one stands here; otherwise takes no token.
pub(super) fn scalar_register(p: &mut Parser<'_, '_>) -> Option<Scalar> {
    p.attempt(|p| {
        let name = p.name("a register").ok()?;
        match Register::named(&name.text, p.names)? {
            Register::Scalar(scalar) => Some(scalar),
            Register::Pair(_) | Register::Quad(_) => None,
        }
    })
}

/// Reads `.const NAME = number .., NAME = ..`.
///
/// Returns the first number of each, for expressions.
pub(super) fn read_constants(
    p: &mut Parser<'_, '_>,
    block: &mut LinearBlock,
) -> Result<Vec<(Rc<str>, Value)>, Fail> {
    let mut numbers = Vec::new();
    loop {
        let name = p.value_name("the name of a constant")?;
        p.expect("=")?;
        let (first, words) = quad_of_numbers(p)?;
        numbers.push((name.text.clone(), first));
        block.define_constant(BlockConstant {
            name: name.text,
            words,
            at: name.at,
        })?;
        if !p.eat(",") {
            return Ok(numbers);
        }
    }
}

/// Reads the numbers that fill a quad, one or several times: the first of them, and the words of the quad.
fn quad_of_numbers(p: &mut Parser<'_, '_>) -> Result<(Value, [u32; 4]), Fail> {
    let start = p.here();
    let (first, mut words) = number(p)?;
    while !p.at_end() && !p.is(",") && p.begins_value() {
        words.extend(number(p)?.1);
    }
    let at = start.to(p.last());
    match words[..] {
        [a] => Ok((first, [a; 4])),
        [a, b] => Ok((first, [a, b, a, b])),
        [a, b, c, d] => Ok((first, [a, b, c, d])),
        _ => {
            let problem = Problem::Expected {
                wanted: "numbers that fill a quad, a pair or a lane: 4, 2 or 1 words of 32 bits"
                    .into(),
                found: format!("{} words", words.len()),
            };
            Err(Fail::new(problem, at))
        }
    }
}

/// Reads a number of a constant: its value, the real part of a complex one, and its words of 32 bits.
fn number(p: &mut Parser<'_, '_>) -> Result<(Value, Vec<u32>), Fail> {
    let start = p.here();
    let pair = |p: &mut Parser<'_, '_>| -> Result<(Value, Value), Fail> {
        p.next();
        p.expect("(")?;
        let (a, _) = p.constant()?;
        p.expect(",")?;
        let (b, _) = p.constant()?;
        p.expect(")")?;
        Ok((a, b))
    };
    if p.is_word("complex") {
        let (re, im) = pair(p)?;
        return Ok((re, vec![binary32(re, start)?, binary32(im, start)?]));
    }
    if p.is_word("cis") {
        let (turns, of) = pair(p)?;
        let (Some(turns), Some(of)) = (turns.as_int(), of.as_int().filter(|&of| of > 0)) else {
            let problem = Problem::Expected {
                wanted: "two integers, the second above 0: `cis(1, 8)` is an eighth of a turn"
                    .into(),
                found: "other numbers".into(),
            };
            return Err(Fail::new(problem, start));
        };
        let (re, im) = cis(turns, of);
        let (re, im) = (Value::Float(re), Value::Float(im));
        return Ok((re, vec![binary32(re, start)?, binary32(im, start)?]));
    }
    let single = |p: &mut Parser<'_, '_>| -> Result<Value, Fail> {
        p.next();
        p.expect("(")?;
        let (value, _) = p.constant()?;
        p.expect(")")?;
        Ok(value)
    };
    if p.is_word("double") {
        let value = single(p)?;
        let bits = value.to_f64().to_bits();
        return Ok((value, vec![bits as u32, (bits >> 32) as u32]));
    }
    if p.is_word("int") {
        let value = single(p)?;
        let bits = crate::assemble::data::word(crate::assemble::state::Format::Int, value, start)?;
        return Ok((value, vec![u32::from_le_bytes(bits)]));
    }
    let (value, at) = p.constant()?;
    Ok((value, vec![binary32(value, at)?]))
}

/// Reads the registers of `.free`: names, and ranges as `q0 .. q5`.
pub(super) fn read_registers(p: &mut Parser<'_, '_>, block: &mut LinearBlock) -> Result<(), Fail> {
    loop {
        let name = p.name("a register")?;
        let Some(register) = Register::named(&name.text, p.names) else {
            let problem = Problem::Expected {
                wanted: "a register".into(),
                found: format!("`{}`", &*name.text),
            };
            return Err(Fail::new(problem, name.at));
        };
        block.free.push(register);
        if !p.eat(",") {
            return Ok(());
        }
    }
}
