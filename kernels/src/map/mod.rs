//! Arrays of one to three dimensions through a page kernel of the user's own, in one call.
//!
//! Every array is cut into blocks of the same grid; inputs may have a halo, which shows what the array has around a block, or what
//! its edge continues it with. Rows need not be whole granules of the DMA: where transfers alone cannot move them,
//! another pass puts them into another layout first, or back afterwards, in simulated time.

#[cfg(any(test, feature = "testing"))]
mod check;
mod layout;

#[cfg(any(test, feature = "testing"))]
pub use check::{Around, ArrayFailure, ArrayTest, check_arrays};

use crate::job::{Job, JobError, Pass};
use cp2_asm::Program;
use cp2_host::nest::{AXES, Edge, Field, Nest, Sweep, Table};
use cp2_host::{BlocksPerSection, Buffer, Buffering, HostError, Options, Placed, Run};
use cp2_machine::Machine;
use std::sync::Arc;

/// Elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType {
    /// NumPy's name.
    pub name: &'static str,
    /// Bytes of one.
    pub bytes: u64,
}

/// An input: an array as it lies in the user's memory, row by row.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    /// Name in listings and recordings.
    pub name: String,
    /// Its elements.
    pub element: ElementType,
    /// Its extents, slowest first.
    pub shape: Vec<u64>,
    /// The bytes.
    pub bytes: &'a [u8],
    /// Elements of a block along each axis; one alone takes the whole array as one row.
    pub block: Vec<u64>,
    /// Elements of the halo on either side along each axis; none, or as many as `shape`.
    pub halo: Vec<u64>,
    /// What lies beyond the array.
    pub edge: Edge,
}

/// An output.
#[derive(Clone, Debug)]
pub struct Output {
    /// Name in listings and recordings.
    pub name: String,
    /// Its elements.
    pub element: ElementType,
    /// Its extents, slowest first.
    pub shape: Vec<u64>,
    /// Elements of a block along each axis; one alone takes the whole array as one row.
    pub block: Vec<u64>,
}

/// What to do.
#[derive(Clone, Debug)]
pub struct ArrayJob<'a> {
    /// Name of the kernel on the timeline.
    pub name: String,
    /// What every page loads, in the order of the arguments.
    pub inputs: Vec<Input<'a>>,
    /// What every page stores, in the order of the arguments.
    pub outputs: Vec<Output>,
    /// Data that lies in DMEM throughout: names and bytes.
    pub tables: Vec<(String, &'a [u8])>,
    /// The kernel leaves output `i` where the block of input `i` was.
    pub in_place: bool,
    /// The whole array ends in one block of the one output.
    pub reduce: bool,
    /// DMEM bytes of working space.
    pub scratch: u64,
    /// Words of the kernel's own.
    pub words: Vec<u32>,
    /// Blocks per section in a page.
    pub size: BlocksPerSection,
    /// Pages in DMEM at a time.
    pub buffering: Buffering,
    /// Word address to launch at; the program's entry if not given.
    pub entry: Option<u32>,
    /// How the device runs.
    pub options: Options,
}

impl ArrayJob<'_> {
    /// A job of which the scheduler chooses everything.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            tables: Vec::new(),
            in_place: false,
            reduce: false,
            scratch: 0,
            words: Vec::new(),
            size: BlocksPerSection::ANY,
            buffering: Buffering::Auto,
            entry: None,
            options: Options::default(),
        }
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Mapped {
    /// The outputs, row by row; none if the run did not finish.
    pub outputs: Option<Vec<Vec<u8>>>,
    /// Its passes: that of the kernel, and before and behind it those that put arrays into another layout.
    pub passes: Vec<Pass>,
    /// The run.
    pub run: Run,
}

impl Mapped {
    /// The pages of the kernel's pass.
    #[must_use]
    pub fn nest(&self) -> Option<&Nest> {
        self.passes.iter().find_map(Pass::nest)
    }

    /// How many passes put an array into another layout.
    #[must_use]
    pub fn relayouts(&self) -> usize {
        self.passes.iter().filter(|pass| pass.is_relayout()).count()
    }
}

