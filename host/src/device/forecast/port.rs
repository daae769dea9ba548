//! The port of DMEM that a kernel shares with granules, where there is one alone: in the long run, not word by word.

use super::{Forecast, Running};
use cp2_machine::{Machine, Ticks};

/// How far a kernel has come in a step, and granules that have come and wait for the port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PortProgress {
    pub(super) at: f64,
    pub(super) left: f64,
    pub(super) debt: f64,
}

/// Of cycles and granules: less than any that there is.
const NOTHING: f64 = 1e-6;

impl Forecast {
    /// How far the kernel has come in its step by a cycle: when, what is left then, and the granules that wait then.
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

    /// The kernel and the port of its memory go on up to a cycle, or until nothing of the step is left, of whose cycles the part
    /// `wants` uses the port. A granule takes it for a cycle; a word of the kernel gives way to those that wait, for one cycle.
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
            // What uses the port in every cycle but those in which it gives way lets so many granules pass.
            let passed = 1.0 / (1.0 + wants);
            let full = work.debt > 0.0 || piled >= passed;
            let (slow, growth) = match full {
                true => (1.0 + wants, piled - passed),
                // What came in a cycle that was the kernel's waits for the next one, too.
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

    /// Kernel and port come to the present: what shares the port changes.
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
