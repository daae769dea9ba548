//! Registers that linear blocks find free, and those that they write.

use crate::assemble::select::Selected;
use crate::assemble::state::Assembler;
use crate::diag::Chain;
use crate::isa::{Reg, RegSet, Scalar};
use crate::linear::{
    BlockCount, BlockExtent, BlockPointer, BlockRegisters, BlockStep, InitialSource, LinearBlock,
    PointerOrigin, RoundRegisters,
};
use crate::source::Span;
use crate::syntax::Register;
use std::rc::Rc;

/// Address registers that blocks may use: the page loop owns the last one.
const ADDRESSES: u8 = 15;

/// Registers that a block, or the blocks of a chain, write without saying so: what follows must not need what they had
/// before.
#[derive(Debug)]
pub(in crate::assemble) struct BlockWrites {
    pub(in crate::assemble) name: Rc<str>,
    pub(in crate::assemble) place: (Span, Chain),
    pub(in crate::assemble) written: RegSet,
    /// Address of the word behind the block.
    pub(in crate::assemble) behind: usize,
}

impl Assembler<'_> {
    /// Notes the registers that the words up to here write for a block, or for the chain that begins with it: those
    /// that are said excepted.
    pub(super) fn note_writes(&mut self, block: &LinearBlock, written: RegSet, said: RegSet) {
        self.block_writes.push(BlockWrites {
            name: block.name.clone(),
            place: (block.at, block.chain),
            written: RegSet(written.0 & !said.0),
            behind: self.words.len(),
        });
    }

    /// Returns the registers that no word so far names, or that `freed` lists, and that neither the blocks of a chain
    /// name nor the operations between them, on a machine of so many pairs.
    pub(super) fn find_free_registers(
        &self,
        freed: &[Register],
        (between, blocks): (&[&Selected], &[LinearBlock]),
        pairs: usize,
    ) -> BlockRegisters {
        let name = |set: RegSet, own: &Selected| {
            set | own.inst.reads() | own.inst.writes() | own.inst.address_write()
        };
        let words = self.words.iter().flat_map(|word| &word.insts);
        let words = words.filter(|own| own.scheduled.is_none());
        let mut taken = words.fold(RegSet::EMPTY, name);
        for register in freed {
            taken.0 &= !register.regs().0;
        }
        taken = between.iter().fold(taken, |set, own| name(set, own));
        for register in blocks.iter().flat_map(LinearBlock::list_named) {
            taken |= register.regs();
        }
        let goes_round = blocks.iter().any(LinearBlock::goes_round);
        let mut free = BlockRegisters {
            pairs: 0,
            addresses: 0,
            controls: 0,
            rounds: RoundRegisters::default(),
        };
        let pairs = u8::try_from(pairs).unwrap_or(u8::MAX).min(64);
        for pair in (0..pairs).filter(|&pair| !taken.contains(Reg::pair(pair))) {
            free.pairs |= 1 << pair;
        }
        let address = |a: u8| Scalar::address(a).reg();
        for a in (0..ADDRESSES).filter(|&a| !taken.contains(address(a))) {
            free.addresses |= 1 << a;
        }
        free.find_rounds(taken, goes_round);
        free
    }
}

impl LinearBlock {
    /// Returns the registers that the block says to write.
    pub(super) fn list_said(&self) -> RegSet {
        let said = self.finals.iter().map(|own| own.register.regs());
        said.fold(RegSet::EMPTY, |set, regs| set | regs)
    }

    /// Iterates over the registers that the block names: invariants, bases of pointers, the count, and those of values
    /// before and behind it.
    fn list_named(&self) -> impl Iterator<Item = Register> {
        let invariants = self.list_invariants();
        let bases = self.pointers.iter().filter_map(|own| match own.base {
            PointerOrigin::Register(scalar) => Some(Register::Scalar(scalar)),
            PointerOrigin::Address(_) => None,
        });
        let steps = self.pointers.iter().filter_map(|own| match own.step {
            BlockStep::Register(step) => Some(Register::Scalar(Scalar::step(step))),
            BlockStep::Bytes(_) | BlockStep::Table(..) => None,
        });
        let extents = self
            .pointers
            .iter()
            .flat_map(BlockPointer::extents)
            .filter_map(BlockExtent::register);
        let initial = self.initial.iter().filter_map(|own| match own.source {
            InitialSource::Register(register) => Some(register),
            InitialSource::Words(_) | InitialSource::Number(_) | InitialSource::Block { .. } => {
                None
            }
        });
        let count = match self.count {
            BlockCount::Register { register, .. } => Some(Register::Scalar(register)),
            BlockCount::Once | BlockCount::Known(_) => None,
        };
        let finals = self.finals.iter().map(|own| own.register);
        invariants
            .chain(bases)
            .chain(steps)
            .chain(extents.map(Register::Scalar))
            .chain(initial)
            .chain(count)
            .chain(finals)
    }
}
