//! Extends blocks behind the branches that end them.

use super::Fast;
use super::branch_history::BranchHistory;
use super::trace_words::LoopEndMap;
use super::translated_block::TranslatedBlock;
use crate::core::Core;
use cp2_machine::Machine;

/// Times that one edge of a node is taken before the block is extended behind it. Tests use a small
/// number, so that extended blocks run soon.
pub(super) const WARM: u64 = if cfg!(test) { 2 } else { 64 };

impl Fast {
    /// Replaces the block of node `at`, which ends with a branch, by one that continues behind it
    /// in its usual direction.
    #[cold]
    pub(super) fn extend(&mut self, core: &Core, machine: &Machine, at: u32) {
        let node = &self.nodes[at as usize];
        let (pc, state, len) = (node.pc, node.state, node.len as usize);
        let longer = |block: &TranslatedBlock| block.words().len() > len;
        let known = self.block_at.get(&pc).copied();
        let block = match known.filter(|known| longer(&self.blocks[*known as usize])) {
            Some(known) => known,
            None => {
                let mut habits = BranchHistory::default();
                for node in &self.nodes {
                    node.tell(&self.blocks[node.block as usize], &mut habits);
                }
                let ends = self.ends.get_or_insert_with(|| LoopEndMap::find(core));
                let block = TranslatedBlock::translate(core, machine, ends, Some(&habits), pc);
                if !longer(&block) {
                    self.nodes[at as usize].settled = true;
                    return;
                }
                self.add_block(pc, block)
            }
        };
        let node = self.make_node((pc, state), block, machine);
        // The new node takes the number of the old one, so that edges lead to it. The old one keeps
        // its counts under a new number.
        let before = std::mem::replace(&mut self.nodes[at as usize], node);
        self.nodes.push(before);
    }
}
