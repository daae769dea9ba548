//! Tests of the kernel test itself: failures that it finds and input it refuses.

use super::*;
use cp2_asm::{Source, assemble};
use proptest::num::f32::NORMAL;

/// Assembly that doubles every float, in blocks of 16 bytes.
const DOUBLE: &str = include_str!("../../../../tests/kernels/double.s");

/// Assembly of the mean of the neighbours to the left and to the right, in blocks of rows.
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

fn assembled(text: &str) -> Arc<Program> {
    match assemble(&Source::new("test.s", text), &cp2_asm::Options::default()) {
        Ok(assembly) => assembly.program.into(),
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

fn vm7() -> Arc<Machine> {
    Machine::builtin("vm7").unwrap().into()
}

fn check(wrong: f32) -> Result<(), KernelFailure> {
    let test = KernelTest {
        cases: 8,
        ..KernelTest::new("mean", &[2, 8]).halo(&[0, 1], BoundaryRule::Clamp)
    };
    check_kernel(assembled(MEAN), vm7(), &test, -1.0f32..1.0, |x| {
        x.map_elements(|x| {
            (x.get(0, &[0, -1]) + x.get(0, &[0, 1])) * 0.5
                + if x.place() == [1, 4] { wrong } else { 0.0 }
        })
    })
}

#[test]
fn a_kernel_is_compared_with_a_closure() {
    check(0.0).unwrap();
    let failure = check(1.0).unwrap_err();
    assert!(failure.reason.starts_with("element [1, 4]"), "{failure}");
    assert_eq!(failure.shape, [2, 5], "{failure}");
}

#[test]
fn a_wrong_kernel_is_found_and_its_input_made_small() {
    // The reference is wrong for elements above 1000 only.
    let wrong = |x: Inputs<'_>| {
        x.map_elements(|at| match at.center_element(0) {
            x if x > 1000.0 => 0.0,
            x => x + x,
        })
    };
    let test = KernelTest::new("double", &[4]);
    let failure = check_kernel(assembled(DOUBLE), vm7(), &test, 0.0f32..2000.0, wrong).unwrap_err();
    assert_eq!(failure.shape, [1], "{failure}");
    assert!(failure.inputs[0][0] > 1000.0, "{failure}");
    assert!(failure.reason.starts_with("element [0]"), "{failure}");
}

/// Blocks may become blocks of another size: here every pair of quads becomes its sum.
#[test]
fn blocks_may_become_blocks_of_another_size() {
    let sum = DOUBLE.replace("add q1, q0, q0", "ldq q1, [a0]+16\n        add q1, q0, q1");
    let test = KernelTest {
        output_block: Some(vec![4]),
        ..KernelTest::new("sum", &[8])
    };
    let pairs = |x: Inputs<'_>| x.blocks(|x| (0..4).map(|i| x[i] + x[i + 4]).collect());
    check_kernel(assembled(&sum), vm7(), &test, -1.0f32..1.0, pairs).unwrap();
    let other = |x: Inputs<'_>| x.blocks(|x| x[..4].to_vec());
    let failure = check_kernel(assembled(&sum), vm7(), &test, 1.0f32..2.0, other).unwrap_err();
    // In an array of one element the second quad is zeros and goes unnoticed; in one of five elements it is
    // not.
    assert_eq!(failure.shape, [5], "{failure}");
    let short = |_: Inputs<'_>| vec![0.0];
    let failure = check_kernel(assembled(&sum), vm7(), &test, 1.0f32..2.0, short).unwrap_err();
    assert!(failure.reason.contains("gives 1 values"), "{failure}");
}

/// Assembly of the sums of the four lanes of all quads, and their doubles: a result of two rows.
const ROWS: &str = r#"
.include "page.s"
.program
        lif r0, 0.0
        lif r1, 0.0
        page_begin
        ldx2 a0, [a15]
        ldx c2, [a15 + PAGE_COLUMNS]
        ldx2 s2, [a15 + PAGE_OUT_PITCH]
        loop c2 {
            ldq q1, [a0]+16
            add q0, q0, q1
        }
        page_end
        add a2, a1, s2
        add q2, q0, q0
        stq q0, [a1]
        stq q2, [a2]
        page_gather
        ldx2 a0, [a15]
        ldx c0, [a15 + 8]
        add a2, a1, s2
        lif r0, 0.0
        lif r1, 0.0
        loop c0 {
            ldq q1, [a0]
            add q0, q0, q1
            add a0, a0, s3
        }
        add q2, q0, q0
        stq q0, [a1]
        stq q2, [a2]
        stop
"#;

/// The result of a reduction may have another number of axes than its inputs, and all its rows are compared.
#[test]
fn a_result_of_several_rows_is_compared() {
    let mut test = KernelTest {
        output_block: Some(vec![2, 4]),
        cases: 6,
        ..KernelTest::new("rows", &[16])
    };
    test.job.reduce = true;
    let whole = (0u8..8).prop_map(f32::from);
    check_kernel(assembled(ROWS), vm7(), &test, whole, |x| {
        let lane = |lane: usize| x.array(0).iter().skip(lane).step_by(4).sum::<f32>();
        let rows = [1.0, 2.0].into_iter();
        rows.flat_map(|k| (0..4).map(move |i| k * lane(i)))
            .collect()
    })
    .unwrap();
}

#[test]
fn impossible_blocks_are_failures() {
    let run = |test: &KernelTest| {
        let double = assembled(DOUBLE);
        check_kernel(double, vm7(), test, NORMAL, |x| {
            x.map_elements(|at| 2.0 * at.center_element(0))
        })
        .unwrap_err()
    };
    for (block, reason) in [
        (&[0][..], "is empty"),
        (&[1 << 15], "does not fit"),
        (&[u64::MAX], "does not fit"),
        (&[1, 1, 1, 4], "4 axes"),
    ] {
        let failure = run(&KernelTest {
            most: vec![20; block.len()],
            ..KernelTest::new("double", block)
        });
        assert!(failure.reason.contains(reason), "{block:?}: {failure}");
    }
    let failure = run(&KernelTest::new("double", &[4]).halo(&[1, 1], BoundaryRule::Zero));
    assert!(failure.reason.contains("its halo 2"), "{failure}");
}

#[test]
fn faults_and_findings_are_failures() {
    let test = KernelTest::new("k", &[4]);
    let run = |text: &str| {
        let run = check_kernel(assembled(text), vm7(), &test, NORMAL, |x| {
            x.array(0).to_vec()
        });
        run.unwrap_err().reason
    };
    assert!(run(".program\n    movi a0, 131056\n    ldp r0, [a0]\n    stop\n").contains("fault"));
    // The program stores registers that it never wrote.
    let text = ".include \"page.s\"\n.program\n    page_begin\n    ldx2 a0, [a15]\n    stq q5, [a1]\n    page_end\n    stop\n";
    let reason = run(text);
    assert!(
        reason.contains("test.s:5") && reason.contains("never wrote"),
        "{reason}"
    );
}
