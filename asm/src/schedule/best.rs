//! Finds the best schedule of a body by several searches.

use super::check::check_placement;
use super::dataflow::{Dataflow, Op};
use super::dependence::DependenceGraph;
use super::placement::{Attempt, Found, ModuloSchedule, Order, latency, sources};
use super::registers::{self, FreeRegisters, Registers};
use super::report::{
    IntervalRefusal, Iterations, RefusedInterval, ScheduleBound, ScheduleReport, ScheduleRequest,
};
use super::search::Unschedulable;
use super::starts::{SPREADING, Starts, order_by_results};
use cp2_machine::{Class, Machine};

/// Starts of the search for each interval, by the number of operations up to which they are made.
const STARTS: [(usize, u32); 4] = [(60, 40), (130, 24), (260, 10), (usize::MAX, 4)];
/// Eighths of the bound over which a straight line spreads its operations, if nothing shorter fits its registers.
const SPREAD_EIGHTHS: [u32; 9] = [9, 10, 11, 12, 14, 16, 20, 24, 32];
/// Failed attempts, each for an interval and a number of copies, after which the search makes [`FEWEST_STARTS`] only:
/// by then registers are what lacks, and longer intervals mend that, not other starts.
const PATIENT_ATTEMPTS: u32 = 6;
/// Starts that find no shorter schedule than one that is known, after which the search ends: further ones take most of
/// its time and seldom find one.
const PATIENT_STARTS: usize = 8;
/// Starts of an attempt when patience is at its end.
const FEWEST_STARTS: usize = 1;
/// Operations up to which all numbers of copies are tried for an interval.
const SMALL_NODES: usize = 60;
/// Numbers of copies that are tried beyond the first that dependences allow, for bodies of more operations.
const MORE_COPIES: usize = 1;
/// Intervals that are tried a cycle apart before they are stretched.
const CLOSE_INTERVALS: u32 = 16;
/// Divisor of the number of starts where intervals are stretched.
const FEWER_STARTS: u32 = 4;
/// Divisor of stretching: an interval is longer than the one before by one in so many cycles.
const STRETCH_DIVISOR: u32 = 16;
/// Cycles of the longest interval that is tried: loops of more words fit no program memory.
const LONGEST_INTERVAL_CYCLES: u32 = 1 << 13;

impl Dataflow {
    /// Finds the schedule of the least interval, of these the one with the fewest copies of values, of these
    /// the shortest; and reports what bounds it and what was tried.
    ///
    /// Bodies in order keep the order of their arithmetic, so that only the orders of [`Self::schedule`] are
    /// tried.
    pub fn schedule_best(
        &self,
        machine: &Machine,
        request: &ScheduleRequest,
    ) -> (Result<ModuloSchedule, Unschedulable>, ScheduleReport) {
        let mut search = ScheduleSearch::new(self, machine, request);
        let found = search.run();
        (found, search.report)
    }

    /// Finds the shortest schedule of a body that is carried out once, with registers of the set.
    ///
    /// Its interval is as long as all of it, the last results included: the schedule is of one iteration.
    pub fn schedule_straight(
        &self,
        machine: &Machine,
        free: FreeRegisters,
    ) -> (Result<ModuloSchedule, Unschedulable>, ScheduleReport) {
        let request = ScheduleRequest {
            most_copies: 1,
            ..ScheduleRequest::new(free, Iterations::Known(1))
        };
        let mut search = ScheduleSearch::new(self, machine, &request);
        let found = search.run_straight();
        (found, search.report)
    }
}

struct ScheduleSearch<'a> {
    body: &'a Dataflow,
    machine: &'a Machine,
    request: &'a ScheduleRequest,
    unrolls: Vec<u32>,
    graph: DependenceGraph,
    /// Operations that each operation needs, see [`sources`].
    sources: Vec<Vec<usize>>,
    report: ScheduleReport,
    /// Attempts that failed, each for an interval and a number of copies.
    failed: u32,
}

/// A placement with its registers.
struct PlacementCandidate {
    found: Found,
    registers: Registers,
    /// Cycles of an iteration.
    length: u32,
    live: u32,
}

