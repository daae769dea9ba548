//! Linear blocks as data of the tests, and what must hold of them.

use cp2_asm::isa::{Kind, Op};

/// Bytes that pointers may reach, from address 0 on.
pub(super) const DATA: i64 = 0x2000;

/// An operand of an operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    /// A value or one half of it, computed so many iterations ago.
    Value {
        value: usize,
        half: Option<u8>,
        back: u32,
    },
    Constant {
        index: usize,
        half: Option<u8>,
    },
    /// A quad that is set before the block, or one half of it.
    Register {
        quad: u8,
        half: Option<u8>,
    },
    /// A number as it is written.
    Number(String),
    Address {
        pointer: usize,
        offset: i64,
    },
    /// A place at so many bytes from a scalar value.
    Place {
        value: usize,
        back: u32,
        offset: i64,
    },
    /// A scalar register that is set before the block.
    Scalar(&'static str),
    /// Two scalar results.
    Couple([usize; 2]),
}

/// An operation. With `halves` its row has pairs, the operands are quads, and it is carried out for each half.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) op: Op,
    pub(super) halves: bool,
    pub(super) operands: Vec<Operand>,
    /// The line `.phase` before it: eighths of an interval.
    pub(super) phase: Option<u8>,
}

impl Operation {
    /// Returns the operands with their kinds and true for those that are written.
    pub(super) fn kinds(&self) -> impl Iterator<Item = (&Operand, Kind, bool)> {
        let form = self.op.row().form.operands().iter();
        let own = form.zip(&self.operands);
        own.map(|(o, operand)| (operand, o.kind, o.role.writes()))
    }

    /// Returns the values that it computes, with their halves.
    pub(super) fn results(&self) -> impl Iterator<Item = (usize, Option<u8>)> {
        self.kinds()
            .flat_map(|(operand, _, written)| match *operand {
                Operand::Value { value, half, .. } if written => vec![(value, half)],
                Operand::Couple(both) => both.map(|value| (value, None)).to_vec(),
                _ => Vec::new(),
            })
    }

    /// Returns the values that it reads, with their halves and distances.
    pub(super) fn reads(&self) -> impl Iterator<Item = (usize, Option<u8>, u32)> {
        self.kinds()
            .filter_map(|(operand, _, written)| match *operand {
                Operand::Value { value, half, back } if !written => Some((value, half, back)),
                Operand::Place { value, back, .. } => Some((value, None, back)),
                _ => None,
            })
    }

    /// Returns the access to memory: pointer, offset, bytes, and true if it stores.
    pub(super) fn access(&self) -> Option<(usize, i64, i64, bool)> {
        let stores = !self.kinds().any(|(.., written)| written);
        self.kinds()
            .find_map(|(operand, kind, _)| match (operand, kind) {
                (&Operand::Address { pointer, offset }, Kind::Mem { bytes, .. }) => {
                    Some((pointer, offset, i64::from(bytes), stores))
                }
                _ => None,
            })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) quad: bool,
    /// True if the text says that it is a pair.
    pub(super) declared: bool,
    /// True if it is a scalar.
    pub(super) scalar: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub(super) text: String,
    pub(super) words: [u32; 4],
}

#[derive(Clone, Debug)]
pub(super) struct Pointer {
    /// Index among the base registers.
    pub(super) base: usize,
    pub(super) bytes: i64,
    pub(super) step: i64,
    /// True if a register has the step.
    pub(super) step_in_register: bool,
    /// The bytes in which it goes round, with those of them that are written: a register has the others.
    pub(super) round: Option<(i64, Option<i64>)>,
    /// The steps in turn, in place of `step`, and true if a register has the bytes of their table.
    pub(super) table: Option<(Vec<i64>, bool)>,
}

impl Pointer {
    /// Returns the bytes from the base to the place of an iteration.
    pub(super) fn place(&self, iteration: u32) -> i64 {
        let mut place = self.bytes;
        for before in 0..iteration {
            place += match &self.table {
                Some((steps, _)) => steps[before as usize % steps.len()],
                None => self.step,
            };
            match self.round {
                Some((extent, _)) if place < 0 => place += extent,
                Some((extent, _)) if place >= extent => place -= extent,
                _ => {}
            }
        }
        place
    }
}

