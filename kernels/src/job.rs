//! One job on one device: arrays, programs, and passes over the arrays.
//!
//! A pass pages arrays through a program. Every kernel of the library runs through a job.

mod arrays;
mod error;
mod exchange;
mod grid_pass;
mod items;
mod kernel_input;
mod lower_bound;
mod memory;
mod messages;
mod pass;
mod prepared;
mod price;
mod program;
mod run;
mod run_time;

pub(crate) use arrays::{Stored, expected as relayout_expected, relayout_cycles, rows};
pub(crate) use cp2_host::paging::data_end;
pub use error::JobError;
pub use exchange::{EndedJobs, ExchangeError, ProcessorRun, price_jobs, run_jobs};
use items::JobItem;
pub use kernel_input::KernelInput;
pub(crate) use lower_bound::LowerBound;
pub use memory::room;
pub(crate) use memory::{ROOM_BESIDE, image, load, loads};
pub use messages::MessageRequest;
pub use pass::Pass;
use pass::PassPaging;
pub use prepared::PreparedJob;
pub(crate) use price::{Unpriced, by_price};
pub use program::{JobCommunicator, JobPart, JobProgram, RegionHandle, run_job_programs};
pub use run::KernelRun;

use cp2_asm::Program;
use cp2_dma::Descriptor;
use cp2_host::emit::EmittedArray;
use cp2_host::paging::{KernelEntryPoint, ListedPass, RingPass, overlap_pair, priced};
use cp2_host::{
    Buffer, Device, DeviceOptions, FinishedRun, HostError, Imprint, MemoryElement, Paging,
    PlacedProgram, StreamPlan, TransferLimits, ValueSource, Views,
};
use cp2_machine::Machine;
use cp2_reference::Figures;
use std::sync::Arc;

/// A job being put together: arrays in system memory, programs, and passes
/// over the arrays, carried out in the order in which they were given.
///
/// ```
/// use cp2_asm::{Source, assemble};
/// use cp2_host::{DeviceOptions, Paging, Stream};
/// use cp2_kernels::Job;
/// use cp2_machine::Machine;
/// use cp2_reference::{Count, Figures, Traffic};
/// use std::sync::Arc;
///
/// // Doubles every float of the page's blocks, 16 bytes each.
/// let text = r#"
/// .include "page.s"
/// .program
///     page_begin
///     ldx2 a0, [a15]      ; input and output page
///     ldx  c0, [a15 + 8]  ; blocks in this page
///     loop c0 {
///         ldq q0, [a0]+16
///         add q1, q0, q0
///         stq q1, [a1]+16
///     }
///     page_end
///     stop
/// "#;
/// let program = Arc::new(assemble(&Source::new("double.s", text), &Default::default()).unwrap().program);
/// let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
///
/// let mut job = Job::new(vm7.clone(), DeviceOptions::default());
/// let x = job.input("x", &[1.0f32; 400], &[400])?;
/// let twice = job.temporary::<f32>(400)?;
/// let y = job.output::<f32>("y", &[400])?;
/// let double = job.program("double", &program)?;
/// for (from, to) in [(x, twice), (twice, y)] {
///     let from = Stream::contiguous("x", from.address(), 16);
///     let to = Stream::contiguous("y", to.address(), 16);
///     job.pass(&double, 0, Paging::new(100, vec![from], vec![to]))?;
/// }
/// // 400 floats in and out, and each doubled twice, a quad at a time.
/// let sums = Count { adds: 2.0 * 100.0, ..Count::default() };
/// let figures = Figures::of(&vm7, Traffic::bytes(2 * 1600), sums, "two sums", "definition");
/// let done = job.run(figures, |run| run.read(y))?;
/// assert_eq!(done.output.as_deref(), Some(&[4.0f32; 400][..]));
/// assert!(done.efficiency() < 1.0);
/// # Ok::<(), cp2_kernels::JobError>(())
/// ```
#[derive(Debug)]
pub struct Job {
    device: Device,
    passes: Vec<Pass>,
    /// Passes, host steps, loops and marks, in the order in which they are carried out.
    items: Vec<JobItem>,
    /// Items of parts, which a program carries out.
    parts: Vec<Vec<JobItem>>,
    /// Number of sends and receives among them.
    requests: usize,
    /// Name in the report of the passes that are added from here on.
    called: Option<Arc<str>>,
    /// Arrays whose rows lie at other addresses than those that passes name.
    pub(crate) views: Views,
    /// Arrays of the user and arrays of results, as a recording of the run names them.
    inputs: Vec<EmittedArray>,
    outputs: Vec<EmittedArray>,
    /// Checksums of the user's arrays from when they were put into system memory.
    imprints: Vec<Imprint>,
}

