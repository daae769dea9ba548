//! Programs in system memory and their loads; the end of a run.

use super::Device;
use super::command::{Command, Event, HostAction};
use super::engine::DeviceEngine;
use super::error::HostError;
use super::memory::{Buffer, MemoryElement, from_bytes};
use super::report::{RunEnd, RunReport};
use crate::emit::Recording;
use crate::schedule::Reserved;
use cp2_asm::Program;
use cp2_dma::{Descriptor, Movement, Target};
use cp2_emu::Processor;
use cp2_machine::Machine;
use std::sync::Arc;

/// A program whose words and data lie in system memory, ready to be loaded.
#[derive(Clone, Debug)]
pub struct PlacedProgram {
    /// The program.
    pub program: Arc<Program>,
    /// Name on the timeline.
    pub name: String,
    /// Address of its image in system memory.
    pub image: u64,
    /// Size of the image.
    pub bytes: u64,
    pub(crate) loads: Vec<Descriptor>,
}

impl PlacedProgram {
    /// Returns the transfers that load the program.
    #[must_use]
    pub fn loads(&self) -> &[Descriptor] {
        &self.loads
    }

    /// Returns the transfers that load the words before word address `word` and the data before DMEM address
    /// `data`, and those that load the rest. Of a program of two kernels, the second can thus be loaded while
    /// the first runs. `word` is a multiple of the words of a granule, and `data` of its bytes.
    #[must_use]
    pub fn split(&self, word: u64, data: u64) -> [Vec<Descriptor>; 2] {
        Self::cut(&self.loads, word, data)
    }

    /// Splits `loads` at word address `word` and DMEM address `data`, as [`PlacedProgram::split`] does.
    #[must_use]
    pub fn cut(loads: &[Descriptor], word: u64, data: u64) -> [Vec<Descriptor>; 2] {
        let mut parts = [Vec::new(), Vec::new()];
        for load in loads {
            let cut = match load.target {
                Target::Program => word.saturating_mul(8),
                _ => data,
            };
            let own = cut.saturating_sub(load.local.into()).min(load.run);
            for (part, from, bytes) in [(0, 0, own), (1, own, load.run - own)] {
                if bytes > 0 {
                    // The part lies inside the load, whose addresses are u32.
                    let local = load.local + from as u32;
                    let part: &mut Vec<_> = &mut parts[part];
                    part.push(Descriptor::load(
                        load.target,
                        load.system + from,
                        local,
                        bytes,
                    ));
                }
            }
        }
        parts
    }

    /// Returns the DMEM that the program's data takes, for the scheduler.
    #[must_use]
    pub fn reserved(&self) -> Vec<Reserved> {
        let name = format!("data of {}", self.name);
        self.loads
            .iter()
            .filter(|d| d.target == Target::Broadcast)
            .map(|d| Reserved {
                name: name.clone(),
                address: d.local.into(),
                bytes: d.run,
            })
            .collect()
    }
}

/// A segment that a load moves: target, local address, contents in whole granules.
pub(crate) type LoadSegment = (Target, u64, Vec<u8>);

/// Returns the words and the data of `program` as segments to load; every stretch of data is extended to
/// whole granules with zeros.
pub(crate) fn parts(program: &Program, machine: &Machine) -> Result<Vec<LoadSegment>, HostError> {
    let limit = machine.cp2.program.0 / 8;
    if program.words.len() as u64 > limit {
        return Err(HostError::ProgramTooLarge {
            words: program.words.len(),
            limit,
        });
    }
    if program.words.is_empty() {
        return Err(HostError::EmptyProgram);
    }
    program.check_machine(machine).map_err(Box::new)?;
    let granule = machine.dma.granule.0.max(1);
    let mut words: Vec<u8> = program.words.iter().flat_map(|w| w.to_le_bytes()).collect();
    words.resize(words.len().next_multiple_of(granule as usize), 0);
    let mut data: Vec<(u64, Vec<u8>)> = Vec::new();
    for segment in program.dmem.iter().filter(|s| !s.bytes.is_empty()) {
        let (address, bytes) = (u64::from(segment.address), segment.bytes.len() as u64);
        let start = address / granule * granule;
        let end = (address + bytes).next_multiple_of(granule);
        if end > machine.cp2.dmem.0 {
            return Err(HostError::DataOutside {
                address: segment.address,
                bytes,
                dmem: machine.cp2.dmem.0,
            });
        }
        // Segments are ascending: one that touches the stretch before joins it.
        let joins = data
            .last()
            .is_some_and(|(base, part)| base + part.len() as u64 >= start);
        if !joins {
            data.push((start, Vec::new()));
        }
        if let Some((base, part)) = data.last_mut() {
            let from = (address - *base) as usize;
            part.resize(part.len().max((end - *base) as usize), 0);
            part[from..from + segment.bytes.len()].copy_from_slice(&segment.bytes);
        }
    }
    let data = data
        .into_iter()
        .map(|(address, bytes)| (Target::Broadcast, address, bytes));
    Ok(std::iter::once((Target::Program, 0, words))
        .chain(data)
        .collect())
}

