//! Property tests of a kernel over arrays against a Rust closure (feature `testing`).

use super::{ArrayJob, ElementType, Input, Mapped, Output, map};
use cp2_asm::Program;
use cp2_host::nest::Edge;
use cp2_host::testing::{Tolerance, on_both_engines};
use cp2_machine::Machine;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::fmt;
use std::sync::Arc;

/// A property test over arrays of float32.
#[derive(Clone, Debug)]
pub struct ArrayTest {
    /// Everything but the arrays: words, scratch, how it is paged and run.
    pub job: ArrayJob<'static>,
    /// Number of inputs.
    pub inputs: usize,
    /// Elements of a block along each axis, slowest first.
    pub block: Vec<u64>,
    /// Elements of the inputs' halo along each axis.
    pub halo: Vec<u64>,
    /// What lies beyond the inputs.
    pub edge: Edge,
    /// Largest extent to try along each axis.
    pub most: Vec<u64>,
    /// Arrays to try.
    pub cases: u32,
    /// How close is close enough.
    pub tolerance: Tolerance,
}

impl ArrayTest {
    /// 32 shapes of up to three blocks and a bit along each axis, one input without halo, bit for bit, under the checkers.
    #[must_use]
    pub fn new(name: &str, block: &[u64]) -> Self {
        Self {
            job: ArrayJob::new(name),
            inputs: 1,
            block: block.to_vec(),
            halo: vec![0; block.len()],
            edge: Edge::Zero,
            most: block.iter().map(|n| 3 * n + 5).collect(),
            cases: 32,
            tolerance: Tolerance::Exact,
        }
    }

    /// The same with a halo and what lies beyond the edges.
    #[must_use]
    pub fn halo(mut self, halo: &[u64], edge: Edge) -> Self {
        self.halo = halo.to_vec();
        self.edge = edge;
        self
    }

    /// The same with so many inputs.
    #[must_use]
    pub fn inputs(mut self, inputs: usize) -> Self {
        self.inputs = inputs;
        self
    }
}

/// The inputs around an element, as their edges continue them.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    arrays: &'a [Vec<f32>],
    shape: &'a [u64],
    edge: Edge,
    at: &'a [i64],
}

impl Around<'_> {
    /// The element of an input so far from here along each axis.
    #[must_use]
    pub fn get(&self, input: usize, away: &[i64]) -> f32 {
        let index = self.shape.iter().zip(self.at.iter().zip(away)).try_fold(
            0usize,
            |index, (&n, (at, away))| {
                let (n, i) = (n as i64, at + away);
                let i = match self.edge {
                    _ if (0..n).contains(&i) => i,
                    Edge::Zero => return None,
                    Edge::Clamp => i.clamp(0, n - 1),
                    Edge::Periodic => i.rem_euclid(n),
                };
                Some(index * n as usize + i as usize)
            },
        );
        index
            .and_then(|index| self.arrays.get(input)?.get(index))
            .copied()
            .unwrap_or(0.0)
    }

    /// The element of an input here.
    #[must_use]
    pub fn here(&self, input: usize) -> f32 {
        self.get(input, &[0; 3][..self.shape.len().min(3)])
    }

    /// Where here is.
    #[must_use]
    pub fn place(&self) -> &[i64] {
        self.at
    }
}

/// The smallest arrays found for which the kernel fails.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayFailure {
    /// What is wrong.
    pub reason: String,
    /// The extents.
    pub shape: Vec<u64>,
    /// The inputs.
    pub inputs: Vec<Vec<f32>>,
}

impl fmt::Display for ArrayFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; smallest arrays found: {:?}",
            self.reason, self.shape
        )
    }
}

impl std::error::Error for ArrayFailure {}

