//! Pages of two steps: a plane of the first step, which goes into a ring of three planes in the working space, and of the second the plane before it.
//!
//! The first step makes a row more on either side of the block, for the second. What lies beyond the array is not what the first step would make of
//! what lies beyond: zeros and mirrored rows are put in its place, planes beyond are zeros or the outermost plane again. Where the array goes
//! round it is right as it is, and what is next to fixed elements is not looked at.

use super::error::StencilError;
use super::kernel::{FIRST, Kernel, argument, at, head, line};
use super::loops::{Base, Loop};
use super::row::{QUAD, Stream};
use crate::pipeline::{Body, Reg, Step};
use cp2_machine::Machine;
use cp2_problems::stencil::Edge;
use std::fmt::Write as _;

/// Planes of the first step that are kept.
const PLANES: i64 = 3;
/// Rows that the first step makes on either side of a block.
pub(super) const BESIDE: usize = 1;
/// Quad registers of the mask of what is mended, and of what a section's place is compared with.
const MASK: u8 = 31;
const WANTED: u8 = 30;

/// A page of two steps.
#[derive(Debug)]
pub(super) struct Fused<'a> {
    /// Of the first step, a row more on either side, and of the second.
    pub(super) loops: [Loop<'a>; 2],
}

/// Pages that a march has more than planes, and how many planes its first page lies before the array.
pub(super) fn beyond(edge: Edge) -> [u64; 2] {
    match edge {
        // What lies beyond is computed too.
        Edge::Periodic => [2, 1],
        Edge::Zero | Edge::Fixed | Edge::Mirrored => [1, 0],
    }
}

/// Bytes of the working space for blocks of so many rows of so many bytes.
pub(super) fn scratch(rows: usize, pitch: i64) -> i64 {
    PLANES * (rows + 2 * BESIDE) as i64 * pitch
}

