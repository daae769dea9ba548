//! Workloads that only keep CP2 busy: control flow, and butterflies.

use super::{BenchError, BenchSample, Resident, Workload};
use cp2_asm::{Options, Source, assemble};
use cp2_host::{Device, HostError};
use cp2_machine::Machine;
use std::sync::Arc;

/// Branches, calls and scalar arithmetic: the iteration `n -> n / 2` or `3 n + 1` until n is 1.
///
/// Its branch is hard to predict; in every step a sum that grows by 7 is stored into a circular buffer.
const CONTROL: &str = "
.program
        movi a0, 4096
        movi s0, 8
        movi b0, 4096
        movi l0, 1024
        movi c9, 1
        movi c8, 27                 ; where the steps begin
        loop 400 {
        mov  c0, c8
step:   and  c1, c0, c9
        bz   c1, even
        call odd
        jmp  next
even:   shr  c0, c0, 1
next:   lii  r0, 7 || addi c2, c0, -1
        iadd r1, r1, r0 || stp r1, [a0]+s0%
        bnz  c2, step
        addi c8, c8, 2
        }
        stop
odd:    add  c3, c0, c0
        add  c0, c0, c3
        addi c0, c0, 1
        ret
";

/// A butterfly in every word, each issued with a quad load or store.
const BUTTERFLIES: &str = "
.program
        movi a0, 8192
        movi a1, 16384
        .rept 8, i
        ldq  q{16 + i}, [a0 + 16 * i]
        .endr
        loop 2000 {
        .rept 16, i
        bfly r{4 * i % 32}, r{4 * i % 32 + 1}, r{32 + i}, r{32 + (i + 5) % 16}, r{32 + (i + 11) % 16} || ldq q{24 + i % 8}, [a0 + 16 * i]
        bfly r{4 * i % 32 + 2}, r{4 * i % 32 + 3}, r{32 + i}, r{32 + (i + 3) % 16}, r{32 + (i + 7) % 16} || stq q{(2 * i + 8) % 16}, [a1 + 16 * i]
        .endr
        }
        stop
";

/// A workload that runs a program without input again and again: the resident kernel and its name.
pub(super) struct Endless(Resident, &'static str);

impl Endless {
    /// Creates the workload of branches, calls and scalar arithmetic.
    pub(super) fn control(
        machine: &Arc<Machine>,
        device: &cp2_host::DeviceOptions,
    ) -> Result<Self, BenchError> {
        Self::new(machine, device, "control", CONTROL)
    }

    /// Creates the workload of butterflies at peak rate.
    pub(super) fn butterflies(
        machine: &Arc<Machine>,
        device: &cp2_host::DeviceOptions,
    ) -> Result<Self, BenchError> {
        Self::new(machine, device, "butterfly-peak", BUTTERFLIES)
    }

    /// Assembles a program and loads it into a processor.
    fn new(
        machine: &Arc<Machine>,
        device: &cp2_host::DeviceOptions,
        name: &'static str,
        text: &'static str,
    ) -> Result<Self, BenchError> {
        let options = Options {
            machine: Some(machine),
            ..Options::default()
        };
        let program = assemble(&Source::new(format!("{name}.s"), text), &options)?.program;
        let entry = program.entry.into();
        let loaded = || -> Result<_, HostError> {
            let mut device = Device::with_options(machine.clone(), device.clone());
            let placed = device.place(name, Arc::new(program))?;
            device.load(&placed, &[])?;
            device.finish()
        };
        let run = loaded().map_err(crate::job::JobError::from)?;
        let resident = Resident::new(name, run.processor().clone(), entry, 0);
        Ok(Self(resident, name))
    }
}

impl Workload for Endless {
    fn name(&self) -> String {
        self.1.to_owned()
    }

    fn run(&mut self) -> Result<BenchSample, BenchError> {
        self.0.run()
    }
}
