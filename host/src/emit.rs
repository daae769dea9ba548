//! A run as a directory, and its replay from the directory alone.
//!
//! | file | holds |
//! |---|---|
//! | `kernel.elf`, `kernel-1.elf`, ... | the programs |
//! | `memory.bin` | system memory when simulated time begins, program images left out |
//! | `memory-end.bin` | the same stretches of it when time ends |
//! | `commands.json` | where those lie, the user's arrays, the commands, and what the recorded run measured |
//! | `machine.toml` | every parameter of the machine |
//!
//! The stretches follow one another in both files, in the order of their addresses. What is zero in both may
//! be left out, but the user's arrays, inputs and outputs, are there as a whole, each in one piece: `offset`
//! of its description says where it begins, in either file. Other data of an input are written over it there,
//! and the run is replayed.

mod array;
mod contents;
mod error;
mod replay;

pub use array::EmittedArray;
pub use error::EmitError;
pub use replay::Replay;

use crate::device::{Command, Decided, FinishedRun, HostAction, HostError, PlacedProgram};
use crate::files::{check_directory, write_directory};
use array::{RecordedArray, offset};
use contents::{ContentHashes, hex};
use cp2_emu::SystemRam;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

/// Version of the directory's layout.
pub const SCHEMA: u32 = 3;

const COMMANDS: &str = "commands.json";
const MEMORY: &str = "memory.bin";
const MEMORY_END: &str = "memory-end.bin";
const MACHINE: &str = "machine.toml";

/// Bytes that are kept or left out together.
const CHUNK: u64 = 4096;

/// Everything a run began with.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub(crate) programs: Vec<PlacedProgram>,
    /// Addresses and sizes of the allocations, ascending, without program images.
    taken: Vec<(u64, u64)>,
    /// Addresses and contents of the chunks that are not zero when time begins, ascending.
    memory: Vec<(u64, Vec<u8>)>,
    pub(crate) commands: Vec<Command>,
    pub(crate) inputs: Vec<EmittedArray>,
    pub(crate) outputs: Vec<EmittedArray>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    schema: u32,
    programs: Vec<ManifestProgram>,
    memory: Vec<AddressRange>,
    inputs: Vec<RecordedArray>,
    outputs: Vec<RecordedArray>,
    /// SHA-256 of everything a run begins with except the inputs: programs, machine, commands, and the rest
    /// of memory.
    rest_sha256: String,
    expected: RecordedFigures,
    commands: Vec<Command>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestProgram {
    file: String,
    name: String,
    image: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AddressRange {
    address: u64,
    bytes: u64,
}

/// Figures that the recorded run measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedFigures {
    /// Cycles of the run.
    pub cycles: u64,
    /// SHA-256 of all outputs, in order.
    pub outputs_sha256: String,
}

impl RecordedFigures {
    /// Returns the figures of a run, for the outputs of a recording.
    ///
    /// # Errors
    /// An output lies outside memory.
    pub fn measure_run(run: &FinishedRun, outputs: &[EmittedArray]) -> Result<Self, HostError> {
        let mut hash = Sha256::new();
        for output in outputs {
            hash.update(run.read_bytes(output.address, output.bytes)?);
        }
        Ok(Self {
            cycles: run.report.cycles,
            outputs_sha256: hex(hash),
        })
    }
}

/// Number of commands that a recording keeps at most.
pub const MAX_COMMANDS: usize = 1 << 20;

impl Recording {
    pub(crate) fn push(&mut self, command: &Command) -> Result<(), HostError> {
        if self.commands.len() >= MAX_COMMANDS {
            return Err(HostError::RecordingTooLong {
                limit: MAX_COMMANDS,
            });
        }
        self.commands.push(command.clone());
        Ok(())
    }

    /// Notes that the host program goes on by the value of the last command, a read.
    pub(crate) fn decide(&mut self, by: Decided) {
        if let Some(HostAction::Read { decided, .. }) =
            self.commands.last_mut().map(|c| &mut c.action)
        {
            *decided = Some(by);
        }
    }

    /// Keeps the initial memory; called when simulated time begins.
    pub(crate) fn keep_initial_memory(
        &mut self,
        programs: &[PlacedProgram],
        taken: &[(u64, u64)],
        memory: &SystemRam,
    ) {
        self.programs = programs.to_vec();
        let images: Vec<u64> = programs.iter().map(|p| p.image).collect();
        let others = taken.iter().filter(|(a, b)| *b > 0 && !images.contains(a));
        self.taken = others.copied().collect();
        self.taken.sort_unstable();
        self.memory = self
            .chunks()
            .map(|(at, bytes)| (at, read(memory, at, bytes)))
            .filter(|(_, chunk)| chunk.iter().any(|&b| b != 0))
            .collect();
    }

    /// Cuts the allocations into chunks: their addresses and sizes.
    fn chunks(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.taken.iter().flat_map(|&(address, bytes)| {
            let end = address.saturating_add(bytes);
            let starts = (0..bytes.div_ceil(CHUNK)).map(move |i| address + i * CHUNK);
            starts.map(move |at| (at, (end - at).min(CHUNK)))
        })
    }

