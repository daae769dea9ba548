//! `cp2 model`: the expected time of a kernel, compared with the emulator.

mod show;

use super::{MachinesArg, load_machine};
use crate::io::{FileError, Outputs, check_extension, write_whole};
use crate::outcome::{BAD_INPUT, CommandFailure, CommandOutcome, GUEST_FAULT, UNVERIFIED};
use crate::picture::roofline::{self, RooflineRates};
use crate::simulation::HostArgs;
use clap::{Arg, ArgMatches, Command, FromArgMatches, error::ErrorKind};
use cp2_host::DeviceOptions;
use cp2_kernels::registry::{self, Kernel, KernelError, Size};
use cp2_machine::Machine;
use cp2_model::{Procedure, Roofline, System, estimate};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest system or procedure file accepted.
const FILE_LIMIT: u64 = 1 << 20;

/// Arguments: one subcommand for every kernel of the registry.
#[derive(Debug)]
pub(crate) struct Args {
    whole: Whole,
    kernel: Option<(&'static str, Size, One)>,
}

/// Without a kernel.
#[derive(Debug, clap::Args)]
struct Whole {
    /// Expect and emulate every kernel of the library, at the sizes of its tables [default: one kernel, or a
    /// --procedure]
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    machines: MachinesArg,
    /// A procedure as TOML, see docs/performance-model.md [default: a kernel]
    #[arg(long, value_name = "FILE", requires = "system", conflicts_with = "all")]
    procedure: Option<PathBuf>,
    /// The system of the --procedure: TOML, or a built-in machine [default: none]
    #[arg(long, value_name = "NAME|FILE", requires = "procedure")]
    system: Option<String>,
    #[command(flatten)]
    host: HostArgs,
    /// With --procedure: write the roofline: .svg [default: not written]
    #[arg(
        id = "roofline-of",
        long = "roofline",
        value_name = "FILE",
        requires = "procedure"
    )]
    roofline: Option<PathBuf>,
}

/// With a kernel.
#[derive(Debug, clap::Args)]
struct One {
    /// Machine, by name (see `cp2 machines`) or file; give it again for each more [default: vm7]
    #[arg(
        long = "machine",
        value_name = "NAME|FILE",
        default_value = "vm7",
        hide_default_value = true
    )]
    machines: Vec<String>,
    /// Emulate it too and compare [default: only the model]
    #[arg(long)]
    emulate: bool,
    #[command(flatten)]
    host: HostArgs,
    /// Write the roofline, with --emulate the measured rate in it: .svg [default: not written]
    #[arg(long, value_name = "FILE")]
    roofline: Option<PathBuf>,
}

impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let kernels = registry::all().into_iter().map(|kernel| {
            let parameters = kernel.parameters().iter().map(|p| {
                let number = p.default.number().is_some();
                let own = p.clone();
                let parse = move |text: &str| {
                    let value = own.value(text);
                    value.ok_or_else(|| "expected a number of 0 or more".to_owned())
                };
                Arg::new(p.name)
                    .long(p.name)
                    .value_name(if number { "NUMBER" } else { "WORD" })
                    .value_parser(parse)
                    .help(format!("{} [default: {}]", p.help, p.default))
            });
            // The comment on `One` would be the summary if it came last.
            One::augment_args(Command::new(kernel.name()).args(parameters)).about(kernel.summary())
        });
        Whole::augment_args(command)
            .subcommands(kernels)
            .subcommand_value_name("KERNEL")
            .subcommand_help_heading("Kernels")
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let whole = Whole::from_arg_matches(matches)?;
        let kernel = match matches.subcommand() {
            None => None,
            Some((name, matches)) => {
                let kernel = registry::find(name)
                    .ok_or_else(|| clap::Error::raw(ErrorKind::InvalidSubcommand, name))?;
                if whole.all || whole.procedure.is_some() || whole.machines.are_named() {
                    return Err(clap::Error::raw(
                        ErrorKind::ArgumentConflict,
                        format!(
                            "`{name}` is one kernel: leave out --all and --procedure, and give its --machine behind it\n"
                        ),
                    ));
                }
                let value = |p: &registry::SizeParameter| {
                    let given = matches.get_one::<registry::SizeValue>(p.name);
                    (p.name, given.unwrap_or(&p.default).clone())
                };
                let parameters = kernel.parameters().iter();
                let given = parameters.map(|p| (p, value(p)));
                let kept = given.filter(|(p, (_, value))| !p.leaves_out(value));
                let values: Vec<_> = kept.map(|(_, named)| named).collect();
                let one = One::from_arg_matches(matches)?;
                Some((kernel.name(), Size::new(&values), one))
            }
        };
        Ok(Self { whole, kernel })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Runs `cp2 model`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    if let Some((name, size, one)) = &args.kernel {
        let kernel = registry::find(name)
            .ok_or_else(|| CommandFailure::input(format!("there is no kernel `{name}`")))?;
        return single(kernel, size, one, json);
    }
    let whole = &args.whole;
    if whole.all {
        return table(whole, json);
    }
    if whole.machines.are_named() {
        return Err(CommandFailure::input(
            "--machine goes with --all, or behind a kernel: `cp2 model fft --machine vm9`",
        ));
    }
    match (&whole.procedure, &whole.system) {
        (Some(procedure), Some(system)) => {
            report_procedure(procedure, system, whole.roofline.as_deref())
        }
        _ => Err(CommandFailure::input(format!(
            "expected a kernel, --all, or --procedure and --system; the kernels are {}",
            registry::all()
                .iter()
                .map(|k| k.name())
                .collect::<Vec<_>>()
                .join(", ")
        ))),
    }
}

