//! Exchanges between the processors of divided V-cycles, as items of their jobs.

use super::MultigridError;
use super::decomposition::NormSum;
use super::job::{MultigridJobBuilder, PageSums, SumQuads, store_norm};
use super::messages::{ArrayBox, BoxMessage, MessageDirection, PLANES, ROWS};
use super::plan::{PlannedOperator, plane_bytes};
use super::rows::QUAD;
use super::steps::ArrayName;
use crate::job::{MessageRequest, Pass};
use cp2_host::{Buffer, HostStep, MessageRegion};

/// Tag of sums of squares.
const SUM_TAG: u32 = 3;

/// Bytes of a sum of a processor.
const DOUBLE: u64 = 8;

/// An array as messages see it.
#[derive(Clone, Copy, Debug)]
struct MessageArray {
    address: u64,
    /// Bytes of a row, and from a plane to the next.
    row: u64,
    pitch: u64,
}

impl MessageArray {
    /// Returns the memory of a box: its rows of each plane, one behind the other.
    fn region(self, part: ArrayBox) -> MessageRegion {
        let [plane, row] = part.first;
        MessageRegion {
            address: self.address + plane * self.pitch + row * self.row,
            row: part.count[ROWS] * self.row,
            rows: part.count[PLANES],
            pitch: self.pitch,
        }
    }
}

