//! Property tests of a kernel against a Rust closure (feature `testing`).

mod neighbourhood;

pub use neighbourhood::{Inputs, Neighbourhood};

use super::{ArrayJob, ElementType, Input, Mapped, Output, map};
use cp2_asm::Program;
use cp2_host::nest::BoundaryRule;
use cp2_host::testing::{Tolerance, on_both_engines};
use cp2_machine::Machine;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::fmt;
use std::sync::Arc;

/// A property test over arrays of float32.
#[derive(Clone, Debug)]
pub struct KernelTest {
    /// Job without its arrays: words, scratch, paging and options.
    pub job: ArrayJob<'static>,
    /// Number of inputs.
    pub inputs: usize,
    /// Elements of a block along each axis, slowest first.
    pub block: Vec<u64>,
    /// Elements of the output's blocks, where these differ from the inputs'; for a reduction, the extents of
    /// its one block.
    pub output_block: Option<Vec<u64>>,
    /// Elements of the inputs' halo along each axis.
    pub halo: Vec<u64>,
    /// Continuation of the inputs beyond their edges.
    pub edge: BoundaryRule,
    /// Largest extent to try along each axis.
    pub most: Vec<u64>,
    /// Number of arrays to try.
    pub cases: u32,
    /// Allowed difference between kernel and reference.
    pub tolerance: Tolerance,
}

/// Blocks of the longest arrays of one axis: enough for pages of several sizes, and a part of one.
const BLOCKS: u64 = 40;

impl KernelTest {
    /// Creates a test of 32 shapes with one input without halo, compared bit for bit, under the checkers.
    ///
    /// Arrays of one axis have up to 40 blocks, others up to three blocks and 5 elements along each axis.
    #[must_use]
    pub fn new(name: &str, block: &[u64]) -> Self {
        let most = |n: &u64| match block.len() {
            1 => n.saturating_mul(BLOCKS),
            _ => n.saturating_mul(3).saturating_add(5),
        };
        Self {
            job: ArrayJob::new(name),
            inputs: 1,
            block: block.to_vec(),
            output_block: None,
            halo: vec![0; block.len()],
            edge: BoundaryRule::Zero,
            most: block.iter().map(most).collect(),
            cases: 32,
            tolerance: Tolerance::Exact,
        }
    }

    /// Sets the halo, and the continuation beyond the edges.
    #[must_use]
    pub fn halo(mut self, halo: &[u64], edge: BoundaryRule) -> Self {
        self.halo = halo.to_vec();
        self.edge = edge;
        self
    }

    /// Sets the number of inputs.
    #[must_use]
    pub fn inputs(mut self, inputs: usize) -> Self {
        self.inputs = inputs;
        self
    }

    /// Sets the tolerance.
    #[must_use]
    pub fn tolerance(mut self, tolerance: Tolerance) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Returns the elements of the output's blocks.
    fn output_block(&self) -> &[u64] {
        self.output_block.as_deref().unwrap_or(&self.block)
    }
}

/// The smallest arrays found for which the kernel fails.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFailure {
    /// Description of what is wrong.
    pub reason: String,
    /// Extents of the arrays.
    pub shape: Vec<u64>,
    /// Elements of each input.
    pub inputs: Vec<Vec<f32>>,
}

/// Most numbers of an input that are shown.
const SHOWN: usize = 64;

impl fmt::Display for KernelFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        if self.inputs.is_empty() {
            return Ok(());
        }
        write!(f, "; smallest arrays found, {:?}:", self.shape)?;
        for input in &self.inputs {
            let shown: Vec<String> = input.iter().take(SHOWN).map(|x| format!("{x:?}")).collect();
            let rest = if input.len() > SHOWN { ", ..." } else { "" };
            write!(f, " [{}{rest}]", shown.join(", "))?;
        }
        Ok(())
    }
}

impl std::error::Error for KernelFailure {}