/// Why it cannot be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The device refused a command.
    #[error(transparent)]
    Host(#[from] HostError),
    /// An array has no extents, or too many.
    #[error("`{array}` has {found} dimensions; expected 1 to {AXES}")]
    Dimensions {
        /// The array.
        array: String,
        /// How many it has.
        found: usize,
    },
    /// Blocks or halos have another number of dimensions than the array.
    #[error("`{array}`: {what} has {found} dimensions, the array {expected}")]
    Rank {
        /// The array.
        array: String,
        /// Blocks or halo.
        what: &'static str,
        /// Its dimensions.
        found: usize,
        /// Those of the array.
        expected: usize,
    },
    /// Bytes and extents disagree.
    #[error("`{array}` has {bytes} B; its extents and elements make {expected} B")]
    Bytes {
        /// The array.
        array: String,
        /// Bytes that it has.
        bytes: u64,
        /// Bytes that it should have.
        expected: u64,
    },
}

/// Sends arrays through a page kernel (see `docs/abi.md`).
///
/// ```
/// use cp2_asm::{Options, Source, assemble};
/// use cp2_host::nest::Edge;
/// use cp2_kernels::map::{ArrayJob, ElementType, Input, Output, map};
/// use cp2_machine::Machine;
/// use std::sync::Arc;
///
/// // The sum of each element's neighbours in its row.
/// let text = r#"
/// .include "page.s"
/// .program
///     page_begin
///     ldx2 a0, [a15]                  ; the block's first element; the result's
///     ldx c0, [a15 + PAGE_COLUMNS]    ; quads of its row
///     loop c0 {
///         ldq q0, [a0 - 16]
///         ldq q1, [a0]+16
///         ldq q2, [a0]
///         ext q3, q0, q1, 3           ; what lies one to the left
///         ext q4, q1, q2, 1           ; and one to the right
///         add q5, q3, q4
///         stq q5, [a1]+16
///     }
///     page_end
///     stop
/// "#;
/// let program = assemble(&Source::new("neighbours.s", text), &Options::default()).unwrap().program;
/// let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
/// let x: Vec<u8> = (1..=9u32).flat_map(|i| (i as f32).to_le_bytes()).collect();
/// let element = ElementType { name: "float32", bytes: 4 };
/// let done = map(Arc::new(program), vm7, ArrayJob {
///     inputs: vec![Input {
///         name: "x".into(), element, shape: vec![9], bytes: &x, block: vec![4], halo: vec![1], edge: Edge::Clamp,
///     }],
///     outputs: vec![Output { name: "y".into(), element, shape: vec![9], block: vec![4] }],
///     ..ArrayJob::new("neighbours")
/// })?;
/// let y: Vec<f32> = done.outputs.unwrap()[0].chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
/// assert_eq!(y, [3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0, 17.0]);
/// # Ok::<(), cp2_kernels::map::MapError>(())
/// ```
///
/// # Errors
/// The arrays do not fit each other or the machine. A guest fault is no error: see the run's report.
pub fn map(
    program: Arc<Program>,
    machine: Arc<Machine>,
    job: ArrayJob<'_>,
) -> Result<Mapped, MapError> {
    let mut arrays = Arrays::new(machine, job.options.clone());
    let mut streams = Streams::default();
    for input in &job.inputs {
        let array = arrays.input(&input.name, input.element, &input.shape, input.bytes)?;
        streams.inputs.push(Stream {
            array,
            block: input.block.clone(),
            halo: input.halo.clone(),
            edge: input.edge,
        });
    }
    for output in &job.outputs {
        let array = arrays.output(&output.name, output.element, &output.shape)?;
        streams.outputs.push(Stream::new(array, &output.block));
    }
    for (name, bytes) in &job.tables {
        let element = ElementType {
            name: "uint8",
            bytes: 1,
        };
        let table = arrays.input(name, element, &[bytes.len() as u64], bytes)?;
        streams.tables.push(table);
    }
    let sweep = Sweep {
        in_place: job.in_place,
        scratch: job.scratch,
        words: job.words,
        size: job.size,
        buffering: job.buffering,
        ..Sweep::new(Vec::new(), Vec::new())
    };
    let entry = job.entry.unwrap_or(program.entry.into());
    let kernel = arrays.kernel(&job.name, &program)?;
    arrays.pass(&kernel, entry, streams, sweep, job.reduce)?;
    arrays.run()
}