/// Reports one kernel of one size, on one machine or on several.
fn single(
    kernel: &dyn Kernel,
    size: &Size,
    one: &One,
    json: bool,
) -> Result<CommandOutcome, CommandFailure> {
    let files = one.machines.iter().filter_map(|m| super::machine_file(m));
    check_roofline(one.roofline.as_deref(), files)?;
    let load = |name: &String| Ok::<_, CommandFailure>(Arc::new(load_machine(name)?));
    let machines: Vec<Arc<Machine>> = one.machines.iter().map(load).collect::<Result<_, _>>()?;
    if let [machine] = machines.as_slice() {
        return report_on_machine(kernel, size, one, machine, json);
    }
    if one.roofline.is_some() {
        return Err(CommandFailure::input(
            "--roofline is a picture of one machine; give --machine once",
        ));
    }
    let mut all = CommandOutcome::default();
    let mut rows = Vec::new();
    for machine in &machines {
        let outcome = report_on_machine(kernel, size, one, machine, json)?;
        let gap = if rows.is_empty() { "" } else { "\n" };
        all.text += &format!("{gap}{}", outcome.text);
        all.notes += &outcome.notes;
        all.exit = all.exit.max(outcome.exit);
        rows.push(outcome.json);
    }
    all.json = show::several(rows);
    Ok(all)
}

fn report_on_machine(
    kernel: &dyn Kernel,
    size: &Size,
    one: &One,
    machine: &Arc<Machine>,
    json: bool,
) -> Result<CommandOutcome, CommandFailure> {
    let system = System::from_machine(machine);
    let planning = crate::progress::planning(json);
    let prepared = kernel
        .prepare(size, machine, DeviceOptions::default())
        .map_err(CommandFailure::input)?;
    drop(planning);
    let title = format!("{}, {size}", kernel.name());
    let procedure = prepared.procedure(&title);
    let expected = estimate(&procedure, &system).map_err(CommandFailure::input)?;
    let mut outcome = show::expected(&expected, &system, &title);
    show::kernel(
        &mut outcome,
        kernel,
        size,
        machine,
        &prepared.figures,
        prepared.recipe.as_deref(),
    );
    let mut measured = None;
    if one.emulate {
        crate::interrupt::check()?;
        let row = registry::measure(kernel, size, machine, one.host.options()).map_err(failed)?;
        show::emulated(&mut outcome, &row);
        measured = Some(row.ratio);
    }
    let shape = (&procedure, &system, measured);
    write_roofline(one.roofline.as_deref(), shape, &mut outcome)?;
    Ok(outcome)
}

