//! Core and system memory as the DMA sees them.

use crate::check::Checker;
use crate::engine::Cp2;
use crate::memory;
use cp2_dma::{AccessError, LocalMemory, Spread, SystemMemory};

/// The coprocessor's memories; tells the checkers what is written.
pub(crate) struct Local<'a> {
    pub cp2: &'a mut Cp2,
    pub checker: Option<&'a mut Checker>,
}

fn refused(address: u64, bytes: usize, error: impl std::fmt::Display) -> AccessError {
    AccessError {
        address,
        bytes: bytes as u64,
        reason: error.to_string(),
    }
}

impl LocalMemory for Local<'_> {
    fn read(&self, section: u32, address: u32, out: &mut [u8]) -> Result<(), AccessError> {
        let bytes = out.len();
        self.cp2
            .core
            .read_dmem(section as usize, address, out)
            .map_err(|e| refused(u64::from(address), bytes, e))
    }

    fn write(&mut self, section: u32, address: u32, bytes: &[u8]) -> Result<(), AccessError> {
        let core = &mut self.cp2.core;
        core.write_dmem(section as usize, address, bytes)
            .map_err(|e| refused(u64::from(address), bytes.len(), e))?;
        if let Some(checker) = &mut self.checker {
            checker.dmem_written(section as usize, address, bytes.len() as u32);
        }
        Ok(())
    }

    fn read_each(
        &self,
        address: u32,
        bytes: usize,
        spread: Spread,
        out: &mut [u8],
    ) -> Result<(), AccessError> {
        self.cp2
            .core
            .read_each(address, bytes, spread, out)
            .map_err(|e| refused(address.into(), bytes, e))
    }

    fn write_each(
        &mut self,
        address: u32,
        bytes: usize,
        spread: Spread,
        data: &[u8],
    ) -> Result<(), AccessError> {
        let core = &mut self.cp2.core;
        core.write_each(address, bytes, spread, data)
            .map_err(|e| refused(address.into(), bytes, e))?;
        if let Some(checker) = &mut self.checker {
            for section in 0..spread.sections as usize {
                checker.dmem_written(section, address, bytes as u32);
            }
        }
        Ok(())
    }

    fn write_program(&mut self, address: u32, bytes: &[u8]) -> Result<(), AccessError> {
        self.cp2.program_changed();
        let core = &mut self.cp2.core;
        core.write_program(address, bytes)
            .map_err(|e| refused(u64::from(address), bytes.len(), e))
    }
}

impl SystemMemory for memory::SystemMemory {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let bytes = out.len();
        self.read(address, out)
            .map_err(|e| refused(address, bytes, e))
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), AccessError> {
        self.write(address, bytes)
            .map_err(|e| refused(address, bytes.len(), e))
    }
}
