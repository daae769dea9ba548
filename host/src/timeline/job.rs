//! Timelines of several processors, of the links between them and of messages.

use super::Timeline;

/// Most processors that a picture shows.
const PICTURED: usize = 16;

/// Timelines of several processors, and what went over the links between them. Instants of the network are picoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobTimeline {
    /// Timeline of each processor.
    pub processors: Vec<Timeline>,
    /// Links that carried something.
    pub links: Vec<LinkTimeline>,
    /// Messages from their sends to the ends of the waits for them.
    pub messages: Vec<MessageArrow>,
    /// Slices of links and messages beyond the limit.
    pub network_dropped: u64,
}

/// Timeline of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTimeline {
    /// Ends of the link.
    pub name: String,
    /// Packets in the order in which they were served.
    pub slices: Vec<LinkSlice>,
}

/// A message or a control packet on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSlice {
    /// Kind of it, and its ends.
    pub name: String,
    /// When its head entered the link.
    pub start_ps: u64,
    /// When its tail had entered it.
    pub end_ps: u64,
    /// Bytes of the message.
    pub bytes: u64,
}

/// A message from the end of its send to the end of the wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageArrow {
    /// Sender.
    pub from: usize,
    /// Receiver.
    pub to: usize,
    /// Tag by which receives tell messages apart.
    pub tag: u32,
    /// Bytes of the message.
    pub bytes: u64,
    /// When the sender was done with it.
    pub sent_ps: u64,
    /// When the receiver went on with it.
    pub taken_ps: u64,
}

impl JobTimeline {
    /// Most processors that [`JobTimeline::to_svg`] has room for.
    pub const PICTURED: usize = PICTURED;

    /// Returns the number of slices and messages that were left out.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        let processors = self.processors.iter().map(|timeline| timeline.dropped);
        processors.fold(self.network_dropped, u64::saturating_add)
    }
}
