//! The catalogue: every folder of kernels, what it plans, and its rows.
//!
//! A folder says once what it has. The backend looks here for who plans a problem, and the registry for the kernels of its tables.

use crate::backend::PlanProblem;
use crate::registry::Entry;
use crate::{chain, conv, dsp, fft, npb, sparse, stencil};

/// What a folder of kernels has.
#[derive(Debug)]
pub(crate) struct KernelFolder {
    /// The functions that recognise a type of problem and plan it the fastest way. No two know the same type.
    pub(crate) planners: &'static [PlanProblem],
    /// The kernels of the tables: sizes, problem and plan of each.
    pub(crate) entries: &'static [Entry],
}

/// All folders, in the order of the tables. A new folder is a row.
pub(crate) const CATALOGUE: [KernelFolder; 7] = [
    fft::ENTRIES,
    conv::ENTRIES,
    dsp::ENTRIES,
    stencil::ENTRIES,
    sparse::ENTRIES,
    chain::ENTRIES,
    npb::ENTRIES,
];
