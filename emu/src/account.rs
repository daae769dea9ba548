//! What a core did and where its cycles went.

pub(crate) mod cause;
pub(crate) mod counters;
pub(crate) mod coverage;
pub(crate) mod waits;
pub(crate) mod work;
