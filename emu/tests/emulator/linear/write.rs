//! Writes a block as linear assembly, and its definition.

use super::block::{Block, Count, DATA, Initial, Operand, Operation, Pointer};
use cp2_asm::isa::{Kind, Row};
use std::fmt::Write;

/// The place of the quads that are set before the block: 16 bytes each, by number.
pub(super) const REGISTERS: i64 = DATA;
/// The place that they are stored to behind the block.
pub(super) const RESULTS: i64 = DATA + 0x400;
/// End of what both programs leave.
pub(super) const END: i64 = DATA + 0x800;
/// The place of the constants of the definition.
pub(super) const CONSTANTS: i64 = 0x3000;
/// The place of the values of the definition.
const VALUES: i64 = 0x4000;
/// Bytes of a value's place.
const QUAD: i64 = 16;
/// The place of tables of steps.
const TABLES: i64 = END;
/// Words that nothing waits for behind the set-up.
const SETTLE: usize = 20;
/// The step register of the first pointer, and the control register of its extent, where registers have them.
const FIRST_STEP: usize = 8;
const FIRST_EXTENT: usize = 8;

/// Returns the name of a value in the text.
pub(super) fn name(value: usize) -> String {
    match value % 3 {
        0 => format!("v{value}"),
        1 => format!("u[{value} + 1].side"),
        _ => format!("g[{value}]"),
    }
}

fn half_of(name: &str, half: Option<u8>) -> String {
    match half {
        None => name.to_owned(),
        Some(0) => format!("{name}.lo"),
        Some(_) => format!("{name}.hi"),
    }
}

/// Returns the name of a quad, or of the pair that is half of it.
fn register_name(quad: u8, half: Option<u8>) -> String {
    match half {
        Some(half) => format!("r{}", 2 * quad + half),
        None => format!("q{quad}"),
    }
}

fn operand(operand: &Operand, align: i64) -> String {
    match operand {
        Operand::Value { value, half, back } => {
            let name = half_of(&name(*value), *half);
            match back {
                0 => name,
                back => format!("{name}@{back}"),
            }
        }
        Operand::Constant { index, half } => half_of(&format!("K{index}"), *half),
        Operand::Register { quad, half } => match half {
            // Both ways to write a half.
            Some(_) if quad % 2 == 0 => register_name(*quad, *half),
            _ => half_of(&format!("q{quad}"), *half),
        },
        Operand::Number(text) => text.clone(),
        Operand::Address { pointer, offset } if *offset < 0 => {
            format!("[p{pointer} - {align}*{}]", -offset / align)
        }
        Operand::Address { pointer, offset } => format!("[p{pointer} + {offset}]"),
        Operand::Place {
            value,
            back,
            offset,
        } => {
            let back = match back {
                0 => String::new(),
                back => format!("@{back}"),
            };
            format!("[{}{back} + {offset}]", name(*value))
        }
        Operand::Scalar(register) => (*register).to_owned(),
        Operand::Couple([a, b]) => format!("{}, {}", name(*a), name(*b)),
    }
}

