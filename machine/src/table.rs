//! The table of machine parameters: one row for each.
//!
//! Loading, validation, listings, TOML output, the hash and `docs/machine.md` all derive from its rows.

use crate::quantity::{Quantity, Value};
use crate::{Bytes, Class, Cycles, Extensions, LINE_BYTES, Machine, Ratio, Topology};

/// Values that a parameter may take, in base units; `check` adds rules between parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// `min..=max`.
    Within(u64, u64),
    /// A power of two in `min..=max`.
    PowerOfTwo(u64, u64),
    /// An even number in `min..=max`.
    Even(u64, u64),
    /// A ratio greater than zero and at most this.
    Positive(u64),
    /// Any set of known names.
    AnySet,
}

/// One row: everything that is known about a parameter except its value.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Key path in the machine file, `dma.bandwidth`.
    pub key: &'static str,
    /// Kind of quantity that the parameter measures, which fixes its units.
    pub quantity: Quantity,
    /// Values that the parameter may take.
    pub range: Range,
    /// One line of documentation.
    pub doc: &'static str,
    /// Extensions that the parameter belongs to: a machine without them does not have it. Empty for those of
    /// every machine.
    pub requires: Extensions,
    /// Condition on other parameters under which a machine has the parameter; none for those without.
    pub condition: Option<RowCondition>,
    /// Value on a machine with the extensions that says nothing of it.
    pub(crate) default: Option<fn(&Machine) -> Value>,
    pub(crate) get: fn(&Machine) -> Value,
    pub(crate) set: fn(&mut Machine, Value),
}

/// A condition on the other parameters of a machine, without which it does not have a parameter.
#[derive(Clone, Copy, Debug)]
pub struct RowCondition {
    /// Description behind `machines with`.
    pub words: &'static str,
    /// Change of a built-in machine that makes the condition hold.
    pub change: &'static str,
    pub(crate) holds: fn(&Machine) -> bool,
}

/// Granules smaller than a line of DMEM: only they make beats and lines differ from granules.
const FINE: RowCondition = RowCondition {
    words: "a `dma.granule` below 16 B",
    change: "dma.granule=4B",
    holds: |m| m.dma.has_fine_granules(),
};

impl Row {
    /// True if the machine has the parameter.
    pub(crate) fn is_of(&self, machine: &Machine) -> bool {
        let holds = |condition: RowCondition| (condition.holds)(machine);
        machine.cp2.extensions.contains(self.requires) && self.condition.is_none_or(holds)
    }

    /// Returns the changes of a built-in machine that give it the parameter, as they stand in its name.
    #[must_use]
    pub fn brought_by(&self) -> String {
        let change = self.condition.map(|condition| condition.change.to_owned());
        let all: Vec<String> = self.requires.names().chain(change).collect();
        all.join("+")
    }
}

/// A field of [`Machine`] that a row can reach.
trait Field {
    fn get(&self) -> Value;
    fn set(&mut self, value: Value);
}

macro_rules! integer_field {
    ($($type:ty: |$v:ident| $get:expr, |$n:ident| $set:expr;)*) => {$(
        impl Field for $type {
            fn get(&self) -> Value {
                let $v = *self;
                Value::Integer($get)
            }
            fn set(&mut self, value: Value) {
                if let Value::Integer($n) = value {
                    *self = $set;
                }
            }
        }
    )*};
}

// The ranges of the rows keep every value within its field's type, so no conversion below loses anything.
integer_field! {
    u64: |v| v, |n| n;
    u32: |v| u64::from(v), |n| u32::try_from(n).unwrap_or(u32::MAX);
    usize: |v| v as u64, |n| usize::try_from(n).unwrap_or(usize::MAX);
    Bytes: |v| v.0, |n| Bytes(n);
    Cycles: |v| v.0, |n| Cycles(n);
    Topology: |v| v as u64, |n| Topology::ALL[usize::try_from(n).unwrap_or(0).min(Topology::ALL.len() - 1)];
}

impl Field for Ratio {
    fn get(&self) -> Value {
        Value::Ratio(*self)
    }
    fn set(&mut self, value: Value) {
        if let Value::Ratio(r) = value {
            *self = r;
        }
    }
}

impl Field for Extensions {
    fn get(&self) -> Value {
        Value::Names(*self)
    }
    fn set(&mut self, value: Value) {
        if let Value::Names(n) = value {
            *self = n;
        }
    }
}

