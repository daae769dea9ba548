//! Tests `cp2_kernels::map` against native loops.
//!
//! Extents, blocks, halos, edges, element types and numbers of streams are random.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "helpers of tests"
)]

use cp2_asm::{Program, Source, assemble};
use cp2_host::nest::{BoundaryRule, March};
use cp2_host::{BlocksPerSection, Buffering, DeviceOptions};
use cp2_kernels::map::{ArrayJob, ElementType, Input, Mapped, Output, map};
use cp2_machine::Machine;
use proptest::prelude::*;
use std::sync::Arc;

fn assembled(text: &str) -> Arc<Program> {
    match assemble(&Source::new("test.s", text), &cp2_asm::Options::default()) {
        Ok(assembly) => Arc::new(assembly.program),
        Err(diagnostics) => panic!("{diagnostics}"),
    }
}

fn bytes(x: &[f32]) -> Vec<u8> {
    x.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

/// Returns the index of an element at a place that may be outside, by the rule of the edge; none for a zero.
fn index(shape: &[u64], edge: BoundaryRule, at: &[i64]) -> Option<usize> {
    shape.iter().zip(at).try_fold(0, |index, (&n, &i)| {
        let n = n as i64;
        let inside = (0..n).contains(&i);
        let i = match edge {
            BoundaryRule::Zero => inside.then_some(i)?,
            BoundaryRule::Clamp => i.clamp(0, n - 1),
            BoundaryRule::Periodic => i.rem_euclid(n),
        };
        Some(index * n as usize + i as usize)
    })
}

/// Writes a kernel that adds the two opposite corners of the halo to each element of its first input, and the
/// further inputs' elements to that.
fn kernel(halo: [u64; 3], words: u64, inputs: usize, outputs: usize) -> String {
    let shift = halo[2] * words;
    let (quads, lanes) = ((shift / 4 * 16) as i64, shift % 4);
    let corner = |sign: i64| {
        let at = sign * quads;
        let (low, high, n) = if sign < 0 {
            (at - 16, at, 4 - lanes)
        } else {
            (at, at + 16, lanes)
        };
        if lanes == 0 {
            format!("ldq q4, [a6 + {at}]\n")
        } else {
            format!("ldq q2, [a6 + {low}]\nldq q3, [a6 + {high}]\next q4, q2, q3, {n}\n")
        }
    };
    let further =
        (1..inputs).map(|i| format!("add a9, a{}, c9\nldq q6, [a9]\nadd q1, q1, q6\n", 9 + i));
    // The second output has the double; its address follows those of the further inputs.
    let second = match (inputs, outputs) {
        (_, 1) => String::new(),
        (1, _) => "add a9, a10, c9\nadd q7, q1, q1\nstq q7, [a9]\n".to_owned(),
        (2, _) => "add a9, a11, c9\nadd q7, q1, q1\nstq q7, [a9]\n".to_owned(),
        _ => "add a9, a12, c9\nadd q7, q1, q1\nstq q7, [a9]\n".to_owned(),
    };
    format!(
        r#"
.include "page.s"
.program
    page_begin
    ldx2 a0, [a15]
    ldx2 c0, [a15 + PAGE_ROWS]
    ldx c2, [a15 + PAGE_COLUMNS]
    ldx2 s0, [a15 + PAGE_PITCH]
    ldx2 s2, [a15 + PAGE_OUT_PITCH]
    {words}
    movi c5, {hz}
    mul c6, s1, c5
    movi c5, {hy}
    mul c7, s0, c5
    add c6, c6, c7
    mov c8, a1
    loop c1 {{
        mov a2, a0
        mov a3, a1
        loop c0 {{
            mov a4, a2
            mov a5, a3
            loop c2 {{
                ldq q1, [a4]
                sub a6, a4, c6
                {before}
                add q1, q1, q4
                add a6, a4, c6
                {behind}
                add q1, q1, q4
                sub c9, a5, c8
                {further}
                {second}
                stq q1, [a5]+16
                addi a4, a4, 16
            }}
            add a2, a2, s0
            add a3, a3, s2
        }}
        add a0, a0, s1
        add a1, a1, s3
    }}
    page_end
    stop
"#,
        words = match inputs + outputs {
            2 => "",
            3 | 4 => "ldx2 a10, [a15 + 16]",
            _ => "ldx2 a10, [a15 + 16]\nldx a12, [a15 + 24]",
        },
        hz = halo[0],
        hy = halo[1],
        before = corner(-1),
        behind = corner(1),
        further = further.collect::<String>(),
    )
}

/// Writes the kernel for pages of whole blocks that march along planes or rows, where lines are found by
/// their addresses.
fn marching(march: March, halo: [u64; 3], block: [u64; 3], words: u64, further: usize) -> String {
    let shift = halo[2] * words;
    let (quads, lanes) = ((shift / 4 * 16) as i64, shift % 4);
    let corner = |sign: i64| {
        let at = sign * quads;
        let (low, high, n) = match sign {
            -1 => (at - 16, at, 4 - lanes),
            _ => (at, at + 16, lanes),
        };
        match lanes {
            0 => format!("ldq q4, [a6 + {at}]"),
            _ => format!("ldq q2, [a6 + {low}]\nldq q3, [a6 + {high}]\next q4, q2, q3, {n}"),
        }
    };
    let axis = march.axis();
    // For the axis that pages do not march along: its steps in windows and blocks, its halo, and the lines of
    // the page.
    let (other, window, stored, count) = match march {
        March::Planes => (1, "s0", "s2", "c0"),
        March::Rows => (0, "s1", "s3", "c1"),
    };
    let next = match march {
        March::Planes => "s3",
        March::Rows => "s2",
    };
    let at = |line: u64| -104 - 8 * (further as i64) - 8 * line as i64;
    let lines = (0..block[axis]).map(|line| {
        format!(
            r#"
    ldx a7, [a15 + {before}]
    ldx a8, [a15 + {own}]
    ldx a9, [a15 + {behind}]
    sub a7, a7, c6
    add a9, a9, c6
    mov a3, a1
    mov c7, {count}
    loop c7 {{
        mov a4, a7
        mov a5, a8
        mov a6, a9
        mov a10, a3
        loop c2 {{
            ldq q1, [a5]+16
            mov a11, a6
            mov a6, a4
            {low}
            add q1, q1, q4
            mov a6, a11
            {high}
            add q1, q1, q4
            {more}
            stq q1, [a10]+16
            addi a4, a4, 16
            addi a6, a6, 16
        }}
        add a7, a7, {window}
        add a8, a8, {window}
        add a9, a9, {window}
        add a3, a3, {stored}
    }}
    add a1, a1, {next}
"#,
            before = at(line),
            own = at(line + halo[axis]),
            behind = at(line + 2 * halo[axis]),
            low = corner(-1),
            high = corner(1),
            more = match further {
                0 => "",
                _ => "sub a12, a10, c8\nadd a12, a12, a13\nldq q6, [a12]\nadd q1, q1, q6",
            },
        )
    });
    format!(
        r#"
.include "page.s"
.program
    page_begin
    ldx2 a0, [a15]
    ldx2 c0, [a15 + PAGE_ROWS]
    ldx c2, [a15 + PAGE_COLUMNS]
    ldx2 s0, [a15 + PAGE_PITCH]
    ldx2 s2, [a15 + PAGE_OUT_PITCH]
    {second}
    mov c8, a1
    movi c5, {halo}
    mul c6, {window}, c5
    {lines}
    page_end
    stop
"#,
        second = match further {
            0 => "",
            _ => "ldx a13, [a15 + 16]",
        },
        halo = halo[other],
        lines = lines.collect::<String>(),
    )
}

/// Returns a built-in machine, or one with an odd number of sections that moves single words, by few levels.
fn machine(name: &str) -> Machine {
    Machine::builtin(name).unwrap_or_else(|| {
        let text = r#"
base = "vm7"
[cp2]
sections = { value = 3, unit = "sections" }
[dma]
granule = { value = 4, unit = "B" }
levels = { value = 1, unit = "levels" }
"#;
        Machine::parse("odd.toml", text).unwrap()
    })
}

/// One case of the property.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    shape: Vec<u64>,
    block: Vec<u64>,
    halo: Vec<u64>,
    edge: BoundaryRule,
    words: u64,
    inputs: usize,
    outputs: usize,
    size: Option<u32>,
    buffering: Buffering,
    machine: &'static str,
    march: Option<March>,
}

