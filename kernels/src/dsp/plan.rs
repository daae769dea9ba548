//! Plans of this folder: arrays of the user, page kernels and their passes.

use super::error::DspError;
use super::kernel::VectorPageKernel;
use crate::job::{Job, JobError, KernelInput, Stored, room};
use crate::relayout::{SourceOfWord, WORD};
use cp2_host::{Buffer, DeviceOptions, MemoryElement, Paging, ViewRows};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// An array that a kernel reads, and its layouts.
pub(super) struct KernelOperand<'a, T: MemoryElement> {
    /// Name of the user's array in a recording; none for an array that passes leave to others.
    name: Option<&'static str>,
    values: KernelInput<'a, T>,
    shape: Vec<u64>,
    /// Layout of its rows in the user's array.
    own: ViewRows,
    /// Layout of its rows for the kernel.
    wanted: ViewRows,
    /// True if rows are padded with their last number instead of 0.
    by_last: bool,
    /// Layouts of groups of these rows: as the rows lie then, and for the kernel.
    then: Option<[ViewRows; 2]>,
}

impl<'a, T: MemoryElement> KernelOperand<'a, T> {
    /// Describes an array of the user that is read up to `room` numbers: behind its end there are zeros.
    pub(super) fn new(
        name: &'static str,
        values: KernelInput<'a, T>,
        shape: &[usize],
        room: usize,
    ) -> Self {
        Self::rows(name, values, shape, [values.len(); 2], room)
    }

    /// Describes an array of rows of `n` numbers, which are padded to `wide`, and is read up to `room`
    /// numbers.
    pub(super) fn rows(
        name: &'static str,
        values: KernelInput<'a, T>,
        shape: &[usize],
        [n, wide]: [usize; 2],
        room: usize,
    ) -> Self {
        let bytes = |numbers: usize| (numbers * T::BYTES) as u64;
        let count = values.len() / n.max(1);
        let own = ViewRows::contiguous(count as u64, bytes(n));
        Self {
            name: Some(name),
            values,
            shape: shape.iter().map(|&d| d as u64).collect(),
            own,
            wanted: ViewRows {
                pitch: bytes(wide),
                total: bytes(room),
                ..own
            },
            by_last: false,
            then: None,
        }
    }

    /// Lays out groups of the rows as the kernel takes them, see [`RowGroups`].
    pub(super) fn grouped(self, groups: RowGroups) -> Self {
        Self {
            then: Some(groups.rows()),
            ..self
        }
    }

    /// Pads rows with their last number.
    pub(super) fn pad_with_last(self) -> Self {
        Self {
            by_last: true,
            ..self
        }
    }

    /// Describes space for so many numbers that a pass leaves to others.
    pub(super) fn room(numbers: usize) -> Self {
        Self {
            name: None,
            ..Self::rows("", KernelInput::Values(&[]), &[], [1, 1], numbers)
        }
    }

    /// Places the array in a job and returns the address at which the kernel finds it.
    fn place(&self, job: &mut Job) -> Result<u64, JobError> {
        let Some(name) = self.name else {
            return Ok(job.temporary::<u8>(self.wanted.total)?.address());
        };
        let (own, wanted) = (self.own, self.wanted);
        let array = (name, self.values, &self.shape[..]);
        if !self.by_last || own.pitch == wanted.pitch {
            let placed = job.rows_in(array, own, wanted)?;
            let Some([own, wanted]) = self.then else {
                return Ok(placed);
            };
            return job.rows_as(placed, own, wanted);
        }
        let [from, to] = [own.pitch / WORD, wanted.pitch / WORD];
        let word = |at: u64| SourceOfWord::Of(0, at.min(from - 1));
        job.words_in(array, wanted.total, (own.count * to, from, to), &word)
    }
}

/// Groups of rows, such as the rows of a matrix, and their layout for a kernel.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowGroups {
    /// Number of groups.
    pub(super) count: usize,
    /// Bytes of a group.
    pub(super) bytes: usize,
    /// Bytes from a group to the next in the kernel's array.
    pub(super) pitch: usize,
    /// Bytes of the kernel's array.
    pub(super) room: usize,
}

