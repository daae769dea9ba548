//! The dataflow of one iteration of a loop.

use super::placement::latency;
use super::scalars::ScalarUse;
use cp2_machine::{Class, ClassMap, Machine};
use std::fmt;
use std::hash::{Hash, Hasher};

/// A value that one iteration computes, in a quad or a pair of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataValue(pub(super) usize);

/// An operand of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataOperand {
    /// A whole value.
    Whole(DataValue),
    /// The lower pair of a quad.
    Lo(DataValue),
    /// The upper pair of a quad.
    Hi(DataValue),
    /// The pair register `r{n}`: a constant, or a value carried from an iteration to the next.
    Pair(u8),
    /// The quad register `q{n}`: a constant, or a value carried from an iteration to the next.
    Quad(u8),
    /// The shared scalar with this number: an invariant, or a value carried from an iteration to the next.
    Scalar(u8),
}

impl DataOperand {
    /// Returns the value that the operand belongs to.
    pub(crate) fn whole(self) -> Option<DataValue> {
        self.value().map(|(value, _)| value)
    }

    /// Returns the value that the operand belongs to, and a mask of its pairs: 1 the lower, 2 the upper, 3
    /// both.
    pub(super) fn value(self) -> Option<(DataValue, u8)> {
        match self {
            Self::Whole(v) => Some((v, 3)),
            Self::Lo(v) => Some((v, 1)),
            Self::Hi(v) => Some((v, 2)),
            Self::Pair(_) | Self::Quad(_) | Self::Scalar(_) => None,
        }
    }
}

/// A pointer that steps once per iteration, after its last access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataPointer(pub(super) usize);

/// The way in which a pointer goes from an iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PointerStep {
    /// By so many bytes.
    Bytes(i64),
    /// By the step register `s{0}`.
    Register(u8),
    /// By the step register `s{0}` in the pointer's modulo range.
    Modulo(u8),
    /// By these step registers in turn, in the pointer's modulo range.
    Turns(&'static [u8]),
    /// By steps in a circular table: in every iteration `s{step}` is loaded through `a{table}`, which itself
    /// steps by `s{by}` modulo the table.
    Table {
        /// Step register that is loaded.
        step: u8,
        /// Address register of the table.
        table: u8,
        /// Step register of the table's pointer, which holds 8.
        by: u8,
        /// True if the step is taken in the pointer's modulo range.
        modulo: bool,
    },
}

/// A memory access through a pointer at an offset in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) pointer: usize,
    pub(super) offset: i64,
}

/// An operation of the body, its results and operands in the order of the assembly.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) name: &'static str,
    pub(super) class: Class,
    /// Cycles to the first issue that may read a result, where these are not those of the class.
    pub(super) own_latency: Option<u64>,
    pub(super) defs: Vec<DataOperand>,
    pub(super) uses: Vec<DataOperand>,
    /// For every operand the iterations that lie between the one that computes it and this one: 0 for a value
    /// of the same iteration.
    pub(super) distances: Vec<u32>,
    /// Values that must have been loaded before this store, though it does not read them: it overwrites the
    /// place that they are loaded from.
    pub(super) after: Vec<DataOperand>,
    pub(super) access: Option<Access>,
    /// Fraction of an interval that must have passed before the operation may begin, where arithmetic is
    /// placed evenly.
    pub(super) phase: f64,
    /// Immediate behind the operands, if there is one.
    pub(super) immediate: Option<DataImmediate>,
    /// True if it takes the memory slot although no pointer leads to memory: scalar arithmetic, and accesses through
    /// scalar values.
    pub(super) scalar: bool,
    /// Offset in bytes from the last operand, which is an address.
    pub(super) through: Option<i64>,
}

/// An immediate of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataImmediate {
    /// An integer.
    Number(i64),
    /// A binary32 by its bits.
    Bits(u32),
}

impl fmt::Display for DataImmediate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Bits(bits) => write!(f, "bits({bits})"),
        }
    }
}

impl Op {
    /// Returns the cycles from the issue to the first one that may read a result.
    pub(super) fn latency(&self, machine: &Machine) -> i64 {
        let own = self
            .own_latency
            .map(|cycles| i64::try_from(cycles).unwrap_or(i64::MAX));
        own.unwrap_or_else(|| latency(machine, self.class))
    }

    /// Returns true if the operation takes the memory slot.
    pub(super) fn takes_memory(&self) -> bool {
        self.access.is_some() || self.scalar
    }

