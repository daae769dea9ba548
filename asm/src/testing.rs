//! Strategies for property tests: valid operations, words and programs.
//!
//! They are derived from the table, and other crates use them too (feature `testing`).

use crate::isa::{
    Address, AddressOperand, Field, Inst, Kind, Mode, Op, Operand, OwnAddress, Slot, Word,
};
use crate::structure::Structure;
use crate::{
    Expansion, Line, Program, ProgramExpansion, Segment, StructureError, Symbol, SymbolKind,
};
use cp2_machine::Extensions;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

/// Returns a strategy for operations of the rows that a machine with these extensions has.
pub fn any_inst_on(slot: Slot, extensions: Extensions) -> BoxedStrategy<Inst> {
    let rows = Op::ALL
        .iter()
        .filter(|op| op.row().slot() == slot && extensions.contains(op.row().requires))
        .map(|&op| any_operands(op));
    Union::new(rows).boxed()
}

/// Returns a strategy for operations of the rows that some extension brings.
pub fn any_extension_inst(slot: Slot) -> BoxedStrategy<Inst> {
    let rows = Op::ALL
        .iter()
        .filter(|op| op.row().slot() == slot && !op.row().requires.is_empty())
        .map(|&op| any_operands(op));
    Union::new(rows).boxed()
}

/// Returns a strategy for valid operands of a row.
pub fn any_operands(op: Op) -> BoxedStrategy<Inst> {
    let mut inst = Just(Inst::new(op)).boxed();
    for (place, operand) in op.row().form.operands().iter().enumerate() {
        // Register operands may be preceded by other kinds: only registers are counted.
        let register = op.row().form.operands()[..place]
            .iter()
            .filter(|o| o.kind.is_register())
            .count();
        inst = (inst, any_operand(operand))
            .prop_map(move |(inst, value)| value.put(inst, register))
            .boxed();
    }
    inst.prop_filter("writes a register twice", |inst| {
        let word = match inst.row().slot() {
            Slot::Arith => Word {
                arith: *inst,
                ..Word::NOP
            },
            Slot::Mem => Word {
                mem: *inst,
                ..Word::NOP
            },
        };
        word.written_twice().is_none()
    })
    .boxed()
}

/// Returns a strategy for valid words.
pub fn any_word() -> BoxedStrategy<Word> {
    any_word_on(Extensions::all())
}

/// Returns a strategy for valid words of a machine with these extensions. Programs with other words end at
/// the first of them.
pub fn any_word_on(extensions: Extensions) -> BoxedStrategy<Word> {
    let [arith, mem] = [Slot::Arith, Slot::Mem].map(|slot| any_inst_on(slot, extensions));
    (arith, mem)
        .prop_map(|(arith, mem)| Word { arith, mem })
        .prop_filter("writes a register twice", |word| {
            word.written_twice().is_none()
        })
        .boxed()
}

/// Value of one operand.
#[derive(Clone, Copy, Debug)]
enum Value {
    Register(u8),
    Imm(i32),
    Target(u16),
    AddressOperand(AddressOperand),
}

impl Value {
    fn put(self, mut inst: Inst, register: usize) -> Inst {
        match self {
            Self::Register(r) => inst.r[register] = r,
            Self::Imm(imm) => inst.imm = imm,
            Self::Target(target) => inst.target = target,
            Self::AddressOperand(place) => inst.place = place,
        }
        inst
    }
}

fn any_operand(operand: &Operand) -> BoxedStrategy<Value> {
    let field = operand.field;
    match operand.kind {
        kind @ (Kind::Pair | Kind::Quad | Kind::Scalar) => {
            (0..kind.registers()).prop_map(Value::Register).boxed()
        }
        kind @ Kind::ScalarCouple => (0..kind.registers() / 2)
            .prop_map(|r| Value::Register(2 * r))
            .boxed(),
        Kind::Imm { signed: true, .. } => {
            let half = 1i32 << (field.bits - 1);
            corners(-half, half - 1).prop_map(Value::Imm).boxed()
        }
        Kind::Imm { signed: false, min } => corners(min, unsigned_max(field))
            .prop_map(Value::Imm)
            .boxed(),
        Kind::Float24 => corners(0, unsigned_max(field))
            .prop_map(|bits| Value::Imm(bits << 8))
            .boxed(),
        Kind::Target => corners(0, unsigned_max(field))
            .prop_map(|t| Value::Target(t as u16))
            .boxed(),
        Kind::LoopEnd => corners(1, unsigned_max(field))
            .prop_map(|t| Value::Target(t as u16))
            .boxed(),
        Kind::Mem { align, .. } => any_address(align)
            .prop_map(|address| Value::AddressOperand(AddressOperand::Shared(address)))
            .boxed(),
        Kind::OwnMem { .. } => (0u8..16, 0..Kind::Pair.registers(), 0u8..4)
            .prop_map(|(base, register, half)| {
                Value::AddressOperand(AddressOperand::Own(OwnAddress {
                    base,
                    register,
                    half,
                }))
            })
            .boxed(),
    }
}

fn unsigned_max(field: Field) -> i32 {
    ((1u64 << field.bits) - 1) as i32
}

/// Returns a strategy for a range that draws its ends and their neighbours often.
fn corners(low: i32, high: i32) -> BoxedStrategy<i32> {
    let near = [
        low,
        low.saturating_add(1).min(high),
        high.saturating_sub(1).max(low),
        high,
        0i32.clamp(low, high),
    ];
    prop_oneof![3 => low..=high, 1 => select(near.to_vec())].boxed()
}

