//! Checks whether a machine can run a program.

use crate::Program;
use crate::isa::{DecodeError, Kind, Op, Word};
use crate::structure::Structure;
use cp2_machine::{Machine, UserRow};

/// Reasons why a machine cannot run a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineMismatch {
    /// A word is no instruction.
    #[error("word {pc:#06x}: {source}")]
    Word {
        /// Word address.
        pc: usize,
        /// Reason why the word is invalid.
        source: DecodeError,
    },
    /// The machine lacks extensions.
    #[error(
        "the program requires {missing}, which machine `{machine}` lacks: choose a machine with it, such as {machine}+{}",
        missing.replace(", ", "+")
    )]
    Extensions {
        /// Names of the missing extensions, comma-separated.
        missing: String,
        /// Name of the machine.
        machine: String,
    },
    /// The machine lacks a row of a machine file, or has another one.
    #[error(
        "the program uses the row `{row}` of opcode {opcode}, and machine `{machine}` {has}: choose the machine \
         that the program was assembled for, by --machine FILE"
    )]
    Row {
        /// Mnemonic of the row.
        row: String,
        /// Its opcode.
        opcode: u8,
        /// Description of what the machine has instead.
        has: String,
        /// Name of the machine.
        machine: String,
    },
    /// Program memory is too small.
    #[error(
        "the program has {bytes} bytes, program memory of machine `{machine}` {size}: shorten the program"
    )]
    Program {
        /// Bytes of the program.
        bytes: u64,
        /// Bytes of program memory.
        size: u64,
        /// Name of the machine.
        machine: String,
    },
    /// A data segment lies beyond DMEM.
    #[error(
        "the data at {address:#x} end at {end:#x}, DMEM of machine `{machine}` at {size:#x}: move or shorten them"
    )]
    Dmem {
        /// First byte of the segment.
        address: u32,
        /// First byte after it.
        end: u64,
        /// Bytes of DMEM in each section.
        size: u64,
        /// Name of the machine.
        machine: String,
    },
    /// A section register is beyond the register file.
    #[error("word {pc:#06x} uses r{register}, machine `{machine}` has r0..r{}: use lower registers", count.saturating_sub(1))]
    Register {
        /// Word address.
        pc: usize,
        /// Number of the register.
        register: u8,
        /// Number of section registers of the machine.
        count: usize,
        /// Name of the machine.
        machine: String,
    },
    /// Hardware loops nest deeper than the machine's stack.
    #[error(
        "the loop at word {pc:#06x} is nested {depth} deep, machine `{machine}` allows {most}: nest less"
    )]
    LoopDepth {
        /// Word address of the innermost loop.
        pc: usize,
        /// Number of loops that are open there, the innermost included.
        depth: usize,
        /// Deepest nesting that the machine allows.
        most: usize,
        /// Name of the machine.
        machine: String,
    },
    /// An event that the machine does not have.
    #[error(
        "word {pc:#06x} names event {event}, machine `{machine}` has {count} events, numbered from 0"
    )]
    Event {
        /// Word address.
        pc: usize,
        /// Event number.
        event: i32,
        /// Number of events of the machine.
        count: usize,
        /// Name of the machine.
        machine: String,
    },
}

