//! Modulo schedules of a body, and the placement of its operations.

use super::dataflow::{DataOperand, DataValue, Dataflow, Op, PointerStep, table};
use super::registers::{FIRST_SCALAR, Registers};
use super::search::Unschedulable;
use super::swing::{First, Ties};
use cp2_machine::{Class, ClassMap, Machine};

/// A body with the cycle of every operation and the registers of every value.
#[derive(Clone, Debug)]
pub struct ModuloSchedule {
    pub(super) body: Dataflow,
    /// Cycles from an iteration to the next.
    pub(super) interval: u32,
    /// Cycle of every operation, from the beginning of its iteration.
    pub(super) cycles: Vec<u32>,
    /// Cycle of the load of every pointer's step, where a table has the step.
    pub(super) steps: Vec<Option<u32>>,
    /// Index of the operation with which every pointer steps.
    pub(super) last: Vec<usize>,
    pub(super) registers: Registers,
    /// Cycles by which a load could come later, or a store earlier, if its slot were free.
    pub(super) slack: Vec<u32>,
    /// Cycles that a hardware loop takes to set up, besides its own word.
    pub(super) loop_setup: u32,
}

impl ModuloSchedule {
    /// Returns this schedule for another body of the same shape, see [`Dataflow::hash_shape`].
    pub(crate) fn for_body(&self, body: &Dataflow) -> Self {
        Self {
            body: body.order_as(&self.body),
            interval: self.interval,
            cycles: self.cycles.clone(),
            steps: self.steps.clone(),
            last: self.last.clone(),
            registers: self.registers.clone(),
            slack: self.slack.clone(),
            loop_setup: self.loop_setup,
        }
    }

    /// Returns the cycles from an iteration to the next.
    #[must_use]
    pub const fn interval(&self) -> u32 {
        self.interval
    }

    /// Returns the cycles from the first to the last operation of an iteration, both counted.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.cycles.iter().max().map_or(0, |&last| last + 1)
    }

    /// Returns the iterations after which registers repeat.
    #[must_use]
    pub const fn copies(&self) -> u32 {
        self.registers.unroll
    }

    /// Counts the pair registers that values take.
    pub(crate) fn count_registers(&self) -> u32 {
        let mut taken = 0u64;
        for (base, &quad) in self.registers.base.iter().zip(&self.body.quads) {
            for &first in base.iter().filter(|&&first| first < FIRST_SCALAR) {
                taken |= if quad { 3 } else { 1 } << first;
            }
        }
        taken.count_ones()
    }

    /// Returns the cycle of an operation, from the beginning of its iteration.
    #[must_use]
    pub fn cycle(&self, operation: usize) -> Option<u32> {
        self.cycles.get(operation).copied()
    }

    /// Returns the first pair register of a value of an iteration, one before the first perhaps: -1 is the one
    /// that comes before iteration 0.
    #[must_use]
    pub fn register_of(&self, value: DataValue, iteration: i64) -> Option<u8> {
        let copy = iteration.rem_euclid(i64::from(self.registers.unroll.max(1)));
        let own = self.registers.base.get(value.0)?;
        own.get(usize::try_from(copy).ok()?).copied()
    }

    /// Makes the error that refuses this schedule.
    pub fn make_refusal(&self) -> Unschedulable {
        let all = self.registers.base.iter().flatten();
        let registers = all.filter(|&&first| first < FIRST_SCALAR).max();
        Unschedulable {
            operations: self.body.ops.len(),
            registers: registers.copied().unwrap_or(0),
            interval: self.interval,
        }
    }
}

/// Orders in which operations are placed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Arithmetic as early as possible, then loads, then stores; all stores of a pointer within that fraction
    /// of an interval.
    Loads(f64),
    /// Arithmetic as early as possible, then stores, all of a pointer within that fraction of an interval,
    /// then loads.
    Stores(f64),
    /// Like `Loads`, but arithmetic in the order in which it is written.
    Written(f64),
    /// Arithmetic in the order in which it is written, evenly over the interval; loads as late and stores as
    /// early as possible.
    Spread,
    /// Arithmetic by its phase, then loads and stores together; stores are due so many cycles after they are
    /// ready.
    Even(i64),
    /// Like `Even`, but the first stores through a pointer wait until the last can be made within an interval
    /// of them.
    Held(i64),
    /// By swing modulo scheduling, see `swing`.
    Swing(First, Ties),
}