fn any_address(align: u32) -> impl Strategy<Value = Address> {
    let range = Address::immediate_range(align);
    let unit = align as i32;
    let imm = corners(range.start() / unit, range.end() / unit)
        .prop_map(move |v| v * unit)
        .boxed();
    let mode = prop_oneof![
        imm.clone().prop_map(Mode::Offset),
        imm.prop_map(Mode::Post),
        (0u8..16).prop_map(Mode::Step),
        (0u8..16).prop_map(Mode::Modulo),
        (0u8..16).prop_map(Mode::Reverse),
    ];
    (0u8..16, mode).prop_map(|(base, mode)| match mode {
        Mode::Modulo(_) => Address {
            base: base % Address::MODULO_REGISTERS,
            mode,
        },
        _ => Address { base, mode },
    })
}

/// Repairs random words to a valid program: targets inside it, and no loop with an invalid structure.
fn sound(mut words: Vec<Word>) -> Vec<Word> {
    let count = words.len();
    for (pc, word) in words.iter_mut().enumerate() {
        let target = usize::from(word.mem.target);
        let most = count - pc - 1;
        word.mem.target = match word.mem.op {
            Op::LoopI | Op::LoopX if most > 0 => (target - 1) % most + 1,
            Op::LoopI | Op::LoopX => target,
            _ => target % count,
        } as u16;
    }
    loop {
        let all: Vec<_> = words.iter().copied().map(Some).collect();
        let errors = Structure::of(&all).errors;
        let Some(pc) = errors.first().map(StructureError::pc) else {
            return words;
        };
        words[pc].mem = Inst::new(Op::MemNop);
    }
}

/// Returns a strategy for well-formed programs of up to `words` words: data, symbols of every kind, lines in
/// several files, valid entry and extensions. Branch targets and loop ends are any that a word can hold, not
/// only those inside the program.
pub fn any_program(words: usize) -> impl Strategy<Value = Program> {
    let files = proptest::collection::btree_set("[a-z/]{1,8}\\.s", 1..4).prop_map(Vec::from_iter);
    let word = (any_word(), 0u32..4, 0u32..100_000, 0u32..6);
    let segment = (0u32..64, proptest::collection::vec(any::<[u8; 4]>(), 1..20));
    let symbol = ("[A-Za-z_][A-Za-z0-9_.]{0,12}", 0..3, any::<i64>());
    (
        files,
        proptest::collection::vec(word, 0..words),
        proptest::collection::vec(segment, 0..4),
        proptest::collection::vec(symbol, 0..8),
        any::<u16>(),
        proptest::collection::vec(any_expansion(), 0..5),
    )
        .prop_map(|(files, rows, segments, symbols, entry, expansions)| {
            let words = sound(rows.iter().map(|row| row.0).collect());
            let count = words.len();
            // An expansion lies in one of those before it, or in none.
            let within =
                |outer: u32, before: usize| outer.checked_sub(1).filter(|&i| (i as usize) < before);
            let line = |file: u32, line, outer, before| Line {
                expansion: within(outer, before),
                ..Line::new(file % files.len() as u32, line)
            };
            let expansions: Vec<_> = expansions
                .into_iter()
                .enumerate()
                .map(|(i, (what, file, number, outer))| ProgramExpansion {
                    what,
                    at: line(file, number, outer, i),
                })
                .collect();
            let lines: Vec<Line> = rows
                .iter()
                .map(|&(_, file, number, outer)| line(file, number, outer, expansions.len()))
                .collect();
            Program {
                words: words.iter().map(Word::encode).collect(),
                dmem: place(segments),
                symbols: symbols
                    .into_iter()
                    .map(|(name, kind, value)| any_symbol(name, kind, value, count))
                    .collect(),
                // Without words there is no line table to hold the file names.
                files: if count == 0 { Vec::new() } else { files },
                lines,
                expansions: if count == 0 { Vec::new() } else { expansions },
                entry: if count == 0 { 0 } else { entry % count as u16 },
                requires: words
                    .iter()
                    .fold(Extensions::empty(), |all, word| all | word.requires()),
                rows: Vec::new(),
            }
        })
}

/// Returns a strategy for an expansion with file, line and outer expansion of its call.
fn any_expansion() -> impl Strategy<Value = (Expansion, u32, u32, u32)> {
    let name = "[a-z]{0,6}";
    let what = prop_oneof![
        name.prop_map(Expansion::Macro),
        name.prop_map(Expansion::File),
        (name, any::<i64>()).prop_map(|(name, i)| Expansion::Iteration(name, i)),
    ];
    (what, 0u32..4, 0u32..100_000, 0u32..6)
}

/// Places segments from pairs of a gap and contents.
fn place(segments: Vec<(u32, Vec<[u8; 4]>)>) -> Vec<Segment> {
    let mut end = 0;
    let mut next = |(gap, lanes): (u32, Vec<[u8; 4]>)| {
        let address = end + 4 * gap;
        let bytes = lanes.concat();
        end = address + bytes.len() as u32;
        Segment { address, bytes }
    };
    segments.into_iter().map(&mut next).collect()
}

fn any_symbol(name: String, kind: i32, value: i64, words: usize) -> Symbol {
    let (kind, value) = match kind {
        0 => (SymbolKind::Program, value.rem_euclid(words as i64 + 1)),
        1 => (SymbolKind::Dmem, value.rem_euclid(1 << 16) & !3),
        _ => (SymbolKind::Absolute, value),
    };
    Symbol { name, kind, value }
}
