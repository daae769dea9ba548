//! The parameters of a machine, as fields for the rest of the workspace.

use serde::{Deserialize, Serialize};

use crate::quantity::gcd;
use crate::{
    Bytes, Class, ClassMap, Cycles, Extensions, NetworkParameters, Provenance, Ratio,
    SECTION_UNITS, TimeBase, UserRow,
};

/// A complete, validated machine. Serialises as the text of its machine file, so that a machine that is read
/// back is validated too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Machine {
    /// Short name, `vm7`.
    pub name: String,
    /// One line for listings.
    pub description: String,
    /// Remarks on the sources of the numbers, for readers.
    pub note: String,
    /// SHA-256 of the resolved parameters, hex: identifies the machine in reports.
    pub hash: String,
    /// The SIMD coprocessor.
    pub cp2: Cp2,
    /// The DMA controller.
    pub dma: Dma,
    /// The control CPU and its memory.
    pub host: Host,
    /// The network between processors of this kind.
    pub network: NetworkParameters,
    /// Source and reference of every parameter.
    pub provenance: Provenance,
}

/// The SIMD coprocessor.
#[derive(Clone, Debug, PartialEq)]
pub struct Cp2 {
    /// Clock frequency in Hz.
    pub clock_hz: u64,
    /// Sections that execute the single instruction stream.
    pub sections: usize,
    /// Registers per section.
    pub registers: usize,
    /// Width of one register in 32-bit lanes (a pair: 2).
    pub register_lanes: usize,
    /// Size of each section's local memory.
    pub dmem: Bytes,
    /// Ports of each DMEM: 2, or 1 if DMA and CP2 share it.
    pub dmem_ports: u32,
    /// Size of the program memory.
    pub program: Bytes,
    /// Depth of the hardware-loop stack.
    pub loop_depth: usize,
    /// Depth of the call stack.
    pub call_depth: usize,
    /// Number of event counters CP2 can wait for.
    pub events: usize,
    /// Cycles of each class from issue to the first issue that may read the result.
    pub latency: ClassMap<Cycles>,
    /// Cycles of each class between two issues of its unit.
    pub interval: ClassMap<Cycles>,
    /// Cycles lost after a taken branch, call or return.
    pub branch_penalty: Cycles,
    /// Cycles lost when a hardware loop is set up.
    pub loop_setup: Cycles,
    /// Cycles lost at a hardware loop's back edge.
    pub loop_back: Cycles,
    /// Optional instructions and memory features that the machine has.
    pub extensions: Extensions,
    /// Instructions that the machine file defines, by opcode.
    pub rows: Vec<UserRow>,
}

impl Cp2 {
    /// Returns the operations of a class per section and cycle, `1 / interval`: a section has one unit of
    /// each class, which takes one operation every `interval` cycles.
    #[must_use]
    pub fn rate(&self, class: Class) -> Ratio {
        Ratio {
            num: 1,
            den: self.interval[class].0.max(1),
        }
    }

    /// Returns the multipliers and adders of a section: what the base instructions share, or more where a row of
    /// the machine file says so.
    #[must_use]
    pub fn units(&self) -> (u32, u32) {
        let rows = self.rows.iter().map(|row| row.definition());
        rows.fold(SECTION_UNITS, |(muls, adds), row| {
            (muls.max(row.multipliers), adds.max(row.adders))
        })
    }

    /// Returns the peak floating-point operations per section and cycle: the maximum over the classes, and over
    /// the rows of the machine file, of `flops * rate`.
    #[must_use]
    pub fn flops_per_cycle(&self) -> f64 {
        let rates = Class::ALL.map(|class| class.flops() as f64 * self.rate(class).as_f64());
        let rows = self.rows.iter().map(|row| row.definition());
        let rows = rows.map(|row| {
            f64::from(row.flow.muls() + row.flow.adds()) * self.rate(row.class).as_f64()
        });
        rates.into_iter().chain(rows).fold(0.0, f64::max)
    }
}

/// The DMA controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Dma {
    /// Bytes that addresses, strides and run lengths must be multiples of.
    pub granule: Bytes,
    /// Bytes that a dealt transfer gives to a section before the next section has its turn: see
    /// [`Dma::dealt`], which is at least a granule.
    pub deal: Bytes,
    /// Bytes per CP2 cycle, loads and stores together.
    pub bandwidth: Ratio,
    /// Descriptors the queue holds, the running one included.
    pub queue: usize,
    /// Set-up time of a descriptor that finds the engine idle.
    pub setup_idle: Cycles,
    /// Set-up time of a descriptor that was queued while another ran.
    pub setup_queued: Cycles,
    /// Time for each new contiguous run in system memory after the first.
    pub run: Cycles,
    /// Most levels of stride and count in a descriptor.
    pub levels: usize,
    /// Bytes that cross the channel together: see [`Dma::beat`].
    pub beat: Bytes,
    /// Lines of one section that a transfer reads or writes in a cycle, if granules are finer than lines.
    pub lines: u64,
    /// Time for an entry of a list transfer.
    pub entry: Cycles,
}

impl Dma {
    /// Returns the bytes that a dealt transfer gives to a section before the next section has its turn:
    /// `deal`, but at least a granule.
    #[must_use]
    pub fn dealt(&self) -> u64 {
        self.deal.0.max(self.granule.0).max(1)
    }

    /// True if granules are smaller than a line of DMEM: beats and lines then take time of their own.
    #[must_use]
    pub fn has_fine_granules(&self) -> bool {
        self.granule.0 < LINE_BYTES
    }

    /// Returns the lines of a section that the channel fills in a cycle, rounded up.
    pub(crate) fn default_lines(&self) -> u64 {
        let line = LINE_BYTES.saturating_mul(self.bandwidth.den.max(1));
        self.bandwidth.num.div_ceil(line).clamp(1, 4_096)
    }
}

/// The control CPU and the system memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Size of the system memory.
    pub memory: Bytes,
    /// Time from the launch command to the kernel's first issue.
    pub launch: Cycles,
    /// Time from an event (kernel stop, signal, DMA completion) until the CPU acts on it.
    pub completion: Cycles,
    /// CPU time to build one DMA descriptor.
    pub descriptor: Cycles,
    /// Bytes per CP2 cycle that the CPU itself moves in system memory.
    pub copy: Ratio,
    /// CPU time for an operation on floating-point scalars.
    pub scalar: Cycles,
}

impl Machine {
    /// Returns the integer time base of this machine: ticks that divide a cycle and a granule's time.
    #[must_use]
    pub fn time_base(&self) -> TimeBase {
        // One granule takes `granule * den / num` cycles.
        let (num, den) = (self.dma.bandwidth.num.max(1), self.dma.bandwidth.den.max(1));
        // The ratio may be any; `check` refuses machines that need too fine a tick.
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

    /// Returns this machine with only `sections` sections taking part (\[A\] M18): a machine with fewer
    /// sections that is otherwise equal.
    #[must_use]
    pub fn with_sections(&self, sections: usize) -> Self {
        let mut machine = self.clone();
        machine.cp2.sections = sections;
        machine
    }

    /// Returns the bytes of one register.
    #[must_use]
    pub fn register_bytes(&self) -> usize {
        self.cp2.register_lanes * LANE_BYTES
    }
}

/// Bytes of one line of DMEM, the widest access of a section and of the DMA.
pub const LINE_BYTES: u64 = 16;

/// Bytes of one lane; CP2 computes in IEEE binary32.
pub const LANE_BYTES: usize = 4;
