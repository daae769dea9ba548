//! Two steps a pass, over a ring of planes of the first.
//!
//! A page computes a plane of the first step, and of the second step the plane before it.
//!
//! The second step needs a row of the first on either side of its block. Sections have shares of the rows,
//! block by block. The first step computes the block's rows except the first, and the row behind the block.
//! The row before the block and its first row are handed over by the block before, through system memory. In
//! the first block of a share, the first step computes these two rows too.
//!
//! The first step's values beyond the array are replaced: rows by zeros or mirrored rows, planes by zeros or
//! by the outermost plane. If the array is periodic, the computed values are right. Values next to fixed
//! elements are not used.

use super::error::StencilError;
use super::page_kernel::{StencilPageKernel, argument, head, line, scalar_base};
use super::row_dataflow::{PointerWalkKind, QUAD};
use super::row_loop::{RowLoop, RowPointerBase};
use crate::pipeline::BlockWriter;
use cp2_machine::Machine;
use cp2_problems::stencil::Edge;
use std::fmt::Write as _;

/// Rows of the first step that the second needs on either side of a block.
const BESIDE: usize = 1;
/// Rows of the first step that a block hands over to the next: those on either side of the next block's
/// begin.
pub(super) const HANDED: usize = 2 * BESIDE;
/// Planes of a window.
const WINDOW: usize = 3;
/// Quad register of the mask of lanes that are replaced.
const MASK: u8 = 31;
/// Quad register of the place that a section's place is compared with.
const WANTED: u8 = 30;

/// A page of two steps.
#[derive(Debug)]
pub(super) struct Fused<'a> {
    /// True if sections have several blocks, so that rows are handed over.
    pub(super) hands: bool,
    /// Loops of the first and of the second step.
    pub(super) loops: [RowLoop<'a>; 2],
    /// Loop of the first step over the rows that other blocks are handed.
    pub(super) opening: RowLoop<'a>,
}

/// Returns the pages of a march in addition to the planes, and the number of planes by which its first page
/// precedes the array. The second step begins a page later.
pub(super) fn beyond(edge: Edge) -> [u64; 2] {
    match edge {
        // Values beyond the array are computed too.
        Edge::Periodic => [2, 1],
        Edge::Zero | Edge::Fixed | Edge::Mirrored => [1, 0],
    }
}

/// Returns whether a march has a page behind the array whose plane of the first step is not computed.
pub(super) fn skips(edge: Edge) -> bool {
    matches!(edge, Edge::Zero | Edge::Mirrored)
}

