//! What the plans of this folder share: arrays in, a pass, an array out.

use super::error::DspError;
use super::kernel::Kernel;
use crate::job::{Job, room};
use cp2_host::{Buffer, Element, Options, Paging};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::borrow::Cow;
use std::sync::Arc;

/// An array that a kernel reads.
pub(super) struct Operand<'a, T: Element> {
    /// What a recording calls the user's array; none for one that the host prepares.
    name: Option<&'static str>,
    values: Cow<'a, [T]>,
    shape: Vec<u64>,
    /// Numbers up to which it is read.
    room: usize,
}

impl<'a, T: Element> Operand<'a, T> {
    /// An array of the user, which is read up to `room` numbers: behind its end there is 0.
    pub(super) fn new(name: &'static str, values: &'a [T], shape: &[usize], room: usize) -> Self {
        Self {
            name: Some(name),
            values: Cow::Borrowed(values),
            shape: shape.iter().map(|&d| d as u64).collect(),
            room,
        }
    }

    /// The same from its rows filled up.
    pub(super) fn filled(name: &'static str, values: Vec<T>, shape: &[usize], room: usize) -> Self {
        Self {
            values: Cow::Owned(values),
            ..Self::new(name, &[], shape, room)
        }
    }

    /// What the host prepares.
    pub(super) fn table(values: Vec<T>) -> Self {
        Self {
            name: None,
            values: Cow::Owned(values),
            shape: Vec::new(),
            room: 0,
        }
    }
}

/// The array that a kernel writes.
pub(super) struct Output {
    /// Of the result.
    shape: Vec<u64>,
    /// Values up to which the passes write.
    room: usize,
}

impl Output {
    pub(super) fn new(shape: &[usize], room: usize) -> Self {
        Self {
            shape: shape.iter().map(|&d| d as u64).collect(),
            room,
        }
    }
}

/// An operation planned for a machine: its shape and its page kernels, a pass for each.
#[derive(Debug)]
pub struct Planned<S> {
    pub(super) shape: S,
    name: &'static str,
    machine: Arc<Machine>,
    kernels: Vec<Kernel>,
}

impl<S> Planned<S> {
    pub(super) fn of(
        name: &'static str,
        shape: S,
        machine: Arc<Machine>,
        kernels: Vec<Kernel>,
    ) -> Self {
        Self {
            shape,
            name,
            machine,
            kernels,
        }
    }

    /// The assembly of its page kernel; of the first one where there are several.
    #[must_use]
    pub fn source(&self) -> &str {
        self.kernels.first().map_or("", |kernel| &kernel.source)
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// What few blocks should take: its programs and `bytes` over the channel, and the blocks of a section.
    pub(super) fn alone(&self, bytes: u64, blocks: u64) -> u64 {
        let (rate, sections) = (self.machine.dma.bandwidth, self.machine.cp2.sections as u64);
        let image = |kernel: &Kernel| {
            let tables = kernel.program.dmem.iter().map(|s| s.bytes.len());
            8 * kernel.program.words.len() + tables.sum::<usize>()
        };
        let images: usize = self.kernels.iter().map(image).sum();
        let moved = (images as u64 + bytes).saturating_mul(rate.den) / rate.num.max(1);
        let each = self.kernels.iter().map(|kernel| kernel.cycles).sum::<u64>();
        moved.saturating_add(each.saturating_mul(blocks.div_ceil(sections.max(1))))
    }

    /// What a pass of one of its kernels issues over so many blocks, for the model.
    pub(super) fn issued(&self, kernel: usize, blocks: usize) -> Vec<(Class, u64)> {
        let kernel = self.kernels.get(kernel);
        kernel.map_or_else(Vec::new, |k| k.operations.times(blocks as u64))
    }

    /// Refuses arrays that system memory cannot hold, before they are made.
    pub(super) fn fits(&self, bytes: u128) -> Result<(), DspError> {
        let rooms = self.kernels.iter().map(|k| room(&self.machine, &k.program));
        let whole = self.machine.host.memory.0;
        let most = rooms.fold(whole, |most, room| most.saturating_sub(whole - room));
        if bytes <= u128::from(most) {
            return Ok(());
        }
        Err(DspError::OutOfMemory {
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            most,
            machine: self.machine.name.clone(),
        })
    }

    /// A job of a pass for each of the kernels named by `which`, that pages `inputs` into an output,
    /// by the paging that `paging` makes of the pass and of their addresses.
    pub(super) fn passes<I: Element, O: Element>(
        &self,
        options: Options,
        (inputs, output): (&[Operand<'_, I>], &Output),
        which: &[usize],
        paging: impl Fn(usize, &[u64], u64) -> Paging,
    ) -> Result<(Job, Buffer<O>), DspError> {
        let mut job = Job::new(self.machine.clone(), options);
        let mut addresses = Vec::new();
        for input in inputs {
            let Operand {
                name,
                values,
                shape,
                room,
            } = input;
            let x = match name {
                Some(name) => job.input_with_room(name, values, shape, *room as u64)?,
                None => job.table(values)?,
            };
            addresses.push(x.address());
        }
        let y = job.output_with_room::<O>("y", &output.shape, output.room as u64)?;
        let mut placed = Vec::new();
        for kernel in &self.kernels {
            placed.push((job.program(self.name, &kernel.program)?, kernel));
        }
        let kernels = which.iter().filter_map(|&kernel| placed.get(kernel));
        for (i, (program, kernel)) in kernels.enumerate() {
            let paging = Paging {
                cycles_per_block: Some(kernel.cycles),
                ..paging(i, &addresses, y.address())
            };
            job.pass(program, kernel.program.entry.into(), paging)?;
        }
        Ok((job, y))
    }
}

/// Numbers of 4 bytes in a granule of the DMA and in a quad.
pub(super) const QUAD: usize = 4;

/// Bytes of a quad.
pub(super) const QUAD_BYTES: u64 = 16;

/// Refuses machines whose DMA does not move so many bytes without others.
pub(super) fn whole_granules(
    what: &'static str,
    bytes: u64,
    machine: &Machine,
) -> Result<(), DspError> {
    let granule = machine.dma.granule.0;
    if bytes.is_multiple_of(granule.max(1)) {
        return Ok(());
    }
    Err(DspError::Granule {
        what,
        bytes,
        granule,
        machine: machine.name.clone(),
    })
}

/// A complex number as two words of a table.
pub(super) fn words(w: Complex32) -> String {
    let [re, im] = [w.re, w.im].map(|part| part.to_bits() as i32);
    format!("    .int {re}, {im}\n")
}

/// A copy filled up with zeros to `len` numbers.
pub(super) fn padded<T: Copy + Default>(values: &[T], len: usize) -> Vec<T> {
    let mut all = values.to_vec();
    all.resize(len.max(values.len()), T::default());
    all
}

/// Rows of `n` numbers as rows of `wide`, filled up with zeros.
pub(super) fn padded_rows<T: Copy + Default>(values: &[T], n: usize, wide: usize) -> Vec<T> {
    if n == wide {
        return values.to_vec();
    }
    values
        .chunks(n.max(1))
        .flat_map(|row| {
            let rest = wide.saturating_sub(row.len());
            row.iter()
                .copied()
                .chain(std::iter::repeat_n(T::default(), rest))
        })
        .collect()
}
