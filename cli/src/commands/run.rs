//! `cp2 run`: runs an object file, or a directory that `--emit` wrote.

mod replay;

use super::dump::{DmemDump, DmemLoad, registers_json, registers_text};
use super::{AssemblerArgs, load_machine, source_text};
use crate::io::{FileError, Kind, Outputs, read_rows};
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::provenance::ReportProvenance;
use crate::simulation::{SimulationArgs, conclude, figures, merge, table, unknown_limits};
use cp2_dma::{Descriptor, Target};
use cp2_host::{Command, Device, Event, FinishedRun, HostAction};
use replay::replay;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Assembly source, an object file of `cp2 asm`, or a directory that `--emit` wrote
    input: PathBuf,
    /// Machine: a name or the path of a machine file [default: vm7; for a directory the recorded one]
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Load an array into DMEM before the launch: 1-D into every section, 2-D a row per section [default:
    /// none]
    #[arg(long, value_name = "ADDR=FILE.npy")]
    dmem: Vec<DmemLoad>,
    /// DMEM address of the argument block, in a15 at launch [default: 0]
    #[arg(long, value_name = "ADDR", value_parser = super::dump::parse_address, default_value = "0", hide_default_value = true)]
    args: u32,
    /// Post an event before the launch, as a page's load does; may be repeated [default: none]
    #[arg(long, value_name = "EVENT")]
    post: Vec<u32>,
    /// Print DMEM at the end, or write it as float32, a row per section [default: not dumped]
    #[arg(long, value_name = "ADDR:BYTES[=FILE.npy]")]
    dump_dmem: Vec<DmemDump>,
    /// Print the registers at the end, those that are not zero [default: not printed]
    #[arg(long)]
    dump_registers: bool,
    /// Write the result of a recorded run: .npy of the recorded element type and shape [default: not written]
    #[arg(long, value_name = "FILE.npy")]
    output: Option<PathBuf>,
    /// Which of several results --output writes, by its name in `commands.json` [default: the first]
    #[arg(long, value_name = "NAME", requires = "output")]
    result: Option<String>,
    #[command(flatten)]
    assembler: AssemblerArgs,
    #[command(flatten)]
    simulation: SimulationArgs,
}

/// Runs `cp2 run`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let inputs = args
        .dmem
        .iter()
        .map(|d| d.file.as_path())
        .chain([args.input.as_path()])
        .chain(args.machine.as_deref().map(Path::new));
    let mut outputs = Outputs::from_inputs(inputs);
    let dumps = args.dump_dmem.iter().filter_map(|d| d.file.as_ref());
    for file in dumps.chain(&args.output) {
        crate::io::check_extension(file, "npy", ".npy")?;
        outputs.check(file)?;
    }
    args.simulation.check_outputs(&mut outputs)?;
    let (run, mut outcome) = if args.input.is_dir() {
        replay(args, json)?
    } else {
        launch(args, json)?
    };
    for dump in &args.dump_dmem {
        dump.apply(run.processor(), &mut outcome)?;
    }
    if args.dump_registers {
        outcome.text += &registers_text(run.processor());
        outcome.json["registers"] = registers_json(run.processor());
    }
    args.simulation.emit(&run, &mut outcome)?;
    let title = args.input.display().to_string();
    conclude(&args.simulation, &run, &title, source_text, &mut outcome)?;
    Ok(outcome)
}

fn launch(args: &Args, json: bool) -> Result<(FinishedRun, CommandOutcome), CommandFailure> {
    if args.output.is_some() {
        let message =
            "--output belongs to a recorded run; a program leaves its results in DMEM: --dump-dmem";
        return Err(CommandFailure::in_file(&args.input, message));
    }
    let machine = Arc::new(load_machine(args.machine.as_deref().unwrap_or("vm7"))?);
    let (program, notes) = args.assembler.kernel(&args.input, &machine)?;
    let program = Arc::new(program);
    let (options, progress) = args.simulation.begin(None, json);
    let mut device = Device::with_options(machine.clone(), options);
    let in_file = |e: cp2_host::HostError| CommandFailure::in_file(&args.input, e);
    let name = args
        .input
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let placed = device.place(&name, program.clone()).map_err(in_file)?;
    // A load may take several transfers; the DMA completes them in order.
    let mut ready: Vec<Event> = vec![device.load(&placed, &[]).map_err(in_file)?];
    for load in &args.dmem {
        ready.push(load_dmem(&mut device, load)?);
    }
    for &event in &args.post {
        let post = Command::new("post", HostAction::Post { event });
        ready.push(device.command(post).map_err(in_file)?);
    }
    device
        .launch(&name, program.entry.into(), args.args, &ready)
        .map_err(in_file)?;
    let run = device.finish().map_err(in_file)?;
    drop(progress);
    let mut outcome = CommandOutcome {
        text: table(&run.report),
        json: ReportProvenance::new("cp2-run/1", &machine, None)
            .engine(args.simulation.engine().resolve_engine(&machine))
            .add_figures(merge(figures(&run.report), unknown_limits(&[]))),
        notes,
        exit: 0,
    };
    outcome.not_judged();
    Ok((run, outcome))
}

fn load_dmem(device: &mut Device, load: &DmemLoad) -> Result<Event, CommandFailure> {
    let cp2 = &device.machine().cp2;
    let sections = cp2.sections;
    let limit = cp2.dmem.0.saturating_mul(sections as u64);
    let array = read_rows(&load.file, Kind::ANY, limit)?;
    let bytes = array.bytes.len() as u64;
    let (target, run) = match *array.shape.as_slice() {
        [rows, _] if rows == sections => {
            let run = bytes / rows.max(1) as u64;
            (
                Target::Blocks {
                    stride: i64::try_from(run).unwrap_or(i64::MAX),
                },
                run,
            )
        }
        [rows, _] => {
            let found = format!("{rows} rows");
            let expected = format!("{sections}, one per section, or a 1-D array for every section");
            return Err(FileError::format(&load.file, found, expected).into());
        }
        _ => (Target::Broadcast, bytes),
    };
    let granule = device.machine().dma.granule.0.max(1);
    if !run.is_multiple_of(granule) || run == 0 {
        let found = format!(
            "{run} B for a section ({} elements)",
            run / array.kind.bytes() as u64
        );
        let expected = format!("whole granules of the DMA, {granule} B: fill up with zeros");
        return Err(FileError::format(&load.file, found, expected).into());
    }
    if !u64::from(load.address).is_multiple_of(granule) {
        let at = load.address;
        return Err(CommandFailure::input(format!(
            "--dmem {at:#x}={}: the address must be a multiple of the DMA's granule, {granule} B",
            load.file.display()
        )));
    }
    let in_file = |e: cp2_host::HostError| CommandFailure::in_file(&load.file, e);
    let buffer = device.alloc_from(&array.bytes).map_err(in_file)?;
    device.input(cp2_host::emit::EmittedArray {
        element: array.kind.name().to_owned(),
        shape: array.shape.iter().map(|&d| d as u64).collect(),
        ..cp2_host::emit::EmittedArray::new(&format!("dmem {:#x}", load.address), buffer, &[bytes])
    });
    let descriptor = Descriptor::load(target, buffer.address(), load.address, run);
    device
        .dma(&format!("dmem {:#x}", load.address), descriptor, &[])
        .map_err(in_file)
}