impl Fused<'_> {
    /// Assembles the kernel for a machine.
    pub(super) fn kernel(&self, machine: &Machine) -> Result<StencilPageKernel, StencilError> {
        let [first, second] = &self.loops;
        let mut text = head(second, "two steps, ", &[first, second, &self.opening]);
        text += "    ldx2 c6, [a15 + 8]\n    page_begin\n";
        for (register, plane) in [("c0", 1), ("c1", 0), ("c2", -1)] {
            let _ = writeln!(
                text,
                "    ldx {register}, [a15 + {}]",
                line(plane, self.further() + WINDOW)
            );
        }
        text += "    ldx2 c4, [a15 + PAGE_ROWS]\n    ldx2 c8, [a15 - 8]\n";
        text += &self.first(machine);
        let planes = self.beyond(&mut text);
        text += "    loop c10 {\n";
        text += &second.place();
        text += "    ldx2 c12, [a15]\n";
        let row = self.pitch() * BESIDE as i64;
        text += &second.words(&|stream| match stream {
            PointerWalkKind::Plane(plane) | PointerWalkKind::Words(plane) => {
                scalar_base(planes[(plane + 1) as usize], row)
            }
            PointerWalkKind::Result => scalar_base("c13", 0),
            _ => scalar_base("c7", 0),
        });
        // A hardware loop may not end where another does.
        text += "    nop\n    }\n    page_end\n    stop\n";
        text += "opening:\n";
        text += &self.rows(&self.opening, -1);
        text += "    ret\n";
        StencilPageKernel::assembled(text, (&[first, second], &[&self.opening]), machine)
    }

    /// Returns the text of the first step over rows from row `from` of the block on.
    fn rows(&self, rows: &RowLoop<'_>, from: i64) -> String {
        let bytes = |row: i64| row * self.pitch();
        let mut text = rows.place();
        text += &rows.words(&|stream| match stream {
            PointerWalkKind::Plane(plane) | PointerWalkKind::Words(plane) => RowPointerBase {
                bytes: bytes(from),
                ..argument(stream, &line(plane, self.further()))
            },
            PointerWalkKind::Result => scalar_base("c0", bytes(from + BESIDE as i64)),
            _ => scalar_base("c7", 0),
        });
        text
    }

    /// Returns the number of streams besides the first input and output: rows that the block receives, and
    /// rows that it hands over.
    fn further(&self) -> usize {
        1 + usize::from(self.hands)
    }

    fn edge(&self) -> Edge {
        self.loops[1].row.edge
    }

    fn skips(&self) -> bool {
        skips(self.edge())
    }

    /// Returns the bytes of a row.
    fn pitch(&self) -> i64 {
        self.loops[1].row.pitch()[1]
    }

    /// Returns the bytes of a plane of the first step.
    fn plane(&self) -> i64 {
        (self.loops[1].rows + HANDED) as i64 * self.pitch()
    }

    /// Returns the text of the first step. The planes of this page and of the two before are at c0, c1 and
    /// c2.
    fn first(&self, machine: &Machine) -> String {
        let first = &self.loops[0];
        let mut text = String::new();
        if self.skips() {
            // c5 is 1, except in the page behind the array.
            text += "    loop c5 {\n";
        }
        text += "    ldx2 c10, [a15 - 16]\n    bz c11, further\n    call opening\nfurther:\n";
        text += &self.rows(first, BESIDE as i64);
        if self.skips() {
            let [rows, height] = [first.row.rows, self.loops[1].rows].map(|n| n as i64);
            let last = (rows - 1) / height * height;
            // The first march has a block at the array's first row, and one march has the block at the last.
            // The row of section 0, in c13, tells which.
            let share = share(first.row.rows, self.loops[1].rows, machine) as i64;
            let from = last / height % share * height;
            text += "    ldx2 c12, [a15 + SECTION_ORIGIN]\n    addi c12, c13, -1\n    shr c12, c12, 31\n    loop c12 {\n";
            text += &self.mend(-1, 0);
            let _ = write!(
                text,
                "    nop\n    }}\n    movi s1, {}\n    sub c12, s1, c13\n    shr c12, c12, 31\n",
                from - 1
            );
            if from + height < share * height {
                let _ = write!(
                    text,
                    "    movi s1, {}\n    sub c13, c13, s1\n    shr c13, c13, 31\n    mul c12, c12, c13\n",
                    from + 1
                );
            }
            text += "    loop c12 {\n";
            text += &self.mend(rows - last, last);
            // A hardware loop may not end where another does.
            text += "    nop\n    }\n    nop\n    }\n";
        }
        text
    }

    /// Returns the text that replaces a row beyond the array by zeros, or by its neighbour. The row is
    /// counted from the first row of the block that begins with row `block` of the array.
    fn mend(&self, row: i64, block: i64) -> String {
        let bytes = |row: i64| (row + BESIDE as i64) * self.pitch();
        let mut mended = BlockWriter::default();
        mended.declare("free_registers");
        // All accesses through a pointer lie within an interval, which is shorter than from the load to the store.
        for pointer in ["from", "to"] {
            mended.pointer(pointer, ("c0", bytes(row)), QUAD);
        }
        mended.operation("ldq", &["own", "[from]"]);
        let mask = format!("q{MASK}");
        if self.edge() == Edge::Mirrored {
            let inner = if row < 0 { 0 } else { row - 1 };
            mended.pointer("inner", ("c0", bytes(inner)), QUAD);
            mended.operation("ldq", &["inner", "[inner]"]);
            mended.operation("sel", &["result", "inner", "own", &mask]);
        } else {
            mended.operation("andn", &["result", "own", &mask]);
        }
        mended.operation("stq", &["result", "[to]"]);
        let quads = self.pitch() / QUAD;
        format!(
            "    ldp r0, [a15 + SECTION_ORIGIN]\n    lii r{low}, {block}\n    lii r{high}, {block}\n    dup1 r2, r0\n    dup1 r3, r0\n\
             \x20   icmpeq q{MASK}, q1, q{WANTED}\n{}",
            mended.text("mended", quads.unsigned_abs()),
            low = 2 * WANTED,
            high = 2 * WANTED + 1,
        )
    }

    /// Adds the text that provides the planes beyond the array, and returns the registers with the planes
    /// before, at and behind that of the second step. The text sets c10 to 0 in the first pages of a march,
    /// whose second step would be before the array. On entry c9 is the number of earlier pages of the march.
    fn beyond(&self, text: &mut String) -> [&'static str; 3] {
        let [_, more] = beyond(self.edge());
        let _ = write!(
            text,
            "    addi c8, c9, -{}\n    shr c8, c8, 31\n    movi c10, 1\n    sub c6, c10, c5\n    sub c10, c10, c8\n",
            1 + more
        );
        let before = "    addi c8, c9, -2\n    shr c8, c8, 31\n    sub c9, c1, c2\n    mul c9, c9, c8\n    add c9, c2, c9\n";
        match self.edge() {
            // Zeros: behind the last plane, and in the first page before the first.
            Edge::Zero => {
                let _ = write!(
                    text,
                    "    sub c9, c1, c0\n    mul c9, c9, c8\n    add a0, c0, c9\n    add c6, c6, c8\n\
                     \x20   movi s1, {}\n    mul c6, c6, s1\n    lif r0, 0.0\n    lif r1, 0.0\n    loop c6 {{\n    stq q0, [a0]+16\n    }}\n",
                    self.plane() / QUAD,
                );
                ["c2", "c1", "c0"]
            }
            // A plane that does not exist is replaced by the outermost one.
            Edge::Mirrored => {
                *text += before;
                *text += "    sub c11, c1, c0\n    mul c11, c11, c6\n    add c11, c0, c11\n";
                ["c9", "c1", "c11"]
            }
            // The results of an outermost plane from a plane before it are replaced anyway.
            Edge::Fixed => {
                *text += before;
                ["c9", "c1", "c0"]
            }
            Edge::Periodic => ["c2", "c1", "c0"],
        }
    }
}

/// Returns the blocks of a section's share, for so many rows in blocks of `height` rows.
pub(super) fn share(rows: usize, height: usize, machine: &Machine) -> usize {
    let blocks = rows.div_ceil(height.max(1));
    blocks.div_ceil(machine.cp2.sections.max(1))
}
