//! Tests the results of pages and reductions against plain loops.
//!
//! Blocks have every shape, one element or two words, and several outputs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_asm::{Program, Source, assemble};
use cp2_host::nest::BoundaryRule;
use cp2_host::{BlocksPerSection, DeviceOptions};
use cp2_kernels::map::{ArrayJob, ElementType, Input, Output, map};
use cp2_machine::{Bytes, Machine};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::sync::Arc;

fn assembled(text: &str) -> Arc<Program> {
    match assemble(&Source::new("test.s", text), &cp2_asm::Options::default()) {
        Ok(assembly) => Arc::new(assembly.program),
        Err(diagnostics) => panic!("{diagnostics}\n{text}"),
    }
}

const fn element(words: u64) -> ElementType {
    match words {
        1 => ElementType {
            name: "float32",
            bytes: 4,
        },
        _ => ElementType {
            name: "complex64",
            bytes: 8,
        },
    }
}

/// Returns planes, rows and columns of one to three extents.
fn axes(extents: &[u64]) -> [u64; 3] {
    let mut all = [1; 3];
    all[3 - extents.len()..].copy_from_slice(extents);
    all
}

/// Returns the number of quads of a row of so many elements.
fn quads(columns: u64, words: u64) -> u64 {
    (columns * words).div_ceil(4)
}

/// Writes words that store q0 times 1, 2, 3, ... to the quads of a block from `a1` on, at distances of s2
/// from row to row and of s3 from plane to plane.
fn store_block([planes, rows, columns]: [u64; 3], words: u64) -> String {
    format!(
        r#"
    lif r4, 0.0
    lif r5, 0.0
    mov a2, a1
    loop {planes} {{
        mov a3, a2
        loop {rows} {{
            mov a4, a3
            loop {quads} {{
                add q2, q2, q3
                mul q4, q0, q2
                stq q4, [a4]+16
            }}
            add a3, a3, s2
        }}
        add a2, a2, s3
    }}
"#,
        quads = quads(columns, words)
    )
}

/// Writes words that leave the lanes' sums of a block's window in q0: `planes`, `rows` and `quads` are
/// numbers or registers.
fn sum_block(planes: &str, rows: &str, quads: &str) -> String {
    format!(
        r#"
    loop {planes} {{
        mov a2, a0
        loop {rows} {{
            mov a3, a2
            loop {quads} {{
                ldq q1, [a3]+16
                add q0, q0, q1
            }}
            add a2, a2, s0
        }}
        add a0, a0, s1
    }}
"#
    )
}

/// Writes a reduction: the lanes' sums of the whole array, times the number of the result's quad.
fn reduction(result: [u64; 3], words: u64) -> String {
    let [planes, rows, columns] = result;
    format!(
        r#"
.include "page.s"
.program
    lif r0, 0.0
    lif r1, 0.0
    lif r6, 1.0
    lif r7, 1.0
    page_begin
    ldx2 a0, [a15]
    ldx2 c0, [a15 + PAGE_ROWS]
    ldx c2, [a15 + PAGE_COLUMNS]
    ldx2 s0, [a15 + PAGE_PITCH]
    ldx2 s2, [a15 + PAGE_OUT_PITCH]
    {sum}
    page_end
    {store}
    page_gather
    ldx2 a0, [a15]
    ldx c0, [a15 + 8]
    movi c3, {planes}
    mul s4, s3, c3                      ; from a section's result to the next one's
    loop {planes} {{
        mov a3, a1
        mov a5, a0
        loop {rows} {{
            mov a4, a3
            mov a6, a5
            loop {quads} {{
                lif r8, 0.0
                lif r9, 0.0
                mov a7, a6
                loop c0 {{
                    ldq q1, [a7]
                    add q4, q4, q1
                    add a7, a7, s4
                }}
                stq q4, [a4]+16
                addi a6, a6, 16
            }}
            add a3, a3, s2
            add a5, a5, s2
        }}
        add a1, a1, s3
        add a0, a0, s3
    }}
    stop
"#,
        sum = sum_block("c1", "c0", "c2"),
        store = store_block(result, words),
        quads = quads(columns, words),
    )
}