const FLOAT: ElementType = ElementType {
    name: "float32",
    bytes: 4,
};
const COMPLEX: ElementType = ElementType {
    name: "complex64",
    bytes: 8,
};

fn run(case: &Case) -> Result<(), TestCaseError> {
    let machine = Arc::new(machine(case.machine));
    let count = case.shape.iter().product::<u64>() * case.words;
    let element = if case.words == 1 { FLOAT } else { COMPLEX };
    let arrays: Vec<Vec<f32>> = (0..case.inputs as u64)
        .map(|i| {
            (0..count)
                .map(|n| ((n * 7 + i * 13) % 1021) as f32 + 1.0)
                .collect()
        })
        .collect();
    let raw: Vec<Vec<u8>> = arrays.iter().map(|x| bytes(x)).collect();
    let mut axes = [0; 3];
    axes[3 - case.shape.len()..].copy_from_slice(&case.halo);
    let inputs = raw.iter().enumerate().map(|(i, bytes)| Input {
        name: format!("x{i}"),
        element,
        shape: case.shape.clone(),
        bytes,
        block: case.block.clone(),
        halo: if i == 0 {
            case.halo.clone()
        } else {
            Vec::new()
        },
        edge: case.edge,
    });
    let outputs = (0..case.outputs).map(|i| Output {
        name: format!("y{i}"),
        element,
        shape: case.shape.clone(),
        block: case.block.clone(),
    });
    let text = match case.march {
        None => kernel(axes, case.words, case.inputs, case.outputs),
        Some(march) => {
            let mut block = [1; 3];
            block[3 - case.shape.len()..].copy_from_slice(&case.block);
            marching(march, axes, block, case.words, case.inputs - 1)
        }
    };
    let job = ArrayJob {
        inputs: inputs.collect(),
        outputs: outputs.collect(),
        size: case
            .size
            .map_or(BlocksPerSection::ANY, BlocksPerSection::Fixed),
        buffering: case.buffering,
        march: case.march,
        options: DeviceOptions {
            check: true,
            ..DeviceOptions::default()
        },
        ..ArrayJob::new("corners")
    };
    let program = assembled(&text);
    let done = map(program.clone(), machine.clone(), job.clone());
    let done: Mapped = done.map_err(|e| TestCaseError::fail(e.to_string()))?;
    let report = &done.run.report;
    let finding = report.findings.first().map(ToString::to_string);
    prop_assert!(
        report.end.is_finished() && finding.is_none(),
        "{}: {:?}",
        report.end,
        finding
    );
    let Mapped {
        outputs: Some(outputs),
        ..
    } = &done
    else {
        return Err(TestCaseError::fail("no output"));
    };
    if case.halo.first().is_none_or(|&halo| halo == 0) {
        crate::map_shares::check_shares(&program, &machine, &job, outputs)?;
    }
    let words = case.words as usize;
    for n in 0..count as usize {
        let (mut rest, mut at) = (n / words, vec![0i64; case.shape.len()]);
        for (at, &extent) in at.iter_mut().zip(&case.shape).rev() {
            *at = (rest % extent as usize) as i64;
            rest /= extent as usize;
        }
        let of = |sign: i64| {
            let place: Vec<i64> = at
                .iter()
                .zip(&case.halo)
                .map(|(at, h)| at + sign * *h as i64)
                .collect();
            index(&case.shape, case.edge, &place).map_or(0.0, |i| arrays[0][i * words + n % words])
        };
        let sum = arrays[1..]
            .iter()
            .fold(arrays[0][n] + of(-1) + of(1), |sum, x| sum + x[n]);
        for (i, y) in outputs.iter().enumerate() {
            let (got, expected) = (floats(&y[4 * n..4 * n + 4])[0], sum * (i + 1) as f32);
            prop_assert_eq!(
                got,
                expected,
                "output {} word {}, {}",
                i,
                n,
                done.nest().unwrap()
            );
        }
    }
    Ok(())
}

