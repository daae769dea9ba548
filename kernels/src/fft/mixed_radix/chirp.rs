//! Bluestein's products with the chirp, before and after the convolution.

use super::assembly_text::AssemblyText;
use super::butterflies::ColumnDft;
use super::column_loop::{COMPLEX, ColumnLoop, PointerBase, PointerWalk, QUAD};
use super::radix_constants::RadixConstant;
use super::radix_operands::RadixOperands;
use crate::fft::TransformDirection;
use crate::pipeline::{BodyOperand, BodyPointer};

/// Products of 2V transforms of N numbers with the N numbers of the chirp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chirp<'a> {
    pub(super) n: usize,
    /// Length of the convolution.
    pub(super) m: usize,
    pub(super) pairs: usize,
    pub(super) direction: TransformDirection,
    /// The chirp as directives.
    pub(super) factors: &'a [String],
    /// Address register of the block that is read.
    pub(super) from: u8,
    /// Address register of the block that is written.
    pub(super) to: u8,
}

impl Chirp<'_> {
    fn column<'a>(&self, constants: &'a RadixOperands) -> ColumnDft<'a> {
        ColumnDft::plain(self.direction, constants)
    }

    fn twins(&self, looped: &mut ColumnLoop, block: u8) -> [BodyPointer; 2] {
        [0, COMPLEX * self.n as i64].map(|behind| {
            let walk = PointerWalk::step_consecutive(self.n, (self.pairs, 1), COMPLEX);
            looped.stream(PointerBase::Register(block, behind), walk)
        })
    }

    fn factor(
        &self,
        text: &mut AssemblyText,
        looped: &mut ColumnLoop,
        name: &str,
    ) -> [BodyOperand; 2] {
        let lines = self.factors.iter().map(|f| vec![f.clone()]).collect();
        let (label, bytes) = text.pairs(&format!("chirp{name}"), lines);
        let pointer = looped.stream(
            PointerBase::Table(label),
            PointerWalk::step_shared(self.pairs, bytes, None),
        );
        let pair = looped.body.pair();
        looped.body.load(BodyOperand::Whole(pair), pointer, 0);
        [BodyOperand::Whole(pair); 2]
    }

    /// Writes the loop from consecutive transforms to quads, multiplied by the chirp.
    pub(super) fn begin(&self, text: &mut AssemblyText, name: &str) {
        let (constants, mut looped) = (RadixOperands::default(), ColumnLoop::default());
        let [a, b] = self.twins(&mut looped, self.from);
        let x = looped.body.quad();
        looped.body.load(BodyOperand::Lo(x), a, 0);
        looped.body.load(BodyOperand::Hi(x), b, 0);
        let factor = self.factor(text, &mut looped, name);
        let y = self.column(&constants).product(&mut looped.body, x, factor);
        let to = looped.stream(PointerBase::Register(self.to, 0), PointerWalk::Bytes(QUAD));
        looped.body.store(BodyOperand::Whole(y), to, 0);
        looped.write(text, self.n * self.pairs, name)
    }

    /// Writes the loop that puts zeros behind the N numbers, up to M.
    pub(super) fn fill(&self, text: &mut AssemblyText, name: &str) {
        let mut looped = ColumnLoop::default();
        let constants = looped.constants(vec![RadixConstant::Real(0.0)]);
        let behind = QUAD * (self.n * self.pairs) as i64;
        let to = looped.stream(
            PointerBase::Register(self.to, behind),
            PointerWalk::Bytes(QUAD),
        );
        looped
            .body
            .store(constants.operand(RadixConstant::Real(0.0)), to, 0);
        looped.write(text, (self.m - self.n) * self.pairs, name)
    }

    /// Writes the loop from quads to consecutive transforms, multiplied by the chirp.
    pub(super) fn end(&self, text: &mut AssemblyText, name: &str) {
        let (constants, mut looped) = (RadixOperands::default(), ColumnLoop::default());
        let from = looped.stream(
            PointerBase::Register(self.from, 0),
            PointerWalk::Bytes(QUAD),
        );
        let x = looped.body.quad();
        looped.body.load(BodyOperand::Whole(x), from, 0);
        let factor = self.factor(text, &mut looped, name);
        let y = self.column(&constants).product(&mut looped.body, x, factor);
        let [a, b] = self.twins(&mut looped, self.to);
        looped.body.store(BodyOperand::Lo(y), a, 0);
        looped.body.store(BodyOperand::Hi(y), b, 0);
        looped.write(text, self.n * self.pairs, name)
    }
}
