//! Machines with one parameter eased: they permit no less, and are no slower.

use crate::quantity::Value;
use crate::{Machine, ROWS, Ratio};

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
            | "dma.queue" | "dma.levels" | "host.memory" | "host.copy" => Self::Eases,
            "dma.granule" | "dma.setup-idle" | "dma.setup-queued" | "dma.run" | "host.launch"
            | "host.completion" | "host.descriptor" | "host.scalar" | "cp2.branch-penalty"
            | "cp2.loop-setup" | "cp2.loop-back" => Self::Hinders,
            key if key.starts_with("cp2.latency.") || key.starts_with("cp2.interval.") => {
                Self::Hinders
            }
            _ => Self::Changes,
        }
    }
}

impl Machine {
    /// Returns this machine with one parameter eased at a time, each with the parameter's key. The value is
    /// doubled if a larger one eases, and halved if a larger one hinders.
    ///
    /// Left out are parameters at the end of their range, and machines that would break a rule.
    #[must_use]
    pub fn eased(&self) -> Vec<(&'static str, Self)> {
        let each = ROWS.iter().filter_map(|row| {
            let up = match More::of(row.key) {
                More::Eases => true,
                More::Hinders => false,
                More::Changes => return None,
            };
            let value = match ((row.get)(self), up) {
                (Value::Integer(v), true) => Value::Integer(v.checked_mul(2)?),
                (Value::Integer(v), false) => Value::Integer(v / 2),
                (Value::Ratio(r), true) => Value::Ratio(Ratio::new(r.num.checked_mul(2)?, r.den)?),
                (Value::Ratio(r), false) => Value::Ratio(Ratio::new(r.num, r.den.checked_mul(2)?)?),
                (Value::Names(_), _) => return None,
            };
            if !row.range.contains(value) || value == (row.get)(self) {
                return None;
            }
            let mut eased = self.clone();
            (row.set)(&mut eased, value);
            eased.name = format!("{}-{}", self.name, row.key.replace('.', "-"));
            // Reading the text again gives the machine a hash and checks all rules.
            let text = eased.to_toml();
            let eased = Self::parse("eased.toml", &text).ok()?;
            Some((row.key, eased))
        });
        each.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_that_eases_or_hinders_is_changed_alone() {
        let vm7 = Machine::builtin("vm7").unwrap();
        let eased = vm7.eased();
        for (key, machine) in &eased {
            let differ = ROWS
                .iter()
                .filter(|row| (row.get)(machine) != (row.get)(&vm7));
            assert_eq!(differ.map(|row| row.key).collect::<Vec<_>>(), [*key]);
            assert_ne!(machine.hash, vm7.hash);
        }
        // Every other parameter that eases or hinders is at the end of its range, or has no number of its
        // own.
        let keys: Vec<_> = eased.iter().map(|(key, _)| *key).collect();
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
