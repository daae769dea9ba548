//! The commands, one per file: arguments, what they do, what they print.

mod analyze;
mod asm;
mod bench;
mod channels;
mod conv;
mod crosscheck;
mod demo;
mod disasm;
mod dump;
mod fft;
mod filtering;
mod fir;
mod job;
mod machines;
mod map;
mod model;
mod network;
mod npb;
mod pipeline;
mod run;
mod schedule;
mod signal;
mod solve;
mod spmv;
mod stencil;
mod sweep;
mod tune;
mod ways;
mod whatif;

use crate::io::{FileError, read_small};
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome};
use cp2_asm::Program;
use cp2_asm::isa::Op;
use cp2_machine::Machine;
use std::path::Path;
use std::sync::Arc;

/// A command and its arguments.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum CliCommand {
    /// Assemble a source file into an ELF object
    Asm(asm::Args),
    /// Say how fast the loops of a kernel are, and how fast their operations could be
    Analyze(analyze::Args),
    /// Say how linear blocks are scheduled, and write the scheduled program
    Schedule(schedule::Args),
    /// Turn an ELF object back into assembly text
    Disasm(disasm::Args),
    /// Run an object file, or repeat an emitted run
    Run(run::Args),
    /// Send arrays of one to three dimensions through a kernel
    Map(map::Args),
    /// Carry out passes of kernels over arrays, as a file says
    Job(job::Args),
    /// Transform an array, a recording or random numbers, and measure
    Fft(fft::Args),
    /// Convolve or correlate channels with taps, and measure
    Conv(conv::Args),
    /// Filter channels, also decimating or interpolating, and measure
    Fir(fir::Args),
    /// Solve a system of equations with a sparse matrix by an iterative method, and measure
    Solve(solve::Args),
    /// Carry out steps of a stencil over an array, and measure
    Stencil(stencil::Args),
    /// Multiply a sparse matrix with vectors, and measure
    Spmv(spmv::Args),
    /// Find targets in the echoes of a chirp radar
    Demo(demo::Args),
    /// Run a whole receiver, radar or sonar, and compare with real time
    Pipeline(pipeline::Args),
    /// Run a NAS benchmark, and compare with its official value
    Npb(npb::Args),
    /// Find the fastest passes and blocks of a benchmark by trying all of them
    Tune(tune::Args),
    /// Say what a kernel should cost, and compare with the emulator
    Model(model::Args),
    /// Compute problems on several backends, and compare the results with double precision and each other
    Crosscheck(crosscheck::Args),
    /// Measure the network between processors, and compare with its formulas
    Network(network::Args),
    /// List the machines, or show one with the source of every number
    Machines(machines::Args),
    /// Say what a change of the machine would gain and cost, for rows of the library
    Whatif(whatif::Args),
    /// Measure a row of the library on machines whose parameters take several values
    Sweep(sweep::Args),
    /// Measure this emulator on this computer, or a graphics card
    Bench(bench::Args),
}

impl CliCommand {
    /// Runs the command with its arguments.
    pub(crate) fn run(self, json: bool) -> Result<CommandOutcome, CommandFailure> {
        match self {
            Self::Asm(args) => asm::run(&args),
            Self::Analyze(args) => analyze::run(&args),
            Self::Schedule(args) => schedule::run(&args),
            Self::Disasm(args) => disasm::run(&args),
            Self::Run(args) => run::run(&args, json),
            Self::Map(args) => map::run(&args, json),
            Self::Job(args) => job::run(&args, json),
            Self::Fft(args) => fft::run(&args, json),
            Self::Conv(args) => conv::run(&args, json),
            Self::Fir(args) => fir::run(&args, json),
            Self::Solve(args) => solve::run(&args, json),
            Self::Stencil(args) => stencil::run(&args, json),
            Self::Spmv(args) => spmv::run(&args, json),
            Self::Demo(args) => demo::run(&args, json),
            Self::Pipeline(args) => pipeline::run(&args, json),
            Self::Npb(args) => npb::run(&args, json),
            Self::Tune(args) => tune::run(&args, json),
            Self::Model(args) => model::run(&args, json),
            Self::Crosscheck(args) => crosscheck::run(&args, json),
            Self::Network(args) => network::run(&args, json),
            Self::Machines(args) => machines::run(&args, json),
            Self::Whatif(args) => whatif::run(&args, json),
            Self::Sweep(args) => sweep::run(&args, json),
            Self::Bench(args) => bench::run(&args, json),
        }
    }
}

