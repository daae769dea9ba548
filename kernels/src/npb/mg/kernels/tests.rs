//! Tests that loops are scheduled close together, with their operations.

use super::*;
use crate::assembly::assembly;
use crate::npb::mg::page::{assemble_page, find_file};
use cp2_asm::{Options, Source};
use cp2_machine::Machine;
use cp2_problems::npb::mg::Smoother;

/// Rows of 32 quads take at most half a cycle a quad more than they have operations: nine for the residual from plane
/// to plane, ten for the smoother.
#[test]
fn rows_are_scheduled_close_together() {
    let problem = MgProblem::new(128, 1, Smoother::A).unwrap();
    let block = OperatorBlock {
        rows: 8,
        handed: false,
    };
    let key = (MultigridOperator::Ascend { add: true }, 7);
    let (loops, frame) = parts(&problem, key, block);
    for name in ["vm7", "vm9"] {
        let machine = Machine::builtin(name).unwrap();
        let page = assemble_page("ascent", (&loops, &[]), frame, &machine).unwrap();
        for (loop_name, least) in [("plane_residual", 9.0), ("plane_smoother", 10.0)] {
            let block = page.blocks.iter().find(|block| block.name == loop_name);
            let quad = block.unwrap().interval as f64 / 32.0;
            assert!((least..least + 0.5).contains(&quad), "{name}: {quad}");
        }
    }
}

/// Issues are those of the table at the head of `numbers.s`.
#[test]
fn double_single_operations_have_their_issues() {
    let machine = Machine::load("vm7+double-single").unwrap();
    for (factor, product, sum) in [(0.5, 2, 5), (-0.375, 3, 7), (1.0 / 6.0, 4, 8)] {
        for (operation, count) in [
            ("number_add d, a, c", 4),
            ("number_mul d, a, K", product),
            ("number_madd d, a, K, c", sum),
            ("number_normalise d, a", 2),
        ] {
            let text = format!(
                ".equ PRECISION, 2\n.include \"numbers.s\"\n.include \"page.s\"\n.program\n.entry start\nstart:\n\
                page_begin\n.linear one, 4\nnumber_constant K, {factor:?}\n.pointer p = c4 by 64\n.apart\n\
                number_load a, p, 0\nnumber_load c, p, 32\n{operation}\nnumber_store_loaded d, p, 0\n.endlinear\n\
                page_end\nstop\n"
            );
            let options = Options {
                machine: Some(&machine),
                include: Some(&find_file),
                ..Options::default()
            };
            let source = Source::new("numbers", text);
            let assembled = assembly("numbers", (&source, ""), &options).unwrap();
            let block = assembled.blocks.first().unwrap();
            assert_eq!(block.arithmetic, count, "{operation} {factor:?}");
        }
    }
}
