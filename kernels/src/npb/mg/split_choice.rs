//! Chooses how planes and rows are divided among processors, by price.

use super::MultigridError;
use super::decomposition::{DividedProblem, Division, GHOSTS, MultigridSplit, NormSum};
use super::messages::{BoxMessage, CORNERS, MessageDirection, PLANES, ROWS};
use super::plan::{MultigridPlan, PlannedOperator};
use super::steps::MultigridStep;
use cp2_machine::{Cycles, Machine};
use cp2_network::{
    Communication, InProcess, Links, Picoseconds, Process, ProcessError, ProcessLog, Request,
    Resume, Yield, run_processes,
};
use cp2_problems::npb::mg::MgProblem;
use std::ops::ControlFlow;

/// A split and what cycles should take with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitPrice {
    /// The split.
    pub split: MultigridSplit,
    /// Expected cycles of the processor that ends last, without those of norms: prices of its passes, and the times
    /// of its messages under the protocol of the run.
    pub cycles: Cycles,
    /// Cycles of these that its passes take.
    pub passes: Cycles,
    /// Messages of all processors, and their bytes.
    pub messages: [u64; 2],
}

/// A split that is about to be priced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitTrial {
    /// The split.
    pub split: MultigridSplit,
    /// Number of trials before it.
    pub before: usize,
    /// Number of all trials.
    pub total: usize,
}

/// Parts of a split that a user has fixed: the rest is chosen by price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitRequest {
    /// Number of parts of planes, and of rows.
    pub parts: Option<[usize; 2]>,
    /// Points along a row of the finest level that every processor has whole.
    pub gather: Option<usize>,
    /// Order in which sums are added up.
    pub sum: NormSum,
    /// Splits are priced too whose passes alone take longer than the cheapest split before them.
    pub every_price: bool,
}

impl MultigridPlan {
    /// Checks that a problem can be split among so many processors as a request says, before anything is planned.
    ///
    /// # Errors
    /// No split is possible.
    pub fn check_splits(
        problem: &MgProblem,
        processors: usize,
        request: &SplitRequest,
    ) -> Result<(), MultigridError> {
        let division = DividedProblem::whole(problem.clone()).division;
        find_splits(&division, processors, request).map(|_| ())
    }