    /// Returns the chunk at an address when time begins, or nothing if it is zero.
    fn initial_chunk(&self, at: u64) -> Option<&[u8]> {
        let found = self.memory.binary_search_by_key(&at, |(start, _)| *start);
        found.ok().map(|i| self.memory[i].1.as_slice())
    }

    /// Returns the chunks to write: those of the user's arrays, and those that are not zero when time begins
    /// or ends.
    fn list_chunks_to_write(&self, end: &SystemRam) -> Vec<(u64, u64)> {
        let touches = |at: u64, bytes: u64| {
            let mut arrays = self.inputs.iter().chain(&self.outputs);
            arrays.any(|a| a.address < at + bytes && at < a.address.saturating_add(a.bytes))
        };
        let chunks = self.chunks().filter(|&(at, bytes)| {
            let ended = || read(end, at, bytes).iter().any(|&b| b != 0);
            self.initial_chunk(at).is_some() || touches(at, bytes) || ended()
        });
        chunks.collect()
    }
}

/// Reads bytes of an allocation, which lie inside memory.
fn read(memory: &SystemRam, at: u64, bytes: u64) -> Vec<u8> {
    let mut chunk = vec![0; bytes as usize];
    if memory.read(at, &mut chunk).is_err() {
        chunk.fill(0);
    }
    chunk
}

/// Joins chunks that touch into stretches.
fn stretches(chunks: &[(u64, u64)]) -> Vec<AddressRange> {
    let mut all: Vec<AddressRange> = Vec::new();
    for &(address, bytes) in chunks {
        match all.last_mut() {
            Some(last) if last.address + last.bytes == address => last.bytes += bytes,
            _ => all.push(AddressRange { address, bytes }),
        }
    }
    all
}

/// Checks that [`FinishedRun::emit`] could write to `path`; to be asked before the run.
///
/// # Errors
/// The path, and what the system said.
pub fn check(path: &Path) -> Result<(), EmitError> {
    Ok(check_directory(path, COMMANDS)?)
}

impl FinishedRun {
    /// Writes the recorded run as a directory, whole or not at all.
    ///
    /// # Errors
    /// The run was not recorded, or the directory could not be written.
    pub fn emit(&self, path: &Path) -> Result<(), EmitError> {
        let recording = self.recording().ok_or(EmitError::NotRecorded)?;
        let file = |i: usize| {
            if i == 0 {
                "kernel.elf".to_string()
            } else {
                format!("kernel-{i}.elf")
            }
        };
        let end = self.processor().memory();
        let chunks = recording.list_chunks_to_write(end);
        let memory = stretches(&chunks);
        let place = |array: &EmittedArray| {
            let offset = offset(array, &memory).ok_or_else(|| EmitError::Unplaced {
                name: array.name.clone(),
            })?;
            Ok::<_, EmitError>(RecordedArray::new(array.clone(), offset))
        };
        let inputs: Result<Vec<RecordedArray>, _> = recording.inputs.iter().map(place).collect();
        let outputs: Result<Vec<RecordedArray>, _> = recording.outputs.iter().map(place).collect();
        let (mut inputs, outputs) = (inputs?, outputs?);
        let expected = RecordedFigures::measure_run(self, &recording.outputs)?;
        let programs = || {
            let numbered = recording.programs.iter().enumerate();
            numbered.map(|(i, p)| (file(i), p))
        };
        let machine = self.processor().machine().to_toml();
        write_directory(path, COMMANDS, |folder| {
            let mut contents = ContentHashes::new(&recording.inputs);
            for (file, placed) in programs() {
                let elf = placed.program.to_elf();
                contents.add_bytes(&elf);
                std::fs::write(folder.join(file), elf)?;
            }
            let create =
                |name: &str| std::fs::File::create(folder.join(name)).map(std::io::BufWriter::new);
            let (mut first, mut last) = (create(MEMORY)?, create(MEMORY_END)?);
            let zeros = [0; CHUNK as usize];
            for &(at, bytes) in &chunks {
                let begun = recording
                    .initial_chunk(at)
                    .unwrap_or(&zeros[..bytes as usize]);
                contents.memory(at, begun);
                first.write_all(begun)?;
                last.write_all(&read(end, at, bytes))?;
            }
            first.flush()?;
            last.flush()?;
            contents.add_bytes(machine.as_bytes());
            std::fs::write(folder.join(MACHINE), &machine)?;
            let (hashes, rest_sha256) = contents.finish(&recording.commands)?;
            for (input, hash) in inputs.iter_mut().zip(hashes) {
                input.sha256 = Some(hash);
            }
            let programs = programs().map(|(file, p)| ManifestProgram {
                file,
                name: p.name.clone(),
                image: p.image,
            });
            let manifest = Manifest {
                schema: SCHEMA,
                programs: programs.collect(),
                memory,
                inputs,
                outputs,
                rest_sha256,
                expected,
                commands: recording.commands.clone(),
            };
            let mut out = create(COMMANDS)?;
            serde_json::to_writer_pretty(&mut out, &manifest)?;
            out.write_all(b"\n")?;
            out.flush()
        })?;
        Ok(())
    }
}