/// Writes the block as linear assembly.
pub(super) fn write_linear(block: &Block) -> String {
    let mut text = String::new();
    let count = match block.count {
        Count::Known => format!(", {}", block.iterations),
        Count::Register { least, multiple } => {
            let least = if least > 0 {
                format!(" at least {least}")
            } else {
                String::new()
            };
            let multiple = if multiple > 1 {
                format!(" multiple of {multiple}")
            } else {
                String::new()
            };
            format!(", c15{least}{multiple}")
        }
        Count::Straight => String::new(),
    };
    writeln!(text, "    .linear block{count}").unwrap();
    for (index, constant) in block.constants.iter().enumerate() {
        writeln!(text, "    .const K{index} = {}", constant.text).unwrap();
    }
    for (index, pointer) in block.pointers.iter().enumerate() {
        let base = &block.bases[pointer.base].0;
        let sign = if pointer.bytes < 0 { '-' } else { '+' };
        let bytes = pointer.bytes.abs();
        let step = match pointer.step_in_register {
            _ if pointer.table.is_some() => write_table(index, pointer),
            true => format!("s{}", FIRST_STEP + index),
            false => pointer.step.to_string(),
        };
        let round = match pointer.round {
            Some((_, Some(written))) if written != 0 => {
                format!(" round c{} + ({written})", FIRST_EXTENT + index)
            }
            Some((_, Some(_))) => format!(" round c{}", FIRST_EXTENT + index),
            Some((extent, None)) => format!(" round {extent}"),
            None => String::new(),
        };
        writeln!(
            text,
            "    .pointer p{index} = {base} {sign} {bytes} by {step}{round}"
        )
        .unwrap();
    }
    if block.apart {
        text.push_str("    .apart\n");
    }
    for names in &block.named_apart {
        let names: Vec<String> = names.iter().map(|pointer| format!("p{pointer}")).collect();
        writeln!(text, "    .apart {}", names.join(", ")).unwrap();
    }
    if let Some(hint) = block.hint {
        writeln!(text, "    {hint}").unwrap();
    }
    if let Some(pair) = block.freed {
        writeln!(text, "    .free r{pair}").unwrap();
    }
    for (value, own) in block.values.iter().enumerate() {
        if own.declared {
            writeln!(text, "    .pair {}", name(value)).unwrap();
        }
    }
    for (value, back, initial) in &block.initial {
        let source = match initial {
            Initial::Register { quad, half } => register_name(*quad, *half),
            Initial::Numbers(constant) => constant.text.clone(),
            Initial::Scalar(Some(register), _) => (*register).to_owned(),
            Initial::Scalar(None, number) => number.to_string(),
        };
        writeln!(text, "    .before {}@{back} = {source}", name(*value)).unwrap();
    }
    for last in &block.finals {
        let register = register_name(last.quad, last.half);
        writeln!(text, "    .after {register} = {}", name(last.value)).unwrap();
    }
    if let Some(value) = block.marked {
        writeln!(text, "    .after c14 = {}", name(value)).unwrap();
    }
    for own in &block.operations {
        if let Some(phase) = own.phase {
            writeln!(text, "    .phase {phase}, 8").unwrap();
        }
        let operands: Vec<String> = own
            .kinds()
            .map(|(own, kind, _)| match kind {
                Kind::Mem { align, .. } => operand(own, align.into()),
                _ => operand(own, 1),
            })
            .collect();
        let mnemonic = own.op.row().mnemonic;
        writeln!(text, "    {mnemonic} {}", operands.join(", ")).unwrap();
    }
    text.push_str("    .endlinear\n");
    text
}

/// Writes a program with the block between the labels `before` and `behind`.
pub(super) fn write_program(block: &Block) -> String {
    let mut text = format!(".dmem\n    .space {CONSTANTS}\n.program\n");
    write_bases(block, &mut text);
    text.push_str(SCALARS);
    for &quad in &block.registers {
        let at = REGISTERS + QUAD * i64::from(quad);
        writeln!(text, "    movi a14, {at}\n    ldq q{quad}, [a14]").unwrap();
    }
    writeln!(text, "    movi c15, {}", block.iterations).unwrap();
    if let Some(pair) = block.freed {
        writeln!(text, "    lif r{pair}, 1.0 .allow register").unwrap();
    }
    writeln!(text, "    .rept {SETTLE}\n    nop\n    .endr").unwrap();
    text.push_str("before:\n");
    text.push_str(&write_linear(block));
    text.push_str("behind:\n");
    for &quad in &block.registers {
        let at = RESULTS + QUAD * i64::from(quad);
        writeln!(text, "    movi a14, {at}\n    stq q{quad}, [a14]").unwrap();
    }
    mark("c14", &mut text);
    // The registers that pointers begin at have not changed.
    for (name, place) in list_scalars(block) {
        writeln!(text, "    movi s0, {place}\n    sub c0, s0, {name}").unwrap();
        text.push_str("    bnz c0, changed\n");
    }
    writeln!(
        text,
        "    movi s0, {}\n    sub c0, s0, c15",
        block.iterations
    )
    .unwrap();
    text.push_str("    bnz c0, changed\n    stop\n");
    text.push_str("changed:\n    wait 0\nlast:\n    stop\n");
    text
}

