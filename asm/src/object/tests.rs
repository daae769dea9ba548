//! Tests of object files: round trips, refusals, damaged files.

use super::*;
use crate::isa::{Inst, Op, Word};
use crate::testing::any_program;
use crate::{Expansion, Line, ProgramExpansion, Segment, Symbol, SymbolKind};
use cp2_machine::Extensions;
use proptest::prelude::*;

fn sample() -> Program {
    let word = |mem| {
        Word {
            arith: Inst {
                r: [0, 1, 2, 0, 0],
                ..Inst::new(Op::AddP)
            },
            mem: Inst::new(mem),
        }
        .encode()
    };
    let symbol = |name: &str, kind, value| Symbol {
        name: name.into(),
        kind,
        value,
    };
    Program {
        words: vec![word(Op::MemNop), word(Op::MemNop), word(Op::Stop)],
        dmem: vec![
            Segment {
                address: 16,
                bytes: (0..32).collect(),
            },
            Segment {
                address: 0x100,
                bytes: vec![0xff; 8],
            },
        ],
        symbols: vec![
            symbol("main", SymbolKind::Program, 1),
            symbol("table", SymbolKind::Dmem, 0x100),
            symbol("N", SymbolKind::Absolute, -256),
            symbol("end", SymbolKind::Program, 3),
        ],
        files: vec!["kernels/a.s".into(), "inc.s".into()],
        lines: vec![
            Line::new(0, 7),
            Line {
                expansion: Some(1),
                ..Line::new(1, 3)
            },
            Line::new(0, 9),
        ],
        expansions: vec![
            ProgramExpansion {
                what: Expansion::Iteration("i".into(), -3),
                at: Line::new(0, 8),
            },
            ProgramExpansion {
                what: Expansion::Macro("step".into()),
                at: Line {
                    expansion: Some(0),
                    ..Line::new(0, 9)
                },
            },
        ],
        entry: 1,
        requires: Extensions::DOUBLE | Extensions::WORD_ADDRESSING,
        rows: Vec::new(),
    }
}

#[test]
fn a_program_comes_back() {
    let program = sample();
    assert_eq!(Program::from_elf(&program.to_elf()), Ok(program));
}

#[test]
fn the_empty_program_comes_back() {
    let program = Program::default();
    assert_eq!(Program::from_elf(&program.to_elf()), Ok(program));
}

#[test]
fn alignment_of_the_buffer_does_not_matter() {
    let program = sample();
    let elf = program.to_elf();
    for shift in 0..8 {
        let mut buffer = vec![0; shift];
        buffer.extend(&elf);
        assert_eq!(Program::from_elf(&buffer[shift..]).as_ref(), Ok(&program));
    }
}