/// Runs the kernel on arrays of random extents and floats from `elements`, and compares every element of its one output with what `reference`
/// makes of the inputs around it. Checkers are on: whatever they find is a failure, and so is any difference to a run without them on the
/// fast engine.
///
/// # Errors
/// The smallest failing arrays and what is wrong with the result.
pub fn check_arrays(
    program: Arc<Program>,
    machine: Arc<Machine>,
    test: &ArrayTest,
    elements: impl Strategy<Value = f32> + Clone,
    reference: impl Fn(Around<'_>) -> f32,
) -> Result<(), ArrayFailure> {
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
        max_shrink_iters: 500,
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
    Err(ArrayFailure {
        reason: reason.message().to_string(),
        shape,
        inputs,
    })
}

fn judge(
    (program, machine): (&Arc<Program>, &Arc<Machine>),
    test: &ArrayTest,
    (shape, inputs): (&[u64], &[Vec<f32>]),
    reference: impl Fn(Around<'_>) -> f32,
) -> Result<(), String> {
    let element = ElementType {
        name: "float32",
        bytes: 4,
    };
    let raw: Vec<Vec<u8>> = inputs
        .iter()
        .map(|x| x.iter().flat_map(|x| x.to_le_bytes()).collect())
        .collect();
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
            shape: shape.to_vec(),
            block: test.block.clone(),
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
        let place = finding.pc.and_then(|pc| program.location(pc as usize));
        return Err(format!(
            "{}{finding}",
            place.map(|l| format!("{l}: ")).unwrap_or_default()
        ));
    }
    if done.outputs != fast.outputs {
        return Err("the engines give different bits".to_owned());
    }
    let outputs = done.outputs.unwrap_or_default();
    let got = outputs.iter().flat_map(|bytes| bytes.chunks_exact(4));
    let mut at = vec![0i64; shape.len()];
    for b in got {
        let got = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let expected = reference(Around {
            arrays: inputs,
            shape,
            edge: test.edge,
            at: &at,
        });
        if !test.tolerance.accepts(expected, got) {
            return Err(format!(
                "element {at:?}: the kernel gives {got:?}, the reference {expected:?}"
            ));
        }
        for (at, &n) in at.iter_mut().zip(shape).rev() {
            *at += 1;
            if *at < n as i64 {
                break;
            }
            *at = 0;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_asm::{Source, assemble};

    /// The mean of the neighbours to the left and to the right.
    const MEAN: &str = r#"
.include "page.s"
.program
        lif r60, 0.5
        lif r61, 0.5
        page_begin
        ldx2 a0, [a15]
        ldx2 c0, [a15 + PAGE_ROWS]
        ldx c2, [a15 + PAGE_COLUMNS]
        ldx s0, [a15 + PAGE_PITCH]
        ldx s2, [a15 + PAGE_OUT_PITCH]
        loop c0 {
            mov a2, a0
            mov a3, a1
            loop c2 {
                ldq q0, [a2 - 16]
                ldq q1, [a2]+16
                ldq q2, [a2]
                ext q3, q0, q1, 3
                ext q4, q1, q2, 1
                add q5, q3, q4
                mul q5, q5, q30
                stq q5, [a3]+16
            }
            add a0, a0, s0
            add a1, a1, s2
        }
        page_end
        stop
"#;

    fn check(wrong: f32) -> Result<(), ArrayFailure> {
        let program = assemble(&Source::new("mean.s", MEAN), &cp2_asm::Options::default());
        let vm7 = Machine::builtin("vm7").unwrap();
        let test = ArrayTest {
            cases: 8,
            ..ArrayTest::new("mean", &[2, 8]).halo(&[0, 1], Edge::Clamp)
        };
        check_arrays(
            program.unwrap().program.into(),
            vm7.into(),
            &test,
            -1.0f32..1.0,
            |x| {
                (x.get(0, &[0, -1]) + x.get(0, &[0, 1])) * 0.5
                    + if x.place() == [1, 4] { wrong } else { 0.0 }
            },
        )
    }

    #[test]
    fn a_kernel_is_compared_with_a_closure() {
        check(0.0).unwrap();
        let failure = check(1.0).unwrap_err();
        assert!(failure.reason.starts_with("element [1, 4]"), "{failure}");
        assert_eq!(failure.shape, [2, 5], "{failure}");
    }
}
