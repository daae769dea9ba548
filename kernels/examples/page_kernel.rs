//! Sends an array through a ten-line kernel and shows where cycles go.
//!
//! It prints the plan and the causes of cycles, and writes the timeline.
//!
//! `cargo run -p cp2-kernels --example page_kernel`

use cp2_asm::{Options, Source, assemble};
use cp2_host::files;
use cp2_host::nest::BoundaryRule;
use cp2_kernels::map::{ArrayJob, ElementType, Input, Output, map};
use cp2_machine::Machine;
use std::error::Error;
use std::sync::Arc;

/// Assembly that squares every float of its page, in blocks of 16 bytes.
const SQUARE: &str = r#"
.include "page.s"
.program
    page_begin
    ldx2 a0, [a15]            ; words 0 and 1: input and output page
    ldx  c0, [a15 + 8]        ; word 2: blocks per section
    loop c0 {
        ldq q0, [a0]+16
        mul q1, q0, q0
        stq q1, [a1]+16
    }
    page_end
    stop
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Arc::new(Machine::load("vm7")?);
    let program = assemble(&Source::new("square.s", SQUARE), &Options::default())?.program;
    let input: Vec<u8> = (0..50_000u32)
        .flat_map(|i| (i as f32).to_le_bytes())
        .collect();

    let element = ElementType {
        name: "float32",
        bytes: 4,
    };
    let job = ArrayJob {
        inputs: vec![Input {
            name: "x".into(),
            element,
            shape: vec![50_000],
            bytes: &input,
            block: vec![4],
            halo: vec![],
            edge: BoundaryRule::Zero,
        }],
        outputs: vec![Output {
            name: "y".into(),
            element,
            shape: vec![50_000],
            block: vec![4],
        }],
        ..ArrayJob::new("square")
    };
    let done = map(Arc::new(program), machine, job)?;
    if let Some(nest) = done.nest() {
        println!("{nest}");
    }
    let report = &done.run.report;
    println!("{}: {} cycles", report.end, report.cycles);
    for (cause, cycles) in report.causes.iter() {
        println!("  {cause:<14} {cycles:>7}");
    }
    let folder = std::env::temp_dir();
    let (trace, picture) = (folder.join("square.json"), folder.join("square.svg"));
    files::write_file(&trace, |out| report.timeline.write_perfetto(out, "vm7"))?;
    files::write_file(&picture, |out| {
        out.write_all(report.timeline.to_svg("square").as_bytes())
    })?;
    println!("timeline: {} and {}", trace.display(), picture.display());
    Ok(())
}
