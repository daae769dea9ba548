//! Links that serve whole messages in the order in which their heads come.

use cp2_machine::{NetworkParameters, Ratio};
use serde::Serialize;

use crate::{Endpoint, Interconnect, NetworkError, NetworkTrace, Picoseconds};

/// The links of a network, and what they carried.
///
/// A message holds a link for its occupancy, from the instant at which its head finds the link free. The head
/// is at the next link a hop later, whatever follows it (cut-through); what waits before a link has room.
#[derive(Clone, Debug)]
pub struct Links {
    interconnect: Interconnect,
    byte_time: Ratio,
    payload: u64,
    header: u64,
    hop: Picoseconds,
    loads: Vec<LinkLoad>,
}

/// The state of a link.
#[derive(Clone, Copy, Debug, Default)]
struct LinkLoad {
    free: Picoseconds,
    busy: Picoseconds,
    bytes: u64,
}

/// A message's turn on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// When the head is at the other end.
    pub(crate) head: Picoseconds,
    /// When the tail has entered the link.
    pub(crate) left: Picoseconds,
    /// When the tail is at the other end.
    pub(crate) tail: Picoseconds,
}

impl Links {
    /// Makes the links of a network, all of them free.
    ///
    /// # Errors
    /// The time of a byte or the payload is none, or there are too many processors.
    pub fn new(parameters: &NetworkParameters, processors: usize) -> Result<Self, NetworkError> {
        let wrong = |name, expected| NetworkError::Parameter { name, expected };
        let byte_time = parameters.byte_time().ok_or(wrong(
            "lanes, lane-rate, coding",
            "each above zero, and a byte time of a fraction of 64-bit numbers",
        ))?;
        if parameters.payload.0 == 0 {
            return Err(wrong("payload", "at least 1 byte in a packet"));
        }
        let interconnect = Interconnect::new(parameters.topology, processors)?;
        Ok(Self {
            loads: vec![LinkLoad::default(); interconnect.links().len()],
            interconnect,
            byte_time,
            payload: parameters.payload.0,
            header: parameters.header.0,
            hop: Picoseconds(parameters.hop_ps),
        })
    }

    /// Links and routes.
    #[must_use]
    pub fn interconnect(&self) -> &Interconnect {
        &self.interconnect
    }

    /// Bytes on the wire of a message: it has a header for each packet, and at least one packet.
    #[must_use]
    pub fn wire_bytes(&self, bytes: u64) -> Option<u64> {
        let packets = bytes.div_ceil(self.payload).max(1);
        self.header.checked_mul(packets)?.checked_add(bytes)
    }

    /// Time for which a message holds each link, rounded up to a picosecond.
    #[must_use]
    pub fn occupancy(&self, bytes: u64) -> Option<Picoseconds> {
        let time = u128::from(self.wire_bytes(bytes)?)
            .checked_mul(self.byte_time.num.into())?
            .div_ceil(self.byte_time.den.into());
        u64::try_from(time).ok().map(Picoseconds)
    }

    /// Least time from a message's head at its last link to its arrival.
    pub(crate) fn least_latency(&self) -> Option<Picoseconds> {
        self.hop.checked_add(self.occupancy(0)?)
    }

    /// Lets a message through a link, in the order of calls. `None` where time ends, or there is no such
    /// link.
    pub(crate) fn serve(&mut self, link: usize, head: Picoseconds, bytes: u64) -> Option<Served> {
        let (occupancy, wire) = (self.occupancy(bytes)?, self.wire_bytes(bytes)?);
        let hop = self.hop;
        let load = self.loads.get_mut(link)?;
        let start = head.max(load.free);
        let left = start.checked_add(occupancy)?;
        load.free = left;
        load.busy = load.busy + occupancy;
        load.bytes = load.bytes.saturating_add(wire);
        Some(Served {
            head: start.checked_add(hop)?,
            left,
            tail: left.checked_add(hop)?,
        })
    }

    /// Loads of all links, by number.
    #[must_use]
    pub fn report(&self) -> Vec<LinkReport> {
        let both = self.interconnect.links().iter().zip(&self.loads);
        both.map(|(ends, load)| LinkReport {
            from: ends.from,
            to: ends.to,
            busy: load.busy,
            bytes: load.bytes,
        })
        .collect()
    }
}

/// Load of a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinkReport {
    /// End at which messages enter.
    pub from: Endpoint,
    /// End at which they leave.
    pub to: Endpoint,
    /// Time for which messages held it.
    pub busy: Picoseconds,
    /// Bytes on the wire, headers and the packets of rendezvous included.
    pub bytes: u64,
}

/// Messages and loads of a whole run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NetworkReport {
    /// Messages that processors sent.
    pub messages: u64,
    /// Bytes of them, without headers.
    pub message_bytes: u64,
    /// When each processor ended; the last instant known of one that did not.
    pub ends: Vec<Picoseconds>,
    /// Loads of all links.
    pub links: Vec<LinkReport>,
    /// Messages and turns on links, if [`Communication::keep_trace`](crate::Communication::keep_trace) asked for them.
    pub trace: NetworkTrace,
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_machine::Bytes;

    fn links() -> Links {
        Links::new(&NetworkParameters::default(), 4).unwrap()
    }

    #[test]
    fn each_packet_has_a_header() {
        for (bytes, wire) in [(0, 20), (1, 21), (256, 276), (257, 297), (512, 552)] {
            assert_eq!(links().wire_bytes(bytes), Some(wire));
            assert_eq!(links().occupancy(bytes), Some(Picoseconds(800 * wire)));
        }
        assert_eq!(links().wire_bytes(u64::MAX), None);
    }

    #[test]
    fn fractions_of_picoseconds_are_rounded_up() {
        let network = NetworkParameters {
            lanes: 3,
            header: Bytes(1),
            ..NetworkParameters::default()
        };
        let links = Links::new(&network, 1).unwrap();
        // 3200/3 ps a byte.
        assert_eq!(links.occupancy(0), Some(Picoseconds(1067)));
        assert_eq!(links.occupancy(2), Some(Picoseconds(3200)));
    }

    #[test]
    fn a_link_serves_one_message_after_the_other() {
        let mut links = links();
        let at = |head, left, tail| Served {
            head: Picoseconds(head),
            left: Picoseconds(left),
            tail: Picoseconds(tail),
        };
        let first = links.serve(0, Picoseconds(1_000), 0).unwrap();
        assert_eq!(first, at(101_000, 17_000, 117_000));
        let second = links.serve(0, Picoseconds(2_000), 0).unwrap();
        assert_eq!(second, at(117_000, 33_000, 133_000));
        let third = links.serve(0, Picoseconds(40_000), 1).unwrap();
        assert_eq!(third, at(140_000, 56_800, 156_800));
        let report = links.report();
        assert_eq!(report[0].busy, Picoseconds(48_800));
        assert_eq!(report[0].bytes, 61);
        assert_eq!(report[1].bytes, 0);
        assert_eq!(links.serve(99, Picoseconds(0), 0), None);
        assert_eq!(links.serve(0, Picoseconds(u64::MAX), 0), None);
    }

    #[test]
    fn packets_hold_something() {
        let network = NetworkParameters {
            payload: Bytes(0),
            ..NetworkParameters::default()
        };
        assert!(Links::new(&network, 1).is_err());
        let network = NetworkParameters {
            lanes: 0,
            ..NetworkParameters::default()
        };
        assert!(Links::new(&network, 1).is_err());
    }
}
