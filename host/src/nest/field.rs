//! Arrays as pages see them: windows onto an array that goes on beyond its edges.

use super::NestError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of axes of an array, slowest first: planes, rows, columns. An array of fewer dimensions has one
/// plane, or one row of one plane.
pub const AXES: usize = 3;

/// Names of the axes.
pub(super) const NAMES: [&str; AXES] = ["planes", "rows", "columns"];

/// Index of the fastest axis.
pub(super) const X: usize = 2;

/// Continuation of an array beyond its edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundaryRule {
    /// Zeros.
    #[default]
    Zero,
    /// The outermost elements, repeated.
    Clamp,
    /// The elements of the other side.
    Periodic,
}

impl fmt::Display for BoundaryRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zero => "zero",
            Self::Clamp => "clamp",
            Self::Periodic => "periodic",
        })
    }
}

/// DMEM position of a stream's block that has no buffer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UnbufferedBlock {
    /// Index of the input whose buffer holds the block: an input with a buffer of its own, and for an input
    /// an earlier one.
    pub input: usize,
    /// Planes from the block of that input to this one, if pages march along planes and that input keeps the
    /// planes of its window.
    #[serde(default)]
    pub plane: i64,
    /// Rows from the first row of that input's block to the first of this one: negative in the halo before
    /// it.
    pub row: i64,
}

/// Load of an input by the first block of a section that has a share of its own
/// ([`GridPass::shares`](super::GridPass::shares)). Further blocks may be left rows that the block before
/// them has computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstLoad {
    /// The load of further blocks.
    #[default]
    Same,
    /// So many rows more, with which the window begins.
    Further(u64),
    /// No load.
    Nothing,
}

/// A range of columns of all rows, and its addresses in system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Strip {
    /// First byte, counted from column 0 of a row: negative before the row.
    pub from: i64,
    /// One past the last byte.
    pub to: i64,
    /// Address of the first byte in row 0 of plane 0.
    pub system: u64,
    /// Bytes from a row to the next.
    pub row: u64,
    /// Bytes from a plane to the next.
    pub plane: u64,
}

/// An array that a nest loads or stores in blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GridField {
    /// Name in listings and on the timeline.
    pub name: String,
    /// Bytes of an element.
    pub element: u64,
    /// Elements along each axis, slowest first.
    pub shape: [u64; AXES],
    /// Elements of a block along each axis.
    pub block: [u64; AXES],
    /// Elements before and behind a block in its window, along each axis; for inputs only.
    pub halo: [u64; AXES],
    /// Element with which the first block begins along each axis, negative before the array. For an output
    /// that is computed some pages behind the loads, it is that number of elements.
    pub offset: [i64; AXES],
    /// Continuation of the array beyond its edges.
    pub edge: BoundaryRule,
    /// Position in the buffer of an input, if the field has no buffer of its own; the block then has no halo.
    #[serde(default)]
    pub within: Option<UnbufferedBlock>,
    /// Load of a section's first block.
    #[serde(default)]
    pub opening: FirstLoad,
    /// Rows of room in the buffer behind those of the window, for inputs only. Nothing is loaded there, and
    /// results of the kernel there are kept as long as marching pages keep their planes.
    #[serde(default)]
    pub room: u64,
    /// Addresses of the columns: ascending ranges, which include all of the array's own columns. Columns
    /// beyond them follow from the edge rule.
    pub strips: Vec<Strip>,
}

/// Addresses of elements of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowSource {
    /// Consecutive from an address on; distances of rows and of planes in bytes.
    At(u64, [u64; 2]),
    /// One element, repeated; distances of rows and of planes in bytes.
    Same(u64, [u64; 2]),
    /// No address: zeros.
    Zero,
}

/// Contiguous bytes of a window's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowSegment {
    /// Bytes from the window's first column.
    pub(super) local: u64,
    pub(super) bytes: u64,
    pub(super) source: WindowSource,
}

/// Rows or planes of a window at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowRows {
    /// Index of the first one in the window.
    pub(super) local: u64,
    pub(super) count: u64,
    /// Number of the first one in the array, and the step to the next, which is 0 for a repeated one; none
    /// for zeros.
    pub(super) source: Option<(u64, u64)>,
}

