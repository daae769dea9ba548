//! Tests a kernel against a closure: random arrays, the smallest failing one.
//!
//! `cargo run -p cp2-kernels --features testing --example check_kernel`

use cp2_asm::{Options, Source, assemble};
use cp2_kernels::map::{Inputs, KernelTest, check_kernel};
use cp2_machine::Machine;
use std::error::Error;
use std::sync::Arc;

/// Assembly that should compute |x|, but is wrong for the second float of every pair.
const WRONG: &str = r#"
.include "page.s"
.program
    page_begin
    ldx2 a0, [a15]
    ldx  c0, [a15 + 8]
    loop c0 {
        ldp r0, [a0]+8
        ldp r1, [a0]+8
        abs r2, r0
        conj r3, r1
        stp r2, [a1]+8
        stp r3, [a1]+8
    }
    page_end
    stop
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let machine = Arc::new(Machine::load("vm7")?);
    let program = Arc::new(assemble(&Source::new("abs.s", WRONG), &Options::default())?.program);
    let test = KernelTest::new("abs", &[4]);
    let reference = |x: Inputs<'_>| x.map_elements(|at| at.center_element(0).abs());
    match check_kernel(program, machine, &test, -100.0f32..100.0, reference) {
        Ok(()) => println!("the kernel is right"),
        Err(failure) => println!("{failure}"),
    }
    Ok(())
}
