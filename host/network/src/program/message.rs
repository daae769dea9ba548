//! Sends and receives of a program that are not waited for yet.

use super::value::fill;
use super::{Communicator, CompletedMessage, MessageTicket, MessageValue};
use crate::Envelope;

/// A send or receive that was begun. It borrows its values until it is waited for.
///
/// Dropped (or forgotten), it is what `MPI_Request_free` makes of a request: the message is sent, or is
/// received and thrown away, and the values of a receive stay as they are. Nothing is written to them but by
/// [`wait`](Self::wait) and [`test`](Self::test), so this is safe at any time.
#[derive(Debug)]
#[must_use = "a message that nobody waits for is received and thrown away"]
pub struct MessageHandle<'a, T> {
    communicator: &'a Communicator,
    ticket: MessageTicket,
    buffer: MessageBuffer<'a, T>,
}

/// Values of a message.
#[derive(Debug)]
enum MessageBuffer<'a, T> {
    /// They are borrowed, and the port has a copy.
    Sent(#[expect(dead_code, reason = "keeps the values borrowed")] &'a [T]),
    /// They are filled at the end of a wait.
    Receives(&'a mut [T]),
}

impl<'a, T: MessageValue> MessageHandle<'a, T> {
    pub(super) fn sent(
        communicator: &'a Communicator,
        ticket: MessageTicket,
        values: &'a [T],
    ) -> Self {
        Self {
            communicator,
            ticket,
            buffer: MessageBuffer::Sent(values),
        }
    }

    pub(super) fn receiving(
        communicator: &'a Communicator,
        ticket: MessageTicket,
        values: &'a mut [T],
    ) -> Self {
        Self {
            communicator,
            ticket,
            buffer: MessageBuffer::Receives(values),
        }
    }

    pub(super) fn ticket(&self) -> MessageTicket {
        self.ticket
    }

    /// Waits until the message has been sent, or has arrived; its values are there then.
    pub async fn wait(self) -> Envelope {
        loop {
            let done = self.communicator.wait_tickets(vec![self.ticket]).await;
            if let Some(done) = done.into_iter().next() {
                return self.complete(done);
            }
        }
    }

    /// Asks whether the message has been sent or has arrived, and returns the handle if not.
    ///
    /// # Errors
    /// It is not complete: the handle, to wait for or to test again.
    pub async fn test(self) -> Result<Envelope, Self> {
        match self.communicator.test_ticket(self.ticket).await {
            Some(done) => Ok(self.complete(done)),
            None => Err(self),
        }
    }

    /// Takes the values of a message.
    pub(super) fn complete(self, done: CompletedMessage) -> Envelope {
        let message = done.message;
        if let MessageBuffer::Receives(values) = self.buffer {
            let bytes = done.payload.unwrap_or_default();
            if !fill(values, &bytes) {
                self.communicator.fail(format!(
                    "{message}: its end is within a value of {} B; receive values of the sender's type",
                    T::BYTES
                ));
            }
        }
        message
    }
}