fn write_bases(block: &Block, text: &mut String) {
    for (name, number) in list_scalars(block) {
        writeln!(text, "    movi {name}, {number}").unwrap();
    }
}

/// Lists the scalar registers that are set before the block, with their numbers.
pub(super) fn list_scalars(block: &Block) -> Vec<(String, i64)> {
    let mut all = block.bases.clone();
    for (index, pointer) in block.pointers.iter().enumerate() {
        if pointer.step_in_register {
            all.push((format!("s{}", FIRST_STEP + index), pointer.step));
        }
        if let Some((steps, true)) = &pointer.table {
            let extent = 8 * steps.len() as i64;
            all.push((format!("c{}", FIRST_EXTENT + index), extent));
        }
        if let Some((extent, Some(written))) = pointer.round {
            all.push((format!("c{}", FIRST_EXTENT + index), extent - written));
        }
    }
    all
}

/// Returns the place of the table of steps of a pointer.
pub(super) fn table_of(index: usize) -> i64 {
    TABLES + 0x80 * index as i64
}

/// Writes the table of steps of a pointer behind `by`.
fn write_table(index: usize, pointer: &Pointer) -> String {
    let (steps, in_register) = pointer.table.as_ref().unwrap();
    let (table, extent) = (table_of(index), 8 * steps.len());
    match in_register {
        true => format!("table {table} round c{}", FIRST_EXTENT + index),
        false => format!("table {table} round {extent}"),
    }
}

/// Writes the step of a pointer in the definition: `c{index}` is its place, `s{index}` its step, `s{8 + index}` the
/// begin of its range and `c{8 + index}` the extent.
fn write_step(index: usize, pointer: &Pointer, text: &mut String) {
    if let Some((steps, _)) = &pointer.table {
        // The step register has the place in the table.
        let lines = [
            format!("movi c6, {}", table_of(index)),
            format!("add a1, c6, s{index}"),
            "ldx c6, [a1]".to_owned(),
            format!("add c{index}, c{index}, c6"),
            format!("addi s{index}, s{index}, 8"),
            format!("addi c7, s{index}, -{}", 8 * steps.len()),
            "sar c7, c7, 31".to_owned(),
            format!("and s{index}, s{index}, c7"),
        ];
        for line in lines {
            writeln!(text, "    {line}").unwrap();
        }
    } else {
        writeln!(text, "    add c{index}, c{index}, s{index}").unwrap();
    }
    if pointer.round.is_none() {
        return;
    }
    let (begin, extent) = (format!("s{}", 8 + index), format!("c{}", 8 + index));
    let lines = [
        // Below the range the extent is added.
        format!("sub c6, c{index}, {begin}"),
        "sar c7, c6, 31".to_owned(),
        format!("and c7, c7, {extent}"),
        format!("add c{index}, c{index}, c7"),
        // Behind it the extent is taken away.
        format!("sub c7, {extent}, c6"),
        "addi c7, c7, -1".to_owned(),
        "sar c7, c7, 31".to_owned(),
        format!("and c7, c7, {extent}"),
        format!("sub c{index}, c{index}, c7"),
    ];
    for line in lines {
        writeln!(text, "    {line}").unwrap();
    }
}

