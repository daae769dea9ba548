//! `cp2 spmv`: multiplies a sparse matrix with vectors.

mod elsewhere;
mod power;
mod report;

use super::MachineArg;
use crate::backends::{BackendArg, add_simulated_clock};
use crate::interrupt;
use crate::io::{
    Kind, NpyArray, Outputs, check_extension, display_path, read_matrix, read_npy, write_npy,
};
use crate::memory;
use crate::outcome::{CommandFailure, CommandOutcome, WrongResult};
use crate::picture::{check_name, matrix::MatrixPicture};
use crate::progress;
use crate::provenance::ReportProvenance;
use crate::simulation::{SIMULATED, SimulationArgs, conclude};
use crate::table::seconds;
use cp2_kernels::sparse::{PackedFormat, Products};
use cp2_machine::Machine;
use cp2_problems::sparse::{PowerProblem, SparseMatrix, SpmvProblem};
use cp2_problems::{Case, NamedArrays, Problem as _};
use report::PlannedProduct;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Matrix: a file of the Matrix Market
    #[arg(long, value_name = "A.mtx")]
    matrix: PathBuf,
    /// Vector, or columns x K numbers of K vectors: .npy of float32, or of complex64 if the matrix is complex
    /// [default: random numbers]
    #[arg(long, value_name = "X.npy")]
    x: Option<PathBuf>,
    /// Number of vectors that are generated
    #[arg(long, value_name = "K", default_value_t = 1, conflicts_with = "x")]
    vectors: usize,
    /// Multiply this often, each time with the product before divided by its length, from x or random numbers
    /// on: says what value that comes near, as a rule the eigenvalue of the largest size, and --output is the
    /// last vector [default: one product]
    #[arg(long, value_name = "N", value_parser = iterations, conflicts_with_all = ["vectors", "plan"])]
    iterations: Option<usize>,
    /// Write the product: .npy [default: not written]
    #[arg(long, value_name = "Y.npy")]
    output: Option<PathBuf>,
    /// Pack the matrix in this format: gather, diagonal, or on machines with section-addressing sell, and with
    /// word-addressing too sell-words
    /// [default: the one whose product takes the fewest cycles]
    #[arg(long, value_name = "NAME")]
    format: Option<PackedFormat>,
    /// Multiply with the transpose, without conjugation [default: with the matrix]
    #[arg(long)]
    transpose: bool,
    /// Seed of generated numbers, uniform in [-1, 1) [default: 1]
    #[arg(long, value_name = "S", conflicts_with = "x")]
    seed: Option<u64>,
    /// Draw the pattern, and what of it is multiplied with one piece of the vector: .svg or .png [default:
    /// not drawn]
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Print what every format costs and which is chosen, and compute nothing [default: compute]
    #[arg(long, conflicts_with = "output", conflicts_with_all = SIMULATED)]
    plan: bool,
    #[command(flatten)]
    backend: BackendArg,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    simulation: SimulationArgs,
}

fn iterations(text: &str) -> Result<usize, String> {
    let most = PowerProblem::MOST_ITERATIONS;
    let number = text.parse().ok().filter(|n| (1..=most).contains(n));
    number.ok_or_else(|| format!("expected 1 to {most}"))
}

