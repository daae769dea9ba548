//! Passes that sweep arrays block by block, and arrays of named element types.

use super::{Job, JobError, PassPaging};
use cp2_host::emit::EmittedArray;
use cp2_host::nest::{GridPass, Reads, SharedNest};
use cp2_host::paging::KernelEntryPoint;
use cp2_host::{Buffer, PlacedProgram};

impl Job {
    /// Adds an array of the user whose element type is known by its name only.
    ///
    /// The array lies in system memory when time begins.
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

    /// Allocates a result of so many bytes whose element type is known by its name only.
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

    /// Adds a pass that sends arrays through a program block by block, launched at word `entry`.
    ///
    /// The DMEM of the program's data is reserved.
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
        let kernel = KernelEntryPoint::new(&program.program, entry);
        let nest = SharedNest::plan(sweep, &kernel, self.machine())?;
        let arguments = self.device.nest_arguments(&nest)?;
        let work = PassPaging::Nest(nest, arguments);
        self.add(self.pass_of(program, (entry, &program.name), work));
        Ok(())
    }
}

/// Describes an array of bytes by the name of its element type and its shape.
fn described(name: &str, buffer: Buffer<u8>, (element, shape): (&str, &[u64])) -> EmittedArray {
    EmittedArray {
        element: element.to_owned(),
        shape: shape.to_vec(),
        ..EmittedArray::new(name, buffer, &[buffer.bytes()])
    }
}
