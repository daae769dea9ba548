//! `cp2 job`: passes of kernels over arrays, as a file says.

mod file;

use super::map::{Expected, deliver, element};
use super::{AssemblerArgs, MachineArg, read_text, source_text};
use crate::io::{Kind, Outputs, read_npy, shown};
use crate::outcome::{Failure, Outcome};
use crate::provenance::Provenance;
use crate::simulation::{SimulationArgs, conclude, figures, merge, table};
use cp2_asm::Program;
use cp2_host::nest::Sweep;
use cp2_host::{BlocksPerSection, Placed};
use cp2_kernels::map::{ArrayId, Arrays, Stream, Streams};
use cp2_machine::Machine;
use file::{ArraySpec, JobFile, PassSpec, StreamSpec, Text};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// What to do with a job file.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Carry its passes out, one behind the other on one machine
    Run(RunArgs),
}

/// Arguments of `cp2 job run`.
#[derive(Debug, clap::Args)]
struct RunArgs {
    /// Job file (TOML): arrays, and passes of kernels over them; paths in it are relative to its folder
    job: PathBuf,
    /// Print how each pass is paged [default: not printed]
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    assembler: AssemblerArgs,
    #[command(flatten)]
    simulation: SimulationArgs,
}

/// Does what the command says.
pub(crate) fn run(args: &Args, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        Command::Run(args) => args.run(json),
    }
}

/// A job file that has been read.
struct Job<'a> {
    text: Text<'a>,
    file: JobFile,
    folder: &'a Path,
}

impl RunArgs {
    fn run(&self, json: bool) -> Result<Outcome, Failure> {
        let source = read_text(&self.job)?;
        let text = Text {
            path: &self.job,
            text: &source,
        };
        let job = Job {
            file: text.parse()?,
            folder: self.job.parent().unwrap_or(Path::new("")),
            text,
        };
        job.check_outputs(self)?;
        let machine = Arc::new(self.machine.load()?);
        let (options, progress) = self.simulation.begin(None, json);
        let mut arrays = Arrays::new(machine.clone(), options);
        let (known, results) = job.arrays(&mut arrays, machine.host.memory.0)?;
        let notes = job.passes(self, &machine, &mut arrays, &known)?;
        let done = arrays.run().map_err(|e| Failure::in_file(&self.job, e))?;
        drop(progress);
        let report = &done.run.report;
        let passes = done
            .passes
            .iter()
            .filter(|pass| !pass.is_relayout())
            .count();
        let mut text = format!("{passes} passes of {}\n", self.job.display());
        if done.relayouts() > 0 {
            text += &format!(
                "{} more put arrays into another layout: rows or edges are no multiple of 16 bytes\n",
                done.relayouts()
            );
        }
        text += &table(report);
        let nests = done.passes.iter().filter_map(|pass| pass.nest());
        if self.plan {
            for nest in nests {
                text += &format!("\n{}\n", nest.to_string().trim_end());
            }
        }
        let mut outcome = Outcome {
            text,
            notes,
            ..Outcome::default()
        };
        outcome.json = Provenance::new("cp2-job/1", &machine, None)
            .engine(self.simulation.engine().on(&machine))
            .with(merge(
                figures(report),
                json!({
                    "job": shown(&self.job),
                    "passes": passes,
                    "relayouts": done.relayouts(),
                    "expected_cycles": done.expected.map(|price| price.0),
                }),
            ));
        outcome.json = merge(outcome.json, json!(done.figures));
        deliver(&results, done.outputs.as_deref(), &mut outcome)?;
        self.simulation.emit(&done.run, &mut outcome)?;
        let title = format!("{} on {}", self.job.display(), machine.name);
        conclude(
            &self.simulation,
            report,
            None,
            &title,
            source_text,
            &mut outcome,
        )?;
        Ok(outcome)
    }
}

