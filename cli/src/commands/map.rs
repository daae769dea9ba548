//! `cp2 map`: sends arrays through a kernel of the user.

mod compare;
mod extents;
mod margins;
mod pattern;
mod places;
mod processors;
mod results;
mod roofline;
mod tolerance;
mod word;

use super::analyze::report_loops;
use super::{AssemblerArgs, MachineArg, source_text};
use crate::io::{FileError, Kind, NpyArray, Outputs, display_path, read_npy};
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::provenance::ReportProvenance;
use crate::simulation::{SimulationArgs, conclude, figures, limits, merge, table};
use cp2_host::nest::{BoundaryRule, March};
use cp2_host::{BlocksPerSection, Buffering, DeviceOptions};
use cp2_kernels::map::{ArrayJob, ElementType, Input, MapError, Mapped, Output, map};
pub(super) use extents::Extents;
pub(super) use margins::margins;
pub(super) use results::{ExpectedResult, deliver};
pub(super) use roofline::RooflineArg;
use serde_json::json;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
pub(super) use tolerance::MapTolerance;
pub(super) use word::MapWord;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: cp2 map jacobi.s --input u.npy --output v.npy --block 8x64 --halo 1 \
    --expect ref.npy --tolerance 1e-6 --analyze --roofline jacobi.svg"
)]
pub(crate) struct Args {
    /// Page kernel: assembly source, or an object file of `cp2 asm`
    kernel: PathBuf,
    /// Array to read: .npy of complex64, float32, int32 or uint32, 1-D to 3-D; may be repeated, in the order
    /// of the kernel's arguments [default: none, with --shape]
    #[arg(
        long = "input",
        value_name = "X.npy",
        required_unless_present = "shape"
    )]
    inputs: Vec<PathBuf>,
    /// Array to write, of the first input's element type, and of its shape where blocks keep their size; may
    /// be repeated
    #[arg(long = "output", value_name = "Y.npy", required = true)]
    outputs: Vec<PathBuf>,
    /// Without inputs: extents of the outputs, of float32, slowest first [default: the first input's]
    #[arg(long, value_name = "SHAPE", conflicts_with = "inputs")]
    shape: Option<Extents>,
    /// Elements of a block along each axis, slowest first: N, ROWSxCOLS or PLANESxROWSxCOLS; with N alone an
    /// array of any shape is one row
    #[arg(long, value_name = "SHAPE")]
    block: Extents,
    /// Elements of a block of the output along each axis [default: as many as of the input; of a reduction 1]
    #[arg(long, value_name = "SHAPE")]
    output_block: Option<Extents>,
    /// Elements around a block that the kernel gets too, along each axis: N for all, or NxM, NxMxK; once for
    /// all inputs, or for each in turn [default: none]
    #[arg(long = "halo", value_name = "N[xM[xK]]")]
    halos: Vec<Extents>,
    /// Values beyond the edges of the inputs: zero, clamp (the outermost elements again), periodic (the other
    /// side)
    #[arg(long, value_name = "HOW", default_value = "zero", value_parser = edge)]
    edge: BoundaryRule,
    /// Data that lies in DMEM throughout, the same in every section: .npy; may be repeated [default: none]
    #[arg(long = "table", value_name = "T.npy")]
    tables: Vec<PathBuf>,
    /// The whole array ends in one output block, which the kernel makes of those of all sections [default: a
    /// block for each of the input]
    #[arg(long)]
    reduce: bool,
    /// Compares an output with this array; once for each output, in their order [default: results are not
    /// judged]
    #[arg(long = "expect", value_name = "REF.npy")]
    expected: Vec<PathBuf>,
    #[command(flatten)]
    tolerance: MapTolerance,
    /// The kernel leaves its output where its input was [default: separate pages]
    #[arg(long)]
    in_place: bool,
    /// Pages march along planes or rows and load what is new of their windows: of a kernel that reads the
    /// addresses of these lines (PAGE_LINES) [default: windows are loaded whole]
    #[arg(long, value_name = "AXIS", conflicts_with = "in_place", value_parser = march)]
    march: Option<March>,
    /// Bytes of DMEM the kernel needs to work in
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    scratch: u64,
    /// A 32-bit word for the kernel's argument block, behind the addresses: an integer, or a decimal number
    /// for the bits of a float32; may be repeated [default: none]
    #[arg(long = "arg", value_name = "WORD", allow_hyphen_values = true)]
    words: Vec<MapWord>,
    /// Blocks of each section in a page [default: chosen by the scheduler]
    #[arg(long, value_name = "N")]
    page: Option<NonZeroU32>,
    /// Pages in DMEM at a time: auto, single, double, triple
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = buffering)]
    buffering: Buffering,
    /// Processors that share the blocks along the outermost axis, 1 to 1024; blocks that need no others. Ranks of
    /// `mpirun` share the processors
    #[arg(long, value_name = "P", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    procs: u16,
    /// Print the paging plan [default: not printed]
    #[arg(long)]
    plan: bool,
    /// Print the loops that ran, as `cp2 analyze` reports them, with the cycles that each took and would gain
    /// [default: not printed]
    #[arg(long)]
    analyze: bool,
    #[command(flatten)]
    roofline: RooflineArg,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    assembler: AssemblerArgs,
    #[command(flatten)]
    simulation: SimulationArgs,
}

