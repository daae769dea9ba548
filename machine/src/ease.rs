//! Machines with one parameter eased: they permit no less, and are no slower.

use crate::quantity::Value;
use crate::{Extensions, Machine, Row};

/// Effect of a larger value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// A larger value permits more, or takes less time.
    Eases,
    /// A larger value permits less, or takes more time.
    Hinders,
    /// Neither: programs that suit one value need not suit another, or no simulated time depends on it.
    Changes,
}

impl More {
    /// Returns the effect of the parameter with a key.
    #[must_use]
    pub fn of(key: &str) -> Self {
        match key {
            "cp2.sections" | "cp2.registers" | "cp2.dmem" | "cp2.dmem-ports" | "cp2.program"
            | "cp2.loop-depth" | "cp2.call-depth" | "cp2.events" | "dma.bandwidth"
            | "dma.queue" | "dma.levels" | "dma.lines" | "host.memory" | "host.copy" => Self::Eases,
            "dma.granule" | "dma.beat" | "dma.entry" | "dma.setup-idle" | "dma.setup-queued"
            | "dma.run" | "host.launch" | "host.completion" | "host.descriptor" | "host.scalar"
            | "cp2.branch-penalty" | "cp2.loop-setup" | "cp2.loop-back" => Self::Hinders,
            key if key.starts_with("cp2.latency.") || key.starts_with("cp2.interval.") => {
                Self::Hinders
            }
            _ => Self::Changes,
        }
    }
}

impl Machine {
    /// Returns this machine with one parameter eased at a time, each with the parameter's key: the value is
    /// doubled if a larger one eases, and halved if a larger one hinders. Then follow machines with one
    /// extension more, each with the extension's name.
    ///
    /// Left out are parameters at the end of their range, and machines that would break a rule.
    #[must_use]
    pub fn eased(&self) -> Vec<(String, Self)> {
        let each = self.parameters().filter_map(|p| {
            let change = match More::of(p.row.key) {
                More::Eases => "x2",
                More::Hinders => "x1/2",
                More::Changes => return None,
            };
            let whole_half = match (p.value, change) {
                // Half an odd number of cycles is rounded down.
                (Value::Integer(v), "x1/2") => format!("{}{}", v / 2, base_unit(p.row)),
                _ => change.to_owned(),
            };
            let eased = self
                .with_changes(&format!("{}={whole_half}", p.row.key))
                .ok()?;
            (eased.hash != self.hash).then(|| (p.row.key.to_owned(), eased))
        });
        let missing = (Extensions::all() - self.cp2.extensions).names();
        let more = missing.filter_map(|name| {
            let eased = self.with_changes(&name).ok()?;
            Some((name, eased))
        });
        each.chain(more).collect()
    }
}

/// Returns the unit that values of a parameter are kept in.
fn base_unit(row: &Row) -> &'static str {
    row.quantity.units().first().map_or("", |unit| unit.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ROWS;

    #[test]
    fn every_parameter_that_eases_or_hinders_is_changed_alone() {
        let vm7 = Machine::builtin("vm7").unwrap();
        let eased = vm7.eased();
        let (flags, eased): (Vec<_>, Vec<_>) = eased
            .into_iter()
            .partition(|(key, _)| Extensions::by_name(key).is_some());
        assert_eq!(flags.len(), Extensions::all().names().count());
        for (name, machine) in &flags {
            assert_eq!(Some(machine.cp2.extensions), Extensions::by_name(name));
            assert_ne!(machine.hash, vm7.hash);
        }
        for (key, machine) in &eased {
            let differ = ROWS
                .iter()
                .filter(|row| (row.get)(machine) != (row.get)(&vm7));
            assert_eq!(
                differ.map(|row| row.key).collect::<Vec<_>>(),
                [key.as_str()]
            );
            assert_ne!(machine.hash, vm7.hash);
        }
        // Every other parameter that eases or hinders is at the end of its range, or has no number of its
        // own.
        let keys: Vec<_> = eased.iter().map(|(key, _)| key.as_str()).collect();
        let left = ROWS.iter().filter(|row| More::of(row.key) != More::Changes);
        let left: Vec<_> = left
            .map(|row| row.key)
            .filter(|key| !keys.contains(key))
            .collect();
        let ends = [
            "registers",
            "dmem-ports",
            "events",
            "latency.integer",
            "latency.scalar",
            "loop-back",
        ];
        let intervals = left
            .iter()
            .filter(|key| key.starts_with("cp2.interval."))
            .count();
        assert_eq!((left.len(), intervals), (ends.len() + 7, 7), "{left:?}");
        assert!(
            ends.iter()
                .all(|end| left.iter().any(|key| key.ends_with(end))),
            "{left:?}"
        );
        let changes = ROWS.iter().filter(|row| More::of(row.key) == More::Changes);
        let changes: Vec<_> = changes.map(|row| row.key).collect();
        assert_eq!(
            changes,
            [
                "cp2.clock",
                "cp2.register-lanes",
                "cp2.extensions",
                "dma.deal"
            ]
        );
    }
}