impl Dataflow {
    /// Returns for every load and store the cycles by which it could be moved towards the arithmetic.
    pub(super) fn slack(&self, cycles: &[u32], latency: impl Fn(&Op) -> i64) -> Vec<u32> {
        if self.has_scalars() || self.reads_earlier() {
            // Values of other iterations keep every access in its place.
            return vec![0; self.ops.len()];
        }
        // Words that come nearer to the arithmetic stay one behind the other, and with them the orders of accesses.
        let mut slack = vec![i64::MAX; self.ops.len()];
        for (reader, sources) in sources(self).into_iter().enumerate() {
            for writer in sources {
                let apart = i64::from(cycles[reader]) - i64::from(cycles[writer]);
                let spare = apart - latency(&self.ops[writer]);
                for end in [reader, writer] {
                    slack[end] = slack[end].min(spare);
                }
            }
        }
        let spare = |s: i64| if s == i64::MAX { 0 } else { s.max(0) as u32 };
        slack.into_iter().map(spare).collect()
    }

    /// Returns true if the accesses of an iteration through a pointer must lie within an interval.
    ///
    /// Exempt are pointers that stay where they are, in bodies in order.
    pub(super) fn must_step(&self, pointer: usize) -> bool {
        let step = self.pointers.get(pointer).map(|&(_, step)| step);
        !self.in_order || step != Some(PointerStep::Bytes(0))
    }

    /// Returns the orders to try.
    pub(super) fn tries(&self) -> &'static [Order] {
        use Order::{Even, Held, Loads, Stores, Swing, Written};
        if self.evenly {
            return &[
                Even(4),
                Even(8),
                Even(16),
                Even(0),
                Held(4),
                Held(6),
                Held(8),
                Held(12),
                Held(16),
                Loads(1.0),
                Stores(1.0),
            ];
        }
        if self.in_order {
            // Short chains leave little room for loads, and many chains little room for stores.
            return &[Loads(1.0), Stores(1.0)];
        }
        // With a narrow window the stores of an iteration lie close together; with a wide one they can lie
        // closer to their operands.
        &[
            Loads(1.0),
            Loads(0.75),
            Loads(0.5),
            Loads(0.25),
            Written(1.0),
            Written(0.5),
            Swing(First::End, Ties::Early),
            Swing(First::End, Ties::Late),
            Swing(First::Beginning, Ties::Early),
            Swing(First::Beginning, Ties::Late),
        ]
    }
}

/// Returns the latency of a class in cycles.
pub(super) fn latency(machine: &Machine, class: Class) -> i64 {
    i64::try_from(machine.cp2.latency[class].0).unwrap_or(i64::MAX)
}

/// Times at which an operation may be placed, from the first to the last one, or from the last one back.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacementTimes {
    first: i64,
    last: i64,
    backwards: bool,
}

impl PlacementTimes {
    /// Makes the times from `first` to `last`, both included, the earliest one first.
    pub(super) fn forwards(first: i64, last: i64) -> Self {
        Self {
            first,
            last,
            backwards: false,
        }
    }

    /// Makes the times from `first` to `last`, both included, the latest one first.
    pub(super) fn backwards(first: i64, last: i64) -> Self {
        Self {
            backwards: true,
            ..Self::forwards(first, last)
        }
    }

    /// Returns true if the latest time comes first.
    pub(super) fn go_back(self) -> bool {
        self.backwards
    }

    /// Returns the first time whose cycle of the interval is free. `look` returns 0 for a cycle that is, or else by how
    /// many cycles the next one that may be lies further on.
    pub(super) fn find(self, interval: i64, look: impl Fn(usize) -> usize) -> Option<i64> {
        // After an interval the cycles repeat.
        let count = self.last.saturating_sub(self.first).saturating_add(1);
        let (count, cycles) = (count.min(interval), interval as usize);
        let begin = if self.backwards {
            self.last
        } else {
            self.first
        };
        // Divided once: this is the innermost loop of a search.
        let mut place = begin.rem_euclid(interval) as usize;
        let mut after = 0;
        while after < count {
            let further = look(place).min(cycles);
            if further == 0 {
                let apart = if self.backwards { -after } else { after };
                return Some(begin + apart);
            }
            after += further as i64;
            place = match self.backwards {
                true if place < further => place + cycles - further,
                true => place - further,
                false if place + further >= cycles => place + further - cycles,
                false => place + further,
            };
        }
        None
    }
}

