//! Reads the lines of linear blocks: operations on values, declarations, hints.

use super::data::binary32;
use super::select::{find_rows, unknown_mnemonic};
use super::state::{Assembler, Context, Section};
use super::symbols::Table;
use crate::diag::{Fail, Problem};
use crate::expr::{Value, cis};
use crate::isa::{Kind, Op, Role, Slot};
use crate::linear::{
    BlockConstant, BlockCount, BlockOperand, BlockOperation, BlockPointer, FinalValue,
    InitialSource, InitialValue, LinearBlock, PlacementHint, PointerBase, ValueUse, ValueWidth,
};
use crate::source::Span;
use crate::syntax::{Parser, Register, Token, ValueName};
use std::rc::Rc;

/// Directives that stand only inside a linear block.
const INSIDE: [&str; 12] = [
    ".endlinear",
    ".const",
    ".pointer",
    ".before",
    ".after",
    ".interval",
    ".apart",
    ".pair",
    ".order",
    ".spread",
    ".phase",
    ".free",
];

/// Directives that may not stand inside a linear block.
const OUTSIDE: [&str; 3] = [".linear", ".program", ".dmem"];

/// Most copies of a pointer in one declaration.
const COPIES: i64 = 64;

impl Assembler<'_> {
    /// Carries out a directive of linear blocks; returns false for all others.
    pub(super) fn linear_directive(
        &mut self,
        name: &str,
        at: Span,
        arguments: &[Token<'_>],
        context: &Context<'_>,
    ) -> Result<bool, Fail> {
        if name == ".linear" && self.linear.is_none() {
            self.begin_block(at, arguments, context)?;
            return Ok(true);
        }
        let Some(block) = &mut self.linear else {
            if INSIDE.contains(&name) {
                let what = format!("`{name}`");
                let why = "it belongs into a block between `.linear` and `.endlinear`";
                return Err(Fail::new(Problem::Misplaced { what, why }, at));
            }
            return Ok(false);
        };
        if OUTSIDE.contains(&name) {
            let what = format!("`{name}`");
            let why = "end the block before with `.endlinear`";
            let fail = Fail::new(Problem::Misplaced { what, why }, at);
            return Err(fail.related(block.at, "the block begins here"));
        }
        let mut p = Parser::new(arguments, &self.names, context.scope);
        match name {
            ".endlinear" => {
                p.end()?;
                self.names.block_constants.clear();
                if let Some(block) = self.linear.take() {
                    self.place_block(*block, context)?;
                }
                return Ok(true);
            }
            ".const" => {
                let numbers = read_constants(&mut p, block)?;
                p.end()?;
                self.names.block_constants.extend(numbers);
                return Ok(true);
            }
            ".pointer" => read_pointers(&mut p, block)?,
            ".before" => read_initial_values(&mut p, block, &self.names)?,
            ".after" => read_final_values(&mut p, block, &self.names)?,
            ".interval" => {
                let longer = p.eat("+");
                let (cycles, at) = p.constant_int("an interval in cycles")?;
                let most = i64::from(LONGEST_INTERVAL);
                let cycles = u32::try_from(cycles)
                    .ok()
                    .filter(|&cycles| cycles <= LONGEST_INTERVAL)
                    .ok_or_else(|| out_of_range("the interval", cycles, (0, most), at))?;
                match longer {
                    true => block.spare = cycles,
                    false => block.least_interval = cycles,
                }
            }
            ".apart" => block.apart = true,
            ".pair" => {
                let value = p.value_name("a value")?;
                let index = block.enter_value(&value.text, value.at);
                if let Some(value) = block.values.get_mut(index) {
                    value.width = Some(ValueWidth::Pair);
                }
            }
            ".order" => block.hint = PlacementHint::Written,
            ".spread" => block.hint = PlacementHint::Spread,
            ".phase" => {
                let (passed, _) = p.constant()?;
                p.expect(",")?;
                let (of, of_at) = p.constant()?;
                let phase = passed.to_f64() / of.to_f64();
                if !(0.0..=1.0).contains(&phase) {
                    let what = "the phase".to_owned();
                    let why = "the first number of `.phase` is at least 0 and at most the second";
                    return Err(Fail::new(Problem::Misplaced { what, why }, of_at));
                }
                block.phase = phase;
            }
            ".free" => read_registers(&mut p, block)?,
            _ => return Ok(false),
        }
        p.end()?;
        Ok(true)
    }

    /// Begins a block: `.linear name, count`.
    fn begin_block(
        &mut self,
        at: Span,
        arguments: &[Token<'_>],
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        if self.section != Section::Program {
            let what = "a linear block".to_owned();
            let section = "the DMEM section";
            return Err(Fail::new(Problem::WrongSection { what, section }, at));
        }
        let mut p = Parser::new(arguments, &self.names, context.scope);
        let name = p.name("the name of the block")?;
        let count = match p.eat(",") {
            true => read_count(&mut p)?,
            false => BlockCount::Once,
        };
        p.end()?;
        let block = LinearBlock::new(name.text.shared(), at, context.chain, count);
        self.linear = Some(Box::new(block));
        Ok(())
    }

    /// Reads an operation of the block that is open.
    pub(super) fn linear_operation(
        &mut self,
        tokens: &[Token<'_>],
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        self.names.note();
        let Some(block) = &mut self.linear else {
            return Ok(());
        };
        let isa = self.options.isa();
        let mut p = Parser::new(tokens, &self.names, context.scope);
        let name = p.name("an operation")?;
        let rows = find_rows(&name.text, isa);
        if rows.is_empty() {
            let others = self.macros.keys().map(AsRef::as_ref);
            return Err(unknown_mnemonic(&name.text, name.at, isa, others));
        }
        refuse_control(&rows, &name.text, name.at)?;
        let mut operands = Vec::new();
        let mut results: Vec<(usize, ValueName)> = Vec::new();
        while !p.at_end() {
            let place = operands.len();
            let start = p.here();
            let expected = ExpectedOperand::at(&rows, place);
            let operand = match expected {
                ExpectedOperand::Result => {
                    let value = result(&mut p)?;
                    results.push((place, value));
                    // The result is entered when the operands have been read: they come before it.
                    BlockOperand::Immediate(Value::Int(0))
                }
                ExpectedOperand::Number => BlockOperand::Immediate(p.constant()?.0),
                ExpectedOperand::Address => {
                    p.expect("[")?;
                    let (pointer, offset) = p.pointer_place()?;
                    let pointer = block.use_pointer(&pointer)?;
                    BlockOperand::Address { pointer, offset }
                }
                ExpectedOperand::Source => source(&mut p, block, &self.names)?,
            };
            operands.push((operand, start.to(p.last())));
            if !p.eat(",") {
                break;
            }
        }
        if p.is("||") {
            let what = "`||`".to_owned();
            let why = "a line of a linear block is one operation: the assembler fills the slots";
            return Err(Fail::new(Problem::Misplaced { what, why }, p.here()));
        }
        p.end()?;
        for (place, value) in results {
            let used = block.define_value(&value)?;
            if let Some(operand) = operands.get_mut(place) {
                operand.0 = BlockOperand::Value(used);
            }
        }
        let at = name.at.to(p.last());
        let fits = |op: &Op| op.row().form.operands().len() == operands.len();
        let rows = match rows.iter().any(fits) {
            true => rows.into_iter().filter(fits).collect(),
            // The error shows all forms.
            false => rows,
        };
        block.operations.push(BlockOperation {
            mnemonic: name.text.shared(),
            rows,
            operands,
            at,
            chain: context.chain,
            phase: block.phase,
        });
        Ok(())
    }
}

/// Cycles of the longest interval that a block may ask for.
const LONGEST_INTERVAL: u32 = 1 << 13;
/// Most iterations of which a count may be said to be a multiple.
const MOST_MULTIPLE: i64 = 4096;

/// Makes the error of a number that is out of its range.
fn out_of_range(what: &str, value: i64, (least, most): (i64, i64), at: Span) -> Fail {
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
fn read_count(p: &mut Parser<'_, '_>) -> Result<BlockCount, Fail> {
    let register = p.attempt(|p| {
        let name = p.name("a register").ok()?;
        match Register::named(&name.text, p.names) {
            Some(Register::Scalar(scalar)) => Some(scalar),
            _ => None,
        }
    });
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
fn read_initial_values(
    p: &mut Parser<'_, '_>,
    block: &mut LinearBlock,
    names: &Table,
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
        let source = match section_register(p, names) {
            Some(register) => InitialSource::Register(register),
            None => InitialSource::Words(quad_of_numbers(p)?.1),
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
            at: name.at,
        });
        if !p.eat(",") {
            return Ok(());
        }
    }
}

/// Reads `.after REGISTER = x, ..`.
fn read_final_values(
    p: &mut Parser<'_, '_>,
    block: &mut LinearBlock,
    names: &Table,
) -> Result<(), Fail> {
    loop {
        let Some(register) = section_register(p, names) else {
            return p.expected("a register of the sections, as `q20`");
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

/// Reads a register of the sections, if one stands here; otherwise takes no token.
fn section_register(p: &mut Parser<'_, '_>, names: &Table) -> Option<Register> {
    p.attempt(|p| {
        let name = p.name("a register").ok()?;
        let register = Register::named(&name.text, names)?;
        (!matches!(register, Register::Scalar(_))).then_some(register)
    })
}

/// Refuses operations that do more than compute values, load and store.
fn refuse_control(rows: &[Op], name: &str, at: Span) -> Result<(), Fail> {
    let computes = |op: &Op| {
        let row = op.row();
        let operands = row.form.operands();
        let address = operands.iter().any(|o| matches!(o.kind, Kind::Mem { .. }));
        let result = operands.iter().any(|o| o.role == Role::Out);
        let both = operands.iter().any(|o| o.role == Role::InOut);
        let scalar = |o: &crate::isa::Operand| matches!(o.kind, Kind::Scalar | Kind::ScalarCouple);
        let section = !operands.iter().any(scalar);
        section && !both && (address || result && row.slot() == Slot::Arith)
    };
    if rows.iter().any(computes) {
        return Ok(());
    }
    let what = format!("`{name}`");
    let why = "a linear block holds arithmetic of the sections, loads and stores";
    Err(Fail::new(Problem::Misplaced { what, why }, at))
}

/// What may stand at a place of an operation.
enum ExpectedOperand {
    Result,
    Source,
    Number,
    Address,
}

impl ExpectedOperand {
    /// Returns what the rows of an operation have at a place.
    fn at(rows: &[Op], place: usize) -> Self {
        let mut found = rows
            .iter()
            .filter_map(|op| op.row().form.operands().get(place));
        match found.next() {
            Some(operand) if operand.role.writes() => Self::Result,
            Some(operand) => match operand.kind {
                Kind::Mem { .. } | Kind::OwnMem { .. } => Self::Address,
                Kind::Imm { .. } | Kind::Float24 => Self::Number,
                _ => Self::Source,
            },
            None => Self::Source,
        }
    }
}

/// Reads the name of a result.
fn result(p: &mut Parser<'_, '_>) -> Result<ValueName, Fail> {
    let value = p.value_name("a value")?;
    match Register::built_in(&value.text) {
        Some(Register::Pair(_) | Register::Quad(_)) => {
            let problem = Problem::Reserved {
                name: value.text.to_string(),
                what: "a register",
            };
            Err(Fail::new(problem, value.at))
        }
        _ => Ok(value),
    }
}

/// Reads an operand that is a value, a constant or a register.
fn source(
    p: &mut Parser<'_, '_>,
    block: &mut LinearBlock,
    names: &Table,
) -> Result<BlockOperand, Fail> {
    let name = p.value_name("a value, a constant or a register")?;
    let (half, distance) = (name.half, name.distance.unwrap_or(0));
    let defined = block.find_value(&name.text).filter(|&value| {
        let halves = block.values.get(value).map_or([None; 2], |v| v.defined);
        match half {
            None => halves.iter().all(Option::is_some),
            Some(half) => halves.get(usize::from(half)).is_some_and(Option::is_some),
        }
    });
    if defined.is_some() || name.distance.is_some_and(|k| k > 0) {
        let value = block.enter_value(&name.text, name.at);
        return Ok(BlockOperand::Value(ValueUse {
            value,
            half,
            distance,
        }));
    }
    if let Some(index) = block.find_constant(&name.text) {
        return Ok(BlockOperand::Constant { index, half });
    }
    match (Register::named(&name.text, names), half) {
        (Some(register), None) => return Ok(BlockOperand::Register(register)),
        (Some(Register::Quad(quad)), Some(half)) => {
            return Ok(BlockOperand::Register(Register::Pair(2 * quad + half)));
        }
        _ => {}
    }
    let problem = Problem::UnknownValue {
        name: name.text.to_string(),
        later: block.find_value(&name.text).is_some(),
    };
    Err(Fail::new(problem, name.at))
}

/// Reads `.const NAME = number .., NAME = ..`.
///
/// Returns the first number of each, for expressions.
fn read_constants(
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
        let bits = super::data::word(super::state::Format::Int, value, start)?;
        return Ok((value, vec![u32::from_le_bytes(bits)]));
    }
    let (value, at) = p.constant()?;
    Ok((value, vec![binary32(value, at)?]))
}

/// Reads `.pointer P[copies] = place by step`.
fn read_pointers(p: &mut Parser<'_, '_>, block: &mut LinearBlock) -> Result<(), Fail> {
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
    let register = p.attempt(|p| {
        let name = p.name("a register").ok()?;
        match Register::named(&name.text, p.names) {
            Some(Register::Scalar(scalar)) => Some(scalar),
            _ => None,
        }
    });
    let (base, bytes) = match register {
        Some(scalar) => {
            let mut bytes = 0;
            if p.is("+") || p.is("-") {
                let (expr, at) = p.offset()?;
                bytes = integer(expr.eval(p.names)?, "the offset", at)?;
            }
            (PointerBase::Register(scalar), bytes)
        }
        None => (
            PointerBase::Address(p.constant_int("the place of a pointer")?.0),
            0,
        ),
    };
    if !p.eat_word("by") {
        return p.expected("`by` and the bytes from an iteration to the next");
    }
    let (step, _) = p.constant_int("the step of a pointer")?;
    let names: Vec<Rc<str>> = match copies {
        None => vec![name.text.shared()],
        Some(copies) => (0..copies)
            .map(|copy| format!("{}[{copy}]", &*name.text).into())
            .collect(),
    };
    for own in names {
        block.define_pointer(BlockPointer {
            name: own,
            base: base.clone(),
            bytes,
            step,
            at: name.at,
            used: None,
        })?;
    }
    Ok(())
}

/// Returns an integer, or the error that there is none.
fn integer(value: Value, what: &str, at: Span) -> Result<i64, Fail> {
    value.as_int().ok_or_else(|| {
        let what = what.to_owned();
        Fail::new(Problem::NotInteger { what, value }, at)
    })
}

/// Reads the registers of `.free`: names, and ranges as `q0 .. q5`.
fn read_registers(p: &mut Parser<'_, '_>, block: &mut LinearBlock) -> Result<(), Fail> {
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