/// Largest object file accepted: program memory, DMEM and debug data of any machine fit.
const OBJECT_LIMIT: u64 = 64 << 20;
/// Largest source file accepted.
const SOURCE_LIMIT: u64 = 16 << 20;

/// Most bytes of memory per byte of a source text while it is read; lines of instructions take that much.
const READ: u64 = 56;
/// Most bytes of memory per byte of an object file while it is read: sections, symbols and source lines.
const OBJECT: u64 = 8;

/// The `--machine` option.
#[derive(Debug, clap::Args)]
pub(crate) struct MachineArg {
    /// Machine: a name (see `cp2 machines`) or the path of a machine file; changes may stand behind it, as in
    /// vm7+section-addressing+dma.granule=4B [default: vm7]
    #[arg(long, value_name = "NAME|FILE[+CHANGE]..")]
    machine: Option<String>,
}

/// Loads a machine by name or file, with changes, and checks that its rows do not hide instructions.
pub(crate) fn load_machine(name: &str) -> Result<Machine, CommandFailure> {
    let machine = Machine::load(name)?;
    let is_taken = |mnemonic: &str| Op::ALL.iter().any(|op| op.row().mnemonic == mnemonic);
    let mut rows = machine.cp2.rows.iter().map(|row| row.definition());
    match rows.find(|row| is_taken(&row.mnemonic)) {
        None => Ok(machine),
        Some(row) => Err(CommandFailure::input(format!(
            "machine {name}: the row `{}` has the mnemonic of an instruction; give it one that docs/isa.md does not have",
            row.mnemonic
        ))),
    }
}

/// Machine without `--machine`.
const DEFAULT_MACHINE: &str = "vm7";

impl MachineArg {
    /// Loads the machine.
    pub(crate) fn load(&self) -> Result<Machine, CommandFailure> {
        load_machine(self.name())
    }

    /// Returns the machine's file, which no output may replace.
    pub(crate) fn file(&self) -> Option<&Path> {
        machine_file(self.name())
    }

    fn name(&self) -> &str {
        self.machine.as_deref().unwrap_or(DEFAULT_MACHINE)
    }
}

/// The `--machine` option of commands that compare machines.
#[derive(Debug, clap::Args)]
pub(crate) struct MachinesArg {
    /// Machine, by name or file; give it again for each more [default: every built-in machine]
    #[arg(id = "machine", long = "machine", value_name = "NAME|FILE")]
    machines: Vec<String>,
}

impl MachinesArg {
    /// Loads the machines: at least one.
    pub(crate) fn load(&self) -> Result<Vec<Arc<Machine>>, CommandFailure> {
        if self.machines.is_empty() {
            let builtin = Machine::names().into_iter().filter_map(Machine::builtin);
            return Ok(builtin.map(Arc::new).collect());
        }
        let load = |name: &String| Ok(Arc::new(load_machine(name)?));
        self.machines.iter().map(load).collect()
    }

    /// True if the command line names a machine.
    pub(crate) fn are_named(&self) -> bool {
        !self.machines.is_empty()
    }

    /// Iterates over the machines' files, which no output may replace.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.machines.iter().filter_map(|m| machine_file(m))
    }
}

/// Returns the file of a machine, unless it is built in.
fn machine_file(machine: &str) -> Option<&Path> {
    (!Machine::names().contains(&machine)).then(|| Path::new(machine))
}

/// Reads a text file.
fn read_text(path: &Path) -> Result<String, CommandFailure> {
    text(path, read_small(path, SOURCE_LIMIT)?)
}

/// Returns the text of a source file that a line table names: a kernel of this tool, a file, or one shipped
/// with the assembler.
fn source_text(file: &str) -> Option<String> {
    cp2_kernels::fft::source(file)
        .map(str::to_owned)
        .or_else(|| read_again(Path::new(file)))
        .or_else(|| cp2_asm::shipped(file).map(str::to_owned))
}