/// Returns by how many cycles the next one at which a unit may be free for `busy` cycles lies behind a cycle, or before
/// it where `backwards` is true; 0 if the unit is free.
pub(super) fn look_at_unit<T>(
    unit: &[T],
    place: usize,
    (busy, backwards): (usize, bool),
    is_free: impl Fn(&T) -> bool,
) -> usize {
    let cycles = unit.len();
    let busy = busy.min(cycles);
    let taken = |after: &usize| {
        let at = place + after;
        !is_free(&unit[if at < cycles { at } else { at - cycles }])
    };
    // An operation that begins closer meets the same cycle in which the unit is taken.
    match backwards {
        true => (0..busy).find(taken).map_or(0, |after| busy - after),
        false => (0..busy).rev().find(taken).map_or(0, |after| after + 1),
    }
}

/// The cycles of an interval in which a slot is free, as bits.
#[derive(Clone, Debug)]
struct FreeCycles {
    cycles: usize,
    bits: Vec<u64>,
}

impl FreeCycles {
    fn new(cycles: usize) -> Self {
        let mut bits = vec![u64::MAX; cycles.div_ceil(64)];
        if let (Some(last), rest @ 1..) = (bits.last_mut(), cycles % 64) {
            *last >>= 64 - rest;
        }
        Self { cycles, bits }
    }

    fn take(&mut self, place: usize) {
        self.bits[place / 64] &= !(1 << (place % 64));
    }

    /// Returns by how many cycles the next free one lies behind a cycle, or before it where `backwards` is true, or
    /// else the end of the interval; 0 if the cycle is free.
    fn look(&self, place: usize, backwards: bool) -> usize {
        let (word, bit) = (place / 64, place % 64);
        match backwards {
            false => {
                let own = self.bits[word] >> bit;
                if own != 0 {
                    return own.trailing_zeros() as usize;
                }
                let mut words = (word + 1..self.bits.len()).filter(|&word| self.bits[word] != 0);
                let at = |word: usize| word * 64 + self.bits[word].trailing_zeros() as usize;
                words.next().map_or(self.cycles, at) - place
            }
            true => {
                let own = self.bits[word] << (63 - bit);
                if own != 0 {
                    return own.leading_zeros() as usize;
                }
                let mut words = (0..word).rev().filter(|&word| self.bits[word] != 0);
                let after = |word: usize| word * 64 + 64 - self.bits[word].leading_zeros() as usize;
                place + 1 - words.next().map_or(0, after)
            }
        }
    }
}

/// The placement of a body for one interval. Times are relative to the first arithmetic operation and may be
/// negative.
pub(super) struct Attempt<'a> {
    pub(super) body: &'a Dataflow,
    machine: &'a Machine,
    pub(super) interval: i64,
    /// The cycles in which the arithmetic slot is free.
    arithmetic: FreeCycles,
    /// The cycles in which the memory slot is free.
    memory: FreeCycles,
    /// For each class whose unit does not take an operation every cycle: the cycles of the interval in which
    /// the unit is free.
    units: ClassMap<Vec<bool>>,
    /// Time of every operation that is placed.
    pub(super) at: Vec<Option<i64>>,
}

/// Cycles of all operations, cycles of the loads of steps, and the last access through each pointer.
pub(super) type Found = (Vec<u32>, Vec<Option<u32>>, Vec<usize>);

impl<'a> Attempt<'a> {
    pub(super) fn new(body: &'a Dataflow, machine: &'a Machine, interval: u32) -> Self {
        let free = vec![true; interval as usize];
        Self {
            body,
            machine,
            interval: i64::from(interval),
            arithmetic: FreeCycles::new(interval as usize),
            memory: FreeCycles::new(interval as usize),
            units: ClassMap::from_fn(|class| {
                let busy = machine.cp2.interval[class].0 > 1;
                if busy { free.clone() } else { Vec::new() }
            }),
            at: vec![None; body.ops.len()],
        }
    }