impl GridField {
    /// Creates an array that lies row by row at `system`, without halo.
    #[must_use]
    pub fn new(
        name: &str,
        system: u64,
        element: u64,
        shape: [u64; AXES],
        block: [u64; AXES],
    ) -> Self {
        let row = shape[X].saturating_mul(element);
        Self {
            name: name.to_owned(),
            element,
            shape,
            block,
            halo: [0; AXES],
            offset: [0; AXES],
            edge: BoundaryRule::Zero,
            within: None,
            opening: FirstLoad::Same,
            room: 0,
            strips: vec![Strip {
                from: 0,
                to: i64::try_from(row).unwrap_or(i64::MAX),
                system,
                row,
                plane: row.saturating_mul(shape[1]),
            }],
        }
    }

    /// Sets the halo and the edge rule that fills it.
    #[must_use]
    pub fn halo(mut self, halo: [u64; AXES], edge: BoundaryRule) -> Self {
        self.halo = halo;
        self.edge = edge;
        self
    }

    /// Sets the element with which the first block begins.
    #[must_use]
    pub fn offset(mut self, offset: [i64; AXES]) -> Self {
        self.offset = offset;
        self
    }

    /// Places the stream in the buffer of an input, at a plane and row relative to its block.
    #[must_use]
    pub fn place_in_input(mut self, input: usize, [plane, row]: [i64; 2]) -> Self {
        self.within = Some(UnbufferedBlock { input, plane, row });
        self
    }

    /// Adds room for `rows` rows behind those of the window.
    #[must_use]
    pub fn room(mut self, rows: u64) -> Self {
        self.room = rows;
        self
    }

    /// Sets the load of a section's first block.
    #[must_use]
    pub fn opening(mut self, opening: FirstLoad) -> Self {
        self.opening = opening;
        self
    }

    /// Loads and stores the last granule of a single row whole. The granule belongs to the array, but its
    /// bytes behind the last element are arbitrary.
    #[must_use]
    pub fn keep_whole_granule(mut self, granule: u64) -> Self {
        if self.shape[0] * self.shape[1] == 1
            && let Some(last) = self.strips.last_mut()
        {
            last.to = last.to.next_multiple_of_signed(granule);
        }
        self
    }

    /// Returns the number of blocks along an axis.
    #[must_use]
    pub fn blocks(&self, axis: usize) -> u64 {
        self.shape[axis].div_ceil(self.block[axis].max(1))
    }

    /// Returns the bytes of one block in DMEM, its rows in whole `quad`s: the size of each section's result
    /// of a reduction.
    #[must_use]
    pub fn result_bytes(&self, quad: u64) -> u64 {
        let row = self.pitch(self.block[X], quad);
        row.saturating_mul(self.block[1])
            .saturating_mul(self.block[0])
    }

    /// Returns the bytes before a block's first column in a window, in whole quads.
    pub(super) fn lead(&self, quad: u64) -> u64 {
        (self.halo[X] * self.element).next_multiple_of(quad)
    }

    /// Returns the bytes from a row to the next in a window of blocks of so many columns.
    pub(super) fn pitch(&self, columns: u64, quad: u64) -> u64 {
        self.lead(quad) + ((columns + self.halo[X]) * self.element).next_multiple_of(quad)
    }

    /// Returns the segments of rows from byte `from` to byte `to`, counted from column 0, by their addresses.
    ///
    /// # Errors
    /// A column is in no strip, and the DMA's granule is too coarse to move it.
    pub(super) fn columns(
        &self,
        from: i64,
        to: i64,
        granule: u64,
    ) -> Result<Vec<RowSegment>, NestError> {
        let mut all = Vec::new();
        let mut at = from;
        while at < to {
            let (source, until) = self.column(at, granule)?;
            let end = until.min(to);
            let segment = RowSegment {
                local: (at - from) as u64,
                bytes: (end - at) as u64,
                source,
            };
            let whole = |bytes: u64| bytes.is_multiple_of(granule);
            let address = match source {
                WindowSource::At(address, [row, plane])
                | WindowSource::Same(address, [row, plane]) => {
                    let rows = self.shape[1] == 1 || whole(row);
                    whole(address) && rows && (self.shape[0] == 1 || whole(plane))
                }
                WindowSource::Zero => true,
            };
            if end <= at || !address || !whole(segment.local) || !whole(segment.bytes) {
                return Err(self.unaligned(granule));
            }
            all.push(segment);
            at = end;
        }
        Ok(all)
    }

