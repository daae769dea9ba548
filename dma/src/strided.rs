//! The strided descriptor as a transfer: closed forms from its strides.

use crate::places::{Places, Stretch};
use crate::runs::{Nest, turns};
use crate::transfer::{Bounds, Transfer, extent};
use crate::{Descriptor, DescriptorError, Direction, Run, Schedule, Sweep, Target, validate};
use cp2_machine::Machine;
use std::ops::Range;

impl Transfer for Descriptor {
    fn direction(&self) -> Direction {
        self.direction
    }

    fn event(&self) -> Option<u32> {
        self.event
    }

    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run> {
        Descriptor::runs(self, machine)
    }

    fn check(&self, machine: &Machine) -> Result<(), DescriptorError> {
        validate::strided(self, machine)
    }

    fn bounds(&self, machine: &Machine) -> Bounds {
        let start =
            |address: u64, bytes: u64| i128::from(address)..i128::from(address) + i128::from(bytes);
        // A valid descriptor lies inside both memories, so clamping changes nothing.
        let inside = |all: Range<i128>| {
            let [from, to] = [all.start, all.end].map(|at| at.clamp(0, u64::MAX.into()));
            from as u64..to as u64
        };
        let systems = turns(self, machine).map(|turn| (turn.count, turn.system));
        let locals = turns(self, machine).map(|turn| (turn.count, turn.local));
        let local = start(self.local.into(), validate::local_run(self, machine));
        Bounds {
            system: inside(extent(start(self.system, self.run), systems)),
            local: inside(extent(local, locals)),
        }
    }

    fn places(&self, machine: &Machine) -> Places {
        let turns = turns(self, machine).map(|turn| (turn.count.into(), turn.system));
        Places::repeated(Stretch {
            start: self.system,
            bytes: self.run,
            turns: turns.collect(),
        })
    }

    fn schedule(&self, machine: &Machine) -> Schedule {
        Schedule::of_nest(&Nest::new(self, machine), self.runs(machine), machine)
    }

    fn packed(&self, _machine: &Machine) -> Option<Self> {
        let mut packed = Self {
            system: 0,
            ..self.clone()
        };
        let stride = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut bytes = self.run;
        for level in &mut packed.levels {
            level.system_stride = stride(bytes);
            bytes = bytes.saturating_mul(level.count.into());
        }
        if let Target::Blocks { stride: apart } = &mut packed.target {
            *apart = stride(bytes);
        }
        Some(packed)
    }

    fn sweep(&self, machine: &Machine) -> Option<(Range<u64>, Sweep)> {
        Sweep::of(self, machine)
    }
}
