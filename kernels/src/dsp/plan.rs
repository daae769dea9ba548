//! What the plans of this folder share: arrays in, a pass, an array out.

use super::error::DspError;
use super::kernel::Kernel;
use crate::job::{Job, room};
use cp2_host::{Buffer, Element, Options, Paging};
use cp2_machine::Machine;
use std::sync::Arc;

/// Numbers of 4 bytes in a granule of the DMA and in a quad.
pub(super) const QUAD: usize = 4;

/// Refuses arrays that system memory cannot hold, before they are made.
pub(super) fn fits(bytes: u128, kernel: &Kernel, machine: &Machine) -> Result<(), DspError> {
    let most = room(machine, &kernel.program);
    if bytes <= u128::from(most) {
        return Ok(());
    }
    Err(DspError::OutOfMemory {
        bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        most,
        machine: machine.name.clone(),
    })
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

/// A job of one pass: `inputs` are paged through `kernel` into an output of
/// the given shape by the paging that `paging` makes of their addresses.
pub(super) fn one_pass<I: Element, O: Element>(
    kernel: &Kernel,
    name: &str,
    machine: &Arc<Machine>,
    options: Options,
    inputs: &[Vec<I>],
    output: &[u64],
    paging: impl FnOnce(&[u64], u64) -> Paging,
) -> Result<(Job, Buffer<O>), DspError> {
    let mut job = Job::new(machine.clone(), options);
    let mut addresses = Vec::new();
    for values in inputs {
        addresses.push(job.input(values)?.address());
    }
    let y = job.output::<O>("y", output)?;
    let program = job.program(name, &kernel.program)?;
    job.pass(
        &program,
        kernel.program.entry.into(),
        paging(&addresses, y.address()),
    )?;
    Ok((job, y))
}