    /// Plans these cycles for so many processors with the split of the lowest price, and returns the prices of the
    /// splits that were compared, the lowest first.
    ///
    /// `each` is told of every split before it is priced, and may end the search: then the result is none.
    ///
    /// # Errors
    /// No split is possible; see [`MultigridPlan::split`].
    pub fn split_by_price(
        &self,
        processors: usize,
        request: &SplitRequest,
        mut each: impl FnMut(SplitTrial) -> ControlFlow<()>,
    ) -> Result<Option<(Self, Vec<SplitPrice>)>, MultigridError> {
        let splits = find_splits(&self.divided.division, processors, request)?;
        let total = splits.len();
        let (mut prices, mut best, mut refused) = (Vec::new(), None::<(u64, Self)>, None);
        let mut known = self.known.clone();
        for (before, split) in splits.into_iter().enumerate() {
            let trial = SplitTrial {
                split,
                before,
                total,
            };
            if each(trial).is_break() {
                return Ok(None);
            }
            let plan = match self.split_with_kernels(split, request.sum, &known) {
                Ok(plan) => plan,
                Err(error) => {
                    refused = refused.or(Some(error));
                    continue;
                }
            };
            known.clone_from(&plan.known);
            let least = best.as_ref().map_or(u64::MAX, |(least, _)| *least);
            // A processor takes at least the cycles of its passes.
            if plan.price() > least && !request.every_price {
                continue;
            }
            let price = plan.estimate(split)?;
            if price.cycles.0 < least {
                best = Some((price.cycles.0, plan));
            }
            prices.push(price);
        }
        prices.sort_by_key(|price| price.cycles);
        match (best, refused) {
            (Some((_, plan)), _) => Ok(Some((plan, prices))),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }

    /// Returns the price of a split: passes take their prices, and messages are exchanged as in the run.
    fn estimate(&self, split: MultigridSplit) -> Result<SplitPrice, MultigridError> {
        let division = self.divided.division;
        let (mut steps, mut passes) = (Vec::new(), 0);
        for (step, planned) in &self.steps {
            match (step, planned) {
                (MultigridStep::Halo(array, ghosts), _) => {
                    let level = array.level(division.finest());
                    steps.push(EstimateStep::Halo(level, *ghosts));
                }
                (MultigridStep::Gather(_), _) => steps.push(EstimateStep::Gather),
                (
                    MultigridStep::Pass(..)
                    | MultigridStep::SendingPass(..)
                    | MultigridStep::Norm(..),
                    Some(planned),
                ) => {
                    let price = planned.price;
                    passes += price;
                    steps.push(match step {
                        MultigridStep::SendingPass(_, _, _, output, ghosts) => {
                            let level = output.level(division.finest());
                            EstimateStep::Send(price, level, *ghosts, planned)
                        }
                        _ => EstimateStep::Compute(price),
                    });
                }
                (
                    MultigridStep::Pass(..)
                    | MultigridStep::SendingPass(..)
                    | MultigridStep::Norm(..),
                    None,
                ) => {}
            }
        }
        let machine = &self.used;
        let count = division.processors();
        let mut processes: Vec<_> = (0..count)
            .map(|processor| EstimatedProcessor {
                machine,
                division,
                place: division.place(processor),
                steps: &steps,
                next: 0,
                turns: Vec::new(),
            })
            .collect();
        let mut communication = Communication::of_machine(machine, count as usize)?;
        let report = run_processes(&mut InProcess, &mut communication, &mut processes, 1, b"")?;
        let last = report.ends.iter().max().copied().unwrap_or_default();
        Ok(SplitPrice {
            split,
            cycles: Cycles(last.to_cycles(machine.cp2.clock_hz)),
            passes: Cycles(passes),
            messages: [report.messages, report.message_bytes],
        })
    }
}

/// Returns the splits among so many processors that a request leaves, and are possible.
///
/// # Errors
/// There are none: the error says why for the one with the most equal parts.
fn find_splits(
    division: &Division,
    processors: usize,
    request: &SplitRequest,
) -> Result<Vec<MultigridSplit>, MultigridError> {
    let [planes, rows] = division.extents(division.finest());
    if !processors.is_power_of_two() {
        let most = (planes / 2 * (rows / 2)).max(2);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let nearest = (1usize << processors.max(1).ilog2()).min(most / 2);
        return Err(MultigridError::Split {
            reason: format!(
                "{processors} processors do not divide {planes} planes of {rows} rows; expected a power of two: the nearest that fit are {nearest} and {}",
                2 * nearest
            ),
        });
    }
    let shares = (0..=processors.trailing_zeros())
        .map(|shift| [processors >> shift, 1 << shift])
        .filter(|parts| request.parts.is_none_or(|asked| asked == *parts));
    // The most equal parts are tried first, at the finest gathered level: if none is possible, the error is theirs.
    let mut shares: Vec<[usize; 2]> = shares.collect();
    shares.sort_by_key(|[planes, rows]| (planes.max(rows) / planes.min(rows), *rows));
    let gathers = (division.coarsest()..division.finest())
        .rev()
        .map(|level| 1usize << level)
        .filter(|gather| request.gather.is_none_or(|asked| asked == *gather));
    let gathers: Vec<usize> = gathers.collect();
    let all = shares.into_iter().flat_map(|parts| {
        gathers
            .iter()
            .map(move |&gather| MultigridSplit { parts, gather })
    });
    let (mut possible, mut refused) = (Vec::new(), None);
    for split in all {
        match division.split(split) {
            Ok(_) => possible.push(split),
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    if !possible.is_empty() {
        return Ok(possible);
    }
    let most = (planes / 2 * (rows / 2)) as usize;
    let levels = [division.coarsest(), division.finest() - 1].map(|level| 1u64 << level);
    Err(match (request.parts, request.gather, refused) {
        (None, None, _) if processors > most => MultigridError::Split {
            reason: format!(
                "{processors} processors leave fewer than two planes or rows to each; expected at most {most}"
            ),
        },
        (_, _, Some(error)) => error,
        (Some([planes, rows]), _, None) if planes * rows != processors => MultigridError::Split {
            reason: format!(
                "{rows} x {planes} parts of rows x planes for {processors} processors; expected powers of two whose product is {processors}"
            ),
        },
        (_, gather, None) => MultigridError::Split {
            reason: format!(
                "the level of {} points is gathered; expected a power of two from {} to {}",
                gather.unwrap_or_default(),
                levels[0],
                levels[1]
            ),
        },
    })
}

/// Returns the coarsest level whose faces should leave while the pass runs that makes them.
///
/// All do where planes or rows alone are cut. If both are, four messages more go to the neighbours along both axes.
/// That pays where a face takes longer on a link than these take the control CPU.
pub(super) fn find_early_faces(division: &Division, machine: &Machine) -> u32 {
    let first = division.gathered() + 1;
    if division.parts().contains(&1) {
        return first;
    }
    let network = &machine.network;
    let setup = CORNERS * (network.send.0 + network.post.0 + network.completion.0);
    let processors = usize::try_from(division.processors()).unwrap_or(usize::MAX);
    let Ok(links) = Links::new(network, processors) else {
        return division.finest() + 1;
    };
    let pays = |level: &u32| {
        let [planes, rows] = division.own(*level);
        let bytes = GHOSTS * planes.max(rows) * division.row_bytes(*level);
        let time = links.occupancy(bytes);
        time.is_some_and(|time| time.to_cycles(machine.cp2.clock_hz) > setup)
    };
    (first..=division.finest())
        .find(pays)
        .unwrap_or(division.finest() + 1)
}

/// A step of a processor of which the time is estimated.
#[derive(Clone, Copy, Debug)]
enum EstimateStep<'a> {
    /// So many cycles.
    Compute(u64),
    /// So many cycles of a pass, in which the ghosts of a level leave: before and behind the own planes and rows.
    Send(u64, u32, [u64; 2], &'a PlannedOperator),
    /// The ghosts of a level: before and behind the own planes and rows.
    Halo(u32, [u64; 2]),
    /// The gathered level.
    Gather,
}

/// A processor whose passes take their prices.
struct EstimatedProcessor<'a> {
    machine: &'a Machine,
    division: Division,
    place: [u64; 2],
    steps: &'a [EstimateStep<'a>],
    /// Next step.
    next: usize,
    /// Turns that remain of an exchange, the next one last, and bytes of a row.
    turns: Vec<(Vec<BoxMessage>, u64)>,
}

impl EstimatedProcessor<'_> {
    /// Notes the messages of a pass that begins now: sends leave when their pages should be stored. Returns when the
    /// control CPU and the pass are done.
    fn exchange_in_pass(
        &self,
        mut now: u64,
        (price, level, ghosts, planned): (u64, u32, [u64; 2], &PlannedOperator),
        log: &mut ProcessLog,
    ) -> (u64, Vec<Request>) {
        let messages = self.division.face_messages(self.place, level, ghosts);
        let row = self.division.row_bytes(level);
        let (receives, sends): (Vec<_>, Vec<_>) = messages
            .into_iter()
            .partition(|one| one.direction == MessageDirection::Receive);
        let (posted, mut requests) = self.exchange(now, (receives, row), log);
        let pages = planned.nest.len();
        let own = self.division.ghosts(level);
        let mut timed: Vec<(u64, BoxMessage)> = sends
            .into_iter()
            .map(|send| {
                let lines = planned.shape.stored_lines(send.part, own);
                let page = planned.nest.find_last_store(0, lines);
                let done = page.map_or(pages, |page| page + 1);
                (posted + price * done / pages.max(1), send)
            })
            .collect();
        timed.sort_by_key(|(at, _)| *at);
        for (at, send) in timed {
            let (done, request) = self.exchange(now.max(at), (vec![send], row), log);
            now = done;
            requests.extend(request);
        }
        (now.max(posted + price), requests)
    }