macro_rules! rows {
    (@default) => { None };
    (@default $default:expr) => { Some($default) };
    (@condition) => { None };
    (@condition $condition:expr) => { Some($condition) };
    ($(#[$about:meta])* $table:ident: $($key:literal => $($field:ident).+ $([$class:ident])?, $quantity:expr, $range:expr, $doc:literal $(, $extension:ident: $default:expr $(, $condition:expr)?)?;)*) => {
        $(#[$about])*
        pub static $table: &[Row] = &[$(Row {
            key: $key,
            quantity: $quantity,
            range: $range,
            doc: $doc,
            requires: Extensions::empty()$(.union(Extensions::$extension))?,
            condition: rows!(@condition $($($condition)?)?),
            default: rows!(@default $($default)?),
            get: |m| Field::get(&m.$($field).+$([Class::$class])?),
            set: |m, v| Field::set(&mut m.$($field).+$([Class::$class])?, v),
        }),*];
    };
}

use Quantity as Q;
use Range::{AnySet, Even, Positive, PowerOfTwo, Within};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;
/// Largest latency, interval or penalty of the pipeline, in cycles.
const PIPELINE: u64 = 1_000;
/// Largest cost outside the pipeline, in cycles.
const COST: u64 = 1_000_000_000;

rows! {
    /// Every parameter of a machine that runs of one processor read, in the order of files and listings.
    ROWS:
    "cp2.clock" => cp2.clock_hz, Q::Frequency, Within(1_000, 1_000_000_000_000), "Clock of CP2; every duration given in cycles counts these.";
    "cp2.sections" => cp2.sections, Q::Count("sections"), Within(1, 64), "Sections that execute the one instruction stream.";
    "cp2.registers" => cp2.registers, Q::Count("registers"), Even(2, 64), "Registers of each section; an even/odd couple is one quad.";
    "cp2.register-lanes" => cp2.register_lanes, Q::Count("lanes"), Within(2, 2), "32-bit lanes of one register: a pair of floats, or one complex number.";
    "cp2.dmem" => cp2.dmem, Q::Size, Within(256, 16 * MIB), "Local memory of each section.";
    "cp2.dmem-ports" => cp2.dmem_ports, Q::Count("ports"), Within(1, 2), "Ports of each DMEM: 2 let CP2 and DMA work undisturbed; with 1 every word moved costs that section's CP2 a memory slot.";
    "cp2.program" => cp2.program, Q::Size, Within(KIB, 512 * KIB), "Program memory, loaded by DMA.";
    "cp2.loop-depth" => cp2.loop_depth, Q::Count("loops"), Within(1, 64), "Hardware loops that can be nested.";
    "cp2.call-depth" => cp2.call_depth, Q::Count("calls"), Within(1, 64), "Calls that can be nested.";
    "cp2.events" => cp2.events, Q::Count("events"), Within(1, 32), "Event counters CP2 can wait for.";
    "cp2.latency.integer" => cp2.latency[Integer], Q::Cycles, Within(1, PIPELINE), "Integer and bit operations, permutes, selects, immediates: issue to first use of the result.";
    "cp2.latency.add" => cp2.latency[Add], Q::Cycles, Within(1, PIPELINE), "Floating add, subtract, multiply, min/max, compare, conversion: issue to first use.";
    "cp2.latency.madd" => cp2.latency[Madd], Q::Cycles, Within(1, PIPELINE), "Multiply-add and complex multiply: issue to first use.";
    "cp2.latency.butterfly" => cp2.latency[Butterfly], Q::Cycles, Within(1, PIPELINE), "Complex butterfly: issue to first use.";
    "cp2.latency.elementary" => cp2.latency[Elementary], Q::Cycles, Within(1, PIPELINE), "Elementary functions: issue to first use.";
    "cp2.latency.load" => cp2.latency[Load], Q::Cycles, Within(1, PIPELINE), "DMEM to section register: issue to first use.";
    "cp2.latency.scalar-load" => cp2.latency[ScalarLoad], Q::Cycles, Within(1, PIPELINE), "DMEM of section 0 to shared scalar register: issue to first use.";
    "cp2.latency.scalar" => cp2.latency[Scalar], Q::Cycles, Within(1, PIPELINE), "Shared scalar arithmetic and address update: issue to first use.";
    "cp2.interval.integer" => cp2.interval[Integer], Q::Cycles, Within(1, PIPELINE), "Integer unit: cycles between two issues.";
    "cp2.interval.add" => cp2.interval[Add], Q::Cycles, Within(1, PIPELINE), "Adders and multipliers: cycles between two issues.";
    "cp2.interval.madd" => cp2.interval[Madd], Q::Cycles, Within(1, PIPELINE), "Multiply-add: cycles between two issues.";
    "cp2.interval.butterfly" => cp2.interval[Butterfly], Q::Cycles, Within(1, PIPELINE), "Butterfly: cycles between two issues.";
    "cp2.interval.elementary" => cp2.interval[Elementary], Q::Cycles, Within(1, PIPELINE), "Elementary-function unit: cycles between two issues of a pair.";
    "cp2.interval.load" => cp2.interval[Load], Q::Cycles, Within(1, PIPELINE), "DMEM loads: cycles between two issues.";
    "cp2.interval.scalar-load" => cp2.interval[ScalarLoad], Q::Cycles, Within(1, PIPELINE), "Scalar loads: cycles between two issues.";
    "cp2.interval.scalar" => cp2.interval[Scalar], Q::Cycles, Within(1, PIPELINE), "Shared scalar arithmetic: cycles between two issues.";
    "cp2.branch-penalty" => cp2.branch_penalty, Q::Cycles, Within(0, PIPELINE), "Cycles lost after a taken branch, call or return.";
    "cp2.loop-setup" => cp2.loop_setup, Q::Cycles, Within(0, PIPELINE), "Cycles lost when a hardware loop is set up.";
    "cp2.loop-back" => cp2.loop_back, Q::Cycles, Within(0, PIPELINE), "Cycles lost at the back edge of a hardware loop.";
    "cp2.extensions" => cp2.extensions, Q::Names, AnySet, "Optional instructions and memory features; the base machine has none.";
    "dma.granule" => dma.granule, Q::Size, PowerOfTwo(4, 4 * KIB), "System addresses, strides and run lengths are multiples of this.";
    "dma.deal" => dma.deal, Q::Size, PowerOfTwo(4, 4 * KIB), "Bytes that a dealt transfer gives to a section before the next has its turn; a granule where that is more.";
    "dma.bandwidth" => dma.bandwidth, Q::Bandwidth, Positive(1_000_000), "Loads and stores together.";
    "dma.queue" => dma.queue, Q::Count("descriptors"), Within(1, 4_096), "Descriptors the queue holds, the running one included.";
    "dma.setup-idle" => dma.setup_idle, Q::Cycles, Within(0, COST), "Set-up of a descriptor that finds the engine idle.";
    "dma.setup-queued" => dma.setup_queued, Q::Cycles, Within(0, COST), "Set-up of a descriptor that was queued while another ran.";
    "dma.run" => dma.run, Q::Cycles, Within(0, COST), "Cost of each new contiguous run in system memory after the first.";
    "dma.levels" => dma.levels, Q::Count("levels"), Within(1, 8), "Nested levels of stride and count around the run of a descriptor; published transfers (D3) need one or two.";
    "host.memory" => host.memory, Q::Size, Within(4 * KIB, TIB), "System memory.";
    "host.launch" => host.launch, Q::Cycles, Within(0, COST), "From the launch command to the kernel's first issue.";
    "host.completion" => host.completion, Q::Cycles, Within(0, COST), "From a kernel stop, signal or DMA completion until the control CPU acts on it.";
    "host.descriptor" => host.descriptor, Q::Cycles, Within(0, COST), "Control CPU time to build one DMA descriptor.";
    "host.copy" => host.copy, Q::Bandwidth, Positive(1_000_000), "What the control CPU itself moves when it touches system memory.";
    "host.scalar" => host.scalar, Q::Cycles, Within(0, COST), "Control CPU time for an operation on floating-point scalars, between passes.";
}

/// Longest duration of the network, in picoseconds.
const SECOND: u64 = 1_000_000_000_000;

rows! {
    /// Every parameter of the network between processors, behind those of [`ROWS`] in files and listings.
    NETWORK_ROWS:
    "network.lanes" => network.lanes, Q::Count("lanes"), Within(1, 16), "Lanes of a processor's port in each direction.";
    "network.lane-rate" => network.lane_rate_hz, Q::SymbolRate, Within(1_000_000, 1_000_000_000_000), "Symbols a second of a lane, a bit each.";
    "network.coding" => network.coding, Q::Fraction("data bits/bit"), Positive(1), "Data bits for each bit on the line.";
    "network.payload" => network.payload, Q::Size, Within(1, MIB), "Most data bytes of a packet.";
    "network.header" => network.header, Q::Size, Within(0, KIB), "Bytes on the line beside the data of each packet: ids, addresses, checks, delimiting symbol.";
    "network.hop" => network.hop_ps, Q::Duration, Within(0, SECOND), "From the first bit into a router or switch to the first bit out of it.";
    "network.send" => network.send, Q::Cycles, Within(0, COST), "Control CPU time to hand a message to the port.";
    "network.post" => network.post, Q::Cycles, Within(0, COST), "Control CPU time to post a receive.";
    "network.completion" => network.completion, Q::Cycles, Within(0, COST), "Control CPU time to learn that a send or a receive is complete.";
    "network.turnaround" => network.turnaround_ps, Q::Duration, Within(0, SECOND), "From a request for a long message at the receiver's port to its answer.";
    "network.eager" => network.eager, Q::Size, Within(0, TIB), "Most bytes of a message that is sent without asking the receiver first.";
    "network.topology" => network.topology, Q::Choice(&Topology::NAMES), Within(0, 4), "How processors are linked.";
}

rows! {
    /// Every parameter that belongs to an extension: machines with it have the parameter.
    EXTENSION_ROWS:
    "cp2.latency.gather" => cp2.latency[Gather], Q::Cycles, Within(1, PIPELINE), "DMEM at a section's own address to its register: issue to first use.", SECTION_ADDRESSING: |m| Value::Integer((m.cp2.latency[Class::Load].0 + 1).min(PIPELINE));
    "cp2.interval.gather" => cp2.interval[Gather], Q::Cycles, Within(1, PIPELINE), "Loads at own addresses: cycles between two issues.", SECTION_ADDRESSING: |_| Value::Integer(1);
    "cp2.latency.unaligned" => cp2.latency[Unaligned], Q::Cycles, Within(1, PIPELINE), "DMEM at any word address to section register: issue to first use.", WORD_ADDRESSING: |m| Value::Integer((m.cp2.latency[Class::Load].0 + 1).min(PIPELINE));
    "cp2.interval.unaligned" => cp2.interval[Unaligned], Q::Cycles, Within(1, PIPELINE), "Loads at word addresses: cycles between two issues.", WORD_ADDRESSING: |_| Value::Integer(1);
    "cp2.latency.exchange" => cp2.latency[Exchange], Q::Cycles, Within(1, PIPELINE), "Register of a section to a register of another one: issue to first use.", EXCHANGE: |m| Value::Integer(m.cp2.latency[Class::Load].0.saturating_sub(1).max(1));
    "cp2.interval.exchange" => cp2.interval[Exchange], Q::Cycles, Within(1, PIPELINE), "Exchange between sections: cycles between two issues.", EXCHANGE: |_| Value::Integer(1);
    "cp2.latency.neighbour" => cp2.latency[Neighbour], Q::Cycles, Within(1, PIPELINE), "DMEM of a section to a register of the section beside it: issue to first use.", EXCHANGE: |m| Value::Integer((m.cp2.latency[Class::Load].0 + 2).min(PIPELINE));
    "cp2.interval.neighbour" => cp2.interval[Neighbour], Q::Cycles, Within(1, PIPELINE), "Loads from the section beside: cycles between two issues.", EXCHANGE: |_| Value::Integer(1);
    "cp2.latency.vote" => cp2.latency[Vote], Q::Cycles, Within(1, PIPELINE), "Sign bits of all sections to a shared scalar: issue to first use.", CONDITIONAL: |m| Value::Integer(m.cp2.latency[Class::Load].0.saturating_sub(1).max(1));
    "cp2.interval.vote" => cp2.interval[Vote], Q::Cycles, Within(1, PIPELINE), "Votes of all sections: cycles between two issues.", CONDITIONAL: |_| Value::Integer(1);
    "cp2.latency.double-add" => cp2.latency[DoubleAdd], Q::Cycles, Within(1, PIPELINE), "Add, multiply, compare of binary64 numbers: issue to first use.", DOUBLE: |m| Value::Integer((m.cp2.latency[Class::Add].0 * 3 / 2).min(PIPELINE));
    "cp2.interval.double-add" => cp2.interval[DoubleAdd], Q::Cycles, Within(1, PIPELINE), "Add, multiply, compare of binary64 numbers: cycles between two issues.", DOUBLE: |_| Value::Integer(1);
    "cp2.latency.double-madd" => cp2.latency[DoubleMadd], Q::Cycles, Within(1, PIPELINE), "Multiply-add of binary64 numbers: issue to first use.", DOUBLE: |m| Value::Integer((m.cp2.latency[Class::Madd].0 * 3 / 2).min(PIPELINE));
    "cp2.interval.double-madd" => cp2.interval[DoubleMadd], Q::Cycles, Within(1, PIPELINE), "Multiply-add of binary64 numbers: cycles between two issues.", DOUBLE: |_| Value::Integer(1);
    "cp2.latency.double-complex" => cp2.latency[DoubleComplex], Q::Cycles, Within(1, PIPELINE), "Complex products and butterflies of binary64 numbers: issue to first use.", DOUBLE: |m| Value::Integer((m.cp2.latency[Class::Butterfly].0 * 3 / 2).min(PIPELINE));
    "cp2.interval.double-complex" => cp2.interval[DoubleComplex], Q::Cycles, Within(1, PIPELINE), "Complex products and butterflies of binary64 numbers: cycles between two issues.", DOUBLE: |_| Value::Integer(2);
    "cp2.latency.error" => cp2.latency[Error], Q::Cycles, Within(1, PIPELINE), "Rounding errors of sums and products: issue to first use.", DOUBLE_SINGLE: |m| Value::Integer((m.cp2.latency[Class::Add].0 + 1).min(PIPELINE));
    "cp2.interval.error" => cp2.interval[Error], Q::Cycles, Within(1, PIPELINE), "Rounding errors of sums and products: cycles between two issues.", DOUBLE_SINGLE: |_| Value::Integer(1);
    "dma.beat" => dma.beat, Q::Size, PowerOfTwo(4, 4 * KIB), "Bytes that cross the channel together: a contiguous run takes all beats of system memory that it touches.", NONE: |_| Value::Integer(LINE_BYTES), FINE;
    "dma.lines" => dma.lines, Q::Count("lines/cycle"), Within(1, 4_096), "16-byte lines of one section that a transfer reads or writes in a cycle.", NONE: |m| Value::Integer(m.dma.default_lines()), FINE;
    "dma.entry" => dma.entry, Q::Cycles, Within(0, COST), "An entry of a list transfer, beside the 8 bytes that are read and its element.", LIST_TRANSFERS: |_| Value::Integer(1);
}

/// Returns every parameter, those of the network and of extensions last: the order of [`crate::Provenance`].
pub(crate) fn all_rows() -> impl Iterator<Item = &'static Row> + Clone {
    ROWS.iter().chain(NETWORK_ROWS).chain(EXTENSION_ROWS)
}

/// Keys of former parameters, each with the parameters that it now follows from.
pub(crate) const DERIVED: [(&str, &str); 2] = [
    ("cp2.butterflies", "cp2.interval.butterfly"),
    (
        "cp2.flops",
        "cp2.interval.butterfly, cp2.interval.madd and cp2.interval.add",
    ),
];

impl Range {
    /// True if the value is allowed.
    #[must_use]
    pub fn contains(self, value: Value) -> bool {
        match (self, value) {
            (Self::Within(lo, hi), Value::Integer(v)) => (lo..=hi).contains(&v),
            (Self::PowerOfTwo(lo, hi), Value::Integer(v)) => {
                (lo..=hi).contains(&v) && v.is_power_of_two()
            }
            (Self::Even(lo, hi), Value::Integer(v)) => (lo..=hi).contains(&v) && v % 2 == 0,
            (Self::Positive(hi), Value::Ratio(r)) => {
                r.num > 0 && u128::from(r.num) <= u128::from(hi) * u128::from(r.den)
            }
            (Self::AnySet, Value::Names(_)) => true,
            _ => false,
        }
    }

    /// Describes the range in words, in the units of the quantity.
    #[must_use]
    pub fn describe(self, quantity: Quantity) -> String {
        let show = |v| {
            let (number, unit) = quantity.format(Value::Integer(v));
            format!("{number} {unit}")
        };
        let span = |lo, hi| {
            let (low, high) = (
                quantity.format(Value::Integer(lo)),
                quantity.format(Value::Integer(hi)),
            );
            // A range that starts at 0 is written with one unit: `0 to 4 KiB`.
            if low.1 == high.1 || lo == 0 {
                format!("{} to {} {}", low.0, high.0, high.1)
            } else {
                format!("{} {} to {} {}", low.0, low.1, high.0, high.1)
            }
        };
        if let Quantity::Choice(names) = quantity {
            return format!("one of {}", names.join(", "));
        }
        match self {
            Self::Within(lo, hi) if lo == hi => format!("exactly {}", show(lo)),
            Self::Within(lo, hi) => span(lo, hi),
            Self::PowerOfTwo(lo, hi) => format!("a power of two, {}", span(lo, hi)),
            Self::Even(lo, hi) => format!("even, {}", span(lo, hi)),
            Self::Positive(hi) => format!("greater than 0, at most {}", show(hi)),
            Self::AnySet => format!(
                "any of {}",
                Extensions::all().names().collect::<Vec<_>>().join(", ")
            ),
        }
    }
}
