//! Tests of computed planes that stay in an input's ring.
//!
//! The input loads only the first rows of each plane: those that other blocks hand over.

use super::*;
use crate::schedule::Buffering;
use cp2_dma::{Direction, Recipient};
use proptest::prelude::*;
use std::collections::HashMap;

/// Number of rows that blocks hand over.
const HANDED: u64 = 2;
/// Bytes of a row.
const ROW: u64 = 16;

/// A computed row: its plane, and its number in the plane from -1 on.
type Made = (u64, i64);

/// Returns a sweep of blocks of `height` rows for all pages of a march. A block computes its rows but the
/// first, and the row behind it.
fn sweep(pages: u64, [rows, height]: [u64; 2], (buffering, apart): (Buffering, bool)) -> GridPass {
    let [from, to, kept] = [1u64 << 20, 2 << 20, 3 << 20];
    let blocks = rows.div_ceil(height);
    let shape = [pages, rows, ROW / 4];
    let block = [1, height, ROW / 4];
    let input = GridField::new("u", from, 4, shape, block).halo([1, 2, 0], BoundaryRule::Zero);
    let handed = [pages, HANDED * blocks, ROW / 4];
    let handed = GridField::new("handed", kept, 4, handed, [1, HANDED, ROW / 4]);
    let left = handed.clone().place_in_input(1, [1, height as i64]);
    let found = handed.halo([1, 0, 0], BoundaryRule::Zero).room(height);
    let found = found.offset([-1, -(HANDED as i64), 0]);
    let inputs = vec![
        input.opening(FirstLoad::Further(HANDED)),
        found.opening(FirstLoad::Nothing),
    ];
    let output = GridField::new("v", to, 4, shape, block);
    GridPass {
        march: Some(March::Planes),
        grid: Some([pages, blocks, 1]),
        shares: true,
        marches_apart: apart,
        zeros: (0, 4096),
        size: BlocksPerSection::Fixed(1),
        buffering,
        ..GridPass::new(inputs, vec![output, left])
    }
}

/// Returns the sections that a run of bytes goes to, or comes from.
fn sections(to: Recipient) -> Vec<usize> {
    match to {
        Recipient::Section(section) => vec![section as usize],
        Recipient::All => (0..4).collect(),
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// A kernel finds the planes of its window complete, from its own results and those of other blocks, with
    /// early and with late transfers.
    #[test]
    fn planes_are_kept_and_handed_over(
        pages in 3u64..9,
        rows in 1u64..40,
        height in 1u64..6,
        degree in 1usize..4,
        apart: bool,
    ) {
        let machine = Machine::builtin("vm7").unwrap();
        let buffering = [Buffering::Single, Buffering::Double, Buffering::Triple][degree - 1];
        let nest = GridPlan::new(sweep(pages, [rows, height], (buffering, apart)), &machine).unwrap();
        let share = nest.digits()[1];
        let all = nest.len();
        let mut dmem: Vec<HashMap<u64, Made>> = vec![HashMap::new(); 4];
        let mut system: HashMap<u64, Made> = HashMap::new();
        let (mut loaded, mut stored) = (0, 0);
        for k in 0..all {
            // Loads come as early, and stores as late, as they may.
            while loaded < all && nest.find_preceding_page(loaded).is_none_or(|page| page < k) {
                while nest.find_preceding_page(loaded).is_some_and(|page| stored <= page) {
                    for (stream, transfer) in nest.transfers(Direction::Store, stored) {
                        for run in transfer.runs(&machine).filter(|_| stream == 1) {
                            let [section] = sections(run.to)[..] else { panic!("{run:?}") };
                            for at in (0..run.bytes).step_by(ROW as usize) {
                                let local = u64::from(run.local) + at;
                                let made = dmem[section].get(&local).copied();
                                system.insert(run.system + at, made.expect("it is made"));
                            }
                        }
                    }
                    stored += 1;
                }
                for (stream, transfer) in nest.transfers(Direction::Load, loaded) {
                    for run in transfer.runs(&machine).filter(|_| stream == 1) {
                        for section in sections(run.to) {
                            for at in (0..run.bytes).step_by(ROW as usize) {
                                let local = u64::from(run.local) + at;
                                match system.get(&(run.system + at)) {
                                    Some(&made) => dmem[section].insert(local, made),
                                    None => dmem[section].remove(&local),
                                };
                            }
                        }
                    }
                }
                loaded += 1;
            }
            let (plane, digit) = (k % pages, k / pages);
            let words = nest.arguments(k);
            let words: Vec<&[u32]> = words.chunks(nest.layout().bytes() as usize / 4).collect();
            for (section, dmem) in dmem.iter_mut().enumerate() {
                let block = section as u64 * share + digit;
                if block * height >= rows {
                    continue;
                }
                // Three lines of the other input come first.
                let line = |line: u64| {
                    let at = argument_words::ArgumentLayout::line([2, 2], 3 + line);
                    u64::from(words[section][nest.layout().word(at)])
                };
                let first = (block * height) as i64 - 1;
                let from = if digit == 0 { 0 } else { HANDED };
                for row in from..height + HANDED {
                    dmem.insert(line(2) + row * ROW, (plane, first + row as i64));
                }
                for before in 0..plane.min(2) + 1 {
                    for row in 0..height + HANDED {
                        let made = dmem.get(&(line(2 - before) + row * ROW));
                        let expected = (plane - before, first + row as i64);
                        prop_assert_eq!(made, Some(&expected), "page {} section {}", k, section);
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_within_a_ring_is_made_there() {
    let machine = Machine::builtin("vm7").unwrap();
    let whole = sweep(5, [12, 3], (Buffering::Double, false));
    let refused = |change: &dyn Fn(&mut GridPass)| {
        let mut sweep = whole.clone();
        change(&mut sweep);
        GridPlan::new(sweep, &machine).unwrap_err().to_string()
    };
    // Refused are a plane beyond the window, a row beyond its room, a ring that is only loaded, and a stream
    // that is loaded into the buffer of another.
    for place in [[2, 3], [1, 4], [-2, 0]] {
        let said =
            refused(&|sweep| sweep.outputs[1] = sweep.outputs[1].clone().place_in_input(1, place));
        assert!(said.contains("`handed`"), "{said}");
    }
    let said = refused(&|sweep| sweep.inputs[1].room = 0);
    assert!(said.contains("march"), "{said}");
    let said = refused(&|sweep| {
        let more = sweep.outputs[1].clone();
        sweep.inputs.push(more);
    });
    assert!(said.contains("march"), "{said}");
    // The kernel may write into the planes that it computes, and not into those that are only loaded.
    let nest = GridPlan::new(whole.clone(), &machine).unwrap();
    let writes: Vec<bool> = nest.protection().windows.iter().map(|w| w.writes).collect();
    assert_eq!(writes, [false, true]);
}
