//! `cp2 map`: an array through a kernel of the user's own.

use super::{AssemblerArgs, MachineArg, source_text};
use crate::io::{Array, FileError, Kind, Outputs, read_rows, shown, write_whole};
use crate::outcome::{Failure, Outcome};
use crate::provenance::Provenance;
use crate::simulation::{SimulationArgs, conclude, figures, merge, table};
use cp2_host::{BlocksPerSection, Buffering, MapJob};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Page kernel: assembly source, or an object file of `cp2 asm`
    kernel: PathBuf,
    /// Array to read: .npy of complex64, float32, int32 or uint32, 1-D or 2-D
    #[arg(long, value_name = "X.npy", required = true)]
    input: PathBuf,
    /// Array to write, of the same element type; of the same shape where the blocks keep their length, else 1-D
    #[arg(long, value_name = "Y.npy", required = true)]
    output: PathBuf,
    /// Elements of a block: the kernel gets whole blocks
    #[arg(long, value_name = "N", required = true)]
    block: u64,
    /// Elements of a block of the output [default: as many as of the input]
    #[arg(long, value_name = "N")]
    output_block: Option<u64>,
    /// The kernel leaves its output where its input was [default: separate pages]
    #[arg(long)]
    in_place: bool,
    /// Bytes of DMEM the kernel needs to work in
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    scratch: u64,
    /// A 32-bit word for the kernel's argument block, from word 4 on; may be repeated [default: none]
    #[arg(long = "arg", value_name = "WORD", allow_negative_numbers = true, value_parser = super::dump::parse_word)]
    words: Vec<u32>,
    /// Blocks of each section in a page [default: chosen by the scheduler]
    #[arg(long, value_name = "N")]
    page: Option<u32>,
    /// Pages in DMEM at a time: auto, single, double, triple
    #[arg(long, value_name = "HOW", default_value = "auto", value_parser = buffering)]
    buffering: Buffering,
    /// Print the paging plan [default: not printed]
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    assembler: AssemblerArgs,
    #[command(flatten)]
    simulation: SimulationArgs,
}

fn buffering(text: &str) -> Result<Buffering, String> {
    match text {
        "auto" => Ok(Buffering::Auto),
        "single" => Ok(Buffering::Single),
        "double" => Ok(Buffering::Double),
        "triple" => Ok(Buffering::Triple),
        _ => Err("expected auto, single, double or triple".to_owned()),
    }
}

/// Pages an array through a kernel.
pub(crate) fn run(args: &Args, json: bool) -> Result<Outcome, Failure> {
    let mut outputs = Outputs::beside(
        [args.kernel.as_path(), args.input.as_path()]
            .into_iter()
            .chain(args.machine.file()),
    );
    crate::io::check_extension(&args.output, "npy", ".npy")?;
    outputs.check(&args.output)?;
    args.simulation.check_outputs(&mut outputs)?;
    let machine = Arc::new(args.machine.load()?);
    let (program, notes) = args.assembler.kernel(&args.kernel, &machine)?;
    let program = Arc::new(program);
    let array = read_rows(&args.input, Kind::ANY, machine.host.memory.0)?;
    if array.bytes.is_empty() {
        return Err(FileError::format(
            &args.input,
            "an array without elements",
            "at least one block",
        )
        .into());
    }
    let (options, progress) = args.simulation.begin(None, json);
    let job = MapJob {
        options,
        element: (array.kind.name(), array.kind.bytes() as u64),
        shape: Some(array.shape.iter().map(|&d| d as u64).collect()),
        ..job(args, array.kind)?
    };
    let done = cp2_host::map(program.clone(), machine.clone(), &array.bytes, &job).map_err(
        |e| match e {
            cp2_host::MapError::Length { .. } | cp2_host::MapError::Empty { .. } => {
                Failure::in_file(&args.input, e)
            }
            e => Failure::in_file(&args.kernel, e),
        },
    )?;
    drop(progress);
    let report = &done.run.report;
    let blocks = array.bytes.len() as u64 / job.block;
    let text = format!(
        "{blocks} blocks of {} {} through {}\n{}",
        args.block,
        array.kind.name(),
        args.kernel.display(),
        table(report)
    );
    let figures = merge(
        figures(report),
        json!({
            "kernel": shown(&args.kernel),
            "input": shown(&args.input),
            "blocks": blocks,
            "buffering": done.plan.degree(),
            "pages": done.plan.pages().len(),
            "expected_cycles": done.plan.estimate().cycles,
        }),
    );
    let json = Provenance::new("cp2-map/1", &machine, None)
        .engine(args.simulation.engine().on(&machine))
        .with(figures);
    let mut outcome = Outcome {
        text,
        json,
        notes,
        exit: 0,
    };
    outcome.not_judged();
    if args.plan {
        outcome.text += &format!("\n{}\n", done.plan.to_string().trim_end());
        outcome.json["plan"] = serde_json::to_value(&done.plan).unwrap_or_default();
    }
    if report.end.is_finished() {
        let shape = if args.output_block.is_none_or(|o| o == args.block) {
            array.shape
        } else {
            vec![done.output.len() / array.kind.bytes()]
        };
        write_whole(
            &args.output,
            &Array {
                kind: array.kind,
                shape,
                bytes: done.output,
            }
            .to_npy(),
        )?;
        outcome.text += &format!("output: {}\n", args.output.display());
        outcome.json["output"] = json!(shown(&args.output));
    }
    args.simulation.emit(&done.run, &mut outcome)?;
    let title = format!("{} on {}", args.kernel.display(), machine.name);
    conclude(
        &args.simulation,
        report,
        Some(&program),
        &title,
        source_text,
        &mut outcome,
    )?;
    Ok(outcome)
}

fn job(args: &Args, kind: Kind) -> Result<MapJob, Failure> {
    let bytes = |elements: u64, option: &str| {
        let bytes = elements.checked_mul(kind.bytes() as u64).filter(|&b| b > 0);
        bytes.ok_or_else(|| {
            Failure::input(format!(
                "{option} {elements}: expected a positive number of elements that fits a memory"
            ))
        })
    };
    let name = args
        .kernel
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    Ok(MapJob {
        output_block: args
            .output_block
            .map(|o| bytes(o, "--output-block"))
            .transpose()?,
        in_place: args.in_place,
        scratch: args.scratch,
        args: args.words.clone(),
        size: args
            .page
            .map_or(BlocksPerSection::ANY, BlocksPerSection::Fixed),
        buffering: args.buffering,
        ..MapJob::new(&name, bytes(args.block, "--block")?)
    })
}