/// Writes a kernel that stores, for each block of the input, the lanes' sums times the number of the quad in
/// the block of each output, one block a page.
fn blocks(block: [u64; 3], outputs: &[[u64; 3]], words: u64) -> String {
    let mut text = format!(
        r#"
.include "page.s"
.program
    lif r6, 1.0
    lif r7, 1.0
    page_begin
    ldx a0, [a15]
    ldx2 a8, [a15]                      ; a9: the first output
    {further}
    ldx2 s0, [a15 + PAGE_PITCH]
    lif r0, 0.0
    lif r1, 0.0
"#,
        further = match outputs.len() {
            1 => "",
            2 => "ldx a10, [a15 + 16]",
            _ => "ldx2 a10, [a15 + 16]",
        }
    );
    let [planes, rows, columns] = block;
    let counts = [planes, rows, quads(columns, words)].map(|n| n.to_string());
    text += &sum_block(&counts[0], &counts[1], &counts[2]);
    for (i, output) in outputs.iter().enumerate() {
        let pitch = match i {
            0 => "+ PAGE_OUT_PITCH".to_owned(),
            _ => format!("- {}", 96 + 8 * i),
        };
        let _ = writeln!(text, "    mov a1, a{}", 9 + i);
        let _ = writeln!(text, "    ldx2 s2, [a15 {pitch}]");
        text += &store_block(*output, words);
    }
    text + "    page_end\n    stop\n"
}

/// Sums the lanes of elements of an array, within a box.
fn sums(x: &[f32], shape: [u64; 3], from: [u64; 3], block: [u64; 3], words: u64) -> [f32; 4] {
    let mut sums = [0.0; 4];
    let to = [0, 1, 2].map(|axis| (from[axis] + block[axis]).min(shape[axis]));
    for z in from[0]..to[0] {
        for y in from[1]..to[1] {
            for word in from[2] * words..to[2] * words {
                let at = (z * shape[1] + y) * shape[2] * words + word;
                sums[(word - from[2] * words) as usize % 4] += x[at as usize];
            }
        }
    }
    sums
}

/// Returns a word of a block's quads, given the sums of lanes.
fn expected(sums: [f32; 4], block: [u64; 3], [z, y]: [u64; 2], word: u64, words: u64) -> f32 {
    let number = (z * block[1] + y) * quads(block[2], words) + word / 4 + 1;
    sums[word as usize % 4] * number as f32
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect()
}

/// Returns a machine with so many sections, whose DMA moves granules of so many bytes.
fn machine(name: &str, sections: usize, granule: u64) -> Machine {
    let mut machine = Machine::builtin(name).unwrap();
    machine.cp2.sections = sections;
    machine.dma.granule = Bytes(granule);
    machine
}

/// A case of either property.
#[derive(Clone, Debug)]
struct Case {
    /// Extents of the input.
    shape: Vec<u64>,
    /// Extents of the input's block.
    block: Vec<u64>,
    /// Extents of the outputs' blocks.
    results: Vec<Vec<u64>>,
    /// Elements by which the outputs are shorter than whole blocks, where they may be.
    short: u64,
    words: u64,
    size: Option<u32>,
    name: &'static str,
    sections: usize,
    granule: u64,
}

impl Case {
    /// Runs the case and returns the outputs.
    fn run(
        &self,
        text: &str,
        outputs: Vec<Vec<u64>>,
        size: Option<u32>,
        reduce: bool,
    ) -> Result<Vec<Vec<f32>>, TestCaseError> {
        let x = self.values();
        let raw: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
        let element = element(self.words);
        let outputs = outputs.into_iter().zip(&self.results).enumerate();
        let outputs = outputs.map(|(i, (shape, block))| Output {
            name: format!("y{i}"),
            element,
            shape,
            block: block.clone(),
        });
        let job = ArrayJob {
            inputs: vec![Input {
                name: "x".into(),
                element,
                shape: self.shape.clone(),
                bytes: &raw,
                block: self.block.clone(),
                halo: Vec::new(),
                edge: BoundaryRule::Zero,
            }],
            outputs: outputs.collect(),
            reduce,
            size: size.map_or(BlocksPerSection::ANY, BlocksPerSection::Fixed),
            options: DeviceOptions {
                check: self.short != 1,
                ..DeviceOptions::default()
            },
            ..ArrayJob::new("results")
        };
        let machine = machine(self.name, self.sections, self.granule);
        let done = map(assembled(text), machine.into(), job);
        let done = done.map_err(|e| TestCaseError::fail(e.to_string()))?;
        let report = &done.run.report;
        prop_assert!(report.end.is_finished(), "{}", report.end);
        let finding = report.findings.first().map(ToString::to_string);
        // With wider granules more than the result is stored, which is never read.
        prop_assert!(finding.is_none(), "{:?}", finding);
        Ok(done.outputs.unwrap().iter().map(|y| floats(y)).collect())
    }