/// The place of a value before the first iteration.
#[derive(Clone, Debug)]
pub(super) enum Initial {
    /// A quad that is set before the block, or half of it.
    Register {
        quad: u8,
        half: Option<u8>,
    },
    Numbers(Constant),
    /// A scalar register with its number, or the number alone.
    Scalar(Option<&'static str>, i64),
}

/// A register that gets a value behind the last iteration.
#[derive(Clone, Debug)]
pub(super) struct Final {
    pub(super) quad: u8,
    pub(super) half: Option<u8>,
    pub(super) value: usize,
}

/// The number of iterations as the block says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Known,
    /// In a register, with the numbers of `at least` and `multiple of`.
    Register {
        least: u32,
        multiple: u32,
    },
    /// One, without a count.
    Straight,
}

/// A linear block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) values: Vec<Value>,
    pub(super) constants: Vec<Constant>,
    /// Names of the registers that pointers begin at, with their addresses.
    pub(super) bases: Vec<(String, i64)>,
    pub(super) pointers: Vec<Pointer>,
    /// Quads that are set before the block.
    pub(super) registers: Vec<u8>,
    pub(super) operations: Vec<Operation>,
    pub(super) count: Count,
    pub(super) iterations: u32,
    /// Values so many iterations before the first.
    pub(super) initial: Vec<(usize, u32, Initial)>,
    pub(super) finals: Vec<Final>,
    /// `.order`, `.spread` or `.interval`.
    pub(super) hint: Option<&'static str>,
    /// True if the block says that its pointers are apart.
    pub(super) apart: bool,
    /// Pointers that the block says are apart from one another, or one alone from all others.
    pub(super) named_apart: Vec<Vec<usize>>,
    /// A pair that words before the block name, and that the block gets back.
    pub(super) freed: Option<u8>,
    /// The scalar that `c14` gets behind the last iteration.
    pub(super) marked: Option<usize>,
}

/// An access of an iteration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) pointer: usize,
    pub(super) place: i64,
    pub(super) bytes: i64,
    pub(super) stores: bool,
}

impl Block {
    /// Lists all accesses in the order of the definition.
    pub(super) fn accesses(&self) -> Vec<Access> {
        let mut all = Vec::new();
        for iteration in 0..self.iterations {
            for own in &self.operations {
                if let Some((pointer, offset, bytes, stores)) = own.access() {
                    let at = &self.pointers[pointer];
                    let start = self.bases[at.base].1;
                    all.push(Access {
                        pointer,
                        place: start + offset + at.place(iteration),
                        bytes,
                        stores,
                    });
                }
            }
        }
        all
    }

    /// Lists the pairs of accesses that meet, of which one stores, the first of the definition first.
    pub(super) fn meetings(&self) -> Vec<(Access, Access)> {
        let all = self.accesses();
        let mut found = Vec::new();
        for (index, first) in all.iter().enumerate() {
            for second in &all[index + 1..] {
                let apart = first.place + first.bytes <= second.place
                    || second.place + second.bytes <= first.place;
                if !apart && (first.stores || second.stores) {
                    found.push((*first, *second));
                }
            }
        }
        found
    }

    /// True if no access meets one of a pointer of another base, step or round, so that `.apart` holds.
    pub(super) fn is_apart(&self) -> bool {
        if self.goes_through_scalars() {
            return false;
        }
        let kind = |access: &Access| {
            let own = &self.pointers[access.pointer];
            // Step registers are different ones.
            let step = match own.step_in_register || own.table.is_some() {
                true => (1, access.pointer as i64),
                false => (0, own.step),
            };
            let round = own.round.map(|(extent, written)| match written {
                Some(_) => (own.bytes, 1, access.pointer as i64),
                None => (own.bytes, 0, extent),
            });
            (own.base, step, round)
        };
        self.meetings().iter().all(|(a, b)| kind(a) == kind(b))
    }

    /// True if what the block says of pointers that are apart holds.
    pub(super) fn are_named_apart(&self) -> bool {
        let meetings = self.meetings();
        let met = |names: &Vec<usize>| {
            meetings.iter().any(|(a, b)| {
                let [one, other] = [a, b].map(|access| names.contains(&access.pointer));
                a.pointer != b.pointer && (one && other || names.len() == 1 && (one || other))
            })
        };
        let alone = self.named_apart.iter().any(|names| names.len() == 1);
        let unknown = alone && self.goes_through_scalars();
        !unknown && !self.named_apart.iter().any(met)
    }

