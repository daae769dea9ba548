//! Writes linear blocks of loops that are known when a kernel is planned.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Writer of a linear block (docs/linear.md): declarations, and operations on values with names.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockWriter {
    declarations: String,
    operations: String,
    /// Number of values by the name that was asked for.
    names: BTreeMap<String, usize>,
    /// Numbers of operations of the arithmetic and of the memory slot.
    issues: [usize; 2],
}

impl BlockWriter {
    /// Adds a declaration or a hint.
    pub(crate) fn declare(&mut self, line: &str) {
        let _ = writeln!(self.declarations, "    {line}");
    }

    /// Declares a pointer: it begins so many bytes from a place, a register or a label, and goes on by a step of
    /// bytes in each iteration.
    pub(crate) fn pointer(&mut self, name: &str, (place, bytes): (&str, i64), step: i64) {
        let place = offset(place, bytes);
        self.declare(&format!(".pointer {name} = {place} by {step}"));
    }

    /// Adds a comment between the operations.
    pub(crate) fn comment(&mut self, text: &str) {
        let _ = writeln!(self.operations, "    ; {text}");
    }

    /// Adds an operation, its results first.
    pub(crate) fn operation(&mut self, name: &str, operands: &[&str]) {
        let memory = operands.iter().any(|operand| operand.starts_with('['));
        let [arithmetic, accesses] = &mut self.issues;
        *(if memory { accesses } else { arithmetic }) += 1;
        let operands = operands.join(", ");
        let _ = writeln!(self.operations, "    {name:<4} {operands}");
    }

    /// Adds an operation that computes a value, and returns the value's name: `value`, or a field of it where it is
    /// taken.
    pub(crate) fn compute(&mut self, value: &str, name: &str, operands: &[&str]) -> String {
        let value = self.name(value);
        let all: Vec<&str> = std::iter::once(value.as_str())
            .chain(operands.iter().copied())
            .collect();
        self.operation(name, &all);
        value
    }

    /// Returns a name that no value has yet: `value`, or a field of it.
    pub(crate) fn name(&mut self, value: &str) -> String {
        let taken = self.names.entry(value.to_owned()).or_default();
        *taken += 1;
        match *taken {
            1 => value.to_owned(),
            number => format!("{value}.n{number}"),
        }
    }

    /// Returns the number of operations of the slot that has more of them.
    pub(crate) fn count_issues(&self) -> usize {
        let [arithmetic, accesses] = self.issues;
        arithmetic.max(accesses)
    }

    /// Returns the text of the block with a name and a number of iterations.
    pub(crate) fn text(&self, name: &str, iterations: u64) -> String {
        format!(
            "    .linear {name}, {iterations}\n{}{}    .endlinear\n",
            self.declarations, self.operations
        )
    }
}

/// Returns the operand of an access so many bytes from a pointer.
pub(crate) fn address(pointer: &str, bytes: i64) -> String {
    format!("[{}]", offset(pointer, bytes))
}

/// Returns a place so many bytes from another.
fn offset(place: &str, bytes: i64) -> String {
    match bytes {
        0 => place.to_owned(),
        bytes if bytes < 0 => format!("{place} - {}", bytes.unsigned_abs()),
        bytes => format!("{place} + {bytes}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_one_operation_a_line() {
        let mut block = BlockWriter::default();
        block.pointer("x", ("c4", -16), 16);
        block.declare(".order");
        block.comment("two of a kind");
        let first = block.compute("x[0]", "ldq", &[&address("x", 16)]);
        let second = block.compute("x[0]", "perm", &[&first, "27"]);
        block.operation("stq", &[&second, &address("x", 0)]);
        let expected = "    .linear turn, 8
    .pointer x = c4 - 16 by 16
    .order
    ; two of a kind
    ldq  x[0], [x + 16]
    perm x[0].n2, x[0], 27
    stq  x[0].n2, [x]
    .endlinear
";
        assert_eq!(block.text("turn", 8), expected);
        assert_eq!(block.count_issues(), 2);
    }
}
