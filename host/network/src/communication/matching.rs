//! Which receive takes which message, for one processor.
//!
//! A message takes the first receive posted that accepts it, a receive the first message arrived that it
//! accepts. Both sides have one order each, so there is one matching to which nobody objects, and it does not
//! depend on when receives are posted. As long as all receives name their source, only the order within a
//! pair of processors matters, which is that of sending: they are matched as soon as they are known. A
//! receive from any source waits until no message that is unknown can arrive first, and all that arrives
//! until then waits with it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{Envelope, Picoseconds, Request};

/// A receive that has no message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    pub(super) request: Request,
    pub(super) at: Picoseconds,
    pub(super) source: Option<usize>,
    pub(super) tag: Option<u32>,
    pub(super) bytes: u64,
}

/// A message, or request to send one, that has no receive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived {
    pub(super) message: Envelope,
    pub(super) arrival: Picoseconds,
    pub(super) send: Request,
    pub(super) eager: bool,
}

/// A message and the receive that takes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchedPair {
    pub(super) arrived: Arrived,
    pub(super) posted: Posted,
}

/// The message about which there is a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Offer {
    pub(super) arrival: Picoseconds,
    pub(super) source: usize,
    pub(super) number: u64,
}

/// Receives and messages of a processor that are not matched.
#[derive(Debug, Default)]
pub(super) struct Matching {
    /// Receives by source (`None`: any), in the order of their posts.
    posted: BTreeMap<Option<usize>, VecDeque<Posted>>,
    /// Messages by source and number: those of a source in the order in which they were sent, and arrive.
    arrived: BTreeMap<(usize, u64), Arrived>,
    /// Messages in the order in which they arrive.
    order: BTreeSet<Offer>,
}

impl Matching {
    /// Takes a receive, and gives it its message where that is certain.
    pub(super) fn post(&mut self, posted: Posted) -> Option<MatchedPair> {
        if !self.accepts_any_source()
            && let Some(source) = posted.source
        {
            let mut queue = self.arrived.range((source, 0)..=(source, u64::MAX));
            let first = queue.find(|(_, arrived)| fits(posted.tag, arrived));
            if let Some(arrived) = first.map(|(_, arrived)| *arrived) {
                self.remove(&arrived);
                return Some(MatchedPair { arrived, posted });
            }
        }
        let queue = self.posted.entry(posted.source).or_default();
        queue.push_back(posted);
        None
    }

    /// Takes a message, and gives it to its receive where that is certain.
    pub(super) fn deliver(&mut self, arrived: Arrived) -> Option<MatchedPair> {
        if !self.accepts_any_source()
            && let Some(posted) = self.take_receive(&arrived)
        {
            return Some(MatchedPair { arrived, posted });
        }
        let offer = offer_of(&arrived);
        self.arrived.insert((offer.source, offer.number), arrived);
        self.order.insert(offer);
        None
    }

    /// The first message that an open receive accepts, while one accepts any source.
    pub(super) fn question(&self) -> Option<Offer> {
        self.offer().map(|arrived| offer_of(&arrived))
    }

    /// Gives the message of [`Self::question`] to its receive. Where that was the last one from any source,
    /// all others follow.
    pub(super) fn take_offer(&mut self) -> Vec<MatchedPair> {
        let mut pairs = Vec::new();
        if let Some(arrived) = self.offer()
            && let Some(posted) = self.take_receive(&arrived)
        {
            self.remove(&arrived);
            pairs.push(MatchedPair { arrived, posted });
        }
        if !self.accepts_any_source() {
            self.order.clear();
            for arrived in std::mem::take(&mut self.arrived).into_values() {
                pairs.extend(self.deliver(arrived));
            }
        }
        pairs
    }

    /// Messages that no receive has taken, by source.
    pub(super) fn unmatched(&self) -> impl Iterator<Item = Envelope> {
        self.arrived.values().map(|one| one.message)
    }

    fn offer(&self) -> Option<Arrived> {
        if !self.accepts_any_source() {
            return None;
        }
        let arrived = |offer: &Offer| self.arrived.get(&(offer.source, offer.number)).copied();
        let mut all = self.order.iter().filter_map(arrived);
        all.find(|arrived| self.receive_of(arrived).is_some())
    }

    fn remove(&mut self, arrived: &Arrived) {
        let offer = offer_of(arrived);
        self.arrived.remove(&(offer.source, offer.number));
        self.order.remove(&offer);
    }

    fn accepts_any_source(&self) -> bool {
        self.posted.contains_key(&None)
    }

    /// Place of the first receive that accepts a message.
    fn receive_of(&self, arrived: &Arrived) -> Option<(Option<usize>, usize)> {
        let keys = [Some(arrived.message.source), None];
        let first = keys.into_iter().filter_map(|key| {
            let queue = self.posted.get(&key)?;
            let mut places = queue.iter().enumerate();
            let (place, posted) = places.find(|(_, posted)| fits(posted.tag, arrived))?;
            Some((posted.request, key, place))
        });
        first.min().map(|(_, key, place)| (key, place))
    }

    fn take_receive(&mut self, arrived: &Arrived) -> Option<Posted> {
        let (key, place) = self.receive_of(arrived)?;
        let queue = self.posted.get_mut(&key)?;
        let posted = queue.remove(place)?;
        if queue.is_empty() {
            self.posted.remove(&key);
        }
        Some(posted)
    }
}

fn offer_of(arrived: &Arrived) -> Offer {
    Offer {
        arrival: arrived.arrival,
        source: arrived.message.source,
        number: arrived.message.number,
    }
}

/// First of the tags that a receive names, or does not match: those of collective operations and puts.
pub const RESERVED_TAGS: u32 = 1 << 31;

/// Compares the tag of a receive, or any, with that of a message.
fn fits(tag: Option<u32>, arrived: &Arrived) -> bool {
    let found = arrived.message.tag;
    tag.map_or(found < RESERVED_TAGS, |tag| tag == found)
}
