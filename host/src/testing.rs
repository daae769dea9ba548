//! Property tests of a page kernel against a Rust closure (feature `testing`).

use crate::map::{MapJob, MapRun, map};
use crate::{Options, RunReport};
use cp2_asm::Program;
use cp2_emu::Engine;
use cp2_machine::Machine;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::fmt;
use std::sync::Arc;

/// How close the kernel must come to the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// The same bits; every NaN equals every other.
    Exact,
    /// `|got - expected| <= absolute + relative * |expected|`.
    Within {
        /// Absolute part.
        absolute: f32,
        /// Relative part.
        relative: f32,
    },
}

impl Tolerance {
    /// Whether a value is close enough.
    #[must_use]
    pub fn accepts(self, expected: f32, got: f32) -> bool {
        if expected.is_nan() || got.is_nan() {
            return expected.is_nan() && got.is_nan();
        }
        match self {
            Self::Exact => expected.to_bits() == got.to_bits(),
            Self::Within { absolute, relative } => {
                expected == got || (got - expected).abs() <= absolute + relative * expected.abs()
            }
        }
    }
}

/// A property test.
#[derive(Clone, Debug)]
pub struct KernelTest {
    /// How the kernel is called; blocks are counted in bytes, 4 per float.
    pub job: MapJob,
    /// Arrays to try.
    pub cases: u32,
    /// Largest array, in blocks.
    pub max_blocks: usize,
    /// How close is close enough.
    pub tolerance: Tolerance,
}

impl KernelTest {
    /// 64 arrays of up to 40 blocks, bit for bit, under the checkers.
    #[must_use]
    pub fn new(job: MapJob) -> Self {
        Self {
            job,
            cases: 64,
            max_blocks: 40,
            tolerance: Tolerance::Exact,
        }
    }

    /// With another tolerance.
    #[must_use]
    pub fn tolerance(mut self, tolerance: Tolerance) -> Self {
        self.tolerance = tolerance;
        self
    }
}

/// The smallest array found for which the kernel fails.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelFailure {
    /// What is wrong.
    pub reason: String,
    /// The array.
    pub input: Vec<f32>,
}

impl fmt::Display for KernelFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; smallest input found ({} floats): ",
            self.reason,
            self.input.len()
        )?;
        let shown: Vec<String> = self
            .input
            .iter()
            .take(64)
            .map(|x| format!("{x:?}"))
            .collect();
        write!(
            f,
            "[{}{}]",
            shown.join(", "),
            if self.input.len() > 64 { ", ..." } else { "" }
        )
    }
}

impl std::error::Error for KernelFailure {}

/// Runs a job under the checkers, which means on the reference engine, and then
/// without them on the fast one. The reports must agree in everything but the
/// findings; the caller compares the outputs.
///
/// # Errors
/// A run's own, or how the reports differ.
pub fn on_both_engines<T, E: fmt::Display>(
    options: &Options,
    run: impl Fn(Options) -> Result<T, E>,
    report: impl Fn(&T) -> &RunReport,
) -> Result<[T; 2], String> {
    let run = |check| {
        run(Options {
            check,
            engine: Engine::Fast,
            ..options.clone()
        })
        .map_err(|e| e.to_string())
    };
    let [checked, fast] = [run(true)?, run(false)?];
    let (a, b) = (report(&checked), report(&fast));
    let unchecked = RunReport {
        findings: Vec::new(),
        ..a.clone()
    };
    if unchecked == *b {
        return Ok([checked, fast]);
    }
    Err(format!(
        "the engines disagree: {:?} after {} cycles, {:?}; {:?} after {} cycles, {:?}",
        a.end,
        a.cycles,
        a.causes.to_map(),
        b.end,
        b.cycles,
        b.causes.to_map()
    ))
}

