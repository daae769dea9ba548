//! The page kernel of a block: a pipelined loop over rows.

use super::error::StencilError;
use super::row_dataflow::PointerWalkKind;
use super::row_loop::{RowLoop, RowPointerBase};
use crate::assembly::assembly;
use crate::pipeline::Operations;
use cp2_asm::{Program, Source};
use cp2_machine::Machine;
use std::fmt::Write as _;
use std::sync::Arc;

/// Address register of a page's first input; the next one holds the address of its output.
pub(super) const FIRST: u8 = 8;

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
            for one in loops {
                operations.add(&one.scheduled.made.body, one.iterations(), machine);
                if let Some((body, _)) = &one.scheduled.first {
                    operations.add(body, one.scheduled.kept_first(), machine);
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
        let mut text = head(rows, "");
        text += &rows.constants();
        text += "    page_begin\n";
        text += &rows.place();
        let _ = writeln!(text, "    ldx2 a{FIRST}, [a15]");
        if rows.scheduled.first.is_some() {
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
            PointerWalkKind::Plane(_) | PointerWalkKind::Words(_) => {
                scalar_base(&format!("a{FIRST}"), 0)
            }
            PointerWalkKind::Result => scalar_base(&format!("a{}", FIRST + 1), 0),
            PointerWalkKind::Own => argument(stream, "16"),
            PointerWalkKind::Kept | PointerWalkKind::Keeping => scalar_base("c7", 0),
        });
        text += "    page_end\n    stop\n.dmem 0\n";
        text += &rows.data();
        Self::assembled(text, (&[rows], &[]), machine)
    }
}

/// Returns the beginning of a kernel's text.
pub(super) fn head(rows: &RowLoop<'_>, what: &str) -> String {
    let points = rows.row.stencil.points().len();
    format!(
        "; Stencil of {points} points, {what}blocks of {} rows of {}: generated, see docs/stencil.md.\n\
         .include \"page.s\"\n.program\n.entry start\nstart:\n",
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
    let [_, register] = stream.registers();
    RowPointerBase {
        words: format!("    ldx a{register}, [a15 + {place}]\n"),
        register: format!("a{register}"),
        bytes: 0,
    }
}
