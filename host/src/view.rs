//! Views: arrays whose rows lie elsewhere in system memory, with zeros between.
//!
//! A kernel may want zeros before a signal, rows filled up to a length, or rows without the gaps that the
//! user's array has between them. It is then given a view: addresses beyond system memory for an array that
//! exists nowhere as such. Transfers that name these addresses are replaced, before the DMA sees them, by
//! transfers that load the rows from their real addresses and the zeros from a table of zeros, and that store
//! the rows alone. Replaced transfers are more in number or have more levels: that is the cost of a view.

use cp2_dma::{Chunk, Descriptor, Level, Target, coalesce, fold, over_sections};
use cp2_machine::Machine;
use std::sync::Arc;

/// Rows of an array in system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewRows {
    /// Bytes before the first row.
    pub start: u64,
    /// Number of rows.
    pub count: u64,
    /// Bytes of a row.
    pub bytes: u64,
    /// Bytes from a row to the next.
    pub pitch: u64,
    /// Bytes of the whole array, including those before, between and behind the rows.
    pub total: u64,
}

impl ViewRows {
    /// Creates rows that follow each other and are the whole array.
    #[must_use]
    pub fn contiguous(count: u64, bytes: u64) -> Self {
        Self {
            start: 0,
            count,
            bytes,
            pitch: bytes,
            total: count.saturating_mul(bytes),
        }
    }

    /// Merges rows that follow each other without a gap into one row.
    #[must_use]
    pub fn joined(self) -> Self {
        if self.count > 1 && self.pitch == self.bytes {
            let bytes = self.bytes.saturating_mul(self.count);
            let (count, pitch) = (1, bytes);
            return Self {
                count,
                bytes,
                pitch,
                ..self
            };
        }
        self
    }

    /// Returns true if rows begin at multiples of `granule` and, where there are several, end there.
    #[must_use]
    pub fn is_aligned(self, granule: u64) -> bool {
        let whole = |bytes: u64| bytes.is_multiple_of(granule.max(1));
        whole(self.start) && (self.count <= 1 || (whole(self.pitch) && whole(self.bytes)))
    }
}

/// Content of a view between its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Zeros, loaded from the table at this address, which is as long as the longest run of them.
    Zeros {
        /// Address of the table.
        address: u64,
        /// Bytes of it.
        bytes: u64,
    },
    /// Nothing: the view is only stored to, and stores leave the gaps out.
    Nothing,
    /// The gap behind row `k` has the contents of memory at `address + k * pitch`. Bytes before the first row
    /// and behind the last gap are zeros, or nothing.
    Elsewhere {
        /// Address of the contents of the gap behind the first row.
        address: u64,
        /// Bytes from there to the contents of the next gap.
        pitch: u64,
        /// Address and bytes of a table of zeros for the bytes beyond, if the view is loaded.
        zeros: Option<(u64, u64)>,
    },
}

impl Gap {
    /// Returns the placement of `bytes` bytes that belong to no row, and how many of them are contiguous:
    /// with a table of zeros at most its length.
    fn place_padding(self, bytes: u64) -> (Placement, u64) {
        let zeros = match self {
            Self::Zeros { address, bytes } => Some((address, bytes)),
            Self::Elsewhere { zeros, .. } => zeros,
            Self::Nothing => None,
        };
        match zeros {
            Some((address, table)) => (Placement::Zeros(address), bytes.min(table)),
            None => (Placement::Nowhere, bytes),
        }
    }
}

/// Placement of a byte of a view in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// At this address; the bytes that follow lie behind it.
    At(u64),
    /// In the table of zeros at this address.
    Zeros(u64),
    Nowhere,
}

/// An array of rows that lie elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct View {
    /// The first address, beyond system memory.
    address: u64,
    /// The rows in it.
    rows: ViewRows,
    /// Address of the first row.
    first: u64,
    /// Bytes from a row to the next, where they lie.
    pitch: u64,
    rest: Gap,
    granule: u64,
}