impl Job {
    /// Creates an empty job on a device of the machine, with options.
    #[must_use]
    pub fn new(machine: Arc<Machine>, options: DeviceOptions) -> Self {
        Self {
            device: Device::with_options(machine, options),
            passes: Vec::new(),
            items: Vec::new(),
            parts: Vec::new(),
            requests: 0,
            called: None,
            views: Views::default(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            imprints: Vec::new(),
        }
    }

    /// Adds an array of the user to the job. The array lies in system memory when time begins; `shape` has
    /// the last index fastest. A recording of the run calls the array `name`.
    ///
    /// Arrays that the host computes from lengths and taps alone are added by [`Job::table`].
    ///
    /// # Errors
    /// System memory is used up.
    pub fn input<T: MemoryElement>(
        &mut self,
        name: &str,
        mut values: &[T],
        shape: &[u64],
    ) -> Result<Buffer<T>, JobError> {
        self.input_of(name, &mut values, shape)
    }

    /// Adds an array of the user whose values are made or read while they are put into system memory.
    ///
    /// See [`Job::input`] for `name` and `shape`.
    ///
    /// # Errors
    /// System memory is used up, or the source fails.
    pub fn input_of<T: MemoryElement>(
        &mut self,
        name: &str,
        values: &mut dyn ValueSource<T>,
        shape: &[u64],
    ) -> Result<Buffer<T>, JobError> {
        let placed = self.device.alloc_of(values);
        let (buffer, imprint) = placed.map_err(|e| memory::named(name, e))?;
        self.imprints.push(imprint);
        self.inputs.push(EmittedArray::new(name, buffer, shape));
        Ok(buffer)
    }

    /// Adds an array that the host prepares before time begins, from lengths, taps and the like: never from a
    /// user's array.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn table<T: MemoryElement>(&mut self, values: &[T]) -> Result<Buffer<T>, JobError> {
        Ok(self.device.alloc_from(values)?)
    }

