//! Machines for random programs: built-in ones, extended ones, odd ones.
//!
//! Built-in machines come with either kind of DMEM, and as they are or with all extensions.

use cp2_machine::{Bytes, Class, ClassMap, Cycles, Extensions, Machine, Ratio};
use proptest::prelude::*;
use proptest::sample::select;

/// Properties of an odd machine.
#[derive(Clone, Debug)]
struct Odd {
    sections: usize,
    registers: usize,
    dmem: u64,
    depths: (usize, usize),
    events: usize,
    latency: [u64; Class::ALL.len()],
    interval: [u64; Class::ALL.len()],
    penalties: (u64, u64, u64),
    granule: u64,
    bandwidth: (u64, u64),
    queue: usize,
    costs: (u64, u64, u64),
}

/// Returns a strategy for machines: built-in ones twice in three times, else odd ones.
pub(super) fn any_machine() -> BoxedStrategy<Machine> {
    let names = select(Machine::names());
    // Other tests make sure that no built-in machine is missing or faulty.
    let builtin = (names, 1u32..=2, any::<bool>());
    let builtin = builtin.prop_filter_map("no such machine", |(name, ports, extended)| {
        let mut machine = Machine::builtin(name)?;
        machine.cp2.dmem_ports = ports;
        // Rows of extensions must be run, and must be missing, in some cases.
        if extended {
            machine.cp2.extensions = Extensions::all();
        }
        Some(machine)
    });
    let odd = (builtin.clone(), any_odd()).prop_map(|(mut machine, odd)| {
        odd.apply(&mut machine);
        machine
    });
    prop_oneof![2 => builtin, 1 => odd].boxed()
}

fn any_odd() -> impl Strategy<Value = Odd> {
    (
        // The block engines require four sections.
        select(vec![1, 2, 3, 5, 4, 4, 4, 4, 4, 4, 4, 4]),
        select(vec![64, 64, 12, 32]),
        select(vec![65_536, 65_536, 4096, 10_240]),
        (select(vec![1, 2, 8]), select(vec![1, 3, 8])),
        select(vec![1, 4, 32]),
        prop::array::uniform::<_, { Class::ALL.len() }>(1u64..16),
        prop::array::uniform::<_, { Class::ALL.len() }>(prop_oneof![3 => Just(1u64), 1 => 2u64..4]),
        (0u64..6, 0u64..4, 0u64..2),
        select(vec![16, 32]),
        select(vec![(16, 1), (53, 10), (64, 1), (7, 3)]),
        1usize..5,
        (0u64..40, 0u64..6, 0u64..3),
    )
        .prop_map(
            |(
                sections,
                registers,
                dmem,
                depths,
                events,
                latency,
                interval,
                penalties,
                granule,
                bandwidth,
                queue,
                costs,
            )| Odd {
                sections,
                registers,
                dmem,
                depths,
                events,
                latency,
                interval,
                penalties,
                granule,
                bandwidth,
                queue,
                costs,
            },
        )
}

impl Odd {
    fn apply(&self, machine: &mut Machine) {
        let cp2 = &mut machine.cp2;
        cp2.sections = self.sections;
        cp2.registers = self.registers;
        cp2.dmem = Bytes(self.dmem);
        (cp2.loop_depth, cp2.call_depth) = self.depths;
        cp2.events = self.events;
        cp2.latency = ClassMap::from_fn(|class| Cycles(self.latency[class as usize]));
        cp2.interval = ClassMap::from_fn(|class| Cycles(self.interval[class as usize]));
        let (branch, setup, back) = self.penalties;
        cp2.branch_penalty = Cycles(branch);
        cp2.loop_setup = Cycles(setup);
        cp2.loop_back = Cycles(back);
        let dma = &mut machine.dma;
        dma.granule = Bytes(self.granule);
        let (num, den) = self.bandwidth;
        dma.bandwidth = Ratio::new(num, den).unwrap_or(dma.bandwidth);
        dma.queue = self.queue;
        let (idle, queued, run) = self.costs;
        dma.setup_idle = Cycles(idle);
        dma.setup_queued = Cycles(queued);
        dma.run = Cycles(run);
    }
}
