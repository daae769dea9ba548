//! A run as a directory, and its replay from the directory alone.
//!
//! | file | holds |
//! |---|---|
//! | `kernel.elf`, `kernel-1.elf`, ... | the programs |
//! | `memory.bin` | the initial system memory, zero stretches and program images left out |
//! | `commands.json` | where those lie, the commands, the outputs, and what the recorded run measured |
//! | `machine.toml` | every parameter of the machine |

use crate::device::{Command, Device, HostError, Options, Placed, Run, parts};
use crate::files::{WriteError, check_directory, write_directory};
use cp2_asm::{ObjectError, Program};
use cp2_emu::SystemMemory;
use cp2_machine::{Machine, MachineError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// Why a run could not be emitted or replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// The device did not record.
    #[error("the run was not recorded; set `Options::record`")]
    NotRecorded,
    /// The directory could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file could not be read.
    #[error("cannot read {}: {source}; expected a directory that `cp2 fft --emit` wrote", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The manifest is not what `emit` writes.
    #[error("{}: {reason}; expected what `cp2 fft --emit` writes", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A program could not be read.
    #[error("{}: {source}", path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ObjectError,
    },
    /// The machine could not be read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The commands deal blocks to another number of sections.
    #[error(
        "the commands were recorded for {recorded} sections; machine {name} has {sections}: plan the job anew for it"
    )]
    Sections {
        /// Sections of the recorded machine.
        recorded: usize,
        /// The other machine.
        name: String,
        /// Its sections.
        sections: usize,
    },
    /// The device refused something.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// Largest manifest read: a long description for each of [`MAX_COMMANDS`].
const MAX_MANIFEST: u64 = 1 << 30;
/// Largest object file read: program memory, DMEM and debug data of any machine fit.
const MAX_OBJECT: u64 = 64 << 20;

/// Reads a file of a size that can be expected.
fn read_at_most(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(std::io::Error::new(
            std::io::ErrorKind::FileTooLarge,
            format!("it has more than {limit} B"),
        ));
    }
    Ok(bytes)
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

/// An emitted run, read back.
#[derive(Debug)]
pub struct Replay {
    /// The machine it was recorded on.
    pub machine: Arc<Machine>,
    /// Its results.
    pub outputs: Vec<Output>,
    /// What the recorded run measured.
    pub expected: Expected,
    programs: Vec<(String, u64, Arc<Program>)>,
    memory: Vec<(u64, Vec<u8>)>,
    commands: Vec<Command>,
}

impl Replay {
    /// Reads an emitted directory; nothing outside it is used.
    ///
    /// # Errors
    /// A file is missing or is not what [`Run::emit`] writes.
    pub fn read(folder: &Path) -> Result<Self, EmitError> {
        let read = |name: &str, limit: u64| {
            let path = folder.join(name);
            read_at_most(&path, limit).map_err(|source| EmitError::Read { path, source })
        };
        let path = folder.join(COMMANDS);
        let fail = |reason: String| EmitError::Manifest {
            path: path.clone(),
            reason,
        };
        let manifest: Manifest = serde_json::from_slice(&read(COMMANDS, MAX_MANIFEST)?)
            .map_err(|e| fail(e.to_string()))?;
        if manifest.schema != SCHEMA {
            return Err(fail(format!(
                "schema {}, this version reads schema {SCHEMA}",
                manifest.schema
            )));
        }
        let mut programs = Vec::new();
        for p in manifest.programs {
            if Path::new(&p.file).components().count() != 1 || p.file.starts_with("..") {
                return Err(fail(format!(
                    "program file `{}` is not a plain file name",
                    p.file
                )));
            }
            let program = Program::from_elf(&read(&p.file, MAX_OBJECT)?).map_err(|source| {
                EmitError::Object {
                    path: folder.join(&p.file),
                    source,
                }
            })?;
            programs.push((p.name, p.image, Arc::new(program)));
        }
        let machine = Machine::load(&folder.join(MACHINE).to_string_lossy())?;
        let bytes = read(MEMORY, machine.host.memory.0)?;
        let mut rest = bytes.as_slice();
        let mut memory = Vec::new();
        for stretch in &manifest.memory {
            let part = usize::try_from(stretch.bytes)
                .ok()
                .and_then(|n| rest.split_at_checked(n));
            let Some((part, after)) = part else {
                return Err(fail(format!(
                    "{MEMORY} holds {} B, fewer than the stretches named",
                    bytes.len()
                )));
            };
            memory.push((stretch.address, part.to_vec()));
            rest = after;
        }
        if !rest.is_empty() {
            return Err(fail(format!(
                "{MEMORY} holds {} B more than the stretches named",
                rest.len()
            )));
        }
        let Manifest {
            outputs,
            expected,
            commands,
            ..
        } = manifest;
        Ok(Self {
            machine: Arc::new(machine),
            outputs,
            expected,
            programs,
            memory,
            commands,
        })
    }

    /// Runs it again, on `machine`, which need not be the recorded one: with as
    /// many sections it gives the same bits.
    ///
    /// # Errors
    /// The machine has another number of sections or cannot carry out a command.
    pub fn run(&self, machine: Arc<Machine>, options: Options) -> Result<Run, EmitError> {
        let (recorded, sections) = (self.machine.cp2.sections, machine.cp2.sections);
        if recorded != sections {
            return Err(EmitError::Sections {
                recorded,
                name: machine.name.clone(),
                sections,
            });
        }
        let mut device = Device::with_options(machine.clone(), options);
        for (name, image, program) in &self.programs {
            device.place_at(name, program.clone(), *image, parts(program, &machine)?)?;
        }
        for (address, bytes) in &self.memory {
            device.write_at(*address, bytes)?;
        }
        for output in &self.outputs {
            device.output(output.clone());
        }
        for command in &self.commands {
            device.command(command.clone())?;
        }
        Ok(device.finish()?)
    }
}
