//! Suggestions for names that mean nothing.

use super::symbols::Table;
use crate::diag::{Fail, Problem, nearest};
use crate::isa::Op;

const REGISTERS: &str = "registers: r0..r63, q0..q31, a0..a15, s0..s15, c0..c15, b0..b7, l0..l7";

/// Whether the name looks like a register's.
fn like_register(name: &str) -> bool {
    name.starts_with(['r', 'q', 'a', 's', 'c', 'b', 'l'])
        && name
            .get(1..)
            .is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
}

impl Table {
    /// Adds a suggestion to a message about an unknown name.
    pub(super) fn suggest(&self, fail: &mut Fail) {
        if let Problem::Operands {
            name: Some(name),
            near,
            bank,
            ..
        } = &mut fail.0.problem
        {
            *near = nearest(name, self.alias_names());
            *bank = Some(REGISTERS).filter(|_| like_register(name));
            return;
        }
        let Problem::UnknownName { name, near, hint } = &mut fail.0.problem else {
            return;
        };
        if near.is_some() || hint.is_some() {
            return;
        }
        // A macro's local labels have an unwritable key.
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
