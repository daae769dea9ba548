//! Loads of a pass that are given while the pass before it ends.
//!
//! A pass that goes on with results of another need not wait for all of them. Each of its first loads is
//! given as soon as the local memory that it fills is free and the data that it reads are stored. A load that
//! posts an event comes behind all loads that the pass before waits for, because both kernels count the same
//! events.

use super::{Ring, RingPass};
use cp2_dma::{Bounds, Descriptor, Transfer};
use cp2_machine::Machine;
use std::ops::Range;

/// A load of the next pass.
#[derive(Clone, Debug)]
pub(crate) struct EarlyLoad {
    /// Page behind whose stores the load is given; none if it is given behind the first loads.
    pub(crate) behind: Option<u64>,
    /// Page of the next pass that the load belongs to; none for the program, for which all of that pass
    /// waits.
    pub(crate) page: Option<u64>,
    pub(crate) load: Descriptor,
}

/// Turns of all buffers, at the end of a pass, in which loads of the next pass are given.
const EARLY_LOAD_TURNS: u64 = 2;

/// Begins every pass while the one before ends, if the kernel is the same and the contents of pages are
/// known. Argument blocks come early too if they lie apart.
pub fn overlap_passes(mut passes: Vec<RingPass>, machine: &Machine) -> Vec<RingPass> {
    for next in 1..passes.len() {
        let (before, after) = passes.split_at_mut(next);
        let (Some(before), Some(next)) = (before.last_mut(), after.first_mut()) else {
            continue;
        };
        if let Some(ahead) = list_early_loads(before, next, machine) {
            before.ahead = ahead;
            next.begun = true;
            next.informed = is_free(before, next);
        }
    }
    passes
}

/// Number of the last pages behind which the program of another kernel may be given; other places are tried
/// too.
const TRIED_PROGRAM_PLACES: u64 = 4;

/// Begins `next` while `before` ends, though its kernel is another, if the contents of pages are known.
/// `program` loads that kernel and its data where `before` uses no memory; of several pages behind which it
/// can be given, the one is taken with which both passes should take the shortest time.
pub fn overlap_pair(
    before: &mut RingPass,
    next: &mut RingPass,
    program: &[Descriptor],
    machine: &Machine,
) -> bool {
    let Some(pages) = list_early_loads(before, next, machine).filter(|_| is_free(before, next))
    else {
        return false;
    };
    next.begun = true;
    next.informed = true;
    let count = before.count();
    // If pages form groups, also the last page before the last group is tried.
    let group = before.work.period();
    let before_last = (group > 1).then(|| count.saturating_sub(group + 1));
    let last = count.saturating_sub(TRIED_PROGRAM_PLACES)..count;
    let places = before_last.into_iter().chain(last).chain([0]).map(Some);
    let places = places.chain(before.at_once.then_some(None));
    let mut best: Option<(f64, Vec<EarlyLoad>)> = None;
    for behind in places {
        let program = program.iter().map(|load| EarlyLoad {
            behind,
            page: None,
            load: load.clone(),
        });
        // The pages of the next pass come behind its program.
        let later = pages.iter().cloned().map(|ahead| EarlyLoad {
            behind: ahead.behind.max(behind),
            ..ahead
        });
        before.ahead = program.chain(later).collect();
        let cycles = super::expect_all([&*before, &*next], machine);
        if best.as_ref().is_none_or(|(least, _)| cycles < *least) {
            best = Some((cycles, std::mem::take(&mut before.ahead)));
        }
    }
    before.ahead = best.map(|(_, ahead)| ahead).unwrap_or_default();
    true
}

