//! The dataflow of one iteration.

use cp2_machine::{Class, ClassMap};

/// A value that one iteration computes: a quad or a pair of registers' worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Value(pub(super) usize);

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reg {
    /// A whole value.
    Whole(Value),
    /// The lower pair of a quad.
    Lo(Value),
    /// The upper pair of a quad.
    Hi(Value),
    /// The pair register `r{n}`: a constant, or carried from an iteration to the next.
    Pair(u8),
    /// The quad register `q{n}`, likewise.
    Quad(u8),
}

impl Reg {
    /// The value it belongs to, and which of its halves it is.
    pub(super) fn value(self) -> Option<(Value, u8)> {
        match self {
            Self::Whole(v) => Some((v, 3)),
            Self::Lo(v) => Some((v, 1)),
            Self::Hi(v) => Some((v, 2)),
            Self::Pair(_) | Self::Quad(_) => None,
        }
    }
}

/// A pointer that steps once per iteration, after its last access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer(pub(super) usize);

/// How a pointer goes from an iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// By so many bytes.
    Bytes(i64),
    /// By the step register `s{0}` in the pointer's modulo range.
    Modulo(u8),
    /// By these step registers in turn, in the pointer's modulo range.
    Turns(&'static [u8]),
    /// By what a circular table says: `s{step}` is read through `a{table}`
    /// (with `s{by}` modulo) in every iteration.
    Table {
        /// Step register that is loaded.
        step: u8,
        /// Address register of the table.
        table: u8,
        /// Step register of the table's pointer: 8.
        by: u8,
        /// Whether the step is taken in the pointer's modulo range.
        modulo: bool,
    },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) pointer: usize,
    pub(super) offset: i64,
}

#[derive(Clone, Debug)]
pub(super) struct Op {
    pub(super) name: &'static str,
    pub(super) class: Class,
    pub(super) defs: Vec<Reg>,
    pub(super) uses: Vec<Reg>,
    /// Values that are loaded before it, though it does not read them: a store takes the place of what they were loaded from.
    pub(super) after: Vec<Reg>,
    pub(super) access: Option<Access>,
    /// Which part of an interval has passed when it may begin, where all is placed evenly.
    pub(super) phase: f64,
    /// The number behind the operands, if it has one.
    pub(super) immediate: Option<i64>,
}

impl Op {
    pub(super) fn is_load(&self) -> bool {
        self.access.is_some() && !self.defs.is_empty()
    }
}

/// The operations of one iteration, in an order in which they could be carried out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pub(super) ops: Vec<Op>,
    /// For every value whether it is a quad.
    pub(super) quads: Vec<bool>,
    /// Address register and step of every pointer.
    pub(super) pointers: Vec<(u8, Step)>,
    /// Whether the arithmetic is issued in the order given, evenly spread.
    pub(super) in_order: bool,
    /// Whether loads and stores are placed together, in the order in which they are due: for long chains that leave no memory slot free.
    pub(super) evenly: bool,
    /// Iterations that a loop is expected to have, where a longer interval may take less in all: loads and stores that find no memory slot
    /// lie far from their arithmetic, and the loop ends later.
    pub(crate) turns: Option<u64>,
    phase: f64,
    /// Pointers through which an iteration stores, each after all loads of the next iteration through the other.
    pub(super) behind: Vec<(usize, usize)>,
    /// Stores, and loads of the same iteration that read what they write.
    pub(super) through: Vec<(usize, usize)>,
    /// Stores, and loads of the next iteration that read what they write.
    pub(super) kept: Vec<(usize, usize)>,
    /// Cycles that an interval is longer than the least, so that a chain at the end of an
    /// iteration finds room before the next is half done.
    pub(crate) spare: usize,
}

impl Body {
    /// A body whose arithmetic is issued in the order given, for chains that
    /// run side by side: no more of them than given at a time hold registers.
    pub(crate) fn in_order() -> Self {
        Self {
            in_order: true,
            ..Self::default()
        }
    }

    /// The same for long chains with as many loads and stores as arithmetic.
    pub(crate) fn evenly() -> Self {
        Self {
            evenly: true,
            ..Self::in_order()
        }
    }

    /// What follows may begin when this part of an interval has passed.
    pub(crate) fn phase(&mut self, passed: f64) {
        self.phase = passed;
    }

    /// A new quad, not yet computed.
    pub(crate) fn quad(&mut self) -> Value {
        self.quads.push(true);
        Value(self.quads.len() - 1)
    }

    /// A new pair.
    pub(crate) fn pair(&mut self) -> Value {
        self.quads.push(false);
        Value(self.quads.len() - 1)
    }

    /// A pointer in `a{register}`.
    pub(crate) fn pointer(&mut self, register: u8, step: Step) -> Pointer {
        self.pointers.push((register, step));
        Pointer(self.pointers.len() - 1)
    }

    /// What an iteration stores through `stores` takes the place of what the next
    /// one loads through `loads`.
    pub(crate) fn behind_next(&mut self, stores: Pointer, loads: Pointer) {
        self.behind.push((stores.0, loads.0));
    }

    /// The load made last reads what store `store`, by its [place](Self::last), has written in the same iteration.
    pub(crate) fn reads_what_is_stored(&mut self, store: usize) {
        self.through.push((store, self.last()));
    }

    /// Load `load`, by its [place](Self::last), reads what store `store` has written in the iteration before, where no other stores go.
    pub(crate) fn reads_what_is_kept(&mut self, store: usize, load: usize) {
        self.kept.push((store, load));
    }

    /// The place of the operation made last.
    pub(crate) fn last(&self) -> usize {
        self.ops.len().saturating_sub(1)
    }

