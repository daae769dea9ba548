//! Checks a placement against all that an iteration asks for.
//!
//! The check knows nothing of the way in which a placement was found: it states each rule once more, from the
//! operations themselves.

use super::dataflow::{DataOperand, Dataflow, table};
use super::placement::{latency, overlap};
use super::registers::FIRST_SCALAR;
use cp2_machine::{Class, Machine};

/// The cycles of all operations, those of the loads of steps, and the operation with which each pointer steps.
pub(super) type PlacedCycles<'a> = (&'a [u32], &'a [Option<u32>], &'a [usize]);

/// A rule that a placement breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Violation {
    /// Two operations in one slot, or in a unit that is busy.
    Resource(usize, usize),
    /// An operation that reads a value or a register before it is there.
    Early(usize, usize),
    /// A register that is written before an operation has read it, or a result that lands behind a later one.
    Overwritten(usize, usize),
    /// Two accesses in the wrong order.
    Order(usize, usize),
    /// An access that is an interval or more apart from another through the same pointer, or behind its step.
    Pointer(usize),
    /// A step that is not loaded when it is needed.
    Step(usize),
    /// Cycles or steps are missing.
    Incomplete,
}

/// Checks that a placement keeps all rules for an interval.
pub(super) fn check_placement(
    body: &Dataflow,
    machine: &Machine,
    interval: u32,
    (cycles, steps, last): PlacedCycles<'_>,
) -> Result<(), Violation> {
    let complete = cycles.len() == body.ops.len()
        && steps.len() == body.pointers.len()
        && last.len() == body.pointers.len();
    require(complete && interval > 0, Violation::Incomplete)?;
    let check = Check {
        body,
        machine,
        at: cycles.iter().map(|&t| i64::from(t)).collect(),
        interval: i64::from(interval),
    };
    check.resources(steps)?;
    check.values()?;
    check.fixed_registers()?;
    check.orders()?;
    check.pointers(steps, last)
}

fn require(right: bool, violation: Violation) -> Result<(), Violation> {
    if right { Ok(()) } else { Err(violation) }
}

/// An operation that names a register.
#[derive(Clone, Copy, Debug)]
struct TouchingOperation {
    operation: usize,
    reads: bool,
    writes: bool,
}

struct Check<'a> {
    body: &'a Dataflow,
    machine: &'a Machine,
    at: Vec<i64>,
    interval: i64,
}