/// Runs the kernel on arrays of random extents with floats from `elements`, and compares its one output with
/// `reference` of the inputs.
///
/// The closure may go by elements and their neighbours with [`Inputs::map_elements`], or by blocks with
/// [`Inputs::blocks`]. The random arrays do not change from one run of the test to the next. Checkers are on:
/// every finding is a failure, and so is any difference to a run without checkers on the fast engine.
///
/// ```
/// use cp2_asm::{Options, Source, assemble};
/// use cp2_kernels::map::{KernelTest, check_kernel};
/// use proptest::num::f32::NORMAL;
/// # let text = r#"
/// # .include "page.s"
/// # .program
/// #     page_begin
/// #     ldx2 a0, [a15]
/// #     ldx  c0, [a15 + 8]
/// #     loop c0 {
/// #         ldq q0, [a0]+16
/// #         add q1, q0, q0
/// #         stq q1, [a1]+16
/// #     }
/// #     page_end
/// #     stop
/// # "#;
/// let program = assemble(&Source::new("double.s", text), &Options::default()).unwrap().program;
/// let vm7 = cp2_machine::Machine::builtin("vm7").unwrap();
/// // A block of four floats: word 2 of the arguments counts blocks.
/// let test = KernelTest::new("double", &[4]);
/// check_kernel(program.into(), vm7.into(), &test, NORMAL, |x| x.map_elements(|at| 2.0 * at.center_element(0)))?;
/// # Ok::<(), cp2_kernels::map::KernelFailure>(())
/// ```
///
/// # Errors
/// The smallest failing arrays and what is wrong with the result.
pub fn check_kernel(
    program: Arc<Program>,
    machine: Arc<Machine>,
    test: &KernelTest,
    elements: impl Strategy<Value = f32> + Clone,
    reference: impl Fn(Inputs<'_>) -> Vec<f32>,
) -> Result<(), KernelFailure> {
    possible(test, machine.cp2.dmem.0)?;
    let extents: Vec<_> = test.most.iter().map(|&most| 1..=most.max(1)).collect();
    let count = test.inputs;
    let cases = extents.prop_flat_map(move |shape| {
        let elements =
            proptest::collection::vec(elements.clone(), shape.iter().product::<u64>() as usize);
        (Just(shape), proptest::collection::vec(elements, count))
    });
    let config = Config {
        cases: test.cases,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&cases, |(shape, inputs)| {
        judge((&program, &machine), test, (&shape, &inputs), &reference)
            .map_err(TestCaseError::fail)
    });
    let (reason, (shape, inputs)) = match outcome {
        Ok(()) => return Ok(()),
        Err(TestError::Fail(reason, case)) => (reason, case),
        Err(TestError::Abort(reason)) => (reason, (Vec::new(), Vec::new())),
    };
    Err(KernelFailure {
        reason: reason.message().to_string(),
        shape,
        inputs,
    })
}

/// Refuses blocks and extents that are empty, too large, or of different numbers of axes.
fn possible(test: &KernelTest, dmem: u64) -> Result<(), KernelFailure> {
    let refused = |reason: String| KernelFailure {
        reason,
        shape: Vec::new(),
        inputs: Vec::new(),
    };
    let rank = test.block.len();
    for (what, extents) in [
        ("its output's blocks", test.output_block()),
        ("its halo", &test.halo),
        ("the largest extents", &test.most),
    ] {
        // The result of a reduction may have another number of axes.
        let own = test.job.reduce && std::ptr::eq(extents, test.output_block());
        if extents.len() != rank && !own {
            let found = extents.len();
            return Err(refused(format!(
                "blocks have {rank} dimensions, {what} {found}; expected as many"
            )));
        }
    }
    for block in [&test.block[..], test.output_block()] {
        let bytes = block.iter().fold(4u64, |n, &d| n.saturating_mul(d));
        if bytes == 0 {
            return Err(refused(format!(
                "a block of {block:?} elements is empty; every extent must be at least 1"
            )));
        }
        if bytes > dmem {
            return Err(refused(format!(
                "a block of {bytes} B does not fit the {dmem} B of DMEM"
            )));
        }
    }
    Ok(())
}

/// Runs the kernel on both engines for one case, and compares the results with the reference.
fn judge(
    (program, machine): (&Arc<Program>, &Arc<Machine>),
    test: &KernelTest,
    (shape, arrays): (&[u64], &[Vec<f32>]),
    reference: impl Fn(Inputs<'_>) -> Vec<f32>,
) -> Result<(), String> {
    let element = ElementType {
        name: "float32",
        bytes: 4,
    };
    let raw: Vec<Vec<u8>> = arrays
        .iter()
        .map(|x| x.iter().flat_map(|x| x.to_le_bytes()).collect())
        .collect();
    let inputs = Inputs {
        arrays,
        shape,
        edge: test.edge,
        block: &test.block,
        output_block: test.output_block(),
    };
    let made = match test.job.reduce {
        true => test.output_block().to_vec(),
        false => inputs.output_shape(),
    };
    let run = |options| {
        let streams = raw.iter().enumerate().map(|(index, bytes)| Input {
            name: format!("x{index}"),
            element,
            shape: shape.to_vec(),
            bytes,
            block: test.block.clone(),
            halo: test.halo.clone(),
            edge: test.edge,
        });
        let output = Output {
            name: "y".to_owned(),
            element,
            shape: made.clone(),
            block: test.output_block().to_vec(),
        };
        let job = ArrayJob {
            inputs: streams.collect(),
            outputs: vec![output],
            options,
            ..test.job.clone()
        };
        map(program.clone(), machine.clone(), job)
    };
    let [done, fast]: [Mapped; 2] =
        on_both_engines(&test.job.options, run, |done| &done.run.report)?;
    let report = &done.run.report;
    if !report.end.is_finished() {
        return Err(report.end.to_string());
    }
    if let Some(finding) = report.findings.first() {
        let place = finding
            .pc
            .and_then(|pc| program.describe_place(pc as usize));
        return Err(format!(
            "{}{finding}",
            place.map(|l| format!("{l}: ")).unwrap_or_default()
        ));
    }
    if done.outputs != fast.outputs {
        return Err("the engines give different bits".to_owned());
    }
    let outputs = done.outputs.unwrap_or_default();
    let got: Vec<f32> = outputs
        .iter()
        .flat_map(|bytes| bytes.chunks_exact(4))
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let expected = reference(inputs);
    if expected.len() != got.len() {
        let (expected, got) = (expected.len(), got.len());
        return Err(format!(
            "the reference gives {expected} values, the output has {got}: {made:?}"
        ));
    }
    let both = expected.iter().zip(&got);
    for (at, (expected, got)) in neighbourhood::places(&made).zip(both) {
        if !test.tolerance.accepts(*expected, *got) {
            return Err(format!(
                "element {at:?}: the kernel gives {got:?}, the reference {expected:?}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
