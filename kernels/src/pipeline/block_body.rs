//! One iteration of a generated loop, operation by operation.

use super::block_writer::{BlockWriter, address};
use cp2_asm::schedule::{DataOperand, DataPointer, DataValue, Dataflow, PointerStep};
use std::collections::BTreeMap;

/// A value that an iteration computes, in a quad or a pair of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BodyValue(usize);

/// A pointer that steps once an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyPointer(usize);

impl BodyPointer {
    /// Returns the number of the pointer in its body.
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// A value that goes from an iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CarriedValue(usize);

/// An operand of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyOperand {
    /// A whole value.
    Whole(BodyValue),
    /// The lower pair of a quad.
    Lo(BodyValue),
    /// The upper pair of a quad.
    Hi(BodyValue),
    /// The whole of a carried value of the iteration before.
    Before(CarriedValue),
    /// The pair register `r{n}`, which the block does not write.
    Pair(u8),
    /// The constant with this number.
    Constant(usize),
    /// The lower pair of a constant.
    LowerConstant(usize),
    /// The upper pair of a constant.
    UpperConstant(usize),
}

/// The halves of a quad.
const HALVES: [fn(BodyValue) -> BodyOperand; 2] = [BodyOperand::Lo, BodyOperand::Hi];

#[derive(Clone, Debug)]
struct BodyOperation {
    name: &'static str,
    /// Results, then operands.
    operands: Vec<BodyOperand>,
    results: usize,
    access: Option<(BodyPointer, i64)>,
}

/// A pointer as a block declares it.
#[derive(Clone, Debug)]
pub(crate) struct PointerDeclaration {
    pub(crate) name: String,
    /// Place and step.
    pub(crate) walk: String,
    /// Bytes that all accesses add to their offsets.
    pub(crate) offset: i64,
}

/// The operations of one iteration, in an order in which they can be carried out.
///
/// [`write`](Self::write) makes a linear block of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockBody {
    operations: Vec<BodyOperation>,
    /// For every value true if it is a quad.
    quads: Vec<bool>,
    pointers: usize,
    /// The numbers of every constant.
    constants: Vec<String>,
    /// The registers of carried values, and the values that an iteration leaves.
    carried: Vec<(String, Option<BodyValue>)>,
}

impl BlockBody {
    /// Adds a quad that is not yet computed.
    pub(crate) fn quad(&mut self) -> BodyValue {
        self.quads.push(true);
        BodyValue(self.quads.len() - 1)
    }

    /// Adds a pair that is not yet computed.
    pub(crate) fn pair(&mut self) -> BodyValue {
        self.quads.push(false);
        BodyValue(self.quads.len() - 1)
    }

    /// Adds a value that goes from an iteration to the next: a register, `q30` say, has it before the first one, and
    /// gets it behind the last one.
    pub(crate) fn carry(&mut self, register: String) -> CarriedValue {
        self.carried.push((register, None));
        CarriedValue(self.carried.len() - 1)
    }

    /// Declares what an iteration leaves of a carried value.
    pub(crate) fn leave(&mut self, carried: CarriedValue, value: BodyValue) {
        if let Some((_, left)) = self.carried.get_mut(carried.0) {
            *left = Some(value);
        }
    }

    /// Adds a pointer.
    pub(crate) fn pointer(&mut self) -> BodyPointer {
        self.pointers += 1;
        BodyPointer(self.pointers - 1)
    }

    /// Adds a constant, which is given by the numbers of a quad, and returns its number.
    pub(crate) fn constant(&mut self, numbers: &str) -> usize {
        let known = self.constants.iter().position(|own| own == numbers);
        known.unwrap_or_else(|| {
            self.constants.push(numbers.to_owned());
            self.constants.len() - 1
        })
    }

    /// Adds an arithmetic operation.
    pub(crate) fn op(
        &mut self,
        name: &'static str,
        results: &[BodyOperand],
        operands: &[BodyOperand],
    ) {
        self.operations.push(BodyOperation {
            name,
            operands: [results, operands].concat(),
            results: results.len(),
            access: None,
        });
    }

    /// Adds an arithmetic operation that computes a quad.
    pub(crate) fn quad_op(&mut self, name: &'static str, operands: &[BodyOperand]) -> BodyValue {
        let result = self.quad();
        self.op(name, &[BodyOperand::Whole(result)], operands);
        result
    }

    /// Adds a load from `offset` bytes behind the pointer.
    pub(crate) fn load(&mut self, to: BodyOperand, pointer: BodyPointer, offset: i64) {
        let name = if self.is_quad(to) { "ldq" } else { "ldp" };
        self.access(name, (to, 1), (pointer, offset));
    }