    /// True if the place of an access is a scalar value, which is not known here.
    pub(super) fn goes_through_scalars(&self) -> bool {
        let operands = self.operations.iter().flat_map(|own| &own.operands);
        operands
            .into_iter()
            .any(|operand| matches!(operand, Operand::Place { .. }))
    }

    /// True if an operation reads every value, or a register gets it.
    pub(super) fn reads_all(&self) -> bool {
        let reads = self.operations.iter().flat_map(Operation::reads);
        let reads = reads.map(|read| read.0);
        let finals = self.finals.iter().map(|last| last.value);
        let read: Vec<usize> = reads.chain(finals).chain(self.marked).collect();
        (0..self.values.len()).all(|value| read.contains(&value))
    }

    /// Counts the operations from which no way over values leads to a store or to a register behind the block.
    pub(super) fn count_without_effect(&self) -> usize {
        let finals = self.finals.iter().map(|last| last.value);
        let left: Vec<usize> = finals.chain(self.marked).collect();
        let meet = |a: Option<u8>, b: Option<u8>| a.is_none() || b.is_none() || a == b;
        let ends = |own: &Operation| {
            own.results().next().is_none() || own.results().any(|(value, _)| left.contains(&value))
        };
        let without = |first: usize| {
            let mut reached = vec![first];
            let mut next = 0;
            while let Some(&from) = reached.get(next) {
                if ends(&self.operations[from]) {
                    return false;
                }
                for (to, own) in self.operations.iter().enumerate() {
                    let reads = own.reads().any(|(read, half, _)| {
                        let mut results = self.operations[from].results();
                        results.any(|(value, own)| value == read && meet(own, half))
                    });
                    if reads && !reached.contains(&to) {
                        reached.push(to);
                    }
                }
                next += 1;
            }
            true
        };
        let operations = 0..self.operations.len();
        operations.filter(|&first| without(first)).count()
    }

    /// Returns the most iterations after which a value is read.
    pub(super) fn furthest(&self, value: usize) -> u32 {
        let reads = self.operations.iter().flat_map(Operation::reads);
        let own = reads.filter(|read| read.0 == value);
        own.map(|read| read.2).max().unwrap_or(0)
    }

    /// Returns the blocks that have one thing less.
    pub(super) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut change = |change: &dyn Fn(&mut Self)| {
            let mut block = self.clone();
            change(&mut block);
            all.push(block);
        };
        let known = self.count == Count::Known;
        for iterations in [self.iterations / 2, self.iterations.saturating_sub(1)] {
            if known && iterations < self.iterations {
                change(&|block| block.iterations = iterations);
            }
        }
        let reads = self.operations.iter().flat_map(Operation::reads);
        let reads = reads.map(|read| read.0);
        let initial = self.initial.iter().map(|own| own.0);
        let finals = self.finals.iter().map(|last| last.value);
        let reads: Vec<usize> = reads
            .chain(initial)
            .chain(finals)
            .chain(self.marked)
            .collect();
        for index in (0..self.operations.len()).rev() {
            let own: Vec<usize> = self.operations[index].results().map(|own| own.0).collect();
            let computed = |value: &usize| {
                let computing = |other: &&Operation| other.results().any(|own| own.0 == *value);
                self.operations.iter().filter(computing).count()
            };
            let unread = own.iter().all(|value| !reads.contains(value));
            let others = self.operations.len() > 1;
            if others && unread && own.iter().all(|value| computed(value) == 1) {
                change(&|block| {
                    block.operations.remove(index);
                });
            }
        }
        if self.operations.iter().any(|own| own.phase.is_some()) {
            change(&|block| block.operations.iter_mut().for_each(|own| own.phase = None));
        }
        for index in 0..self.finals.len() {
            change(&|block| {
                block.finals.remove(index);
            });
        }
        if self.hint.is_some() {
            change(&|block| block.hint = None);
        }
        if self.freed.is_some() {
            change(&|block| block.freed = None);
        }
        all
    }
}