impl Check<'_> {
    fn latency(&self, op: usize) -> i64 {
        self.body.ops[op].latency(self.machine)
    }

    /// Each slot has one operation in a cycle, each unit one in its own interval. Loads of steps count behind
    /// the operations.
    fn resources(&self, steps: &[Option<u32>]) -> Result<(), Violation> {
        let ops = self.body.ops.iter().zip(&self.at);
        let ops = ops.map(|(op, &at)| (op.class, op.takes_memory(), at));
        let loads = steps.iter().flatten();
        let loads = loads.map(|&at| (Class::ScalarLoad, true, i64::from(at)));
        let mut slots = Vec::with_capacity(self.at.len() + steps.len());
        let mut units = Vec::new();
        for (number, (class, memory, at)) in ops.chain(loads).enumerate() {
            slots.push(((memory, at.rem_euclid(self.interval)), number));
            let busy = i64::try_from(self.machine.cp2.interval[class].0).unwrap_or(i64::MAX);
            // A unit that is busy for longer than the interval is in its own way.
            for after in (0..busy.min(self.interval.saturating_add(1))).filter(|_| busy > 1) {
                units.push(((class, (at + after).rem_euclid(self.interval)), number));
            }
        }
        require_apart(slots)?;
        require_apart(units)
    }

    /// Every value is there when it is read.
    fn values(&self) -> Result<(), Violation> {
        let mut writers: Vec<Vec<usize>> = vec![Vec::new(); self.body.quads.len()];
        for (w, writer) in self.body.ops.iter().enumerate() {
            for own in writer.defs.iter().filter_map(|def| def.value()) {
                writers[own.0.0].push(w);
            }
        }
        for (r, reader) in self.body.ops.iter().enumerate() {
            let replaced = reader.after.iter().map(|&operand| (operand, 0));
            for (used, distance) in reader.reads().chain(replaced) {
                let own = used.value().and_then(|(value, _)| writers.get(value.0));
                for &w in own.into_iter().flatten() {
                    let defs = &self.body.ops[w].defs;
                    if defs.iter().any(|&def| overlap(def, used)) {
                        let read = self.at[r] + i64::from(distance) * self.interval;
                        require(read >= self.at[w] + self.latency(w), Violation::Early(w, r))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Every fixed register holds what the operations one after the other would find in it.
    ///
    /// All reads and writes of one register are listed in the order of the text over three iterations.
    fn fixed_registers(&self) -> Result<(), Violation> {
        for touching in self.list_touching() {
            if !touching.iter().any(|own| own.writes) {
                continue;
            }
            let mut last: Option<(i64, usize)> = None;
            let mut readers: Vec<(i64, usize)> = Vec::new();
            for iteration in 0..3 {
                for own in &touching {
                    let number = own.operation;
                    let at = self.at[number] + iteration * self.interval;
                    if own.reads {
                        if let Some((written, writer)) = last {
                            let lands = written + self.latency(writer);
                            require(at >= lands, Violation::Early(writer, number))?;
                        }
                        readers.push((at, number));
                    }
                    if own.writes {
                        for &(read, reader) in &readers {
                            require(read <= at, Violation::Overwritten(number, reader))?;
                        }
                        if let Some((written, writer)) = last {
                            let lands = written + self.latency(writer);
                            let right = at + self.latency(number) > lands && at > written;
                            require(right, Violation::Overwritten(writer, number))?;
                        }
                        last = Some((at, number));
                        readers.clear();
                    }
                }
            }
        }
        Ok(())
    }

    /// Lists for every register the operations that name it.
    fn list_touching(&self) -> Vec<Vec<TouchingOperation>> {
        let mut all: Vec<Vec<TouchingOperation>> = vec![Vec::new(); usize::from(u8::MAX) + 1];
        for (operation, op) in self.body.ops.iter().enumerate() {
            let reads = op.uses.iter().map(|&operand| (operand, true));
            let writes = op.defs.iter().map(|&operand| (operand, false));
            for (operand, reads) in reads.chain(writes) {
                for register in pairs_of(operand) {
                    let own = &mut all[usize::from(register)];
                    if own.last().is_none_or(|last| last.operation != operation) {
                        own.push(TouchingOperation {
                            operation,
                            reads: false,
                            writes: false,
                        });
                    }
                    if let Some(last) = own.last_mut() {
                        last.reads |= reads;
                        last.writes |= !reads;
                    }
                }
            }
        }
        all
    }

    /// Loads and stores of the same places come in their order.
    fn orders(&self) -> Result<(), Violation> {
        let later = |before: usize, after: usize, iterations: i64| {
            let apart = self.at[after] + iterations * self.interval - self.at[before];
            require(apart > 0, Violation::Order(before, after))
        };
        let body = self.body;
        for order in &body.orders {
            later(order.before, order.after, i64::from(order.distance))?;
        }
        for &(stores, loads) in &body.behind {
            for store in self.accesses(stores) {
                for load in self.accesses(loads) {
                    later(load, store, -1)?;
                }
            }
        }
        Ok(())
    }

    fn accesses(&self, pointer: usize) -> impl Iterator<Item = usize> {
        let ops = self.body.ops.iter().enumerate();
        ops.filter(move |(_, op)| op.access.is_some_and(|a| a.pointer == pointer))
            .map(|(number, _)| number)
    }

    /// Pointers step with their last access, which finds its step, and before their first one of the next
    /// iteration.
    fn pointers(&self, steps: &[Option<u32>], last: &[usize]) -> Result<(), Violation> {
        let update = latency(self.machine, Class::Scalar).max(1);
        for (pointer, &(_, step)) in self.body.pointers.iter().enumerate() {
            if self.accesses(pointer).next().is_none() {
                continue;
            }
            let own = || self.accesses(pointer).any(|op| op == last[pointer]);
            require(own(), Violation::Incomplete)?;
            let user = self.at[last[pointer]];
            if self.body.must_step(pointer) {
                for op in self.accesses(pointer) {
                    let right = self.at[op] <= user && self.at[op] + self.interval >= user + update;
                    require(right, Violation::Pointer(op))?;
                }
            }
            if table(step).is_some() {
                let load = steps[pointer]
                    .map(i64::from)
                    .ok_or(Violation::Step(pointer))?;
                let ready = load + latency(self.machine, Class::ScalarLoad);
                let kept = load + self.interval > user;
                let stepped = !self.body.unstalled || self.interval >= update;
                require(ready <= user && kept && stepped, Violation::Step(pointer))?;
            }
        }
        Ok(())
    }
}

/// Checks that no two operations take the same cycle of something.
fn require_apart<T: Ord>(mut taken: Vec<(T, usize)>) -> Result<(), Violation> {
    taken.sort_unstable();
    let mut pairs = taken.windows(2);
    let met = pairs.find(|pair| pair[0].0 == pair[1].0);
    met.map_or(Ok(()), |pair| {
        Err(Violation::Resource(pair[0].1, pair[1].1))
    })
}

/// Returns the registers of an operand that is no value: pairs from 0 on, scalars from 64 on.
pub(super) fn pairs_of(operand: DataOperand) -> std::ops::Range<u8> {
    match operand {
        DataOperand::Pair(r) => r..r.saturating_add(1),
        DataOperand::Quad(q) => q.saturating_mul(2)..q.saturating_mul(2).saturating_add(2),
        DataOperand::Scalar(s) => {
            FIRST_SCALAR.saturating_add(s)..FIRST_SCALAR.saturating_add(s).saturating_add(1)
        }
        DataOperand::Whole(_) | DataOperand::Lo(_) | DataOperand::Hi(_) => 0..0,
    }
}
