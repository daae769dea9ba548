//! Splits the cycles of a `wait` by the transfers that the DMA moved meanwhile.

use crate::account::cause::Cause;
use cp2_dma::Direction;
use serde::{Deserialize, Serialize};

/// Account of the `wait` that stands at the program counter. A transfer in the queue waits for
/// those before it: while the DMA moves a store, a wait for a load behind it is charged to the
/// store, and the other way round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waited {
    /// First cycle not yet accounted for, once the first transfer has ended.
    from: u64,
    /// Cycles in which the DMA moved nothing.
    idle: u64,
    /// Cycles in which the DMA moved loads.
    load: u64,
    /// Cycles in which the DMA moved stores.
    store: u64,
}

impl Waited {
    /// Accounts for a transfer that ran from `start` to `end`, where the kernel has been waiting
    /// since `since`. Times are in cycles.
    pub(crate) fn account_transfer(
        &mut self,
        since: u64,
        direction: Direction,
        start: u64,
        end: u64,
    ) {
        let from = self.from.max(since);
        let start = start.clamp(from, end.max(from));
        self.idle += start - from;
        self.from = end.max(start);
        match direction {
            Direction::Load => self.load += self.from - start,
            Direction::Store => self.store += self.from - start,
        }
    }

    /// Moves the account `cycles` later, as the guess of a later state does.
    pub(crate) fn shift_times(&mut self, cycles: u64) {
        if self.from > 0 {
            self.from = self.from.saturating_add(cycles);
        }
    }

    /// Returns the causes of a wait that began in cycle `since` and saw a post of `cause` in cycle
    /// `seen`.
    pub(crate) fn causes(&self, since: u64, seen: u64, cause: Cause) -> [(Cause, u64); 3] {
        let rest = self.idle + seen.saturating_sub(self.from.max(since));
        let (load, store) = (self.load, self.store);
        match cause {
            Cause::WaitLoad | Cause::WaitStore => [
                (Cause::WaitLoad, load),
                (Cause::WaitStore, store),
                (cause, rest),
            ],
            other => [(other, load), (other, store), (other, rest)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_a_load_behind_a_store_is_shared() {
        let mut waited = Waited::default();
        // Waits since 100; a store from 90 to 130, nothing, a load from 140 to 150, seen in 151.
        waited.account_transfer(100, Direction::Store, 90, 130);
        waited.account_transfer(100, Direction::Load, 140, 150);
        let causes = |cause| waited.causes(100, 151, cause).map(|(_, cycles)| cycles);
        assert_eq!(causes(Cause::WaitLoad), [10, 30, 11]);
        assert_eq!(causes(Cause::WaitHost).iter().sum::<u64>(), 51);
        assert_eq!(
            Waited::default().causes(100, 90, Cause::WaitLoad),
            [
                (Cause::WaitLoad, 0),
                (Cause::WaitStore, 0),
                (Cause::WaitLoad, 0)
            ]
        );
    }
}
