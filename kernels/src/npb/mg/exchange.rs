//! Exchanges between the processors of divided V-cycles, as items of their jobs.

use super::MultigridError;
use super::decomposition::NormSum;
use super::job::{MultigridJobBuilder, PageSums, store_norm};
use super::plan::{plane_bytes, quads};
use super::rows::QUAD;
use super::steps::ArrayName;
use cp2_host::{Buffer, HostStep, MessageRegion};

/// Index of the axis of planes, and of that of rows, in extents.
const PLANES: usize = 0;
const ROWS: usize = 1;

/// Tags of messages to the neighbour with the lines before, and behind.
const TAGS: [u32; 2] = [0, 1];

/// Tag of blocks that all processors gather, and of sums.
const GATHER_TAG: u32 = 2;
const SUM_TAG: u32 = 3;

/// Bytes of a sum of a processor, and of a number of a page's.
const DOUBLE: u64 = 8;
const FLOAT: u64 = 4;

/// Planes and rows of an array: first and number of each.
#[derive(Clone, Copy, Debug)]
struct ArrayBox {
    first: [u64; 2],
    count: [u64; 2],
}

/// An array as messages see it.
#[derive(Clone, Copy, Debug)]
struct MessageArray {
    address: u64,
    /// Bytes of a row, and from a plane to the next.
    row: u64,
    pitch: u64,
    /// Rows of a plane in memory.
    rows: u64,
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
            row: quads(level) * QUAD as u64,
            pitch: plane_bytes(&division, level) * placed.apart,
            rows: division.memory(level)[ROWS],
        })
    }

    /// Gets the ghosts of an array: `before` planes and rows before the own ones, and `behind` behind them, from the
    /// neighbours. Rows are first, so that ghost planes bring the ghost rows at the corners.
    pub(super) fn exchange_ghosts(
        &mut self,
        name: ArrayName,
        [before, behind]: [u64; 2],
    ) -> Result<(), MultigridError> {
        let array = self.message_array(name)?;
        let division = self.plan.divided.division;
        let level = name.level(division.finest());
        let (own, ghosts, parts) = (
            division.own(level),
            division.ghosts(level),
            division.parts(),
        );
        for axis in [ROWS, PLANES] {
            if parts[axis] == 1 {
                continue;
            }
            // Lines of this axis; of the other one own planes, or all rows.
            let lines = |first: u64, count: u64| {
                let mut part = ArrayBox {
                    first: [ghosts[PLANES], 0],
                    count: [own[PLANES], array.rows],
                };
                (part.first[axis], part.count[axis]) = (first, count);
                array.region(part)
            };
            let (first, end) = (ghosts[axis], ghosts[axis] + own[axis]);
            let neighbour = |steps: u64| {
                let mut place = self.place;
                place[axis] = (place[axis] + steps) % parts[axis];
                division.processor(place)
            };
            let [lower, upper] = [neighbour(parts[axis] - 1), neighbour(1)];
            // A message to the lines behind fills the ghosts before them.
            let requests = [
                self.job.receive(
                    "halo",
                    Some(lower),
                    Some(TAGS[1]),
                    lines(first - before, before),
                ),
                self.job
                    .receive("halo", Some(upper), Some(TAGS[0]), lines(end, behind)),
                self.job
                    .send("halo", upper, TAGS[1], lines(end - before, before)),
                self.job.send("halo", lower, TAGS[0], lines(first, behind)),
            ];
            self.job.wait_messages(&requests);
        }
        self.job.mark(&format!("halo {}", 1u64 << level));
        Ok(())
    }

    /// Gets all blocks of an array of the gathered level, of which every processor has made its own.
    ///
    /// By recursive doubling: in each turn processors swap all that they have with a partner at twice the distance, so
    /// that blocks grow to adjacent rows, all rows, adjacent planes, all planes.
    pub(super) fn gather(&mut self, name: ArrayName) -> Result<(), MultigridError> {
        let array = self.message_array(name)?;
        let division = self.plan.divided.division;
        let level = division.gathered();
        let parts = division.parts();
        let all = division.extents(level);
        let own = [0, 1].map(|axis| all[axis] / parts[axis]);
        // Parts that this processor has along each axis.
        let mut held = [1; 2];
        for axis in [ROWS, PLANES] {
            while held[axis] < parts[axis] {
                let mut place = self.place;
                place[axis] ^= held[axis];
                let group = |place: [u64; 2]| {
                    let first =
                        [0, 1].map(|axis| place[axis] / held[axis] * held[axis] * own[axis]);
                    let count = [0, 1].map(|axis| held[axis] * own[axis]);
                    array.region(ArrayBox { first, count })
                };
                let partner = division.processor(place);
                let (taken, given) = (group(place), group(self.place));
                let requests = [
                    self.job
                        .receive("gather", Some(partner), Some(GATHER_TAG), taken),
                    self.job.send("gather", partner, GATHER_TAG, given),
                ];
                self.job.wait_messages(&requests);
                held[axis] *= 2;
            }
        }
        self.job.mark(&format!("gather {}", 1u64 << level));
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
        let part = MessageRegion::contiguous(own.quads.address(), own.quads.bytes());
        let mut requests = Vec::new();
        let mut all = None;
        if division.processor(self.place) == 0 {
            let row = blocks * division.parts()[ROWS];
            let count = planes * division.parts()[PLANES] * row;
            let sums = self.job.temporary::<f32>(count * quad / FLOAT)?;
            let total = self.job.temporary::<f64>(1)?;
            all = Some((sums, (count, total)));
            for processor in 0..division.processors() {
                let [plane, block] = division.place(processor);
                let region = MessageRegion {
                    address: sums.address() + (plane * planes * row + block * blocks) * quad,
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
                let n = self.plan.problem().n();
                store_norm(&mut step, sum, n, (self.norms, number))?;
            }
            self.job.host_step("norm", step);
        }
        Ok(())
    }
}
