//! Messages of the exchanges between processors, as boxes of an array.

use super::decomposition::Division;

/// Index of the axis of planes, and of that of rows, in extents.
pub(super) const PLANES: usize = 0;
pub(super) const ROWS: usize = 1;

/// Tag of blocks that all processors gather.
const GATHER_TAG: u32 = 2;

/// First tag of messages to neighbours: one for each direction along both axes.
const NEIGHBOUR_TAGS: u32 = 16;

/// Messages of an exchange of faces to neighbours along both axes, which an exchange axis by axis has not.
pub(super) const CORNERS: u64 = 4;

/// Planes and rows of an array in memory: first and number of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArrayBox {
    pub(super) first: [u64; 2],
    pub(super) count: [u64; 2],
}

/// Direction of a message, as the processor sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageDirection {
    Receive,
    Send,
}

/// A message of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BoxMessage {
    pub(super) direction: MessageDirection,
    /// The other processor.
    pub(super) peer: u64,
    pub(super) tag: u32,
    pub(super) part: ArrayBox,
}

impl Division {
    /// Returns the messages that bring a processor's ghosts of a level, turn by turn: `before` planes and rows before
    /// the own ones, and `behind` behind them. Rows are first, so that ghost planes bring the ghost rows at the
    /// corners.
    pub(super) fn ghost_messages(
        &self,
        place: [u64; 2],
        level: u32,
        [before, behind]: [u64; 2],
    ) -> Vec<Vec<BoxMessage>> {
        let (parts, all_rows) = (self.parts(), self.memory(level)[ROWS]);
        let mut turns = Vec::new();
        for axis in [ROWS, PLANES] {
            if parts[axis] == 1 {
                continue;
            }
            let message = |(direction, along): (MessageDirection, i64)| {
                let mut step = [0; 2];
                step[axis] = along;
                let mut message =
                    self.neighbour_message((place, step), level, [before, behind], direction);
                if axis == PLANES {
                    (message.part.first[ROWS], message.part.count[ROWS]) = (0, all_rows);
                }
                message
            };
            let both = [
                (MessageDirection::Receive, -1),
                (MessageDirection::Receive, 1),
                (MessageDirection::Send, 1),
                (MessageDirection::Send, -1),
            ];
            turns.push(both.map(message).to_vec());
        }
        turns
    }

    /// Returns the messages that bring a processor's ghosts of a level all at once: faces of own planes and rows, and,
    /// where both are cut, edges from the neighbours along both axes. Receives come first.
    ///
    /// None waits for another, so each may leave when its planes and rows are made.
    pub(super) fn face_messages(
        &self,
        place: [u64; 2],
        level: u32,
        ghosts: [u64; 2],
    ) -> Vec<BoxMessage> {
        let steps = self
            .parts()
            .map(|parts| if parts > 1 { -1..=1 } else { 0..=0 });
        let [planes, rows] = steps;
        let steps = planes.flat_map(|plane| rows.clone().map(move |row| [plane, row]));
        let steps: Vec<[i64; 2]> = steps.filter(|step| *step != [0; 2]).collect();
        let all = |direction| steps.iter().map(move |step| (direction, *step));
        all(MessageDirection::Receive)
            .chain(all(MessageDirection::Send))
            .map(|(direction, step)| {
                self.neighbour_message((place, step), level, ghosts, direction)
            })
            .collect()
    }

    /// Returns the message between a processor at `place` and its neighbour some steps along both axes: own planes and
    /// rows next to the neighbour, or the ghosts that hold the neighbour's.
    fn neighbour_message(
        &self,
        (place, step): ([u64; 2], [i64; 2]),
        level: u32,
        [before, behind]: [u64; 2],
        direction: MessageDirection,
    ) -> BoxMessage {
        let (own, ghosts, parts) = (self.own(level), self.ghosts(level), self.parts());
        let mut part = ArrayBox {
            first: ghosts,
            count: own,
        };
        for axis in [PLANES, ROWS] {
            let (first, end) = (ghosts[axis], ghosts[axis] + own[axis]);
            // Lines that leave upwards fill the ghosts before the neighbour's own lines.
            let lines = match (direction, step[axis]) {
                (_, 0) => (first, own[axis]),
                (MessageDirection::Send, 1) => (end - before, before),
                (MessageDirection::Send, _) => (first, behind),
                (MessageDirection::Receive, 1) => (end, behind),
                (MessageDirection::Receive, _) => (first - before, before),
            };
            (part.first[axis], part.count[axis]) = lines;
        }
        // The tag names the direction in which the message moves.
        let moves = match direction {
            MessageDirection::Send => step,
            MessageDirection::Receive => step.map(|step| -step),
        };
        let peer = [0, 1].map(|axis| {
            let steps = parts[axis] as i64;
            (place[axis] as i64 + step[axis]).rem_euclid(steps) as u64
        });
        BoxMessage {
            direction,
            peer: self.processor(peer),
            tag: NEIGHBOUR_TAGS + (3 * (moves[0] + 1) + moves[1] + 1) as u32,
            part,
        }
    }

    /// Returns the messages by which every processor gets all blocks of the gathered level, turn by turn.
    ///
    /// By recursive doubling: in each turn processors swap all that they have with a partner at twice the distance, so
    /// that blocks grow to adjacent rows, all rows, adjacent planes, all planes.
    pub(super) fn gather_messages(&self, place: [u64; 2]) -> Vec<Vec<BoxMessage>> {
        let (all, parts) = (self.extents(self.gathered()), self.parts());
        let own = [0, 1].map(|axis| all[axis] / parts[axis]);
        let mut turns = Vec::new();
        // Parts that the processor has along each axis.
        let mut held = [1; 2];
        for axis in [ROWS, PLANES] {
            while held[axis] < parts[axis] {
                let mut partner = place;
                partner[axis] ^= held[axis];
                let message = |direction, place: [u64; 2]| BoxMessage {
                    direction,
                    peer: self.processor(partner),
                    tag: GATHER_TAG,
                    part: ArrayBox {
                        first: [0, 1].map(|axis| place[axis] / held[axis] * held[axis] * own[axis]),
                        count: [0, 1].map(|axis| held[axis] * own[axis]),
                    },
                };
                turns.push(vec![
                    message(MessageDirection::Receive, partner),
                    message(MessageDirection::Send, place),
                ]);
                held[axis] *= 2;
            }
        }
        turns
    }
}
