//! Converts a machine file to a system of the model, here and nowhere else.

use crate::{Channel, ComputeUnit, System};
use cp2_machine::{Class, Machine};
use std::collections::BTreeMap;

/// Name of the arithmetic slot of all sections; operations are counted per section.
pub const ARITHMETIC: &str = "arithmetic";
/// Name of the memory and control slot; operations are counted per section.
pub const MEMORY_SLOT: &str = "memory slot";
/// Name of the DMA channel.
pub const DMA: &str = "dma";
/// Name of the control CPU.
pub const CPU: &str = "cpu";
/// Name of the action from the launch command to the first issue.
pub const LAUNCH: &str = "launch";
/// Name of the action from an event until the control CPU acts on it.
pub const COMPLETION: &str = "completion";
/// Name of the action in which the control CPU builds a descriptor that something waits for.
pub const DESCRIPTOR: &str = "descriptor";
/// Name of the class of operations in which the control CPU builds descriptors.
pub const DESCRIPTORS: &str = "descriptors";

impl System {
    /// Converts a machine to a system.
    ///
    /// Rates are peak issue rates of all sections together: a slot takes one operation per cycle, a unit one
    /// every `interval` cycles.
    #[must_use]
    pub fn from_machine(machine: &Machine) -> Self {
        let (cp2, dma, host) = (&machine.cp2, &machine.dma, &machine.host);
        let clock = cp2.clock_hz as f64;
        let sections = cp2.sections as f64;
        let rate = |class: Class| {
            let rate = cp2.rate(class).as_f64() * sections * clock;
            (class.name().to_owned(), rate)
        };
        // Flops of the fullest operation of a class ([A] M12).
        let flops = |class: Class| (class.name().to_owned(), class.flops() as f64);
        let own = |class: &Class| machine.cp2.extensions.contains(class.requires());
        let (memory, arithmetic): (Vec<Class>, Vec<Class>) = Class::ALL
            .into_iter()
            .filter(own)
            .partition(|class| class.is_memory());
        let seconds = |cycles: u64| cycles as f64 / clock;
        // A slot takes one operation a cycle; cycles in which one unit's interval blocks it, other units may
        // use.
        let issues_per_second = Some(sections * clock);
        Self {
            name: machine.name.clone(),
            clock_hz: clock,
            units: vec![
                ComputeUnit {
                    name: ARITHMETIC.to_owned(),
                    operations_per_second: arithmetic.iter().copied().map(rate).collect(),
                    issues_per_second,
                    flops_per_operation: arithmetic.into_iter().map(flops).collect(),
                },
                ComputeUnit {
                    name: MEMORY_SLOT.to_owned(),
                    operations_per_second: memory.into_iter().map(rate).collect(),
                    issues_per_second,
                    flops_per_operation: BTreeMap::new(),
                },
                ComputeUnit {
                    name: CPU.to_owned(),
                    operations_per_second: BTreeMap::from([(
                        DESCRIPTORS.to_owned(),
                        // Descriptors that take no time have no limit on their rate.
                        match host.descriptor.0 {
                            0 => f64::MAX,
                            cycles => clock / cycles as f64,
                        },
                    )]),
                    issues_per_second: None,
                    flops_per_operation: BTreeMap::new(),
                },
            ],
            channels: vec![Channel {
                name: DMA.to_owned(),
                bytes_per_second: dma.bandwidth.num as f64 / dma.bandwidth.den.max(1) as f64
                    * clock,
                latency_seconds: seconds(dma.setup_idle.0),
                transfer_seconds: seconds(dma.setup_queued.0),
                run_seconds: seconds(dma.run.0),
            }],
            exclusive: Vec::new(),
            actions_seconds: BTreeMap::from([
                (LAUNCH.to_owned(), seconds(host.launch.0)),
                (COMPLETION.to_owned(), seconds(host.completion.0)),
                (DESCRIPTOR.to_owned(), seconds(host.descriptor.0)),
            ]),
        }
    }
}
