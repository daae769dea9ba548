//! A linear block as it was read: declarations and operations on named values.

use crate::diag::{Chain, Fail, Problem, nearest};
use crate::isa::{Op, Scalar};
use crate::source::Span;
use crate::syntax::{BlockValueName, Register};
use std::collections::HashMap;
use std::rc::Rc;

/// Number of times that a block is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockCount {
    /// Once: a straight line.
    Once,
    /// A number that is known.
    Known(u64),
    /// The number in a register.
    Register {
        register: Scalar,
        /// The least number that it may be.
        at_least: u64,
        /// A number that it is a multiple of.
        multiple_of: u64,
    },
}

/// A value before the first iteration: `.before x@1 = q20`.
#[derive(Clone, Debug)]
pub(crate) struct InitialValue {
    pub(crate) value: usize,
    /// Number of iterations before the first.
    pub(crate) distance: u32,
    pub(crate) source: InitialSource,
    /// The first number that is given, if that is no register.
    pub(crate) number: crate::expr::Value,
    pub(crate) at: Span,
}

/// The place of a value before the first iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialSource {
    Register(Register),
    /// The words of a quad, of which a pair takes the first two.
    Words([u32; 4]),
    /// A value of a block before in the same chain.
    Block {
        block: usize,
        value: usize,
    },
    /// A number in a scalar.
    Number(i64),
}

/// A register that gets a value behind the last iteration: `.after q20 = x`.
#[derive(Clone, Debug)]
pub(crate) struct FinalValue {
    pub(crate) register: Register,
    pub(crate) value: usize,
    pub(crate) at: Span,
}

/// Number of registers that a value takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueWidth {
    Pair,
    Quad,
    /// A shared scalar.
    Scalar,
}

impl ValueWidth {
    /// Returns the width with an article.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Pair => "a pair",
            Self::Quad => "a quad",
            Self::Scalar => "a scalar",
        }
    }

    /// Returns what is said of the place where a value of the width is computed.
    pub(crate) const fn describe_place(self) -> &'static str {
        match self {
            Self::Pair => "a pair is computed here",
            Self::Quad => "a quad is computed here",
            Self::Scalar => "a scalar is computed here",
        }
    }
}

/// A value that an iteration computes.
#[derive(Clone, Debug)]
pub(crate) struct BlockValue {
    pub(crate) name: Rc<str>,
    /// First place where it is named.
    pub(crate) at: Span,
    pub(crate) width: Option<ValueWidth>,
    /// Places where the lower and the upper half are computed.
    pub(crate) defined: [Option<Span>; 2],
}

/// A use of a value: which half, and how many iterations after it was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ValueUse {
    pub(crate) value: usize,
    pub(crate) half: Option<u8>,
    pub(crate) distance: u32,
}

/// An operand of an operation.
#[derive(Clone, Debug)]
pub(crate) enum BlockOperand {
    Value(ValueUse),
    Constant {
        index: usize,
        half: Option<u8>,
    },
    Register(Register),
    Immediate(crate::expr::Value),
    Address {
        pointer: usize,
        offset: i64,
    },
    /// The place at so many bytes from a scalar value.
    Place {
        address: ValueUse,
        offset: i64,
    },
    /// Two scalar results.
    Couple([ValueUse; 2]),
}

/// An operation as written.
#[derive(Clone, Debug)]
pub(crate) struct BlockOperation {
    pub(crate) mnemonic: Rc<str>,
    /// Rows of that name and number of operands.
    pub(crate) rows: Vec<Op>,
    pub(crate) operands: Vec<(BlockOperand, Span)>,
    pub(crate) at: Span,
    pub(crate) chain: Chain,
    /// Fraction of an interval after which it may begin, where it was written under `.phase`.
    pub(crate) phase: f64,
}

impl BlockOperation {
    /// Lists the values of the operation, each with true if it is a result.
    pub(crate) fn list_values(&self) -> impl Iterator<Item = (ValueUse, bool)> {
        // Results stand at the same places in all rows.
        let form = self.rows.first().map(|op| op.row().form.operands());
        let operands = form.unwrap_or_default().iter().zip(&self.operands);
        operands.flat_map(|(o, (operand, _))| {
            let values = match *operand {
                BlockOperand::Value(used) | BlockOperand::Place { address: used, .. } => {
                    [Some(used), None]
                }
                BlockOperand::Couple(both) => both.map(Some),
                _ => [None, None],
            };
            values
                .into_iter()
                .flatten()
                .map(|used| (used, o.role.writes()))
        })
    }
}

/// A constant: the words of a quad.
#[derive(Clone, Debug)]
pub(crate) struct BlockConstant {
    pub(crate) name: Rc<str>,
    pub(crate) words: [u32; 4],
    pub(crate) at: Span,
}

/// The place that a pointer begins at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PointerOrigin {
    /// In a scalar register.
    Register(Scalar),
    /// At an address that is known.
    Address(i64),
}

/// The distance from an iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockStep {
    /// Bytes.
    Bytes(i64),
    /// The bytes in the step register with this number.
    Register(u8),
    /// The bytes in the table at an address: an integer every 8 bytes, over and over.
    Table(TableAddress, BlockExtent),
}

