//! Tests prices of kernels whose time depends on the page and its place.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_asm::{Source, assemble};
use cp2_host::BlocksPerSection;
use cp2_host::nest::{BoundaryRule, March};
use cp2_kernels::map::{ArrayJob, ElementType, Input, Output, map};
use cp2_machine::Machine;

/// Writes a kernel of rows of a quad that idles as the words `c4` and `c5` of its arguments say.
fn kernel(words: &str, idle: &str) -> String {
    format!(
        "
.include \"page.s\"
.program
    page_begin
    ldx2 c4, [a15 + {words}]
    ldx2 a0, [a15]
    ldx2 c0, [a15 + PAGE_ROWS]
    ldx s0, [a15 + PAGE_PITCH]
    ldx s1, [a15 + PAGE_OUT_PITCH]
    {idle}
run: nop
    loop c0 {{
        ldq q1, [a0]
        stq q1, [a1]
        add a0, a0, s0
        add a1, a1, s1
    }}
    page_end
    stop
"
    )
}

/// Returns the cycles that rows in blocks should take, and those that they take.
fn cycles(
    text: &str,
    shape: &[u64],
    block: &[u64],
    march: Option<March>,
    size: BlocksPerSection,
) -> [f64; 2] {
    let element = ElementType {
        name: "float32",
        bytes: 4,
    };
    let x = vec![0; 4 * shape.iter().product::<u64>() as usize];
    let program = assemble(&Source::new("k.s", text), &cp2_asm::Options::default());
    let halo = match march {
        Some(_) => vec![1, 0],
        None => Vec::new(),
    };
    let job = ArrayJob {
        inputs: vec![Input {
            name: "x".into(),
            element,
            shape: shape.to_vec(),
            bytes: &x,
            block: block.to_vec(),
            halo,
            edge: BoundaryRule::Zero,
        }],
        outputs: vec![Output {
            name: "y".into(),
            element,
            shape: shape.to_vec(),
            block: block.to_vec(),
        }],
        march,
        size,
        ..ArrayJob::new("k")
    };
    let machine = Machine::builtin("vm7").unwrap();
    let done = map(program.unwrap().program.into(), machine.into(), job).unwrap();
    let report = &done.run.report;
    assert!(report.end.is_finished(), "{}", report.end);
    [done.expected.unwrap().0 as f64, report.cycles as f64]
}

#[test]
fn every_page_is_priced_by_what_it_asks_of_its_place() {
    let first = "bnz c4, run\n loop 4000 {\n nop\n }";
    let first_row = "bnz c5, run\n loop 4000 {\n nop\n }";
    let third = "addi c4, c4, -3\n nop\n nop\n bnz c4, run\n loop 4000 {\n nop\n }";
    let grows = "movi c6, 20\n nop\n mul c6, c6, c4\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n loop c6 {\n nop\n }";
    let by_row = grows.replace("c6, c4", "c6, c5");
    let grows_by_row = by_row.as_str();
    let ends = "bnz c5, run\n loop 300 {\n nop\n }";
    let one = BlocksPerSection::Fixed(1);
    let any = BlocksPerSection::ANY;
    let of = |shape: &'static [u64], block: &'static [u64]| (shape, block);
    let rows = of(&[1024, 4], &[4, 4]);
    let planes = of(&[8, 16, 4], &[1, 4, 4]);
    for (words, idle, (shape, block), march, size) in [
        (
            "SECTION_ORIGIN",
            first_row,
            of(&[256, 4], &[16, 4]),
            Some(March::Rows),
            any,
        ),
        ("SECTION_ORIGIN", first_row, rows, None, one),
        ("SECTION_ORIGIN", first_row, rows, None, any),
        ("SECTION_ORIGIN", grows_by_row, rows, None, one),
        // Blocks along columns: the first ones idle.
        ("SECTION_ORIGIN", first, of(&[4, 256], &[4, 4]), None, one),
        // Planes.
        ("SECTION_ORIGIN + 8", first, planes, None, one),
        ("SECTION_ORIGIN + 8", grows, planes, None, one),
        ("PAGE_INDEX", first, rows, None, one),
        ("PAGE_INDEX", third, rows, None, one),
        ("PAGE_INDEX", grows, rows, None, one),
        ("PAGE_INDEX", grows, rows, None, any),
        // The flags.
        ("PAGE_INDEX", ends, rows, None, one),
    ] {
        let [expected, measured] = cycles(&kernel(words, idle), shape, block, march, size);
        assert!(
            (expected / measured - 1.0).abs() < 0.03,
            "{words}, {idle}, {shape:?} in {block:?}: {expected} expected, {measured} measured"
        );
    }
}
