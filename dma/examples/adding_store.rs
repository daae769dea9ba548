//! A DMA mode of one's own: a store that adds to what system memory holds.
//!
//! `cargo run -p cp2-dma --example adding_store`
//!
//! CONTRIBUTING.md walks through it. A mode is a type that implements `Transfer`: its runs say what moves
//! where, `combine` what becomes of the destination. Rules, time and copy follow.

use cp2_dma::{
    AccessError, Combine, Descriptor, Direction, LocalMemory, Run, SystemMemory, Target, Transfer,
    copy, transfer_time, validate,
};
use cp2_machine::Machine;

/// A strided store whose numbers are added to those at their places.
#[derive(Clone, Debug)]
struct AddingStore(Descriptor);

impl Transfer for AddingStore {
    fn direction(&self) -> Direction {
        self.0.direction
    }

    fn event(&self) -> Option<u32> {
        self.0.event
    }

    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run> {
        self.0.runs(machine)
    }

    fn combine(&self) -> Combine {
        Combine::Add
    }
}

/// System memory as an array.
struct Array(Vec<u8>);

impl SystemMemory for Array {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        let at = address as usize;
        out.copy_from_slice(&self.0[at..at + out.len()]);
        Ok(())
    }

    fn write(&mut self, address: u64, data: &[u8]) -> Result<(), AccessError> {
        let at = address as usize;
        self.0[at..at + data.len()].copy_from_slice(data);
        Ok(())
    }
}

/// DMEM that holds the number of its section everywhere.
struct Numbered;

impl LocalMemory for Numbered {
    fn read(&self, section: u32, _: u32, out: &mut [u8]) -> Result<(), AccessError> {
        let number = (section as f32).to_le_bytes();
        out.as_chunks_mut().0.fill(number);
        Ok(())
    }

    fn write(&mut self, _: u32, _: u32, _: &[u8]) -> Result<(), AccessError> {
        Ok(())
    }

    fn write_program(&mut self, _: u32, _: &[u8]) -> Result<(), AccessError> {
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let vm7 = Machine::load("vm7")?;
    // The blocks of all sections have one place: their sum is left there.
    let blocks = Descriptor::store(Target::Blocks { stride: 0 }, 0, 0, 64);
    let sum = AddingStore(blocks.clone());
    validate(&sum, &vm7)?;
    let mut memory = Array(0.5f32.to_le_bytes().repeat(32));
    copy(&sum, &vm7, &mut Numbered, &mut memory)?;
    let (numbers, _) = memory.0.as_chunks();
    let numbers: Vec<f32> = numbers.iter().map(|n| f32::from_le_bytes(*n)).collect();
    assert_eq!(numbers[..16], [0.5 + 0.0 + 1.0 + 2.0 + 3.0; 16]);
    assert_eq!(numbers[16..], [0.5; 16]);
    // Nothing was said of time, so it is that of the runs.
    assert_eq!(transfer_time(&sum, &vm7), transfer_time(&blocks, &vm7));
    println!("sum of the sections: {}", numbers[0]);
    Ok(())
}