/// The address of a table of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableAddress {
    Known(i64),
    /// The address of the label with this number among those of the block, which may come later in the source.
    Label(usize),
}

/// The label of a table of steps that is not known where the pointer is declared.
#[derive(Clone, Debug)]
pub(crate) struct TableLabel {
    /// The key of its symbol.
    pub(crate) key: Rc<str>,
    pub(crate) at: Span,
    /// Name of the pointer.
    pub(crate) pointer: Rc<str>,
}

/// The bytes in which a pointer goes round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockExtent {
    /// So many.
    Bytes(i64),
    /// The number in a register, and so many more.
    Register(Scalar, i64),
}

impl BlockExtent {
    /// Returns the register that the extent is computed from.
    pub(crate) fn register(self) -> Option<Scalar> {
        match self {
            Self::Bytes(_) => None,
            Self::Register(register, _) => Some(register),
        }
    }
}

/// A pointer that steps once an iteration.
#[derive(Clone, Debug)]
pub(crate) struct BlockPointer {
    pub(crate) name: Rc<str>,
    pub(crate) base: PointerOrigin,
    /// Bytes from the base to the place of the first iteration.
    pub(crate) bytes: i64,
    pub(crate) step: BlockStep,
    /// The bytes from the base on in which it goes round, if it does.
    pub(crate) round: Option<BlockExtent>,
    pub(crate) at: Span,
    /// Source position of the first access.
    pub(crate) used: Option<Span>,
}

/// Order in which the scheduler places operations, by a hint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PlacementHint {
    /// As the scheduler finds best.
    #[default]
    Free,
    /// As they are written: `.order`.
    Written,
    /// As they are written, with loads and stores as they fall due: `.spread`.
    Spread,
}

/// A block that is being read.
#[derive(Clone, Debug)]
pub(crate) struct LinearBlock {
    pub(crate) name: Rc<str>,
    pub(crate) at: Span,
    pub(crate) chain: Chain,
    pub(crate) count: BlockCount,
    /// Number of errors of the source before the block.
    pub(crate) errors_before: usize,
    pub(crate) values: Vec<BlockValue>,
    pub(crate) constants: Vec<BlockConstant>,
    pub(crate) pointers: Vec<BlockPointer>,
    /// Labels of tables of steps that are not known yet.
    pub(crate) table_labels: Vec<TableLabel>,
    pub(crate) operations: Vec<BlockOperation>,
    /// Places of operations that are dropped, since they have no effect.
    pub(crate) dropped: Vec<Span>,
    pub(crate) initial: Vec<InitialValue>,
    pub(crate) finals: Vec<FinalValue>,
    /// Interval at which the search begins: `.interval`.
    pub(crate) least_interval: u32,
    /// Cycles that the interval is longer than the least one at least: `.interval +`.
    pub(crate) spare: u32,
    /// Iterations by whose cycles longer intervals are compared: `.turns`.
    pub(crate) turns: Option<u64>,
    pub(crate) hint: PlacementHint,
    /// True if no two pointers ever meet: `.apart` without names.
    pub(crate) apart: bool,
    /// Values that later blocks of the chain read.
    pub(crate) read_later: Vec<usize>,
    /// Number of iterations before the end of the block before, in which it stores what the first iteration loads:
    /// `.behind`.
    pub(crate) behind: Option<u64>,
    /// Names of places that are apart from one another, or, where it is one alone, from all others: `.apart P, Q`.
    pub(crate) named_apart: Vec<Vec<BlockValueName>>,
    /// Registers that the block may use although other words name them.
    pub(crate) free: Vec<Register>,
    /// Phase of the operations that follow.
    pub(crate) phase: f64,
    value_indices: HashMap<Rc<str>, usize>,
    constant_indices: HashMap<Rc<str>, usize>,
    pointer_indices: HashMap<Rc<str>, usize>,
}

impl LinearBlock {
    pub(crate) fn new(name: Rc<str>, at: Span, chain: Chain, count: BlockCount) -> Self {
        Self {
            name,
            at,
            chain,
            count,
            errors_before: 0,
            values: Vec::new(),
            constants: Vec::new(),
            pointers: Vec::new(),
            table_labels: Vec::new(),
            operations: Vec::new(),
            dropped: Vec::new(),
            initial: Vec::new(),
            finals: Vec::new(),
            least_interval: 0,
            spare: 0,
            turns: None,
            hint: PlacementHint::default(),
            apart: false,
            read_later: Vec::new(),
            behind: None,
            named_apart: Vec::new(),
            free: Vec::new(),
            phase: 0.0,
            value_indices: HashMap::new(),
            constant_indices: HashMap::new(),
            pointer_indices: HashMap::new(),
        }
    }

    /// Returns the index of a value that has been named.
    pub(crate) fn find_value(&self, name: &str) -> Option<usize> {
        self.value_indices.get(name).copied()
    }

    /// Returns the index of a pointer.
    pub(super) fn find_pointer(&self, name: &str) -> Option<usize> {
        self.pointer_indices.get(name).copied()
    }