impl Device {
    /// Writes a program and its data to system memory, before simulated time
    /// begins. [`Device::load`] then brings it to CP2.
    ///
    /// # Errors
    /// The program does not run on the machine or does not fit, system memory
    /// is used up, or simulated time has begun.
    pub fn place(&mut self, name: &str, program: Arc<Program>) -> Result<PlacedProgram, HostError> {
        let parts = parts(&program, &self.machine)?;
        let bytes = parts.iter().map(|p| p.2.len() as u64).sum();
        let image = self.memory.take(bytes, 1)?;
        self.place_at(name, program, image, parts)
    }

    /// Writes a program to system memory at a known address; used to rebuild a recorded memory.
    pub(crate) fn place_at(
        &mut self,
        name: &str,
        program: Arc<Program>,
        image: u64,
        parts: Vec<LoadSegment>,
    ) -> Result<PlacedProgram, HostError> {
        let mut loads = Vec::new();
        let mut at = image;
        for (target, local, bytes) in parts {
            self.write_bytes(at, &bytes)?;
            if !bytes.is_empty() {
                // The segment lies inside program memory or DMEM, whose addresses are u32.
                let local = u32::try_from(local).unwrap_or(u32::MAX);
                loads.push(Descriptor::load(target, at, local, bytes.len() as u64));
            }
            at += bytes.len() as u64;
        }
        let placed = PlacedProgram {
            program,
            name: name.to_string(),
            image,
            bytes: at - image,
            loads,
        };
        self.programs.push(placed.clone());
        Ok(placed)
    }

    /// Loads a placed program and its data once `after` are complete.
    ///
    /// # Errors
    /// A dependency is unknown.
    pub fn load(&mut self, placed: &PlacedProgram, after: &[Event]) -> Result<Event, HostError> {
        self.load_part(&placed.name, &placed.loads, after)
    }

    /// Assigns the commands given from here on to a pass, by the name that the report gives it, or to no
    /// named pass.
    pub fn name_pass(&mut self, pass: Option<Arc<str>>) {
        self.is_other_stage |= self.stage.pass != pass;
        self.stage.pass = pass;
    }

    /// Notes the program that later commands belong to, if `command` loads words of another one.
    pub(super) fn note_program(&mut self, command: &Command) {
        let HostAction::Dma(Movement::Strided(Descriptor {
            target: Target::Program,
            system,
            ..
        })) = &command.action
        else {
            return;
        };
        let has =
            |placed: &PlacedProgram| (placed.image..placed.image + placed.bytes).contains(system);
        let program = self.programs.iter().position(has);
        if program.is_some() && program != self.stage.program {
            self.stage.program = program;
            self.is_other_stage = true;
        }
    }

    /// Begins another stage with the next command, if the pass or the program has changed.
    pub(super) fn note_stage(&mut self) {
        if std::mem::take(&mut self.is_other_stage) {
            self.engine.stages.begin(self.next, self.stage.clone());
        }
    }

    /// Loads one of the two parts of a program that [`PlacedProgram::split`] returns.
    ///
    /// # Errors
    /// A dependency is unknown.
    pub fn load_part(
        &mut self,
        name: &str,
        part: &[Descriptor],
        after: &[Event],
    ) -> Result<Event, HostError> {
        let mut event = Event(self.next.saturating_sub(1));
        for descriptor in part {
            let what = if descriptor.target == Target::Program {
                "program"
            } else {
                "data"
            };
            event = self.dma(&format!("{what} of {name}"), descriptor.clone(), after)?;
        }
        Ok(event)
    }
}

/// A run that has ended, with its report and final memory.
#[derive(Debug)]
pub struct FinishedRun {
    /// Report of the run.
    pub report: RunReport,
    processor: Processor,
    programs: Vec<PlacedProgram>,
    recording: Option<Recording>,
}

impl FinishedRun {
    pub(crate) fn new(
        mut engine: DeviceEngine,
        programs: Vec<PlacedProgram>,
        end: RunEnd,
        recording: Option<Recording>,
    ) -> Self {
        let counters = engine.processor.counters();
        let report = engine.report(end, counters);
        Self {
            report,
            processor: engine.processor,
            programs,
            recording,
        }
    }

    /// Returns the values of a buffer. Simulated time is over, so the read costs none.
    ///
    /// # Errors
    /// The buffer belongs to another device, or this computer has not the memory.
    pub fn read<T: MemoryElement>(&self, buffer: Buffer<T>) -> Result<Vec<T>, HostError> {
        from_bytes(&self.read_bytes(buffer.address(), buffer.bytes())?)
    }

    /// Returns bytes of system memory.
    ///
    /// # Errors
    /// The range lies outside system memory.
    pub fn read_bytes(&self, address: u64, bytes: u64) -> Result<Vec<u8>, HostError> {
        super::memory::read(self.processor.memory(), address, bytes)
    }

    /// Returns the processor as the run left it: registers, DMEM, counters.
    #[must_use]
    pub fn processor(&self) -> &Processor {
        &self.processor
    }

    /// Returns the programs that were placed.
    #[must_use]
    pub fn programs(&self) -> &[PlacedProgram] {
        &self.programs
    }

    /// Returns everything needed to repeat the run, if it was recorded.
    #[must_use]
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }
}
