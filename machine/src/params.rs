//! The parameters of a machine, as the rest of the workspace reads them.

use serde::{Deserialize, Serialize};

use crate::quantity::gcd;
use crate::{Bytes, Class, ClassMap, Cycles, Extensions, Provenance, Ratio, TimeBase};

/// A complete, validated machine. Serialises as its machine file, so that what is
/// read back is validated too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Machine {
    /// Short name, `vm7`.
    pub name: String,
    /// One line for listings.
    pub description: String,
    /// What a reader should know about where the numbers come from.
    pub note: String,
    /// SHA-256 of the resolved parameters, hex: identifies the machine in reports.
    pub hash: String,
    /// The SIMD coprocessor.
    pub cp2: Cp2,
    /// The DMA controller.
    pub dma: Dma,
    /// The control CPU and its memory.
    pub host: Host,
    /// Source and reference of every parameter.
    pub provenance: Provenance,
}

/// The SIMD coprocessor.
#[derive(Clone, Debug, PartialEq)]
pub struct Cp2 {
    /// Clock frequency in Hz.
    pub clock_hz: u64,
    /// Sections that run the one instruction stream.
    pub sections: usize,
    /// Registers per section.
    pub registers: usize,
    /// Width of one register in 32-bit lanes (a pair: 2).
    pub register_lanes: usize,
    /// Local memory of each section.
    pub dmem: Bytes,
    /// Ports of each DMEM: 2, or 1 where DMA and CP2 share it.
    pub dmem_ports: u32,
    /// Program memory.
    pub program: Bytes,
    /// Depth of the hardware-loop stack.
    pub loop_depth: usize,
    /// Depth of the call stack.
    pub call_depth: usize,
    /// Number of event counters CP2 can wait for.
    pub events: usize,
    /// Cycles from issue to the first issue that may read the result.
    pub latency: ClassMap<Cycles>,
    /// Cycles between two issues of the same unit.
    pub interval: ClassMap<Cycles>,
    /// Cycles lost after a taken branch, call or return.
    pub branch_penalty: Cycles,
    /// Cycles lost when a hardware loop is set up.
    pub loop_setup: Cycles,
    /// Cycles lost at a hardware loop's back edge.
    pub loop_back: Cycles,
    /// Optional instructions and memory features present.
    pub extensions: Extensions,
}

impl Cp2 {
    /// Operations of a class per section and cycle: a section has one unit of each, which takes one every `interval` cycles.
    #[must_use]
    pub fn rate(&self, class: Class) -> Ratio {
        Ratio {
            num: 1,
            den: self.interval[class].0.max(1),
        }
    }

    /// Peak floating-point operations per section and cycle: those of the class that has most of them at its rate.
    #[must_use]
    pub fn flops_per_cycle(&self) -> f64 {
        let rates = Class::ALL.map(|class| class.flops() as f64 * self.rate(class).as_f64());
        rates.into_iter().fold(0.0, f64::max)
    }
}

/// The DMA controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Dma {
    /// Addresses, strides and run lengths are multiples of this.
    pub granule: Bytes,
    /// What a dealt transfer gives to a section before the next has its turn: see [`Dma::dealt`].
    pub deal: Bytes,
    /// Bytes per CP2 cycle, loads and stores together.
    pub bandwidth: Ratio,
    /// Descriptors the queue holds, the running one included.
    pub queue: usize,
    /// Set-up of a descriptor that finds the engine idle.
    pub setup_idle: Cycles,
    /// Set-up of a descriptor that was queued while another ran.
    pub setup_queued: Cycles,
    /// Cost of each new contiguous run in system memory after the first.
    pub run: Cycles,
    /// Levels of stride and count in a descriptor.
    pub levels: usize,
}

impl Dma {
    /// Bytes that a dealt transfer gives to a section before the next has its turn: no less than a granule.
    #[must_use]
    pub fn dealt(&self) -> u64 {
        self.deal.0.max(self.granule.0).max(1)
    }
}

/// The control CPU and the system memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// System memory.
    pub memory: Bytes,
    /// From the launch command to the kernel's first issue.
    pub launch: Cycles,
    /// From an event (kernel stop, signal, DMA completion) until the CPU acts on it.
    pub completion: Cycles,
    /// CPU time to build one DMA descriptor.
    pub descriptor: Cycles,
    /// Bytes per cycle the CPU itself moves in system memory.
    pub copy: Ratio,
    /// CPU time for an operation on floating-point scalars.
    pub scalar: Cycles,
}

impl Machine {
    /// The integer time base of this machine.
    #[must_use]
    pub fn time_base(&self) -> TimeBase {
        // One granule takes granule * den / num cycles.
        let (num, den) = (self.dma.bandwidth.num.max(1), self.dma.bandwidth.den.max(1));
        // Any ratio is possible here: what needs too fine a tick is refused by `check`.
        let cycles = u128::from(self.dma.granule.0.max(1)) * u128::from(den);
        let g = gcd(cycles, num.into());
        let ticks = |of: u128| match (u64::try_from(of), u64::try_from(g)) {
            (Ok(of), Ok(g)) => of / g,
            _ => u64::try_from(of / g).unwrap_or(u64::MAX),
        };
        TimeBase {
            ticks_per_cycle: ticks(num.into()),
            ticks_per_granule: ticks(cycles),
            clock_hz: self.cp2.clock_hz,
        }
    }

    /// The machine while only so many of its sections take part (\[A\] M18): one with fewer sections, alike in all else.
    #[must_use]
    pub fn with_sections(&self, sections: usize) -> Self {
        let mut machine = self.clone();
        machine.cp2.sections = sections;
        machine
    }

    /// Bytes of one register.
    #[must_use]
    pub fn register_bytes(&self) -> usize {
        self.cp2.register_lanes * LANE_BYTES
    }
}

/// Bytes of one lane: CP2 computes in IEEE binary32.
pub const LANE_BYTES: usize = 4;
