//! Reads the lines of linear blocks: operations on values, declarations, hints.

use super::declarations::{
    LONGEST_INTERVAL, out_of_range, read_constants, read_count, read_final_values,
    read_initial_values, read_registers,
};
use super::pointers::{read_places, read_pointers};
use crate::assemble::select::{find_rows, unknown_mnemonic};
use crate::assemble::state::{Assembler, Context, Section};
use crate::assemble::symbols::Table;
use crate::diag::{Fail, Problem};
use crate::expr::Value;
use crate::isa::{Kind, Op, Role, Slot};
use crate::linear::{
    BlockCount, BlockOperand, BlockOperation, LinearBlock, PlacementHint, ValueUse, ValueWidth,
};
use crate::source::Span;
use crate::syntax::{BlockValueName, Parser, Register, Token};
use cp2_machine::Class;

/// Directives that stand only inside a linear block.
const INSIDE: [&str; 14] = [
    ".endlinear",
    ".const",
    ".pointer",
    ".before",
    ".after",
    ".interval",
    ".apart",
    ".behind",
    ".pair",
    ".order",
    ".spread",
    ".phase",
    ".turns",
    ".free",
];

/// Directives that may not stand inside a linear block.
const OUTSIDE: [&str; 5] = [".linear", ".chain", ".endchain", ".program", ".dmem"];

