//! Passes whose pages are data.

use super::{Job, JobError, PassPaging};
use cp2_host::emit::EmittedArray;
use cp2_host::nest::{GridPass, GridPlan, Reads};
use cp2_host::paging::KernelEntryPoint;
use cp2_host::{BlocksPerSection, Buffer, PlacedProgram};

impl Job {
    /// An array of the user whose elements are known by name only, as it lies in system memory when time begins.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn bytes_in(
        &mut self,
        name: &str,
        bytes: &[u8],
        (element, shape): (&str, &[u64]),
    ) -> Result<Buffer<u8>, JobError> {
        let buffer = self.room_for(name, bytes.len() as u64)?;
        self.device.write(buffer, bytes)?;
        self.inputs.push(described(name, buffer, (element, shape)));
        Ok(buffer)
    }

    /// Room for a result of so many bytes whose elements are known by name only.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn bytes_out(
        &mut self,
        name: &str,
        bytes: u64,
        (element, shape): (&str, &[u64]),
    ) -> Result<Buffer<u8>, JobError> {
        let buffer = self.room_for(name, bytes)?;
        self.outputs.push(described(name, buffer, (element, shape)));
        Ok(buffer)
    }

    /// Sends arrays through a program block by block, launched at word `entry`. The DMEM of the program's data is reserved.
    ///
    /// # Errors
    /// The sweep breaks a rule of the scheduler or does not fit.
    pub fn sweep(
        &mut self,
        program: &PlacedProgram,
        entry: u32,
        mut sweep: GridPass,
    ) -> Result<(), JobError> {
        sweep.reserved.extend(program.reserved());
        sweep.reads = Reads::from_program(&program.program);
        let nest = self.nest(sweep, &KernelEntryPoint::new(&program.program, entry))?;
        let arguments = self.device.nest_arguments(&nest)?;
        let work = PassPaging::Nest(Box::new(nest), arguments);
        self.add(self.pass_of(program, (entry, &program.name), work));
        Ok(())
    }
}

impl Job {
    /// The pages of a sweep: chosen for a kernel as fast as the DMA, and, where its cycles for such pages can be counted, by these.
    fn nest(&self, sweep: GridPass, kernel: &KernelEntryPoint) -> Result<GridPlan, JobError> {
        let machine = self.machine();
        let nest = GridPlan::new(sweep.clone(), machine)?;
        let most = nest.kinds().iter().map(|kind| kind.blocks).max();
        let half = GridPass {
            size: BlocksPerSection::Fixed((most.unwrap_or(1) / 2).max(1)),
            ..sweep.clone()
        };
        let Ok(half) = GridPlan::new(half, machine) else {
            return Ok(nest);
        };
        match kernel.nest_cycles([&half, &nest], machine) {
            Ok(cycles) => Ok(GridPlan::new(
                GridPass {
                    cycles: Some(cycles),
                    ..sweep
                },
                machine,
            )?),
            // What data decide cannot be foreseen.
            Err(_) => Ok(nest),
        }
    }
}

fn described(name: &str, buffer: Buffer<u8>, (element, shape): (&str, &[u64])) -> EmittedArray {
    EmittedArray {
        element: element.to_owned(),
        shape: shape.to_vec(),
        ..EmittedArray::new(name, buffer, &[buffer.bytes()])
    }
}
