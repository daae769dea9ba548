//! Cycles of page kernels (`docs/abi.md`) for their pages.

use super::{KernelEntryPoint, data_end};
use crate::nest::{GridPlan, PageCycles};
use crate::{BlocksPerSection, Paging, Stream, StreamPlan};
use cp2_emu::cycles::{KernelInterval, Mark, Uncounted};
use cp2_machine::Machine;
use std::collections::HashMap;
use std::sync::Arc;

/// Number of blocks of a counted page at most.
const MOST_COUNTED_BLOCKS: u64 = 16;

/// Bytes before an argument block: its first word is the address of the next block, its third the number of
/// pages.
const HEADER_BYTES: u32 = 16;

/// Number of pages of a counted run; all but the first and the last are alike.
const COUNTED_PAGES: u32 = 6;

/// Returns a job for the scheduler with the cycles of its page kernel, counted from the program, or the job
/// itself if they cannot be counted.
pub fn priced(paging: Paging, kernel: &KernelEntryPoint, machine: &Machine) -> Paging {
    // Two page sizes are counted, about that of a page and half of it: cycles per block = difference of
    // cycles / difference of blocks, and the rest is the cost of a page.
    let pitch = |streams: &[Stream]| streams.iter().map(|stream| stream.pitch).sum::<u64>();
    let each = pitch(&paging.inputs) + pitch(&paging.outputs);
    let fit = machine.cp2.dmem.0 / (2 * each).max(1);
    let (few, more) = match paging.size {
        BlocksPerSection::Fixed(blocks) => (0, blocks.max(1)),
        BlocksPerSection::Range { .. } => {
            let more = fit.clamp(2, MOST_COUNTED_BLOCKS) as u32;
            (more / 2, more)
        }
    };
    let streams = paging.inputs.len() + paging.outputs.len();
    let page = |blocks: u32| {
        let steps = kernel.page_steps(blocks, (streams, &paging.args.words), machine);
        steps.map(|steps| steps.cycles())
    };
    let least = if few > 0 { page(few) } else { Ok(0) };
    let (Ok(least), Ok(most)) = (least, page(more)) else {
        return paging;
    };
    let block = most.saturating_sub(least) / u64::from(more - few);
    Paging {
        cycles_per_block: Some(block),
        cycles_per_page: most.saturating_sub(block * u64::from(more)),
        ..paging
    }
}

/// Steps of a page kernel whose pages are alike: of the first page, of a later one, and of the last with the
/// end.
#[derive(Clone, Debug, Default)]
struct PageSteps {
    first: Vec<KernelInterval>,
    page: Vec<KernelInterval>,
    last: Vec<KernelInterval>,
}

impl PageSteps {
    /// Splits the steps of a run of `count` pages.
    fn from_steps(steps: impl Iterator<Item = KernelInterval>, count: u32) -> Self {
        let mut pages: Vec<Vec<KernelInterval>> = vec![Vec::new()];
        for step in steps {
            let begins = pages.len() < count as usize;
            if let Some(page) = pages.last_mut() {
                page.push(step);
            }
            // The steps behind the last signal belong to the last page.
            if begins && matches!(step.mark, Mark::Signal(_)) {
                pages.push(Vec::new());
            }
        }
        let mut pages = pages.into_iter();
        let first = pages.next().unwrap_or_default();
        let last = pages.next_back().unwrap_or_default();
        let page = pages.next_back().unwrap_or_default();
        Self { first, page, last }
    }

    /// Returns the cycles from the end of a page to the end of the next, if that is loaded.
    fn cycles(&self) -> u64 {
        self.page.iter().map(|step| step.cycles + 1).sum()
    }

    /// Returns the steps of a page that is the first and the last.
    fn single_page_steps(&self) -> Vec<KernelInterval> {
        let ends = self.last.get(signalled(&self.last)..).unwrap_or_default();
        self.first.iter().chain(ends).copied().collect()
    }
}

/// Returns the number of steps up to the first signal.
fn signalled(steps: &[KernelInterval]) -> usize {
    let signal = |step: &KernelInterval| matches!(step.mark, Mark::Signal(_));
    steps.iter().position(signal).map_or(0, |at| at + 1)
}

