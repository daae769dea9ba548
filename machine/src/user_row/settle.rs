//! Joins the rows of a file to those of its base, and gives opcodes.

use super::{OPCODES, RowDefinition, RowFlaw, RowSetting, UserRow};
use crate::Machine;
use crate::error::{File, Located, MachineError, Place, Problem};
use crate::read::read;
use std::sync::Arc;

/// True if operands do not tell two rows apart.
fn is_same_kind(a: &RowDefinition, b: &RowDefinition) -> bool {
    let kinds = |row: &RowDefinition| (row.form.operands().len(), row.form.lanes());
    a.mnemonic == b.mnemonic && kinds(a) == kinds(b)
}

/// Gives a machine more rows. A row replaces that of the same mnemonic and form, if the machine has it; a row
/// without an opcode has the lowest that is free.
pub(crate) fn settle_rows(machine: &mut Machine, settings: &[RowSetting]) -> Vec<Located> {
    let mut problems = Vec::new();
    let mut fail = |setting: &RowSetting, flaw| {
        problems.push(Located {
            problem: Problem::Row {
                row: setting.definition.mnemonic.clone(),
                flaw,
            },
            place: Some(setting.place.clone()),
        });
    };
    let mut kept: Vec<RowDefinition> = Vec::new();
    let mut replaced: Vec<Option<RowDefinition>> = vec![None; settings.len()];
    for row in machine.cp2.rows.iter().map(|row| row.definition()) {
        let same = |setting: &RowSetting| {
            let new = &setting.definition;
            (&new.mnemonic, new.form) == (&row.mnemonic, row.form)
        };
        match settings.iter().position(same) {
            Some(at) => replaced[at] = Some(row.clone()),
            None => kept.push(row.clone()),
        }
    }
    // Rows that say their opcode, or have that of the row they replace, come before those that take what is left.
    let code = |at: usize| {
        settings[at]
            .opcode
            .or(replaced[at].as_ref().map(|old| old.opcode))
    };
    let mut order: Vec<usize> = (0..settings.len()).collect();
    order.sort_by_key(|&at| code(at).is_none());
    for at in order {
        let setting = &settings[at];
        let mut row = setting.definition.clone();
        if let Some(other) = kept.iter().find(|other| is_same_kind(other, &row)) {
            let (mnemonic, other) = (row.mnemonic.clone(), other.form);
            fail(setting, RowFlaw::Ambiguous { mnemonic, other });
            continue;
        }
        let free = || (0..OPCODES).find(|code| kept.iter().all(|other| other.opcode != *code));
        let Some(opcode) = code(at).or_else(free) else {
            let most = usize::from(OPCODES);
            fail(setting, RowFlaw::Full { most });
            continue;
        };
        if let Some(other) = kept.iter().find(|other| other.opcode == opcode) {
            let other = other.mnemonic.clone();
            fail(setting, RowFlaw::Opcode { opcode, other });
            continue;
        }
        row.opcode = opcode;
        if let (Some(old), true) = (&replaced[at], row.origin.reference.is_empty()) {
            row.origin.reference = format!("changed from {}", old.lanes);
        }
        kept.push(row);
    }
    if problems.is_empty() {
        kept.sort_by_key(|row| row.opcode);
        match kept.into_iter().map(UserRow::intern).collect() {
            Ok(rows) => machine.cp2.rows = rows,
            Err(flaw) => problems.push(Located {
                problem: Problem::Row {
                    row: "row".to_owned(),
                    flaw,
                },
                place: None,
            }),
        }
    }
    problems
}

impl UserRow {
    /// Returns the setting of a row that another machine takes over.
    pub(crate) fn setting(self, place: &Place) -> RowSetting {
        let definition = self.definition();
        RowSetting {
            definition: definition.clone(),
            opcode: Some(definition.opcode),
            place: place.clone(),
        }
    }

    /// Reads rows alone, as [`RowDefinition::to_toml`] writes them. `name` is the place that problems are reported
    /// under.
    ///
    /// # Errors
    /// The problems of the text, at most the first twenty.
    pub fn parse_all(name: &str, text: &str) -> Result<Vec<Self>, MachineError> {
        let file = Arc::new(File {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        let layer = read(&file)?;
        let mut machine = Machine::blank();
        let problems = settle_rows(&mut machine, &layer.rows);
        match problems.is_empty() {
            true => Ok(machine.cp2.rows),
            false => Err(MachineError { problems }),
        }
    }
}
