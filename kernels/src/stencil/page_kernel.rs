//! The page kernel of a block: a loop over rows.

use super::error::StencilError;
use super::row_dataflow::PointerWalkKind;
use super::row_loop::{RowLoop, RowPointerBase};
use crate::assembly::assembly;
use crate::pipeline::Operations;
use cp2_asm::{Program, Source};
use cp2_machine::Machine;
use std::fmt::Write as _;
use std::sync::Arc;

/// Registers of a page's first input and of its output.
pub(super) const INPUT: &str = "c8";
pub(super) const OUTPUT: &str = "c9";

/// Macro by which loops take the registers that words around them name: these hold nothing there, except those that the
/// loop names too.
pub(super) const FREE_REGISTERS: &str = "\
.macro free_registers
    .rept 32, n
    .free q{n}
    .endr
    .rept 15, n
    .free a{n}
    .endr
.endm
";

/// An assembled page kernel.
#[derive(Clone, Debug)]
pub(super) struct StencilPageKernel {
    pub(super) program: Arc<Program>,
    pub(super) source: String,
    /// Operations of a block.
    pub(super) operations: Operations,
    /// Operations that the first block of a section's share takes in addition.
    pub(super) opening: Operations,
}

impl StencilPageKernel {
    /// Assembles the text of a page with these loops; the first page of a share also goes through those of
    /// `opening`.
    pub(super) fn assembled(
        source: String,
        (loops, opening): (&[&RowLoop<'_>], &[&RowLoop<'_>]),
        machine: &Machine,
    ) -> Result<Self, StencilError> {
        let options = cp2_asm::Options {
            machine: Some(machine),
            ..cp2_asm::Options::default()
        };
        let assembled = assembly(
            "stencil",
            (&Source::new("stencil.s", source.clone()), ""),
            &options,
        )?;
        let [operations, opening] = [loops, opening].map(|loops| {
            let mut operations = Operations::default();
            for block in &assembled.blocks {
                let own =
                    |one: &&RowLoop<'_>| [&one.names.rows, &one.names.first].contains(&&block.name);
                if let (true, Some(iterations)) = (loops.iter().any(own), block.iterations) {
                    operations.add_block(block, iterations);
                }
            }
            operations
        });
        Ok(Self {
            program: Arc::new(assembled.program),
            source,
            operations,
            opening,
        })
    }

    /// Assembles the kernel for pages of one step.
    pub(super) fn single(rows: &RowLoop<'_>, machine: &Machine) -> Result<Self, StencilError> {
        let mut text = head(rows, "", &[rows]);
        text += "    page_begin\n";
        text += &rows.place();
        let _ = writeln!(text, "    ldx2 {INPUT}, [a15]");
        if rows.scheduled.made.way.kept {
            text += "    ldx2 c6, [a15 + 8]\n";
        }
        text += &rows.words(&|stream| match stream {
            PointerWalkKind::Plane(plane) | PointerWalkKind::Words(plane)
                if rows.planes.is_some() =>
            {
                let further = usize::from(rows.row.per_element);
                argument(stream, &line(plane, further))
            }
            // The registers already hold the first input's only plane and the first output.
            PointerWalkKind::Plane(_) | PointerWalkKind::Words(_) => scalar_base(INPUT, 0),
            PointerWalkKind::Result => scalar_base(OUTPUT, 0),
            PointerWalkKind::Own => argument(stream, "16"),
            _ => scalar_base("c7", 0),
        });
        text += "    page_end\n    stop\n";
        Self::assembled(text, (&[rows], &[]), machine)
    }
}

/// Returns the beginning of a kernel's text, with the tables of its loops.
pub(super) fn head(rows: &RowLoop<'_>, what: &str, loops: &[&RowLoop<'_>]) -> String {
    let points = rows.row.stencil.points().len();
    let data: String = loops.iter().map(|one| one.data()).collect();
    format!(
        "; Stencil of {points} points, {what}blocks of {} rows of {}: generated, see docs/stencil.md.\n\
         .include \"page.s\"\n{FREE_REGISTERS}.dmem 0\n{data}.program\n.entry start\nstart:\n",
        rows.rows, rows.row.width
    )
}

/// Returns the place in the arguments of the address of a plane of the first input's window, if there are
/// `further` streams besides the first input and output. For another input, `further` includes the planes of
/// the windows before it.
pub(super) fn line(plane: i8, further: usize) -> String {
    // The table begins lower for each stream and plane.
    format!(
        "PAGE_LINES - {}",
        8 * (further as i64 + i64::from(plane) + 1)
    )
}

/// Returns a pointer base that a scalar register holds.
pub(super) fn scalar_base(register: &str, bytes: i64) -> RowPointerBase {
    RowPointerBase {
        words: String::new(),
        register: register.to_owned(),
        bytes,
    }
}

/// Returns a pointer base that an argument word holds.
pub(super) fn argument(stream: PointerWalkKind, place: &str) -> RowPointerBase {
    let register = stream.register();
    RowPointerBase {
        words: format!("    ldx {register}, [a15 + {place}]\n"),
        register: register.to_owned(),
        bytes: 0,
    }
}
