//! Argument blocks of a nest's pages, and which of them must be loaded anew.

use super::argument_words::{
    ArgumentLayout, FIRST, FLAGS, INDEX, LAST, MARCHED, NEXT, OPENS, PAGES, SECTION_ORIGIN,
};
use super::grid_plan::{GridPlan, narrow};
use super::march::{LineRing, March};

impl GridPlan {
    /// Returns the argument blocks of page `k` for all sections, one behind the other; `k` may be one past
    /// the last page of a reduction.
    #[must_use]
    pub fn arguments(&self, k: u64) -> Vec<u32> {
        self.page_arguments(k, k)
    }

    /// Returns the argument blocks of page `k` with the addresses of sliding windows taken from page `slid`.
    fn page_arguments(&self, k: u64, slid: u64) -> Vec<u32> {
        let pages = self.len();
        let last = k.min(pages - 1);
        let Some((kind, steps)) = self.kind(last) else {
            return Vec::new();
        };
        let mut words = kind.words.clone();
        for (more, &times) in kind.steps.iter().zip(&steps) {
            for (word, step) in words.iter_mut().zip(more) {
                *word = word.wrapping_add(step.wrapping_mul(times as u32));
            }
        }
        let layout = self.layout;
        let block = layout.bytes() as usize / 4;
        let buffer = self.buffer(k);
        let inputs = self.sweep.inputs.len();
        let at = |index: usize| {
            let first = self
                .places
                .get(index)
                .map_or(0, |p| p[buffer] + self.interior[index]);
            // First line behind the halo.
            let (lying, plane) = self.resolve_buffer(index);
            let ring = self.ring(lying);
            let behind = |ring: &LineRing| {
                let line = ((ring.window - ring.block) / 2).wrapping_add_signed(plane);
                narrow(ring.slot(slid, line) * ring.pitch)
            };
            first + ring.map_or(0, behind)
        };
        let lines = self.lines(slid);
        let counts = [inputs, self.sweep.outputs.len()];
        let mut own = vec![
            if inputs > 0 { at(0) } else { 0 },
            at(inputs),
            0,
            self.scratch,
        ];
        own.extend((1..inputs).map(at));
        own.extend((inputs + 1..self.places.len()).map(at));
        own.extend(&self.tables);
        own.extend(&self.sweep.words);
        let word = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        for words in words.chunks_mut(block.max(1)) {
            let mut put = |at: i64, value: u32| words[layout.word(at)] = value;
            for (i, &value) in own.iter().enumerate().filter(|(i, _)| *i != 2) {
                put(4 * i as i64, value);
            }
            for (n, &(line, next)) in lines.iter().enumerate() {
                let at = ArgumentLayout::line(counts, n as u64);
                put(at, line);
                put(at + 4, next);
            }
            put(
                NEXT,
                self.slots[((k + 1) % self.slots.len() as u64) as usize],
            );
            put(PAGES, word(pages));
            put(INDEX, word(k));
            let follows = self.cuts.continues_section(self.place(last));
            put(OPENS, u32::from(self.cuts.shares && !follows));
            put(MARCHED, word(self.marched_pages(last)));
            let flag = |is: bool, flag: u32| if is { flag } else { 0 };
            put(FLAGS, flag(k == 0, FIRST) | flag(k + 1 == pages, LAST));
            if k >= pages {
                put(0, self.gathered);
                put(8, word(self.cuts.sections));
            }
        }
        words
    }

    /// Returns the number of pages before page `k` in its march, at most the number of lines that windows
    /// have in common.
    fn marched_pages(&self, k: u64) -> u64 {
        let common = self.rings.iter().flatten().map(LineRing::common).max();
        let axis = self.sweep.march.map(March::axis);
        let before = axis.map_or(0, |axis| self.place(k)[axis]);
        before.min(common.unwrap_or(0))
    }

    /// Returns for each line of page `k`'s sliding windows, input by input, its address and that of the next
    /// line in the window, which is 0 for the last.
    fn lines(&self, k: u64) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for (index, ring) in self.rings.iter().enumerate() {
            let Some(ring) = ring else { continue };
            let at = |line: u64| {
                let place = self.places[index][0] + self.interior[index];
                place + narrow(ring.slot(k, line) * ring.pitch)
            };
            let next = |line: u64| match line + 1 < ring.window {
                true => at(line + 1),
                false => 0,
            };
            all.extend((0..ring.window).map(|line| (at(line), next(line))));
        }
        all
    }

    /// Returns the layout of argument blocks.
    #[must_use]
    pub fn layout(&self) -> ArgumentLayout {
        self.layout
    }

    /// Returns the argument block of page `k` for one section, in a run of `pages` pages whose next block is
    /// at `next`, with the words that decide how long the kernel takes. Words that only give the position of
    /// the page in its array are 0 if the kernel does not read them.
    #[must_use]
    pub fn counted_arguments(&self, k: u64, pages: u32, next: u32) -> Vec<u32> {
        let mut words = self.page_arguments(k, 0);
        words.truncate(self.layout.bytes() as usize / 4);
        let places = (0..4).map(|word| SECTION_ORIGIN + 4 * word).chain([INDEX]);
        let unread = places.filter(|at| !self.sweep.reads.is_read(*at));
        let own = [(NEXT, next), (PAGES, pages)];
        for (at, value) in own.into_iter().chain(unread.map(|at| (at, 0))) {
            if let Some(word) = words.get_mut(self.layout.word(at)) {
                *word = value;
            }
        }
        words
    }

    /// Returns true if the arguments of page `k` must be loaded with it: some word that the kernel reads
    /// differs from the one in its buffer's block.
    #[must_use]
    pub fn changes_arguments(&self, k: u64) -> bool {
        if k == 0 {
            return false;
        }
        let Some(before) = k.checked_sub(self.slots.len() as u64) else {
            return true;
        };
        if k >= self.len() {
            return true;
        }
        let (before, now) = (self.arguments(before), self.arguments(k));
        let block = self.layout.bytes() as usize / 4;
        let differs = before
            .iter()
            .zip(&now)
            .enumerate()
            .filter(|(_, (a, b))| a != b);
        let mut differs =
            differs.map(|(i, _)| 4 * (i % block.max(1)) as i64 - i64::from(self.layout.before));
        differs.any(|at| self.sweep.reads.is_read(at))
    }

    /// Returns the DMEM address of the first page's arguments, which the kernel gets.
    #[must_use]
    pub fn first_arguments(&self) -> u32 {
        self.slots.first().copied().unwrap_or(0)
    }

    /// Returns where argument blocks begin, and the number of adjacent ones there: two, or one if there is
    /// only one.
    pub(crate) fn argument_blocks(&self) -> Option<(u32, u32)> {
        let begin = |slot: &u32| slot.checked_sub(self.layout.before);
        if let [one] = &self.slots[..] {
            return Some((begin(one)?, 1));
        }
        let mut two = self.slots.windows(2);
        let behind = |two: &&[u32]| two[1].checked_sub(two[0]) == Some(self.layout.bytes());
        Some((begin(two.find(behind)?.first()?)?, 2))
    }
}
