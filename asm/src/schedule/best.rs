//! Finds the best schedule of a body by several searches.

use super::check::check_placement;
use super::dataflow::{Dataflow, Op};
use super::dependence::{DependenceGraph, accesses};
use super::distances::Distances;
use super::iterative::{Strategy, place_iteratively};
use super::placement::{Attempt, Found, ModuloSchedule, latency, sources};
use super::registers::{self, FreeRegisters, Registers};
use super::report::{
    IntervalRefusal, Iterations, RefusedInterval, ScheduleBound, ScheduleReport, ScheduleRequest,
};
use super::search::Unschedulable;
use super::swing;
use super::tighten::Tightening;
use cp2_machine::Machine;

/// Starts of the search for each interval, by the number of operations up to which they are made.
const STARTS: [(usize, u32); 4] = [(60, 40), (130, 12), (260, 6), (usize::MAX, 3)];
/// Operations up to which all numbers of copies are tried for an interval.
const SMALL_NODES: usize = 60;
/// Numbers of copies that are tried beyond the first that dependences allow, for bodies of more operations.
const MORE_COPIES: usize = 1;
/// Intervals that are tried a cycle apart before they are stretched.
const CLOSE_INTERVALS: u32 = 16;
/// Divisor of stretching: an interval is longer than the one before by one in so many cycles.
const STRETCH_DIVISOR: u32 = 16;
/// Cycles of the longest interval that is tried: loops of more words fit no program memory.
const LONGEST_INTERVAL_CYCLES: u32 = 1 << 13;
/// Register cycles that a cycle of the schedule's length counts for while a placement is shortened, in turn.
const LENGTH_WEIGHTS: [i64; 2] = [2, 16];

/// A small generator of random numbers (G. Steele, D. Lea, C. Flood, OOPSLA 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a number below `limit`, or 0.
    fn below(&mut self, limit: i64) -> i64 {
        let limit = u64::try_from(limit).unwrap_or(0).max(1);
        i64::try_from(self.next() % limit).unwrap_or(0)
    }
}

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
        let graph = DependenceGraph::new(self, machine);
        let bound = ScheduleBound::new(self, machine, &graph);
        let mut search = Search {
            body: self,
            machine,
            request,
            unrolls: request.unrolls(),
            report: ScheduleReport {
                bound,
                contradiction: graph.find_contradiction(),
                refused: Vec::new(),
            },
            graph,
        };
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
        let graph = DependenceGraph::new(self, machine);
        let bound = ScheduleBound::new(self, machine, &graph);
        let mut search = Search {
            body: self,
            machine,
            request: &request,
            unrolls: vec![1],
            report: ScheduleReport {
                bound,
                contradiction: graph.find_contradiction(),
                refused: Vec::new(),
            },
            graph,
        };
        let found = search.run_straight();
        (found, search.report)
    }
}

struct Search<'a> {
    body: &'a Dataflow,
    machine: &'a Machine,
    request: &'a ScheduleRequest,
    unrolls: Vec<u32>,
    graph: DependenceGraph,
    report: ScheduleReport,
}

/// A placement with its registers.
struct Candidate {
    found: Found,
    registers: Registers,
    /// Cycles of an iteration.
    length: u32,
    live: u32,
}