    fn unaligned(&self, granule: u64) -> NestError {
        NestError::Unaligned {
            stream: self.name.clone(),
            row: self.shape[X] * self.element,
            granule,
        }
    }

    /// Returns the address of a byte of a row, and the next byte with another source.
    fn column(&self, at: i64, granule: u64) -> Result<(WindowSource, i64), NestError> {
        let own = |at: i64| {
            self.strips
                .iter()
                .find(|strip| (strip.from..strip.to).contains(&at))
        };
        let lies = |strip: &Strip, at: i64| {
            let address = strip.system + (at - strip.from) as u64;
            WindowSource::At(address, [strip.row, strip.plane])
        };
        if let Some(strip) = own(at) {
            return Ok((lies(strip, at), strip.to));
        }
        let row = (self.shape[X] * self.element) as i64;
        let next = self
            .strips
            .iter()
            .map(|strip| strip.from)
            .filter(|from| *from > at);
        let next = next.min().unwrap_or(i64::MAX);
        match self.edge {
            // Bytes of a granule behind the last element are no zeros.
            BoundaryRule::Zero if at < 0 || at >= row.next_multiple_of_signed(granule) => {
                Ok((WindowSource::Zero, next))
            }
            BoundaryRule::Zero => Err(self.unaligned(granule)),
            BoundaryRule::Periodic => {
                let within = at.rem_euclid(row.max(1));
                let strip = own(within).ok_or_else(|| self.unaligned(granule))?;
                Ok((
                    lies(strip, within),
                    next.min(at + (strip.to.min(row) - within)),
                ))
            }
            BoundaryRule::Clamp if self.element.is_multiple_of(granule) => {
                let within = if at < 0 { 0 } else { row - self.element as i64 };
                let strip = own(within).ok_or_else(|| self.unaligned(granule))?;
                let WindowSource::At(address, steps) = lies(strip, within) else {
                    return Err(self.unaligned(granule));
                };
                Ok((WindowSource::Same(address, steps), next))
            }
            BoundaryRule::Clamp => Err(self.unaligned(granule)),
        }
    }

    /// Returns the rows or planes from `from` to `to`, by their numbers in the array.
    pub(super) fn lines(&self, axis: usize, from: i64, to: i64) -> Vec<WindowRows> {
        let count = self.shape[axis] as i64;
        let mut all = Vec::new();
        let mut at = from;
        while at < to {
            let inside = (0..count).contains(&at);
            let (source, until) = match self.edge {
                _ if inside => (Some((at as u64, 1)), count),
                BoundaryRule::Zero => (None, if at < 0 { 0 } else { i64::MAX }),
                BoundaryRule::Clamp if at < 0 => (Some((0, 0)), 0),
                BoundaryRule::Clamp => (Some((count as u64 - 1, 0)), i64::MAX),
                BoundaryRule::Periodic => {
                    let within = at.rem_euclid(count);
                    (Some((within as u64, 1)), at + (count - within))
                }
            };
            let end = until.min(to);
            all.push(WindowRows {
                local: (at - from) as u64,
                count: (end - at) as u64,
                source,
            });
            at = end;
        }
        all
    }
}

/// Rounds numbers up that may be negative.
trait Multiple {
    fn next_multiple_of_signed(self, of: u64) -> i64;
}

impl Multiple for i64 {
    fn next_multiple_of_signed(self, of: u64) -> i64 {
        let of = (of as i64).max(1);
        self.div_euclid(of) * of + if self.rem_euclid(of) > 0 { of } else { 0 }
    }
}