/// Writes the definition of the block as a program: every value has a place in DMEM, and every operation loads its
/// operands and stores its results.
pub(super) fn write_definition(block: &Block) -> String {
    let mut text = format!(".program\n{SCALARS}");
    for (index, pointer) in block.pointers.iter().enumerate() {
        let base = block.bases[pointer.base].1;
        let step = match pointer.table {
            Some(_) => 0,
            None => pointer.step,
        };
        let start = base + pointer.bytes;
        writeln!(
            text,
            "    movi c{index}, {start}\n    movi s{index}, {step}"
        )
        .unwrap();
        if let Some((extent, _)) = pointer.round {
            let n = 8 + index;
            writeln!(text, "    movi s{n}, {base}\n    movi c{n}, {extent}").unwrap();
        }
    }
    let slots = Slots::new(block);
    slots.begin(block, &mut text);
    if block.iterations > 0 {
        writeln!(text, "    loop {} {{", block.iterations).unwrap();
        for own in &block.operations {
            if own.halves {
                write_operation(own, &slots, Some(0), &mut text);
                write_operation(own, &slots, Some(1), &mut text);
            } else {
                write_operation(own, &slots, None, &mut text);
            }
        }
        // Values that later iterations read move on.
        for value in 0..block.values.len() {
            for back in (1..=block.furthest(value)).rev() {
                if block.values[value].scalar {
                    let [to, from] = [back, back - 1].map(|back| slots.scalar(value, back));
                    writeln!(text, "    mov {to}, {from}").unwrap();
                    continue;
                }
                let (from, to) = (slots.value(value, back - 1), slots.value(value, back));
                copy(from, to, true, &mut text);
            }
        }
        for (index, pointer) in block.pointers.iter().enumerate() {
            write_step(index, pointer, &mut text);
        }
        text.push_str("    }\n");
    }
    if let Some(value) = block.marked {
        let from = slots.scalar(value, block.furthest(value).min(1));
        writeln!(text, "    mov c14, {from}").unwrap();
    }
    mark("c14", &mut text);
    for &quad in &block.registers {
        let [from, to] = [REGISTERS, RESULTS].map(|at| at + QUAD * i64::from(quad));
        copy(from, to, true, &mut text);
    }
    for last in &block.finals {
        let from = slots.value(last.value, block.furthest(last.value).min(1));
        let to = RESULTS + QUAD * i64::from(last.quad) + 8 * i64::from(last.half.unwrap_or(0));
        copy(from, to, last.half.is_none(), &mut text);
    }
    text.push_str("    stop\n");
    text
}

/// Writes the copy of a quad or a pair.
fn copy(from: i64, to: i64, quad: bool, text: &mut String) {
    let (load, store, register) = match quad {
        true => ("ldq", "stq", "q0"),
        false => ("ldp", "stp", "r0"),
    };
    writeln!(text, "    movi a0, {from}\n    {load} {register}, [a0]").unwrap();
    writeln!(text, "    movi a0, {to}\n    {store} {register}, [a0]").unwrap();
}

/// Places of values in DMEM: those of the iterations before lie behind the newest.
struct Slots {
    quads: Vec<i64>,
    /// The registers of every scalar, that of this iteration first.
    scalars: Vec<Vec<String>>,
}

/// Words that set the scalar registers which blocks read: the mask of addresses, and an address.
pub(super) const SCALARS: &str = "    movi c13, 0xff0\n    movi c14, 0x240\n";

/// Writes the words that store a quad where a scalar says.
fn mark(register: &str, text: &mut String) {
    let marks = RESULTS + 0x200;
    for line in [
        "movi s0, 0x1f0".to_owned(),
        format!("and s0, {register}, s0"),
        format!("movi a14, {marks}"),
        "add a14, a14, s0".to_owned(),
        "lif r0, 1.0".to_owned(),
        "lif r1, 1.0".to_owned(),
        "stq q0, [a14]".to_owned(),
    ] {
        writeln!(text, "    {line}").unwrap();
    }
}

impl Slots {
    fn new(block: &Block) -> Self {
        let mut next = VALUES;
        let place = |value| {
            let own = next;
            next += QUAD * (1 + i64::from(block.furthest(value)));
            own
        };
        let quads = (0..block.values.len()).map(place).collect();
        let addresses = (2..14).map(|n| format!("a{n}"));
        let steps = [5, 6, 7, 13, 14, 15].map(|n| format!("s{n}"));
        let mut free = addresses.chain(steps);
        let scalars = block.values.iter().enumerate().map(|(value, own)| {
            let count = match own.scalar {
                true => 1 + block.furthest(value) as usize,
                false => 0,
            };
            free.by_ref().take(count).collect()
        });
        let scalars = scalars.collect();
        Self { quads, scalars }
    }