/// An array of a job: what [`Arrays`] gave it a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayId(usize);

/// An array as a pass takes it.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The array.
    pub array: ArrayId,
    /// Elements of a block along each axis; one alone takes the whole array as one row.
    pub block: Vec<u64>,
    /// Elements of the halo on either side along each axis; none, or as many as the array has axes.
    pub halo: Vec<u64>,
    /// What lies beyond the array.
    pub edge: Edge,
}

impl Stream {
    /// Blocks without halo.
    #[must_use]
    pub fn new(array: ArrayId, block: &[u64]) -> Self {
        Self {
            array,
            block: block.to_vec(),
            halo: Vec::new(),
            edge: Edge::Zero,
        }
    }
}

/// What a pass loads and stores.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// Inputs, in the order of the arguments.
    pub inputs: Vec<Stream>,
    /// Outputs, in the order of the arguments.
    pub outputs: Vec<Stream>,
    /// What lies in DMEM throughout.
    pub tables: Vec<ArrayId>,
}

/// Arrays, and passes of kernels over them: each pass finds what those before it stored.
#[derive(Debug)]
pub struct Arrays {
    job: Job,
    known: Vec<Known>,
    outputs: Vec<usize>,
}

/// An array in system memory.
#[derive(Debug)]
struct Known {
    name: String,
    element: ElementType,
    shape: Vec<u64>,
    buffer: Buffer<u8>,
}

impl Known {
    /// The array in blocks: those of one axis take any array as one row.
    fn cut(&self, block: &[u64]) -> Result<Field, MapError> {
        let shape = match block {
            [_] => [
                1,
                1,
                self.shape.iter().fold(1, |n, &d| u64::saturating_mul(n, d)),
            ],
            _ => {
                rank(&self.name, "its block", block, &self.shape)?;
                axes(&self.name, &self.shape, 1)?
            }
        };
        let block = axes(&self.name, block, 1)?;
        Ok(Field::new(&self.name, 0, self.element.bytes, shape, block))
    }
}

impl Arrays {
    /// No arrays and no passes.
    #[must_use]
    pub fn new(machine: Arc<Machine>, options: Options) -> Self {
        Self {
            job: Job::new(machine, options),
            known: Vec::new(),
            outputs: Vec::new(),
        }
    }

    fn know(
        &mut self,
        name: &str,
        element: ElementType,
        shape: &[u64],
        buffer: Buffer<u8>,
    ) -> ArrayId {
        self.known.push(Known {
            name: name.to_owned(),
            element,
            shape: shape.to_vec(),
            buffer,
        });
        ArrayId(self.known.len() - 1)
    }

    /// An array of the user, row by row.
    ///
    /// # Errors
    /// Bytes and extents disagree, or system memory is used up.
    pub fn input(
        &mut self,
        name: &str,
        element: ElementType,
        shape: &[u64],
        bytes: &[u8],
    ) -> Result<ArrayId, MapError> {
        let expected = size(element, shape);
        if bytes.len() as u64 != expected {
            return Err(MapError::Bytes {
                array: name.to_owned(),
                bytes: bytes.len() as u64,
                expected,
            });
        }
        let buffer = self.job.bytes_in(name, bytes, (element.name, shape))?;
        Ok(self.know(name, element, shape, buffer))
    }