/// Reports every kernel, size and machine.
fn table(whole: &Whole, json: bool) -> Result<CommandOutcome, CommandFailure> {
    let machines = whole.machines.load()?;
    let work: Vec<_> = registry::all()
        .into_iter()
        .flat_map(|kernel| kernel.sizes().into_iter().map(move |size| (kernel, size)))
        .flat_map(|(kernel, size)| machines.iter().map(move |m| (kernel, size.clone(), m)))
        .collect();
    let progress = crate::progress::steps(work.len() as u64, json);
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for (kernel, size, machine) in work {
        crate::interrupt::check()?;
        progress.begin(&format!("{} {size} {}", kernel.name(), machine.name));
        match registry::measure(kernel, &size, machine, whole.host.options()) {
            Ok(row) => rows.push(row),
            // A run that started and failed, or gave a wrong result, is no question of size: the command
            // fails.
            Err(e @ (KernelError::Unfinished { .. } | KernelError::Wrong { .. })) => {
                return Err(failed(e));
            }
            Err(e) => refused.push(show::RefusedRow {
                kernel: kernel.name(),
                size: size.to_string(),
                machine: machine.name.clone(),
                reason: e.to_string(),
            }),
        }
        progress.count_step();
    }
    match refused.first() {
        Some(first) if rows.is_empty() => Err(CommandFailure::input(format!(
            "no kernel can run; the first, {} {} on {}: {}",
            first.kernel, first.size, first.machine, first.reason
        ))),
        _ => Ok(show::rows(&rows, &refused)),
    }
}

/// Converts a kernel's error: a run that did not end is the guest's fault, a wrong result the library's.
fn failed(error: KernelError) -> CommandFailure {
    let exit = match error {
        KernelError::Unfinished { .. } => GUEST_FAULT,
        KernelError::Wrong { .. } => UNVERIFIED,
        _ => BAD_INPUT,
    };
    CommandFailure {
        exit,
        ..CommandFailure::input(error)
    }
}

/// Reports the expected time of a procedure on a system, both from files.
fn report_procedure(
    path: &Path,
    system: &str,
    picture: Option<&Path>,
) -> Result<CommandOutcome, CommandFailure> {
    check_roofline(picture, [path, Path::new(system)])?;
    let text = super::text(path, crate::io::read_small(path, FILE_LIMIT)?)?;
    let procedure = Procedure::from_toml(&text).map_err(|e| CommandFailure::in_file(path, e))?;
    let (machine, system) = read_system(system)?;
    let expected = estimate(&procedure, &system).map_err(|e| CommandFailure::in_file(path, e))?;
    let mut outcome = show::expected(&expected, &system, &procedure.name);
    if let Some(machine) = &machine {
        show::provenance(&mut outcome, machine);
    }
    write_roofline(picture, (&procedure, &system, None), &mut outcome)?;
    Ok(outcome)
}

/// Returns a built-in machine, or reads a file once and decides by its tables whether it is a machine or a
/// system.
fn read_system(name: &str) -> Result<(Option<Machine>, System), CommandFailure> {
    let path = Path::new(name);
    let machine = match Machine::builtin(name) {
        Some(machine) => machine,
        None => {
            let text = super::text(path, crate::io::read_small(path, FILE_LIMIT)?)?;
            if !is_machine(&text) {
                let system =
                    System::from_toml(&text).map_err(|e| CommandFailure::in_file(path, e))?;
                return Ok((None, system));
            }
            Machine::parse(name, &text)?
        }
    };
    let system = System::from_machine(&machine);
    Ok((Some(machine), system))
}

/// True if a text describes a machine rather than a system.
fn is_machine(text: &str) -> bool {
    let table: toml::Table = match text.parse() {
        Ok(table) => table,
        Err(_) => return false,
    };
    let machines = ["base", "cp2", "dma", "host"];
    machines.iter().any(|key| table.contains_key(*key))
}

fn check_roofline<'a>(
    path: Option<&Path>,
    beside: impl IntoIterator<Item = &'a Path>,
) -> Result<(), FileError> {
    if let Some(path) = path {
        check_extension(path, "svg", ".svg")?;
        Outputs::from_inputs(beside).check(path)?;
    }
    Ok(())
}

fn write_roofline(
    path: Option<&Path>,
    (procedure, system, measured): (&Procedure, &System, Option<f64>),
    outcome: &mut CommandOutcome,
) -> Result<(), CommandFailure> {
    let Some(path) = path else {
        return Ok(());
    };
    let shape = Roofline::new(procedure, system).map_err(CommandFailure::input)?;
    if shape.points.is_empty() {
        outcome.text +=
            "roofline: no point, since there are no floating-point operations or no transfers\n";
    }
    let rates = RooflineRates {
        expected: Some(1.0),
        measured,
    };
    write_whole(path, roofline::svg(&shape, rates).as_bytes())?;
    outcome.text += &format!("roofline: {}\n", path.display());
    outcome.json["roofline"] = serde_json::json!(crate::io::display_path(path));
    Ok(())
}