impl<'a> ScheduleSearch<'a> {
    fn new(body: &'a Dataflow, machine: &'a Machine, request: &'a ScheduleRequest) -> Self {
        let graph = DependenceGraph::new(body, machine);
        Self {
            body,
            machine,
            request,
            unrolls: request.unrolls(),
            report: ScheduleReport {
                bound: ScheduleBound::new(body, machine, &graph),
                contradiction: graph.find_contradiction(),
                refused: Vec::new(),
            },
            graph,
            sources: sources(body),
            failed: 0,
        }
    }

    fn run(&mut self) -> Result<ModuloSchedule, Unschedulable> {
        let least = self.report.bound.cycles;
        let mut tried = least;
        let orderly = self.report.contradiction.is_none() && !self.body.ops.is_empty();
        // Values of earlier iterations may need more copies than there are iterations.
        let most = self.request.most_copies.max(1);
        let known = matches!(self.request.iterations, Iterations::Known(_));
        let more = known && self.unrolls.last().is_some_and(|&last| last < most);
        let more = more.then(|| (1..=most).collect());
        for unrolls in [Some(self.unrolls.clone()), more].into_iter().flatten() {
            self.unrolls = unrolls;
            for interval in self.intervals(least).take_while(|_| orderly) {
                tried = interval;
                if let Some(candidate) = self.try_interval(interval) {
                    return Ok(self.finish(interval, candidate));
                }
            }
        }
        Err(self.refuse(tried))
    }

    /// Schedules the body once: with an interval so long that no iterations overlap.
    fn run_straight(&mut self) -> Result<ModuloSchedule, Unschedulable> {
        let interval = self.longest().saturating_add(1);
        let mut best: Option<PlacementCandidate> = None;
        let mut refusal = IntervalRefusal::Dependences;
        // At last one operation after the other, each result finished before the next one is begun, or as they
        // are written: this needs the fewest registers.
        let (mut results, mut written) = (self.graph.clone(), self.graph.clone());
        results.keep_order(order_by_results(self.body).into_iter());
        written.keep_order(0..self.body.ops.len());
        let span = self.report.bound.cycles;
        let all: Vec<u32> = (0..self.starts()).collect();
        let spread = |eighths: &u32| {
            (
                &self.graph,
                span.saturating_mul(*eighths) / 8,
                &SPREADING[..],
            )
        };
        let mut tries = vec![(&self.graph, span, &all[..])];
        tries.extend(SPREAD_EIGHTHS.iter().map(spread));
        tries.extend([(&results, span, &all[..2]), (&written, span, &all[..2])]);
        let orderly = self.report.contradiction.is_none() && !self.body.ops.is_empty();
        for (graph, span, starts) in tries.into_iter().filter(|_| orderly) {
            if best.is_none() {
                let found = self.make_starts(graph, (interval, 1), span, starts);
                refusal = worse(refusal, found.1);
                best = found.0;
            }
        }
        let Some(candidate) = best else {
            self.report.refused.push(RefusedInterval {
                interval,
                copies: 1,
                refusal,
            });
            return Err(self.refuse(interval));
        };
        // Results land before the end, steps of pointers too, and units are free again.
        let update = latency(self.machine, Class::Scalar);
        let ops = self.graph.nodes.iter().zip(&candidate.found.0);
        let lands = ops.map(|(node, &at)| {
            let update = if node.memory { update } else { 1 };
            let latency = node.latency.max(node.busy).max(update);
            u32::try_from(latency.max(1)).map_or(at, |latency| at.saturating_add(latency))
        });
        let interval = lands.max().unwrap_or(1);
        Ok(self.finish(interval, candidate))
    }

    /// Returns the cycles in which operations could follow each other, each waiting for the one before.
    fn longest(&self) -> u32 {
        let latencies = self
            .graph
            .nodes
            .iter()
            .map(|node| node.latency.max(node.busy).max(1));
        u32::try_from(latencies.fold(0, i64::saturating_add)).unwrap_or(u32::MAX)
    }

    /// Returns the number of starts for an interval.
    fn starts(&self) -> u32 {
        let starts = STARTS
            .iter()
            .find(|(most, _)| self.graph.nodes.len() <= *most);
        starts.map_or(1, |&(_, starts)| starts)
    }

    fn refuse(&self, interval: u32) -> Unschedulable {
        Unschedulable {
            operations: self.body.ops.len(),
            registers: u8::try_from(self.request.free.count()).unwrap_or(u8::MAX),
            interval,
        }
    }

