//! Messages between the jobs of processors: items beside passes and steps.

use super::Job;
use super::items::JobItem;
use cp2_host::MessageRegion;

/// A send or a receive of a job, by which it waits for it. In a loop it stands for that of the present turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageRequest(pub(super) usize);

/// A send or a receive, as an item of a job.
#[derive(Clone, Debug)]
pub(super) struct MessageItem {
    pub(super) name: String,
    pub(super) request: MessageRequest,
    pub(super) region: MessageRegion,
    pub(super) peer: MessagePeer,
}

/// The other side of a message, and its tag.
#[derive(Clone, Copy, Debug)]
pub(super) enum MessagePeer {
    /// The message is sent to a processor.
    To(u64, u32),
    /// The message comes from a processor, or from any; with a tag, or with any.
    From(Option<u64>, Option<u32>),
}

impl Job {
    /// Sends rows of system memory to the job of processor `to` when everything before is complete. The bytes are
    /// read when the control CPU hands them to the port: what they hold may change afterwards.
    ///
    /// `name` stands on the timeline. Receives tell messages of a processor apart by `tag`, and by their order.
    pub fn send(&mut self, name: &str, to: u64, tag: u32, region: MessageRegion) -> MessageRequest {
        self.message(name, MessagePeer::To(to, tag), region)
    }

    /// Sends rows of system memory to the job of processor `to` while the pass that was added last runs: as soon as its
    /// page `page` is stored. The pass sweeps a grid; behind any other the message leaves at the end.
    ///
    /// [`GridPlan::find_last_store`](cp2_host::nest::GridPlan::find_last_store) says which page completes rows.
    pub fn send_behind_page(
        &mut self,
        name: &str,
        page: u64,
        (to, tag): (u64, u32),
        region: MessageRegion,
    ) -> MessageRequest {
        let request = MessageRequest(self.requests);
        match self.passes.last_mut() {
            Some(pass) if pass.nest().is_some() => {
                self.requests += 1;
                pass.sends.push((
                    page,
                    MessageItem {
                        name: name.to_owned(),
                        request,
                        region,
                        peer: MessagePeer::To(to, tag),
                    },
                ));
                request
            }
            _ => self.send(name, to, tag, region),
        }
    }

    /// Posts a receive for a message of processor `from`, or of any without one, with a tag, or with any. The bytes
    /// appear in `region` at the end of the wait for it, and nothing may use these rows meanwhile.
    pub fn receive(
        &mut self,
        name: &str,
        from: Option<u64>,
        tag: Option<u32>,
        region: MessageRegion,
    ) -> MessageRequest {
        self.message(name, MessagePeer::From(from, tag), region)
    }

    /// Waits until sends and receives are complete: nothing behind begins before.
    pub fn wait_messages(&mut self, requests: &[MessageRequest]) {
        self.items.push(JobItem::Wait(requests.to_vec()));
    }

    fn message(&mut self, name: &str, peer: MessagePeer, region: MessageRegion) -> MessageRequest {
        let request = MessageRequest(self.requests);
        self.requests += 1;
        self.items.push(JobItem::Message(MessageItem {
            name: name.to_owned(),
            request,
            region,
            peer,
        }));
        request
    }
}
