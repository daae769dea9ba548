//! Memory that other processors put values into, with a notification.

use super::value::{bytes_of, fill};
use super::{Communicator, MessageValue};
use crate::{MessageTicket, RESERVED_TAGS};

/// Tag of the puts into the first window of a communicator.
const FIRST_TAG: u32 = RESERVED_TAGS + 1;
/// Bytes before the values of a put: its place (8) and its number (4).
const HEADER: usize = 12;

/// Memory of a processor that is open to puts of all others.
///
/// All processors expose their windows in the same order. A put takes the control CPU of its target nothing
/// but the completion of its notification: the receive for it was posted before, when the window was exposed or
/// the notification before was taken. A place and a number travel in front of the values, 12 B.
#[derive(Debug)]
pub struct Window<'a, T> {
    communicator: &'a Communicator,
    values: &'a mut [T],
    tag: u32,
    posted: MessageTicket,
}

/// A put that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PutNotification {
    /// Processor whose values they are.
    pub source: usize,
    /// Number that it gave the put.
    pub number: u32,
    /// Place of the first value in the window.
    pub place: usize,
    /// Values that were put.
    pub count: usize,
}

impl Communicator {
    /// Opens memory for puts. Every processor calls this, one that expects no puts with no values.
    pub fn expose<'a, T: MessageValue>(&'a self, values: &'a mut [T]) -> Window<'a, T> {
        let tag = {
            let mut state = self.state();
            let tag = FIRST_TAG.saturating_add(state.windows);
            state.windows += 1;
            tag
        };
        let posted = post::<T>(self, values.len(), tag);
        Window {
            communicator: self,
            values,
            tag,
            posted,
        }
    }
}

/// Posts the receive for the next put.
fn post<T: MessageValue>(communicator: &Communicator, length: usize, tag: u32) -> MessageTicket {
    let most = length.saturating_mul(T::BYTES).saturating_add(HEADER);
    communicator.log_receive(None, Some(tag), most)
}

impl<T: MessageValue> Window<'_, T> {
    /// Puts values at a place of the window of another processor, which is notified with a number when they are
    /// there. Returns when they have left.
    pub async fn put(&self, destination: usize, place: usize, values: &[T], number: u32) {
        let mut payload = (place as u64).to_le_bytes().to_vec();
        payload.extend(number.to_le_bytes());
        payload.extend(bytes_of(values));
        let sent = self.communicator.log_send(destination, self.tag, payload);
        self.communicator.wait_tickets(vec![sent]).await;
    }

    /// Waits for the next put into this window; its values are there then. Those of a processor come in its
    /// order.
    pub async fn wait_notification(&mut self) -> PutNotification {
        let (message, payload) = self.communicator.wait_payload(self.posted).await;
        self.posted = post::<T>(self.communicator, self.values.len(), self.tag);
        let (header, bytes) = payload.split_at_checked(HEADER).unwrap_or_default();
        let place = usize::try_from(u64::read(header)).unwrap_or(usize::MAX);
        let number = u32::read(header.get(8..).unwrap_or_default());
        let count = bytes.len() / T::BYTES.max(1);
        let length = self.values.len();
        let end = place.saturating_add(count);
        let values = self.values.get_mut(place..end);
        if !values.is_some_and(|values| fill(values, bytes)) {
            self.communicator.fail(format!(
                "{message}, a put of {count} values at place {place} of a window of {length}: \
                 put within the window, and values of its type"
            ));
        }
        PutNotification {
            source: message.source,
            number,
            place,
            count,
        }
    }

    /// Returns the values, with all puts whose notifications were taken.
    #[must_use]
    pub fn values(&self) -> &[T] {
        self.values
    }

    /// Returns the values to write to.
    pub fn values_mut(&mut self) -> &mut [T] {
        self.values
    }
}