/// `gimli` alone reads the line table, as any debugger would.
#[test]
fn the_line_table_is_standard_dwarf() {
    use object::{Object, ObjectSection};
    let elf = sample().to_elf();
    let file = object::File::parse(elf.as_slice()).unwrap();
    let load = |id: gimli::SectionId| -> Result<_, gimli::Error> {
        let data = file
            .section_by_name(id.name())
            .and_then(|s| s.data().ok())
            .unwrap_or_default();
        Ok(gimli::EndianSlice::new(data, gimli::LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(load).unwrap();
    let header = dwarf.units().next().unwrap().expect("one unit");
    let unit = dwarf.unit(header).unwrap();
    assert_eq!(unit.name.unwrap().slice(), b"kernels/a.s");
    let mut rows = unit.line_program.clone().unwrap().rows();
    let mut found = Vec::new();
    while let Some((header, row)) = rows.next_row().unwrap() {
        if !row.end_sequence() {
            let file = dwarf
                .attr_string(&unit, row.file(header).unwrap().path_name())
                .unwrap();
            found.push((
                row.address(),
                file.to_string_lossy().into_owned(),
                row.line().unwrap().get(),
            ));
        }
    }
    let expected = [
        (0, "kernels/a.s", 7),
        (8, "inc.s", 3),
        (16, "kernels/a.s", 9),
    ];
    assert_eq!(found, expected.map(|(a, f, l)| (a, f.to_owned(), l)));
}

/// Header fields and contents at the offsets the ELF standard gives.
#[test]
fn refusals_name_what_is_wrong() {
    let elf = sample().to_elf();
    let patched = |at: usize, bytes: &[u8]| {
        let mut elf = elf.clone();
        elf[at..at + bytes.len()].copy_from_slice(bytes);
        Program::from_elf(&elf).unwrap_err()
    };
    assert_eq!(
        patched(18, &62u16.to_le_bytes()),
        ObjectError::Machine { found: 62 }
    );
    assert_eq!(
        patched(16, &1u16.to_le_bytes()),
        ObjectError::Type { found: 1 }
    );
    assert_eq!(
        patched(24, &24u64.to_le_bytes()),
        ObjectError::Entry {
            entry: 24,
            bytes: 24
        }
    );
    assert_eq!(
        patched(24, &4u64.to_le_bytes()),
        ObjectError::Entry {
            entry: 4,
            bytes: 24
        }
    );
    assert!(matches!(
        patched(0, b"x"),
        ObjectError::Malformed {
            part: "ELF header",
            ..
        }
    ));

    let find = |pattern: &[u8]| {
        elf.windows(pattern.len())
            .position(|w| w == pattern)
            .unwrap()
    };
    let abi = find(b"CP2\0\x03\0\0\0") + 4;
    assert_eq!(patched(abi, &[9]), ObjectError::Abi { found: 9 });
    assert_eq!(
        patched(abi - 8, &[7]),
        ObjectError::AbiMissing,
        "the type of the note"
    );
    let name = find(b"double");
    assert_eq!(
        patched(name, b"treble"),
        ObjectError::Extension {
            name: "treble".into()
        }
    );
    let word = find(&sample().words[1].to_le_bytes());
    assert!(matches!(
        patched(word + 8, &[0xff; 8]),
        ObjectError::Word { pc: 1, .. }
    ));
    let text = find(b".text\0");
    assert_eq!(
        patched(text, b".tixt"),
        ObjectError::Count {
            section: ".text",
            found: 0
        }
    );
}

#[test]
fn segments_out_of_order_are_refused() {
    let mut program = sample();
    program.dmem.swap(0, 1);
    let error = Program::from_elf(&program.to_elf()).unwrap_err();
    assert_eq!(
        error,
        ObjectError::Segment {
            address: 16,
            bytes: 32,
            previous: 0x108
        }
    );
}

/// Sections that share contents would make the program larger than the file.
#[test]
fn sections_cannot_claim_more_than_the_file() {
    let many = (0..64).map(|i| Segment {
        address: 0x1000 * i,
        bytes: vec![i as u8; 0x100],
    });
    let program = Program {
        dmem: many.collect(),
        ..Program::default()
    };
    let mut elf = program.to_elf();
    let table = u64::from_le_bytes(elf[40..48].try_into().unwrap()) as usize;
    // All `.dmem` sections, from the fourth header on, get the contents of the first, 4 KiB long.
    let offset: [u8; 8] = elf[table + 3 * 64 + 24..][..8].try_into().unwrap();
    for header in 3..3 + 64 {
        elf[table + header * 64 + 24..][..8].copy_from_slice(&offset);
        elf[table + header * 64 + 32..][..8].copy_from_slice(&0x1000u64.to_le_bytes());
    }
    assert!(matches!(
        Program::from_elf(&elf),
        Err(ObjectError::Overlap { .. })
    ));
}

#[test]
fn names_are_bounded() {
    let mut program = sample();
    program.symbols[0].name = "n".repeat(MAX_NAME);
    assert_eq!(Program::from_elf(&program.to_elf()).as_ref(), Ok(&program));
    program.symbols[0].name.push('n');
    assert_eq!(
        Program::from_elf(&program.to_elf()),
        Err(ObjectError::Name {
            part: "section `.symtab`"
        })
    );
}

#[test]
fn names_that_elf_cannot_hold_are_cut() {
    let mut program = sample();
    program.symbols[0].name = "ma\0in".into();
    program.files[1] = "\0".into();
    let back = Program::from_elf(&program.to_elf()).unwrap();
    assert_eq!(back.symbols[0].name, "ma");
    assert_eq!(back.files[1], "?");
}

#[test]
fn a_stripped_object_has_no_lines() {
    let mut program = sample();
    program.files.clear();
    program.lines = vec![Line::default(); 3];
    program.expansions.clear();
    assert_eq!(Program::from_elf(&program.to_elf()), Ok(program));
}

/// A change to an object file.
#[derive(Clone, Debug)]
enum Damage {
    Byte(prop::sample::Index, u8),
    Word(prop::sample::Index, u64),
    Cut(prop::sample::Index),
    Copy(prop::sample::Index, prop::sample::Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    let sizes = prop_oneof![
        any::<u64>(),
        0u64..512,
        (0u32..64).prop_map(|n| 1 << n),
        (0u32..64).prop_map(|n| !0 << n)
    ];
    prop_oneof![
        4 => (index(), any::<u8>()).prop_map(|(at, v)| Damage::Byte(at, v)),
        4 => (index(), sizes).prop_map(|(at, v)| Damage::Word(at, v)),
        1 => index().prop_map(Damage::Cut),
        2 => (index(), index(), 1usize..64).prop_map(|(from, to, n)| Damage::Copy(from, to, n)),
    ]
}

impl Damage {
    fn apply(&self, elf: &mut Vec<u8>) {
        let len = elf.len();
        if len == 0 {
            return;
        }
        match *self {
            Self::Byte(at, value) => elf[at.index(len)] = value,
            Self::Word(at, value) => {
                let at = at.index(len);
                elf.iter_mut()
                    .skip(at)
                    .zip(value.to_le_bytes())
                    .for_each(|(byte, new)| *byte = new);
            }
            Self::Cut(at) => elf.truncate(at.index(len)),
            Self::Copy(from, to, n) => {
                let from = from.index(len);
                let bytes: Vec<u8> = elf[from..].iter().take(n).copied().collect();
                elf.iter_mut()
                    .skip(to.index(len))
                    .zip(bytes)
                    .for_each(|(byte, new)| *byte = new);
            }
        }
    }
}

fn comes_back(program: Program) {
    let elf = program.to_elf();
    assert_eq!(elf, program.clone().to_elf());
    assert_eq!(Program::from_elf(&elf), Ok(program));
}

/// Linked programs may have a file twice: it is one in the line table, and calls keep their places.
#[test]
fn a_file_of_two_linked_programs_is_one() {
    let mut other = sample();
    other.dmem.clear();
    other.files.reverse();
    other
        .lines
        .iter_mut()
        .for_each(|line| line.file = 1 - line.file);
    let frames = other.expansions.iter_mut();
    frames.for_each(|frame| frame.at.file = 1 - frame.at.file);
    let all = sample().linked(&other, 1).unwrap();
    assert_eq!(all.files.len(), 4);
    let back = Program::from_elf(&all.to_elf()).unwrap();
    assert_eq!(back.files, ["kernels/a.s", "inc.s"]);
    for pc in 0..6 {
        assert_eq!(back.describe_place(pc), all.describe_place(pc), "word {pc}");
    }
    assert!(back.describe_place(4).unwrap().contains("kernels/a.s:9"));
}

/// Readers follow the expansions of a word by recursion: an object cannot have more than any source.
#[test]
fn expansions_are_not_nested_without_end() {
    let nested = |depth: u32| {
        let mut program = sample();
        let frame = |outer: u32| ProgramExpansion {
            what: Expansion::Macro("again".into()),
            at: Line {
                expansion: outer.checked_sub(1),
                ..Line::new(0, 1)
            },
        };
        program.expansions = (0..depth).map(frame).collect();
        program
            .lines
            .iter_mut()
            .for_each(|line| line.expansion = Some(depth - 1));
        Program::from_elf(&program.to_elf())
    };
    assert_eq!(nested(256).unwrap().chain(0).count(), 256);
    let error = nested(257).unwrap_err().to_string();
    assert!(error.contains("at most 256 expansions"), "{error}");
}

/// Data in several segments and a line beyond 2^16 survive without a symbol.
#[test]
fn pieces_of_data_and_a_late_line_come_back() {
    let program = Program {
        words: vec![Word::NOP.encode()],
        dmem: vec![
            Segment {
                address: 244,
                bytes: (0..32).collect(),
            },
            Segment {
                address: 516,
                bytes: (0..24).collect(),
            },
            Segment {
                address: 624,
                bytes: (0..60).collect(),
            },
        ],
        files: vec!["a.s".into()],
        lines: vec![Line::new(0, 70_398)],
        ..Program::default()
    };
    comes_back(program);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_program_comes_back(program in any_program(40)) {
        comes_back(program);
    }

    /// A damaged object either gives an error, or a program that can be written and read again.
    #[test]
    fn damaged_objects_are_programs_or_errors(
        program in any_program(12),
        damage in prop::collection::vec(damage(), 1..4),
    ) {
        let mut elf = program.to_elf();
        for change in &damage {
            change.apply(&mut elf);
        }
        match Program::from_elf(&elf) {
            Ok(back) => {
                prop_assert_eq!(back.lines.len(), back.words.len());
                prop_assert!(Program::from_elf(&back.to_elf()).is_ok());
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn any_bytes_are_errors(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        prop_assert!(Program::from_elf(&bytes).is_err());
    }
}
