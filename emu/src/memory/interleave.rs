//! DMEM of four sections at once: runs of all sections as whole lines.
//!
//! A line is a transposed square of words, so that runs of every section are loaded and stored by
//! lines.

use crate::core::layout::{COLUMNS, DmemLine, LINE_BYTES};
use crate::memory::transpose;
use bytemuck::cast;
use cp2_dma::{Step, Sweep};
use std::ops::Range;
use wide::u32x4;

/// Copies the same bytes into every section's DMEM from `address` on. Returns false, and does
/// nothing, if they are not whole lines inside it.
pub(crate) fn spread(bytes: &[u8], address: usize, dmem: &mut [DmemLine]) -> bool {
    let (first, count) = (address / LINE_BYTES, bytes.len() / LINE_BYTES);
    let whole = address.is_multiple_of(LINE_BYTES) && bytes.len().is_multiple_of(LINE_BYTES);
    let Some(lines) = dmem.get_mut(first..first + count).filter(|_| whole) else {
        return false;
    };
    for (line, words) in lines.iter_mut().zip(bytes.chunks_exact(LINE_BYTES)) {
        line.0 = row(words, 0).to_array().map(|word| [word; COLUMNS]);
    }
    true
}

/// Copies a transfer of every section into DMEM. Returns false, and does nothing, if it is not
/// whole lines inside both memories.
pub(crate) fn load(sweep: &Sweep, span: &[u8], dmem: &mut [DmemLine]) -> bool {
    for_each_span(sweep, span.len(), dmem.len(), |rows, at, line| {
        if transpose::load(span, at, rows, dmem, line) {
            return;
        }
        for (at, line) in rows.places(at, line) {
            let from = |s: usize| row(span, rows.section_offset(at, s));
            if let Some(line) = dmem.get_mut(line) {
                line.0 = cast(u32x4::transpose([from(0), from(1), from(2), from(3)]));
            }
        }
    })
}

/// Copies a transfer of every section from DMEM, see [`load`].
pub(crate) fn store(sweep: &Sweep, span: &mut [u8], dmem: &[DmemLine]) -> bool {
    for_each_span(sweep, span.len(), dmem.len(), |rows, at, line| {
        if transpose::store(span, at, rows, dmem, line) {
            return;
        }
        for (at, line) in rows.places(at, line) {
            let line = dmem.get(line).copied().unwrap_or_default();
            let turned = u32x4::transpose(cast(line.0));
            for (s, words) in turned.into_iter().enumerate() {
                write_words(span, rows.section_offset(at, s), words);
            }
        }
    })
}

/// Lines at equal distances with their rows in system memory, repeated in turns that are at equal
/// distances again.
#[derive(Clone, Copy, Debug)]
/// Lines of a turn.
pub(crate) struct InterleavedRows {
    pub count: usize,
    /// Bytes from a line's row to the next line's.
    pub byte: usize,
    /// Distance between lines, in lines of DMEM.
    pub line: usize,
    /// Bytes from a section's rows to the next section's.
    pub section: isize,
    /// Number of turns.
    pub turns: usize,
    /// Bytes from turn to turn.
    pub turn_byte: isize,
    /// Lines from turn to turn.
    pub turn_line: isize,
}

impl InterleavedRows {
    /// Returns the place of a section's row, if the first section's is at `at`.
    #[inline(always)]
    pub(crate) fn section_offset(self, at: usize, section: usize) -> usize {
        at.wrapping_add_signed(self.section.wrapping_mul(section as isize))
    }

    /// Returns the place of each row of the first section, and its line.
    fn places(self, at: usize, line: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..self.turns as isize).flat_map(move |turn| {
            let at = at.wrapping_add_signed(turn.wrapping_mul(self.turn_byte));
            let line = line.wrapping_add_signed(turn.wrapping_mul(self.turn_line));
            let place = move |i: usize| (at + i * self.byte, line + i * self.line);
            (0..self.count).map(place)
        })
    }
}