    fn values(&self) -> Vec<f32> {
        let count = self.shape.iter().product::<u64>() * self.words;
        (0..count).map(|i| (i * 5 % 7) as f32).collect()
    }
}

prop_compose! {
    fn cases()(
        (rank, outputs) in (1usize..4, 1usize..4),
        extents in [1u64..4, 1u64..12, 1u64..200],
        block in [1u64..3, 1u64..4, 1u64..4],
        results in proptest::collection::vec((1usize..4, [1u64..4, 1u64..6, 1u64..20]), 3),
        short in 0u64..3,
        words in 1u64..3,
        size in prop::option::of(1u32..4),
        (name, sections, granule) in (
            prop_oneof![Just("vm7"), Just("vm9")],
            prop_oneof![Just(4usize), 1usize..7],
            prop_oneof![Just(16u64), Just(4), Just(8), Just(32), Just(64)],
        ),
    ) -> Case {
        let cut = |of: [u64; 3], rank: usize| of[3 - rank..].to_vec();
        let block = [block[0], block[1], 16 * block[2]];
        Case {
            shape: cut(extents, rank),
            block: cut(block, rank),
            results: results[..outputs].iter().map(|(_, of)| cut(*of, rank)).collect(),
            short,
            words,
            size,
            name,
            sections,
            granule,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// A reduction stores its whole result: every row of every plane, with any number of dimensions.
    #[test]
    fn every_row_of_a_reductions_result_is_stored(case in cases(), rank in 1usize..4, other in [1u64..4, 1u64..6, 1u64..20]) {
        let block = other[3 - rank..].to_vec();
        let case = Case { results: vec![block.clone()], ..case };
        let (words, result) = (case.words, axes(&block));
        let outputs = case.run(&reduction(result, words), vec![block], case.size, true)?;
        let shape = axes(&case.shape);
        let sums = sums(&case.values(), shape, [0; 3], shape, words);
        let [planes, rows, columns] = result;
        let mut all = Vec::new();
        for z in 0..planes {
            for y in 0..rows {
                all.extend((0..columns * words).map(|word| expected(sums, result, [z, y], word, words)));
            }
        }
        prop_assert_eq!(&outputs[0], &all);
    }

    /// Outputs may have blocks of different shapes.
    #[test]
    fn every_row_of_every_outputs_blocks_is_stored(case in cases()) {
        // With several blocks a row consists of whole quads, since the values behind the end of a row are
        // undefined.
        let mut case = case;
        let last = case.shape.len() - 1;
        let grid = |case: &Case| -> Vec<u64> {
            case.shape.iter().zip(&case.block).map(|(n, block)| n.div_ceil(*block)).collect()
        };
        case.shape[last] = case.shape[last].next_multiple_of(16);
        let grid = grid(&case);
        for block in &mut case.results {
            if grid[last] > 1 {
                block[last] = block[last].next_multiple_of(16);
            }
        }
        let shapes: Vec<Vec<u64>> = case.results.iter().map(|block| {
            let of = grid.iter().zip(block);
            of.map(|(blocks, n)| blocks * n - case.short.min(n - 1)).collect()
        }).collect();
        let blocks_of: Vec<[u64; 3]> = case.results.iter().map(|block| axes(block)).collect();
        let text = blocks(axes(&case.block), &blocks_of, case.words);
        let outputs = case.run(&text, shapes.clone(), Some(1), false)?;
        let (x, words) = (case.values(), case.words);
        for ((output, shape), block) in outputs.iter().zip(&shapes).zip(blocks_of) {
            let shape = axes(shape);
            let mut all = Vec::new();
            for z in 0..shape[0] {
                for y in 0..shape[1] {
                    for word in 0..shape[2] * words {
                        let place = [z / block[0], y / block[1], word / words / block[2]];
                        let own = axes(&case.block);
                        let from = [0, 1, 2].map(|axis| place[axis] * own[axis]);
                        let sums = sums(&x, axes(&case.shape), from, own, words);
                        let word = word - place[2] * block[2] * words;
                        all.push(expected(sums, block, [z % block[0], y % block[1]], word, words));
                    }
                }
            }
            prop_assert_eq!(output, &all);
        }
    }
}
