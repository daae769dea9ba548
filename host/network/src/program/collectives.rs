//! Collective operations: binomial trees in a fixed order.
//!
//! All processors call the same ones in the same order. Combining values takes no time of its own: whoever
//! charges it calls [`Communicator::compute`].

use super::value::{bytes_of, fill};
use super::{Communicator, MessageValue};
use crate::{MessageTicket, RESERVED_TAGS};

/// Tag of all collective operations: their order is the same on all processors.
const TAG: u32 = RESERVED_TAGS;

impl Communicator {
    /// Waits until all processors have come here.
    pub async fn barrier(&self) {
        self.allreduce::<u8>(&mut [], |own, _| own).await;
    }

    /// Sends the values of processor `root` to all others.
    pub async fn broadcast<T: MessageValue>(&self, values: &mut [T], root: usize) {
        let own = self.place_after(root);
        let size = self.size();
        let below = lowest_bit(own, size);
        if own > 0 {
            self.take(values, self.at_place(own - below, root)).await;
        }
        let bits = bits_below(below).rev().filter(|bit| own + bit < size);
        let sent = bits.map(|bit| self.give(values, self.at_place(own + bit, root)));
        let sent: Vec<MessageTicket> = sent.collect();
        self.wait_tickets(sent).await;
    }

    /// Combines the values of all processors, element by element, and returns the result on processor `root`.
    ///
    /// The order is fixed: neighbours first, ((0, 1), (2, 3)), ((4, 5), 6), whoever is the root, so that the
    /// bits of sums depend on the number of processors alone, and an operation need not be commutative.
    pub async fn reduce<T: MessageValue>(
        &self,
        values: &[T],
        root: usize,
        combine: impl Fn(T, T) -> T,
    ) -> Option<Vec<T>> {
        let (own, size) = (self.rank(), self.size());
        let mut all = values.to_vec();
        let below = lowest_bit(own, size);
        for bit in bits_below(below).filter(|bit| own + bit < size) {
            let mut theirs = vec![T::default(); values.len()];
            self.take(&mut theirs, own + bit).await;
            for (own, their) in all.iter_mut().zip(theirs) {
                *own = combine(*own, their);
            }
        }
        if own > 0 {
            let sent = self.give(&all, own - below);
            self.wait_tickets(vec![sent]).await;
        }
        // The first processor has it now.
        if root > 0 && own == 0 {
            let sent = self.give(&all, root);
            self.wait_tickets(vec![sent]).await;
        } else if root > 0 && own == root {
            self.take(&mut all, 0).await;
        }
        (own == root).then_some(all)
    }

    /// Combines the values of all processors, element by element, on all of them, in the order of
    /// [`Communicator::reduce`].
    pub async fn allreduce<T: MessageValue>(&self, values: &mut [T], combine: impl Fn(T, T) -> T) {
        if let Some(all) = self.reduce(values, 0, combine).await {
            values.copy_from_slice(&all);
        }
        self.broadcast(values, 0).await;
    }

    /// Brings the values of all processors, equally many of each, to processor `root`, in the order of
    /// their numbers.
    pub async fn gather<T: MessageValue>(&self, values: &[T], root: usize) -> Option<Vec<T>> {
        let own = self.place_after(root);
        let size = self.size();
        let mut all = values.to_vec();
        let below = lowest_bit(own, size);
        for bit in bits_below(below).filter(|bit| own + bit < size) {
            let theirs = bit.min(size - own - bit);
            let at = all.len();
            all.resize(at + theirs * values.len(), T::default());
            if let Some(theirs) = all.get_mut(at..) {
                self.take(theirs, self.at_place(own + bit, root)).await;
            }
        }
        if own > 0 {
            let sent = self.give(&all, self.at_place(own - below, root));
            self.wait_tickets(vec![sent]).await;
            return None;
        }
        let first = (root * values.len()).min(all.len());
        all.rotate_right(first);
        Some(all)
    }

    /// Hands the values of processor `root` out, in the order of the processors' numbers, `own.len()` to each.
    /// `values` are those of the root, and nothing elsewhere.
    pub async fn scatter<T: MessageValue>(&self, values: &[T], own: &mut [T], root: usize) {
        let (place, size, each) = (self.place_after(root), self.size(), own.len());
        let below = lowest_bit(place, size);
        let mut part = values.to_vec();
        if place > 0 {
            part = vec![T::default(); below.min(size - place) * each];
            self.take(&mut part, self.at_place(place - below, root))
                .await;
        } else if part.len() == size * each {
            part.rotate_left(root * each);
        } else {
            self.fail(format!(
                "a scatter of {} values to {size} processors, {each} to each: give the root {}",
                part.len(),
                size * each
            ));
        }
        let mut sent = Vec::new();
        for bit in bits_below(below).rev().filter(|bit| place + bit < size) {
            let from = (bit * each).min(part.len());
            let theirs = part.split_off(from);
            sent.push(self.give(&theirs, self.at_place(place + bit, root)));
        }
        own.copy_from_slice(part.get(..each).unwrap_or(&vec![T::default(); each]));
        self.wait_tickets(sent).await;
    }

    /// Returns this processor's place, counted from the root.
    fn place_after(&self, root: usize) -> usize {
        let size = self.size().max(1);
        if root >= size {
            self.fail(format!(
                "processor {root} as the root of {size}: numbers are below that"
            ));
        }
        (self.rank() + size - root % size) % size
    }

    /// Returns the processor at a place that is counted from the root.
    fn at_place(&self, place: usize, root: usize) -> usize {
        (place + root) % self.size().max(1)
    }

    fn give<T: MessageValue>(&self, values: &[T], destination: usize) -> MessageTicket {
        self.log_send(destination, TAG, bytes_of(values))
    }

    async fn take<T: MessageValue>(&self, values: &mut [T], source: usize) {
        let bytes = values.len().saturating_mul(T::BYTES);
        let request = self.log_receive(Some(source), Some(TAG), bytes);
        let (message, bytes) = self.wait_payload(request).await;
        let expected = values.len().saturating_mul(T::BYTES);
        if bytes.len() != expected || !fill(values, &bytes) {
            self.fail(format!(
                "{message}, of a collective operation in which this processor expects {expected} B: \
                 call the same one with as many values on all processors"
            ));
        }
    }
}

/// Returns the lowest bit of a place, by which it differs from the place above it in the tree; a bit that no place
/// has for the top.
fn lowest_bit(place: usize, size: usize) -> usize {
    match place {
        0 => size.max(1).next_power_of_two(),
        _ => 1 << place.trailing_zeros(),
    }
}

/// Returns the bits below one, from the lowest on.
fn bits_below(bit: usize) -> impl DoubleEndedIterator<Item = usize> {
    (0..bit.trailing_zeros()).map(|place| 1 << place)
}