    pub(super) fn is_load(&self) -> bool {
        self.access.is_some() && !self.defs.is_empty()
    }

    /// Returns the operands with the iterations that lie between the one that computes them and this one.
    pub(super) fn reads(&self) -> impl Iterator<Item = (DataOperand, u32)> + Clone {
        let operands = self.uses.iter().zip(&self.distances);
        operands.map(|(&operand, &distance)| (operand, distance))
    }
}

/// An order of two operations that no operand shows: of a store and a load of the same place, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct IssueOrder {
    pub(super) before: usize,
    pub(super) after: usize,
    /// Iterations between the two.
    pub(super) distance: u32,
}

/// The operations of one iteration, in an order in which they could be carried out.
#[derive(Clone, Debug, Default)]
pub struct Dataflow {
    pub(super) ops: Vec<Op>,
    /// For every value true if it is a quad, or a couple of scalars.
    pub(super) quads: Vec<bool>,
    /// For every value the registers that it takes, if it is a scalar or a couple of them.
    pub(super) scalars: Vec<Option<ScalarUse>>,
    /// Address register and step of every pointer.
    pub(super) pointers: Vec<(u8, PointerStep)>,
    /// True if the arithmetic is issued in the order given, evenly spread.
    pub(super) in_order: bool,
    /// True if loads and stores are placed together, in the order in which they are due: for long chains that
    /// leave no memory slot free.
    pub(super) evenly: bool,
    /// Expected number of iterations, if longer intervals are to be compared by the cycles of the whole loop.
    ///
    /// A longer interval may take fewer cycles: loads and stores that find no memory slot near their
    /// arithmetic make the loop end later.
    pub turns: Option<u64>,
    /// Phase of the operations that are added from here on, see [`Op::phase`].
    phase: f64,
    /// Pairs of pointers: an iteration's stores through the first come after all loads of the next iteration
    /// through the second.
    pub(super) behind: Vec<(usize, usize)>,
    /// Orders of operations that no operand shows.
    pub(super) orders: Vec<IssueOrder>,
    /// Values that are read behind the last iteration: their registers are theirs to the end of it.
    pub(super) outputs: Vec<DataValue>,
    /// Values that are given before the first iteration: their registers are theirs up to its begin.
    pub(super) begun: Vec<DataValue>,
    /// True if no word may wait for anything, so that all placements are checked.
    pub(super) unstalled: bool,
    /// Cycles by which the interval is longer than the least, so that a chain at the end of an iteration
    /// finds room before the next iteration is half done.
    pub spare: usize,
}

impl Dataflow {
    /// Creates a body whose arithmetic is issued in the order given.
    ///
    /// This is for independent chains: registers are held by no more of them at a time than the order
    /// interleaves.
    pub fn in_order() -> Self {
        Self {
            in_order: true,
            ..Self::default()
        }
    }

    /// Returns the body without an order in which its arithmetic is issued.
    pub(crate) fn without_order(&self) -> Self {
        Self {
            in_order: false,
            evenly: false,
            ..self.clone()
        }
    }

    /// Returns this body, in order if `other` is.
    pub(super) fn order_as(&self, other: &Self) -> Self {
        Self {
            in_order: other.in_order,
            evenly: other.evenly,
            ..self.clone()
        }
    }

    /// Creates a body whose arithmetic is issued in the order given and whose loads and stores are placed
    /// together, for long chains with as many loads and stores as arithmetic.
    pub fn evenly() -> Self {
        Self {
            evenly: true,
            ..Self::in_order()
        }
    }

    /// Sets the phase of the operations that are added from here on: the fraction of an interval after which
    /// they may begin.
    pub fn phase(&mut self, passed: f64) {
        self.phase = passed;
    }

    /// Adds a quad that is not yet computed.
    pub fn quad(&mut self) -> DataValue {
        self.enter(true, None)
    }

    /// Adds a pair that is not yet computed.
    pub fn pair(&mut self) -> DataValue {
        self.enter(false, None)
    }

    /// Enters a value of two registers, or of one.
    pub(super) fn enter(&mut self, wide: bool, scalar: Option<ScalarUse>) -> DataValue {
        self.quads.push(wide);
        self.scalars.push(scalar);
        DataValue(self.quads.len() - 1)
    }

    /// Adds a pointer in `a{register}`.
    pub fn pointer(&mut self, register: u8, step: PointerStep) -> DataPointer {
        self.pointers.push((register, step));
        DataPointer(self.pointers.len() - 1)
    }