/// Returns the first loads of `next` in the order in which they are given while `before` ends, or nothing if
/// the contents of its pages are not known.
fn list_early_loads(
    before: &RingPass,
    next: &RingPass,
    machine: &Machine,
) -> Option<Vec<EarlyLoad>> {
    let (pages, arguments) = (before.last_pages(), before.argument_bytes());
    let first = pages.start;
    // Memory that is in use until a page is stored, and the addresses that it is stored to.
    let mut busy = Vec::new();
    for page in pages {
        let (held, stores) = (
            before.page_dmem_spans(page)?,
            before.stores(page, machine.dma.levels),
        );
        let stores = stores.iter().map(|store| store.bounds(machine).system);
        let stores: Vec<_> = stores.collect();
        busy.push((page, held, stores));
    }
    let mut all = Vec::new();
    // A page is complete when all loads given before it are, and those of the pass before.
    let first = (!before.at_once).then_some(first);
    let mut complete = first.max(first.map(|_| before.page_before_last_load()));
    for page in next.next(None) {
        // The kernel may write the page's extra memory as soon as the page is loaded.
        let beside = next.page_dmem_spans(page).map(|[_, _, beside, _]| beside);
        let stored = |(_, [own, _, _, result], _): &&(u64, [Range<u64>; 4], Vec<Range<u64>>)| {
            let written = beside.as_ref();
            written.is_some_and(|written| meet(own, written) || meet(result, written))
        };
        complete = complete.max(busy.iter().rev().find(stored).map(|busy| busy.0));
        let (loads, early) = next.shares(page, machine.dma.levels);
        let loads = loads.into_iter().map(|load| (page, load));
        for (page, load) in loads.chain(early.into_iter().map(|load| (page + 1, load))) {
            let Bounds {
                system: from,
                local: to,
            } = load.bounds(machine);
            // The kernel uses its arguments to the last page.
            if meet(&to, &arguments) {
                return None;
            }
            let waits = |(_, held, stores): &&(u64, [Range<u64>; 4], Vec<Range<u64>>)| {
                held.iter().any(|held| meet(held, &to))
                    || stores.iter().any(|store| meet(store, &from))
            };
            let behind = busy.iter().rev().find(waits);
            let behind = behind.map(|busy| busy.0).or(first);
            complete = complete.max(behind);
            let behind = if load.event.is_some() {
                complete
            } else {
                behind
            };
            let page = Some(page);
            all.push(EarlyLoad { behind, page, load });
        }
    }
    all.sort_by_key(|ahead| ahead.behind);
    Some(all)
}

/// Returns true if the argument block of `next` lies where `before` uses no memory up to its end.
fn is_free(before: &RingPass, next: &RingPass) -> bool {
    let given = next.argument_bytes();
    let held = before
        .last_pages()
        .filter_map(|page| before.page_dmem_spans(page));
    let mut used = held.flatten().chain([before.argument_bytes()]);
    !used.any(|used| meet(&used, &given))
}

impl RingPass {
    /// Lets loads of the next pass be given before the first page is done, if all loads of this pass are.
    pub fn load_immediately(mut self) -> Self {
        self.at_once = self.count() <= self.ring.ahead as u64;
        self
    }

    /// Returns the pages behind which loads of the next pass can be given.
    fn last_pages(&self) -> Range<u64> {
        let count = self.count();
        count.saturating_sub(EARLY_LOAD_TURNS * self.ring.ahead as u64)..count
    }

    /// Returns the number of pages of the next pass that are loaded before this pass's first page is done.
    pub fn count_immediate_loads(&self) -> u64 {
        let of = |at_once: bool| {
            let loads = self.ahead.iter();
            let loads = loads.filter(move |ahead| ahead.behind.is_none() == at_once);
            loads.filter_map(|ahead| ahead.page)
        };
        let all = of(true).max().map_or(0, |page| page + 1);
        of(false).min().map_or(all, |later| later.min(all))
    }

    /// Returns the page behind which the last page of the pass is loaded.
    fn page_before_last_load(&self) -> u64 {
        let loads = |page: &u64| self.next(Some(*page)).next().is_some();
        (0..self.count()).rev().find(loads).unwrap_or(0)
    }

    /// Returns the bytes of the argument block.
    fn argument_bytes(&self) -> Range<u64> {
        let bytes = Ring::argument_bytes(self.ring.pages.len());
        span(self.ring.arguments.into(), bytes)
    }

    /// Returns the local memory that a page uses from its first load to its store: own buffer, factors, extra
    /// memory, and result.
    fn page_dmem_spans(&self, page: u64) -> Option<[Range<u64>; 4]> {
        let slot = (page % self.ring.pages.len().max(1) as u64) as usize;
        let ring = &self.ring;
        let [own, factors, beside] = self.work.dmem_bytes(page)?;
        let part = |all: &[u32], bytes| {
            let at = all.get(slot).copied().unwrap_or_default();
            span(at.into(), bytes)
        };
        Some([
            part(&ring.pages, own),
            part(&ring.factors, factors),
            part(&ring.beside, beside),
            span(ring.result(page).into(), own),
        ])
    }
}

fn span(from: u64, bytes: u64) -> Range<u64> {
    from..from.saturating_add(bytes)
}