/// Runs the kernel on arrays of floats from `elements` and compares every
/// block with `reference`, which maps an input block to an output block.
/// The arrays are the same in every run of the test. Checkers are on:
/// whatever they find is a failure, and so is any difference to a run without
/// them on the fast engine.
///
/// ```
/// use cp2_asm::{Options, Source, assemble};
/// use cp2_host::MapJob;
/// use cp2_host::testing::{KernelTest, check_kernel};
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
/// let test = KernelTest::new(MapJob::new("double", 16));
/// check_kernel(program.into(), vm7.into(), &test, NORMAL, |block| block.iter().map(|x| x + x).collect())?;
/// # Ok::<(), cp2_host::testing::KernelFailure>(())
/// ```
///
/// # Errors
/// The smallest failing array and what is wrong with its result.
pub fn check_kernel(
    program: Arc<Program>,
    machine: Arc<Machine>,
    test: &KernelTest,
    elements: impl Strategy<Value = f32> + Clone,
    reference: impl Fn(&[f32]) -> Vec<f32>,
) -> Result<(), KernelFailure> {
    // Before arrays of such blocks are made.
    let (block, dmem) = (test.job.block, machine.cp2.dmem.0);
    if block > dmem {
        return Err(KernelFailure {
            reason: format!("a block of {block} B does not fit the {dmem} B of DMEM"),
            input: Vec::new(),
        });
    }
    let floats = (block / 4) as usize;
    let arrays = (1..=test.max_blocks.max(1))
        .prop_flat_map(move |n| proptest::collection::vec(elements.clone(), n * floats));
    let config = Config {
        cases: test.cases,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&arrays, |input| {
        let bytes: Vec<u8> = input.iter().flat_map(|x| x.to_le_bytes()).collect();
        let run = |options| {
            let job = MapJob {
                options,
                ..test.job.clone()
            };
            map(program.clone(), machine.clone(), &bytes, &job)
        };
        let judge = || {
            let [done, fast] = on_both_engines(&test.job.options, run, |d| &d.run.report)?;
            compare(&program, test, &done, &input, &reference)?;
            if done.output == fast.output {
                Ok(())
            } else {
                Err("the engines give different bits".to_owned())
            }
        };
        judge().map_err(TestCaseError::fail)
    });
    match outcome {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, input)) => Err(KernelFailure {
            reason: reason.message().to_string(),
            input,
        }),
        Err(TestError::Abort(reason)) => Err(KernelFailure {
            reason: reason.message().to_string(),
            input: Vec::new(),
        }),
    }
}

fn compare(
    program: &Program,
    test: &KernelTest,
    done: &MapRun,
    input: &[f32],
    reference: impl Fn(&[f32]) -> Vec<f32>,
) -> Result<(), String> {
    let report = &done.run.report;
    if !report.end.is_finished() {
        return Err(report.end.to_string());
    }
    if let Some(finding) = report.findings.first() {
        let at = finding
            .pc
            .and_then(|pc| program.location(pc as usize))
            .map(|l| format!("{l}: "))
            .unwrap_or_default();
        return Err(format!("{at}{finding}"));
    }
    let output: Vec<f32> = done
        .output
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let (size, out) = (
        (test.job.block / 4) as usize,
        (test.job.output_block.unwrap_or(test.job.block) / 4) as usize,
    );
    for (i, (block, got)) in input
        .chunks_exact(size)
        .zip(output.chunks_exact(out))
        .enumerate()
    {
        let expected = reference(block);
        if expected.len() != out {
            return Err(format!(
                "the reference returns {} floats for a block; the kernel's output block has {out}",
                expected.len()
            ));
        }
        for (j, (&e, &g)) in expected.iter().zip(got).enumerate() {
            if !test.tolerance.accepts(e, g) {
                return Err(format!(
                    "block {i}, element {j}: the kernel gives {g:?}, the reference {e:?}"
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::tests::{DOUBLE, assembled, vm};
    use proptest::num::f32::NORMAL;

    #[test]
    fn a_wrong_kernel_is_found_and_its_input_made_small() {
        // Wrong for elements above 1000 only.
        let wrong = |block: &[f32]| {
            block
                .iter()
                .map(|x| if *x > 1000.0 { 0.0 } else { x + x })
                .collect()
        };
        let test = KernelTest::new(MapJob::new("double", 16));
        let failure =
            check_kernel(assembled(DOUBLE), vm("vm7"), &test, 0.0f32..2000.0, wrong).unwrap_err();
        assert_eq!(failure.input.len(), 4, "{failure}");
        assert_eq!(
            failure.input.iter().filter(|x| **x != 0.0).count(),
            1,
            "{failure}"
        );
        assert!(failure.reason.starts_with("block 0, element"), "{failure}");
    }

    #[test]
    fn impossible_blocks_are_failures() {
        for (block, reason) in [
            (0, "the block is empty"),
            (6, "whole number of blocks"),
            (24, "multiple of"),
            (1 << 17, "does not fit"),
            (u64::MAX, "does not fit"),
        ] {
            let test = KernelTest::new(MapJob::new("double", block));
            let run = check_kernel(assembled(DOUBLE), vm("vm7"), &test, NORMAL, <[f32]>::to_vec);
            let failure = run.unwrap_err();
            assert!(failure.reason.contains(reason), "{block}: {failure}");
        }
    }

    #[test]
    fn faults_and_findings_are_failures() {
        let test = KernelTest::new(MapJob::new("k", 16));
        let run = |text: &str| {
            check_kernel(assembled(text), vm("vm7"), &test, NORMAL, <[f32]>::to_vec)
                .unwrap_err()
                .reason
        };
        assert!(
            run(".program\n    movi a0, 131056\n    ldp r0, [a0]\n    stop\n").contains("fault")
        );
        // Stores registers it never wrote.
        let text = ".include \"page.s\"\n.program\n    page_begin\n    ldx2 a0, [a15]\n    stq q5, [a1]\n    page_end\n    stop\n";
        let reason = run(text);
        assert!(
            reason.contains("test.s:5") && reason.contains("never wrote"),
            "{reason}"
        );
    }
}
