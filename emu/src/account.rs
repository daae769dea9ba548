//! Accounts of a core: causes of its cycles, counters, waits and work.

pub(crate) mod cause;
pub(crate) mod counters;
pub(crate) mod coverage;
pub(crate) mod waits;
pub(crate) mod work;