impl KernelEntryPoint {
    /// Returns the first byte of DMEM behind the kernel's data, where the argument blocks of a counted run
    /// lie.
    fn free(&self) -> u32 {
        let end = data_end(&self.program).next_multiple_of(64);
        u32::try_from(end).unwrap_or(u32::MAX / 2)
    }

    /// Counts the steps of pages of `blocks` blocks, with `streams` streams and the kernel-specific words
    /// `own`.
    fn page_steps(
        &self,
        blocks: u32,
        (streams, own): (usize, &[u32]),
        machine: &Machine,
    ) -> Result<PageSteps, Uncounted> {
        /// Number of argument blocks that take turns.
        const TURNS: u32 = 3;
        let further = streams.saturating_sub(2) + own.len();
        let bytes = (HEADER_BYTES + 16 + 4 * further as u32).next_multiple_of(64);
        let first = self.free();
        let at = |turn: u32| first + turn % TURNS * bytes;
        // Pages lie behind the argument blocks, wherever they end.
        let page = at(TURNS - 1) + bytes;
        let mut words: Vec<u32> = Vec::new();
        for turn in 0..TURNS {
            words.extend([
                at(turn + 1) + HEADER_BYTES,
                0,
                COUNTED_PAGES,
                0,
                page,
                page,
                blocks,
                page,
            ]);
            words.extend((2..streams).map(|_| page));
            words.extend(own);
            words.resize((turn + 1) as usize * bytes as usize / 4, 0);
        }
        let counted = self.count_steps(machine, first + HEADER_BYTES, (first, &words))?;
        Ok(PageSteps::from_steps(counted.steps(), COUNTED_PAGES))
    }

    /// Returns the steps of a kernel whose pages the scheduler moves.
    ///
    /// # Errors
    /// The kernel's control flow depends on data.
    pub fn paged(
        &self,
        plan: &StreamPlan,
        machine: &Machine,
    ) -> Result<impl Iterator<Item = KernelInterval> + Send + use<>, Uncounted> {
        let job = plan.job();
        let streams = (job.inputs.len() + job.outputs.len(), &job.args.words[..]);
        let mut known = CountedPages::default();
        for k in 0..plan.pages().len() {
            let blocks = plan.pages().get(k).map_or(0, |page| page.per_section);
            known.page(blocks, || self.page_steps(blocks, streams, machine))?;
        }
        Ok(Arc::new(known.pages).steps())
    }

    /// Counts the steps of a kernel whose pages are those of a nest.
    ///
    /// # Errors
    /// The kernel's control flow depends on data.
    pub fn nested(
        &self,
        nest: &GridPlan,
        machine: &Machine,
    ) -> Result<Arc<CountedKernelPages>, Uncounted> {
        let mut known = CountedPages::default();
        for k in 0..nest.len() {
            let words = nest.counted_arguments(k, 0, 0);
            known.page(words, || {
                let steps = self.nest_steps(nest, [k, k], COUNTED_PAGES, machine)?;
                Ok(PageSteps::from_steps(steps.into_iter(), COUNTED_PAGES))
            })?;
        }
        // The kernel's steps behind the last page use the arguments of the end.
        let last = nest.len().saturating_sub(1);
        let ending = self.nest_steps(nest, [last, nest.len()], 1, machine)?;
        known.pages.ending = Some(ending[signalled(&ending)..].to_vec());
        Ok(Arc::new(known.pages))
    }

    /// Counts the steps of a run of `pages` pages that find the arguments of the two pages `of` of a nest in
    /// turn.
    fn nest_steps(
        &self,
        nest: &GridPlan,
        of: [u64; 2],
        pages: u32,
        machine: &Machine,
    ) -> Result<Vec<KernelInterval>, Uncounted> {
        let layout = nest.layout();
        // The argument blocks lie where they do in a run, because the kernel may store elsewhere.
        let (first, blocks) = match nest.argument_blocks() {
            // One block serves all pages if they are alike.
            Some((first, 1)) if of[0] == of[1] => (first, 1),
            Some((first, 2)) => (first, 2),
            _ => (self.free(), 2),
        };
        let at = [0, 1].map(|slot| first + slot % blocks * layout.bytes() + layout.before);
        let mut words = nest.counted_arguments(of[0], pages, at[1]);
        if blocks > 1 {
            words.extend(nest.counted_arguments(of[1], pages, at[0]));
        }
        let counted = self.count_steps(machine, at[0], (first, &words))?;
        Ok(counted.steps().collect())
    }