/// Runs `cp2 spmv`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    if let Some(iterations) = args.iterations {
        return power::run(args, iterations, json);
    }
    args.check_outputs()?;
    if let Some(backend) = args.backend.measured()? {
        return elsewhere::run(args, &backend);
    }
    let machine: Arc<Machine> = Arc::new(args.machine.load()?);
    let (problem, x) = args.load(&machine)?;
    let planning = progress::planning(json);
    let started = Instant::now();
    let products = Products::new(&problem, &machine, args.format);
    let host_seconds = started.elapsed().as_secs_f64();
    drop(planning);
    let products = products.map_err(CommandFailure::input)?;
    let planned = PlannedProduct {
        problem: &problem,
        products: &products,
        machine: &machine,
        host_seconds,
    };
    let mut outcome = match args.plan {
        true => report::report_plan(&planned, &x)?,
        false => args.computed(&planned, &x, json)?,
    };
    if let Some(path) = &args.picture {
        let picture = MatrixPicture::new(problem.title(), problem.matrix());
        let picture = report::divided(picture, products.product());
        picture.write(path)?;
        outcome.text += &format!("picture: {}\n", path.display());
        outcome.json["picture"] = json!(display_path(path));
    }
    let seed = (!args.plan && args.x.is_none()).then(|| args.generated_seed());
    let mut head = ReportProvenance::new("cp2-spmv/1", &machine, seed);
    if !args.plan {
        head = head.engine(args.simulation.engine().resolve_engine(&machine));
    }
    outcome.json = head.add_figures(outcome.json);
    outcome.json["matrix"] = json!(display_path(&args.matrix));
    add_simulated_clock(&mut outcome);
    Ok(outcome)
}

impl Args {
    fn check_outputs(&self) -> Result<(), CommandFailure> {
        let read = [Some(self.matrix.as_path()), self.x.as_deref()];
        let read = read.into_iter().flatten().chain(self.machine.file());
        let mut outputs = Outputs::from_inputs(read);
        if let Some(path) = &self.x {
            check_extension(path, "npy", ".npy")
                .map_err(|e| CommandFailure::input(format!("--x: {e}")))?;
        }
        if let Some(path) = &self.output {
            check_extension(path, "npy", ".npy")?;
            outputs.check(path)?;
        }
        if let Some(path) = &self.picture {
            check_name(path)?;
            outputs.check(path)?;
        }
        self.simulation.check_outputs(&mut outputs)
    }

    /// Reads the matrix.
    fn matrix(&self, machine: &Machine) -> Result<Arc<SparseMatrix>, CommandFailure> {
        // Each row and column needs at least one number in system memory.
        let side = usize::try_from(machine.host.memory.0 / 4).unwrap_or(usize::MAX);
        let matrix = read_matrix(&self.matrix, side)?;
        Ok(Arc::new(if self.transpose {
            matrix.transpose()
        } else {
            matrix
        }))
    }

    /// Reads the matrix, and reads or generates the vectors.
    fn load(&self, machine: &Machine) -> Result<(SpmvProblem, NamedArrays), CommandFailure> {
        let limit = machine.host.memory.0;
        let matrix = self.matrix(machine)?;
        let kind = element_kind(&matrix);
        let file = self.x.as_deref();
        let array = file
            .map(|path| read_npy(path, &[kind], limit))
            .transpose()?;
        let cols = matrix.cols();
        let vectors = match (&array, file) {
            (Some(array), Some(path)) => vectors(array, cols, path)?,
            _ => self.vectors,
        };
        // The size is checked before the vectors are generated.
        Products::check(&matrix, vectors, machine).map_err(CommandFailure::input)?;
        let (nnz, sides) = (matrix.nnz(), matrix.rows() + matrix.cols());
        let problem = SpmvProblem::new(matrix, vectors).map_err(CommandFailure::input)?;
        let bytes = memory::matrix_bytes(nnz, sides, problem.vectors());
        memory::check_memory(problem.title(), bytes)?;
        let Some(array) = array else {
            let x = problem.input(Case::Random, self.generated_seed());
            return Ok((problem, x));
        };
        let x = match kind {
            Kind::Complex64 => NamedArrays::from_array("x", &array.shape, array.to_complex()),
            _ => {
                let numbers = array.to_complex().into_iter().map(|z| z.re);
                NamedArrays::from_array("x", &array.shape, numbers.collect::<Vec<f32>>())
            }
        };
        Ok((problem, x))
    }