    /// Room for a result.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn output(
        &mut self,
        name: &str,
        element: ElementType,
        shape: &[u64],
    ) -> Result<ArrayId, MapError> {
        let buffer = self
            .job
            .bytes_out(name, size(element, shape), (element.name, shape))?;
        self.outputs.push(self.known.len());
        Ok(self.know(name, element, shape, buffer))
    }

    /// Room for what one pass leaves for another.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn temporary(
        &mut self,
        name: &str,
        element: ElementType,
        shape: &[u64],
    ) -> Result<ArrayId, MapError> {
        let buffer = self.job.temporary::<u8>(size(element, shape))?;
        Ok(self.know(name, element, shape, buffer))
    }

    /// A program that passes can run; `name` is its name on the timeline.
    ///
    /// # Errors
    /// It does not run on the machine or does not fit its memories.
    pub fn kernel(&mut self, name: &str, program: &Arc<Program>) -> Result<Placed, MapError> {
        Ok(self.job.program(name, program)?)
    }

    /// A pass over arrays, launched at word `entry`; `how` says everything but the streams. Of a reduction the whole arrays end in one
    /// block of the one output.
    ///
    /// # Errors
    /// The arrays do not fit each other or the machine.
    pub fn pass(
        &mut self,
        kernel: &Placed,
        entry: u32,
        streams: Streams,
        how: Sweep,
        reduce: bool,
    ) -> Result<(), MapError> {
        let mut sweep = how;
        for stream in &streams.inputs {
            let known = &self.known[stream.array.0];
            let mut field = known.cut(&stream.block)?.halo([0; AXES], stream.edge);
            if stream.halo.iter().any(|&halo| halo > 0) {
                rank(&known.name, "its halo", &stream.halo, &known.shape)?;
                rank(&known.name, "its block", &stream.block, &known.shape)?;
                field = field.halo(axes(&known.name, &stream.halo, 0)?, stream.edge);
            }
            let address = known.buffer.address();
            sweep.inputs.push(self.job.windows(field, address, reduce)?);
        }
        let mut back = Vec::new();
        for stream in &streams.outputs {
            let known = &self.known[stream.array.0];
            let (field, address) = (known.cut(&stream.block)?, known.buffer.address());
            let (field, relayout) = self.job.blocks(field, address)?;
            back.extend(relayout);
            sweep.outputs.push(field);
        }
        for table in &streams.tables {
            let known = &self.known[table.0];
            sweep.tables.push(Table {
                name: known.name.clone(),
                system: known.buffer.address(),
                bytes: known.buffer.bytes(),
            });
        }
        sweep.zeros = self.job.edge_zeros()?;
        if let (true, Some(output)) = (reduce, sweep.outputs.first()) {
            let granule = self.job.machine().dma.granule.0.max(16);
            let block = output
                .block
                .iter()
                .fold(output.element, |n, &d| n.saturating_mul(d));
            let sections = self.job.machine().cp2.sections.max(1) as u64;
            let bytes = block.saturating_add(granule).saturating_mul(sections);
            sweep.partials = Some(self.job.temporary::<u8>(bytes)?.address());
        }
        self.job.sweep(kernel, entry, sweep)?;
        for relayout in back {
            relayout.append(&mut self.job)?;
        }
        Ok(())
    }

    /// Carries the passes out.
    ///
    /// # Errors
    /// The device refuses a command.
    pub fn run(self) -> Result<Mapped, MapError> {
        let (run, passes, _) = self.job.finish()?;
        let read = |&output: &usize| run.read(self.known[output].buffer);
        let outputs = match run.report.end.is_finished() {
            true => Some(self.outputs.iter().map(read).collect::<Result<_, _>>()?),
            false => None,
        };
        Ok(Mapped {
            outputs,
            passes,
            run,
        })
    }
}

/// Bytes of an array.
fn size(element: ElementType, shape: &[u64]) -> u64 {
    shape
        .iter()
        .fold(element.bytes, |n, &d| n.saturating_mul(d))
}

/// Extents of three axes from those of one to three.
fn axes(array: &str, extents: &[u64], rest: u64) -> Result<[u64; AXES], MapError> {
    if !(1..=AXES).contains(&extents.len()) {
        return Err(MapError::Dimensions {
            array: array.to_owned(),
            found: extents.len(),
        });
    }
    let mut all = [rest; AXES];
    all[AXES - extents.len()..].copy_from_slice(extents);
    Ok(all)
}

fn rank(array: &str, what: &'static str, found: &[u64], shape: &[u64]) -> Result<(), MapError> {
    if found.len() == shape.len() {
        return Ok(());
    }
    Err(MapError::Rank {
        array: array.to_owned(),
        what,
        found: found.len(),
        expected: shape.len(),
    })
}
