//! Parameters of the network between processors.
//!
//! A machine file without `[network]` means the defaults, which enter neither its text nor its hash: what runs
//! on one processor does not depend on them.

use serde::{Deserialize, Serialize};

use crate::provenance::{Origin, Source};
use crate::quantity::gcd;
use crate::{Bytes, Cycles, Ratio};

/// How routers are joined. Each processor has one link into its router and one out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// A router for each processor, joined in a circle.
    Ring,
    /// A router for each processor, joined as a rectangle of rows and columns.
    Mesh,
    /// A mesh whose rows and columns are circles.
    #[default]
    Torus,
    /// One router for all processors.
    Switch,
    /// Leaf routers with as many links up as they have processors, one to each router of the level above.
    FatTree,
}

impl Topology {
    /// Every topology, in the order of their numbers in the table of parameters.
    pub const ALL: [Self; 5] = [
        Self::Ring,
        Self::Mesh,
        Self::Torus,
        Self::Switch,
        Self::FatTree,
    ];
    /// Names in machine files.
    pub const NAMES: [&str; 5] = ["ring", "mesh", "torus", "switch", "fat-tree"];

    /// Returns the name in machine files.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The network: ports, links, packets, and what messages cost the control CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkParameters {
    /// How routers are joined.
    pub topology: Topology,
    /// Lanes of a port.
    pub lanes: u64,
    /// Symbols per second of a lane (baud).
    pub lane_rate_hz: u64,
    /// Bits of data in a bit on the lane: 8/10.
    pub coding: Ratio,
    /// Bytes of data in a packet, at most.
    pub payload: Bytes,
    /// Bytes of a packet beside its data.
    pub header: Bytes,
    /// Picoseconds from the first bit into a link to the first bit out of the router or processor behind it.
    pub hop_ps: u64,
    /// CPU time to set up a send.
    pub send: Cycles,
    /// CPU time to post a receive.
    pub post: Cycles,
    /// CPU time to see a request complete.
    pub completion: Cycles,
    /// Picoseconds from the last bit of a control packet of a rendezvous into a port to the first bit of the
    /// answer out of it.
    pub turnaround_ps: u64,
    /// Longest message that is sent before its receive is posted; longer ones ask first.
    pub eager: Bytes,
}

impl Default for NetworkParameters {
    fn default() -> Self {
        Self {
            topology: Topology::default(),
            lanes: 4,
            lane_rate_hz: 3_125_000_000,
            coding: Ratio { num: 4, den: 5 },
            payload: Bytes(256),
            header: Bytes(20),
            hop_ps: 100_000,
            send: Cycles(200),
            post: Cycles(50),
            completion: Cycles(100),
            turnaround_ps: 200_000,
            eager: Bytes(4096),
        }
    }
}

impl NetworkParameters {
    /// Picoseconds that a byte takes on a link, exact; `None` where lanes, rate or coding are zero, or the
    /// fraction is too fine.
    #[must_use]
    pub fn byte_time(&self) -> Option<Ratio> {
        const BITS_AND_PICOSECONDS: u128 = 8 * 1_000_000_000_000;
        let over = BITS_AND_PICOSECONDS.checked_mul(self.coding.den.into())?;
        let under = u128::from(self.lanes)
            .checked_mul(self.lane_rate_hz.into())?
            .checked_mul(self.coding.num.into())?;
        if over == 0 || under == 0 {
            return None;
        }
        let common = gcd(over, under);
        Ratio::new(
            u64::try_from(over / common).ok()?,
            u64::try_from(under / common).ok()?,
        )
    }
}

/// Returns source and reference of the default value of a network parameter.
pub(crate) fn default_origin(key: &str) -> Origin {
    let (source, reference) = match key {
        "network.coding" => (Source::Fact, "N6"),
        "network.payload" => (Source::Fact, "N7"),
        "network.lanes" | "network.lane-rate" => (Source::Assumed, "N1"),
        "network.header" => (Source::Assumed, "N2"),
        "network.hop" | "network.topology" => (Source::Assumed, "N3"),
        "network.eager" => (Source::Assumed, "N5"),
        _ => (Source::Assumed, "N4"),
    };
    Origin {
        source,
        reference: reference.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    #[test]
    fn a_byte_takes_800_picoseconds() {
        let network = NetworkParameters::default();
        assert_eq!(network.byte_time(), Ratio::new(800, 1));
    }

    #[test]
    fn fractions_are_exact() {
        let network = NetworkParameters {
            lanes: 3,
            lane_rate_hz: 7_000_000_000,
            ..NetworkParameters::default()
        };
        // 10^13 / (3 x 7 x 10^9).
        assert_eq!(network.byte_time(), Ratio::new(10_000, 21));
    }

    /// A machine with another topology has the hash of the file that says so.
    #[test]
    fn another_topology_is_another_machine() {
        let machine = || Machine::builtin("vm7").unwrap();
        let hash = machine().hash;
        assert_eq!(machine().with_topology(Topology::default()).hash, hash);
        let ring = machine().with_topology(Topology::Ring);
        assert_ne!(ring.hash, hash);
        assert_eq!(
            Machine::parse("ring", &ring.to_toml()).unwrap().hash,
            ring.hash
        );
    }

    #[test]
    fn no_lanes_no_rate_no_time() {
        let zero = |change: fn(&mut NetworkParameters)| {
            let mut network = NetworkParameters::default();
            change(&mut network);
            network.byte_time()
        };
        assert_eq!(zero(|n| n.lanes = 0), None);
        assert_eq!(zero(|n| n.lane_rate_hz = 0), None);
        assert_eq!(zero(|n| n.coding.num = 0), None);
        assert_eq!(zero(|n| n.coding.den = 0), None);
        assert_eq!(
            zero(|n| (n.lanes, n.lane_rate_hz) = (u64::MAX, u64::MAX)),
            None
        );
    }
}