/// Properties of a machine that limit the form of transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TransferLimits {
    /// Sections.
    pub sections: usize,
    /// Number of levels that a transfer has at most.
    pub levels: usize,
    /// Bytes of a granule.
    pub granule: u64,
    /// Bytes dealt to a section at a time; a granule, where a recording does not say.
    #[serde(default)]
    pub deal: u64,
}

impl TransferLimits {
    /// Returns the limits of a machine.
    #[must_use]
    pub fn from_machine(machine: &Machine) -> Self {
        Self {
            sections: machine.cp2.sections,
            levels: machine.dma.levels,
            granule: machine.dma.granule.0,
            deal: machine.dma.dealt(),
        }
    }
}

/// The views of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Views {
    all: Arc<Vec<View>>,
}

/// Bytes from the address of a view to that of the next; no transfer reaches further.
const APART: u64 = 1 << 48;

impl Views {
    /// Adds an array with rows as `rows` has them, which lie at `first` and every `pitch` bytes behind it,
    /// and returns its address for transfers. Rows, their addresses and distances are aligned to the DMA's
    /// `granule`; the last row may end within one.
    #[must_use]
    pub fn add(
        &mut self,
        rows: ViewRows,
        (first, pitch): (u64, u64),
        rest: Gap,
        granule: u64,
    ) -> u64 {
        let address = APART * (self.all.len() as u64 + 1);
        // Rows that follow each other in the view and in memory are joined to one.
        let rows = if pitch == rows.pitch {
            rows.joined()
        } else {
            rows
        };
        Arc::make_mut(&mut self.all).push(View {
            address,
            rows,
            first,
            pitch,
            rest,
            granule,
        });
        address
    }

    /// Returns true if an address belongs to a view.
    #[must_use]
    pub fn contains_address(&self, address: u64) -> bool {
        address >= APART / 2 && self.find_view(address).is_some()
    }

    /// Returns true if there are no views.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn find_view(&self, address: u64) -> Option<&View> {
        let index = (address.saturating_add(APART / 2) / APART).checked_sub(1)?;
        self.all.get(usize::try_from(index).ok()?)
    }

    /// Returns the transfers that replace `d` on a machine with these limits: `d` itself if it names no view.
    /// The last one has the event of `d`.
    #[must_use]
    pub fn expand(&self, d: Descriptor, limits: TransferLimits) -> Vec<Descriptor> {
        let Some(view) = self.find_view(d.system).filter(|_| d.system >= APART / 2) else {
            return vec![d];
        };
        let TransferLimits {
            sections, levels, ..
        } = limits;
        let limit = levels;
        let own = |by: i64| {
            let mut chunks = Vec::new();
            view.chunks(
                (d.system.wrapping_add_signed(by), d.local.into(), d.run),
                (&d.levels, limit),
                &mut chunks,
            );
            coalesce(chunks, limit)
        };
        let mut all = match d.target {
            Target::Deal => view.make_dealt_transfers(&d, limits),
            Target::Blocks { stride } => {
                let sections = (0..sections as i64).map(|s| own(s * stride));
                over_sections(d.direction, sections.collect())
            }
            target => {
                let with = |chunk: Chunk| Descriptor {
                    system: chunk.system,
                    local: chunk.local,
                    run: chunk.run,
                    levels: chunk.levels,
                    target,
                    ..Descriptor::load(target, 0, 0, 0)
                };
                let direction = d.direction;
                let mut chunks: Vec<_> = own(0).into_iter().map(with).collect();
                chunks
                    .iter_mut()
                    .for_each(|chunk| chunk.direction = direction);
                chunks
            }
        };
        // A view's rows may belong to another view.
        if all.iter().any(|d| self.contains_address(d.system)) {
            let nested = all.into_iter();
            all = nested.flat_map(|d| self.expand(d, limits)).collect();
        }
        if let Some(last) = all.last_mut() {
            last.event = d.event;
        }
        all
    }
}

