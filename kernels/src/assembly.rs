//! Kernels assembled for a machine, and what a machine lacks for a kernel.

mod cache;

use cp2_asm::schedule::ScheduleCache;
use cp2_asm::{Assembly, Diagnostics, Options, Problem, Source, assemble};
use cp2_host::paging::RingPass;
use cp2_machine::Machine;
use std::fmt;
use std::sync::LazyLock;

/// A resource of a machine that a kernel needs more of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lack {
    /// Registers of a section: the number needed at least, and the number there is.
    Registers(usize, usize),
    /// Nested hardware loops: the depth needed, and the depth there is.
    Loops(usize, usize),
    /// Words of program memory: the number needed at least, and the number there is.
    Words(usize, usize),
    /// Bytes of a section's local memory: the number needed at least, and the number there is.
    Dmem(u64, u64),
    /// Event counters: the number needed at least, and the number there is.
    Events(usize, usize),
    /// A distance in bytes that no load or store reaches, or no pointer that goes round.
    Reach(i64),
    /// An extension, by its name.
    Extension(String),
    /// Words of a hardware loop: the number needed, and the most there can be.
    Loop(i64, i64),
    /// A limit of the assembler that the kernel exceeds: its name and value.
    Limit(&'static str, u64),
    /// A linear block that finds no registers: its name, and what there is too little of for it.
    Block(String, String),
    /// A rule of the DMA that the kernel's transfers would break, in words.
    Transfers(String),
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registers(needs, has) => write!(f, "{needs} registers or more, of {has}"),
            Self::Loops(needs, has) => write!(f, "{needs} nested loops, of {has}"),
            Self::Words(needs, has) => {
                write!(f, "{needs} words of program memory or more, of {has}")
            }
            Self::Dmem(needs, has) => {
                write!(f, "{needs} bytes of local memory or more, of {has}")
            }
            Self::Events(needs, has) => write!(f, "{needs} events or more, of {has}"),
            Self::Reach(bytes) => write!(f, "loads and stores that reach {bytes} bytes"),
            Self::Extension(name) => write!(f, "the extension {name}"),
            Self::Loop(words, most) => {
                write!(f, "a loop of {words} words, of which it has {most} at most")
            }
            Self::Limit(what, limit) => write!(f, "more than {limit} for {what}"),
            Self::Block(name, lacking) => write!(f, "{lacking} for the block {name}"),
            Self::Transfers(rule) => write!(f, "transfers that its DMA refuses: {rule}"),
        }
    }
}

/// The reason why a kernel does not run on a machine.
#[derive(Clone, Debug)]
pub struct Unfit {
    /// The kernel.
    pub kernel: String,
    /// The machine.
    pub machine: String,
    /// Resources that the machine has too little of; none if the source itself is wrong.
    pub lacks: Vec<Lack>,
    /// Diagnostics of the assembler.
    pub diagnostics: Diagnostics,
}

impl std::error::Error for Unfit {}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kernel, machine, ..
        } = self;
        if self.lacks.is_empty() {
            return write!(f, "`{kernel}` is no program:\n{}", self.diagnostics);
        }
        let lacks: Vec<String> = self.lacks.iter().map(Lack::to_string).collect();
        let lacks = lacks.join(", ");
        write!(f, "`{kernel}` does not run on {machine}: it needs {lacks}")
    }
}

impl Unfit {
    /// Makes the error of a kernel whose transfers break a rule of the DMA.
    fn transfers(kernel: &str, machine: &Machine, rule: impl fmt::Display) -> Self {
        Self {
            kernel: kernel.to_owned(),
            machine: machine.name.clone(),
            lacks: vec![Lack::Transfers(rule.to_string())],
            diagnostics: Diagnostics::default(),
        }
    }

    /// Returns true if the kernel may run over less data.
    pub(crate) fn is_size(&self) -> bool {
        let size = |lack: &Lack| matches!(lack, Lack::Reach(_) | Lack::Dmem(..) | Lack::Words(..));
        self.is_refusal() && self.lacks.iter().all(size)
    }

    /// Returns true if the machine lacks something, so that another kernel may run on it.
    pub(crate) fn is_refusal(&self) -> bool {
        !self.lacks.is_empty()
    }
}

/// The schedules of the process: programs of other sizes have the same loops.
static SCHEDULES: LazyLock<ScheduleCache> = LazyLock::new(ScheduleCache::default);