    /// Lets all pointers with constant steps stay where they are: no other iteration follows.
    pub(crate) fn hold_pointers(&mut self) {
        for (_, step) in &mut self.pointers {
            if let PointerStep::Bytes(bytes) = step {
                *bytes = 0;
            }
        }
    }

    /// Returns the way in which a pointer steps.
    pub(crate) fn pointer_step(&self, pointer: DataPointer) -> PointerStep {
        let found = self.pointers.get(pointer.0);
        found.map_or(PointerStep::Bytes(0), |&(_, step)| step)
    }

    /// Returns the address register of a pointer.
    pub(crate) fn pointer_register(&self, pointer: DataPointer) -> u8 {
        let found = self.pointers.get(pointer.0);
        found.map_or(0, |&(register, _)| register)
    }

    /// Declares that an iteration stores through `stores` into places that the next iteration loads from
    /// through `loads`.
    pub fn order_stores_after_next_loads(&mut self, stores: DataPointer, loads: DataPointer) {
        self.behind.push((stores.0, loads.0));
    }

    /// Declares that operation `after` of an iteration is issued in a later cycle than operation `before` of the
    /// iteration `distance` before it. Both are indices of [`Self::last`].
    pub fn order(&mut self, before: usize, after: usize, distance: u32) {
        let order = IssueOrder {
            before,
            after,
            distance,
        };
        if before.max(after) < self.ops.len() {
            self.orders.push(order);
        }
    }

    /// Declares that operand number `operand` of the operation added last is the value that the iteration
    /// `distance` before has computed.
    ///
    /// Registers named as operands are not of an iteration and stay as they are.
    pub fn read_earlier(&mut self, operand: usize, distance: u32) {
        let Some(op) = self.ops.last_mut() else {
            return;
        };
        let is_value = (op.uses.get(operand)).is_some_and(|used| used.value().is_some());
        if let (true, Some(own)) = (is_value, op.distances.get_mut(operand)) {
            *own = distance;
        }
    }

    /// Declares that a value is read behind the last iteration, so that nothing overwrites it before the end.
    pub fn keep(&mut self, value: DataValue) {
        if !self.outputs.contains(&value) {
            self.outputs.push(value);
        }
    }

    /// Declares that a value is given before the first iteration, though perhaps none reads it.
    pub(crate) fn begin_with(&mut self, value: DataValue) {
        if !self.begun.contains(&value) {
            self.begun.push(value);
        }
    }

    /// Hashes all that a schedule depends on: which operations read and write what, and their classes.
    ///
    /// Names, immediates, offsets, steps in bytes and the numbers of registers that no operation writes only count once
    /// the schedule is emitted.
    pub(super) fn hash_shape(&self, hasher: &mut impl Hasher) {
        let values_only = |op: &Op| op.defs.iter().all(|def| def.value().is_some());
        let unwritten = self.ops.iter().all(values_only);
        let shape = |operand: &DataOperand| {
            let fixed = unwritten && operand.value().is_none();
            (!fixed).then_some(*operand)
        };
        self.ops.len().hash(hasher);
        for op in &self.ops {
            let uses: Vec<_> = op.uses.iter().map(shape).collect();
            (op.class, &op.defs, uses, &op.distances, &op.after).hash(hasher);
            let pointer = op.access.map(|access| access.pointer);
            (pointer, op.scalar, op.phase.to_bits(), op.own_latency).hash(hasher);
        }
        let stays = |&(_, step): &(u8, PointerStep)| step == PointerStep::Bytes(0);
        let steps = |pointer| (stays(pointer), table(pointer.1).is_some());
        let steps: Vec<_> = self.pointers.iter().map(steps).collect();
        (&self.quads, &self.scalars, steps).hash(hasher);
        (self.in_order, self.evenly).hash(hasher);
        (&self.orders, &self.outputs, &self.begun, &self.behind).hash(hasher);
        (self.spare, self.unstalled, self.turns).hash(hasher);
    }

    /// Returns true if an iteration depends on others in ways that only the check of a placement knows.
    pub(super) fn is_general(&self) -> bool {
        !self.orders.is_empty() || self.has_scalars() || self.reads_earlier()
    }

    /// Returns true if an operation reads a value of an earlier iteration.
    pub(super) fn reads_earlier(&self) -> bool {
        let earlier = |op: &Op| op.distances.iter().any(|&distance| distance > 0);
        self.ops.iter().any(earlier)
    }

