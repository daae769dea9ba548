//! Writes a program as an ELF object.

use super::{DMEM, MACHINE, NOTE, TEXT, WORD_BYTES, expansions, lines, note};
use crate::{Program, SymbolKind};
use object::write::elf::{FileHeader, SectionHeader, Sym, Writer};
use object::write::{self, StringId};
use object::{Endianness, elf};
use std::borrow::Cow;

/// A section to be written, besides the tables that [`Writer`] makes.
struct Section<'a> {
    name: &'static [u8],
    kind: elf::SectionType,
    flags: elf::SectionFlags,
    address: u64,
    align: u64,
    data: Cow<'a, [u8]>,
}

impl<'a> Section<'a> {
    fn debug(name: &'static [u8], data: Vec<u8>) -> Self {
        Self {
            name,
            kind: elf::SHT_PROGBITS,
            flags: elf::SectionFlags(0),
            address: 0,
            align: 1,
            data: data.into(),
        }
    }

    fn dmem(kind: elf::SectionType, address: u64, data: &'a [u8]) -> Self {
        let flags = elf::SHF_ALLOC | elf::SHF_WRITE;
        Self {
            name: DMEM,
            kind,
            flags,
            address,
            align: 4,
            data: data.into(),
        }
    }
}

/// Index of `.text` in the section table, and in [`sections`] after the null section.
const TEXT_INDEX: u32 = 1;
/// Index of the empty `.dmem` section that DMEM symbols refer to.
const DMEM_INDEX: u32 = 2;

fn sections(program: &Program) -> write::Result<Vec<Section<'_>>> {
    let text: Vec<u8> = program
        .words
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let mut all = vec![
        Section {
            name: TEXT,
            kind: elf::SHT_PROGBITS,
            flags: elf::SHF_ALLOC | elf::SHF_EXECINSTR,
            address: 0,
            align: WORD_BYTES,
            data: text.into(),
        },
        Section::dmem(elf::SHT_NOBITS, 0, &[]),
    ];
    let segments = program.dmem.iter().filter(|s| !s.bytes.is_empty());
    all.extend(segments.map(|s| Section::dmem(elf::SHT_PROGBITS, s.address.into(), &s.bytes)));
    all.push(Section {
        kind: elf::SHT_NOTE,
        align: 4,
        ..Section::debug(NOTE, note::write(program))
    });
    if let Some(debug) = lines::write(program) {
        all.push(Section::debug(b".debug_abbrev", debug.abbrev));
        all.push(Section::debug(b".debug_info", debug.info));
        all.push(Section::debug(b".debug_line", debug.line));
        let expansions = expansions::write(program);
        all.extend(expansions.map(|data| Section::debug(expansions::SECTION, data)));
    }
    Ok(all)
}

/// Returns the part of a name before its first NUL, which is all that a string table can hold.
pub(super) fn c_name(name: &str) -> &[u8] {
    name.as_bytes()
        .split(|&b| b == 0)
        .next()
        .unwrap_or_default()
}

/// Writes the program as an ELF file.
pub(super) fn write(program: &Program) -> write::Result<Vec<u8>> {
    let sections = sections(program)?;
    let mut out = Vec::new();
    let mut w = Writer::new(Endianness::Little, true, &mut out);

    w.reserve_file_header();
    let names: Vec<StringId> = sections
        .iter()
        .map(|s| w.add_section_name(s.name))
        .collect();
    for _ in &sections {
        w.reserve_section_index();
    }
    w.reserve_symtab_section_index();
    w.reserve_strtab_section_index();
    w.reserve_shstrtab_section_index();
    w.reserve_null_symbol_index();
    let symbol_names: Vec<StringId> = program
        .symbols
        .iter()
        .map(|s| w.add_string(c_name(&s.name)))
        .collect();
    for _ in &program.symbols {
        w.reserve_symbol_index(None);
    }
    let offsets: Vec<u64> = sections
        .iter()
        .map(|s| w.reserve(s.data.len() as u64, s.align))
        .collect();
    w.reserve_symtab();
    w.reserve_strtab()?;
    w.reserve_shstrtab()?;
    w.reserve_section_headers();

    w.write_file_header(&FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_EXEC,
        e_machine: elf::Machine(MACHINE),
        e_entry: u64::from(program.entry) * WORD_BYTES,
        e_flags: elf::FileFlags(0),
    })?;
    for (section, &offset) in sections.iter().zip(&offsets) {
        w.pad_until(offset);
        w.write(&section.data);
    }
    w.write_null_symbol();
    for (symbol, &name) in program.symbols.iter().zip(&symbol_names) {
        let st_name = w.string_offset(Some(name));
        w.write_symbol(&encode_symbol(symbol.kind, symbol.value, st_name));
    }
    w.write_strtab();
    w.write_shstrtab();
    w.write_null_section_header();
    for ((section, &offset), &name) in sections.iter().zip(&offsets).zip(&names) {
        let sh_name = w.section_name_offset(Some(name));
        w.write_section_header(&SectionHeader {
            sh_name,
            sh_type: section.kind,
            sh_flags: section.flags,
            sh_addr: section.address,
            sh_offset: offset,
            sh_size: section.data.len() as u64,
            sh_link: 0,
            sh_info: 0,
            sh_addralign: section.align,
            sh_entsize: 0,
        });
    }
    // All symbols are local: the table keeps their order, and names may repeat.
    w.write_symtab_section_header(1 + program.symbols.len() as u32);
    w.write_strtab_section_header();
    w.write_shstrtab_section_header();
    Ok(out)
}

fn encode_symbol(kind: SymbolKind, value: i64, st_name: u32) -> Sym {
    let (section, st_shndx, st_type, st_value) = match kind {
        SymbolKind::Program => (
            Some(TEXT_INDEX),
            None,
            elf::STT_FUNC,
            (value as u64).wrapping_mul(WORD_BYTES),
        ),
        SymbolKind::Dmem => (Some(DMEM_INDEX), None, elf::STT_OBJECT, value as u64),
        SymbolKind::Absolute => (None, Some(elf::SHN_ABS), elf::STT_NOTYPE, value as u64),
    };
    Sym {
        section,
        st_name,
        st_info: elf::SymbolInfo::new(elf::STB_LOCAL, st_type),
        st_other: elf::SymbolOther(0),
        st_shndx: st_shndx.unwrap_or(elf::SHN_UNDEF),
        st_value,
        st_size: 0,
    }
}