/// Assembles `source` for a machine as `options` say; `kernel` is its name for users.
///
/// The source may include files of this crate and the generated text `made`, under any name.
pub(crate) fn assembly(
    kernel: &str,
    (source, made): (&Source, &str),
    options: &Options<'_>,
) -> Result<Assembly, Unfit> {
    let kept = Options {
        schedules: Some(&SCHEDULES),
        ..options.clone()
    };
    let assembled = cache::find_or_assemble((source, made), options, || assemble(source, &kept));
    assembled.map_err(|diagnostics| {
        let machine = options.machine.map(|m| m.name.clone());
        Unfit {
            kernel: kernel.to_owned(),
            machine: machine.unwrap_or_default(),
            lacks: find_lacks(&diagnostics),
            diagnostics,
        }
    })
}

/// Returns what a machine lacks by the assembler's diagnostics; none if some diagnostic says something else.
fn find_lacks(diagnostics: &Diagnostics) -> Vec<Lack> {
    let mut all: Vec<Lack> = Vec::new();
    for diagnostic in diagnostics.iter() {
        let lack = match &diagnostic.problem {
            Problem::Absent {
                what: "register",
                index,
                count,
                ..
            } => Lack::Registers(index + 1, *count),
            Problem::Absent { index, count, .. } => Lack::Events(index + 1, *count),
            Problem::LoopDepth { depth, most, .. } => Lack::Loops(*depth, *most),
            Problem::LoopLength { words, most } if words > most => Lack::Loop(*words, *most),
            Problem::ProgramFull { words, most, .. } => Lack::Words(*words, *most),
            Problem::DmemFull { end, most, .. } => Lack::Dmem(*end, *most),
            Problem::OutOfRange { value, .. } => Lack::Reach(value.saturating_abs()),
            Problem::RoundRange { value, most, .. } if value > most => Lack::Reach(*value),
            Problem::Extension { names, .. } => Lack::Extension(names.clone()),
            Problem::Limit { what, limit } => Lack::Limit(what, *limit),
            Problem::LacksRegisters { name, what } => {
                Lack::Block(name.clone(), format!("more {what}"))
            }
            Problem::Unschedulable { name, refusal } => Lack::Block(
                name.clone(),
                match refusal.registers {
                    0 => "more registers than its constants leave".to_owned(),
                    most => format!("more registers than {most}"),
                },
            ),
            Problem::MoreErrors { .. } | Problem::MoreWarnings { .. } => continue,
            _ => return Vec::new(),
        };
        let same = |l: &&mut Lack| std::mem::discriminant(*l) == std::mem::discriminant(&lack);
        match all.iter_mut().find(same) {
            // The largest number that is needed covers all.
            Some(known) => *known = larger(known.clone(), lack),
            None => all.push(lack),
        }
    }
    all
}

/// Returns the lack that needs more.
fn larger(a: Lack, b: Lack) -> Lack {
    let size = |lack: &Lack| match *lack {
        Lack::Registers(n, _) | Lack::Loops(n, _) | Lack::Words(n, _) | Lack::Events(n, _) => {
            n as u64
        }
        Lack::Dmem(n, _) => n,
        Lack::Reach(n) => n.unsigned_abs(),
        Lack::Loop(words, _) => words.unsigned_abs(),
        Lack::Extension(_) | Lack::Limit(..) | Lack::Block(..) | Lack::Transfers(_) => 0,
    };
    if size(&b) > size(&a) { b } else { a }
}

/// Checks that local memory has the bytes below `end`.
pub(crate) fn check_dmem_end(kernel: &str, end: u64, machine: &Machine) -> Result<(), Unfit> {
    if end <= machine.cp2.dmem.0 {
        return Ok(());
    }
    Err(Unfit {
        kernel: kernel.to_owned(),
        machine: machine.name.clone(),
        lacks: vec![Lack::Dmem(end, machine.cp2.dmem.0)],
        diagnostics: Diagnostics::default(),
    })
}