pub(crate) fn cases() -> impl Strategy<Value = Case> {
    let axis = |most: u64| prop_oneof![Just(1u64), 1..=most];
    let sizes = (
        1usize..4,
        axis(6),
        axis(14),
        axis(45),
        (1u64..4, 1u64..5, 1u64..4),
        (0u64..3, 0u64..3, 0u64..6),
    );
    let how = (
        prop_oneof![
            Just(BoundaryRule::Zero),
            Just(BoundaryRule::Periodic),
            Just(BoundaryRule::Clamp)
        ],
        1u64..3,
        (1usize..4, 1usize..3),
        prop::option::of(1u32..4),
        prop_oneof![
            Just(Buffering::Auto),
            Just(Buffering::Single),
            Just(Buffering::Triple)
        ],
        prop_oneof![Just("vm7"), Just("vm9"), Just("odd")],
        prop_oneof![
            Just(None),
            Just(Some(March::Planes)),
            Just(Some(March::Rows))
        ],
    );
    (sizes, how).prop_map(
        |(
            (rank, nz, ny, nx, (bz, by, bx), (mut hz, mut hy, hx)),
            (edge, words, (inputs, outputs), size, buffering, machine, march),
        )| {
            let cut = |all: [u64; 3]| all[3 - rank..].to_vec();
            let march = march.filter(|march| march.axis() >= 3 - rank);
            // Marching windows share lines; the kernel for them has an input more and a single output.
            match march {
                Some(March::Planes) => hz = hz.max(1),
                Some(March::Rows) => hy = hy.max(1),
                None => {}
            }
            let (inputs, outputs) = match march {
                Some(_) => (inputs.min(2), 1),
                None => (inputs, outputs),
            };
            Case {
                march,
                shape: cut([nz, ny, nx]),
                block: cut([bz, by, bx * 4 / words]),
                halo: cut([hz, hy, hx]),
                edge,
                words,
                inputs,
                outputs,
                size,
                buffering,
                machine,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]
    #[test]
    fn windows_show_arrays_as_their_edges_continue_them(case in cases()) {
        run(&case)?;
    }
}

/// A clamped halo of lines works where a page has a single line.
#[test]
fn a_clamped_halo_of_single_lines_is_right() {
    let case = Case {
        march: None,
        shape: vec![5, 32],
        block: vec![1, 4],
        halo: vec![1, 0],
        edge: BoundaryRule::Clamp,
        words: 1,
        inputs: 1,
        outputs: 1,
        size: None,
        buffering: Buffering::Auto,
        machine: "vm7",
    };
    run(&case).unwrap();
}

/// Assembly of the dot product of two arrays; the one output block has it in its first element.
const DOT: &str = r#"
.include "page.s"
.program
        lii r0, 0
        lii r1, 0                       ; q0: the sums of this section, a lane each
        page_begin
        ldx2 a0, [a15]                  ; the first array's block; the result
        ldx a2, [a15 + 16]              ; the second array's block
        ldx c0, [a15 + PAGE_COLUMNS]    ; quads of the block
        loop c0 {
            ldq q1, [a0]+16
            ldq q2, [a2]+16
            madd q0, q1, q2, q0
        }
        page_end
        stq q0, [a1]
        page_gather                     ; a0: the results of all sections
        ldx2 a0, [a15]
        ldx c0, [a15 + 8]
        lii r0, 0
        lii r1, 0
        loop c0 {
            ldq q1, [a0]+16
            add q0, q0, q1
        }
        add r0, r0, r1
        swap r1, r0
        add r0, r0, r1
        stq q0, [a1]
        stop
"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn no_element_is_counted_twice(n in prop_oneof![1u64..40, 1u64..5000], block in 1u64..9, size in prop::option::of(1u32..5)) {
        let [x, y]: [Vec<f32>; 2] = [1, 3].map(|k| (0..n).map(|i| ((i * k) % 7) as f32).collect());
        let raw = [bytes(&x), bytes(&y)];
        let input = |name: &str, bytes| Input {
            name: name.into(),
            element: FLOAT,
            shape: vec![n],
            bytes,
            block: vec![4 * block],
            halo: Vec::new(),
            edge: BoundaryRule::Zero,
        };
        let done = map(assembled(DOT), Arc::new(Machine::builtin("vm7").unwrap()), ArrayJob {
            inputs: vec![input("x", &raw[0]), input("y", &raw[1])],
            outputs: vec![Output { name: "dot".into(), element: FLOAT, shape: vec![1], block: vec![1] }],
            reduce: true,
            size: size.map_or(BlocksPerSection::ANY, BlocksPerSection::Fixed),
            options: DeviceOptions { check: true, ..DeviceOptions::default() },
            ..ArrayJob::new("dot")
        }).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let report = &done.run.report;
        prop_assert!(report.end.is_finished() && report.findings.is_empty(), "{}: {:?}", report.end, report.findings.first().map(ToString::to_string));
        let expected: f32 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
        prop_assert_eq!(floats(&done.outputs.unwrap()[0]), vec![expected]);
    }
}