    /// Iterates over the stores and the loads of an iteration that come behind them in their order: the load may read
    /// what is stored.
    pub(super) fn stored_and_loaded(&self) -> impl Iterator<Item = (usize, usize)> {
        let op = |index: usize| self.ops.get(index);
        let stores = move |index| op(index).is_some_and(|op| op.access.is_some() && !op.is_load());
        let loads = move |index| op(index).is_some_and(Op::is_load);
        let orders = self.orders.iter().filter(|order| order.distance == 0);
        orders
            .map(|order| (order.before, order.after))
            .filter(move |&(before, after)| stores(before) && loads(after))
    }

    /// Returns the index of the operation added last.
    pub fn last(&self) -> usize {
        self.ops.len().saturating_sub(1)
    }

    /// Adds an operation of the arithmetic slot: results and operands in the order of the assembly.
    pub fn op(&mut self, name: &'static str, defs: &[DataOperand], uses: &[DataOperand]) {
        self.operation((name, class(name)), defs, uses, None);
    }

    /// Adds an operation that computes a whole quad; returns the quad.
    pub fn quad_op(&mut self, name: &'static str, uses: &[DataOperand]) -> DataValue {
        let value = self.quad();
        self.op(name, &[DataOperand::Whole(value)], uses);
        value
    }

    /// Adds an operation with an immediate that computes a whole quad; returns the quad.
    pub fn quad_immediate(
        &mut self,
        name: &'static str,
        from: &[DataOperand],
        n: i64,
    ) -> DataValue {
        let value = self.quad_op(name, from);
        if let Some(op) = self.ops.last_mut() {
            op.immediate = Some(DataImmediate::Number(n));
        }
        value
    }

    /// Returns true if a value is a quad.
    pub(crate) fn is_quad_value(&self, value: DataValue) -> bool {
        self.is_quad(DataOperand::Whole(value))
    }

    fn is_quad(&self, reg: DataOperand) -> bool {
        match reg {
            DataOperand::Whole(v) => self.quads.get(v.0).copied().unwrap_or(false),
            DataOperand::Quad(_) => true,
            DataOperand::Lo(_)
            | DataOperand::Hi(_)
            | DataOperand::Pair(_)
            | DataOperand::Scalar(_) => false,
        }
    }

    /// Adds a load of `reg` from `offset` bytes behind the pointer.
    pub fn load(&mut self, reg: DataOperand, pointer: DataPointer, offset: i64) {
        let name = if self.is_quad(reg) { "ldq" } else { "ldp" };
        self.access(name, Class::Load, pointer, offset, &[reg], &[]);
    }

    /// Adds a load of one pair into both halves of the quad `reg`.
    pub fn load_twice(&mut self, reg: DataOperand, pointer: DataPointer, offset: i64) {
        self.access("ldd", Class::Load, pointer, offset, &[reg], &[]);
    }

    /// Adds loads of so many pairs from a pointer, two at a time, or of one alone.
    ///
    /// Returns each pair twice, as the operands for both halves of a quad.
    pub fn load_pairs(&mut self, pointer: DataPointer, count: usize) -> Vec<[DataOperand; 2]> {
        if count == 1 {
            let pair = self.pair();
            self.load(DataOperand::Whole(pair), pointer, 0);
            return vec![[DataOperand::Whole(pair); 2]];
        }
        let mut pairs = Vec::new();
        for i in 0..count.div_ceil(2) {
            let quad = self.quad();
            self.load(DataOperand::Whole(quad), pointer, 16 * i as i64);
            pairs.extend([[DataOperand::Lo(quad); 2], [DataOperand::Hi(quad); 2]]);
        }
        pairs.truncate(count);
        pairs
    }

    /// Adds a store of `reg` to `offset` bytes behind the pointer.
    pub fn store(&mut self, reg: DataOperand, pointer: DataPointer, offset: i64) {
        let name = if self.is_quad(reg) { "stq" } else { "stp" };
        self.access(name, Class::Control, pointer, offset, &[], &[reg]);
    }

    /// Adds a store into the place that `before` is loaded from, which waits for that load.
    pub fn replace(
        &mut self,
        reg: DataOperand,
        before: DataOperand,
        pointer: DataPointer,
        offset: i64,
    ) {
        self.store(reg, pointer, offset);
        if let Some(op) = self.ops.last_mut() {
            op.after.push(before);
        }
    }

