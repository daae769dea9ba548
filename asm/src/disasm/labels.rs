//! Labels of a listing: from symbols, or made from addresses.

use super::text::Targets;
use crate::expr::Function;
use crate::isa::{Kind, Word};
use crate::syntax::Register;
use crate::{Program, Symbol, SymbolKind};
use cp2_machine::LANE_BYTES;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

/// Labels of program and DMEM that a listing can write.
#[derive(Debug)]
pub(super) struct Labels {
    program: BTreeMap<u32, Vec<String>>,
    dmem: BTreeMap<u32, Vec<String>>,
    constants: Vec<Symbol>,
    unwritable: Vec<Symbol>,
    words: usize,
}

impl Labels {
    /// Collects labels from the symbols; each target without one gets a label such as `L_0012`.
    pub(super) fn new(program: &Program, words: &[Word]) -> Self {
        let mut used = BTreeSet::new();
        let mut labels = Self {
            program: BTreeMap::new(),
            dmem: BTreeMap::new(),
            constants: Vec::new(),
            unwritable: Vec::new(),
            words: words.len(),
        };
        for symbol in &program.symbols {
            let place = u32::try_from(symbol.value).ok();
            let map = match symbol.kind {
                SymbolKind::Program => {
                    Some(&mut labels.program).zip(place.filter(|&p| p as usize <= words.len()))
                }
                SymbolKind::Dmem => {
                    Some(&mut labels.dmem).zip(place.filter(|p| p % LANE_BYTES as u32 == 0))
                }
                SymbolKind::Absolute => None,
            };
            let readable = is_identifier(&symbol.name) && used.insert(symbol.name.as_str());
            match map {
                Some((map, place)) if readable => {
                    map.entry(place).or_default().push(symbol.name.clone())
                }
                None if readable && symbol.kind == SymbolKind::Absolute => {
                    labels.constants.push(symbol.clone())
                }
                _ => labels.unwritable.push(symbol.clone()),
            }
        }
        for place in targets(words).chain([u32::from(program.entry)]) {
            if place as usize <= words.len() && !labels.program.contains_key(&place) {
                let mut name = format!("L_{place:04x}");
                while used.contains(name.as_str()) {
                    name.push('_');
                }
                labels.program.insert(place, vec![name]);
            }
        }
        labels
    }

    /// Returns the labels of the word at `pc`.
    pub(super) fn at(&self, pc: u32) -> &[String] {
        self.program.get(&pc).map_or(&[], Vec::as_slice)
    }

    /// Returns the constants that the assembler can read back.
    pub(super) fn constants(&self) -> &[Symbol] {
        &self.constants
    }

    /// Returns the symbols that the text cannot define: names that are no identifiers or repeat another,
    /// values outside of memory or between lanes.
    pub(super) fn unwritable(&self) -> &[Symbol] {
        &self.unwritable
    }

    /// Iterates over the labels in DMEM by ascending byte address.
    pub(super) fn dmem(&self) -> impl Iterator<Item = (u32, &[String])> {
        self.dmem
            .iter()
            .map(|(&address, names)| (address, names.as_slice()))
    }

    /// Returns the targets of the word at `pc` as labels.
    pub(super) fn seen_from(&self, pc: u32) -> SeenFrom<'_> {
        SeenFrom { labels: self, pc }
    }

    fn write(&self, f: &mut dyn Write, place: u32) -> fmt::Result {
        match self.at(place).first() {
            Some(name) if place as usize <= self.words => f.write_str(name),
            _ => write!(f, "{place:#06x}"),
        }
    }
}

/// [`Targets`] by label, as written in the word at `pc`.
pub(super) struct SeenFrom<'a> {
    labels: &'a Labels,
    pc: u32,
}

impl Targets for SeenFrom<'_> {
    fn target(&self, f: &mut dyn Write, address: u16) -> fmt::Result {
        self.labels.write(f, address.into())
    }

    fn loop_end(&self, f: &mut dyn Write, length: u16) -> fmt::Result {
        self.labels.write(f, self.pc + u32::from(length))
    }
}

/// Iterates over all word addresses that instructions refer to.
fn targets(words: &[Word]) -> impl Iterator<Item = u32> {
    words.iter().zip(0u32..).filter_map(|(word, pc)| {
        let operands = word.mem.row().form.operands();
        operands.iter().find_map(|operand| match operand.kind {
            Kind::Target => Some(word.mem.target.into()),
            Kind::LoopEnd => Some(pc + u32::from(word.mem.target)),
            _ => None,
        })
    })
}

/// Longest name that the text uses, in bytes.
const NAME: usize = 256;

/// True if the assembler accepts `name` as a symbol: a letter or underscore, then letters, digits,
/// underscores and dots (`loop.inner` is the local label `.inner` of `loop`), but no register and no
/// function.
fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
        && name.len() <= NAME
        && Register::built_in(name).is_none()
        && Function::names().all(|function| function != name)
}
