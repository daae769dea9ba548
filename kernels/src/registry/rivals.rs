//! Base programs that compete with changes of a machine, by problem.

use crate::stencil::counted_stencil;
use cp2_machine::Machine;
use cp2_problems::Problem;
use cp2_problems::fft::{FftProblem, RealFftProblem};
use cp2_problems::stencil::StencilProblem;
use cp2_reference::{Fft, RealFft, Rival};

/// Returns the base plan that the references count for a problem beside its kernel's, if there is one.
#[must_use]
pub fn find_rival(problem: &dyn Problem, machine: &Machine) -> Option<Rival> {
    if let Some(fft) = problem.downcast_ref::<FftProblem>() {
        let [_] = fft.axes() else {
            return None;
        };
        return Fft::new(fft.len(), fft.batch()).rival(machine);
    }
    if let Some(fft) = problem.downcast_ref::<RealFftProblem>() {
        return RealFft::new(fft.len(), fft.batch(), false).rival(machine);
    }
    let stencil = problem.downcast_ref::<StencilProblem>()?;
    counted_stencil(stencil).rival(machine)
}