impl RowGroups {
    /// Returns the groups one behind the other, and as the kernel has them.
    fn rows(self) -> [ViewRows; 2] {
        let own = ViewRows::contiguous(self.count as u64, self.bytes as u64);
        let wanted = ViewRows {
            pitch: self.pitch as u64,
            total: self.room as u64,
            ..own
        };
        [own, wanted]
    }
}

/// The array that a kernel writes, and its layouts.
pub(super) struct OutputArray<'a> {
    /// Extents of the result.
    shape: Vec<u64>,
    /// Number of values up to which the passes write.
    room: usize,
    /// Layout of results in the array that the kernel writes.
    made: ResultLayout<'a>,
    /// Layouts of groups of these rows: contiguous, and for the kernel.
    then: Option<[ViewRows; 2]>,
}

/// The layout of results in the array that a kernel writes.
enum ResultLayout<'a> {
    /// Rows: number of values, and distance of rows in values.
    Rows([usize; 2]),
    /// Words: words of a row there and of a row of results, and a function that names the source of each word
    /// of a row of results.
    Words([u64; 2], &'a dyn Fn(u64) -> SourceOfWord),
}

impl<'a> OutputArray<'a> {
    /// Describes results that are contiguous in the array; behind them the kernel writes other values, up to
    /// `room` values.
    pub(super) fn new(shape: &[usize], room: usize) -> Self {
        Self::rows(shape, [shape.iter().product(); 2], room)
    }

    /// Describes results in rows of `n`, `wide` values apart (`rows = [n, wide]`).
    pub(super) fn rows(shape: &[usize], rows: [usize; 2], room: usize) -> Self {
        Self {
            shape: shape.iter().map(|&d| d as u64).collect(),
            room,
            made: ResultLayout::Rows(rows),
            then: None,
        }
    }

    /// Lays out groups of the rows as the kernel writes them, see [`RowGroups`].
    pub(super) fn grouped(self, groups: RowGroups) -> Self {
        Self {
            then: Some(groups.rows()),
            ..self
        }
    }

    /// Describes results whose words are rearranged.
    ///
    /// Rows of `from` words become rows of `to` words of results, of which `word` names the source of each.
    pub(super) fn words(
        shape: &[usize],
        (from, to): (u64, u64),
        word: &'a dyn Fn(u64) -> SourceOfWord,
        room: usize,
    ) -> Self {
        Self {
            made: ResultLayout::Words([from, to], word),
            ..Self::rows(shape, [1, 1], room)
        }
    }

    /// Places the array in a job; returns the address at which the kernel stores, and the relayouts that
    /// follow.
    fn place<O: MemoryElement>(&self, job: &mut Job) -> Result<Stored<O>, JobError> {
        let bytes = |values: usize| (values * O::BYTES) as u64;
        let values = self.shape.iter().product::<u64>();
        let output = ("y", &self.shape[..]);
        match self.made {
            ResultLayout::Rows([n, wide]) => {
                let own = ViewRows::contiguous(values / (n as u64).max(1), bytes(n));
                let made = ViewRows {
                    pitch: bytes(wide),
                    total: bytes(self.room),
                    ..own
                };
                let stored = job.rows_out(output, own, made)?;
                let Some([own, made]) = self.then else {
                    return Ok(stored);
                };
                let rows = Buffer::<u8>::from_address(stored.address, own.total);
                let groups = job.rows_to(rows, own, made)?;
                Ok(stored.retarget(groups))
            }
            ResultLayout::Words([from, to], word) => {
                let words = values * O::BYTES as u64 / WORD;
                job.words_out(output, bytes(self.room), (words, from, to), word)
            }
        }
    }
}

/// An operation planned for a machine: its shape and its page kernels, a pass for each.
#[derive(Debug)]
pub struct VectorPlan<S> {
    pub(super) shape: S,
    name: &'static str,
    machine: Arc<Machine>,
    kernels: Vec<VectorPageKernel>,
}

impl<S> VectorPlan<S> {
    /// Creates a plan from its kernels.
    pub(super) fn from_kernels(
        name: &'static str,
        shape: S,
        machine: Arc<Machine>,
        kernels: Vec<VectorPageKernel>,
    ) -> Self {
        Self {
            shape,
            name,
            machine,
            kernels,
        }
    }

