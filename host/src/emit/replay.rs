//! An emitted directory, read back and run again.

use super::array::{RecordedArray, offset};
use super::contents::ContentHashes;
use super::{
    COMMANDS, EmitError, EmittedArray, MACHINE, MEMORY, Manifest, RecordedFigures, SCHEMA,
};
use crate::device::{Command, Device, DeviceOptions, FinishedRun, parts};
use cp2_asm::Program;
use cp2_machine::Machine;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// Bytes of the largest manifest that is read: a long description for each of [`super::MAX_COMMANDS`].
const MAX_MANIFEST: u64 = 1 << 30;
/// Bytes of the largest object file that is read: program memory, DMEM and debug data of any machine fit.
const MAX_OBJECT: u64 = 64 << 20;

/// Reads a file that is not larger than expected.
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
    /// Machine that the run was recorded on.
    pub machine: Arc<Machine>,
    /// Arrays of the user that are in memory when time begins.
    pub inputs: Vec<EmittedArray>,
    /// Results of the run.
    pub outputs: Vec<EmittedArray>,
    /// Figures that the recorded run measured.
    pub expected: RecordedFigures,
    /// Names of the inputs that hold other data than the recorded ones.
    pub other_data: Vec<String>,
    /// True if anything else differs from the recording: a program, the machine, a command, memory outside
    /// the inputs.
    pub is_changed: bool,
    programs: Vec<(String, u64, Arc<Program>)>,
    memory: Vec<(u64, Vec<u8>)>,
    commands: Vec<Command>,
}

impl Replay {
    /// Reads an emitted directory; nothing outside it is used.
    ///
    /// # Errors
    /// A file is missing or is not what [`FinishedRun::emit`] writes.
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
        let text = read(COMMANDS, MAX_MANIFEST)?;
        let manifest = serde_json::from_slice::<Manifest>(&text);
        // Another schema has other fields: say so rather than name one of them.
        let schema = match &manifest {
            Ok(manifest) => Some(manifest.schema),
            Err(_) => serde_json::from_slice(&text)
                .ok()
                .map(|Schema { schema }| schema),
        };
        if let Some(schema) = schema.filter(|&schema| schema != SCHEMA) {
            return Err(fail(format!(
                "schema {schema}, this version reads schema {SCHEMA}: record the run again"
            )));
        }
        let manifest = manifest.map_err(|e| fail(e.to_string()))?;
        let arrays = |kept: &[RecordedArray]| -> Vec<EmittedArray> {
            kept.iter().map(|k| k.array.clone()).collect()
        };
        let [inputs, outputs] = [&manifest.inputs, &manifest.outputs].map(|kept| arrays(kept));
        for kept in manifest.inputs.iter().chain(&manifest.outputs) {
            if offset(&kept.array, &manifest.memory) != Some(kept.offset) {
                return Err(fail(format!(
                    "the array `{}` does not lie at offset {} of {MEMORY}",
                    kept.array.name, kept.offset
                )));
            }
        }
        let mut contents = ContentHashes::new(&inputs);
        let mut programs = Vec::new();
        for p in manifest.programs {
            if Path::new(&p.file).components().count() != 1 || p.file.starts_with("..") {
                return Err(fail(format!(
                    "program file `{}` is not a plain file name",
                    p.file
                )));
            }
            let elf = read(&p.file, MAX_OBJECT)?;
            contents.add_bytes(&elf);
            let program = Program::from_elf(&elf).map_err(|source| EmitError::Object {
                path: folder.join(&p.file),
                source,
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
            contents.memory(stretch.address, part);
            memory.push((stretch.address, part.to_vec()));
            rest = after;
        }
        if !rest.is_empty() {
            return Err(fail(format!(
                "{MEMORY} holds {} B more than the stretches named",
                rest.len()
            )));
        }
        contents.add_bytes(&read(MACHINE, MAX_OBJECT)?);
        let hashed = contents.finish(&manifest.commands);
        let (hashes, rest) = hashed.map_err(|e| fail(e.to_string()))?;
        let recorded = manifest.inputs.iter().zip(hashes);
        let other_data = recorded
            .filter(|(kept, hash)| kept.sha256.as_ref() != Some(hash))
            .map(|(kept, _)| kept.array.name.clone())
            .collect();
        Ok(Self {
            machine: Arc::new(machine),
            other_data,
            is_changed: rest != manifest.rest_sha256,
            inputs,
            outputs,
            expected: manifest.expected,
            programs,
            memory,
            commands: manifest.commands,
        })
    }

    /// Runs the recorded commands again on `machine`, which need not be the recorded one. On a machine with
    /// as many sections or more it gives the same bits; the sections beyond the recorded ones stay idle.
    ///
    /// # Errors
    /// The machine has fewer sections or cannot carry out a command.
    pub fn run(
        &self,
        machine: Arc<Machine>,
        options: DeviceOptions,
    ) -> Result<FinishedRun, EmitError> {
        let (recorded, sections) = (self.machine.cp2.sections, machine.cp2.sections);
        let machine = match recorded < sections {
            true => machine.with_sections(recorded).into(),
            false => machine,
        };
        if recorded > sections {
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
        for input in &self.inputs {
            device.input(input.clone());
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

/// Part of a manifest that every version has.
#[derive(serde::Deserialize)]
struct Schema {
    schema: u32,
}