impl Search<'_> {
    fn run(&mut self) -> Result<ModuloSchedule, Unschedulable> {
        let least = self.report.bound.cycles.max(self.request.least_interval);
        let mut tried = least;
        if self.report.contradiction.is_none() && !self.body.ops.is_empty() {
            for interval in self.intervals(least) {
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
        let graph = self.graph.clone();
        let interval = self.longest().saturating_add(1);
        let mut best: Option<Candidate> = None;
        let mut refusal = IntervalRefusal::Dependences;
        if self.report.contradiction.is_none() && !self.body.ops.is_empty() {
            for start in 0..self.starts() {
                match self.start(&graph, (interval, 1), start) {
                    Ok(candidate) => keep_better(&mut best, candidate),
                    Err(other) => refusal = worse(refusal, other),
                }
            }
            if best.is_none() {
                // One operation after the other, as they are written, needs the fewest registers.
                let mut graph = graph;
                graph.keep_order(self.body.ops.len());
                match self.start(&graph, (interval, 1), 0) {
                    Ok(candidate) => keep_better(&mut best, candidate),
                    Err(other) => refusal = worse(refusal, other),
                }
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
        let ops = self.graph.nodes.iter().zip(&candidate.found.0);
        let lands =
            ops.map(|(node, &at)| u32::try_from(node.latency.max(1)).map_or(at, |l| at + l));
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
        let all = latencies.fold(0, i64::saturating_add);
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
    fn try_interval(&mut self, interval: u32) -> Option<Candidate> {
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
        let starts = self.starts();
        let mut tried = 0;
        for unroll in self.unrolls.clone() {
            let same = known.iter().filter(|c| c.registers.unroll == unroll);
            let mut best: Option<Candidate> = None;
            for candidate in same {
                keep_better(&mut best, candidate.copy());
            }
            let mut graph = self.graph.clone();
            graph.limit_unroll(unroll);
            let mut refusal = IntervalRefusal::Dependences;
            for start in 0..starts {
                match self.start(&graph, (interval, unroll), start) {
                    Ok(candidate) => keep_better(&mut best, candidate),
                    Err(IntervalRefusal::Dependences) => break,
                    Err(other) => refusal = worse(refusal, other),
                }
            }
            if best.is_some() {
                return best;
            }
            self.report.refused.push(RefusedInterval {
                interval,
                copies: unroll,
                refusal,
            });
            tried += usize::from(refusal != IntervalRefusal::Dependences);
            if tried > MORE_COPIES && self.graph.nodes.len() > SMALL_NODES {
                break;
            }
        }
        None
    }

    /// Returns the schedules that the orders of [`Dataflow::schedule`] find, and why the others find none.
    fn try_orders(&self, interval: u32) -> (Vec<Candidate>, IntervalRefusal) {
        let (mut known, mut refusal) = (Vec::new(), IntervalRefusal::Slots);
        for &order in self.body.tries() {
            let found = Attempt::new(self.body, self.machine, interval).run(order);
            let found = found.ok_or(IntervalRefusal::Slots);
            match found.and_then(|found| self.allocate(found, (interval, None))) {
                Ok(candidate) => known.push(candidate),
                Err(other) => refusal = worse(refusal, other),
            }
        }
        (known, refusal)
    }

    /// Makes one start of the search; none if it leads nowhere.
    fn start(
        &self,
        graph: &DependenceGraph,
        (interval, unroll): (u32, u32),
        start: u32,
    ) -> Result<Candidate, IntervalRefusal> {
        let mut random = SplitMix(u64::from(start) << 32 | u64::from(interval));
        let base = Distances::new(graph, interval).ok_or(IntervalRefusal::Dependences)?;
        let mut graph = graph.clone();
        let last = self.choose_last(&mut graph, &base, start, &mut random);
        let mut distances = base;
        if graph.steps.iter().any(Option::is_some) {
            distances = Distances::new(&graph, interval).ok_or(IntervalRefusal::Slots)?;
        }
        // Every other start is of the mirrored problem, in which time runs backwards.
        let mirrored = start % 2 == 1;
        if mirrored {
            distances = distances.mirror();
        }
        let strategy = self.strategy(&distances, start / 2, mirrored, &mut random);
        let mut at =
            place_iteratively(&graph.nodes, &distances, &strategy).ok_or(IntervalRefusal::Slots)?;
        if mirrored {
            // A unit is busy from the issue on, also where time runs backwards.
            at.iter_mut().for_each(|t| *t = -*t);
        }
        let weight = LENGTH_WEIGHTS[(start / 4) as usize % LENGTH_WEIGHTS.len()];
        let at = Tightening::new(&graph, i64::from(interval), at, weight).run();
        let found = self.number(&graph, &at, last);
        self.allocate(
            found.ok_or(IntervalRefusal::Slots)?,
            (interval, Some(unroll)),
        )
    }

    /// Chooses the access with which each pointer steps whose steps are loaded: the deepest one first, any
    /// one in later starts.
    fn choose_last(
        &self,
        graph: &mut DependenceGraph,
        distances: &Distances,
        start: u32,
        random: &mut SplitMix,
    ) -> Vec<Option<usize>> {
        let choose = |pointer: usize| {
            graph.steps[pointer]?;
            let own: Vec<usize> = accesses(self.body, pointer).collect();
            if start >= 4 {
                let any = random.below(own.len() as i64);
                return own.get(usize::try_from(any).unwrap_or(0)).copied();
            }
            let late = |&op: &usize| (distances.depth[op], -distances.height[op], op);
            own.into_iter().max_by_key(late)
        };
        let chosen: Vec<_> = (0..self.body.pointers.len()).map(choose).collect();
        for (pointer, &access) in chosen.iter().enumerate() {
            if let Some(access) = access {
                graph.end_pointer(self.body, pointer, access);
            }
        }
        chosen
    }

    /// Returns the strategy of a start: by height, by swing order, in the order of the text, then by height
    /// with more and more chance.
    fn strategy(
        &self,
        distances: &Distances,
        number: u32,
        mirrored: bool,
        random: &mut SplitMix,
    ) -> Strategy {
        let nodes = self.graph.nodes.len();
        let by_height = |node: usize| distances.height[node];
        let priority = match number {
            0 => (0..nodes).map(by_height).collect(),
            1 | 2 => {
                let first = if number == 1 {
                    swing::First::End
                } else {
                    swing::First::Beginning
                };
                self.swing_priority(first)
            }
            3 => {
                let order = |node: usize| {
                    if mirrored {
                        node as i64
                    } else {
                        -(node as i64)
                    }
                };
                (0..nodes).map(order).collect()
            }
            _ => {
                let longest = distances.height.iter().max().copied().unwrap_or(0);
                let reach = longest / 8 * i64::from(1 + number % 4) + 2;
                (0..nodes)
                    .map(|node| by_height(node) + random.below(reach))
                    .collect()
            }
        };
        Strategy {
            priority,
            close: !number.is_multiple_of(3),
        }
    }

    /// Returns priorities by the order of swing modulo scheduling; loads of steps come last.
    fn swing_priority(&self, first: swing::First) -> Vec<i64> {
        let sources = sources(self.body);
        let latency = |op: usize| self.graph.nodes[op].latency;
        let order = swing::list_swinging(&sources, latency, first);
        let mut priority = vec![-1; self.graph.nodes.len()];
        for (place, op) in order.into_iter().rev().enumerate() {
            priority[op] = place as i64;
        }
        priority
    }

    /// Numbers the cycles from the first one on, and finds the last access through each pointer.
    fn number(
        &self,
        graph: &DependenceGraph,
        at: &[i64],
        last: Vec<Option<usize>>,
    ) -> Option<Found> {
        let first = at.iter().min().copied().unwrap_or(0);
        let cycles: Vec<u32> =
            (at.iter().map(|&t| u32::try_from(t - first).ok())).collect::<Option<_>>()?;
        let steps = graph
            .steps
            .iter()
            .map(|&step| step.and_then(|node| cycles.get(node).copied()));
        let steps = steps.collect();
        let ends = last.into_iter().enumerate().map(|(pointer, chosen)| {
            let own = accesses(self.body, pointer);
            // A pointer without accesses never steps.
            chosen
                .or_else(|| own.max_by_key(|&op| cycles[op]))
                .unwrap_or(0)
        });
        let ends = ends.collect();
        Some((cycles[..self.body.ops.len()].to_vec(), steps, ends))
    }

    /// Checks a placement and allocates its registers, which repeat after `unroll` iterations, or as soon as
    /// they may.
    fn allocate(
        &self,
        found: Found,
        (interval, unroll): (u32, Option<u32>),
    ) -> Result<Candidate, IntervalRefusal> {
        let (cycles, steps, last) = &found;
        let checked = check_placement(self.body, self.machine, interval, (cycles, steps, last));
        debug_assert!(unroll.is_none() || checked.is_ok(), "{checked:?}");
        checked.map_err(|_| IntervalRefusal::Slots)?;
        let latency = |op: &Op| latency(self.machine, op.class);
        let lifetimes = registers::lifetimes(self.body, cycles, interval, latency);
        let live = registers::count_live(self.body, &lifetimes, interval);
        let least = registers::least_unroll(&lifetimes, interval);
        let fitting = self.unrolls.iter().find(|&&allowed| allowed >= least);
        let unroll = match unroll {
            Some(unroll) if unroll >= least => unroll,
            Some(_) => return Err(IntervalRefusal::Registers { live }),
            None => *fitting.ok_or(IntervalRefusal::Dependences)?,
        };
        let length = cycles.iter().max().map_or(0, |&last| last + 1);
        let shape = (interval, unroll);
        let registers =
            registers::allocate_somehow(self.body, &lifetimes, shape, self.request.free);
        Ok(Candidate {
            registers: registers.ok_or(IntervalRefusal::Registers { live })?,
            found,
            length,
            live,
        })
    }

    fn finish(&self, interval: u32, candidate: Candidate) -> ModuloSchedule {
        let (cycles, steps, last) = candidate.found;
        let latency = |op: &Op| latency(self.machine, op.class);
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

impl Candidate {
    fn copy(&self) -> Self {
        Self {
            found: self.found.clone(),
            registers: self.registers.clone(),
            ..*self
        }
    }
}

/// Returns what makes a schedule worse than others with the same interval.
fn rank(candidate: &Candidate) -> (u32, u32, u32) {
    (candidate.registers.unroll, candidate.length, candidate.live)
}

fn keep_better(best: &mut Option<Candidate>, candidate: Candidate) {
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
