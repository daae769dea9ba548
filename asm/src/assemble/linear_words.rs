//! Schedules a linear block and appends its words to the program.

use super::select::select;
use super::state::{Assembler, Context, Format, PendingWord};
use crate::diag::{Chain, Fail, Problem};
use crate::expr::{Expr, Open, Value};
use crate::isa::{Reg, RegSet, Scalar};
use crate::linear::{
    BlockCount, BlockRegisters, BlockReport, LackingRegisters, LinearBlock, LoweredBlock,
    PointerBase, lower,
};
use crate::program::SymbolKind;
use crate::schedule::{FreeRegisters, LoopLine, LoopText, LoopWord, ModuloSchedule, PointerSetup};
use crate::source::Span;
use crate::syntax::{self, AllowedWarnings, Lexeme, Parser, Register};
use std::rc::Rc;

/// A table of a block's constants, which is placed behind the data of the source.
#[derive(Debug)]
pub(super) struct ConstantTable {
    /// Symbol of its address.
    pub(super) label: Rc<str>,
    pub(super) words: Vec<u32>,
    pub(super) at: Span,
    pub(super) chain: Chain,
}

/// Address registers: the page loop owns the last one.
const ADDRESSES: u8 = 15;

impl Assembler<'_> {
    /// Schedules a block that has been read and appends its words.
    pub(super) fn place_block(
        &mut self,
        mut block: LinearBlock,
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        let Some(machine) = self.options.machine else {
            return Err(Fail::new(Problem::NeedsMachine, block.at));
        };
        block.check_definitions()?;
        let free = self.find_free_registers(&block);
        let lowered = lower(&mut block, free)?.map_err(|lack| {
            let what = match lack {
                LackingRegisters::Quads => "quads for its constants",
                LackingRegisters::Addresses => "address registers for its pointers",
            };
            let name = block.name.to_string();
            Fail::new(Problem::LacksRegisters { name, what }, block.at)
        })?;
        let BlockCount::Known(iterations) = block.count;
        let free = FreeRegisters::new(lowered.free.pairs);
        let schedule = lowered.dataflow.schedule_or_stretch(machine, free);
        let schedule = schedule.map_err(|refusal| {
            let name = block.name.to_string();
            Fail::new(Problem::Unschedulable { name, refusal }, block.at)
        })?;
        let setups = set_up_pointers(&block, &lowered, &schedule);
        let text = schedule.emit(iterations).set_up(setups);
        let first = self.words.len();
        self.load_constants(&block, &lowered, context)?;
        let constant_words = (self.words.len() - first) as u64;
        self.append_lines(&block, &lowered, &text, context)?;
        let report = BlockReport {
            name: block.name.to_string(),
            place: (block.at.file, block.at.line),
            interval: u64::from(schedule.interval()),
            bound: u64::from(lowered.dataflow.least_interval(machine)),
            iterations,
            classes: lowered.dataflow.classes(),
            arithmetic: lowered.dataflow.arithmetic() as u64,
            memory: lowered.dataflow.memory() as u64,
            busiest_unit: lowered.dataflow.busiest_unit(machine) as u64,
            copies: schedule.overlap().1,
            words: (self.words.len() - first) as u64,
            constant_words,
            cycles: text.cycles,
        };
        self.reports.push(report);
        Ok(())
    }

    /// Returns the registers that no word so far names and that the block does not name as invariant, and those of
    /// `.free`.
    fn find_free_registers(&self, block: &LinearBlock) -> BlockRegisters {
        let all = |set: RegSet, inst: &crate::isa::Inst| {
            set | inst.reads() | inst.writes() | inst.address_write()
        };
        let words = self.words.iter().flat_map(|word| &word.insts);
        let named = words.filter(|own| !own.scheduled);
        let mut taken = named.fold(RegSet::EMPTY, |set, own| all(set, &own.inst));
        for register in &block.free {
            taken.0 &= !register.regs().0;
        }
        for register in block.invariants() {
            taken |= register.regs();
        }
        let mut free = BlockRegisters {
            pairs: 0,
            addresses: 0,
        };
        for pair in (0..64).filter(|&pair| !taken.contains(Reg::pair(pair))) {
            free.pairs |= 1 << pair;
        }
        let address = |a: u8| Scalar::address(a).reg();
        for a in (0..ADDRESSES).filter(|&a| !taken.contains(address(a))) {
            free.addresses |= 1 << a;
        }
        free
    }

    /// Appends the words that load the constants of a block, whose table comes behind the data of the source.
    fn load_constants(
        &mut self,
        block: &LinearBlock,
        lowered: &LoweredBlock,
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        if lowered.constants.is_empty() {
            return Ok(());
        }
        let label: Rc<str> = format!("constants@{}", self.tables.len()).into();
        // The pointers are set up afterwards, so that the first of their registers is free here.
        let pointer = lowered.pointers.first().map(|&(pointer, _)| pointer);
        let mut free = lowered.free;
        let own = pointer.map(|pointer| lowered.dataflow.pointer_register(pointer));
        let Some(address) = own.or_else(|| free.take_address()) else {
            let name = block.name.to_string();
            let what = "address registers for its constants";
            return Err(Fail::new(Problem::LacksRegisters { name, what }, block.at));
        };
        let table = Expr::from(Open::Symbol(label.clone(), block.at));
        let place = (block.at, block.chain);
        self.append_word(&format!("movi a{address}, 0"), place, Some(table))?;
        let mut words = Vec::new();
        for (index, &(quad, constant)) in lowered.constants.iter().enumerate() {
            let load = format!("ldq q{quad}, [a{address} + {}]", 16 * index);
            let constant = block.constants.get(constant);
            let at = constant.map_or(block.at, |constant| constant.at);
            self.append_word(&load, (at, context.chain), None)?;
            words.extend(constant.map_or([0; 4], |constant| constant.words));
        }
        self.tables.push(ConstantTable {
            label,
            words,
            at: block.at,
            chain: block.chain,
        });
        Ok(())
    }

    /// Appends the lines of a scheduled loop.
    fn append_lines(
        &mut self,
        block: &LinearBlock,
        lowered: &LoweredBlock,
        text: &LoopText,
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        let place_of = |word: &LoopWord| {
            let origin = word.operations().find_map(|own| own.index);
            let operation = origin
                .and_then(|index| lowered.origins.get(index))
                .and_then(|&index| block.operations.get(index));
            operation.map_or((block.at, block.chain), |own| (own.at, own.chain))
        };
        for line in &text.lines {
            match line {
                LoopLine::End => {
                    let end = self.words.len().saturating_sub(1);
                    if let Some((opener, ..)) = self.blocks.pop()
                        && let Some(word) = self.words.get_mut(opener)
                    {
                        word.block_end = Some(end);
                    }
                    self.scheduled_end = Some(end);
                }
                LoopLine::Begin(_) => {
                    let place = (block.at, context.chain);
                    self.append_word(&line.to_string(), place, None)?;
                }
                LoopLine::Word(word) => {
                    self.append_word(&line.to_string(), place_of(word), None)?;
                }
            }
        }
        Ok(())
    }

    /// Appends a word that is given as text. An expression replaces the immediate of its operation.
    pub(super) fn append_word(
        &mut self,
        text: &str,
        (at, chain): (Span, Chain),
        immediate: Option<Expr>,
    ) -> Result<(), Fail> {
        let pc = self.words.len();
        if self.is_program_full(at, chain) {
            return Ok(());
        }
        let lines = syntax::lines(at.file, text, |_| {});
        let tokens: Vec<_> = lines.iter().flatten().map(Lexeme::token).collect();
        let slots = Parser::new(&tokens, &self.names, super::symbols::GLOBAL).word();
        let slots = slots.map_err(|fail| Fail::new(fail.0.problem, at))?;
        let mut insts = Vec::with_capacity(2);
        for source in slots.insts {
            let selected = select(source, self.options.isa(), std::iter::empty());
            let mut selected = selected.map_err(|fail| Fail::new(fail.0.problem, at))?;
            selected.scheduled = true;
            selected.at = at;
            selected.mnemonic_at = at;
            for part in [
                &mut selected.value,
                &mut selected.target,
                &mut selected.offset,
            ] {
                if let Some((_, place)) = part {
                    *place = at;
                }
            }
            insts.push(selected);
        }
        let opens = insts.iter().any(|own| own.block);
        if let (Some(expr), Some(first)) = (immediate, insts.first_mut()) {
            first.value = Some((expr, at));
        }
        self.words.push(PendingWord {
            insts,
            at,
            chain,
            allowed: AllowedWarnings::default(),
            block_end: None,
        });
        if opens {
            self.blocks.push((pc, at, chain));
        }
        Ok(())
    }

    /// Places the tables of constants behind the data of the source, and defines their addresses.
    pub(super) fn place_constant_tables(&mut self) {
        /// Alignment of a quad in bytes.
        const QUAD: u64 = 16;
        let mut end = self.extents.iter().map(|extent| extent.end).max();
        for table in std::mem::take(&mut self.tables) {
            let start = end.unwrap_or(0).next_multiple_of(QUAD);
            for (index, &bits) in (0..).zip(&table.words) {
                self.data.push(super::state::Datum {
                    address: start + 4 * index,
                    format: Format::Int,
                    expr: Expr::Value(Value::Int(i64::from(bits))),
                    at: table.at,
                    chain: table.chain,
                });
            }
            let last = start + 4 * table.words.len() as u64;
            self.extents.push(super::state::Extent {
                start,
                end: last,
                at: table.at,
                chain: table.chain,
            });
            end = Some(last);
            let address = start as i64;
            self.names
                .define_hidden(table.label, SymbolKind::Dmem, address);
        }
    }
}