    /// Returns the assembly of the page kernel, which may include files of this folder; of the first one where
    /// there are several.
    #[must_use]
    pub fn source(&self) -> &str {
        self.kernels.first().map_or("", |kernel| &kernel.source)
    }

    /// Returns the machine.
    #[must_use]
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Estimates the cycles of few blocks, where nothing overlaps:
    /// `(programs + bytes) / bandwidth + cycles of a section's blocks`.
    pub(super) fn estimate_few_blocks(&self, bytes: u64, blocks: u64) -> u64 {
        let (rate, sections) = (self.machine.dma.bandwidth, self.machine.cp2.sections as u64);
        let image = |kernel: &VectorPageKernel| {
            let tables = kernel.program.dmem.iter().map(|s| s.bytes.len());
            8 * kernel.program.words.len() + tables.sum::<usize>()
        };
        let images: usize = self.kernels.iter().map(image).sum();
        let moved = (images as u64 + bytes).saturating_mul(rate.den) / rate.num.max(1);
        let each = self.kernels.iter().map(|kernel| kernel.cycles).sum::<u64>();
        moved.saturating_add(each.saturating_mul(blocks.div_ceil(sections.max(1))))
    }

    /// Returns the operations that a pass of one of the kernels issues over so many blocks, for the model.
    pub(super) fn issued(&self, kernel: usize, blocks: usize) -> Vec<(Class, u64)> {
        let kernel = self.kernels.get(kernel);
        kernel.map_or_else(Vec::new, |k| k.operations.times(blocks as u64))
    }

    /// Refuses arrays that system memory cannot hold, before the arrays are made.
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

    /// Creates a job and adds to it what `append` adds.
    pub(super) fn create_job<O, E>(
        &self,
        options: DeviceOptions,
        append: impl FnOnce(&mut Job) -> Result<Buffer<O>, E>,
    ) -> Result<(Job, Buffer<O>), E> {
        let mut job = Job::new(self.machine.clone(), options);
        let y = append(&mut job)?;
        Ok((job, y))
    }

    /// Adds a pass to a job for each of the kernels in `which`.
    ///
    /// The passes page `inputs` into an output; `paging` makes the paging of a pass from its number and the
    /// addresses of the inputs and of the output.
    pub(super) fn passes<I: MemoryElement, O: MemoryElement>(
        &self,
        job: &mut Job,
        (inputs, output): (&[KernelOperand<'_, I>], &OutputArray<'_>),
        which: &[usize],
        paging: impl Fn(usize, &[u64], u64) -> Paging,
    ) -> Result<Buffer<O>, DspError> {
        let mut addresses = Vec::new();
        for input in inputs {
            addresses.push(input.place(job)?);
        }
        let stored = output.place::<O>(job)?;
        let mut placed = Vec::new();
        for kernel in &self.kernels {
            placed.push((job.program(self.name, &kernel.program)?, kernel));
        }
        let kernels = which.iter().filter_map(|&kernel| placed.get(kernel));
        for (i, (program, kernel)) in kernels.enumerate() {
            let paging = Paging {
                cycles_per_block: Some(kernel.cycles),
                ..paging(i, &addresses, stored.address)
            };
            job.pass(program, kernel.program.entry.into(), paging)?;
        }
        Ok(job.deliver(stored)?)
    }
}

/// Numbers of 4 bytes in a quad, which is a granule of the DMA on the built-in machines.
pub(super) const QUAD: usize = 4;

/// Bytes of a quad.
pub(super) const QUAD_BYTES: u64 = 16;

/// Refuses machines whose DMA cannot move so many bytes alone.
pub(super) fn check_granules(
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

/// Writes a complex number as two words of a table.
pub(super) fn words(w: Complex32) -> String {
    let [re, im] = [w.re, w.im].map(|part| part.to_bits() as i32);
    format!("    .int {re}, {im}\n")
}

/// Returns a copy padded with zeros to `len` numbers.
pub(super) fn padded<T: Copy + Default>(values: &[T], len: usize) -> Vec<T> {
    let mut all = values.to_vec();
    all.resize(len.max(values.len()), T::default());
    all
}

/// Pads rows of `n` numbers with zeros to rows of `wide`.
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
