//! The timeline of several processors and their network.

use cp2_host::timeline::{JobTimeline, LinkSlice, LinkTimeline, MessageArrow, Timeline};
use cp2_network::{LinkTurn, NetworkReport};

/// Puts the timelines of all processors together with what the network kept.
pub(super) fn join_timelines(processors: Vec<Timeline>, network: &NetworkReport) -> JobTimeline {
    let trace = &network.trace;
    let links = network.links.iter().enumerate();
    let links = links.filter_map(|(number, link)| {
        let turns = trace.turns.iter().filter(|turn| turn.link == number);
        let slices: Vec<LinkSlice> = turns.map(slice).collect();
        (!slices.is_empty()).then(|| LinkTimeline {
            name: format!("{} to {}", link.from, link.to),
            slices,
        })
    });
    let messages = trace.messages.iter().map(|transit| MessageArrow {
        from: transit.message.source,
        to: transit.message.destination,
        tag: transit.message.tag,
        bytes: transit.message.bytes,
        sent_ps: transit.sent.get(),
        taken_ps: transit.taken.get(),
    });
    JobTimeline {
        processors,
        links: links.collect(),
        messages: messages.collect(),
        network_dropped: trace.dropped,
    }
}

fn slice(turn: &LinkTurn) -> LinkSlice {
    let message = turn.message;
    let kind = match turn.is_control {
        true => "control packet of the message",
        false => "message",
    };
    LinkSlice {
        name: format!("{kind} from {} to {}", message.source, message.destination),
        start_ps: turn.start.get(),
        end_ps: turn.end.get(),
        bytes: message.bytes,
    }
}