impl Program {
    /// Checks that `machine` has what the program needs.
    ///
    /// # Errors
    /// The first mismatch found.
    pub fn check_machine(&self, machine: &Machine) -> Result<(), MachineMismatch> {
        let name = || machine.name.clone();
        let words = self
            .decode()
            .map_err(|(pc, source)| MachineMismatch::Word { pc, source })?;
        if let Some(lack) = self.rows.iter().find_map(|row| lacks_row(*row, machine)) {
            return Err(lack);
        }
        let required = words
            .iter()
            .fold(self.requires, |all, word| all | word.requires());
        let missing = required - machine.cp2.extensions;
        if !missing.is_empty() {
            let missing = missing.names().collect::<Vec<_>>().join(", ");
            return Err(MachineMismatch::Extensions {
                missing,
                machine: name(),
            });
        }
        program_fits(self.words.len(), machine)?;
        for segment in &self.dmem {
            let end = u64::from(segment.address) + segment.bytes.len() as u64;
            dmem_fits(segment.address, end, machine)?;
        }
        for (pc, word) in words.iter().enumerate() {
            if let Some(lack) = lacks(pc, word, machine).next() {
                return Err(lack);
            }
        }
        let words: Vec<_> = words.into_iter().map(Some).collect();
        let most = machine.cp2.loop_depth;
        match Structure::of(&words)
            .depths
            .into_iter()
            .find(|&(_, depth)| depth > most)
        {
            Some((pc, depth)) => Err(MachineMismatch::LoopDepth {
                pc,
                depth,
                most,
                machine: name(),
            }),
            None => Ok(()),
        }
    }
}

/// Returns the mismatch of a row that the machine does not have as it is.
fn lacks_row(row: UserRow, machine: &Machine) -> Option<MachineMismatch> {
    let own = row.definition();
    let theirs = || machine.cp2.rows.iter().map(|row| row.definition());
    if theirs().any(|other| other.essence() == own.essence()) {
        return None;
    }
    let named = theirs().find(|o| (&o.mnemonic, o.form) == (&own.mnemonic, own.form));
    let coded = theirs().find(|other| other.opcode == own.opcode);
    let has = match (named, coded) {
        (Some(other), _) => format!(
            "defines `{}` differently ({})",
            own.mnemonic,
            other.essence()
        ),
        (None, Some(other)) => format!("has `{}` there", other.mnemonic),
        (None, None) => "has no such row".to_owned(),
    };
    Some(MachineMismatch::Row {
        row: own.mnemonic.clone(),
        opcode: own.opcode,
        has,
        machine: machine.name.clone(),
    })
}

/// Checks that program memory has room for `words` words.
pub(crate) fn program_fits(words: usize, machine: &Machine) -> Result<(), MachineMismatch> {
    let bytes = words as u64 * size_of::<u64>() as u64;
    let size = machine.cp2.program.get();
    if bytes <= size {
        return Ok(());
    }
    Err(MachineMismatch::Program {
        bytes,
        size,
        machine: machine.name.clone(),
    })
}

/// Checks that DMEM has room for data from `address` up to `end`.
pub(crate) fn dmem_fits(address: u32, end: u64, machine: &Machine) -> Result<(), MachineMismatch> {
    let size = machine.cp2.dmem.get();
    if end <= size {
        return Ok(());
    }
    Err(MachineMismatch::Dmem {
        address,
        end,
        size,
        machine: machine.name.clone(),
    })
}

