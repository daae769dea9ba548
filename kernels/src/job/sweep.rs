//! Passes whose pages are data.

use super::{Job, JobError, Pass, Work};
use cp2_host::emit::Array;
use cp2_host::nest::{Nest, Reads, Sweep};
use cp2_host::{Buffer, Limits, Placed};

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
        let buffer = self.device.alloc_from(bytes)?;
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
        let buffer = self.device.alloc(bytes)?;
        self.outputs.push(described(name, buffer, (element, shape)));
        Ok(buffer)
    }

    /// Sends arrays through a program block by block, launched at word `entry`. The DMEM of the program's data is reserved.
    ///
    /// # Errors
    /// The sweep breaks a rule of the scheduler or does not fit.
    pub fn sweep(
        &mut self,
        program: &Placed,
        entry: u32,
        mut sweep: Sweep,
    ) -> Result<(), JobError> {
        sweep.reserved.extend(program.reserved());
        sweep.reads = Reads::of(&program.program);
        let nest = Nest::new(sweep, self.device.machine())?;
        let arguments = self.device.nest_arguments(&nest)?;
        self.add(Pass {
            placed: program.clone(),
            entry,
            name: program.name.clone(),
            work: Work::Nest(Box::new(nest), arguments),
            fills: Vec::new(),
            part: None,
            views: self.views.clone(),
            limits: Limits::of(self.device.machine()),
            relayout: false,
        });
        Ok(())
    }
}

fn described(name: &str, buffer: Buffer<u8>, (element, shape): (&str, &[u64])) -> Array {
    Array {
        element: element.to_owned(),
        shape: shape.to_vec(),
        ..Array::new(name, buffer, &[buffer.bytes()])
    }
}
