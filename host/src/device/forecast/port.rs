//! Model of the one DMEM port that a kernel shares with arriving granules.
//!
//! It averages accesses over a step rather than following them word by word.

use super::{Forecast, Running};
use cp2_machine::{Machine, Ticks};

/// Progress of a kernel in a step, and granules that have arrived and wait for the port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PortProgress {
    pub(super) at: f64,
    pub(super) left: f64,
    pub(super) debt: f64,
}

/// Cycles or granules so few that they are rounding errors.
const NOTHING: f64 = 1e-6;

impl Forecast {
    /// Follows the kernel in its step up to cycle `until`: returns the cycle reached, the cycles of the step
    /// left, and the granules that wait then.
    pub(super) fn reached(&self, kernel: &Running, until: f64, machine: &Machine) -> PortProgress {
        let wants = kernel.step.accesses as f64 / kernel.step.cycles.max(1) as f64;
        let idle = PortProgress {
            left: f64::INFINITY,
            ..self.port
        };
        let begin = self.flow(idle, kernel.at.min(until), 0.0, machine);
        let own = PortProgress {
            at: kernel.at,
            left: kernel.left,
            ..begin
        };
        self.flow(own, until, wants.min(1.0), machine)
    }

    /// Follows the kernel and the port up to a cycle, or until nothing is left of the step. `wants` is the
    /// share of the step's cycles that use the port. A granule takes the port for a cycle; a word of the
    /// kernel gives way for one cycle to granules that wait.
    fn flow(
        &self,
        mut work: PortProgress,
        until: f64,
        wants: f64,
        machine: &Machine,
    ) -> PortProgress {
        let ticks = machine.time_base().ticks_per_cycle as f64;
        let cycle = |at: Ticks| at.0 as f64 / ticks;
        let shared = self.moving.iter().filter(|moving| moving.granules > 0.0);
        while work.at < until && work.left > 0.0 {
            let mut spans = shared.clone();
            let span = spans.find(|moving| cycle(moving.completes) > work.at);
            let (end, granules, piled) = match span {
                Some(span) if cycle(span.data) <= work.at => {
                    (cycle(span.completes), span.granules, span.piled)
                }
                Some(span) => (cycle(span.data), 0.0, 0.0),
                None => (f64::INFINITY, 0.0, 0.0),
            };
            // A kernel cycle takes 1 + wants cycles if granules always wait. One of these cycles lets a
            // granule pass, so that 1 / (1 + wants) granules pass per cycle.
            let passed = 1.0 / (1.0 + wants);
            let full = work.debt > 0.0 || piled >= passed;
            let (slow, growth) = match full {
                true => (1.0 + wants, piled - passed),
                // Otherwise an access is delayed by granules that arrive in its own cycle or in the one by
                // which it was delayed: by min(granules (1 + wants), 1) cycles on average.
                false => (1.0 + wants * (granules * (1.0 + wants)).min(1.0), 0.0),
            };
            let mut cycles = (end.min(until) - work.at).min(work.left * slow);
            if growth < 0.0 {
                cycles = cycles.min(work.debt / -growth);
            }
            work.at += cycles;
            work.left -= cycles / slow;
            work.debt += growth * cycles;
            for rest in [&mut work.left, &mut work.debt] {
                if *rest < NOTHING {
                    *rest = 0.0;
                }
            }
        }
        work
    }

    /// Advances kernel and port to the present, before the transfers that share the port change.
    pub(super) fn settle(&mut self, now: Ticks, machine: &Machine) {
        if machine.cp2.dmem_ports > 1 {
            return;
        }
        let now = now.0 as f64 / machine.time_base().ticks_per_cycle as f64;
        let before = match &self.kernel {
            Some(kernel) if kernel.at <= now => self.reached(kernel, now, machine),
            _ => self.port,
        };
        if let Some(kernel) = self.kernel.as_mut().filter(|kernel| kernel.at <= now) {
            (kernel.at, kernel.left) = (before.at, before.left);
        }
        let idle = PortProgress {
            left: f64::INFINITY,
            ..before
        };
        self.port = self.flow(idle, now, 0.0, machine);
    }
}