impl MultigridJobBuilder<'_> {
    /// Returns an array as messages see it.
    fn message_array(&mut self, name: ArrayName) -> Result<MessageArray, MultigridError> {
        let placed = self.place(name)?;
        let division = self.plan.divided.division;
        let level = name.level(division.finest());
        Ok(MessageArray {
            address: placed.at,
            row: division.row_bytes(level),
            pitch: plane_bytes(&division, level) * placed.apart,
        })
    }

    /// Gets the ghosts of an array from the neighbours: `before` planes and rows before the own ones, and `behind`
    /// behind them.
    pub(super) fn exchange_ghosts(
        &mut self,
        name: ArrayName,
        ghosts: [u64; 2],
    ) -> Result<(), MultigridError> {
        let division = self.plan.divided.division;
        let level = name.level(division.finest());
        let turns = division.ghost_messages(self.place, level, ghosts);
        self.exchange("halo", name, &turns)
    }

    /// Gets all blocks of an array of the gathered level, of which every processor has made its own.
    pub(super) fn gather(&mut self, name: ArrayName) -> Result<(), MultigridError> {
        let turns = self.plan.divided.division.gather_messages(self.place);
        self.exchange("gather", name, &turns)
    }

    /// Adds the messages of an exchange, and a wait for those of each turn.
    fn exchange(
        &mut self,
        called: &str,
        name: ArrayName,
        turns: &[Vec<BoxMessage>],
    ) -> Result<(), MultigridError> {
        let array = self.message_array(name)?;
        for messages in turns {
            let mut requests = Vec::new();
            for message in messages {
                let (peer, tag, region) = (message.peer, message.tag, array.region(message.part));
                requests.push(match message.direction {
                    MessageDirection::Receive => {
                        self.job.receive(called, Some(peer), Some(tag), region)
                    }
                    MessageDirection::Send => self.job.send(called, peer, tag, region),
                });
            }
            self.job.wait_messages(&requests);
        }
        let level = name.level(self.plan.divided.division.finest());
        self.job.mark(&format!("{called} {}", 1u64 << level));
        Ok(())
    }

    /// Adds receives of the ghosts that come from the neighbours while a pass runs.
    pub(super) fn post_faces(
        &mut self,
        name: ArrayName,
        messages: &[BoxMessage],
    ) -> Result<Vec<MessageRequest>, MultigridError> {
        let array = self.message_array(name)?;
        let receives = messages
            .iter()
            .filter(|one| one.direction == MessageDirection::Receive);
        Ok(receives
            .map(|message| {
                let (from, tag) = (Some(message.peer), Some(message.tag));
                self.job
                    .receive("halo", from, tag, array.region(message.part))
            })
            .collect())
    }

    /// Lets the faces of its result leave while the pass that was added last runs, and waits for those of the
    /// neighbours.
    pub(super) fn send_faces(
        &mut self,
        name: ArrayName,
        planned: &PlannedOperator,
        messages: &[BoxMessage],
        mut requests: Vec<MessageRequest>,
    ) -> Result<(), MultigridError> {
        let array = self.message_array(name)?;
        let division = self.plan.divided.division;
        let level = name.level(division.finest());
        let sends = messages
            .iter()
            .filter(|one| one.direction == MessageDirection::Send);
        for message in sends {
            let lines = planned
                .shape
                .stored_lines(message.part, division.ghosts(level));
            let pass = self.job.passes().last().and_then(Pass::nest);
            let page = pass.and_then(|nest| nest.find_last_store(0, lines));
            let (to, region) = ((message.peer, message.tag), array.region(message.part));
            requests.push(match page {
                Some(page) => self.job.send_behind_page("halo", page, to, region),
                None => self.job.send("halo", to.0, to.1, region),
            });
        }
        self.job.mark(&planned.shape.name());
        self.job.wait_messages(&requests);
        self.job.mark(&format!("halo {}", 1u64 << level));
        Ok(())
    }

    /// Adds the exchange behind which the first processor has both norms.
    pub(super) fn reduce_norms(&mut self) -> Result<(), MultigridError> {
        let Some(parts) = self.parts else {
            return Ok(());
        };
        match self.plan.sum {
            NormSum::Tree => self.add_tree(parts)?,
            NormSum::Ordered => {
                for (number, sums) in (0..).zip(self.sums) {
                    if let Some(sums) = sums {
                        self.add_in_order(sums, number)?;
                    }
                }
            }
        }
        self.job.mark("norms");
        Ok(())
    }

    /// Adds up the sums of all pages of all processors on the first one, plane by plane, as one processor does.
    fn add_in_order(&mut self, own: PageSums, number: u64) -> Result<(), MultigridError> {
        let division = self.plan.divided.division;
        let quad = QUAD as u64;
        let [planes, blocks] = own.blocks;
        let (address, bytes) = own.quads.memory();
        let part = MessageRegion::contiguous(address, bytes);
        let mut requests = Vec::new();
        let mut all = None;
        if division.processor(self.place) == 0 {
            let row = blocks * division.parts()[ROWS];
            let count = planes * division.parts()[PLANES] * row;
            let precision = division.precision();
            let sums = SumQuads::allocate(&mut self.job, precision, count)?;
            let total = self.job.temporary::<f64>(1)?;
            all = Some((sums, (count, total)));
            for processor in 0..division.processors() {
                let [plane, block] = division.place(processor);
                let region = MessageRegion {
                    address: sums.memory().0 + (plane * planes * row + block * blocks) * quad,
                    row: blocks * quad,
                    rows: planes,
                    pitch: row * quad,
                };
                let from = Some(processor);
                requests.push(self.job.receive("norm", from, Some(SUM_TAG), region));
            }
        }
        requests.push(self.job.send("norm", 0, SUM_TAG, part));
        self.job.wait_messages(&requests);
        match all {
            Some((sums, count)) => self.add_up_norm(sums, count, number),
            None => Ok(()),
        }
    }

    /// Adds up the parts of both norms over all processors, along a binomial tree to the first one.
    fn add_tree(&mut self, parts: Buffer<f64>) -> Result<(), MultigridError> {
        let division = self.plan.divided.division;
        let (processors, own) = (division.processors(), division.processor(self.place));
        let region = |address: u64| MessageRegion::contiguous(address, 2 * DOUBLE);
        let came = self.job.temporary::<f64>(2)?;
        let mut distance = 1;
        while distance < processors {
            if own & distance != 0 {
                let to = own - distance;
                let sent = self.job.send("norm", to, SUM_TAG, region(parts.address()));
                self.job.wait_messages(&[sent]);
                break;
            }
            let from = Some(own + distance);
            let request = self
                .job
                .receive("norm", from, Some(SUM_TAG), region(came.address()));
            self.job.wait_messages(&[request]);
            let mut step = HostStep::new();
            for number in 0..2 {
                let [a, b] = [step.load(parts, number)?, step.load(came, number)?];
                let sum = step.add(a, b);
                step.store(parts, number, sum)?;
            }
            self.job.host_step("norm", step);
            distance *= 2;
        }
        if own == 0 {
            let mut step = HostStep::new();
            for number in 0..2 {
                let sum = step.load(parts, number)?;
                let points = self.plan.problem().count();
                store_norm(&mut step, sum, points, (self.norms, number))?;
            }
            self.job.host_step("norm", step);
        }
        Ok(())
    }
}