/// Calls `copy` with the rows of a sweep, the place of section 0's first row, and the first line.
/// Returns false if the sweep is not whole lines inside memories of `bytes` bytes and `lines`
/// lines.
fn for_each_span(
    sweep: &Sweep,
    bytes: usize,
    lines: usize,
    mut copy: impl FnMut(InterleavedRows, usize, usize),
) -> bool {
    let whole = |n: usize| n.is_multiple_of(LINE_BYTES);
    let aligned = whole(sweep.local)
        && whole(sweep.run)
        && sweep.steps.iter().all(|s| whole(s.local.unsigned_abs()));
    let inside = |(systems, locals): (Range<usize>, Range<usize>)| {
        systems.end <= bytes && locals.end <= lines * LINE_BYTES
    };
    if !aligned || sweep.run == 0 || !sweep.reach(COLUMNS).is_some_and(inside) {
        return false;
    }
    let run = Step {
        count: sweep.run / LINE_BYTES,
        system: LINE_BYTES as isize,
        local: LINE_BYTES as isize,
    };
    let (inner, outer) = match sweep.steps.split_first() {
        Some((first, rest)) if run.count == 1 => (*first, rest),
        _ => (run, &sweep.steps[..]),
    };
    let (Ok(byte), Ok(local)) = (usize::try_from(inner.system), usize::try_from(inner.local))
    else {
        return false;
    };
    let once = Step {
        count: 1,
        system: 0,
        local: 0,
    };
    let (turn, outer) = match outer.split_first() {
        Some((first, rest)) => (*first, rest),
        None => (once, outer),
    };
    let rows = InterleavedRows {
        count: inner.count,
        byte,
        line: local / LINE_BYTES,
        section: sweep.section,
        turns: turn.count,
        turn_byte: turn.system,
        turn_line: turn.local / LINE_BYTES as isize,
    };
    if rows.count == 0 || rows.line == 0 {
        return false;
    }
    turns(outer, sweep.start, sweep.local, &mut |at, local| {
        copy(rows, at, local / LINE_BYTES);
    });
    true
}

/// Calls `each` for every turn of `steps`, the innermost first, with the places in system memory
/// and DMEM.
fn turns(steps: &[Step], at: usize, local: usize, each: &mut dyn FnMut(usize, usize)) {
    match steps.split_last() {
        None => each(at, local),
        Some((step, inner)) => {
            for i in 0..step.count as isize {
                let at = at.wrapping_add_signed(i.wrapping_mul(step.system));
                let local = local.wrapping_add_signed(i.wrapping_mul(step.local));
                turns(inner, at, local, each);
            }
        }
    }
}

/// Reads four words at a place; zeros where it lies outside.
#[inline(always)]
fn row(part: &[u8], at: usize) -> u32x4 {
    match part.get(at..).and_then(<[u8]>::first_chunk::<LINE_BYTES>) {
        Some(bytes) => swap_to_little_endian(cast(*bytes)),
        None => u32x4::default(),
    }
}

/// Writes four words at a place.
#[inline(always)]
fn write_words(span: &mut [u8], at: usize, words: u32x4) {
    if let Some(to) = span
        .get_mut(at..)
        .and_then(<[u8]>::first_chunk_mut::<LINE_BYTES>)
    {
        *to = cast(swap_to_little_endian(words));
    }
}

/// Converts words between the host's byte order and CP2's.
#[inline(always)]
fn swap_to_little_endian(words: u32x4) -> u32x4 {
    if cfg!(target_endian = "little") {
        words
    } else {
        u32x4::new(words.to_array().map(u32::swap_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a sweep of 2 x 3 runs of `run` bytes.
    fn sweep(run: usize) -> Sweep {
        let step = |count, system, local| Step {
            count,
            system,
            local,
        };
        Sweep {
            start: 64,
            section: 512,
            local: 32,
            run,
            steps: vec![step(2, 48, 64), step(3, -32, 128)].into(),
        }
    }

    #[test]
    fn what_goes_in_comes_out() {
        for run in [16, 32] {
            let span: Vec<u8> = (0..1700).map(|i| (i * 31 % 251) as u8).collect();
            let mut dmem = vec![DmemLine::default(); 64];
            assert!(load(&sweep(run), &span, &mut dmem));
            for s in 0..4 {
                for (i, j) in [(0, 0), (1, 0), (0, 2), (1, 2)] {
                    let at = 64 + 512 * s + 48 * i - 32 * j;
                    let local = 32 + 64 * i + 128 * j + run - 4;
                    let word = dmem[local / 16].0[local % 16 / 4][s];
                    assert_eq!(word.to_le_bytes(), span[at + run - 4..at + run]);
                }
            }
            let mut back = vec![0; span.len()];
            assert!(store(&sweep(run), &mut back, &dmem));
            for (new, old) in back.iter().zip(&span).filter(|(new, _)| **new != 0) {
                assert_eq!(new, old);
            }
            assert!(back.iter().filter(|b| **b != 0).count() > 4 * 90);
        }
    }

    #[test]
    fn what_lies_outside_or_is_no_whole_line_is_refused() {
        let mut dmem = vec![DmemLine::default(); 64];
        let good = sweep(32);
        assert!(load(&good, &[0; 1700], &mut dmem));
        assert!(!load(&good, &[0; 1600], &mut dmem));
        assert!(!load(&good, &[0; 1700], &mut dmem[..23]));
        for bad in [
            Sweep {
                local: 40,
                ..good.clone()
            },
            Sweep {
                run: 24,
                ..good.clone()
            },
            Sweep {
                start: 32,
                ..good.clone()
            },
            Sweep {
                section: -16,
                ..good.clone()
            },
        ] {
            assert!(!load(&bad, &[0; 1700], &mut dmem), "{bad:?}");
            assert!(!store(&bad, &mut [0; 1700], &dmem), "{bad:?}");
        }
    }
}