    /// Returns the latency of an operation in cycles.
    pub(super) fn latency(&self, op: usize) -> i64 {
        self.body.ops[op].latency(self.machine)
    }

    /// Takes the slot and the unit of an operation at the first of some times at which both are free.
    pub(super) fn place_within(&mut self, op: usize, times: PlacementTimes) -> Option<i64> {
        let op = &self.body.ops[op];
        self.take_slot((op.takes_memory(), op.class), times)
    }

    /// Takes a slot, that of memory or that of arithmetic, and the unit of a class at the first of some times at which
    /// both are free.
    fn take_slot(&mut self, (memory, class): (bool, Class), times: PlacementTimes) -> Option<i64> {
        let n = self.interval as usize;
        let busy = usize::try_from(self.machine.cp2.interval[class].0).ok()?;
        let slots = match memory {
            true => &mut self.memory,
            false => &mut self.arithmetic,
        };
        let unit = &mut self.units[class];
        let backwards = times.go_back();
        let look = |place: usize| match slots.look(place, backwards) {
            0 => look_at_unit(unit, place, (busy, backwards), |free| *free),
            further => further,
        };
        let t = times.find(self.interval, look)?;
        let place = t.rem_euclid(self.interval) as usize;
        slots.take(place);
        if !unit.is_empty() {
            (0..busy.min(n)).for_each(|after| unit[(place + after) % n] = false);
        }
        Some(t)
    }

    /// Places all operations in an order; none if the constraints cannot be met. `sources` are those of the body, see
    /// [`sources`].
    pub(super) fn run(mut self, order: Order, sources: &[Vec<usize>]) -> Option<Found> {
        // These orders know arithmetic of the sections and accesses through pointers.
        if self.body.has_scalars() {
            return None;
        }
        match order {
            Order::Loads(window) | Order::Written(window) => {
                let written = matches!(order, Order::Written(_)) || self.body.in_order;
                self.place_arithmetic(sources, written, self.body.in_order)?;
                self.place_loads(sources)?;
                self.place_stores(sources, window)?;
            }
            Order::Spread => {
                self.place_arithmetic(sources, true, true)?;
                self.place_loads(sources)?;
                self.place_stores(sources, 1.0)?;
            }
            Order::Even(lag) | Order::Held(lag) => {
                self.place_by_phase(sources)?;
                self.place_evenly(sources, lag, matches!(order, Order::Held(_)))?;
            }
            Order::Stores(window) => {
                self.place_arithmetic(sources, self.body.in_order, self.body.in_order)?;
                self.place_stores(sources, window)?;
                self.place_loads(sources)?;
            }
            Order::Swing(first, ties) => self.place_swinging(sources, first, ties)?,
        }
        self.carried()?;
        self.check_store_order()?;
        let last = self.last_accesses()?;
        let steps = self.place_steps(&last)?;
        let all = self.at.iter().chain(&steps).flatten();
        let first = *all.min()?;
        // A load that nobody reads may have found no time that is near the others.
        let shift = |t: i64| u32::try_from(t.checked_sub(first)?).ok();
        Some((
            self.at
                .iter()
                .map(|t| t.and_then(shift))
                .collect::<Option<_>>()?,
            steps.iter().map(|t| t.and_then(shift)).collect(),
            last,
        ))
    }

    /// Returns true if the accesses of an iteration through a pointer must lie within an interval.
    pub(super) fn steps(&self, pointer: usize) -> bool {
        self.body.must_step(pointer)
    }

    /// Checks the registers that are carried from an iteration to the next.
    ///
    /// An operation written before the one that writes the register, or that one itself, reads the value of
    /// the iteration before; an operation behind it reads the new value.
    fn carried(&self) -> Option<()> {
        let fixed = |r: &DataOperand| r.value().is_none();
        for (w, writer) in self.body.ops.iter().enumerate() {
            for def in writer.defs.iter().filter(|r| fixed(r)) {
                let written = self.at[w]?;
                let lands = written + self.latency(w);
                for (r, reader) in self.body.ops.iter().enumerate() {
                    if !reader.uses.contains(def) {
                        continue;
                    }
                    let read = self.at[r]?;
                    let right = if r <= w {
                        read <= written && read + self.interval >= lands
                    } else {
                        read >= lands && read <= written + self.interval
                    };
                    right.then_some(())?;
                }
            }
        }
        Some(())
    }