/// The checkers find stores to a marching window, and reads of lines beyond it.
#[test]
fn lines_of_other_pages_are_not_touched() {
    let x = bytes(&vec![1.0; 12 * 16 * 16]);
    let found = |text: &str| {
        let job = ArrayJob {
            inputs: vec![Input {
                name: "x".into(),
                element: FLOAT,
                shape: vec![12, 16, 16],
                bytes: &x,
                block: vec![1, 4, 16],
                halo: vec![1, 1, 1],
                edge: BoundaryRule::Zero,
            }],
            outputs: vec![Output {
                name: "y".into(),
                element: FLOAT,
                shape: vec![12, 16, 16],
                block: vec![1, 4, 16],
            }],
            march: Some(March::Planes),
            options: DeviceOptions {
                check: true,
                ..DeviceOptions::default()
            },
            ..ArrayJob::new("lines")
        };
        let machine = Arc::new(Machine::builtin("vm7").unwrap());
        let done = map(assembled(text), machine, job).unwrap();
        let first = done.run.report.findings.first();
        first.map(ToString::to_string).unwrap_or_default()
    };
    let text = marching(March::Planes, [1; 3], [1, 4, 16], 1, 0);
    assert_eq!(found(&text), "");
    // The current line is overwritten.
    let store = "stq q1, [a10]+16";
    let wrong = text.replace(store, &format!("{store}\nstq q1, [a5 - 16]"));
    assert!(
        found(&wrong).contains("a window that slides"),
        "{}",
        found(&wrong)
    );
    // The line behind the window is read, by the pitch from plane to plane.
    let wrong = text.replace(
        "ldq q1, [a5]+16",
        "add a12, a5, s1\nadd a12, a12, s1\nldq q5, [a12]\nldq q1, [a5]+16",
    );
    assert!(found(&wrong).contains("another page"), "{}", found(&wrong));
}