    /// Notes the messages of a turn, and returns when the control CPU is done with them.
    fn exchange(
        &self,
        mut now: u64,
        (messages, row): (Vec<BoxMessage>, u64),
        log: &mut ProcessLog,
    ) -> (u64, Vec<Request>) {
        let network = &self.machine.network;
        let mut requests = Vec::new();
        for message in messages {
            let bytes = message.part.count[PLANES] * message.part.count[ROWS] * row;
            let peer = usize::try_from(message.peer).unwrap_or(usize::MAX);
            let receives = message.direction == MessageDirection::Receive;
            now += if receives {
                network.post.0
            } else {
                network.send.0
            };
            let at = Picoseconds::from_cycles(now, self.machine.cp2.clock_hz);
            requests.push(match receives {
                true => log.receive(at, Some(peer), Some(message.tag), bytes),
                false => log.send_unread(at, peer, message.tag, bytes),
            });
        }
        (now, requests)
    }
}

impl Process for EstimatedProcessor<'_> {
    fn run(&mut self, resume: Resume, log: &mut ProcessLog) -> Result<Yield, ProcessError> {
        let hertz = self.machine.cp2.clock_hz;
        let complete = resume.wake.completions.len() as u64;
        let mut now = resume.wake.at.to_cycles(hertz);
        now += complete * self.machine.network.completion.0;
        loop {
            if let Some(turn) = self.turns.pop() {
                let (now, requests) = self.exchange(now, turn, log);
                let at = Picoseconds::from_cycles(now, hertz);
                return Ok(Yield::Wait { at, requests });
            }
            let Some(step) = self.steps.get(self.next) else {
                let at = Picoseconds::from_cycles(now, hertz);
                return Ok(Yield::End { at });
            };
            self.next += 1;
            let (turns, level) = match *step {
                EstimateStep::Compute(cycles) => {
                    now += cycles;
                    continue;
                }
                EstimateStep::Send(price, level, ghosts, planned) => {
                    let pass = (price, level, ghosts, planned);
                    let (now, requests) = self.exchange_in_pass(now, pass, log);
                    let at = Picoseconds::from_cycles(now, hertz);
                    return Ok(Yield::Wait { at, requests });
                }
                EstimateStep::Halo(level, ghosts) => (
                    self.division.ghost_messages(self.place, level, ghosts),
                    level,
                ),
                EstimateStep::Gather => (
                    self.division.gather_messages(self.place),
                    self.division.gathered(),
                ),
            };
            let row = self.division.row_bytes(level);
            self.turns = turns.into_iter().rev().map(|turn| (turn, row)).collect();
        }
    }
}