/// Returns the text of a file that was read before. A pipe is left out, since it has no more data and reading
/// it would wait.
fn read_again(path: &Path) -> Option<String> {
    path.is_file().then(|| read_text(path).ok())?
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<String, CommandFailure> {
    memory::check_memory(path.display().to_string(), READ * bytes.len() as u64)?;
    let path = path.to_owned();
    cp2_machine::decode_text(bytes).map_err(|source| FileError::Text { path, source }.into())
}

/// Reads an object file.
fn read_object(path: &Path) -> Result<Program, CommandFailure> {
    object(path, &read_small(path, OBJECT_LIMIT)?)
}

fn object(path: &Path, bytes: &[u8]) -> Result<Program, CommandFailure> {
    memory::check_memory(path.display().to_string(), OBJECT * bytes.len() as u64)?;
    Program::from_elf(bytes).map_err(|e| CommandFailure::in_file(path, e))
}

/// Options of the assembler, shared by the commands that assemble.
#[derive(Debug, clap::Args)]
pub(crate) struct AssemblerArgs {
    /// Define a constant, or override an `.equ` of the source [default: none]
    #[arg(short = 'D', value_name = "NAME=EXPR")]
    define: Vec<String>,
    /// Look for included files here too [default: the directory of the including file only]
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<std::path::PathBuf>,
}

/// A kernel with the assembler's warnings; an object has none.
struct LoadedKernel {
    program: Program,
    warnings: Option<cp2_asm::Diagnostics>,
}

impl AssemblerArgs {
    /// True if the command line has an option of the assembler.
    fn is_given(&self) -> bool {
        !self.define.is_empty() || !self.include.is_empty()
    }

    /// Returns a kernel, and the number of warnings of the assembler as text, since only `cp2 asm` prints the
    /// warnings themselves.
    fn kernel(&self, path: &Path, machine: &Machine) -> Result<(Program, String), CommandFailure> {
        let LoadedKernel { program, warnings } = self.load_kernel(path, machine)?;
        let (count, path) = (
            warnings.map_or(0, |warnings| warnings.len()),
            path.display(),
        );
        let note = match count {
            0 => String::new(),
            1 => format!("note: 1 warning of the assembler; `cp2 asm {path}` prints it\n"),
            _ => format!("note: {count} warnings of the assembler; `cp2 asm {path}` prints them\n"),
        };
        Ok((program, note))
    }

    /// Returns a kernel, assembled from its source or, if the file begins as ELF does, read from an object.
    fn load_kernel(&self, path: &Path, machine: &Machine) -> Result<LoadedKernel, CommandFailure> {
        // The file is read once, since it may be a pipe.
        let bytes = read_small(path, OBJECT_LIMIT)?;
        if !bytes.starts_with(b"\x7fELF") {
            let assembly = self.assemble_text(path, text(path, bytes)?, machine)?;
            return Ok(LoadedKernel {
                program: assembly.program,
                warnings: Some(assembly.warnings),
            });
        }
        if self.is_given() {
            let message = "is assembled already, -D and -I come too late; give the source instead";
            return Err(CommandFailure::in_file(path, message));
        }
        Ok(LoadedKernel {
            program: object(path, &bytes)?,
            warnings: None,
        })
    }

    /// Assembles a file for a machine.
    fn assemble(
        &self,
        path: &Path,
        machine: &Machine,
    ) -> Result<cp2_asm::Assembly, CommandFailure> {
        self.assemble_text(path, read_text(path)?, machine)
    }

    fn assemble_text(
        &self,
        path: &Path,
        text: String,
        machine: &Machine,
    ) -> Result<cp2_asm::Assembly, CommandFailure> {
        let include = cp2_asm::IncludeFiles {
            directories: self.include.clone(),
        };
        let defines = self
            .define
            .iter()
            .map(|d| cp2_asm::parse_define(d))
            .collect::<Result<Vec<_>, _>>()?;
        for (i, (name, _)) in defines.iter().enumerate() {
            if defines.iter().take(i).any(|(before, _)| before == name) {
                return Err(CommandFailure::input(format!(
                    "-D {name}: defined twice; expected one value for a name"
                )));
            }
        }
        let source = cp2_asm::Source::new(path.display().to_string(), text);
        let options = cp2_asm::Options {
            defines,
            machine: Some(machine),
            check_registers: true,
            include: Some(&include),
            ..cp2_asm::Options::default()
        };
        Ok(cp2_asm::assemble(&source, &options)?)
    }
}