    /// Adds a load of a pair into both halves of a quad.
    pub(crate) fn load_twice(&mut self, to: BodyOperand, pointer: BodyPointer, offset: i64) {
        self.access("ldd", (to, 1), (pointer, offset));
    }

    /// Adds loads of so many pairs from a pointer, two at a time, or of one alone.
    ///
    /// Returns each pair twice, as the operands for both halves of a quad.
    pub(crate) fn load_pairs(
        &mut self,
        pointer: BodyPointer,
        count: usize,
    ) -> Vec<[BodyOperand; 2]> {
        if count == 1 {
            let pair = self.pair();
            self.load(BodyOperand::Whole(pair), pointer, 0);
            return vec![[BodyOperand::Whole(pair); 2]];
        }
        let mut pairs = Vec::new();
        for i in 0..count.div_ceil(2) {
            let quad = self.quad();
            self.load(BodyOperand::Whole(quad), pointer, 16 * i as i64);
            pairs.extend(HALVES.map(|half| [half(quad); 2]));
        }
        pairs.truncate(count);
        pairs
    }

    /// Adds a store to `offset` bytes behind the pointer.
    pub(crate) fn store(&mut self, from: BodyOperand, pointer: BodyPointer, offset: i64) {
        let name = if self.is_quad(from) { "stq" } else { "stp" };
        self.access(name, (from, 0), (pointer, offset));
    }

    fn access(
        &mut self,
        name: &'static str,
        (operand, results): (BodyOperand, usize),
        (pointer, offset): (BodyPointer, i64),
    ) {
        self.operations.push(BodyOperation {
            name,
            operands: vec![operand],
            results,
            access: Some((pointer, offset)),
        });
    }

    fn is_quad(&self, operand: BodyOperand) -> bool {
        match operand {
            BodyOperand::Whole(value) => self.quads.get(value.0).copied().unwrap_or_default(),
            BodyOperand::Constant(_) => true,
            _ => false,
        }
    }

    /// Returns true if a pointer loads.
    pub(crate) fn loads(&self, pointer: BodyPointer) -> bool {
        let mut own = self.operations.iter().filter(|own| own.results > 0);
        own.any(|own| own.access.is_some_and(|(by, _)| by == pointer))
    }

    /// Adds the pointers, constants, carried values and operations to a block.
    pub(crate) fn write(&self, pointers: &[PointerDeclaration], block: &mut BlockWriter) {
        for own in pointers {
            block.declare(&format!(".pointer {} = {}", own.name, own.walk));
        }
        for (number, numbers) in self.constants.iter().enumerate() {
            block.declare(&format!(".const C{number} = {numbers}"));
        }
        let names = self.name_values(pointers);
        for (value, name) in &names {
            if !self.is_quad(BodyOperand::Whole(*value)) {
                block.declare(&format!(".pair {name}"));
            }
        }
        for (register, left) in &self.carried {
            if let Some(name) = left.as_ref().and_then(|value| names.get(value)) {
                block.declare(&format!(".before {name}@1 = {register}"));
                block.declare(&format!(".after {register} = {name}"));
            }
        }
        for operation in &self.operations {
            let through = operation.access.and_then(|(by, _)| pointers.get(by.0));
            let name = |value: &BodyValue| names.get(value).map_or("undefined", String::as_str);
            let mut operands: Vec<String> = operation
                .operands
                .iter()
                .map(|operand| match operand {
                    BodyOperand::Whole(value) => name(value).to_owned(),
                    BodyOperand::Lo(value) => format!("{}.lo", name(value)),
                    BodyOperand::Hi(value) => format!("{}.hi", name(value)),
                    BodyOperand::Before(carried) => {
                        let left = self.carried.get(carried.0).and_then(|(_, left)| *left);
                        format!("{}@1", left.as_ref().map_or("undefined", name))
                    }
                    BodyOperand::Pair(register) => format!("r{register}"),
                    BodyOperand::Constant(number) => format!("C{number}"),
                    BodyOperand::LowerConstant(number) => format!("C{number}.lo"),
                    BodyOperand::UpperConstant(number) => format!("C{number}.hi"),
                })
                .collect();
            if let (Some(own), Some((_, offset))) = (through, operation.access) {
                operands.push(address(&own.name, own.offset + offset));
            }
            let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
            block.operation(operation.name, &operands);
        }
    }

