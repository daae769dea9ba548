//! Finds out which values of a block are pairs and which quads.
//!
//! The rows of an operation decide, with what is known of its operands: `ldq` has a quad, `add` either two quads and a
//! quad or two pairs and a pair. Where both fit, a value is a quad.

use super::block::{BlockOperand, BlockOperation, LinearBlock, ValueUse, ValueWidth};
use crate::assemble::describe_row;
use crate::diag::{Fail, Problem};
use crate::isa::{Kind, Row, Slot};
use crate::syntax::Register;

/// The row of an operation, and whether it is one for each half of quads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChosenRow {
    pub(crate) row: &'static Row,
    pub(crate) halves: bool,
}

impl LinearBlock {
    /// Returns true if an operand may stand where a row has a kind. With `halves` it stands for one of its halves.
    fn accepts(&self, operand: &BlockOperand, kind: Kind, halves: bool) -> bool {
        match operand {
            BlockOperand::Immediate(_) => matches!(kind, Kind::Imm { .. } | Kind::Float24),
            BlockOperand::Address { .. } => matches!(kind, Kind::Mem { .. }),
            BlockOperand::Place { address, .. } => {
                let width = self.values.get(address.value).and_then(|value| value.width);
                matches!(kind, Kind::Mem { .. }) && width == Some(ValueWidth::Scalar)
            }
            BlockOperand::Couple(both) => {
                let scalar = |used: &ValueUse| {
                    let width = self.values.get(used.value).and_then(|value| value.width);
                    width.is_none_or(|width| width == ValueWidth::Scalar)
                };
                kind == Kind::ScalarCouple && both.iter().all(scalar)
            }
            BlockOperand::Register(Register::Scalar(_)) => kind == Kind::Scalar && !halves,
            BlockOperand::Register(Register::Pair(_)) => kind == Kind::Pair,
            BlockOperand::Register(Register::Quad(_)) => match halves {
                true => kind == Kind::Pair,
                false => kind == Kind::Quad,
            },
            BlockOperand::Constant { index, half } => {
                let whole = half.is_none() && !halves;
                let same = self
                    .constants
                    .get(*index)
                    .is_some_and(|c| c.words[..2] == c.words[2..]);
                match kind {
                    Kind::Quad => whole,
                    Kind::Pair => !whole || same,
                    _ => false,
                }
            }
            BlockOperand::Value(used) => {
                let width = self.values.get(used.value).and_then(|value| value.width);
                match (used.half, width, kind) {
                    (Some(_), width, kind) => {
                        let narrow = [ValueWidth::Pair, ValueWidth::Scalar].map(Some);
                        kind == Kind::Pair && !narrow.contains(&width) && !halves
                    }
                    (None, Some(ValueWidth::Quad), Kind::Pair) => halves,
                    (None, Some(ValueWidth::Quad), kind) => kind == Kind::Quad && !halves,
                    (None, Some(ValueWidth::Pair), kind) => kind == Kind::Pair && !halves,
                    (None, Some(ValueWidth::Scalar), kind) => kind == Kind::Scalar && !halves,
                    (None, None, kind) => matches!(kind, Kind::Pair | Kind::Quad | Kind::Scalar),
                }
            }
        }
    }

    /// Returns true if a constant stands as a pair where it could be a quad.
    fn narrows_constant(operation: &BlockOperation, row: &Row) -> bool {
        let pairs = row.form.operands().iter().zip(&operation.operands);
        let narrowed = |(kind, operand): (Kind, &BlockOperand)| {
            kind == Kind::Pair && matches!(operand, BlockOperand::Constant { half: None, .. })
        };
        pairs
            .map(|(o, (operand, _))| (o.kind, operand))
            .any(narrowed)
    }

    /// Returns the rows that an operation's operands fit, as far as their widths are known.
    fn fitting_rows(&self, operation: &BlockOperation) -> Vec<ChosenRow> {
        let fits = |row: &Row, halves: bool| {
            let operands = row.form.operands();
            operands.len() == operation.operands.len()
                && operands
                    .iter()
                    .zip(&operation.operands)
                    .all(|(o, (operand, _))| self.accepts(operand, o.kind, halves))
        };
        let rows = || operation.rows.iter().map(|op| op.row());
        let choose = |row, halves| ChosenRow { row, halves };
        let mut found: Vec<ChosenRow> = rows()
            .filter(|row| fits(row, false))
            .map(|row| choose(row, false))
            .collect();
        // A constant is a quad where a row takes one.
        let wide = |chosen: &ChosenRow| !Self::narrows_constant(operation, chosen.row);
        if found.iter().any(wide) {
            found.retain(wide);
        }
        let takes_quads = |row: &Row| row.form.operands().iter().any(|o| o.kind == Kind::Quad);
        let form = operation.rows.first().map(|op| op.row().form.operands());
        let mut operands = form.unwrap_or_default().iter().zip(&operation.operands);
        let reads_values = operands
            .any(|(o, (operand, _))| !o.role.writes() && matches!(operand, BlockOperand::Value(_)));
        // A value of which nothing is known yet may be a pair or a quad.
        if (found.is_empty() || reads_values) && !rows().any(takes_quads) {
            // A load or a store is one access: its halves would lie at one place.
            let halves = rows().filter(|row| row.slot() == Slot::Arith && fits(row, true));
            found.extend(halves.map(|row| choose(row, true)));
        }
        found
    }

