//! Composes the words at the ends of a linear block.
//!
//! Constants, pointers, values before the first and behind the last iteration.

use super::block_words::{BlockLine, WordSymbol};
use super::composer::{Composer, ReceivedValue};
use super::initial_scalars::InitialScalars;
use super::moves::{meet, order_moves};
use super::rounds::{set_register_to, set_up_round, set_up_steps, set_up_tables};
use crate::diag::Fail;
use crate::isa::Scalar;
use crate::linear::{CarriedPlace, InitialSource, LackingRegisters, LinearBlock, LoweredBlock};
use crate::schedule::{LoopLine, LoopText, LoopWord, ModuloSchedule, PointerSetup};
use crate::syntax::Register;

impl Composer<'_> {
    /// Adds the words that load the constants of a block, whose table comes behind the data of the source.
    pub(super) fn load_constants(
        &mut self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
    ) -> Result<(), Fail> {
        let numbers =
            |(_, source): &(CarriedPlace, InitialSource)| matches!(source, InitialSource::Words(_));
        if lowered.constants.is_empty() && !lowered.initial.iter().any(numbers) {
            return Ok(());
        }
        let address = self.point_at_table(lines, lowered)?;
        for &(quad, constant) in &lowered.constants {
            let constant = self.block.constants.get(constant);
            let row = self.enter_row(constant.map_or([0; 4], |constant| constant.words));
            let at = constant.map_or(self.block.at, |constant| constant.at);
            let load = format!("ldq q{quad}, [a{address} + {}]", 16 * row);
            lines.push(BlockLine::load_constant(load, (at, self.chain)));
        }
        Ok(())
    }

    /// Adds the word that lets a register point at the table; returns the register.
    fn point_at_table(
        &self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
    ) -> Result<u8, Fail> {
        let address = self.table_register(lowered)?;
        let table = WordSymbol::Immediate(self.label.clone());
        let text = format!("movi a{address}, 0");
        lines.push(BlockLine::with_symbol(text, self.place(), table));
        Ok(address)
    }

    /// Returns the index of a row of the table, which is added if there is none like it.
    fn enter_row(&mut self, words: [u32; 4]) -> usize {
        if let Some(row) = self.table.iter().position(|own| *own == words) {
            return row;
        }
        self.table.push(words);
        self.table.len() - 1
    }

    /// Returns the register that points at the table: that of the first pointer, which is set up afterwards.
    pub(super) fn table_register(&self, lowered: &LoweredBlock) -> Result<u8, Fail> {
        let pointer = lowered.pointers.first().map(|&(pointer, _)| pointer);
        let own = pointer.map(|pointer| lowered.dataflow.pointer_register(pointer));
        let mut free = lowered.free;
        own.or_else(|| free.take_address())
            .ok_or_else(|| self.lack(LackingRegisters::Addresses))
    }

    /// Adds the loads of numbers before the first iteration; returns the loop with the moves of registers and the words
    /// that set pointers up.
    pub(super) fn with_initial_values(
        &mut self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
        schedule: &ModuloSchedule,
        mut text: LoopText,
    ) -> Result<LoopText, Fail> {
        let (mut moves, mut loads) = (Vec::new(), Vec::new());
        let mut scalars = InitialScalars::default();
        for &(place, source) in &lowered.initial {
            let to = register_of(place, lowered, schedule, 0);
            match source {
                source if scalars.add(to, source) => {}
                InitialSource::Number(_) => {}
                InitialSource::Register(from) => moves.push((to, from)),
                InitialSource::Words(words) => loads.push((to, words)),
                InitialSource::Block { block, value } => {
                    let from = self.receive(block, value, to);
                    let from = from.filter(|&from| !scalars.add(to, InitialSource::Register(from)));
                    moves.extend(from.map(|from| (to, from)));
                }
            }
        }
        let place = self.place();
        let needed = |&(to, _): &(Register, _)| moves.iter().any(|&(_, from)| meet(to, from));
        let operations = order_moves(&moves);
        if loads.iter().any(needed) {
            let words = operations.into_iter();
            lines.extend(words.map(|text| BlockLine::word(text, place)));
        } else {
            // They leave their memory slots to the words that set pointers up.
            let words = operations.into_iter();
            let words = words.map(|text| LoopLine::Word(LoopWord::set_up_arithmetic(text)));
            text.lines.splice(0..0, words);
        }
        for (to, words) in loads {
            self.load_row(lines, lowered, to, words)?;
        }
        lines.extend(scalars.words().map(|text| BlockLine::word(text, place)));
        Ok(text.set_up(set_up_pointers(self.block, lowered, schedule)))
    }

    /// Asks for a value of a block before in a register; returns the register in which it is left, if that is another.
    fn receive(&mut self, block: usize, value: usize, register: Register) -> Option<Register> {
        let mut known = self.received.iter();
        if let Some(own) = known.find(|own| (own.block, own.value) == (block, value)) {
            return Some(own.register).filter(|&from| from != register);
        }
        self.received.push(ReceivedValue {
            block,
            value,
            register,
        });
        None
    }

    /// Adds the words by which a block of no iteration leaves its final values.
    pub(super) fn keep_initial_values(
        &mut self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
    ) -> Result<(), Fail> {
        let (mut moves, mut loads) = (Vec::new(), Vec::new());
        let mut scalars = InitialScalars::default();
        for last in &self.block.finals {
            let mut initial = self.block.initial.iter();
            let given = initial.find(|own| (own.value, own.distance) == (last.value, 1));
            match given.map(|own| self.block.source_of(own)) {
                Some(source) if scalars.add(last.register, source) => {}
                Some(InitialSource::Register(from)) => moves.push((last.register, from)),
                Some(InitialSource::Words(words)) => loads.push((last.register, words)),
                Some(InitialSource::Block { block, value }) => {
                    let own = match last.register {
                        Register::Pair(_) => self.free.take_pair().map(Register::Pair),
                        Register::Quad(_) => self.free.take_quad().map(Register::Quad),
                        Register::Scalar(_) => {
                            let address = self.free.take_address();
                            address.map(|a| Register::Scalar(Scalar::address(a)))
                        }
                    };
                    let scalar = matches!(last.register, Register::Scalar(_));
                    let own = own.ok_or_else(|| self.lack(LackingRegisters::of_scalar(scalar)))?;
                    let from = self.receive(block, value, own).unwrap_or(own);
                    if !scalars.add(last.register, InitialSource::Register(from)) {
                        moves.push((last.register, from));
                    }
                }
                Some(InitialSource::Number(_)) | None => {}
            }
        }
        let place = self.place();
        let operations = order_moves(&moves).into_iter();
        lines.extend(operations.map(|text| BlockLine::word(text, place)));
        lines.extend(scalars.words().map(|text| BlockLine::word(text, place)));
        if !loads.is_empty() {
            self.point_at_table(lines, lowered)?;
        }
        for (to, words) in loads {
            self.load_row(lines, lowered, to, words)?;
        }
        Ok(())
    }

    /// Adds the load of a row of the table.
    fn load_row(
        &mut self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
        to: Register,
        words: [u32; 4],
    ) -> Result<(), Fail> {
        let row = self.enter_row(words);
        let address = self.table_register(lowered)?;
        let load = match to {
            Register::Quad(_) => "ldq",
            Register::Pair(_) | Register::Scalar(_) => "ldp",
        };
        let load = format!("{load} {to}, [a{address} + {}]", 16 * row);
        lines.push(BlockLine::load_constant(load, self.place()));
        Ok(())
    }

    /// Adds the moves of values of iteration `last` to the registers that get them.
    pub(super) fn add_final_values(
        &self,
        lines: &mut Vec<BlockLine>,
        lowered: &LoweredBlock,
        schedule: &ModuloSchedule,
        last: i64,
    ) {
        for &(register, place) in &lowered.finals {
            let from = register_of(place, lowered, schedule, last);
            if from != register {
                let text = format!("mov {register}, {from}");
                lines.push(BlockLine::word(text, self.place()));
            }
        }
    }
}