pub(super) fn buffering(text: &str) -> Result<Buffering, String> {
    match text {
        "auto" => Ok(Buffering::Auto),
        "single" => Ok(Buffering::Single),
        "double" => Ok(Buffering::Double),
        "triple" => Ok(Buffering::Triple),
        _ => Err("expected auto, single, double or triple".to_owned()),
    }
}

pub(super) fn edge(text: &str) -> Result<BoundaryRule, String> {
    match text {
        "zero" => Ok(BoundaryRule::Zero),
        "clamp" => Ok(BoundaryRule::Clamp),
        "periodic" => Ok(BoundaryRule::Periodic),
        _ => Err("expected zero, clamp or periodic".to_owned()),
    }
}

pub(super) fn march(text: &str) -> Result<March, String> {
    match text {
        "planes" => Ok(March::Planes),
        "rows" => Ok(March::Rows),
        _ => Err("expected planes or rows".to_owned()),
    }
}

/// Runs `cp2 map`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let ranks = crate::processors::connect_for(args.procs)?;
    let read = [&args.inputs, &args.tables, &args.expected]
        .into_iter()
        .flatten();
    let read = read.map(PathBuf::as_path).chain([args.kernel.as_path()]);
    let mut outputs = Outputs::from_inputs(read.chain(args.machine.file()));
    for output in &args.outputs {
        crate::io::check_extension(output, "npy", ".npy")?;
        outputs.check(output)?;
    }
    args.roofline.check(&mut outputs)?;
    crate::processors::check_outputs(&args.simulation, args.procs, &mut outputs)?;
    args.check()?;
    let machine = Arc::new(args.machine.load()?);
    let (program, notes) = args.assembler.kernel(&args.kernel, &machine)?;
    let program = Arc::new(program);
    // Processors share arrays that fit their memories together.
    let limit = machine.host.memory.0.saturating_mul(args.procs.into());
    let arrays = args.inputs.iter().map(|path| input(path, limit));
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    let expected = args
        .expected
        .iter()
        .map(|path| read_npy(path, Kind::ANY, limit));
    let expected = expected.collect::<Result<Vec<_>, _>>()?;
    let tables = args.tables.iter().map(|path| input(path, limit));
    let tables = tables.collect::<Result<Vec<_>, _>>()?;
    let kind = arrays.first().map_or(Kind::Float32, |array| array.kind);
    let job = ArrayJob {
        inputs: args.streams(&arrays)?,
        outputs: args.results(&arrays, kind)?,
        tables: tables
            .iter()
            .enumerate()
            .map(|(index, table)| (numbered("table", index, tables.len()), &table.bytes[..]))
            .collect(),
        in_place: args.in_place,
        march: args.march,
        reduce: args.reduce,
        scratch: args.scratch,
        words: args.words.iter().map(|word| word.0).collect(),
        size: args.page.map_or(BlocksPerSection::ANY, |page| {
            BlocksPerSection::Fixed(page.get())
        }),
        buffering: args.buffering,
        ..ArrayJob::new(&stem(&args.kernel))
    };
    let mut expected = args.expected.iter().cloned().zip(expected);
    let results = args
        .outputs
        .iter()
        .zip(&job.outputs)
        .map(|(path, output)| ExpectedResult {
            name: output.name.clone(),
            path: path.clone(),
            kind,
            shape: output
                .shape
                .iter()
                .map(|&n| usize::try_from(n).unwrap_or(usize::MAX))
                .collect(),
            expected: expected.next(),
            tolerance: args.tolerance,
        });
    let results: Vec<ExpectedResult> = results.collect();
    if let Some(ranks) = ranks {
        let mut outcome =
            processors::run(args, &machine, (&program, job), &results, (json, ranks))?;
        outcome.notes = notes + &outcome.notes;
        return Ok(outcome);
    }
    let (options, progress) = args.simulation.begin(None, json);
    let job = ArrayJob {
        options: DeviceOptions {
            stages: true,
            ..options
        },
        ..job
    };
    let mut done = map(program, machine.clone(), job).map_err(|e| args.make_failure(e))?;
    drop(progress);
    let report = &done.run.report;
    let mut outcome = CommandOutcome {
        text: args.text(&done, kind),
        json: json!(null),
        notes,
        exit: 0,
    };
    let nest = done.nest();
    let figures = merge(
        figures(report),
        json!({
            "kernel": display_path(&args.kernel),
            "input": args.inputs.first().map(|path| display_path(path)),
            "inputs": args.inputs.iter().map(|path| display_path(path)).collect::<Vec<_>>(),
            "blocks": nest.map(cp2_host::nest::GridPlan::blocks),
            "buffering": nest.map(cp2_host::nest::GridPlan::degree),
            "pages": nest.map(cp2_host::nest::GridPlan::len),
            "relayouts": done.relayouts(),
            "clamped_edges": done.clamps,
        }),
    );
    let figures = merge(
        figures,
        limits(&done.figures, done.expected, &done.run).json,
    );
    outcome.json = ReportProvenance::new("cp2-map/1", &machine, None)
        .engine(args.simulation.engine().resolve_engine(&machine))
        .add_figures(figures);
    if args.plan {
        outcome.json["plan"] = serde_json::to_value(nest).unwrap_or_default();
    }
    let outputs = done.outputs.take();
    let finished = outputs.is_some();
    deliver(&results, outputs, &done.passes, &mut outcome)?;
    if let Some(path) = args.outputs.first().filter(|_| finished) {
        outcome.json["output"] = json!(display_path(path));
    }
    args.simulation.emit(&done.run, &mut outcome)?;
    let title = format!("{} on {}", args.kernel.display(), machine.name);
    conclude(
        &args.simulation,
        &done.run,
        &title,
        source_text,
        &mut outcome,
    )?;
    args.roofline
        .write(&done, &stem(&args.kernel), &mut outcome)?;
    if args.analyze {
        report_loops(&done.run, &mut outcome);
    }
    Ok(outcome)
}