impl Assembler<'_> {
    /// Carries out a directive of linear blocks; returns false for all others.
    pub(in crate::assemble) fn linear_directive(
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
        if self.linear.is_none() {
            match name {
                ".chain" => {
                    self.begin_chain(at, arguments, context)?;
                    return Ok(true);
                }
                ".endchain" => {
                    Parser::new(arguments, &self.names, context.scope).end()?;
                    self.end_chain(at)?;
                    return Ok(true);
                }
                _ => {}
            }
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
                    let labels = block.table_labels.iter().cloned();
                    self.table_labels
                        .extend(labels.map(|own| (own, block.chain)));
                    self.end_block(*block, context)?;
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
            ".before" => {
                let open = self.open_chain.as_deref_mut();
                read_initial_values(&mut p, block, (&self.names, open))?;
            }
            ".behind" => {
                let open = self.open_chain.as_ref();
                if !open.is_some_and(|open| open.has_block()) {
                    let what = "`.behind`".to_owned();
                    let why = "it says how a block overlaps the block before it in a chain";
                    return Err(Fail::new(Problem::Misplaced { what, why }, at));
                }
                let (iterations, at) = p.constant_int("a number of iterations")?;
                let number = u32::try_from(iterations).map_err(|_| {
                    let range = (0, i64::from(u32::MAX));
                    out_of_range("the number of iterations", iterations, range, at)
                })?;
                block.behind = Some(number.into());
            }
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
            ".apart" if p.at_end() => block.apart = true,
            ".apart" => read_places(&mut p, block)?,
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
                    let problem = Problem::Expected {
                        wanted: "a phase from 0 to 1: the first number is at most the second"
                            .into(),
                        found: format!("{passed} of {of}"),
                    };
                    return Err(Fail::new(problem, of_at));
                }
                block.phase = phase;
            }
            ".turns" => {
                let (number, at) = p.constant_int("a number of iterations")?;
                let range = (1, i64::from(u32::MAX));
                if number < range.0 || number > range.1 {
                    return Err(out_of_range("the number of iterations", number, range, at));
                }
                block.turns = Some(number.unsigned_abs());
            }
            ".free" => read_registers(&mut p, block)?,
            _ => return Ok(false),
        }
        p.end()?;
        Ok(true)
    }

    /// Refuses what belongs to the program while the DMEM section is written.
    pub(super) fn refuse_in_dmem(&self, what: &str, at: Span) -> Result<(), Fail> {
        if self.section == Section::Program {
            return Ok(());
        }
        let what = what.to_owned();
        let section = "the DMEM section";
        Err(Fail::new(Problem::WrongSection { what, section }, at))
    }

    /// Begins a block: `.linear name, count`.
    fn begin_block(
        &mut self,
        at: Span,
        arguments: &[Token<'_>],
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        self.refuse_in_dmem("a linear block", at)?;
        let mut p = Parser::new(arguments, &self.names, context.scope);
        let name = p.name("the name of the block")?;
        let count = match p.eat(",") {
            true => read_count(&mut p)?,
            false => BlockCount::Once,
        };
        p.end()?;
        let mut block = LinearBlock::new(name.text.shared(), at, context.chain, count);
        block.errors_before = self.sink.count_errors();
        self.linear = Some(Box::new(block));
        Ok(())
    }

    /// Reads an operation of the block that is open.
    pub(in crate::assemble) fn linear_operation(
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
        let mut results: Vec<(usize, BlockValueName, Option<BlockValueName>)> = Vec::new();
        while !p.at_end() {
            let place = operands.len();
            let start = p.here();
            let expected = ExpectedOperand::at(&rows, place);
            let operand = match expected {
                ExpectedOperand::Result => {
                    results.push((place, result(&mut p)?, None));
                    // The result is entered when the operands have been read: they come before it.
                    BlockOperand::Immediate(Value::Int(0))
                }
                ExpectedOperand::Couple => {
                    let first = result(&mut p)?;
                    p.expect(",")?;
                    results.push((place, first, Some(result(&mut p)?)));
                    BlockOperand::Immediate(Value::Int(0))
                }
                ExpectedOperand::Either if begins_operand(&mut p, block, &self.names) => {
                    source(&mut p, block, &self.names)?
                }
                ExpectedOperand::Number | ExpectedOperand::Either => {
                    BlockOperand::Immediate(p.constant()?.0)
                }
                ExpectedOperand::Address => {
                    p.expect("[")?;
                    let (place, offset) = p.pointer_place()?;
                    block.find_place(&place, offset)?
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
        for (place, value, second) in results {
            let used = block.define_value(&value)?;
            let own = match second {
                Some(second) => BlockOperand::Couple([
                    block.define_scalar(used, &value)?,
                    block
                        .define_value(&second)
                        .and_then(|used| block.define_scalar(used, &second))?,
                ]),
                None => BlockOperand::Value(used),
            };
            if let Some(operand) = operands.get_mut(place) {
                operand.0 = own;
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
        // Scalars are loaded and computed; what branches, loops or asks the sections is not for blocks.
        let shared = matches!(row.class, Class::Scalar | Class::ScalarLoad) && result;
        !both && (section && (address || result && row.slot() == Slot::Arith) || shared)
    };
    if rows.iter().any(computes) {
        return Ok(());
    }
    let what = format!("`{name}`");
    let why = "a linear block holds arithmetic of sections and of scalars, loads and stores";
    Err(Fail::new(Problem::Misplaced { what, why }, at))
}

/// Kinds of operands that may stand at a place of an operation.
enum ExpectedOperand {
    Result,
    /// Two results.
    Couple,
    /// A number in some rows, a register in others.
    Either,
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
        let number = |kind| matches!(kind, Kind::Imm { .. } | Kind::Float24);
        let register = |kind: Kind| kind.is_register();
        let kinds = || found.clone().map(|operand| operand.kind);
        if kinds().any(number) && kinds().any(register) {
            return Self::Either;
        }
        match found.next() {
            Some(operand) if operand.kind == Kind::ScalarCouple => Self::Couple,
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

/// Returns true if a value, a constant or a register stands here, not a number.
fn begins_operand(p: &mut Parser<'_, '_>, block: &LinearBlock, names: &Table) -> bool {
    let mut found = false;
    p.attempt(|p| {
        let name = p.value_name("a value").ok()?;
        found = name.distance.is_some()
            || block.find_value(&name.text).is_some()
            || block.find_constant(&name.text).is_some()
            || Register::named(&name.text, names).is_some();
        None::<()>
    });
    found
}

/// Reads the name of a result.
fn result(p: &mut Parser<'_, '_>) -> Result<BlockValueName, Fail> {
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
    let value = block
        .find_value(&name.text)
        .and_then(|value| block.values.get(value));
    if let Some(value) = value
        && value.defined.iter().any(Option::is_some)
    {
        let name_of = name.text.to_string();
        let problem = Problem::Uncomputed {
            name: name_of,
            half: true,
        };
        let place = value.defined.iter().flatten().next().copied();
        let fail = Fail::new(problem, name.at);
        return Err(match place {
            Some(place) => fail.related(place, "the other half is computed here"),
            None => fail,
        });
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