/// Returns the register of a place: of the copy for iteration `last`, or of as many before the first.
fn register_of(
    place: CarriedPlace,
    lowered: &LoweredBlock,
    schedule: &ModuloSchedule,
    last: i64,
) -> Register {
    match place {
        CarriedPlace::Register(register) => register,
        CarriedPlace::Value(value, distance) | CarriedPlace::Second(value, distance) => {
            let iteration = match distance {
                0 => last,
                before => -i64::from(before),
            };
            let first = schedule.register_of(value, iteration).unwrap_or(0);
            match lowered.dataflow.is_quad_value(value) {
                _ if first >= 64 => {
                    let second = u8::from(matches!(place, CarriedPlace::Second(..)));
                    Register::Scalar(Scalar(first - 64 + second))
                }
                true => Register::Quad(first / 2),
                false => Register::Pair(first),
            }
        }
    }
}

/// Returns the words that set the pointers of a block up.
fn set_up_pointers(
    block: &LinearBlock,
    lowered: &LoweredBlock,
    schedule: &ModuloSchedule,
) -> Vec<PointerSetup> {
    let mut setups = set_up_steps(lowered, schedule);
    setups.extend(set_up_tables(block, lowered));
    for &(pointer, index) in &lowered.pointers {
        let Some(own) = block.pointers.get(index) else {
            continue;
        };
        let bytes = schedule.bias(pointer).saturating_add(own.bytes);
        let a = schedule.pointer_register(pointer);
        let mut words = set_register_to(Scalar::address(a), own.base, bytes);
        words.extend(set_up_round(own, a, schedule.bias(pointer)));
        let registers = vec![a];
        setups.push(PointerSetup { words, registers });
    }
    setups
}
