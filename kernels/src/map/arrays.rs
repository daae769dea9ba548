//! Arrays of a user, and passes of his page kernels over them.

use super::{ElementType, MapError, Mapped};
use crate::job::Job;
use cp2_asm::Program;
use cp2_host::nest::{AXES, BoundaryRule, ConstantTable, GridField, GridPass};
use cp2_host::paging::aligned;
use cp2_host::{Buffer, DeviceOptions, PlacedProgram};
use cp2_machine::Machine;
use cp2_reference::Figures;
use std::sync::Arc;

/// An array of a job, by the number that [`Arrays`] gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayId(usize);

/// An array in the way that a pass takes it.
#[derive(Clone, Debug)]
pub struct PassArray {
    /// The array.
    pub array: ArrayId,
    /// Elements of a block along each axis; a single number takes the whole array as one row.
    pub block: Vec<u64>,
    /// Elements of the halo on either side along each axis: empty for none, or as many numbers as the array
    /// has axes.
    pub halo: Vec<u64>,
    /// Continuation of the array beyond its edges.
    pub edge: BoundaryRule,
}

impl PassArray {
    /// Describes an array in blocks without halo.
    #[must_use]
    pub fn new(array: ArrayId, block: &[u64]) -> Self {
        Self {
            array,
            block: block.to_vec(),
            halo: Vec::new(),
            edge: BoundaryRule::Zero,
        }
    }
}

/// Arrays that a pass loads and stores.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    /// Inputs, in the order of the arguments.
    pub inputs: Vec<PassArray>,
    /// Outputs, in the order of the arguments.
    pub outputs: Vec<PassArray>,
    /// Arrays that stay in DMEM throughout.
    pub tables: Vec<ArrayId>,
    /// True if output `i` is left in the place of the block of input `i`.
    pub in_place: bool,
}

/// Arrays of a job and passes of kernels over them: each pass finds the results of those before it.
#[derive(Debug)]
pub struct Arrays {
    job: Job,
    known: Vec<AllocatedArray>,
    outputs: Vec<usize>,
    /// Number of passes that make the clamped margins of rows.
    clamps: usize,
}

/// The job of passes over arrays that has not run.
#[derive(Debug)]
pub struct MapJob {
    /// The job.
    pub job: Job,
    /// Its results.
    pub outputs: Vec<Buffer<u8>>,
    /// Number of passes that make the clamped margins of rows.
    pub clamps: usize,
    /// The proved limit: the user's arrays once over the DMA channel.
    pub figures: Figures,
}

/// An array in system memory.
#[derive(Debug)]
struct AllocatedArray {
    name: String,
    element: ElementType,
    shape: Vec<u64>,
    buffer: Buffer<u8>,
}

impl AllocatedArray {
    /// Cuts the array into blocks; blocks of one axis take any array as one row.
    fn cut(&self, block: &[u64]) -> Result<GridField, MapError> {
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
        Ok(GridField::new(
            &self.name,
            0,
            self.element.bytes,
            shape,
            block,
        ))
    }
}

impl Arrays {
    /// Creates a job without arrays and passes.
    #[must_use]
    pub fn new(machine: Arc<Machine>, options: DeviceOptions) -> Self {
        Self {
            job: Job::new(machine, options),
            known: Vec::new(),
            outputs: Vec::new(),
            clamps: 0,
        }
    }

    /// Registers an array in system memory and returns its number.
    fn register_array(
        &mut self,
        name: &str,
        element: ElementType,
        shape: &[u64],
        buffer: Buffer<u8>,
    ) -> ArrayId {
        self.known.push(AllocatedArray {
            name: name.to_owned(),
            element,
            shape: shape.to_vec(),
            buffer,
        });
        ArrayId(self.known.len() - 1)
    }

