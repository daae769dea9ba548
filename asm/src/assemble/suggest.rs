//! Suggestions for unknown names.

use super::symbols::Table;
use crate::diag::{Fail, Problem, REGISTERS, like_register, nearest};
use crate::isa::Op;

impl Table {
    /// Adds a suggestion to a message about an unknown name.
    pub(super) fn suggest(&self, fail: &mut Fail) {
        if let Problem::Operands {
            name: Some(name),
            near,
            ..
        } = &mut fail.0.problem
        {
            *near = nearest(name, self.alias_names());
            return;
        }
        let Problem::UnknownName { name, near, hint } = &mut fail.0.problem else {
            return;
        };
        if near.is_some() || hint.is_some() {
            return;
        }
        // Local labels of a macro have a key with `@`, which cannot be written: only the part before it is
        // shown.
        if let Some((written, _)) = name.split_once('@') {
            *name = written.to_owned();
        }
        if self.counter_names().any(|c| c == name) {
            *hint = Some(
                "a macro sees only its parameters and global names: pass the counter as an argument",
            );
        } else if like_register(name) {
            *hint = Some(REGISTERS);
        } else if Op::ALL.iter().any(|op| op.row().mnemonic == name) {
            *hint = Some("an operation is joined to the one before it with `||`");
        } else {
            *near = nearest(
                name,
                self.global_names()
                    .chain(self.alias_names())
                    .chain(self.counter_names()),
            );
        }
    }
}
