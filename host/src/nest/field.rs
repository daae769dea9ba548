//! Arrays as pages see them: windows onto an array that goes on beyond its edges.

use super::NestError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Axes of an array, slowest first: planes, rows, columns. An array of fewer dimensions has one plane, or one row of one plane.
pub const AXES: usize = 3;

/// What an axis is called.
pub(super) const NAMES: [&str; AXES] = ["planes", "rows", "columns"];

/// The fastest axis.
pub(super) const X: usize = 2;

/// How an array goes on beyond its edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundaryRule {
    /// With zeros.
    #[default]
    Zero,
    /// With its outermost elements.
    Clamp,
    /// From its other side on.
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

/// Where the block of a stream lies in DMEM that has no buffer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnbufferedBlock {
    /// The input whose buffer it is in: one with a buffer of its own, and of inputs an earlier one.
    pub input: usize,
    /// Planes from the block of that input to this one's, where pages march along planes and it keeps those of its window.
    #[serde(default)]
    pub plane: i64,
    /// Rows from the first row of that input's block to the first one of this: negative in the halo before it.
    pub row: i64,
}

/// What the first block of a section loads of an input where each section has a share of its own ([`Sweep::shares`](super::GridPass::shares)): further blocks may
/// leave to it what the block before them has computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstLoad {
    /// The same as further blocks.
    #[default]
    Same,
    /// So many rows more, with which its window begins.
    Further(u64),
    /// Nothing.
    Nothing,
}

/// A range of columns of all rows, and where it lies in system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strip {
    /// First byte, counted from column 0 of a row: negative before the row.
    pub from: i64,
    /// One past the last byte.
    pub to: i64,
    /// Address of its first byte in row 0 of plane 0.
    pub system: u64,
    /// Bytes from a row to the next.
    pub row: u64,
    /// Bytes from a plane to the next.
    pub plane: u64,
}

/// An array that a nest loads or stores in blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GridField {
    /// Name in listings and on the timeline.
    pub name: String,
    /// Bytes of an element.
    pub element: u64,
    /// Elements along each axis, slowest first.
    pub shape: [u64; AXES],
    /// Elements of a block along each axis.
    pub block: [u64; AXES],
    /// Elements that a block's window has before and behind it along each axis; of inputs only.
    pub halo: [u64; AXES],
    /// The element that the first block begins with along each axis: negative where that lies before the array. Of an output
    /// that is computed some pages behind the loads it says by how many elements.
    pub offset: [i64; AXES],
    /// How the array goes on beyond its edges.
    pub edge: BoundaryRule,
    /// The buffer that it lies in, if that is not its own: the block, without halo.
    #[serde(default)]
    pub within: Option<UnbufferedBlock>,
    /// What a section's first block loads.
    #[serde(default)]
    pub opening: FirstLoad,
    /// Rows behind those of its window that its buffer has room for and nothing is loaded into: what the kernel makes of them stays where pages
    /// that march keep planes; of inputs only.
    #[serde(default)]
    pub room: u64,
    /// Where its columns lie: ascending ranges, among them all of the array's own. What a row has beyond them follows from the edge.
    pub strips: Vec<Strip>,
}

/// Where elements of a window lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowSource {
    /// One behind the other from an address on, rows and planes at distances.
    At(u64, [u64; 2]),
    /// One element again and again.
    Same(u64, [u64; 2]),
    /// Nowhere: zeros.
    Zero,
}

/// Bytes of a window's rows that lie together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowSegment {
    /// Bytes from the window's first column.
    pub(super) local: u64,
    pub(super) bytes: u64,
    pub(super) source: WindowSource,
}

/// Rows (or planes) of a window at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowRows {
    /// From the window's first one.
    pub(super) local: u64,
    pub(super) count: u64,
    /// The first one's number in the array, and the step to the next: 0 of one that is repeated; none of zeros.
    pub(super) source: Option<(u64, u64)>,
}

impl GridField {
    /// An array that lies row by row at `system`, without halo.
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

    /// The same with a halo and the edges that fill it.
    #[must_use]
    pub fn halo(mut self, halo: [u64; AXES], edge: BoundaryRule) -> Self {
        self.halo = halo;
        self.edge = edge;
        self
    }

    /// The same whose first block begins with another element than the array.
    #[must_use]
    pub fn offset(mut self, offset: [i64; AXES]) -> Self {
        self.offset = offset;
        self
    }

    /// The same in the buffer of an input, so many planes and rows from its block.
    #[must_use]
    pub fn place_in_input(mut self, input: usize, [plane, row]: [i64; 2]) -> Self {
        self.within = Some(UnbufferedBlock { input, plane, row });
        self
    }

    /// The same with room for so many rows more.
    #[must_use]
    pub fn room(mut self, rows: u64) -> Self {
        self.room = rows;
        self
    }

    /// The same of which a section's first block loads something else.
    #[must_use]
    pub fn opening(mut self, opening: FirstLoad) -> Self {
        self.opening = opening;
        self
    }

    /// The same, the granule that a single row ends in loaded and stored whole: it is the array's own, but what it holds
    /// behind the last element is anything.
    #[must_use]
    pub fn keep_whole_granule(mut self, granule: u64) -> Self {
        if self.shape[0] * self.shape[1] == 1
            && let Some(last) = self.strips.last_mut()
        {
            last.to = last.to.next_multiple_of_signed(granule);
        }
        self
    }

    /// Blocks along an axis.
    #[must_use]
    pub fn blocks(&self, axis: usize) -> u64 {
        self.shape[axis].div_ceil(self.block[axis].max(1))
    }

    /// Bytes of one block of it in DMEM, its rows in whole `quad`s: what each section's result of a reduction takes.
    #[must_use]
    pub fn result_bytes(&self, quad: u64) -> u64 {
        let row = self.pitch(self.block[X], quad);
        row.saturating_mul(self.block[1])
            .saturating_mul(self.block[0])
    }

    /// Bytes before a block's first column in a window, whole quads.
    pub(super) fn lead(&self, quad: u64) -> u64 {
        (self.halo[X] * self.element).next_multiple_of(quad)
    }

    /// Bytes from a row to the next in a window of blocks of so many columns.
    pub(super) fn pitch(&self, columns: u64, quad: u64) -> u64 {
        self.lead(quad) + ((columns + self.halo[X]) * self.element).next_multiple_of(quad)
    }

    /// The bytes of rows from `from` on to `to`, counted from column 0, as they lie.
    ///
    /// # Errors
    /// A column is in no strip and the DMA's granule is too coarse to move it.
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

    /// Where a byte of a row lies, and where something else follows.
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
            // What a granule holds behind the last element is no zero.
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

    /// The rows or planes from `from` on to `to`, as they lie.
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

/// Rounding up of what may be negative.
trait Multiple {
    fn next_multiple_of_signed(self, of: u64) -> i64;
}

impl Multiple for i64 {
    fn next_multiple_of_signed(self, of: u64) -> i64 {
        let of = (of as i64).max(1);
        self.div_euclid(of) * of + if self.rem_euclid(of) > 0 { of } else { 0 }
    }
}