impl View {
    /// Returns the placement of the byte at `offset`, and the number of contiguous bytes from there on.
    fn locate_byte(&self, offset: u64) -> (Placement, u64) {
        let rows = self.rows;
        let Some(behind) = offset.checked_sub(rows.start) else {
            return self.rest.place_padding(rows.start - offset);
        };
        let (row, within) = match rows.count {
            0 | 1 => (0, behind),
            _ => (behind / rows.pitch.max(1), behind % rows.pitch.max(1)),
        };
        if row >= rows.count {
            return self.rest.place_padding(u64::MAX);
        }
        // A single row that ends within a granule owns the rest of the granule.
        let bytes = match rows.count {
            1 => rows.bytes.next_multiple_of(self.granule.max(1)),
            _ => rows.bytes,
        };
        let gap = rows.pitch.checked_sub(within).filter(|gap| *gap > 0);
        match (bytes.checked_sub(within), gap, self.rest) {
            (Some(left @ 1..), ..) => (Placement::At(self.first + row * self.pitch + within), left),
            (_, Some(gap), Gap::Elsewhere { address, pitch, .. }) => {
                (Placement::At(address + row * pitch + (within - bytes)), gap)
            }
            (_, Some(gap), rest) if row + 1 < rows.count => rest.place_padding(gap),
            (.., rest) => rest.place_padding(u64::MAX),
        }
    }

    /// Returns `address - offset` if the bytes at offsets `from .. to` are contiguous in memory, and nothing
    /// otherwise.
    fn contiguous_shift(&self, from: u64, to: u64) -> Option<u64> {
        match self.locate_byte(from) {
            (Placement::At(place), bytes) if to - from <= bytes => Some(place.wrapping_sub(from)),
            _ => None,
        }
    }

    /// Appends the runs of a transfer at their real addresses, one level after the other.
    fn chunks(
        &self,
        (system, local, run): (u64, i64, u64),
        (levels, limit): (&[Level], usize),
        all: &mut Vec<Chunk>,
    ) {
        let offset = system.wrapping_sub(self.address);
        let (mut from, mut to) = (offset as i64, offset as i64 + run as i64);
        for level in levels {
            let reach = level.system_stride * i64::from(level.count.saturating_sub(1));
            from += reach.min(0);
            to += reach.max(0);
        }
        let inside = from >= 0 && to > from;
        if inside && let Some(by) = self.contiguous_shift(from as u64, to as u64) {
            let mut chunk = Chunk::new(offset.wrapping_add(by), local as u32, run);
            chunk.levels = levels.iter().copied().collect();
            all.push(chunk);
            return;
        }
        let Some((outer, inner)) = levels.split_last() else {
            return self.runs(offset, local, run, all);
        };
        let mut own = Vec::new();
        for turn in 0..i64::from(outer.count) {
            let system = system.wrapping_add_signed(turn * outer.system_stride);
            let local = local + turn * outer.local_stride;
            self.chunks((system, local, run), (inner, limit), &mut own);
        }
        all.extend(coalesce(own, limit));
    }

    /// Returns the transfers of runs that are dealt to the sections in turn.
    fn make_dealt_transfers(&self, d: &Descriptor, limits: TransferLimits) -> Vec<Descriptor> {
        let mut all: Vec<(Target, Vec<Chunk>)> = Vec::new();
        self.dealt_runs(
            (d.system, d.local.into(), d.run),
            &d.levels,
            (
                limits.sections.max(1) as u64,
                limits.deal.max(limits.granule).max(1),
            ),
            &mut |target, chunk| match all.iter_mut().find(|(known, _)| *known == target) {
                Some((_, chunks)) => chunks.push(chunk),
                None => all.push((target, vec![chunk])),
            },
        );
        let each = all.into_iter().flat_map(|(target, chunks)| {
            let few = match target {
                Target::Deal => fold(chunks, limits.levels),
                _ => coalesce(chunks, limits.levels),
            };
            let few = few.into_iter();
            few.map(move |chunk| (target, chunk))
        });
        let with = |(target, chunk): (Target, Chunk)| Descriptor {
            system: chunk.system,
            target,
            local: chunk.local,
            run: chunk.run,
            levels: chunk.levels,
            event: None,
            ..*d
        };
        each.map(with).collect()
    }