/// Checks that a machine's DMA can carry out the transfers of the first pages of a pass.
pub(crate) fn moves(kernel: &str, pass: &RingPass, machine: &Machine) -> Result<(), Unfit> {
    // System memory is made large enough: whether arrays fit it is checked elsewhere.
    let mut roomy = machine.clone();
    roomy.host.memory.0 = u64::MAX / 4;
    let rules = pass.first_transfers(machine).into_iter();
    let broken = rules
        .filter_map(|d| cp2_dma::validate(&d, &roomy).err())
        .next();
    match broken {
        Some(rule) => Err(Unfit::transfers(kernel, machine, rule)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_asm::Value;

    fn unfit(text: &str, machine: &Machine) -> Unfit {
        let options = Options {
            machine: Some(machine),
            ..Options::default()
        };
        assembly("test", (&Source::new("test.s", text), ""), &options).unwrap_err()
    }

    #[test]
    fn the_most_that_is_asked_for_is_named() {
        let mut machine = Machine::builtin("vm7").unwrap();
        machine.cp2.registers = 32;
        machine.cp2.program = cp2_machine::Bytes(16);
        let text = ".program\nadd r40, r50, r1\nadd r45, r1, r2\nstop\n";
        let unfit = unfit(text, &machine);
        assert!(unfit.is_refusal());
        let said = unfit.to_string();
        assert!(said.contains("46 registers or more, of 32"), "{said}");
        assert!(said.contains("3 words of program memory"), "{said}");
        assert!(!said.contains('\n'), "{said}");
    }

    /// A cached program is found by its text, what it includes, its constants and the machine.
    #[test]
    fn what_is_known_is_of_the_same_text() {
        let vm7 = Machine::builtin("vm7").unwrap();
        let mut slow = vm7.clone();
        slow.cp2.latency[cp2_machine::Class::Add] = cp2_machine::Cycles(9);
        let made = |count: i64, made: &str, machine: &Machine| {
            let include = |name: &str, _: &str| Ok(Source::new(name, made));
            let options = Options {
                defines: vec![("N".to_owned(), Value::Int(count))],
                machine: Some(machine),
                check_registers: false,
                include: Some(&include),
                ..Options::default()
            };
            let text =
                ".program\n.include \"made.s\"\nmovi a0, N\nadd r1, r2, r3\nadd r1, r1, r3\nstop\n";
            let source = Source::new("test.s", text);
            let found = assembly("test", (&source, made), &options).unwrap();
            assert_eq!(found, assemble(&source, &options).unwrap());
            found
        };
        let first = made(1, "nop\n", &vm7);
        assert_eq!(first, made(1, "nop\n", &vm7));
        assert_ne!(first.program.words, made(2, "nop\n", &vm7).program.words);
        assert_ne!(
            first.program.words,
            made(1, "nop\nnop\n", &vm7).program.words
        );
        // Warnings are about stalls, which depend on the machine.
        assert_ne!(first.warnings, made(1, "nop\n", &slow).warnings);
    }

    /// A refusal names the machine that was asked for, whatever machine of the same numbers was refused before.
    #[test]
    fn refusals_name_their_machine() {
        for name in ["m-alpha", "m-alpha", "m-beta", "m-alpha"] {
            let mut machine = Machine::builtin("vm7").unwrap();
            machine.name = name.to_owned();
            machine.cp2.registers = 2;
            let said = unfit(".program\nadd r9, r1, r1\nstop\n", &machine);
            let said = said.diagnostics.to_string();
            assert!(said.contains(&format!("machine {name},")), "{said}");
        }
    }

    #[test]
    fn blocks_that_find_no_registers_are_named() {
        let mut machine = Machine::builtin("vm7").unwrap();
        machine.cp2.registers = 2;
        let loads = "    ldq x, [p + 32]\n    ldq y, [p - 16]\n    mul u, x, y\n    mul v, u, y\n    add w, v, x\n";
        let block = format!(
            ".program\n.linear turn, 8\n    .pointer p = a0 by 16\n{loads}    add z, w, u\n    stq z, [p]\n.endlinear\nstop\n"
        );
        let said = unfit(&block, &machine).to_string();
        let expected = "it needs more registers than 2 for the block turn";
        assert!(said.ends_with(expected), "{said}");
    }

    /// A larger local memory may hold a ring that no modulo register describes: other sizes may do.
    #[test]
    fn a_ring_too_large_is_a_distance_out_of_reach() {
        let vm7 = Machine::builtin("vm7").unwrap();
        let ring = |extent: u64| {
            let text = format!(
                ".program\n.linear copy, 8\n    .pointer p = a0 by 16 round {extent}\n    ldq x, [p]\n    stq x, [p]\n.endlinear\nstop\n"
            );
            unfit(&text, &vm7)
        };
        let large = ring(1 << 20);
        assert!(large.is_size(), "{large}");
        assert!(large.to_string().contains("reach 1048576 bytes"), "{large}");
        // Nothing is lacking where the text is wrong.
        assert!(!ring(0).is_refusal());
    }

    #[test]
    fn a_wrong_source_is_no_refusal() {
        let vm7 = Machine::builtin("vm7").unwrap();
        let unfit = unfit(".program\nad r1, r2, r3\nstop\n", &vm7);
        assert!(!unfit.is_refusal());
        assert!(unfit.to_string().contains("test.s"), "{unfit}");
    }
}
