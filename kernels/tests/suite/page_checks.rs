//! Tests the checkers on pages: unwritten outputs and reads out of bounds.
//!
//! An output's block is unwritten before its page has written it; pages may leave blocks unwritten; and reads
//! may go behind the last block of a stream.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_asm::{Source, assemble};
use cp2_host::nest::BoundaryRule;
use cp2_host::{BlocksPerSection, Buffering, DeviceOptions};
use cp2_kernels::map::{ArrayJob, ElementType, Input, Output, map};
use cp2_machine::{Bytes, Machine};

const FLOAT: ElementType = ElementType {
    name: "float32",
    bytes: 4,
};

/// Writes a kernel that does something with each block, with `a0` and `a1` at its input and its output.
fn kernel(each: &str) -> String {
    format!(
        "
.include \"page.s\"
.program
    page_begin
    ldx2 a0, [a15]
    ldx c0, [a15 + 8]
    nop
    nop
    nop
    nop
    loop c0 {{
        {each}
        nop
    }}
    page_end
    stop
"
    )
}

/// Returns the findings of such a kernel, with pages of so many blocks.
fn found(each: &str, page: u32, how: ArrayJob<'static>) -> Vec<String> {
    let x: Vec<u8> = (0..4096u16)
        .flat_map(|i| f32::from(i).to_le_bytes())
        .collect();
    let program = assemble(
        &Source::new("k.s", kernel(each)),
        &cp2_asm::Options::default(),
    );
    let program = program.unwrap().program;
    let job = ArrayJob {
        inputs: vec![Input {
            name: "x".into(),
            element: FLOAT,
            shape: vec![4096],
            bytes: &x,
            block: vec![64],
            halo: Vec::new(),
            edge: BoundaryRule::Zero,
        }],
        outputs: vec![Output {
            name: "y".into(),
            element: FLOAT,
            shape: vec![4096],
            block: vec![64],
        }],
        size: BlocksPerSection::Fixed(page),
        options: DeviceOptions {
            check: true,
            ..DeviceOptions::default()
        },
        ..how
    };
    let machine = Machine::builtin("vm7").unwrap();
    let done = map(program.into(), machine.into(), job).unwrap();
    assert!(done.run.report.end.is_finished(), "{}", done.run.report.end);
    let findings = done.run.report.findings.iter();
    findings.map(ToString::to_string).collect()
}

fn buffered(buffering: Buffering) -> ArrayJob<'static> {
    ArrayJob {
        buffering,
        ..ArrayJob::new("k")
    }
}

const COPY: &str = "loop 16 {
            ldq q0, [a0]+16
            stq q0, [a1]+16
        }";

const BUFFERINGS: [Buffering; 3] = [Buffering::Single, Buffering::Double, Buffering::Triple];

#[test]
fn kernels_that_keep_to_their_pages_are_clean() {
    // A page may read what it has written itself.
    let own = COPY.replace(
        "stq q0, [a1]+16",
        "stq q0, [a1]\n ldq q1, [a1]\n add q1, q1, q0\n stq q1, [a1]+16",
    );
    for each in [COPY, &own] {
        for buffering in BUFFERINGS {
            for page in [1, 3, 8] {
                assert_eq!(
                    found(each, page, buffered(buffering)),
                    [""; 0],
                    "{each} {page}"
                );
            }
        }
    }
    // In place, a block holds the input that was loaded.
    let in_place = ArrayJob {
        in_place: true,
        ..ArrayJob::new("k")
    };
    assert_eq!(
        found(
            "ldq q0, [a1]\n stq q0, [a1]\n addi a1, a1, 256",
            4,
            in_place
        ),
        [""; 0]
    );
}

/// The quad behind the last block of the input is the first one of the output, so its value depends on the
/// size of the page.
#[test]
fn a_read_behind_the_input_is_found_in_the_output() {
    let peek = format!("{COPY}\n ldq q1, [a0]\n stq q1, [a1 - 16]");
    for page in [4, 8] {
        let found = found(&peek, page, buffered(Buffering::Single));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("the block of another stream"),
            "{found:?}"
        );
    }
}

#[test]
fn what_other_pages_left_in_an_output_is_not_read() {
    let stale = COPY.replace("stq q0", "ldq q1, [a1]\n add q0, q0, q1\n stq q0");
    for (buffering, first) in BUFFERINGS.into_iter().zip(["page 1", "page 2", "page 3"]) {
        let found = found(&stale, 2, buffered(buffering));
        let stale = found
            .iter()
            .find(|f| f.contains("has not written at this page"));
        assert!(stale.is_some_and(|f| f.contains(first)), "{found:?}");
    }
}

#[test]
fn an_output_block_is_written_whole() {
    let short = format!(
        "{}\n addi a1, a1, 16\n addi a0, a0, 16",
        COPY.replace("16 {", "15 {")
    );
    for buffering in BUFFERINGS {
        let found = found(&short, 2, buffered(buffering));
        assert_eq!(found.len(), 1, "{found:?}");
        // The last quad of the first block.
        assert!(found[0].contains("unwritten at page 0"), "{found:?}");
        assert!(found[0].contains("byte 240 of row 0"), "{found:?}");
    }
    // All pages but the last, which has the last blocks of the array.
    let later = "ldx c2, [a15 + PAGE_INDEX]
        nop
        nop
        nop
        nop
        nop
        movi c3, 5
        sub c2, c2, c3
        bnz c2, all
        addi a0, a0, 256
        addi a1, a1, 256
        jmp none
all:    loop 16 {
            ldq q0, [a0]+16
            stq q0, [a1]+16
        }
none:   nop";
    let found = found(later, 1, buffered(Buffering::Double));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("unwritten at page 5"), "{found:?}");
}

/// The last granule of a row may extend beyond the words that the kernel has to write.
#[test]
fn what_a_granule_has_behind_a_row_is_nobodys() {
    let text = "
.include \"page.s\"
.program
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
            ldq q0, [a2]+16
            stq q0, [a3]+16
        }
        add a0, a0, s0
        add a1, a1, s2
    }
    page_end
    stop
";
    let program = assemble(&Source::new("k.s", text), &cp2_asm::Options::default()).unwrap();
    let program = std::sync::Arc::new(program.program);
    for granule in [4, 16, 64, 128] {
        for columns in [20, 32, 37] {
            let mut machine = Machine::builtin("vm7").unwrap();
            machine.dma.granule = Bytes(granule);
            let x: Vec<u8> = (0..9 * columns)
                .flat_map(|i| (i as f32).to_le_bytes())
                .collect();
            let job = ArrayJob {
                inputs: vec![Input {
                    name: "x".into(),
                    element: FLOAT,
                    shape: vec![9, columns],
                    bytes: &x,
                    block: vec![1, 64],
                    halo: Vec::new(),
                    edge: BoundaryRule::Zero,
                }],
                outputs: vec![Output {
                    name: "y".into(),
                    element: FLOAT,
                    shape: vec![9, columns],
                    block: vec![1, 64],
                }],
                size: BlocksPerSection::Fixed(1),
                options: DeviceOptions {
                    check: true,
                    ..DeviceOptions::default()
                },
                ..ArrayJob::new("k")
            };
            let done = map(program.clone(), machine.into(), job).unwrap();
            let findings: Vec<String> = done
                .run
                .report
                .findings
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(findings, [""; 0], "{granule} {columns}");
            assert_eq!(done.outputs.unwrap()[0], x, "{granule} {columns}");
        }
    }
}