    /// Allocates a result of a shape, which a recording of the run calls `name`.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn output<T: MemoryElement>(
        &mut self,
        name: &str,
        shape: &[u64],
    ) -> Result<Buffer<T>, JobError> {
        let element = T::BYTES as u64;
        let bytes = self.bytes_of(name, element, shape)?;
        let buffer = self.room_for(name, bytes / element.max(1))?;
        self.outputs.push(EmittedArray::new(name, buffer, shape));
        Ok(buffer)
    }

    /// Declares an array to be a result: passes leave it there, and a recording of the run calls it `name`.
    pub(crate) fn result<T: MemoryElement>(
        &mut self,
        name: &str,
        buffer: Buffer<T>,
        shape: &[u64],
    ) {
        self.outputs.push(EmittedArray::new(name, buffer, shape));
    }

    /// Makes an output a temporary array: later passes read it, and it is no result any more.
    pub(crate) fn hand_on<T: MemoryElement>(&mut self, left: Buffer<T>) {
        self.outputs.retain(|y| y.address != left.address());
    }

    /// Allocates an array that one pass leaves for another.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn temporary<T: MemoryElement>(&mut self, len: u64) -> Result<Buffer<T>, JobError> {
        Ok(self.device.alloc(len)?)
    }

    /// Places a program that passes can run in system memory; `name` is its name on the timeline.
    ///
    /// # Errors
    /// The program does not run on the machine or does not fit its memories.
    pub fn program(
        &mut self,
        name: &str,
        program: &Arc<Program>,
    ) -> Result<PlacedProgram, JobError> {
        Ok(self.device.place(name, program.clone())?)
    }

    /// Adds a pass that pages arrays through a program, launched at word `entry`.
    ///
    /// The DMEM of the program's data is reserved. Everything that earlier passes store is complete before
    /// this one loads it.
    ///
    /// # Errors
    /// The pass breaks a rule of the scheduler or does not fit.
    pub fn pass(
        &mut self,
        program: &PlacedProgram,
        entry: u32,
        mut paging: Paging,
    ) -> Result<(), JobError> {
        paging.reserved.extend(program.reserved());
        paging.views = self.views.clone();
        let kernel = KernelEntryPoint::new(&program.program, entry);
        let paging = priced(paging, &kernel, self.device.machine());
        let plan = StreamPlan::new(paging, self.device.machine())?;
        // Prepared here since this costs nothing: time has not begun.
        let arguments = self.device.page_arguments(&plan)?;
        let work = PassPaging::Paged(Box::new(plan), arguments);
        self.add(self.pass_of(program, (entry, &program.name), work));
        Ok(())
    }

    /// Names the passes that are added from here on.
    ///
    /// The report adds up the passes that have both name and program in common. It adds up those without a
    /// name likewise, and so those that put arrays into another layout.
    pub fn name_passes(&mut self, name: Option<&str>) {
        self.called = name.map(Arc::from);
    }

    /// Makes a pass whose whole program is loaded before it and launched at a word.
    fn pass_of(
        &self,
        program: &PlacedProgram,
        (entry, name): (u32, &str),
        work: PassPaging,
    ) -> Pass {
        Pass {
            placed: program.clone(),
            entry,
            name: name.to_owned(),
            work,
            fills: Vec::new(),
            part: None,
            views: self.views.clone(),
            limits: TransferLimits::from_machine(self.device.machine()),
            relayout: false,
            called: self.called.clone(),
            sends: Vec::new(),
        }
    }

    fn add(&mut self, pass: Pass) {
        self.items.push(JobItem::Pass(self.passes.len()));
        self.passes.push(pass);
    }

    /// Adds a pass that moves pages around a ring of buffers while the kernel at the label `entry` runs.
    ///
    /// The buffers have their places in DMEM behind the program's data.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn ring(
        &mut self,
        program: &PlacedProgram,
        entry: &str,
        ring: RingPass,
    ) -> Result<(), JobError> {
        self.push(program, entry, ring, None)
    }

    /// Adds two ring passes by the two kernels of one program, which is loaded in two parts.
    ///
    /// The words of the second kernel, from `second[0]` on, and its data, from `second[1]` on in DMEM, are
    /// loaded while the first kernel runs if there is time for that, else before it.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn followed(
        &mut self,
        program: &PlacedProgram,
        entries: [&str; 2],
        [mut first, mut next]: [RingPass; 2],
        second: [u64; 2],
    ) -> Result<(), JobError> {
        let [own, rest] = program.split(second[0], second[1]);
        first = first.price_by_kernel(&program.program, entries[0]);
        next = next.price_by_kernel(&program.program, entries[1]);
        let part = overlap_pair(&mut first, &mut next, &rest, self.machine()).then_some(own);
        self.push(program, entries[0], first, part)?;
        self.push(program, entries[1], next, None)
    }

    /// Adds three ring passes by three kernels of one program, which is loaded in three parts.
    ///
    /// The words and data of the second kernel begin at `places[0]`, those of the third at `places[1]`. They
    /// are loaded while the kernel before runs if there is time for that, else with the part before.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn in_turn(
        &mut self,
        program: &PlacedProgram,
        [first, second, third]: [(&str, RingPass); 3],
        places: [[u64; 2]; 2],
    ) -> Result<(), JobError> {
        let [[word, data], [last_word, last_data]] = places;
        let [mut part, rest] = program.split(word, data);
        let [next, last] = PlacedProgram::cut(&rest, last_word, last_data);
        let of = |(name, pass): (_, RingPass)| (name, pass.price_by_kernel(&program.program, name));
        let [(first, mut a), (second, mut b), (third, mut c)] = [first, second, third].map(of);
        // A part that cannot be loaded while the kernel before runs is loaded with that kernel's own part.
        if !overlap_pair(&mut a, &mut b, &next, self.machine()) {
            part.extend(next);
        }
        if !overlap_pair(&mut b, &mut c, &last, self.machine()) {
            part.extend(last);
        }
        self.push(program, first, a, Some(part))?;
        self.push(program, second, b, None)?;
        self.push(program, third, c, None)
    }

    /// Adds a ring pass of a kernel that computes nothing, but puts an array into another layout.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn relayout(
        &mut self,
        program: &PlacedProgram,
        entry: &str,
        ring: RingPass,
    ) -> Result<(), JobError> {
        self.push(program, entry, ring, None)?;
        if let Some(pass) = self.passes.last_mut() {
            pass.relayout = true;
            pass.called = None;
            pass.name.clone_from(&program.name);
        }
        Ok(())
    }

    /// Adds a pass that moves listed pages through DMEM while the kernel at word `entry` runs.
    ///
    /// The list also has the steps of the kernel, for its price.
    pub(crate) fn listed(&mut self, program: &PlacedProgram, entry: u32, listed: ListedPass) {
        let work = PassPaging::Listed(Box::new(listed));
        self.add(self.pass_of(program, (entry, &program.name), work));
    }

    /// Adds a ring pass; `part` is the part of its program that is loaded before it, none for the whole
    /// program.
    fn push(
        &mut self,
        program: &PlacedProgram,
        entry: &str,
        ring: RingPass,
        part: Option<Vec<Descriptor>>,
    ) -> Result<(), JobError> {
        let ring = ring
            .protected(&program.reserved())
            .price_by_kernel(&program.program, entry);
        let arguments = ring.place(&mut self.device)?;
        let at = program.program.symbol(entry);
        let at = at.and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
        let work = PassPaging::Ring(Box::new(ring), arguments);
        self.add(Pass {
            part,
            ..self.pass_of(program, (at, entry), work)
        });
        Ok(())
    }

    /// Returns the machine.
    #[must_use]
    pub fn machine(&self) -> &Arc<Machine> {
        self.device.machine()
    }

    /// Returns the passes so far.
    #[must_use]
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// Turns the job into one that can be carried out again and again.
    #[must_use]
    pub fn prepare(self) -> PreparedJob {
        PreparedJob { job: self }
    }

    /// Carries the passes out.
    ///
    /// `figures` say what any program takes for the problem and what the best known one takes; `read` fetches
    /// the output of a run that finished.
    ///
    /// # Errors
    /// The device refuses a command, or `read` fails. A run that does not
    /// finish is no error: it has no output and a report that says why.
    pub fn run<O>(
        mut self,
        figures: Figures,
        read: impl FnOnce(&FinishedRun) -> Result<O, HostError>,
    ) -> Result<KernelRun<O>, JobError> {
        let inputs = std::mem::take(&mut self.imprints);
        let expected = self.expected();
        let (run, passes, turns) = self.finish()?;
        let output = if run.report.end.is_finished() {
            Some(read(&run)?)
        } else {
            None
        };
        Ok(KernelRun {
            output,
            inputs,
            passes,
            turns,
            figures,
            expected,
            run,
        })
    }
}

impl Job {
    /// Carries the passes out without computing their price.
    ///
    /// Returns the run, its passes, and the number of turns of each loop.
    ///
    /// # Errors
    /// The device refuses a command.
    pub(crate) fn finish(mut self) -> Result<(FinishedRun, Vec<Pass>, Vec<u64>), JobError> {
        let inputs = self.inputs.iter();
        inputs.for_each(|x| self.device.input(x.clone()));
        let outputs = self.outputs.iter();
        outputs.for_each(|y| self.device.output(y.clone()));
        let turns = self.submit_all()?;
        let run = self.device.finish()?;
        Ok((run, self.passes, turns))
    }
}

/// Counts the values that are left in a source; more than `usize` holds are `usize::MAX`.
pub(crate) fn count<T>(source: &dyn ValueSource<T>) -> usize {
    usize::try_from(source.count()).unwrap_or(usize::MAX)
}
