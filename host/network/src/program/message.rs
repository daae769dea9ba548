//! Sends and receives of a program that are not waited for yet.

use super::value::fill;
use super::{Communicator, CompletedRequest, MessageValue};
use crate::{Envelope, Request};

/// A send or receive that was begun. It borrows its values until it is waited for.
///
/// Dropped (or forgotten), it is what `MPI_Request_free` makes of a request: the message is sent, or is
/// received and thrown away, and the values of a receive stay as they are. Nothing is written to them but by
/// [`wait`](Self::wait) and [`test`](Self::test), so this is safe at any time.
#[derive(Debug)]
#[must_use = "a message that nobody waits for is received and thrown away"]
pub struct MessageHandle<'a, T> {
    communicator: &'a Communicator,
    request: Request,
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
    pub(super) fn sent(communicator: &'a Communicator, request: Request, values: &'a [T]) -> Self {
        Self {
            communicator,
            request,
            buffer: MessageBuffer::Sent(values),
        }
    }

    pub(super) fn receiving(
        communicator: &'a Communicator,
        request: Request,
        values: &'a mut [T],
    ) -> Self {
        Self {
            communicator,
            request,
            buffer: MessageBuffer::Receives(values),
        }
    }

    pub(super) fn request(&self) -> Request {
        self.request
    }

    /// Waits until the message has been sent, or has arrived; its values are there then.
    pub async fn wait(self) -> Envelope {
        loop {
            let done = self.communicator.wait_requests(vec![self.request]).await;
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
        match self.communicator.test_request(self.request).await {
            Some(done) => Ok(self.complete(done)),
            None => Err(self),
        }
    }

    /// Takes the values of a message.
    pub(super) fn complete(self, done: CompletedRequest) -> Envelope {
        let message = done.completion.message;
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