/// Iterates over the registers and events that word `pc` names and `machine` lacks: the first one of each
/// operand.
pub(crate) fn lacks<'a>(
    pc: usize,
    word: &'a Word,
    machine: &'a Machine,
) -> impl Iterator<Item = MachineMismatch> + 'a {
    [&word.arith, &word.mem].into_iter().flat_map(move |inst| {
        let count = machine.cp2.registers;
        let operands = inst.row().form.operands().iter();
        let registers = operands
            .filter(|o| o.kind.is_register())
            .zip(&inst.r)
            .filter(|(o, _)| matches!(o.kind, Kind::Pair | Kind::Quad))
            .filter_map(move |(o, &r)| {
                let regs = o.kind.regs(r);
                regs.iter()
                    .find(|reg| usize::from(reg.0) >= count)
                    .map(|reg| MachineMismatch::Register {
                        pc,
                        register: reg.0,
                        count,
                        machine: machine.name.clone(),
                    })
            });
        let count = machine.cp2.events;
        let event = (matches!(inst.op, Op::Wait | Op::Signal)
            && usize::try_from(inst.imm).is_ok_and(|event| event >= count))
        .then(|| MachineMismatch::Event {
            pc,
            event: inst.imm,
            count,
            machine: machine.name.clone(),
        });
        registers.chain(event)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Segment;
    use crate::isa::Inst;
    use cp2_machine::{Bytes, Extensions};

    fn program(inst: Inst) -> Program {
        let word = match inst.row().slot() {
            crate::isa::Slot::Arith => Word {
                arith: inst,
                ..Word::NOP
            },
            crate::isa::Slot::Mem => Word {
                mem: inst,
                ..Word::NOP
            },
        };
        Program {
            words: vec![0, word.encode()],
            ..Program::default()
        }
    }

    fn vm7(edit: impl FnOnce(&mut Machine)) -> Machine {
        let mut machine = Machine::builtin("vm7").unwrap();
        edit(&mut machine);
        machine
    }

    #[test]
    fn limits_are_exact() {
        let quad = program(Inst {
            r: [15, 15, 15, 0, 0],
            ..Inst::new(Op::AddQ)
        });
        assert_eq!(quad.check_machine(&vm7(|m| m.cp2.registers = 32)), Ok(()));
        let found = quad
            .check_machine(&vm7(|m| m.cp2.registers = 31))
            .unwrap_err();
        assert_eq!(
            found,
            MachineMismatch::Register {
                pc: 1,
                register: 31,
                count: 31,
                machine: "vm7".into()
            }
        );

        let wait = program(Inst {
            imm: 7,
            ..Inst::new(Op::Wait)
        });
        assert_eq!(wait.check_machine(&vm7(|m| m.cp2.events = 8)), Ok(()));
        let found = wait.check_machine(&vm7(|m| m.cp2.events = 7)).unwrap_err();
        assert_eq!(
            found,
            MachineMismatch::Event {
                pc: 1,
                event: 7,
                count: 7,
                machine: "vm7".into()
            }
        );

        assert_eq!(
            wait.check_machine(&vm7(|m| m.cp2.program = Bytes(16))),
            Ok(())
        );
        let found = wait
            .check_machine(&vm7(|m| m.cp2.program = Bytes(15)))
            .unwrap_err();
        assert_eq!(
            found,
            MachineMismatch::Program {
                bytes: 16,
                size: 15,
                machine: "vm7".into()
            }
        );
    }

    #[test]
    fn data_and_extensions_must_be_there() {
        let size = vm7(|_| ()).cp2.dmem.get();
        let address = (size - 8) as u32;
        let with = |bytes| Program {
            dmem: vec![Segment {
                address,
                bytes: vec![0; bytes],
            }],
            ..Program::default()
        };
        assert_eq!(with(8).check_machine(&vm7(|_| ())), Ok(()));
        let expected = MachineMismatch::Dmem {
            address,
            end: size + 4,
            size,
            machine: "vm7".into(),
        };
        assert_eq!(with(12).check_machine(&vm7(|_| ())), Err(expected));

        let needs = Program {
            requires: Extensions::DOUBLE | Extensions::WORD_ADDRESSING,
            ..Program::default()
        };
        let found = needs
            .check_machine(&vm7(|m| m.cp2.extensions = Extensions::DOUBLE))
            .unwrap_err();
        let missing = "word-addressing".to_owned();
        assert_eq!(
            found,
            MachineMismatch::Extensions {
                missing,
                machine: "vm7".into()
            }
        );
        assert_eq!(
            needs.check_machine(&vm7(|m| m.cp2.extensions = Extensions::all())),
            Ok(())
        );
    }

    #[test]
    fn words_that_are_none_are_named() {
        let program = Program {
            words: vec![0, !0],
            ..Program::default()
        };
        assert!(matches!(
            program.check_machine(&vm7(|_| ())),
            Err(MachineMismatch::Word { pc: 1, .. })
        ));
    }
}
