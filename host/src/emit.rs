//! A run as a directory, and its replay from the directory alone.
//!
//! | file | holds |
//! |---|---|
//! | `kernel.elf`, `kernel-1.elf`, ... | the programs |
//! | `memory.bin` | the initial system memory, zero stretches and program images left out |
//! | `commands.json` | where those lie, the commands, the outputs, and what the recorded run measured |
//! | `machine.toml` | every parameter of the machine |

mod error;
mod replay;

pub use error::EmitError;
pub use replay::Replay;

use crate::device::{Command, HostError, Placed, Run};
use crate::files::{check_directory, write_directory};
use cp2_emu::SystemMemory;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

/// Version of the directory's layout.
pub const SCHEMA: u32 = 1;

const COMMANDS: &str = "commands.json";
const MEMORY: &str = "memory.bin";
const MACHINE: &str = "machine.toml";

/// Everything a run began with.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub(crate) programs: Vec<Placed>,
    /// Address and contents.
    pub(crate) memory: Vec<(u64, Vec<u8>)>,
    pub(crate) commands: Vec<Command>,
    pub(crate) outputs: Vec<Output>,
}

/// A result of the run, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Name.
    pub name: String,
    /// Byte address in system memory.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// Element type: `u8`, `f32`, `complex64`.
    pub element: String,
    /// Shape in elements.
    pub shape: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    schema: u32,
    programs: Vec<ManifestProgram>,
    memory: Vec<Stretch>,
    outputs: Vec<Output>,
    expected: Expected,
    commands: Vec<Command>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestProgram {
    file: String,
    name: String,
    image: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stretch {
    address: u64,
    bytes: u64,
}

/// What the recorded run measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Its cycles.
    pub cycles: u64,
    /// SHA-256 of all outputs, in order.
    pub outputs_sha256: String,
}

impl Expected {
    /// What a run measured, for the outputs of a recording.
    ///
    /// # Errors
    /// An output lies outside memory.
    pub fn of(run: &Run, outputs: &[Output]) -> Result<Self, HostError> {
        let mut hash = Sha256::new();
        for output in outputs {
            hash.update(run.read_bytes(output.address, output.bytes)?);
        }
        let outputs_sha256 = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
        Ok(Self {
            cycles: run.report.cycles,
            outputs_sha256,
        })
    }
}

/// Most commands a recording keeps.
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

    /// Keeps the initial memory; called when simulated time begins.
    pub(crate) fn keep(
        &mut self,
        programs: &[Placed],
        taken: &[(u64, u64)],
        memory: &SystemMemory,
    ) {
        const CHUNK: u64 = 4096;
        self.programs = programs.to_vec();
        let images: Vec<u64> = programs.iter().map(|p| p.image).collect();
        for &(address, bytes) in taken.iter().filter(|(a, b)| *b > 0 && !images.contains(a)) {
            let (mut at, end) = (address, address + bytes);
            while at < end {
                let mut chunk = vec![0; (end - at).min(CHUNK) as usize];
                // Allocations lie inside memory.
                let read = memory.read(at, &mut chunk).is_ok();
                let next = at + chunk.len() as u64;
                if read && chunk.iter().any(|&b| b != 0) {
                    match self.memory.last_mut() {
                        Some((start, part)) if *start + part.len() as u64 == at => {
                            part.extend(chunk)
                        }
                        _ => self.memory.push((at, chunk)),
                    }
                }
                at = next;
            }
        }
    }
}

/// Checks that [`Run::emit`] could write there; to be asked before the run.
///
/// # Errors
/// The path, and what the system said.
pub fn check(path: &Path) -> Result<(), EmitError> {
    Ok(check_directory(path, COMMANDS)?)
}

impl Run {
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
        let programs = recording.programs.iter().enumerate();
        let manifest = Manifest {
            schema: SCHEMA,
            programs: programs
                .clone()
                .map(|(i, p)| ManifestProgram {
                    file: file(i),
                    name: p.name.clone(),
                    image: p.image,
                })
                .collect(),
            memory: recording
                .memory
                .iter()
                .map(|(address, b)| Stretch {
                    address: *address,
                    bytes: b.len() as u64,
                })
                .collect(),
            outputs: recording.outputs.clone(),
            expected: Expected::of(self, &recording.outputs)?,
            commands: recording.commands.clone(),
        };
        write_directory(path, COMMANDS, |folder| {
            for (i, placed) in programs {
                std::fs::write(folder.join(file(i)), placed.program.to_elf())?;
            }
            let mut memory = std::io::BufWriter::new(std::fs::File::create(folder.join(MEMORY))?);
            for (_, bytes) in &recording.memory {
                memory.write_all(bytes)?;
            }
            memory.flush()?;
            std::fs::write(folder.join(MACHINE), self.processor().machine().to_toml())?;
            let mut out = std::io::BufWriter::new(std::fs::File::create(folder.join(COMMANDS))?);
            serde_json::to_writer_pretty(&mut out, &manifest)?;
            out.write_all(b"\n")?;
            out.flush()
        })?;
        Ok(())
    }
}
