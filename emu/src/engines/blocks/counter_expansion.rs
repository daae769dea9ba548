//! Expands the counts of nodes to counters by word and cause.

use super::Fast;
use super::timed_block::TimedBlock;
use super::translated_block::TranslatedBlock;
use crate::account::counters::Counters;

impl Fast {
    /// Adds everything that ran in these nodes to `counters`.
    ///
    /// Each word of a text has an entry for the change of its count relative to the word before it.
    /// A node therefore changes two entries, where it is entered and where it is left, however long
    /// it is.
    pub(crate) fn tally(&self, counters: &mut Counters) {
        if !self.counted {
            return;
        }
        let whole = || self.blocks.iter().filter(|block| block.is_whole());
        let last = whole().map(|block| block.last as usize + 1).max();
        counters.reserve(last.unwrap_or(0));
        let mut changes = vec![0; self.counts];
        for node in &self.nodes {
            node.tally(&self.blocks[node.block as usize], &mut changes, counters);
        }
        for block in whole() {
            let changes = &changes[block.counts..][..block.words().len()];
            let (mut times, mut first) = (0u64, 0);
            while let Some((change, rest)) = changes[first..].split_first() {
                times = times.wrapping_add(*change);
                // Words behind it that ran equally often.
                let same = rest.iter().take_while(|change| **change == 0).count();
                let words = first..first + 1 + same;
                first = words.end;
                if times > 0 {
                    counters.work.add(&block.work(words.clone()), times);
                    counters.issued(block.places(words), times);
                }
            }
        }
    }
}

impl TimedBlock {
    /// Books the stalls and turns of the runs through this node, and the changes of word counts.
    fn tally(&self, block: &TranslatedBlock, changes: &mut [u64], counters: &mut Counters) {
        let ends: u64 = self.edges.iter().map(|edge| edge.count).sum();
        let cuts = self.cuts.iter().map(|(words, edge)| (*words, edge.count));
        let sides = self.sides.iter();
        let sides = sides.map(|(edge, side)| (side.word + 1, edge.count));
        // Numbers of words after which the block was left early, and how often.
        let exits: Vec<(usize, u64)> = cuts.chain(sides).filter(|exit| exit.1 > 0).collect();
        let all = ends + exits.iter().map(|exit| exit.1).sum::<u64>();
        if all == 0 {
            return;
        }
        let mut change = |word, by: u64| {
            let place = &mut changes[block.count(word)];
            *place = place.wrapping_add(by);
        };
        change(0, all);
        change(self.len as usize, ends.wrapping_neg());
        for (words, times) in &exits {
            change(*words, times.wrapping_neg());
        }

        let ran = |word: usize| {
            let before = exits.iter().filter(|(words, _)| *words <= word);
            all - before.map(|exit| exit.1).sum::<u64>()
        };
        for (word, stall) in &self.waits {
            counters.charge(block.pc(*word), stall.cause, stall.cycles * ran(*word));
        }
        for word in block.turning() {
            let aside = self.sides.iter().filter(|(_, side)| side.word == word);
            let aside: u64 = aside.map(|(edge, _)| edge.count).sum();
            let lost = self.inner_word_cost(block, word);
            let times = ran(word) - aside;
            counters.charge(block.pc(word), lost.cause, lost.cycles * times);
        }
        for (edge, side) in &self.sides {
            let pc = block.pc(side.word);
            counters.charge(pc, edge.lost.cause, edge.lost.cycles * edge.count);
        }
        for edge in &self.edges {
            counters.charge(block.last, edge.lost.cause, edge.lost.cycles * edge.count);
        }
    }
}