    /// Returns the intervals to try: at the last one operations could follow each other, each waiting for the
    /// one before.
    fn intervals(&self, least: u32) -> impl Iterator<Item = u32> + use<> {
        let latencies = self
            .graph
            .nodes
            .iter()
            .map(|node| node.latency.max(node.busy));
        // Pointers step once an interval.
        let steps = latency(self.machine, Class::Scalar).saturating_mul(2);
        let all = latencies.fold(steps, i64::saturating_add);
        let last = u32::try_from(all).unwrap_or(u32::MAX);
        let last = last.clamp(least, LONGEST_INTERVAL_CYCLES.max(least));
        let close = least.saturating_add(CLOSE_INTERVALS);
        std::iter::successors(Some(least), move |&n| {
            let step = if n < close {
                1
            } else {
                n.div_ceil(STRETCH_DIVISOR)
            };
            Some(n.saturating_add(step)).filter(|_| n < last)
        })
    }

    /// Returns the best schedule with an interval, if there is one.
    fn try_interval(&mut self, interval: u32) -> Option<PlacementCandidate> {
        let (known, refusal) = self.try_orders(interval);
        if self.body.in_order {
            let best = known.into_iter().min_by_key(rank);
            if best.is_none() {
                self.report.refused.push(RefusedInterval {
                    interval,
                    copies: self.unrolls.last().copied().unwrap_or(1),
                    refusal,
                });
            }
            return best;
        }
        let close = self.report.bound.cycles.saturating_add(CLOSE_INTERVALS);
        let starts = match self.starts() {
            starts if interval > close => starts.div_ceil(FEWER_STARTS),
            starts => starts,
        };
        let all: Vec<u32> = (0..starts).collect();
        let mut tried = 0;
        for unroll in self.unrolls.clone() {
            let same = known.iter().filter(|c| c.registers.unroll == unroll);
            let mut best: Option<PlacementCandidate> = None;
            for candidate in same {
                keep_better(&mut best, candidate.copy());
            }
            let mut graph = self.graph.clone();
            graph.limit_unroll(unroll);
            let starts = match self.failed {
                failed if failed < PATIENT_ATTEMPTS => &all[..],
                _ => &all[..all.len().min(FEWEST_STARTS)],
            };
            let (found, refusal) = self.make_starts(&graph, (interval, unroll), interval, starts);
            if let Some(candidate) = found {
                keep_better(&mut best, candidate);
            }
            if best.is_some() {
                return best;
            }
            self.report.refused.push(RefusedInterval {
                interval,
                copies: unroll,
                refusal,
            });
            self.failed += u32::from(refusal != IntervalRefusal::Dependences);
            tried += usize::from(refusal != IntervalRefusal::Dependences);
            if tried > MORE_COPIES && self.graph.nodes.len() > SMALL_NODES {
                break;
            }
            // More copies let values live longer, which takes no fewer registers.
            let free = self.request.free.count();
            if matches!(refusal, IntervalRefusal::Registers { live } if live > free) {
                break;
            }
        }
        None
    }

    /// Makes starts of the search; returns the best schedule, or why there is none.
    fn make_starts(
        &self,
        graph: &DependenceGraph,
        (interval, unroll): (u32, u32),
        span: u32,
        numbers: &[u32],
    ) -> (Option<PlacementCandidate>, IntervalRefusal) {
        let Some(starts) = Starts::new(self.body, graph, interval, span) else {
            return (None, IntervalRefusal::Dependences);
        };
        let live = starts.least_registers();
        if live > self.request.free.count() {
            return (None, IntervalRefusal::Registers { live });
        }
        let mut best: Option<PlacementCandidate> = None;
        let mut refusal = IntervalRefusal::Slots;
        // Starts since the last one that found a shorter schedule.
        let mut since = 0;
        for &start in numbers {
            let found = starts.place(start).ok_or(IntervalRefusal::Slots);
            since += 1;
            match found.and_then(|found| self.allocate(found, (interval, Some(unroll)))) {
                Ok(candidate) => {
                    let shorter = |best: &PlacementCandidate| candidate.length < best.length;
                    if best.as_ref().is_none_or(shorter) {
                        since = 0;
                    }
                    keep_better(&mut best, candidate);
                }
                Err(other) => refusal = worse(refusal, other),
            }
            if best.is_some() && since >= PATIENT_STARTS {
                break;
            }
        }
        (best, refusal)
    }

