//! Beats and lines that a transfer takes, where granules or lists make them matter.

use crate::runs::Nest;
use crate::{Recipient, Run};
use cp2_machine::{LINE_BYTES, Machine, Ticks};

/// Bytes of an entry of a list, which are read over the channel.
const ENTRY_BYTES: u64 = 8;

/// Beats and lines of runs so far, added in the order in which they move.
///
/// Of bytes that follow each other, those in one beat of system memory cross together, and those of a section
/// in one line of its DMEM are one access. So it does not matter where a contiguous range is cut into runs.
pub(crate) struct Crossing {
    beat: u64,
    beats: u64,
    /// Entries of a list.
    entries: u64,
    /// End of the last run in system memory.
    end: Option<u64>,
    /// Lines of each section, and the last one of them.
    sections: Vec<(u64, Option<u64>)>,
}

impl Crossing {
    /// Returns a count of nothing; none for machines on which granules alone take time.
    pub(crate) fn new(machine: &Machine) -> Option<Self> {
        let fine = machine.dma.has_fine_granules();
        fine.then(|| Self::with_entries(0, machine))
    }

    /// Returns a count of the entries of a list alone.
    pub(crate) fn with_entries(entries: u64, machine: &Machine) -> Self {
        let dma = &machine.dma;
        // Only fine granules make beats and lines differ from granules.
        let (beat, sections) = match dma.has_fine_granules() {
            true => (dma.beat, machine.cp2.sections),
            false => (dma.granule, 0),
        };
        Self {
            beat: beat.0.max(1),
            beats: 0,
            entries,
            end: None,
            sections: vec![(0, None); sections],
        }
    }

    /// Returns the count of the runs of a nest if they are whole beats and lines, and if the beats take longer
    /// than the lines can: then it does not matter in which order these come.
    pub(crate) fn of_whole_beats(nest: &Nest, machine: &Machine) -> Option<Self> {
        let mut all = Self::new(machine)?;
        let bytes = nest.whole_units(all.beat, LINE_BYTES, machine)?;
        let lines = nest.most_local(machine) / LINE_BYTES;
        all.sections = vec![(lines, None)];
        let of_lines = all.time(machine);
        all.beats = bytes / all.beat;
        all.sections.clear();
        (of_lines <= all.time(machine)).then_some(all)
    }

    /// Adds a run.
    pub(crate) fn add(&mut self, run: &Run, machine: &Machine) {
        let held = self.end == Some(run.system) && !run.system.is_multiple_of(self.beat);
        let touched = units(run.system, run.bytes, self.beat);
        self.beats = self
            .beats
            .saturating_add(touched - u64::from(held && touched > 0));
        self.end = Some(run.system.saturating_add(run.bytes));
        let local = u64::from(run.local);
        let some = match run.to {
            Recipient::Section(section) => section as usize..section as usize + 1,
            _ => 0..self.sections.len(),
        };
        let some = some.start.min(self.sections.len())..some.end.min(self.sections.len());
        for section in some {
            let bytes = run.bytes_in(section as u32, machine);
            let (lines, last) = &mut self.sections[section];
            if bytes > 0 {
                let held = *last == Some(local / LINE_BYTES);
                let touched = units(local, bytes, LINE_BYTES) - u64::from(held);
                *lines = lines.saturating_add(touched);
                *last = Some((local + bytes - 1) / LINE_BYTES);
            }
        }
    }

    /// Returns the bytes of all beats and entries together.
    pub(crate) fn bytes(&self) -> u64 {
        let entries = self.entries.saturating_mul(ENTRY_BYTES);
        self.beats.saturating_mul(self.beat).saturating_add(entries)
    }

    /// Returns the longest of the times that the channel, the lines of the busiest section and the entries
    /// take.
    pub(crate) fn time(&self, machine: &Machine) -> Ticks {
        let base = machine.time_base();
        let ticks = |units: u64, ticks: u64, per: u64| {
            let all = u128::from(units) * u128::from(ticks);
            Ticks(u64::try_from(all.div_ceil(per.max(1).into())).unwrap_or(u64::MAX))
        };
        let lines = self.sections.iter().map(|section| section.0).max();
        let beats = ticks(self.bytes(), base.ticks_per_granule, machine.dma.granule.0);
        let lines = ticks(lines.unwrap_or(0), base.ticks_per_cycle, machine.dma.lines);
        let entry = machine.dma.entry.0.saturating_mul(base.ticks_per_cycle);
        beats.max(lines).max(ticks(self.entries, entry, 1))
    }
}

/// Returns the aligned units of memory that a range touches.
fn units(first: u64, bytes: u64, unit: u64) -> u64 {
    match bytes.checked_sub(1) {
        Some(more) => first.saturating_add(more) / unit - first / unit + 1,
        None => 0,
    }
}
