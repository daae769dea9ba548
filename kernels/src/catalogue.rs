//! The catalogue: every folder of kernels, what it plans, and its rows.
//!
//! The backend finds here the planner of a problem, and the registry the kernels of its tables. A folder is
//! listed in this one place.

use crate::backend::PlanProblem;
use crate::registry::Entry;
use crate::{chain, conv, dsp, fft, npb, sparse, stencil};

/// Planners and registry entries of a folder of kernels.
#[derive(Debug)]
pub(crate) struct KernelFolder {
    /// Functions that recognise a type of problem and plan its fastest computation. No two recognise the same
    /// type.
    pub(crate) planners: &'static [PlanProblem],
    /// Kernels in the tables: sizes, problem and plan of each.
    pub(crate) entries: &'static [Entry],
}

/// All folders, in the order of the tables. A new folder needs a row here.
pub(crate) const CATALOGUE: [KernelFolder; 7] = [
    fft::ENTRIES,
    conv::ENTRIES,
    dsp::ENTRIES,
    stencil::ENTRIES,
    sparse::ENTRIES,
    chain::ENTRIES,
    npb::ENTRIES,
];