    /// Returns the seed of generated numbers.
    fn generated_seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Runs the product and judges the result.
    fn computed(
        &self,
        planned: &PlannedProduct<'_>,
        x: &NamedArrays,
        json: bool,
    ) -> Result<CommandOutcome, CommandFailure> {
        let PlannedProduct {
            problem, products, ..
        } = *planned;
        let sides = problem.matrix().rows() + problem.matrix().cols();
        let vectors = memory::matrix_bytes(0, sides, problem.vectors());
        let bytes = memory::products_bytes(products.products()).saturating_add(vectors);
        memory::check_memory(problem.title(), bytes)?;
        let known = products.figures();
        let expected = products.expected().0;
        let (options, progress) = self.simulation.begin(Some(expected), json);
        let started = Instant::now();
        let task = products.task(x, options).map_err(CommandFailure::input)?;
        let run = task.run(known).map_err(CommandFailure::input)?;
        let host_seconds = started.elapsed().as_secs_f64();
        drop(progress);
        let kept = run.keeps_inputs().map_err(CommandFailure::input)?;
        let output = run.output.as_ref().filter(|_| kept);
        let judged = output.map(|y| interrupt::run_interruptible(|| problem.judge(x, y)));
        let verdict = judged.transpose()?;
        let mut outcome = report::report_product(planned, &run, verdict, host_seconds);
        outcome.text += &format!("simulated in {}\n", seconds(host_seconds));
        self.simulation.emit(&run.run, &mut outcome)?;
        conclude(
            &self.simulation,
            &run.run,
            &problem.title(),
            |_| None,
            &mut outcome,
        )?;
        let wrong = WrongResult {
            whose: "the result's",
            tolerance: "the tolerance",
            cause: &format!(
                "sums overflow in f32 ({})",
                name_alternative_formats(products.product().format(), planned.machine)
            ),
        };
        outcome.report_verdict(kept, verdict, wrong);
        if let (Some(path), Some(y)) = (&self.output, &run.output) {
            let shape = find_shape(problem, x)?;
            let y = y.array("y").map_err(CommandFailure::input)?;
            let array = NpyArray {
                kind: element_kind(problem.matrix()),
                shape,
                bytes: y.values.bytes(),
            };
            write_npy(path, &array)?;
            outcome.text += &format!("output: {}\n", path.display());
            outcome.json["output"] = json!(display_path(path));
        }
        Ok(outcome)
    }
}

/// Names the matrix format and those that the machine can take instead: with a wrong result, another format
/// tells whether the format is at fault.
pub(super) fn name_alternative_formats(format: PackedFormat, machine: &Machine) -> String {
    let others = PackedFormat::possible(machine).filter(|&other| other != format);
    let others: Vec<String> = others.map(|other| format!("--format {other}")).collect();
    format!(
        "the matrix is packed as `{format}`; compare with {}",
        others.join(" or ")
    )
}

/// Returns the number of vectors in an array.
fn vectors(array: &NpyArray, cols: usize, path: &Path) -> Result<usize, CommandFailure> {
    match array.shape[..] {
        [n] if n == cols => Ok(1),
        [n, vectors] if n == cols && vectors > 0 => Ok(vectors),
        _ => {
            let found = format!(
                "an array of shape {:?}; expected [{cols}] or [{cols}, K]: as many numbers or rows as the matrix has columns",
                array.shape
            );
            Err(CommandFailure::in_file(path, found))
        }
    }
}

/// Returns the type of the vectors' elements.
fn element_kind(matrix: &SparseMatrix) -> Kind {
    match matrix.is_complex() {
        true => Kind::Complex64,
        false => Kind::Float32,
    }
}

/// Returns the shape of the product in its file; a single column vector stays a column.
fn find_shape(problem: &SpmvProblem, x: &NamedArrays) -> Result<Vec<usize>, CommandFailure> {
    let forms = problem.outputs();
    let mut shape = forms.first().map_or(Vec::new(), |form| form.shape.clone());
    let given = x.array("x").map_err(CommandFailure::input)?;
    if let ([_, 1], [_]) = (&given.shape[..], &shape[..]) {
        shape.push(1);
    }
    Ok(shape)
}