    /// Returns the index of a constant.
    pub(crate) fn find_constant(&self, name: &str) -> Option<usize> {
        self.constant_indices.get(name).copied()
    }

    /// Returns the index of a value, which is entered if it has not been named before.
    pub(crate) fn enter_value(&mut self, name: &Rc<str>, at: Span) -> usize {
        if let Some(index) = self.find_value(name) {
            return index;
        }
        let index = self.values.len();
        self.values.push(BlockValue {
            name: name.clone(),
            at,
            width: None,
            defined: [None; 2],
        });
        self.value_indices.insert(name.clone(), index);
        index
    }

    /// Enters the result of an operation: each half of a value is computed once.
    pub(crate) fn define_value(&mut self, name: &BlockValueName) -> Result<ValueUse, Fail> {
        if name.distance.is_some() {
            let what = "`@` behind a result".to_owned();
            let why = "an operation computes a value of its own iteration";
            return Err(Fail::new(Problem::Misplaced { what, why }, name.at));
        }
        if self.constant_indices.contains_key(&name.text) {
            let problem = Problem::Reserved {
                name: name.text.to_string(),
                what: "a constant",
            };
            return Err(Fail::new(problem, name.at));
        }
        let value = self.enter_value(&name.text, name.at);
        let halves = match name.half {
            None => 0..2,
            Some(half) => usize::from(half)..usize::from(half) + 1,
        };
        if let Some(own) = self.values.get_mut(value) {
            for defined in own.defined.get_mut(halves).into_iter().flatten() {
                if let Some(first) = defined.replace(name.at) {
                    let problem = Problem::Redefined {
                        name: name.text.to_string(),
                        repeated: first == name.at,
                    };
                    return Err(Fail::new(problem, name.at).related(first, "computed here"));
                }
            }
            if name.half.is_some() {
                own.width.get_or_insert(ValueWidth::Quad);
            }
        }
        Ok(ValueUse {
            value,
            half: name.half,
            distance: 0,
        })
    }

    /// Enters the width of a value that a register has before or after the block.
    pub(crate) fn learn_register_width(&mut self, value: usize, register: Register) {
        if let Some(value) = self.values.get_mut(value) {
            value.width.get_or_insert(match register {
                Register::Pair(_) => ValueWidth::Pair,
                Register::Quad(_) => ValueWidth::Quad,
                Register::Scalar(_) => ValueWidth::Scalar,
            });
        }
    }

    /// Learns the width of a value from that of another.
    pub(crate) fn learn_width(&mut self, value: usize, width: Option<ValueWidth>) {
        if let (Some(value), Some(width)) = (self.values.get_mut(value), width) {
            value.width.get_or_insert(width);
        }
    }

    /// Adds a constant.
    pub(crate) fn define_constant(&mut self, constant: BlockConstant) -> Result<(), Fail> {
        if let Some(old) = self.find_constant(&constant.name) {
            let first = self.constants.get(old).map(|old| old.at);
            return Err(redefined(&constant.name, constant.at, first));
        }
        self.constant_indices
            .insert(constant.name.clone(), self.constants.len());
        self.constants.push(constant);
        Ok(())
    }

    /// Returns the number of the label of a table, which is entered if it has not been named before.
    pub(crate) fn enter_table(&mut self, label: TableLabel) -> usize {
        let mut known = self.table_labels.iter();
        if let Some(number) = known.position(|own| own.key == label.key) {
            return number;
        }
        self.table_labels.push(label);
        self.table_labels.len() - 1
    }

    /// Adds a pointer.
    pub(crate) fn define_pointer(&mut self, pointer: BlockPointer) -> Result<(), Fail> {
        if let Some(&old) = self.pointer_indices.get(&pointer.name) {
            let first = self.pointers.get(old).map(|old| old.at);
            return Err(redefined(&pointer.name, pointer.at, first));
        }
        self.pointer_indices
            .insert(pointer.name.clone(), self.pointers.len());
        self.pointers.push(pointer);
        Ok(())
    }

    /// Returns the index of a pointer, which is marked as used.
    pub(super) fn use_pointer(&mut self, name: &BlockValueName) -> Result<usize, Fail> {
        let found = self.pointer_indices.get(&name.text).copied();
        let Some(index) = found.filter(|_| name.half.is_none() && name.distance.is_none()) else {
            let known = self.pointers.iter().map(|pointer| &*pointer.name);
            let problem = Problem::UnknownPointer {
                name: name.text.to_string(),
                near: nearest(&name.text, known),
            };
            return Err(Fail::new(problem, name.at));
        };
        if let Some(pointer) = self.pointers.get_mut(index) {
            pointer.used.get_or_insert(name.at);
        }
        Ok(index)
    }
}

/// Makes the error for a second declaration of a name.
fn redefined(name: &str, at: Span, first: Option<Span>) -> Fail {
    let problem = Problem::Redefined {
        name: name.to_owned(),
        repeated: first == Some(at),
    };
    let fail = Fail::new(problem, at);
    match first {
        Some(first) if first != at => fail.related(first, "first declared here"),
        _ => fail,
    }
}