/// Returns true if two spans have a byte in common.
fn meet(a: &Range<u64>, b: &Range<u64>) -> bool {
    a.start.max(b.start) < a.end.min(b.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paging::ring::RingPages;
    use cp2_dma::Target;

    const PAGE: u64 = 64;

    /// Pages of 64 bytes that are copied from consecutive addresses to others.
    #[derive(Clone, Debug)]
    struct Copied {
        from: u64,
        to: u64,
        pages: u64,
        known: bool,
    }

    impl RingPages for Copied {
        fn count(&self) -> u64 {
            self.pages
        }
        fn loads(&self, page: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
            let section = Target::Section(0);
            vec![Descriptor::load(
                section,
                self.from + page * PAGE,
                local,
                PAGE,
            )]
        }
        fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
            let section = Target::Section(0);
            vec![Descriptor::store(
                section,
                self.to + page * PAGE,
                local,
                PAGE,
            )]
        }
        fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
            self.known.then_some([PAGE, 0, 0])
        }
        fn arithmetic_cycles(&self, _page: u64) -> u64 {
            1
        }
    }

    /// Returns a pass of ten pages through two buffers from `first` on.
    fn pass(arguments: u64, first: u64, from: u64, to: u64) -> RingPass {
        let pages = Copied {
            from,
            to,
            pages: 10,
            known: true,
        };
        RingPass::new(Ring::new_in_place(arguments, first, 2, PAGE), pages)
    }

    fn list_preceding_pages(before: &RingPass, next: &RingPass) -> Option<Vec<u64>> {
        let machine = Machine::builtin("vm7").unwrap();
        let ahead = list_early_loads(before, next, &machine)?;
        ahead.iter().map(|ahead| ahead.behind).collect()
    }

    /// Loads into free memory of data that are there come behind the load of the pass's own last page, which
    /// is page 9 and is loaded behind page 7. Other loads come as soon as memory is free and data are stored.
    #[test]
    fn first_loads_wait_for_their_buffers_and_their_data_only() {
        let before = pass(0, 1000, 0, 1 << 20);
        let elsewhere = |from| pass(100, 2000, from, 1 << 30);
        assert_eq!(
            list_preceding_pages(&before, &elsewhere(1 << 40)),
            Some(vec![7, 7])
        );
        // Pages 8 and 9 are the last in the two buffers.
        let same_buffers = pass(100, 1000, 1 << 40, 1 << 30);
        assert_eq!(
            list_preceding_pages(&before, &same_buffers),
            Some(vec![8, 9])
        );
        let one_buffer = pass(100, 1000 + PAGE, 1 << 40, 1 << 30);
        assert_eq!(list_preceding_pages(&before, &one_buffer), Some(vec![9, 9]));
        // Data that page 7 stores, and data that page 9 stores: pages become ready in order.
        let stored = |page: u64| (1 << 20) + page * PAGE;
        assert_eq!(
            list_preceding_pages(&before, &elsewhere(stored(7))),
            Some(vec![7, 8])
        );
        assert_eq!(
            list_preceding_pages(&before, &elsewhere(stored(9))),
            Some(vec![9, 9])
        );
        assert_eq!(
            list_preceding_pages(&before, &elsewhere(stored(2))),
            Some(vec![7, 7])
        );
    }

    /// The last of ten pages through two buffers is given behind page 7.
    #[test]
    fn no_page_is_announced_before_those_of_the_pass_before() {
        let machine = Machine::builtin("vm7").unwrap();
        let passes = vec![pass(0, 1000, 0, 1 << 20), pass(100, 2000, 1 << 40, 1 << 30)];
        let chained = overlap_passes(passes, &machine);
        let behind: Vec<_> = chained[0].ahead.iter().map(|ahead| ahead.behind).collect();
        assert_eq!(behind, [Some(7), Some(7)]);
    }

    /// Pages that would overwrite the arguments of the running kernel, and pages of unknown contents, are not
    /// begun early. Argument blocks are free only outside the arguments and the pages of the pass before.
    #[test]
    fn some_passes_wait_for_the_one_before() {
        let before = pass(0, 1000, 0, 1 << 20);
        assert_eq!(
            list_preceding_pages(&before, &pass(100, 16, 1 << 40, 1 << 30)),
            None
        );
        let free = |arguments| is_free(&before, &pass(arguments, 2000, 1 << 40, 1 << 30));
        assert!([100, 950, 1128].into_iter().all(free));
        assert!(![0, 32, 990, 1120].into_iter().any(free));
        let unknown = RingPass::new(
            Ring::new_in_place(0, 1000, 2, PAGE),
            Copied {
                from: 0,
                to: 1 << 20,
                pages: 10,
                known: false,
            },
        );
        assert_eq!(
            list_preceding_pages(&unknown, &pass(100, 2000, 1 << 40, 1 << 30)),
            None
        );
    }

    /// Passes that overlap are expected to take less than one behind the other, and no less than their
    /// arithmetic.
    #[test]
    fn what_is_begun_early_takes_less() {
        let machine = Machine::builtin("vm9").unwrap();
        let passes = || vec![pass(0, 1000, 0, 1 << 20), pass(100, 2000, 1 << 40, 1 << 30)];
        let apart = crate::paging::ring::expect_all(&passes(), &machine);
        let each: f64 = passes().iter().map(|p| p.expect(&machine).cycles).sum();
        assert!(apart >= each, "{apart} {each}");
        let chained = overlap_passes(passes(), &machine);
        assert!(chained[1].begun && !chained[0].begun);
        let together = crate::paging::ring::expect_all(&chained, &machine);
        assert!(together < apart, "{together} {apart}");
        assert!(together > 20.0, "{together}");
    }
}