    /// Adds an operation of the arithmetic slot with its class, and the immediate behind its operands if there is one.
    pub(crate) fn operation(
        &mut self,
        (name, class): (&'static str, Class),
        defs: &[DataOperand],
        uses: &[DataOperand],
        immediate: Option<DataImmediate>,
    ) {
        self.ops.push(Op {
            name,
            class,
            own_latency: None,
            defs: defs.to_vec(),
            uses: uses.to_vec(),
            distances: vec![0; uses.len()],
            after: Vec::new(),
            access: None,
            phase: self.phase,
            immediate,
            scalar: false,
            through: None,
        });
    }

    /// Lets no word wait for anything. Generated loops are not asked that: a word of theirs may wait for a load or for
    /// a step of its pointer.
    pub(crate) fn refuse_waits(&mut self) {
        self.unstalled = true;
    }

    /// Sets the latency of the operation added last, in cycles, where it is not that of its class.
    pub(crate) fn set_latency(&mut self, cycles: u64) {
        if let Some(op) = self.ops.last_mut() {
            op.own_latency = Some(cycles.max(1));
        }
    }

    /// Declares that `store` overwrites what the load `load` of the same iteration reads. Both are indices of
    /// [`Self::last`]. Returns false where they are no store and no load of a value.
    pub(crate) fn replaces_what_is_loaded(&mut self, store: usize, load: usize) -> bool {
        let loaded = self.ops.get(load).and_then(|op| op.defs.first().copied());
        match (self.ops.get_mut(store), loaded) {
            (Some(op), Some(loaded)) if op.defs.is_empty() && loaded.value().is_some() => {
                op.after.push(loaded);
                true
            }
            _ => false,
        }
    }

    /// Adds a load or a store.
    pub(crate) fn access(
        &mut self,
        name: &'static str,
        class: Class,
        pointer: DataPointer,
        offset: i64,
        defs: &[DataOperand],
        uses: &[DataOperand],
    ) {
        let access = Access {
            pointer: pointer.0,
            offset,
        };
        self.operation((name, class), defs, uses, None);
        if let Some(op) = self.ops.last_mut() {
            op.access = Some(access);
        }
    }

    /// Counts the operations of the arithmetic slot.
    pub fn arithmetic(&self) -> usize {
        self.ops.iter().filter(|op| !op.takes_memory()).count()
    }

    /// Returns the cycles in an iteration of the busiest unit that does not take an operation every cycle:
    /// `max(count * interval)` over the classes.
    pub fn busiest_unit(&self, machine: &Machine) -> usize {
        let classes = self.classes();
        let cycles = classes.iter().map(|(class, &count)| {
            let interval = machine.cp2.interval[class].0;
            usize::try_from(count.saturating_mul(interval)).unwrap_or(usize::MAX)
        });
        cycles.max().unwrap_or(0)
    }

    /// Returns true if an operation is of a class.
    pub(super) fn uses(&self, class: Class) -> bool {
        self.ops.iter().any(|op| op.class == class)
    }

    /// Counts the operations of the arithmetic slot by class.
    pub fn classes(&self) -> ClassMap<u64> {
        let mut classes = ClassMap::default();
        for op in self.ops.iter().filter(|op| !op.takes_memory()) {
            classes[op.class] += 1;
        }
        classes
    }

    /// Counts the operations of both slots by class, loads of step tables included.
    pub(crate) fn all_classes(&self) -> ClassMap<u64> {
        let mut classes = self.classes();
        let memory = self.ops.iter().filter(|op| op.takes_memory());
        memory.for_each(|op| classes[op.class] += 1);
        classes[Class::ScalarLoad] += self.count_tables() as u64;
        classes
    }

    /// Counts the operations of the memory slot, loads of step tables included.
    pub fn memory(&self) -> usize {
        self.ops.len() - self.arithmetic() + self.count_tables()
    }

    /// Counts the pointers whose steps a table has.
    fn count_tables(&self) -> usize {
        let pointers = self.pointers.iter();
        pointers.filter(|(_, step)| table(*step).is_some()).count()
    }
}

/// Returns the step register that a table loads, if the pointer steps by a table.
pub(super) fn table(step: PointerStep) -> Option<u8> {
    match step {
        PointerStep::Table { step, .. } => Some(step),
        PointerStep::Bytes(_)
        | PointerStep::Register(_)
        | PointerStep::Modulo(_)
        | PointerStep::Turns(_) => None,
    }
}

/// Returns the latency class of an arithmetic operation by its name; all rows of one mnemonic share it.
fn class(name: &str) -> Class {
    let rows = crate::isa::Op::ALL.iter().map(|op| op.row());
    rows.into_iter()
        .find(|row| row.mnemonic == name && row.slot() == crate::isa::Slot::Arith)
        .map_or(Class::Integer, |row| row.class)
}
