//! Transfers of consecutive pages, reused from page to page.

use super::stream_plan::StreamPlan;
use cp2_dma::{Descriptor, Direction};

/// The transfers of a plan's pages. Pages with as many blocks in the same buffer differ only in their
/// addresses in system memory, so the transfers of the page before are moved on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlanTransfers<'a> {
    plan: &'a StreamPlan,
    /// Loads of the latest page in each buffer.
    loads: Vec<DirectionTransfers>,
    /// Stores of the latest page in each buffer.
    stores: Vec<DirectionTransfers>,
    /// Transfers of the page asked for last, with views replaced by real addresses.
    lying: Vec<(usize, Descriptor)>,
}

/// Transfers of one page in one direction.
#[derive(Clone, Debug, Default, PartialEq)]
struct DirectionTransfers {
    /// First block of the page.
    first: u64,
    /// Number of blocks of the page.
    blocks: u64,
    /// Transfers, each with the index of its stream.
    made: Vec<(usize, Descriptor)>,
}

impl<'a> PlanTransfers<'a> {
    pub(super) fn new(plan: &'a StreamPlan) -> Self {
        Self {
            plan,
            loads: vec![DirectionTransfers::default(); plan.degree()],
            stores: vec![DirectionTransfers::default(); plan.degree()],
            lying: Vec::new(),
        }
    }

    /// Returns the transfers of page `k`, each with the index of its stream.
    pub(super) fn list_page_transfers(
        &mut self,
        direction: Direction,
        k: u64,
    ) -> &[(usize, Descriptor)] {
        let plan = self.plan;
        let Some((first, blocks)) = plan.pages().extent(k) else {
            return &[];
        };
        let (table, streams) = match direction {
            Direction::Load => (&mut self.loads, &plan.job().inputs),
            Direction::Store => (&mut self.stores, &plan.job().outputs),
        };
        let slot = &mut table[(k % plan.degree() as u64) as usize];
        if slot.blocks == blocks {
            let on = first.wrapping_sub(slot.first);
            for (stream, d) in &mut slot.made {
                d.system = d
                    .system
                    .wrapping_add(on.wrapping_mul(streams[*stream].stride));
            }
        } else if let Some(page) = plan.pages().get(k) {
            slot.made = plan.transfers(direction, &page);
        }
        (slot.first, slot.blocks) = (first, blocks);
        if plan.job().views.is_empty() {
            return &slot.made;
        }
        self.lying = plan.resolve_views(slot.made.clone());
        &self.lying
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{BlocksPerSection, Paging, Stream};
    use cp2_machine::Machine;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn moved_on_is_made_anew(blocks in 1u64..400, size in 1u32..6, apart in 0u64..3, steps in prop::collection::vec(0u64..5, 1..40)) {
            let vm7 = Machine::builtin("vm7").unwrap();
            let stride = 64 + 16 * apart;
            let stream = |name, at| Stream { stride, ..Stream::contiguous(name, at, 64) };
            let paging = Paging {
                size: BlocksPerSection::Range { min: 1, max: size },
                ..Paging::new(blocks, vec![stream("x", 0)], vec![stream("y", 1 << 20)])
            };
            let plan = StreamPlan::new(paging, &vm7).unwrap();
            let mut made = PlanTransfers::new(&plan);
            let mut k = 0;
            for step in steps {
                if let Some(page) = plan.pages().get(k) {
                    prop_assert_eq!(made.list_page_transfers(Direction::Load, k), &plan.loads(&page)[..]);
                    prop_assert_eq!(made.list_page_transfers(Direction::Store, k), &plan.stores(&page)[..]);
                }
                k += step;
            }
        }
    }
}
