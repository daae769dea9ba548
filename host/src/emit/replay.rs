//! An emitted directory, read back and run again.

use super::{COMMANDS, EmitError, Expected, MACHINE, MEMORY, Manifest, Output, SCHEMA};
use crate::device::{Command, Device, Options, Run, parts};
use cp2_asm::Program;
use cp2_machine::Machine;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

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
