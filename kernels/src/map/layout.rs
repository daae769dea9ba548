//! Layouts of a user's arrays for windows that load and blocks that store them.
//!
//! The DMA moves whole granules. An array whose rows are no whole granules is put into another layout by a
//! pass of its own, edges included. Where rows are whole granules, only the columns beyond the edges may need
//! a pass, if the continuation there is not zeros: a *margin* of each row.

use crate::job::{Job, JobError};
use crate::relayout::{CompiledRelayout, Relayout, RowOrigin, SourceOfWord, WORD};
use cp2_host::nest::{AXES, BoundaryRule, GridField, March, Strip};

/// Bytes of a quad that kernels load.
const QUAD: u64 = 16;
/// Index of the fastest axis.
const X: usize = AXES - 1;

/// The continuation of an array's row beyond its ends.
#[derive(Clone, Copy)]
struct RowContinuation {
    /// Words of an element.
    words: i64,
    /// Elements of a row.
    elements: i64,
    /// Rule for the columns beyond the row.
    edge: BoundaryRule,
}

impl RowContinuation {
    /// Returns the source of the word at an index that counts from column 0 and is negative before it.
    fn word(self, index: i64) -> SourceOfWord {
        let (element, part) = (index.div_euclid(self.words), index.rem_euclid(self.words));
        let element = match self.edge {
            _ if (0..self.elements).contains(&element) => element,
            BoundaryRule::Zero => return SourceOfWord::Zero,
            BoundaryRule::Clamp => element.clamp(0, self.elements - 1),
            BoundaryRule::Periodic => element.rem_euclid(self.elements),
        };
        SourceOfWord::Of(0, (element * self.words + part) as u64)
    }
}

impl Job {
    /// Lays an array at an address out for the windows that load it.
    ///
    /// Pages march along an axis or not. The windows of a reduction may contain nothing but the array and its
    /// continuation.
    pub(crate) fn windows(
        &mut self,
        mut field: GridField,
        address: u64,
        (march, reduce): (Option<March>, bool),
    ) -> Result<GridField, JobError> {
        let granule = self.machine().dma.granule.0.max(1);
        let quad = QUAD.max(granule);
        let sections = self.machine().cp2.sections.max(1) as u64;
        if field.halo == [0; AXES] && !reduce {
            // Without a halo no kernel sees elements beyond the edges.
            field.edge = BoundaryRule::Zero;
        }
        let lines = field.shape[0] * field.shape[1];
        let row = field.shape[X] * field.element;
        field.strips = GridField::new("", address, field.element, field.shape, field.block).strips;
        let whole = row.is_multiple_of(granule);
        let free = lines == 1 && field.halo[X] == 0 && !reduce && field.edge == BoundaryRule::Zero;
        if free {
            return Ok(field.keep_whole_granule(granule));
        }
        let repeats = field.edge == BoundaryRule::Clamp && !field.element.is_multiple_of(granule);
        if whole && !repeats {
            return Ok(field);
        }
        let lead = (field.halo[X] * field.element).next_multiple_of(quad);
        // The last window ends there. If rows alone are dealt to the sections, idle sections have windows
        // behind it.
        let others = (0..X).filter(|axis| march.is_none_or(|march| march.axis() != *axis));
        let beyond = match others.map(|axis| field.blocks(axis)).product() {
            1u64 => sections - 1,
            _ => 0,
        };
        let end = (field.blocks(X) + beyond) * field.block[X] * field.element;
        let end = end.next_multiple_of(quad) + lead;
        let of = RowContinuation {
            words: (field.element / WORD).max(1) as i64,
            elements: field.shape[X] as i64,
            edge: field.edge,
        };
        let (from, to, first) = match (whole || lines == 1, field.edge) {
            // Only the margin behind the last whole granule, and the margin before the row.
            (true, BoundaryRule::Zero) => {
                (0, row.next_multiple_of(granule), row / granule * granule)
            }
            (true, _) => (
                lead,
                end.max(row.next_multiple_of(quad)),
                row / granule * granule,
            ),
            (false, BoundaryRule::Zero) => (0, row.next_multiple_of(quad), 0),
            (false, _) => (lead, end.max(row.next_multiple_of(quad)), 0),
        };
        // A margin row has `from` bytes before column 0, then the bytes from `first` on.
        let pitch = (from + to - first).next_multiple_of(quad);
        if pitch == 0 {
            return Ok(field);
        }
        let placed = self.temporary::<u8>(lines * pitch)?.address();
        let word = |at: u64| {
            let at = at as i64 - (from / WORD) as i64;
            of.word(if at < 0 {
                at
            } else {
                at + (first / WORD) as i64
            })
        };
        self.relayouted(&Relayout {
            name: "edges as the kernel takes them",
            from: &[RowOrigin::new(address, row)],
            to: RowOrigin::new(placed, pitch),
            words: lines * pitch / WORD,
            word: &word,
        })?;
        let strip = |from: i64, to: i64, system: u64, row: u64| Strip {
            from,
            to,
            system,
            row,
            plane: row * field.shape[1],
        };
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        field.strips = if first == 0 {
            vec![strip(-signed(from), signed(to), placed, pitch)]
        } else {
            let own = strip(0, signed(first), address, row);
            let behind = strip(signed(first), signed(to), placed + from, pitch);
            let before = strip(-signed(from), 0, placed, pitch);
            let all = [before, own, behind].into_iter();
            all.filter(|strip| strip.to > strip.from).collect()
        };
        Ok(field)
    }

    /// Lays an array at an address out for the blocks that are stored; returns the relayout that is left to
    /// do afterwards, if any.
    pub(crate) fn blocks(
        &mut self,
        mut field: GridField,
        address: u64,
    ) -> Result<(GridField, Option<CompiledRelayout>), JobError> {
        let granule = self.machine().dma.granule.0.max(1);
        let row = field.shape[X] * field.element;
        let lines = field.shape[0] * field.shape[1];
        if lines == 1 || row.is_multiple_of(granule) {
            field.strips =
                GridField::new("", address, field.element, field.shape, field.block).strips;
            return Ok((field.keep_whole_granule(granule), None));
        }
        let pitch = row.next_multiple_of(QUAD.max(granule));
        let placed = self.temporary::<u8>(lines * pitch)?.address();
        field.strips = vec![Strip {
            from: 0,
            to: i64::try_from(pitch).unwrap_or(i64::MAX),
            system: placed,
            row: pitch,
            plane: pitch * field.shape[1],
        }];
        let relayout = Relayout {
            name: "rows as the user has them",
            from: &[RowOrigin::new(placed, pitch)],
            to: RowOrigin::new(address, row),
            words: lines * row / WORD,
            word: &|at| SourceOfWord::Of(0, at),
        };
        let relayout = relayout.compile(self.machine())?;
        Ok((field, Some(relayout)))
    }

    /// Allocates zeros for edges; returns their address and bytes.
    pub(crate) fn edge_zeros(&mut self) -> Result<(u64, u64), JobError> {
        let bytes =
            (self.machine().cp2.dmem.0 / 4).next_multiple_of(self.machine().dma.granule.0.max(1));
        let zeros = self.room_for::<u8>("zeros for edges", bytes)?;
        Ok((zeros.address(), bytes))
    }
}
