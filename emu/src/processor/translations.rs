//! Translations of programs, lent to the processors of a host thread in turn.
//!
//! A processor keeps what its engine has made of programs. Many processors that run the same programs would
//! each translate them, and each keep some MiB. So whoever runs several processors has [`Translations`] for
//! each of its host threads, and lends them to the processor that runs: [`Processor::swap_translations`].
//!
//! Nothing that a processor has done is part of what it is lent. Counts of blocks are added to its own
//! counters before translations change hands, the issue state goes back to its scoreboard, and a processor
//! compares program memory with the program of a translation before it uses that.

use super::Processor;
use super::programs::Programs;
use crate::engines::choice::Engine;
use cp2_dma::Transfer;
use cp2_machine::Machine;
use std::sync::{Arc, Mutex, PoisonError};

/// Translations of programs, which belong to no processor: for each machine and engine apart.
///
/// ```
/// use cp2_emu::{Processor, Translations};
/// use cp2_machine::{Machine, Ticks};
/// use std::sync::Arc;
///
/// let machine = Arc::new(Machine::builtin("vm7").unwrap());
/// let mut processors = [Processor::new(machine.clone()), Processor::new(machine)];
/// let mut translations = Translations::default();
/// for processor in &mut processors {
///     processor.swap_translations(&mut translations);
///     processor.run_until(Ticks(1000));
///     processor.swap_translations(&mut translations);
/// }
/// ```
#[derive(Debug, Default)]
pub struct Translations {
    sets: Vec<TranslationSet>,
}

/// Translations for one machine and engine.
#[derive(Debug)]
struct TranslationSet {
    machine: Arc<Machine>,
    engine: Engine,
    programs: Programs,
}

impl Translations {
    /// Returns the programs that an engine has translated for a machine.
    fn programs_for(&mut self, machine: &Arc<Machine>, engine: Engine) -> Option<&mut Programs> {
        let serves = |set: &TranslationSet| {
            set.engine == engine && (Arc::ptr_eq(&set.machine, machine) || set.machine == *machine)
        };
        let known = self.sets.iter().position(serves);
        let at = known.unwrap_or_else(|| {
            self.sets.push(TranslationSet {
                machine: machine.clone(),
                engine,
                programs: Programs::default(),
            });
            self.sets.len() - 1
        });
        self.sets.get_mut(at).map(|set| &mut set.programs)
    }
}

impl<T: Transfer> Processor<T> {
    /// Exchanges what this processor's engine has made of programs for `other`'s. A second call gives them
    /// back. No state of the processor changes: results, times and counters are those without the call.
    pub fn swap_translations(&mut self, other: &mut Translations) {
        let engine = self.cp2.engine;
        if let Some(programs) = other.programs_for(self.machine.all(), engine) {
            self.cp2.swap_programs(programs);
        }
    }
}

/// Translations that are not in use, from which host threads take their own: as many as ran at a time.
#[derive(Debug, Default)]
pub struct TranslationPool {
    free: Mutex<Vec<Translations>>,
}

impl TranslationPool {
    /// Creates a pool without translations.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lends translations that nobody else uses meanwhile.
    pub fn lend<R>(&self, run: impl FnOnce(&mut Translations) -> R) -> R {
        let free = || self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // The last that came back fits the caches of the host best.
        let lent = free().pop();
        let mut lent = lent.unwrap_or_default();
        let result = run(&mut lent);
        free().push(lent);
        result
    }
}