/// Reads an array, which must not be empty.
fn input(path: &Path, limit: u64) -> Result<NpyArray, CommandFailure> {
    let array = read_npy(path, Kind::ANY, limit)?;
    if array.bytes.is_empty() {
        let expected = "at least one block";
        return Err(FileError::format(path, "an array without elements", expected).into());
    }
    Ok(array)
}

/// Returns the name of an array in listings and recordings: numbered if there are several.
fn numbered(name: &str, index: usize, count: usize) -> String {
    match count {
        1 => name.to_owned(),
        _ => format!("{name} {index}"),
    }
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

pub(super) fn element(kind: Kind) -> ElementType {
    ElementType {
        name: kind.name(),
        bytes: kind.bytes() as u64,
    }
}

impl Args {
    /// Checks the options that need no file.
    fn check(&self) -> Result<(), CommandFailure> {
        let positive = |option: &str, extents: &Extents| match extents
            .0
            .iter()
            .any(|&n| n == 0 || n > LARGEST)
        {
            true => Err(CommandFailure::input(format!(
                "{option} {extents}: expected positive numbers of elements that fit a memory"
            ))),
            false => Ok(()),
        };
        positive("--block", &self.block)?;
        if let Some(shape) = &self.shape {
            positive("--shape", shape)?;
            if shape.0.len() != self.block.0.len() {
                return Err(CommandFailure::input(format!(
                    "--shape {shape}: expected as many numbers as --block {} has",
                    self.block
                )));
            }
        }
        if let Some(block) = &self.output_block {
            positive("--output-block", block)?;
        }
        if self.halos.len() > 1 && self.halos.len() != self.inputs.len() {
            return Err(CommandFailure::input(format!(
                "--halo is given {} times for {} inputs: expected once for all of them, or once for each",
                self.halos.len(),
                self.inputs.len()
            )));
        }
        let one = [
            ("--analyze", self.analyze),
            ("--roofline", self.roofline.roofline.is_some()),
        ];
        if let Some((option, _)) = one.iter().find(|(_, given)| *given && self.procs > 1) {
            return Err(CommandFailure::input(format!(
                "{option} reports a run on one processor; leave --procs out"
            )));
        }
        if self.expected.len() > self.outputs.len() {
            return Err(CommandFailure::input(format!(
                "--expect is given {} times for {} outputs: expected at most once for each",
                self.expected.len(),
                self.outputs.len()
            )));
        }
        Ok(())
    }

    /// Makes the streams that pages load.
    fn streams<'a>(&self, arrays: &'a [NpyArray]) -> Result<Vec<Input<'a>>, CommandFailure> {
        let axes = self.block.0.len();
        let all = arrays.iter().zip(&self.inputs).enumerate();
        all.map(|(index, (array, path))| {
            let halo = self.halos.get(index).or(self.halos.first());
            let flat = axes == 1 && array.shape.len() > 1;
            let around = halo.is_some_and(|halo| halo.0.iter().any(|&n| n > 0));
            if (axes > 1 && array.shape.len() != axes) || (flat && around) {
                return Err(CommandFailure::in_file(
                    path,
                    format!(
                        "an array of {} dimensions; --block {} has {axes}: expected one number for each axis",
                        array.shape.len(),
                        self.block
                    ),
                ));
            }
            let halo = match halo {
                Some(halo) if halo.0.len() == 1 => vec![halo.0[0]; axes],
                Some(halo) if halo.0.len() != axes => {
                    return Err(CommandFailure::input(format!(
                        "--halo {halo}: expected one number, or as many as --block {} has",
                        self.block
                    )));
                }
                Some(halo) => halo.0.clone(),
                None => Vec::new(),
            };
            Ok(Input {
                name: numbered("input", index, arrays.len()),
                element: element(array.kind),
                shape: array.shape.iter().map(|&n| n as u64).collect(),
                bytes: &array.bytes,
                block: self.block.0.clone(),
                halo,
                edge: self.edge,
            })
        })
        .collect()
    }

    /// Makes the streams that pages store.
    fn results(&self, arrays: &[NpyArray], kind: Kind) -> Result<Vec<Output>, CommandFailure> {
        let whole: Vec<u64> = match (arrays.first(), &self.shape) {
            (Some(first), _) => first.shape.iter().map(|&n| n as u64).collect(),
            (None, Some(shape)) => shape.0.clone(),
            (None, None) => Vec::new(),
        };
        let axes = self.block.0.len();
        let as_blocks = if axes == 1 {
            vec![whole.iter().product()]
        } else {
            whole.clone()
        };
        let (shape, block) = match &self.output_block {
            _ if self.reduce => {
                let block = self.output_block.clone().unwrap_or(Extents(vec![1]));
                (block.0.clone(), block.0)
            }
            Some(block) if block != &self.block => {
                if block.0.len() != axes {
                    return Err(CommandFailure::input(format!(
                        "--output-block {block}: expected as many numbers as --block {} has",
                        self.block
                    )));
                }
                let blocks = as_blocks
                    .into_iter()
                    .zip(&self.block.0)
                    .map(|(n, b)| n.div_ceil(*b));
                (
                    blocks
                        .zip(&block.0)
                        .map(|(n, b)| n.saturating_mul(*b))
                        .collect(),
                    block.0.clone(),
                )
            }
            _ => (whole, self.block.0.clone()),
        };
        let output = |index: usize| Output {
            name: numbered("output", index, self.outputs.len()),
            element: element(kind),
            shape: shape.clone(),
            block: block.clone(),
        };
        Ok((0..self.outputs.len()).map(output).collect())
    }

    fn text(&self, done: &Mapped, kind: Kind) -> String {
        let blocks = done.nest().map_or(0, cp2_host::nest::GridPlan::blocks);
        let mut text = format!(
            "{blocks} blocks of {} {} through {}\n",
            self.block,
            kind.name(),
            self.kernel.display()
        );
        match done.relayouts() - done.clamps {
            0 => {}
            1 => {
                text += "1 pass more puts an array into another layout: its rows or edges are no multiple of 16 bytes\n"
            }
            n => {
                text += &format!(
                    "{n} passes more put arrays into another layout: their rows or edges are no multiple of 16 bytes\n"
                )
            }
        }
        text += &margins(done);
        text += &table(&done.run.report);
        text += &limits(&done.figures, done.expected, &done.run).text;
        if let (true, Some(nest)) = (self.plan, done.nest()) {
            text += &format!("\n{}\n", nest.to_string().trim_end());
        }
        text
    }

    /// Makes a failure that names the file the error is about.
    fn make_failure(&self, error: MapError) -> CommandFailure {
        match error {
            e @ (MapError::Dimensions { .. }
            | MapError::Rank { .. }
            | MapError::Shared { .. }
            | MapError::Bytes { .. }) => CommandFailure::input(e),
            e => CommandFailure::in_file(&self.kernel, e),
        }
    }
}

/// Largest extent along an axis: more elements than any memory holds.
const LARGEST: u64 = 1 << 40;