    /// Returns the schedules that the orders of [`Dataflow::schedule`] find, and why the others find none.
    fn try_orders(&self, interval: u32) -> (Vec<PlacementCandidate>, IntervalRefusal) {
        let (mut known, mut refusal) = (Vec::new(), IntervalRefusal::Slots);
        // Evenly spread operations hold the fewest registers where intervals are long.
        let spread = [Order::Spread];
        let long = interval > self.report.bound.cycles.saturating_add(CLOSE_INTERVALS);
        let more = spread.iter().filter(|_| long && !self.body.is_general());
        for &order in self.body.tries().iter().chain(more) {
            let found = Attempt::new(self.body, self.machine, interval).run(order, &self.sources);
            let found = found.ok_or(IntervalRefusal::Slots);
            match found.and_then(|found| self.allocate(found, (interval, None))) {
                Ok(candidate) => known.push(candidate),
                Err(other) => refusal = worse(refusal, other),
            }
        }
        (known, refusal)
    }

    /// Checks a placement and allocates its registers, which repeat after `unroll` iterations, or as soon as
    /// they may.
    fn allocate(
        &self,
        found: Found,
        (interval, unroll): (u32, Option<u32>),
    ) -> Result<PlacementCandidate, IntervalRefusal> {
        let (cycles, steps, last) = &found;
        let checked = check_placement(self.body, self.machine, interval, (cycles, steps, last));
        debug_assert!(unroll.is_none() || checked.is_ok(), "{checked:?}");
        checked.map_err(|_| IntervalRefusal::Slots)?;
        let latency = |op: &Op| op.latency(self.machine);
        let lifetimes = registers::lifetimes(self.body, cycles, interval, latency);
        let live = registers::count_live(self.body, &lifetimes, interval);
        let least = registers::least_unroll(&lifetimes, interval);
        let fitting = self.unrolls.iter().find(|&&allowed| allowed >= least);
        let unroll = match unroll {
            Some(unroll) if unroll >= least => unroll,
            Some(_) => return Err(IntervalRefusal::Registers { live }),
            None => *fitting.ok_or(IntervalRefusal::Dependences)?,
        };
        if live > self.request.free.count() {
            return Err(IntervalRefusal::Registers { live });
        }
        let length = cycles.iter().max().map_or(0, |&last| last + 1);
        let shape = (interval, unroll);
        let registers =
            registers::allocate_somehow(self.body, &lifetimes, shape, self.request.free);
        Ok(PlacementCandidate {
            registers: registers.ok_or(IntervalRefusal::Registers { live })?,
            found,
            length,
            live,
        })
    }

    fn finish(&self, interval: u32, candidate: PlacementCandidate) -> ModuloSchedule {
        let (cycles, steps, last) = candidate.found;
        let latency = |op: &Op| op.latency(self.machine);
        ModuloSchedule {
            slack: self.body.slack(&cycles, latency),
            body: self.body.clone(),
            interval,
            cycles,
            steps,
            last,
            registers: candidate.registers,
            loop_setup: u32::try_from(self.machine.cp2.loop_setup.0).unwrap_or(u32::MAX),
        }
    }
}

impl PlacementCandidate {
    fn copy(&self) -> Self {
        Self {
            found: self.found.clone(),
            registers: self.registers.clone(),
            ..*self
        }
    }
}

/// Returns what makes a schedule worse than others with the same interval.
fn rank(candidate: &PlacementCandidate) -> (u32, u32, u32) {
    (candidate.registers.unroll, candidate.length, candidate.live)
}

fn keep_better(best: &mut Option<PlacementCandidate>, candidate: PlacementCandidate) {
    if best
        .as_ref()
        .is_none_or(|best| rank(&candidate) < rank(best))
    {
        *best = Some(candidate);
    }
}

/// Returns the refusal that says more: of registers the one that lacks fewest.
fn worse(one: IntervalRefusal, other: IntervalRefusal) -> IntervalRefusal {
    use IntervalRefusal::{Dependences, Registers, Slots};
    match (one, other) {
        (Registers { live: a }, Registers { live: b }) => Registers { live: a.min(b) },
        (Registers { .. }, _) | (Slots, Slots | Dependences) => one,
        _ => other,
    }
}
