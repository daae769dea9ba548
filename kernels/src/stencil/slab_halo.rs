//! The exchange of ghost planes between slabs, and about how long it takes.

use super::FLOAT;
use crate::Job;
use cp2_host::MessageRegion;
use cp2_machine::Machine;
use cp2_network::{CONTROL_BYTES, Links, Picoseconds};

/// Tags of messages to the processor with the planes before, and behind.
const TAGS: [u32; 2] = [0, 1];

/// Halos that a slab exchanges before each pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlabHalo {
    /// Processors with the planes before and behind.
    pub(super) neighbours: [Option<u64>; 2],
    /// Ghost planes before and behind the own ones.
    pub(super) ghosts: [usize; 2],
    /// Number of own planes.
    pub(super) own: usize,
}

impl SlabHalo {
    /// Exchanges so many of the outermost own planes of an array with the neighbours, and waits for theirs, which
    /// become the ghosts beside the own planes.
    pub(super) fn exchange(&self, job: &mut Job, array: u64, plane_elements: u64, planes: usize) {
        let bytes = plane_elements * FLOAT;
        let region = |first: usize| {
            let address = array + first as u64 * bytes;
            MessageRegion::contiguous(address, planes as u64 * bytes)
        };
        let begin = self.ghosts[0];
        let end = begin + self.own;
        // First plane that comes, and first plane that leaves, on each side.
        let sides = [
            (begin.saturating_sub(planes), begin),
            (end, end.saturating_sub(planes)),
        ];
        let mut requests = Vec::new();
        for (side, (to, _)) in sides.into_iter().enumerate() {
            if let Some(neighbour) = self.neighbours[side] {
                let tag = Some(TAGS[1 - side]);
                requests.push(job.receive("halo", Some(neighbour), tag, region(to)));
            }
        }
        for (side, (_, from)) in sides.into_iter().enumerate() {
            if let Some(neighbour) = self.neighbours[side] {
                requests.push(job.send("halo", neighbour, TAGS[side], region(from)));
            }
        }
        if !requests.is_empty() {
            job.wait_messages(&requests);
        }
    }
}

/// Returns about the cycles of an exchange of so many planes with both neighbours, if these begin it at once; none
/// without such a network.
pub(super) fn exchange_cycles(
    machine: &Machine,
    processors: usize,
    plane_elements: u64,
    planes: usize,
) -> Option<u64> {
    let network = &machine.network;
    let links = Links::new(network, processors).ok()?;
    let hops = match processors {
        0 | 1 => return Some(0),
        _ => links.interconnect().route(0, 1)?.len() as u64,
    };
    let neighbours = (processors as u64 - 1).min(2);
    let bytes = (plane_elements * FLOAT).saturating_mul(planes as u64);
    let wire = links.occupancy(bytes)?.get();
    let path = hops.saturating_mul(network.hop_ps);
    let announced = match bytes > network.eager.0 {
        true => {
            let packet = links.occupancy(CONTROL_BYTES)?.get();
            2 * (path + packet + network.turnaround_ps)
        }
        false => 0,
    };
    let way = announced.saturating_add(path).saturating_add(wire);
    let setup = neighbours * (network.post.0 + network.completion.0) + network.send.0;
    let send = Picoseconds::from_cycles(network.send.0, machine.cp2.clock_hz).get();
    let second = (neighbours - 1) * wire.max(send);
    let wire = Picoseconds(way.saturating_add(second));
    Some(setup + wire.to_cycles(machine.cp2.clock_hz))
}