    /// Names the values: those that are loaded after their pointer, others `t`, each with a number.
    fn name_values(&self, pointers: &[PointerDeclaration]) -> BTreeMap<BodyValue, String> {
        let mut names: BTreeMap<BodyValue, String> = BTreeMap::new();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for operation in &self.operations {
            let through = operation.access.and_then(|(by, _)| pointers.get(by.0));
            let kind = through.map_or("t", |own| own.name.as_str());
            for result in operation.operands.iter().take(operation.results) {
                if let BodyOperand::Whole(value) | BodyOperand::Lo(value) | BodyOperand::Hi(value) =
                    *result
                {
                    names.entry(value).or_insert_with(|| {
                        let count = counts.entry(kind).or_default();
                        *count += 1;
                        format!("{kind}[{}]", *count - 1)
                    });
                }
            }
        }
        names
    }

    /// Returns the dataflow of the operations, which has neither constants nor carried values, and its pointers:
    /// those of the body, each in an address register with a step.
    ///
    /// This is for loops with words between their iterations, which no linear block has.
    pub(crate) fn dataflow(&self, pointers: &[(u8, PointerStep)]) -> (Dataflow, Vec<DataPointer>) {
        let mut made = Dataflow::default();
        let pointers: Vec<DataPointer> = pointers
            .iter()
            .map(|&(register, step)| made.pointer(register, step))
            .collect();
        let values: Vec<DataValue> = self
            .quads
            .iter()
            .map(|&quad| if quad { made.quad() } else { made.pair() })
            .collect();
        let operand = |own: &BodyOperand| {
            Some(match *own {
                BodyOperand::Whole(value) => DataOperand::Whole(*values.get(value.0)?),
                BodyOperand::Lo(value) => DataOperand::Lo(*values.get(value.0)?),
                BodyOperand::Hi(value) => DataOperand::Hi(*values.get(value.0)?),
                BodyOperand::Pair(register) => DataOperand::Pair(register),
                BodyOperand::Before(_)
                | BodyOperand::Constant(_)
                | BodyOperand::LowerConstant(_)
                | BodyOperand::UpperConstant(_) => return None,
            })
        };
        for own in &self.operations {
            let operands: Vec<DataOperand> = own.operands.iter().filter_map(operand).collect();
            match (own.access, operands.as_slice()) {
                (None, all) => {
                    let (results, operands) = all.split_at(own.results.min(all.len()));
                    made.op(own.name, results, operands);
                }
                (Some((by, offset)), &[operand]) => {
                    let Some(&pointer) = pointers.get(by.0) else {
                        continue;
                    };
                    match (own.name, own.results) {
                        ("ldd", _) => made.load_twice(operand, pointer, offset),
                        (_, 0) => made.store(operand, pointer, offset),
                        _ => made.load(operand, pointer, offset),
                    }
                }
                (Some(_), _) => {}
            }
        }
        (made, pointers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_a_block_of_named_values() {
        let mut body = BlockBody::default();
        let (from, to) = (body.pointer(), body.pointer());
        let half = BodyOperand::UpperConstant(body.constant("1.0 0.0 0.5 0.0"));
        let sum = body.carry("q30".to_owned());
        let x = body.quad();
        body.load(BodyOperand::Lo(x), from, 0);
        body.load(BodyOperand::Hi(x), from, 64);
        let y = body.pair();
        body.op(
            "cmul",
            &[BodyOperand::Whole(y)],
            &[BodyOperand::Lo(x), half],
        );
        body.store(BodyOperand::Whole(y), to, 8);
        let all = body.quad_op("add", &[BodyOperand::Whole(x), BodyOperand::Before(sum)]);
        body.leave(sum, all);
        assert!(body.loads(from) && !body.loads(to));
        let declare = |name: &str, walk: &str, offset| PointerDeclaration {
            name: name.to_owned(),
            walk: walk.to_owned(),
            offset,
        };
        let pointers = [declare("in", "a8 by 8", 0), declare("out", "a9 by 8", -8)];
        let mut block = BlockWriter::default();
        body.write(&pointers, &mut block);
        let expected = "    .linear sum, 3
    .pointer in = a8 by 8
    .pointer out = a9 by 8
    .const C0 = 1.0 0.0 0.5 0.0
    .pair t[0]
    .before t[1]@1 = q30
    .after q30 = t[1]
    ldp  in[0].lo, [in]
    ldp  in[0].hi, [in + 64]
    cmul t[0], in[0].lo, C0.hi
    stp  t[0], [out]
    add  t[1], in[0], t[1]@1
    .endlinear
";
        assert_eq!(block.text("sum", 3), expected);
    }
}