impl LinearBlock {
    /// Refuses values that are used and never computed.
    fn check_definitions(&self) -> Result<(), Fail> {
        for value in &self.values {
            if value.defined.iter().any(Option::is_none) {
                let name = value.name.to_string();
                let half = value.defined.iter().any(Option::is_some);
                return Err(Fail::new(Problem::Uncomputed { name, half }, value.at));
            }
        }
        Ok(())
    }

    /// Iterates over the registers that the block names as invariants.
    fn invariants(&self) -> impl Iterator<Item = Register> {
        let operands = self.operations.iter().flat_map(|own| &own.operands);
        let named = operands.filter_map(|(operand, _)| match operand {
            crate::linear::BlockOperand::Register(register) => Some(*register),
            _ => None,
        });
        let bases = self.pointers.iter().filter_map(|own| match own.base {
            PointerBase::Register(scalar) => Some(Register::Scalar(scalar)),
            PointerBase::Address(_) => None,
        });
        named.chain(bases)
    }
}

/// Returns the words that set the pointers of a block up.
fn set_up_pointers(
    block: &LinearBlock,
    lowered: &LoweredBlock,
    schedule: &ModuloSchedule,
) -> Vec<PointerSetup> {
    /// Bytes that `addi` adds at most and at least.
    const ADDED: std::ops::Range<i64> = -2048..2048;
    let mut setups = Vec::new();
    for &(pointer, index) in &lowered.pointers {
        let Some(own) = block.pointers.get(index) else {
            continue;
        };
        let bytes = schedule.bias(pointer) + own.bytes;
        let a = schedule.pointer_register(pointer);
        let words = match own.base {
            PointerBase::Address(address) => vec![format!("movi a{a}, {}", address + bytes)],
            PointerBase::Register(scalar) if ADDED.contains(&bytes) => {
                vec![format!("addi a{a}, {scalar}, {bytes}")]
            }
            PointerBase::Register(scalar) => vec![
                format!("movi a{a}, {bytes}"),
                format!("add a{a}, a{a}, {scalar}"),
            ],
        };
        let registers = vec![a];
        setups.push(PointerSetup { words, registers });
    }
    setups
}