    /// Splits a dealt transfer into its runs, one level after the other, and gives `take` the parts of each.
    fn dealt_runs(
        &self,
        (system, local, run): (u64, i64, u64),
        levels: &[Level],
        (sections, unit): (u64, u64),
        take: &mut impl FnMut(Target, Chunk),
    ) {
        if let Some((outer, inner)) = levels.split_last() {
            for turn in 0..i64::from(outer.count) {
                let system = system.wrapping_add_signed(turn * outer.system_stride);
                let local = local + turn * outer.local_stride;
                self.dealt_runs((system, local, run), inner, (sections, unit), take);
            }
            return;
        }
        let mut parts = Vec::new();
        self.runs(system.wrapping_sub(self.address), 0, run, &mut parts);
        for part in parts {
            // Sections are counted from the start of the run. Units up to the next whole round of the
            // sections become transfers to single sections.
            let (mut at, end) = (u64::from(part.local), u64::from(part.local) + part.run);
            let place = |at: u64| local + (at / unit / sections * unit + at % unit) as i64;
            let system = |at: u64| part.system + (at - u64::from(part.local));
            while at < end && !at.is_multiple_of(unit * sections) {
                let bytes = (unit - at % unit).min(end - at);
                let section = u32::try_from(at / unit % sections).unwrap_or(u32::MAX);
                let chunk = Chunk::new(system(at), place(at) as u32, bytes);
                take(Target::Section(section), chunk);
                at += bytes;
            }
            if at < end {
                let chunk = Chunk::new(system(at), place(at) as u32, end - at);
                take(Target::Deal, chunk);
            }
        }
    }