    /// Finds the widths of all values.
    ///
    /// # Errors
    /// An operation whose operands fit no row.
    pub(crate) fn find_widths(&mut self) -> Result<Vec<ChosenRow>, Fail> {
        let operations = std::mem::take(&mut self.operations);
        // A value with halves is a quad.
        let operands = operations.iter().flat_map(|own| &own.operands);
        for (operand, _) in operands {
            if let BlockOperand::Value(used) = operand
                && used.half.is_some()
                && let Some(value) = self.values.get_mut(used.value)
            {
                value.width.get_or_insert(ValueWidth::Quad);
            }
        }
        let found = self.widen(&operations);
        self.operations = operations;
        found
    }

    fn widen(&mut self, operations: &[BlockOperation]) -> Result<Vec<ChosenRow>, Fail> {
        loop {
            let mut chosen = Vec::with_capacity(operations.len());
            let mut changed = false;
            for operation in operations {
                let rows = self.fitting_rows(operation);
                let Some(&first) = rows.first() else {
                    return Err(self.misfit(operation));
                };
                changed |= self.learn(operation, &rows);
                chosen.push(first);
            }
            if changed {
                continue;
            }
            // A value that nothing decides is a quad; that may decide others.
            match self.values.iter_mut().find(|value| value.width.is_none()) {
                Some(value) => value.width = Some(ValueWidth::Quad),
                None => return Ok(chosen),
            }
        }
    }

    /// Enters the widths in which all rows of an operation agree; returns true if there were any.
    fn learn(&mut self, operation: &BlockOperation, rows: &[ChosenRow]) -> bool {
        let mut changed = false;
        for (place, (operand, _)) in operation.operands.iter().enumerate() {
            let BlockOperand::Value(used) = operand else {
                continue;
            };
            let unknown = used.half.is_none()
                && self
                    .values
                    .get(used.value)
                    .is_some_and(|v| v.width.is_none());
            if !unknown {
                continue;
            }
            let mut kinds = rows.iter().filter_map(|chosen| {
                let kind = chosen.row.form.operands().get(place)?.kind;
                Some(match (kind, chosen.halves) {
                    (Kind::Pair, false) => ValueWidth::Pair,
                    (Kind::Scalar, _) => ValueWidth::Scalar,
                    _ => ValueWidth::Quad,
                })
            });
            let Some(first) = kinds.next() else { continue };
            if kinds.all(|kind| kind == first)
                && let Some(value) = self.values.get_mut(used.value)
            {
                value.width = Some(first);
                changed = true;
            }
        }
        changed
    }

    /// Makes the error for an operation whose operands fit no row.
    fn misfit(&self, operation: &BlockOperation) -> Fail {
        let describe = |operand: &BlockOperand| match operand {
            BlockOperand::Value(used) => {
                let value = self.values.get(used.value);
                let name = value.map_or("", |value| &*value.name);
                let width = match (used.half, value.and_then(|value| value.width)) {
                    (Some(_), Some(ValueWidth::Pair)) => "a half of the pair",
                    (Some(_), Some(ValueWidth::Scalar)) => "a half of the scalar",
                    (None, Some(ValueWidth::Scalar)) => "the scalar",
                    (Some(_), _) => "a half of",
                    (None, Some(ValueWidth::Quad)) => "the quad",
                    (None, Some(ValueWidth::Pair)) => "the pair",
                    (None, None) => "the value",
                };
                format!("{width} `{name}`")
            }
            BlockOperand::Constant { index, half } => {
                let name = self.constants.get(*index).map_or("", |c| &*c.name);
                let width = if half.is_some() { "a half of" } else { "the" };
                format!("{width} constant `{name}`")
            }
            BlockOperand::Register(register) => format!("`{register}`"),
            BlockOperand::Immediate(_) => "a number".to_owned(),
            BlockOperand::Address { .. } => "an address".to_owned(),
            BlockOperand::Place { address, .. } => {
                let value = self.values.get(address.value);
                let name = value.map_or("", |value| &*value.name);
                match value.and_then(|value| value.width) {
                    Some(ValueWidth::Scalar) => "an address".to_owned(),
                    _ => format!("an address in `{name}`, which is no scalar"),
                }
            }
            BlockOperand::Couple(_) => "two results".to_owned(),
        };
        let found: Vec<String> = operation
            .operands
            .iter()
            .map(|(operand, _)| describe(operand))
            .collect();
        let problem = Problem::Operands {
            mnemonic: operation.mnemonic.to_string(),
            found: match found.is_empty() {
                true => "none".to_owned(),
                false => found.join(", "),
            },
            forms: operation
                .rows
                .iter()
                .map(|op| describe_row(op.row()))
                .collect(),
            name: None,
            near: None,
        };
        Fail::new(problem, operation.at)
    }
}