impl Job<'_> {
    fn at(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// Checks that no output replaces what is read.
    fn check_outputs(&self, args: &RunArgs) -> Result<(), Failure> {
        let arrays = || self.file.arrays.values().map(Spanned::get_ref);
        let read = arrays()
            .flat_map(|array| [&array.input, &array.expect])
            .flatten();
        let kernels = self.file.passes.iter().map(|pass| &pass.get_ref().kernel);
        let read: Vec<PathBuf> = read
            .chain(kernels)
            .map(|path| self.at(path.get_ref()))
            .collect();
        let read = read
            .iter()
            .map(PathBuf::as_path)
            .chain([args.job.as_path()]);
        let mut outputs = Outputs::beside(read.chain(args.machine.file()));
        for output in arrays().filter_map(|array| array.output.as_ref()) {
            let path = self.at(output.get_ref());
            let checked = crate::io::check_extension(&path, "npy", ".npy");
            checked
                .and_then(|()| outputs.check(&path))
                .map_err(|e| self.fail(output, &e.to_string(), ""))?;
        }
        args.simulation.check_outputs(&mut outputs)
    }

    fn fail<T>(&self, at: &Spanned<T>, message: &str, help: &str) -> Failure {
        self.text.fail(at.span(), message, help)
    }

    /// The arrays by name, and what is written in the end.
    fn arrays(
        &self,
        all: &mut Arrays,
        limit: u64,
    ) -> Result<(BTreeMap<&str, Known>, Vec<Expected>), Failure> {
        let (mut known, mut results) = (BTreeMap::new(), Vec::new());
        for (name, spanned) in &self.file.arrays {
            let spec = spanned.get_ref();
            let refuse = |e: cp2_kernels::map::MapError| self.fail(spanned, &e.to_string(), "");
            self.check_judged(name, spanned)?;
            let (id, stored) = match (&spec.input, &spec.shape) {
                (Some(input), None) => {
                    let path = self.at(input.get_ref());
                    let array = read_npy(&path, Kind::ANY, limit)
                        .map_err(|e| self.fail(input, &e.to_string(), ""))?;
                    if array.bytes.is_empty() {
                        return Err(self.fail(
                            input,
                            "an array without elements",
                            "at least one block is expected",
                        ));
                    }
                    if let Some(output) = spec.output.as_ref().or(spec.expect.as_ref()) {
                        return Err(self.fail(
                            output,
                            &format!("`{name}` is an input"),
                            "passes store arrays that have a `shape`",
                        ));
                    }
                    let shape: Vec<u64> = array.shape.iter().map(|&n| n as u64).collect();
                    let id = all
                        .input(name, element(array.kind), &shape, &array.bytes)
                        .map_err(refuse)?;
                    (id, true)
                }
                (None, Some(shape)) => {
                    let kind = self.kind(spec)?;
                    if shape.get_ref().is_empty() || shape.get_ref().contains(&0) {
                        return Err(self.fail(
                            shape,
                            "an array without elements",
                            "give its extents, slowest first",
                        ));
                    }
                    let id = match &spec.output {
                        Some(output) => {
                            let expected = match &spec.expect {
                                Some(path) => {
                                    let file = self.at(path.get_ref());
                                    let array = read_npy(&file, Kind::ANY, limit);
                                    Some((
                                        file,
                                        array.map_err(|e| self.fail(path, &e.to_string(), ""))?,
                                    ))
                                }
                                None => None,
                            };
                            results.push(Expected {
                                path: self.at(output.get_ref()),
                                kind,
                                shape: shape
                                    .get_ref()
                                    .iter()
                                    .map(|&n| usize::try_from(n).unwrap_or(usize::MAX))
                                    .collect(),
                                expected,
                                tolerance: spec.tolerance(),
                            });
                            all.output(name, element(kind), shape.get_ref())
                        }
                        None => all.temporary(name, element(kind), shape.get_ref()),
                    };
                    (id.map_err(refuse)?, false)
                }
                _ => {
                    let help = "give the file of an input as `input`, or the `shape` of an array that passes store";
                    return Err(self.fail(
                        spanned,
                        &format!("array `{name}` needs either `input` or `shape`"),
                        help,
                    ));
                }
            };
            known.insert(name.as_str(), Known { id, stored });
        }
        Ok((known, results))
    }

    /// Checks that whatever says how a result is judged is judged by.
    fn check_judged(&self, name: &str, spanned: &Spanned<ArraySpec>) -> Result<(), Failure> {
        let spec = spanned.get_ref();
        let message = match (&spec.output, &spec.expect) {
            (None, Some(_)) if spec.input.is_none() => "an `expect`, and no `output`",
            (_, None) if spec.tolerance().is_given() => "a tolerance, and no `expect`",
            _ => return Ok(()),
        };
        let help = "what is compared is an `output` with an `expect`; give both, or neither";
        Err(self.fail(spanned, &format!("array `{name}` has {message}"), help))
    }

    fn kind(&self, spec: &ArraySpec) -> Result<Kind, Failure> {
        let Some(name) = &spec.element else {
            return Ok(Kind::Float32);
        };
        let found = Kind::ANY.iter().find(|kind| kind.name() == name.get_ref());
        found.copied().ok_or_else(|| {
            let help = "expected complex64, float32, int32 or uint32";
            self.fail(
                name,
                &format!("no elements are called `{}`", name.get_ref()),
                help,
            )
        })
    }

    /// Adds the passes; what the assembler has to say of their kernels.
    fn passes<'a>(
        &'a self,
        args: &RunArgs,
        machine: &Arc<Machine>,
        all: &mut Arrays,
        known: &BTreeMap<&'a str, Known>,
    ) -> Result<String, Failure> {
        let (mut notes, mut kernels): (String, BTreeMap<&Path, (Arc<Program>, Placed)>) =
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
            for spanned in &self.file.passes {
                let spec = spanned.get_ref();
                let path = spec.kernel.get_ref().as_path();
                if !kernels.contains_key(path) {
                    let file = self.at(path);
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
                let words = spec.args.iter().map(|word| {
                    let bits = word.get_ref().bits();
                    bits.ok_or_else(|| self.fail(word, "this is no 32-bit number", "expected -2147483648 to 4294967295, or a decimal number for the bits of a float32"))
                });
                let how = Sweep {
                    march: spec.march,
                    scratch: spec.scratch,
                    words: words.collect::<Result<_, _>>()?,
                    size: spec
                        .page
                        .map_or(BlocksPerSection::ANY, BlocksPerSection::Fixed),
                    buffering: spec.buffering,
                    ..Sweep::new(Vec::new(), Vec::new())
                };
                let pass = all.pass(placed, program.entry.into(), streams, how, spec.reduce);
                pass.map_err(|e| self.fail(&spec.kernel, &e.to_string(), ""))?;
            }
        }
        Ok(notes)
    }

    /// The streams of a pass; what it loads must have been stored.
    fn streams<'a>(
        &'a self,
        spec: &'a PassSpec,
        known: &BTreeMap<&'a str, Known>,
        stored: Option<&Vec<&str>>,
    ) -> Result<Streams, Failure> {
        let find = |name: &'a Spanned<String>| -> Result<ArrayId, Failure> {
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
        let load = |name: &'a Spanned<String>| -> Result<ArrayId, Failure> {
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
        let stream = |id: ArrayId, stream: &StreamSpec| Stream {
            array: id,
            block: stream.block.clone().unwrap_or_else(|| spec.block.clone()),
            halo: stream.halo.clone(),
            edge: stream.edge,
        };
        let inputs = spec
            .inputs
            .iter()
            .map(|one| Ok(stream(load(&one.array)?, one)));
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
            Ok(stream(id, one))
        });
        Ok(Streams {
            in_place: spec.in_place,
            inputs: inputs.collect::<Result<_, Failure>>()?,
            outputs: outputs.collect::<Result<_, Failure>>()?,
            tables: spec.tables.iter().map(load).collect::<Result<_, _>>()?,
        })
    }
}

/// An array of the job.
struct Known {
    id: ArrayId,
    /// Whether it is an input, which no pass stores.
    stored: bool,
}