    /// Splits one run into contiguous parts.
    fn runs(&self, mut offset: u64, mut local: i64, mut run: u64, all: &mut Vec<Chunk>) {
        while run > 0 {
            let (place, bytes) = self.locate_byte(offset);
            let part = bytes.clamp(1, run);
            if let Placement::At(place) | Placement::Zeros(place) = place {
                all.push(Chunk::new(place, local as u32, part));
            }
            offset = offset.wrapping_add(part);
            local += part as i64;
            run -= part;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_dma::Direction;
    use proptest::prelude::*;

    /// Returns the real address of the byte at an offset of a view, or nothing for a 0.
    fn byte(
        rows: ViewRows,
        (first, pitch): (u64, u64),
        elsewhere: Option<(u64, u64)>,
        offset: u64,
    ) -> Option<u64> {
        let behind = offset.checked_sub(rows.start)?;
        let (row, within) = (behind / rows.pitch, behind % rows.pitch);
        if row >= rows.count {
            return None;
        }
        match within.checked_sub(rows.bytes) {
            None => Some(first + row * pitch + within),
            Some(behind) => elsewhere.map(|(other, apart)| other + row * apart + behind),
        }
    }

    #[test]
    fn granules_are_dealt_from_the_start_of_each_run() {
        // Two runs of two granules: the second is dealt to the first sections again, though it lies behind
        // the first one.
        let rows = ViewRows {
            start: 0,
            count: 2,
            bytes: 48,
            pitch: 64,
            total: 112,
        };
        let mut views = Views::default();
        let zeros = Gap::Zeros {
            address: 1 << 24,
            bytes: 64,
        };
        let address = views.add(rows, (1 << 20, 48), zeros, 16);
        let machine = Machine::builtin("vm7").unwrap();
        let d = Descriptor::load(Target::Deal, address, 0, 32).level(2, 32, 32);
        let mut all = Vec::new();
        for d in views.expand(d, TransferLimits::from_machine(&machine)) {
            for run in d.runs(&machine) {
                for granule in 0..run.bytes / 16 {
                    let (section, local) = match run.to {
                        cp2_dma::Recipient::Section(s) => (s, 0),
                        _ => ((granule % 4) as u32, granule / 4 * 16),
                    };
                    let system = run.system + granule * 16;
                    all.push((u64::from(run.local) + local, section, system));
                }
            }
        }
        all.sort_unstable();
        let at = |granule: u64| (1 << 20) + 16 * granule;
        assert_eq!(
            all,
            [
                (0, 0, at(0)),
                (0, 1, at(1)),
                (32, 0, at(2)),
                (32, 1, 1 << 24)
            ]
        );
    }

    proptest! {
        #[test]
        fn transfers_move_the_bytes_that_the_view_has(
            (start, count, bytes, gap, apart) in (0u64..6, 1u64..7, 1u64..9, 0u64..4, 0u64..5),
            (system, run, blocks) in (0u64..40, 1u64..12, -3i64..12),
            levels in prop::collection::vec((1u32..5, 0i64..9), 0..3),
            store in any::<bool>(), elsewhere in any::<bool>(), to in 0..3,
        ) {
            let machine = Machine::builtin("vm7").unwrap();
            let (start, bytes, gap, apart) = (16 * start, 16 * bytes, 16 * gap, 16 * apart);
            let rows = ViewRows { start, count, bytes, pitch: bytes + gap, total: 1 << 20 };
            let (first, pitch) = (1 << 20, bytes + apart);
            let rest = if store { Gap::Nothing } else { Gap::Zeros { address: 1 << 24, bytes: 64 } };
            let other = (1u64 << 22, gap + 48);
            let rest = match (elsewhere, rest) {
                (false, rest) => rest,
                (true, rest) => Gap::Elsewhere {
                    address: other.0,
                    pitch: other.1,
                    zeros: (rest != Gap::Nothing).then_some((1 << 24, 64)),
                },
            };
            let elsewhere = elsewhere.then_some(other);
            let mut views = Views::default();
            let address = views.add(rows, (first, pitch), rest, 16);
            // Far enough from the start that no block begins before it.
            let target = match to {
                0 => Target::Blocks { stride: 16 * blocks },
                1 => Target::Deal,
                _ => Target::Section(1),
            };
            let system = address + 16 * (system + 12);
            let mut d = Descriptor::load(target, system, 0, 16 * run).event(1);
            let mut local = 16 * i64::from(run as i32);
            for (count, system) in levels {
                d = d.level(count, 16 * system, local);
                local *= i64::from(count);
            }
            if store {
                d.direction = Direction::Store;
            }
            // Returns for every byte of a run the section that receives it, and its local address.
            let places = |run: &cp2_dma::Run, at: u64| -> Vec<(u32, u64)> {
                let local = u64::from(run.local);
                match run.to {
                    cp2_dma::Recipient::Section(s) => vec![(s, local + at)],
                    cp2_dma::Recipient::Deal => {
                        let granule = at / 16;
                        vec![((granule % 4) as u32, local + granule / 4 * 16 + at % 16)]
                    }
                    _ => (0..4).map(|s| (s, local + at)).collect(),
                }
            };
            let mut wanted = Vec::new();
            for run in d.runs(&machine) {
                for at in 0..run.bytes {
                    let byte = byte(rows, (first, pitch), elsewhere, run.system + at - address);
                    if !store || byte.is_some() {
                        wanted.extend(places(&run, at).into_iter().map(|place| (place, byte)));
                    }
                }
            }
            let mut found = Vec::new();
            let expanded = views.expand(d, TransferLimits::from_machine(&machine));
            for d in &expanded {
                prop_assert!(d.levels.len() <= machine.dma.levels);
                for run in d.runs(&machine) {
                    for at in 0..run.bytes {
                        let from = run.system + at;
                        let byte = (from < 1 << 24).then_some(from);
                        found.extend(places(&run, at).into_iter().map(|place| (place, byte)));
                    }
                }
            }
            prop_assert!(expanded.iter().rev().skip(1).all(|d| d.event.is_none()));
            prop_assert!(expanded.last().is_none_or(|d| d.event == Some(1)));
            found.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(found, wanted);
        }
    }
}