    /// Writes what the places hold before the first iteration: the values that the block gives.
    fn begin(&self, block: &Block, text: &mut String) {
        let half = |half: Option<u8>| 8 * i64::from(half.unwrap_or(0));
        for (number, (value, back, initial)) in block.initial.iter().enumerate() {
            let from = match initial {
                Initial::Register { quad, half: own } => {
                    REGISTERS + QUAD * i64::from(*quad) + half(*own)
                }
                Initial::Numbers(_) => CONSTANTS + QUAD * (block.constants.len() + number) as i64,
                Initial::Scalar(_, number) => {
                    writeln!(text, "    movi {}, {number}", self.scalar(*value, *back)).unwrap();
                    continue;
                }
            };
            let to = self.value(*value, *back);
            copy(from, to, block.values[*value].quad, text);
        }
    }

    fn value(&self, value: usize, back: u32) -> i64 {
        self.quads[value] + QUAD * i64::from(back)
    }

    /// Returns the register of a scalar.
    fn scalar(&self, value: usize, back: u32) -> &str {
        &self.scalars[value][back as usize]
    }

    /// Returns the place of an operand that is a register.
    fn find(&self, operand: &Operand, part: Option<u8>) -> i64 {
        let (place, half) = match *operand {
            Operand::Value { value, half, back } => (self.value(value, back), half),
            Operand::Constant { index, half } => (CONSTANTS + QUAD * index as i64, half),
            Operand::Register { quad, half } => (REGISTERS + QUAD * i64::from(quad), half),
            _ => panic!("{operand:?}"),
        };
        place + 8 * i64::from(half.or(part).unwrap_or(0))
    }
}

/// Writes an operation with its operands in registers by their place: `a` is 0.
fn write_operation(own: &Operation, slots: &Slots, part: Option<u8>, text: &mut String) {
    let row: &Row = own.op.row();
    let register = |place: usize, kind| match kind {
        Kind::Quad => format!("q{place}"),
        _ => format!("r{}", 2 * place),
    };
    let mut operands = Vec::new();
    let mut stores = String::new();
    for (place, (operand, kind, written)) in own.kinds().enumerate() {
        let (load, store) = match kind {
            Kind::Quad => ("ldq", "stq"),
            _ => ("ldp", "stp"),
        };
        operands.push(match operand {
            Operand::Value { value, back, .. } if kind == Kind::Scalar => {
                slots.scalar(*value, *back).to_owned()
            }
            Operand::Scalar(register) => (*register).to_owned(),
            Operand::Couple(both) => {
                for (from, &value) in ["c6", "c7"].iter().zip(both) {
                    writeln!(stores, "    mov {}, {from}", slots.scalar(value, 0)).unwrap();
                }
                "c6".to_owned()
            }
            Operand::Place {
                value,
                back,
                offset,
            } => {
                let from = slots.scalar(*value, *back);
                writeln!(text, "    addi a1, {from}, {offset}").unwrap();
                "[a1]".to_owned()
            }
            Operand::Number(number) => number.clone(),
            Operand::Address { pointer, offset } => {
                writeln!(text, "    movi a1, {offset}\n    add a1, a1, c{pointer}").unwrap();
                "[a1]".to_owned()
            }
            _ => {
                let (name, at) = (register(place, kind), slots.find(operand, part));
                if written {
                    writeln!(stores, "    movi a0, {at}\n    {store} {name}, [a0]").unwrap();
                } else {
                    writeln!(text, "    movi a0, {at}\n    {load} {name}, [a0]").unwrap();
                }
                name
            }
        });
    }
    writeln!(text, "    {} {}", row.mnemonic, operands.join(", ")).unwrap();
    text.push_str(&stores);
}