    /// Adds an array of the user, row by row.
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
        let expected = self.job.bytes_of(name, element.bytes, shape)?;
        if bytes.len() as u64 != expected {
            return Err(MapError::Bytes {
                array: name.to_owned(),
                bytes: bytes.len() as u64,
                expected,
            });
        }
        let buffer = self.job.bytes_in(name, bytes, (element.name, shape))?;
        Ok(self.register_array(name, element, shape, buffer))
    }

    /// Allocates a result.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn output(
        &mut self,
        name: &str,
        element: ElementType,
        shape: &[u64],
    ) -> Result<ArrayId, MapError> {
        let bytes = self.job.bytes_of(name, element.bytes, shape)?;
        let buffer = self.job.bytes_out(name, bytes, (element.name, shape))?;
        self.outputs.push(self.known.len());
        Ok(self.register_array(name, element, shape, buffer))
    }

    /// Allocates an array that one pass leaves for another.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn temporary(
        &mut self,
        name: &str,
        element: ElementType,
        shape: &[u64],
    ) -> Result<ArrayId, MapError> {
        let bytes = self.job.bytes_of(name, element.bytes, shape)?;
        let buffer = self.job.room_for(name, bytes)?;
        Ok(self.register_array(name, element, shape, buffer))
    }

    /// Places a program that passes can run in system memory; `name` is its name on the timeline.
    ///
    /// # Errors
    /// The program does not run on the machine or does not fit its memories.
    pub fn kernel(
        &mut self,
        name: &str,
        program: &Arc<Program>,
    ) -> Result<PlacedProgram, MapError> {
        Ok(self.job.program(name, program)?)
    }

    /// Names the passes that are added from here on in the report; see
    /// [`Job::name_passes`](crate::Job::name_passes).
    pub fn name_passes(&mut self, name: &str) {
        self.job.name_passes(Some(name));
    }

    /// Adds a pass over arrays, launched at word `entry`; `how` says everything but the streams.
    ///
    /// With `reduce` the whole arrays are reduced to one block of the one output.
    ///
    /// # Errors
    /// The arrays do not fit each other or the machine.
    pub fn pass(
        &mut self,
        kernel: &PlacedProgram,
        entry: u32,
        streams: Streams,
        how: GridPass,
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
            let granule = self.job.machine().dma.granule.0.max(1);
            let whole = (field.shape[AXES - 1] * field.element).is_multiple_of(granule);
            let before = self.job.passes().len();
            let windows = self.job.windows(field, address, (sweep.march, reduce))?;
            // Rows that the DMA can move need a pass for their clamped edge only.
            if whole && stream.edge == BoundaryRule::Clamp {
                self.clamps += self.job.passes().len() - before;
            }
            sweep.inputs.push(windows);
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
            sweep.tables.push(ConstantTable {
                name: known.name.clone(),
                system: known.buffer.address(),
                bytes: known.buffer.bytes(),
            });
        }
        if streams.in_place {
            sweep = sweep.compute_in_place();
        }
        sweep.zeros = self.job.edge_zeros()?;
        if let (true, Some(output)) = (reduce, sweep.outputs.first()) {
            let each = output.result_bytes(aligned(self.job.machine()));
            let sections = self.job.machine().cp2.sections.max(1) as u64;
            let bytes = each.saturating_mul(sections);
            sweep.partials = Some(self.job.temporary::<u8>(bytes)?.address());
        }
        self.job.sweep(kernel, entry, sweep)?;
        for relayout in back {
            relayout.append(&mut self.job)?;
        }
        Ok(())
    }

    /// Returns the job of the passes, to be carried out together with those of other processors.
    #[must_use]
    pub fn into_job(self) -> MapJob {
        let outputs = self.outputs.iter();
        MapJob {
            outputs: outputs.map(|&output| self.known[output].buffer).collect(),
            clamps: self.clamps,
            figures: self.job.moved(),
            job: self.job,
        }
    }

    /// Carries the passes out.
    ///
    /// # Errors
    /// The device refuses a command.
    pub fn run(self) -> Result<Mapped, MapError> {
        let expected = self.job.expected();
        let figures = self.job.moved();
        let (run, passes, _) = self.job.finish()?;
        let read = |&output: &usize| run.read(self.known[output].buffer);
        let outputs = match run.report.end.is_finished() {
            true => Some(self.outputs.iter().map(read).collect::<Result<_, _>>()?),
            false => None,
        };
        Ok(Mapped {
            outputs,
            expected,
            figures,
            clamps: self.clamps,
            passes,
            run,
        })
    }
}

/// Extends one to three extents to three axes; the missing slow axes get `rest`.
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

/// Checks that blocks or a halo have as many axes as the array.
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
