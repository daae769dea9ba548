//! Builds the passes of a job from its file.

use super::arrays::DeclaredArray;
use super::file::{PassSpec, StreamSpec};
use super::{LoadedJob, RunArgs};
use crate::outcome::CommandFailure;
use cp2_asm::Program;
use cp2_host::nest::GridPass;
use cp2_host::{BlocksPerSection, PlacedProgram};
use cp2_kernels::map::{ArrayId, Arrays, PassArray, Streams};
use cp2_machine::Machine;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use toml::Spanned;

impl LoadedJob<'_> {
    /// Adds the passes; returns the assembler's notes about their kernels.
    pub(super) fn passes<'a>(
        &'a self,
        args: &RunArgs,
        machine: &Arc<Machine>,
        all: &mut Arrays,
        known: &BTreeMap<&'a str, DeclaredArray>,
    ) -> Result<String, CommandFailure> {
        let (mut notes, mut kernels): (String, BTreeMap<&Path, (Arc<Program>, PlacedProgram)>) =
            (String::new(), BTreeMap::new());
        let mut stored: Vec<&str> = known
            .iter()
            .filter(|(_, known)| known.stored)
            .map(|(name, _)| *name)
            .collect();
        let repeat = *self.file.repeat.get_ref();
        if repeat == 0 || self.file.passes.is_empty() {
            return Err(self.fail(
                &self.file.repeat,
                "a job without passes",
                "expected at least one [[pass]], and a `repeat` from 1 on",
            ));
        }
        for turn in 0..repeat {
            for (spanned, number) in self.file.passes.iter().zip(1..) {
                all.name_passes(&format!("pass {number}"));
                let spec = spanned.get_ref();
                let path = spec.kernel.get_ref().as_path();
                if !kernels.contains_key(path) {
                    let file = self.resolve_path(path);
                    let (program, more) = args.assembler.kernel(&file, machine)?;
                    notes += &more;
                    let program = Arc::new(program);
                    let name = file.file_stem().unwrap_or_default().to_string_lossy();
                    let placed = all
                        .kernel(&name, &program)
                        .map_err(|e| self.fail(&spec.kernel, &e.to_string(), ""))?;
                    kernels.insert(path, (program, placed));
                }
                let Some((program, placed)) = kernels.get(path) else {
                    continue;
                };
                let streams =
                    self.streams(spec, known, if turn == 0 { Some(&stored) } else { None })?;
                stored.extend(
                    spec.outputs
                        .iter()
                        .map(|stream| stream.array.get_ref().as_str()),
                );
                let how = GridPass {
                    march: spec.march,
                    scratch: spec.scratch,
                    words: spec.args.iter().map(|word| word.0).collect(),
                    size: spec.page.map_or(BlocksPerSection::ANY, |page| {
                        BlocksPerSection::Fixed(page.get())
                    }),
                    buffering: spec.buffering,
                    ..GridPass::new(Vec::new(), Vec::new())
                };
                let pass = all.pass(placed, program.entry.into(), streams, how, spec.reduce);
                pass.map_err(|e| self.fail(&spec.kernel, &e.to_string(), ""))?;
            }
        }
        Ok(notes)
    }

    /// Makes the streams of a pass; an array must have contents before a pass loads it.
    fn streams<'a>(
        &'a self,
        spec: &'a PassSpec,
        known: &BTreeMap<&'a str, DeclaredArray>,
        stored: Option<&Vec<&str>>,
    ) -> Result<Streams, CommandFailure> {
        let find = |name: &'a Spanned<String>| -> Result<ArrayId, CommandFailure> {
            let found = known.get(name.get_ref().as_str());
            found.map(|known| known.id).ok_or_else(|| {
                let names: Vec<&str> = known.keys().copied().collect();
                let help = format!("arrays are: {}", names.join(", "));
                self.fail(
                    name,
                    &format!("there is no array `{}`", name.get_ref()),
                    &help,
                )
            })
        };
        let load = |name: &'a Spanned<String>| -> Result<ArrayId, CommandFailure> {
            let id = find(name)?;
            if stored.is_some_and(|stored| !stored.contains(&name.get_ref().as_str())) {
                let message = format!("`{}` holds nothing yet", name.get_ref());
                return Err(self.fail(
                    name,
                    &message,
                    "it is no input, and no pass before this one stores it",
                ));
            }
            Ok(id)
        };
        let stream = |id: ArrayId, one: &StreamSpec| -> Result<PassArray, CommandFailure> {
            let block = one.block.as_ref().unwrap_or(&spec.block);
            self.check_axes(one, block, known)?;
            Ok(PassArray {
                array: id,
                block: block.get_ref().clone(),
                halo: one
                    .halo
                    .as_ref()
                    .map(|halo| halo.get_ref().clone())
                    .unwrap_or_default(),
                edge: one.edge,
            })
        };
        let inputs = spec.inputs.iter().map(|one| stream(load(&one.array)?, one));
        let outputs = spec.outputs.iter().map(|one| {
            let id = find(&one.array)?;
            if known
                .get(one.array.get_ref().as_str())
                .is_some_and(|known| known.stored)
            {
                let message = format!("`{}` is an input", one.array.get_ref());
                return Err(self.fail(
                    &one.array,
                    &message,
                    "passes store arrays that have a `shape`",
                ));
            }
            if spec
                .inputs
                .iter()
                .any(|input| input.array.get_ref() == one.array.get_ref())
            {
                let message = format!("`{}` is loaded by the same pass", one.array.get_ref());
                return Err(self.fail(
                    &one.array,
                    &message,
                    "a page stored early would change one loaded later: store another array",
                ));
            }
            stream(id, one)
        });
        Ok(Streams {
            in_place: spec.in_place,
            inputs: inputs.collect::<Result<_, CommandFailure>>()?,
            outputs: outputs.collect::<Result<_, CommandFailure>>()?,
            tables: spec.tables.iter().map(load).collect::<Result<_, _>>()?,
        })
    }

    /// Checks that a block and a halo have one number for each axis of their array. A block of one number
    /// takes any array as a single row, without halo.
    fn check_axes(
        &self,
        stream: &StreamSpec,
        block: &Spanned<Vec<u64>>,
        known: &BTreeMap<&str, DeclaredArray>,
    ) -> Result<(), CommandFailure> {
        let name = stream.array.get_ref();
        let Some(known) = known.get(name.as_str()) else {
            return Ok(());
        };
        let axes = known.shape.len();
        let halo = stream.halo.as_ref();
        let halo = halo.filter(|halo| halo.get_ref().iter().any(|&n| n > 0));
        let flat = block.get_ref().len() == 1 && halo.is_none();
        let flat = Some(block).filter(|_| !flat);
        for (key, numbers) in [("halo", halo), ("block", flat)] {
            if let Some(numbers) = numbers.filter(|numbers| numbers.get_ref().len() != axes) {
                let found = numbers.get_ref().len();
                let message = format!(
                    "`{key}` has {found} number{}; `{name}` is an array of {axes} {}: {:?}",
                    if found == 1 { "" } else { "s" },
                    if axes == 1 { "axis" } else { "axes" },
                    known.shape
                );
                let help = "give a number for each axis, slowest first; a block of one number takes an array as one row, without halo";
                return Err(self.fail(numbers, &message, help));
            }
        }
        Ok(())
    }
}