impl Fused<'_> {
    /// Assembles it for a machine.
    pub(super) fn kernel(&self, machine: &Machine) -> Result<Kernel, StencilError> {
        let [first, second] = &self.loops;
        let mut text = head(second, "two steps, ");
        text += &self.begin();
        text += "    page_begin\n";
        text += &self.first(machine)?;
        let planes = self.beyond(&mut text);
        text += &second.constants();
        text += &second.place();
        let _ = writeln!(text, "    ldx2 a{FIRST}, [a15]");
        let row = self.pitch() * BESIDE as i64;
        text += &second.words(&|stream| match stream {
            Stream::Plane(plane) => at(planes[(plane + 1) as usize], row),
            Stream::Kept | Stream::Keeping => at("c7", PLANES * self.plane()),
            Stream::Result | Stream::Own => at(&format!("a{}", FIRST + 1), 0),
        });
        text += "    mov c3, c2\n    mov c2, c1\n    mov c1, c0\n    mov c0, c3\n";
        text += "    page_end\n    stop\n.dmem 0\n";
        text += &first.data();
        text += &second.data();
        Kernel::assembled(text, &[first, second], machine)
    }

    fn edge(&self) -> Edge {
        self.loops[1].row.edge
    }

    /// Whether a march has a page behind the array whose plane is not computed.
    fn skips(&self) -> bool {
        matches!(self.edge(), Edge::Zero | Edge::Mirrored)
    }

    /// Bytes of a row.
    fn pitch(&self) -> i64 {
        self.loops[1].row.pitch()[1]
    }

    /// Bytes of a plane of the working space.
    fn plane(&self) -> i64 {
        self.loops[0].rows as i64 * self.pitch()
    }

    /// Before the first page: the working space is zero; the planes of this page and the two before are at c0, c1 and c2, c14 counts the pages of a march.
    fn begin(&self) -> String {
        let mut text = format!("    ldx2 c6, [a15 + 8]\n{}    mov a0, c7\n", zero());
        let mut quads = PLANES * self.plane() / QUAD;
        while quads > 0 {
            let now = quads.min(4095);
            let _ = writeln!(text, "    loop {now} {{\n    stq q0, [a0]+16\n    }}");
            quads -= now;
        }
        let _ = writeln!(
            text,
            "    movi s0, {}\n    mov c0, c7\n    add c1, c0, s0\n    add c2, c1, s0\n    movi c14, 0",
            self.plane()
        );
        text
    }

    /// The first step.
    fn first(&self, machine: &Machine) -> Result<String, StencilError> {
        let first = &self.loops[0];
        let mut text = String::new();
        if self.skips() {
            // c5 is 1 but in the page behind the array.
            text += "    ldx2 c4, [a15 + PAGE_ROWS]\n    loop c5 {\n";
        }
        text += &first.constants();
        text += &first.place();
        let before = -(BESIDE as i64) * self.pitch();
        text += &first.words(&|stream| match stream {
            Stream::Plane(plane) => Base {
                bytes: before,
                ..argument(stream, &line(plane, 0))
            },
            Stream::Kept | Stream::Keeping => at("c7", PLANES * self.plane()),
            Stream::Result | Stream::Own => at("c0", 0),
        });
        if self.skips() {
            let [rows, height] = [first.row.rows, self.loops[1].rows].map(|n| n as i64);
            let last = (rows - 1) / height * height;
            // Only the first march has a block at the array's first row, and the last one at the last: section 0's row, in c13, tells.
            let dealt = height * machine.cp2.sections.max(1) as i64;
            text += "    ldx2 c12, [a15 + SECTION_ORIGIN]\n    addi c12, c13, -1\n    shr c12, c12, 31\n    loop c12 {\n";
            text += &self.mended(-1, 0, machine)?;
            let _ = write!(
                text,
                "    nop\n    }}\n    movi s1, {}\n    sub c12, s1, c13\n    shr c12, c12, 31\n    loop c12 {{\n",
                last / dealt * dealt - 1
            );
            text += &self.mended(rows - last, last, machine)?;
            // A hardware loop may not end where another does.
            text += "    nop\n    }\n    nop\n    }\n";
        }
        Ok(text)
    }

    /// A row beyond the array, counted from the block's first, of the block that begins with row `block` of the array: zeros, or its neighbour again.
    fn mended(&self, row: i64, block: i64, machine: &Machine) -> Result<String, StencilError> {
        let mut body = Body::default();
        let pointer = |body: &mut Body, register| body.pointer(register, Step::Bytes(QUAD));
        let [from, to] = [0, 1].map(|register| pointer(&mut body, register));
        let own = Reg::Whole(body.quad());
        body.load(own, from, 0);
        let mask = Reg::Quad(MASK);
        let (value, beside) = match self.edge() {
            Edge::Mirrored => {
                let other = Reg::Whole(body.quad());
                let beside = pointer(&mut body, 2);
                body.load(other, beside, 0);
                (body.quad_op("sel", &[other, own, mask]), true)
            }
            _ => (body.quad_op("andn", &[own, mask]), false),
        };
        body.store(Reg::Whole(value), to, 0);
        let schedule = body.schedule(machine, 2 * WANTED)?;
        let bytes = |row: i64| (row + BESIDE as i64) * self.pitch();
        let inner = if row < 0 { 0 } else { row - 1 };
        let mut text = format!(
            "    ldp r0, [a15 + SECTION_ORIGIN]\n    lii r{low}, {block}\n    lii r{high}, {block}\n    dup1 r2, r0\n    dup1 r3, r0\n\
             \x20   icmpeq q{MASK}, q1, q{WANTED}\n    movi s0, {at}\n    add a0, c0, s0\n    mov a1, a0\n",
            low = 2 * WANTED,
            high = 2 * WANTED + 1,
            at = bytes(row),
        );
        if beside {
            let _ = writeln!(text, "    movi s0, {}\n    add a2, c0, s0", bytes(inner));
        }
        let quads = self.pitch() / QUAD;
        Ok(text + &schedule.emit(quads.unsigned_abs()).text)
    }

    /// What the planes beyond the array are. Where the planes before, at and behind the second step's are then.
    fn beyond(&self, text: &mut String) -> [&'static str; 3] {
        if !self.skips() {
            return ["c2", "c1", "c0"];
        }
        *text += "    movi c6, 1\n    sub c6, c6, c5\n";
        let planes = match self.edge() {
            // The plane behind one march is that before the next one too.
            Edge::Zero => {
                let _ = write!(
                    text,
                    "    movi s1, {}\n    mul c6, c6, s1\n{}    mov a0, c0\n    loop c6 {{\n    stq q0, [a0]+16\n    }}\n",
                    self.plane() / QUAD,
                    zero()
                );
                ["c2", "c1", "c0"]
            }
            // Where there is none, the outermost one.
            _ => {
                *text += "    addi c8, c14, -2\n    shr c8, c8, 31\n    sub c9, c1, c2\n    mul c9, c9, c8\n    add c9, c2, c9\n\
                          \x20   sub c11, c1, c0\n    mul c11, c11, c6\n    add c11, c0, c11\n";
                ["c9", "c1", "c11"]
            }
        };
        *text += "    addi c14, c14, 1\n    mul c14, c14, c5\n";
        planes
    }
}

/// Zero in `q0`.
fn zero() -> &'static str {
    "    lif r0, 0.0\n    lif r1, 0.0\n"
}
