//! Schedules that are kept, for programs that have the same loops.

use super::dataflow::Dataflow;
use super::placement::ModuloSchedule;
use super::report::ScheduleReport;
use super::search::Unschedulable;
use cp2_machine::{Class, Machine};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// Schedules that were found, and searches that found none.
///
/// It changes nothing but how long assembling takes: a schedule depends on the shape of the dataflow, on the latencies
/// and intervals of the machine's classes of which it has operations, and on what it may take, all of which are the
/// key. A schedule that is found may be of another dataflow with the same shape, and is turned into one of its own.
#[derive(Debug, Default)]
pub struct ScheduleCache(Mutex<HashMap<[u64; 2], Arc<KeptSchedule>>>);

/// The result of a search: a schedule, or the refusal, and what the search reports.
pub(crate) type KeptSchedule = (
    Result<ModuloSchedule, Unschedulable>,
    Option<ScheduleReport>,
);

/// Most schedules that are kept.
const MOST: usize = 1024;

impl ScheduleCache {
    /// Returns the result of a search for a schedule of a dataflow, or of one with the same shape; it is carried out if
    /// none is known. `request` is all that the search depends on besides the dataflow and the machine.
    pub(crate) fn find_or_search(
        &self,
        dataflow: &Dataflow,
        machine: &Machine,
        request: &impl Hash,
        search: impl FnOnce() -> KeptSchedule,
    ) -> Arc<KeptSchedule> {
        // Pointers and the loads of their steps are scalar whatever the operations are.
        let classes = || {
            let scalar = [Class::Scalar, Class::ScalarLoad];
            let used = move |class: &Class| scalar.contains(class) || dataflow.uses(*class);
            Class::ALL.into_iter().filter(used)
        };
        // Two hashes: 128 bits do not meet by chance.
        let key = [0u8, 1].map(|salt| {
            let mut hasher = DefaultHasher::new();
            salt.hash(&mut hasher);
            dataflow.hash_shape(&mut hasher);
            request.hash(&mut hasher);
            for class in classes() {
                (class as usize).hash(&mut hasher);
                machine.cp2.latency[class].0.hash(&mut hasher);
                machine.cp2.interval[class].0.hash(&mut hasher);
            }
            machine.cp2.loop_setup.0.hash(&mut hasher);
            hasher.finish()
        });
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().get(&key) {
            return known.clone();
        }
        let found = Arc::new(search());
        let mut kept = kept();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, found.clone());
        found
    }
}