    /// Returns the cycles of a kernel per block and per page, from the pages of two nests of different sizes.
    pub fn nest_cycles(
        &self,
        nests: [&GridPlan; 2],
        machine: &Machine,
    ) -> Result<PageCycles, Uncounted> {
        // A page in the middle of those that are alike is counted, so that steps of the first page alone are
        // left out.
        let largest = |nest: &GridPlan| {
            let kinds = nest.kinds().iter();
            let all = kinds.map(|kind| (kind.blocks, kind.when.clone()));
            let most = all.max_by_key(|(blocks, _)| *blocks);
            let (blocks, when) = most.unwrap_or_default();
            let middle = when.map(|range| range.start + (range.end - range.start) / 2);
            (blocks, nest.number(middle))
        };
        let count = |nest: &GridPlan| {
            let (blocks, page) = largest(nest);
            let steps = self.nest_steps(nest, [page, page], COUNTED_PAGES, machine)?;
            let cycles = PageSteps::from_steps(steps.into_iter(), COUNTED_PAGES).cycles();
            Ok::<_, Uncounted>((u64::from(blocks), cycles))
        };
        let [(few, least), (more, most)] = [count(nests[0])?, count(nests[1])?];
        let block = match more.checked_sub(few) {
            None | Some(0) => most / more.max(1),
            Some(more) => most.saturating_sub(least) / more,
        };
        Ok(PageCycles {
            block,
            page: most.saturating_sub(block * more),
        })
    }
}

/// Steps of a kernel for the pages of a pass, which many jobs may share.
#[derive(Debug, Default)]
pub struct CountedKernelPages {
    /// Steps of the pages of a kind.
    kinds: Vec<PageSteps>,
    /// Kind of each page.
    pages: Vec<usize>,
    /// Steps behind the last page, if they differ from those in a run of equal pages.
    ending: Option<Vec<KernelInterval>>,
}

impl CountedKernelPages {
    /// Returns the steps of all pages in order.
    pub fn steps(self: Arc<Self>) -> impl Iterator<Item = KernelInterval> + Send {
        let count = self.pages.len();
        (0..count).flat_map(move |k| {
            let kind = self.pages.get(k).and_then(|kind| self.kinds.get(*kind));
            let Some(steps) = kind else {
                return Vec::new();
            };
            let mut own = match k {
                0 if count == 1 => steps.single_page_steps(),
                0 => steps.first.clone(),
                k if k + 1 == count => steps.last.clone(),
                _ => steps.page.clone(),
            };
            if let Some(ending) = self.ending.as_ref().filter(|_| k + 1 == count) {
                own.truncate(signalled(&own));
                own.extend(ending);
            }
            own
        })
    }
}

/// Pages of a run that are being counted; those with equal arguments take the same steps.
struct CountedPages<K> {
    kinds: HashMap<K, usize>,
    pages: CountedKernelPages,
}

impl<K> Default for CountedPages<K> {
    fn default() -> Self {
        Self {
            kinds: HashMap::new(),
            pages: CountedKernelPages::default(),
        }
    }
}

impl<K: std::hash::Hash + Eq> CountedPages<K> {
    /// Adds a page, whose steps are counted if they are not known.
    fn page(
        &mut self,
        key: K,
        count: impl FnOnce() -> Result<PageSteps, Uncounted>,
    ) -> Result<(), Uncounted> {
        let pages = &mut self.pages;
        let kind = match self.kinds.get(&key) {
            Some(&kind) => kind,
            None => {
                pages.kinds.push(count()?);
                self.kinds.insert(key, pages.kinds.len() - 1);
                pages.kinds.len() - 1
            }
        };
        pages.pages.push(kind);
        Ok(())
    }
}
