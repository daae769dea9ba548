//! Making blocks that go on behind branches.

use super::Fast;
use super::block::TranslatedBlock;
use super::habits::Habits;
use super::text::LoopEndMap;
use crate::core::Core;
use cp2_machine::Machine;

/// Times that one way out of a node is taken before it is tried to go on behind
/// it. Tests want that soon.
pub(super) const WARM: u64 = if cfg!(test) { 2 } else { 64 };

impl Fast {
    /// Replaces the block of node `at`, which ends with a branch, by one that goes
    /// on behind it the way it usually goes.
    #[cold]
    pub(super) fn extend(&mut self, core: &Core, machine: &Machine, at: u32) {
        let node = &self.nodes[at as usize];
        let (pc, state, len) = (node.pc, node.state, node.len as usize);
        let longer = |block: &TranslatedBlock| block.words().len() > len;
        let known = self.block_at.get(&pc).copied();
        let block = match known.filter(|known| longer(&self.blocks[*known as usize])) {
            Some(known) => known,
            None => {
                let mut habits = Habits::default();
                for node in &self.nodes {
                    node.tell(&self.blocks[node.block as usize], &mut habits);
                }
                let ends = self.ends.get_or_insert_with(|| LoopEndMap::find(core));
                let block = TranslatedBlock::translate(core, machine, ends, Some(&habits), pc);
                if !longer(&block) {
                    self.nodes[at as usize].settled = true;
                    return;
                }
                self.keep(pc, block)
            }
        };
        let node = self.make((pc, state), block, machine);
        // Whoever knew the node knows its successor; what it counted stays.
        let before = std::mem::replace(&mut self.nodes[at as usize], node);
        self.nodes.push(before);
    }
}
