//! Passes that work element by element: products with factors, and zeros.

use super::persistent_kernel::{
    FACTORS, INPUT, OUTPUT, PersistentKernel, PersistentKernelBuffers, SHORT_PAGE_BUFFERS,
    short_page,
};
use super::slices::{SliceDivision, SlicePages, StridedRows};
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::mixed_radix::assembly_text::AssemblyText;
use crate::fft::mixed_radix::block_fft::COMPLEX;
use crate::fft::mixed_radix::butterflies::{ColumnDft, LANES};
use crate::fft::mixed_radix::column_loop::{ColumnLoop, PointerBase, PointerWalk, QUAD};
use crate::fft::mixed_radix::radix_constants::RadixConstant;
use crate::fft::mixed_radix::radix_operands::RadixOperands;
use crate::job::Job;
use crate::pipeline::BodyOperand;
use cp2_machine::{Class, Machine};

/// Operation on every element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ElementOperation {
    /// Multiplies by a factor, which the inverse conjugates.
    Product(TransformDirection),
    /// Writes 0. A page loads one granule that is not read, since the kernel waits for a load.
    Zero,
}

/// An element-wise pass over rows of a length.
#[derive(Debug)]
pub(super) struct Elementwise {
    element: ElementOperation,
    cut: SliceDivision,
    stage: PersistentKernel,
}

impl Elementwise {
    /// Plans the pass over `rows` rows of `length` elements.
    pub(super) fn new(
        element: ElementOperation,
        (rows, length): (usize, usize),
        machine: &Machine,
    ) -> Result<Self, FftError> {
        let cut = SliceDivision::new(
            machine.cp2.sections,
            rows as u64,
            length as u64,
            short_page(machine),
        );
        let buffers = PersistentKernelBuffers {
            page: cut.numbers() * COMPLEX,
            factors: element.factor_bytes() * cut.slice,
            scratch: 0,
            count: SHORT_PAGE_BUFFERS,
            in_place: true,
        };
        let name = format!("{} of {} x {}", element.name(), cut.group, cut.slice);
        let stage = PersistentKernel::new(name, machine, buffers, |text| {
            element.write(&cut, text);
        })?;
        Ok(Self {
            element,
            cut,
            stage,
        })
    }

    /// Returns the elements of a row that the pass reads and writes: its length, rounded up to whole slices.
    pub(super) fn reach(&self) -> usize {
        self.cut.reach() as usize
    }

    /// Returns the rows that the pass reads and writes: whole groups.
    pub(super) fn rows(&self) -> usize {
        self.cut.rows as usize
    }

    fn slices(&self, [from, to]: [StridedRows; 2], factors: u64) -> SlicePages {
        let (read, written) = self.element.bytes();
        let issues = self.element.issues(self.cut.numbers());
        SlicePages {
            cut: self.cut,
            from: (from, read),
            to: (to, written),
            factors: (self.element.factor_bytes() > 0).then_some(factors),
            issues,
        }
    }

    /// Adds the pass to a job; `factors` is the address of the factors, if there are any.
    pub(super) fn append(
        &self,
        job: &mut Job,
        places: [StridedRows; 2],
        factors: u64,
    ) -> Result<(), FftError> {
        self.stage.append(job, self.slices(places, factors))
    }

    /// Returns the operations that the pass issues at least.
    pub(super) fn operations(&self) -> Vec<(Class, u64)> {
        self.stage.operations(self.cut.count())
    }

    /// Estimates the cycles of the pass.
    pub(super) fn estimate(&self, machine: &Machine) -> f64 {
        let place = StridedRows {
            address: 0,
            pitch: self.cut.reach() * COMPLEX,
        };
        self.stage.estimate(self.slices([place; 2], 0), machine)
    }
}

impl ElementOperation {
    fn name(self) -> &'static str {
        match self {
            Self::Product(TransformDirection::Forward) => "product",
            Self::Product(TransformDirection::Inverse) => "product with the conjugate",
            Self::Zero => "zeros",
        }
    }

    /// Returns the bytes of an element in the input and in the output.
    fn bytes(self) -> (u64, u64) {
        match self {
            Self::Product(_) => (COMPLEX, COMPLEX),
            Self::Zero => (0, COMPLEX),
        }
    }

    fn factor_bytes(self) -> u64 {
        match self {
            Self::Product(_) => COMPLEX,
            Self::Zero => 0,
        }
    }

    /// Returns the arithmetic issues for `numbers` elements.
    fn issues(self, numbers: u64) -> u64 {
        match self {
            Self::Product(_) => numbers,
            Self::Zero => 0,
        }
    }

    /// Writes the words of a page.
    fn write(self, cut: &SliceDivision, text: &mut AssemblyText) {
        match self {
            Self::Product(direction) => product(direction, cut, text),
            Self::Zero => zero(cut, text),
        }
    }
}

fn product(direction: TransformDirection, cut: &SliceDivision, text: &mut AssemblyText) {
    let (constants, mut looped) = (RadixOperands::default(), ColumnLoop::default());
    let from = looped.stream(PointerBase::Register(INPUT, 0), PointerWalk::Bytes(QUAD));
    let round = match cut.group {
        1 => PointerWalk::Bytes(QUAD),
        _ => PointerWalk::Modulo(QUAD, (cut.slice * COMPLEX) as i64),
    };
    let factors = looped.stream(PointerBase::Register(FACTORS, 0), round);
    let (x, w) = (looped.body.quad(), looped.body.quad());
    looped.body.load(BodyOperand::Whole(x), from, 0);
    looped.body.load(BodyOperand::Whole(w), factors, 0);
    let column = ColumnDft::plain(direction, &constants);
    let y = column.product(&mut looped.body, x, LANES.map(|lane| lane(w)));
    let to = looped.stream(PointerBase::Register(OUTPUT, 0), PointerWalk::Bytes(QUAD));
    looped.body.store(BodyOperand::Whole(y), to, 0);
    let iterations = cut.numbers() as usize / 2;
    looped.write(text, iterations, "")
}

fn zero(cut: &SliceDivision, text: &mut AssemblyText) {
    let mut looped = ColumnLoop::default();
    let constants = looped.constants(vec![RadixConstant::Real(0.0)]);
    let to = looped.stream(PointerBase::Register(OUTPUT, 0), PointerWalk::Bytes(QUAD));
    looped
        .body
        .store(constants.operand(RadixConstant::Real(0.0)), to, 0);
    looped.write(text, cut.numbers() as usize / 2, "")
}
