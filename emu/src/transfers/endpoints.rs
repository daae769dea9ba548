//! Core and system memory as the endpoints of DMA transfers.

use crate::check::Checker;
use crate::engines::reference::Coprocessor;
use crate::memory;
use cp2_dma::{AccessError, LocalMemory, Sweep, SystemMemory, Transfer};
use cp2_machine::Machine;

/// The coprocessor's memories; writes are reported to the checkers.
pub(crate) struct TransferEndpoints<'a> {
    pub cp2: &'a mut Coprocessor,
    pub checker: Option<&'a mut Checker>,
}

fn make_access_error(address: u64, bytes: usize, error: impl std::fmt::Display) -> AccessError {
    AccessError {
        address,
        bytes: bytes as u64,
        reason: error.to_string(),
    }
}

impl LocalMemory for TransferEndpoints<'_> {
    fn read(&self, section: u32, address: u32, out: &mut [u8]) -> Result<(), AccessError> {
        let bytes = out.len();
        self.cp2
            .core
            .read_dmem(section as usize, address, out)
            .map_err(|e| make_access_error(u64::from(address), bytes, e))
    }

    fn write(&mut self, section: u32, address: u32, bytes: &[u8]) -> Result<(), AccessError> {
        let core = &mut self.cp2.core;
        core.write_dmem(section as usize, address, bytes)
            .map_err(|e| make_access_error(u64::from(address), bytes.len(), e))?;
        if let Some(checker) = &mut self.checker {
            checker.dmem_written(section as usize, address, bytes.len() as u32);
        }
        Ok(())
    }

    fn write_all(&mut self, address: u32, bytes: &[u8]) -> bool {
        self.checker.is_none() && self.cp2.core.broadcast(address, bytes)
    }

    fn load_sweep(&mut self, sweep: &Sweep, span: &[u8]) -> bool {
        // Checkers must be told of every run.
        self.checker.is_none() && self.cp2.core.load_sweep(sweep, span)
    }

    fn store_sweep(&self, sweep: &Sweep, span: &mut [u8]) -> bool {
        self.cp2.core.store_sweep(sweep, span)
    }

    fn write_program(&mut self, address: u32, bytes: &[u8]) -> Result<(), AccessError> {
        self.cp2.program_changed();
        let core = &mut self.cp2.core;
        core.write_program(address, bytes)
            .map_err(|e| make_access_error(u64::from(address), bytes.len(), e))
    }
}

impl SystemMemory for memory::SystemRam {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let bytes = out.len();
        self.read(address, out)
            .map_err(|e| make_access_error(address, bytes, e))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessError> {
        self.write(address, bytes)
            .map_err(|e| make_access_error(address, bytes.len(), e))
    }

    fn span(&self, address: u64, bytes: u64) -> Option<&[u8]> {
        self.span(address, bytes)
    }

    fn span_mut(&mut self, address: u64, bytes: u64) -> Option<&mut [u8]> {
        self.span_mut(address, bytes)
    }

    fn store_buffer(&mut self, transfer: &impl Transfer, machine: &Machine) -> Option<&mut [u8]> {
        self.copy_on_write_mut()?.transfer(transfer, machine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_dma::{Descriptor, Direction, Level, Target, copy, validate};
    use cp2_machine::{Bytes, Machine};
    use proptest::prelude::*;

    /// Core memory without any bulk operation: transfers go run by run, section by section.
    struct Runs<'a>(TransferEndpoints<'a>);

    impl LocalMemory for Runs<'_> {
        fn read(&self, section: u32, address: u32, out: &mut [u8]) -> Result<(), AccessError> {
            self.0.read(section, address, out)
        }

        fn write(&mut self, section: u32, address: u32, data: &[u8]) -> Result<(), AccessError> {
            self.0.write(section, address, data)
        }

        fn write_program(&mut self, address: u32, data: &[u8]) -> Result<(), AccessError> {
            self.0.write_program(address, data)
        }
    }

    fn machine(sections: usize) -> Machine {
        let mut machine = Machine::builtin("vm7").unwrap();
        machine.cp2.sections = sections;
        machine.cp2.dmem = Bytes(1024);
        machine.host.memory = Bytes(8192);
        machine
    }

    fn descriptor() -> impl Strategy<Value = Descriptor> {
        let strides = (-20i64..=40, -3i64..=8);
        let levels = prop::collection::vec((1u32..=4, strides), 0..=2);
        let target = prop_oneof![
            (-40i64..=60).prop_map(|n| Target::Blocks { stride: 16 * n }),
            Just(Target::Deal),
            Just(Target::Broadcast),
        ];
        (
            any::<bool>(),
            target,
            0u64..400,
            0u32..60,
            1u64..=12,
            levels,
        )
            .prop_map(|(store, target, system, local, run, levels)| Descriptor {
                direction: if store {
                    Direction::Store
                } else {
                    Direction::Load
                },
                target,
                system: 16 * system,
                local: 16 * local,
                run: 16 * run,
                levels: levels
                    .into_iter()
                    .map(|(count, (system, local))| Level {
                        count,
                        system_stride: 16 * system,
                        local_stride: 16 * local,
                    })
                    .collect(),
                event: None,
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn a_transfer_at_once_is_its_runs_one_after_the_other(
            sections in 3usize..=4, d in descriptor(), seed in any::<u32>(),
        ) {
            let machine = machine(sections);
            prop_assume!(validate(&d, &machine).is_ok());
            let mut cp2 = [Coprocessor::new(&machine), Coprocessor::new(&machine)];
            let mut state = seed;
            let mut noise = |n: usize| -> Vec<u8> {
                let next = || {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                };
                std::iter::repeat_with(next).take(n).collect()
            };
            for s in 0..sections {
                let bytes = noise(1024);
                cp2.iter_mut().for_each(|cp2| cp2.core.write_dmem(s, 0, &bytes).unwrap());
            }
            let mut memory = memory::SystemRam::new(8192);
            memory.write(0, &noise(8192)).unwrap();
            let mut apart = memory.clone();
            let [one, other] = &mut cp2;
            copy(&d, &machine, &mut TransferEndpoints { cp2: one, checker: None }, &mut memory).unwrap();
            let other_local = TransferEndpoints { cp2: other, checker: None };
            copy(&d, &machine, &mut Runs(other_local), &mut apart).unwrap();
            prop_assert_eq!(&memory, &apart);
            prop_assert_eq!(&one.core, &other.core);
        }
    }
}