    /// Returns the times of the first and the last placed access through a pointer.
    fn ends(&self, pointer: usize) -> Option<(i64, i64)> {
        let ops = self.body.ops.iter().zip(&self.at);
        let own = ops.filter(|(op, _)| op.access.is_some_and(|a| a.pointer == pointer));
        let times = own.filter_map(|(_, &at)| at);
        Some((times.clone().min()?, times.max()?))
    }

    /// Returns the first cycle for stores through a pointer, if there are loads of the next iteration that
    /// must come before ([`Dataflow::order_stores_after_next_loads`]).
    pub(super) fn first_store_cycle(&self, stores: usize) -> Option<i64> {
        let loads = self.body.behind.iter().filter(|(own, _)| *own == stores);
        let last = loads.filter_map(|&(_, loads)| Some(self.ends(loads)?.1));
        last.max().map(|last| last + self.interval + 1)
    }

    /// Checks that stores come after the loads of the next iteration that must come before them.
    fn check_store_order(&self) -> Option<()> {
        let stores = self.body.behind.iter().map(|&(stores, _)| stores);
        let right = |stores| Some(self.ends(stores)?.0 >= self.first_store_cycle(stores)?);
        stores
            .into_iter()
            .all(|s| right(s) == Some(true))
            .then_some(())
    }

    /// Returns the last access through every pointer; none if the accesses through one do not lie within an
    /// interval.
    fn last_accesses(&self) -> Option<Vec<usize>> {
        (0..self.body.pointers.len())
            .map(|pointer| {
                let own = || {
                    let ops = self.body.ops.iter().enumerate();
                    ops.filter(move |(_, op)| op.access.is_some_and(|a| a.pointer == pointer))
                        .filter_map(|(i, _)| self.at[i].map(|t| (t, i)))
                };
                let ((first, _), (last, op)) = (own().min()?, own().max()?);
                let near = last.saturating_sub(first) < self.interval;
                (near || !self.steps(pointer)).then_some(op)
            })
            .collect()
    }

    /// Places the loads of steps: early enough for the pointer's last access, and after that of the iteration
    /// before.
    fn place_steps(&mut self, last: &[usize]) -> Option<Vec<Option<i64>>> {
        let latency = latency(self.machine, Class::ScalarLoad);
        let mut steps = Vec::new();
        for (&(_, step), &op) in self.body.pointers.iter().zip(last) {
            steps.push(match table(step) {
                None => None,
                Some(_) => {
                    let user = self.at[op]?;
                    let first = (user - self.interval).saturating_add(1);
                    let times = PlacementTimes::backwards(first, user - latency);
                    Some(self.take_slot((true, Class::ScalarLoad), times)?)
                }
            });
        }
        Some(steps)
    }
}

/// Returns true if two operands have a pair in common.
pub(super) fn overlap(a: DataOperand, b: DataOperand) -> bool {
    match (a.value(), b.value()) {
        (Some((a, x)), Some((b, y))) => a == b && x & y != 0,
        _ => false,
    }
}

/// Returns for every operation the operations of its iteration that compute its operands, or load what it
/// overwrites.
pub(super) fn sources(body: &Dataflow) -> Vec<Vec<usize>> {
    let ops = &body.ops;
    let mut writers: Vec<Vec<(usize, DataOperand)>> = vec![Vec::new(); body.quads.len()];
    for (i, op) in ops.iter().enumerate() {
        for &def in &op.defs {
            if let Some((value, _)) = def.value() {
                writers[value.0].push((i, def));
            }
        }
    }
    let of = |op: &Op| {
        let own = op.reads().filter(|&(_, distance)| distance == 0);
        let uses = own.map(|(used, _)| used).chain(op.after.iter().copied());
        let uses = uses.filter_map(|u| Some((u, u.value()?.0)));
        let mut found: Vec<usize> = uses
            .flat_map(|(used, value)| {
                let own = writers[value.0].iter();
                own.filter(move |(_, def)| overlap(*def, used))
                    .map(|&(i, _)| i)
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    ops.iter().map(of).collect()
}