    /// An operation of the arithmetic slot: results and operands in the order of the assembly.
    pub(crate) fn op(&mut self, name: &'static str, defs: &[Reg], uses: &[Reg]) {
        self.ops.push(Op {
            name,
            class: class(name),
            defs: defs.to_vec(),
            uses: uses.to_vec(),
            after: Vec::new(),
            access: None,
            phase: self.phase,
            immediate: None,
        });
    }

    /// A quad that an operation computes as a whole.
    pub(crate) fn quad_op(&mut self, name: &'static str, uses: &[Reg]) -> Value {
        let value = self.quad();
        self.op(name, &[Reg::Whole(value)], uses);
        value
    }

    /// A quad that an operation computes of others as its immediate says.
    pub(crate) fn quad_immediate(&mut self, name: &'static str, from: &[Reg], n: i64) -> Value {
        let value = self.quad_op(name, from);
        if let Some(op) = self.ops.last_mut() {
            op.immediate = Some(n);
        }
        value
    }

    fn is_quad(&self, reg: Reg) -> bool {
        match reg {
            Reg::Whole(v) => self.quads.get(v.0).copied().unwrap_or(false),
            Reg::Quad(_) => true,
            Reg::Lo(_) | Reg::Hi(_) | Reg::Pair(_) => false,
        }
    }

    /// A load of `reg` from `offset` bytes behind the pointer.
    pub(crate) fn load(&mut self, reg: Reg, pointer: Pointer, offset: i64) {
        let name = if self.is_quad(reg) { "ldq" } else { "ldp" };
        self.access(name, Class::Load, pointer, offset, &[reg], &[]);
    }

    /// A load of a pair into both halves of the quad `reg`.
    pub(crate) fn load_twice(&mut self, reg: Reg, pointer: Pointer, offset: i64) {
        self.access("ldd", Class::Load, pointer, offset, &[reg], &[]);
    }

    /// Loads so many pairs from a pointer, two at a time, or one alone; each
    /// for both halves of a quad.
    pub(crate) fn load_pairs(&mut self, pointer: Pointer, count: usize) -> Vec<[Reg; 2]> {
        if count == 1 {
            let pair = self.pair();
            self.load(Reg::Whole(pair), pointer, 0);
            return vec![[Reg::Whole(pair); 2]];
        }
        let mut pairs = Vec::new();
        for i in 0..count.div_ceil(2) {
            let quad = self.quad();
            self.load(Reg::Whole(quad), pointer, 16 * i as i64);
            pairs.extend([[Reg::Lo(quad); 2], [Reg::Hi(quad); 2]]);
        }
        pairs.truncate(count);
        pairs
    }

    /// A store.
    pub(crate) fn store(&mut self, reg: Reg, pointer: Pointer, offset: i64) {
        let name = if self.is_quad(reg) { "stq" } else { "stp" };
        self.access(name, Class::Control, pointer, offset, &[], &[reg]);
    }

    /// A store into the place that `before` is loaded from, once it is.
    pub(crate) fn replace(&mut self, reg: Reg, before: Reg, pointer: Pointer, offset: i64) {
        self.store(reg, pointer, offset);
        if let Some(op) = self.ops.last_mut() {
            op.after.push(before);
        }
    }

    fn access(
        &mut self,
        name: &'static str,
        class: Class,
        pointer: Pointer,
        offset: i64,
        defs: &[Reg],
        uses: &[Reg],
    ) {
        let access = Access {
            pointer: pointer.0,
            offset,
        };
        self.ops.push(Op {
            name,
            class,
            defs: defs.to_vec(),
            uses: uses.to_vec(),
            after: Vec::new(),
            access: Some(access),
            phase: self.phase,
            immediate: None,
        });
    }

    /// Operations of the arithmetic slot.
    pub(crate) fn arithmetic(&self) -> usize {
        self.ops.iter().filter(|op| op.access.is_none()).count()
    }

    /// Cycles that the busiest unit needs for its operations of one iteration,
    /// where it does not take one every cycle.
    pub(super) fn busiest_unit(&self, machine: &cp2_machine::Machine) -> usize {
        let classes = self.classes();
        let cycles = classes.iter().map(|(class, &count)| {
            let interval = machine.cp2.interval[class].0;
            usize::try_from(count.saturating_mul(interval)).unwrap_or(usize::MAX)
        });
        cycles.max().unwrap_or(0)
    }

    /// Operations of the arithmetic slot by class.
    pub(super) fn classes(&self) -> ClassMap<u64> {
        let mut classes = ClassMap::default();
        for op in self.ops.iter().filter(|op| op.access.is_none()) {
            classes[op.class] += 1;
        }
        classes
    }

    /// Operations of the memory slot, step tables included.
    pub(crate) fn memory(&self) -> usize {
        let tables = self
            .pointers
            .iter()
            .filter(|(_, step)| table(*step).is_some());
        self.ops.len() - self.arithmetic() + tables.count()
    }
}

/// The step register that a table loads.
pub(super) fn table(step: Step) -> Option<u8> {
    match step {
        Step::Table { step, .. } => Some(step),
        Step::Bytes(_) | Step::Modulo(_) | Step::Turns(_) => None,
    }
}

/// The latency class of an arithmetic operation by its name: rows of one
/// mnemonic share it.
fn class(name: &str) -> Class {
    let rows = cp2_asm::isa::Op::ALL.iter().map(|op| op.row());
    rows.into_iter()
        .find(|row| row.mnemonic == name && row.slot() == cp2_asm::isa::Slot::Arith)
        .map_or(Class::Integer, |row| row.class)
}
