//! Pages that are slices of rows, and their transfers.

use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{QUAD, RingPages};

/// Rows at a constant distance in system memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct StridedRows {
    /// Address of the first row.
    pub(super) address: u64,
    /// Bytes from a row to the next.
    pub(super) pitch: u64,
}

/// Division of rows into slices. A page has a slice of every row of a group, and the sections have
/// consecutive slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceDivision {
    /// Sections of the machine.
    pub(super) sections: u64,
    /// Number of rows, rounded up to whole groups.
    pub(super) rows: u64,
    /// Rows of a group, which share the factors of their slices.
    pub(super) group: u64,
    /// Numbers of a slice.
    pub(super) slice: u64,
    /// Pages of a group of rows.
    pub(super) pages: u64,
}

impl SliceDivision {
    /// Divides rows of `length` numbers, at least 1, into slices as long as a page of `most` numbers allows.
    pub(super) fn new(sections: usize, rows: u64, length: u64, most: u64) -> Self {
        let sections = sections.max(1) as u64;
        let group = group(rows);
        // A slice is a power of two, no longer than the rows need, and at least four numbers.
        let slice = (most / (group + 1)).min(length.div_ceil(sections)).max(4);
        let slice = 1u64 << slice.ilog2();
        Self {
            sections,
            rows: rows.next_multiple_of(group),
            group,
            slice,
            pages: length.div_ceil(slice * sections),
        }
    }

    /// Returns the numbers of a row that its slices cover.
    pub(super) fn reach(&self) -> u64 {
        self.pages * self.sections * self.slice
    }

    /// Returns the numbers of a section's page, without factors.
    pub(super) fn numbers(&self) -> u64 {
        self.group * self.slice
    }

    /// Returns the group of a page, and the slice of its first section.
    pub(super) fn split(&self, page: u64) -> (u64, u64) {
        (page / self.pages, page % self.pages * self.sections)
    }

    pub(super) fn count(&self) -> u64 {
        self.rows / self.group * self.pages
    }
}

/// Greatest number of rows that share factors.
const MAX_FACTOR_ROWS: u64 = 16;

/// Chooses the rows of a group: large groups load shared factors seldom, but the last group is filled up.
fn group(rows: u64) -> u64 {
    // Cost of all groups, in loaded rows: a group's own and one of factors.
    let cost = |&group: &u64| (rows.div_ceil(group) * (group + 1), group);
    (1..=rows.clamp(1, MAX_FACTOR_ROWS))
        .min_by_key(cost)
        .unwrap_or(1)
}

/// Pages of a kernel that works element by element.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlicePages {
    pub(super) cut: SliceDivision,
    /// Rows of the input, and bytes of an element there; 0 if all pages load the same granule.
    pub(super) from: (StridedRows, u64),
    /// Rows of the output, and bytes of an element there.
    pub(super) to: (StridedRows, u64),
    /// Address of a complex factor for each number of a row, if there are any.
    pub(super) factors: Option<u64>,
    /// Arithmetic issues of a page.
    pub(super) issues: u64,
}

/// Bytes of a complex factor.
const FACTOR_BYTES: u64 = 8;

impl SlicePages {
    fn rows(
        &self,
        page: u64,
        local: u32,
        (place, element): (StridedRows, u64),
        transfer: fn(Target, u64, u32, u64) -> Descriptor,
    ) -> Descriptor {
        let (group, slice) = self.cut.split(page);
        let run = self.cut.slice * element;
        let system = place.address + group * self.cut.group * place.pitch + slice * run;
        let stride = run as i64;
        let whole = transfer(Target::Blocks { stride }, system, local, run);
        match self.cut.group {
            1 => whole,
            group => whole.level(group as u32, place.pitch as i64, stride),
        }
    }
}

impl RingPages for SlicePages {
    fn count(&self) -> u64 {
        self.cut.count()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let run = self.cut.slice * FACTOR_BYTES;
        let (_, slice) = self.cut.split(page);
        let stride = run as i64;
        let shared = self.factors.map(|system| {
            let target = Target::Blocks { stride };
            Descriptor::load(target, system + slice * run, factors, run)
        });
        let rows = match self.from {
            (place, 0) => Descriptor::load(Target::Section(0), place.address, local, QUAD),
            from => self.rows(page, local, from, Descriptor::load),
        };
        shared.into_iter().chain([rows]).collect()
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        vec![self.rows(page, local, self.to, Descriptor::store)]
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        self.issues
    }
}
