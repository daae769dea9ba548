//! One job on one device: arrays, programs, and the passes that page the
//! arrays through the programs. Every kernel of the library runs through it.

mod arrays;
mod floor;
mod memory;
mod pass;
mod prepared;
mod sweep;

pub(crate) use arrays::{Stored, expected as relayout_expected, relayout_cycles, rows};
pub(crate) use floor::Floor;
pub use memory::room;
pub(crate) use memory::{ROOM_BESIDE, data_end, image, load, loads};
pub use pass::Pass;
use pass::Work;
pub use prepared::PreparedJob;

use crate::ring::{RingPass, follow};
use cp2_asm::Program;
use cp2_dma::Descriptor;
use cp2_host::emit::Array;
use cp2_host::{
    Buffer, Device, Element, Event, HostError, Limits, Options, Paging, Placed, Plan, PlanError,
    Run, Views,
};
use cp2_machine::Machine;
use cp2_reference::Figures;
use std::sync::Arc;

/// Why a job cannot be carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A pass cannot be paged on the machine.
    #[error(transparent)]
    Paging(#[from] PlanError),
    /// A sweep cannot be cut into pages on the machine.
    #[error(transparent)]
    Sweep(#[from] cp2_host::nest::NestError),
    /// The device refused a command.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The kernel that puts an array into another layout does not run on the machine.
    #[error(transparent)]
    Unfit(#[from] crate::Unfit),
    /// The same for want of registers.
    #[error(transparent)]
    Unschedulable(#[from] crate::Unschedulable),
}

/// A job being put together: arrays in system memory, programs, and passes
/// over the arrays, carried out in the order in which they were given.
///
/// ```
/// use cp2_asm::{Source, assemble};
/// use cp2_host::{Options, Paging, Stream};
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
/// let mut job = Job::new(vm7.clone(), Options::default());
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
    /// Arrays that lie elsewhere than passes name them.
    pub(crate) views: Views,
    /// Address and bytes of the first input of the user.
    first: Option<(u64, u64)>,
}

impl Job {
    /// A job on a device with options.
    #[must_use]
    pub fn new(machine: Arc<Machine>, options: Options) -> Self {
        Self {
            device: Device::with_options(machine, options),
            passes: Vec::new(),
            views: Views::default(),
            first: None,
        }
    }

    /// An array of the user, as it lies in system memory when time begins; of the shape, the last index fastest.
    /// A recording of the run calls it `name`.
    ///
    /// What the host works out of lengths and taps alone is a [`Job::table`].
    ///
    /// # Errors
    /// System memory is used up.
    pub fn input<T: Element>(
        &mut self,
        name: &str,
        values: &[T],
        shape: &[u64],
    ) -> Result<Buffer<T>, JobError> {
        let buffer = self.device.alloc_from(values)?;
        let array = Array::new(name, buffer, shape);
        self.first.get_or_insert((array.address, array.bytes));
        self.device.input(array);
        Ok(buffer)
    }

    /// What the host prepares before time begins, from lengths, taps and the like: never from a user's array.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn table<T: Element>(&mut self, values: &[T]) -> Result<Buffer<T>, JobError> {
        Ok(self.device.alloc_from(values)?)
    }

    /// Room for a result of the shape, and what a recording of the run calls it.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn output<T: Element>(&mut self, name: &str, shape: &[u64]) -> Result<Buffer<T>, JobError> {
        let values = shape.iter().fold(1u64, |n, &d| n.saturating_mul(d));
        let buffer = self.device.alloc(values)?;
        self.device.output(Array::new(name, buffer, shape));
        Ok(buffer)
    }

    /// Room for what one pass leaves for another.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn temporary<T: Element>(&mut self, len: u64) -> Result<Buffer<T>, JobError> {
        Ok(self.device.alloc(len)?)
    }

    /// A program that passes can run; `name` is its name on the timeline.
    ///
    /// # Errors
    /// It does not run on the machine or does not fit its memories.
    pub fn program(&mut self, name: &str, program: &Arc<Program>) -> Result<Placed, JobError> {
        Ok(self.device.place(name, program.clone())?)
    }

    /// Pages arrays through a program, launched at word `entry`. The DMEM of
    /// the program's data is reserved. Everything that earlier passes store is
    /// there for this one to load.
    ///
    /// # Errors
    /// The pass breaks a rule of the scheduler or does not fit.
    pub fn pass(
        &mut self,
        program: &Placed,
        entry: u32,
        mut paging: Paging,
    ) -> Result<(), JobError> {
        paging.reserved.extend(program.reserved());
        paging.views = self.views.clone();
        let plan = Plan::new(paging, self.device.machine())?;
        // While it costs nothing: time has not begun.
        let arguments = self.device.page_arguments(&plan)?;
        self.passes.push(Pass {
            placed: program.clone(),
            entry,
            name: program.name.clone(),
            work: Work::Paged(Box::new(plan), arguments),
            part: None,
            views: self.views.clone(),
            limits: Limits::of(self.device.machine()),
            relayout: false,
        });
        Ok(())
    }

    /// Moves pages around a ring of buffers, which have their places in DMEM
    /// beside the program's data, while the kernel at the label `entry` runs.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn ring(
        &mut self,
        program: &Placed,
        entry: &str,
        ring: RingPass,
    ) -> Result<(), JobError> {
        self.push(program, entry, ring, None)
    }

    /// Two such passes by the two kernels of a program: the second's words, from `second[0]` on, and its data, from
    /// `second[1]` on in DMEM, come while the first runs.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn followed(
        &mut self,
        program: &Placed,
        entries: [&str; 2],
        [mut first, mut next]: [RingPass; 2],
        second: [u64; 2],
    ) -> Result<(), JobError> {
        let [own, rest] = program.split(second[0], second[1]);
        let part = follow(&mut first, &mut next, &rest, self.machine()).then_some(own);
        self.push(program, entries[0], first, part)?;
        self.push(program, entries[1], next, None)
    }

    /// The same of three passes by three kernels.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn in_turn(
        &mut self,
        program: &Placed,
        [first, second, third]: [(&str, RingPass); 3],
        places: [[u64; 2]; 2],
    ) -> Result<(), JobError> {
        let [[word, data], [last_word, last_data]] = places;
        let [mut part, rest] = program.split(word, data);
        let [next, last] = Placed::cut(&rest, last_word, last_data);
        let [(first, mut a), (second, mut b), (third, mut c)] = [first, second, third];
        // What does not come meanwhile comes before.
        if !follow(&mut a, &mut b, &next, self.machine()) {
            part.extend(next);
        }
        if !follow(&mut b, &mut c, &last, self.machine()) {
            part.extend(last);
        }
        self.push(program, first, a, Some(part))?;
        self.push(program, second, b, None)?;
        self.push(program, third, c, None)
    }

    /// The same of a kernel that computes nothing, but puts an array into another layout.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn relayout(
        &mut self,
        program: &Placed,
        entry: &str,
        ring: RingPass,
    ) -> Result<(), JobError> {
        self.push(program, entry, ring, None)?;
        if let Some(pass) = self.passes.last_mut() {
            pass.relayout = true;
            pass.name.clone_from(&program.name);
        }
        Ok(())
    }

    fn push(
        &mut self,
        program: &Placed,
        entry: &str,
        ring: RingPass,
        part: Option<Vec<Descriptor>>,
    ) -> Result<(), JobError> {
        let ring = ring.protected(&program.reserved());
        let arguments = ring.place(&mut self.device)?;
        let at = program.program.symbol(entry);
        self.passes.push(Pass {
            placed: program.clone(),
            entry: at.and_then(|at| u32::try_from(at).ok()).unwrap_or(0),
            name: entry.to_owned(),
            work: Work::Ring(Box::new(ring), arguments),
            part,
            views: self.views.clone(),
            limits: Limits::of(self.device.machine()),
            relayout: false,
        });
        Ok(())
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &Arc<Machine> {
        self.device.machine()
    }

    /// The passes so far.
    #[must_use]
    pub fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// Gives the commands of all passes.
    fn give(&mut self) -> Result<(), JobError> {
        let device = &mut self.device;
        let mut after: Vec<Event> = Vec::new();
        let mut loaded: Option<u64> = None;
        for (index, pass) in self.passes.iter().enumerate() {
            // The program that is there need not be loaded again.
            if loaded != Some(pass.placed.image) {
                after.push(match &pass.part {
                    Some(part) => device.load_part(&pass.placed.name, part, &after)?,
                    None => device.load(&pass.placed, &after)?,
                });
                loaded = Some(pass.placed.image);
            }
            after = pass.give(device, &after, self.passes.get(index + 1))?;
        }
        Ok(())
    }

    /// Makes the job one that is carried out again and again: `output` is what it
    /// gives, its first input what it is given.
    #[must_use]
    pub fn prepare<O: Element>(self, output: Buffer<O>) -> PreparedJob<O> {
        PreparedJob { job: self, output }
    }

    /// Carries the passes out. `figures` say what any program and the best known one take for the problem; `read` fetches the output of a run that finished.
    ///
    /// # Errors
    /// The device refuses a command, or `read` fails. A run that does not
    /// finish is no error: it has no output and a report that says why.
    pub fn run<O>(
        mut self,
        figures: Figures,
        read: impl FnOnce(&Run) -> Result<O, HostError>,
    ) -> Result<KernelRun<O>, JobError> {
        self.give()?;
        let run = self.device.finish()?;
        let output = if run.report.end.is_finished() {
            Some(read(&run)?)
        } else {
            None
        };
        Ok(KernelRun {
            output,
            passes: self.passes,
            figures,
            run,
        })
    }
}

/// A job that has been run.
#[derive(Debug)]
pub struct KernelRun<O> {
    /// The result; none if the run did not finish.
    pub output: Option<O>,
    /// How each pass was paged.
    pub passes: Vec<Pass>,
    /// The proved limit of its time and that of the best known algorithm.
    pub figures: Figures,
    /// What was measured; its report has cycles and causes.
    pub run: Run,
}

impl<O> KernelRun<O> {
    /// Reference / measured cycles of the whole run, everything included.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        self.figures.efficiency(self.run.report.cycles)
    }
}
