//! Generates the last pass of fft4096.s for reals: radix 8 and split.
//!
//! The pass is in place. Column c = p0 + 8 p1 + 64 p2 and its partner 512 - c have all numbers whose
//! conjugates they need (see `real_split`). An iteration takes columns c and c + 1, c even, which are a quad,
//! and columns 512 - c and 511 - c, each in a quad of its own, and writes results where it has read a column.
//! Columns 0 and 256 are their own partners; they, 1 and 511 come before the loop.
//!
//! Twelve factors suffice for four columns: w^4 and w^2 of c and c + 1, `w = exp(-2 pi i/4096)^c`, and
//! `exp(-2 pi i/8192)` to the powers c + 512 m, m = 0 .. 3. Those of m = 0 and 1 are the square roots of w
//! and w W8. Squaring them saves a table of 4 KiB, for which there is no room.
//!
//! Blocks are taken in the order 0 7 1 6 2 5 3 4: block p1 has partners in 7 - p1 and, for p0 = 0, in 8 - p1.
//! Three steps change from block to block; a table has them.

use super::assembly_text::AssemblyText;
use super::butterflies::ColumnDft;
use super::column_loop::{COMPLEX, ColumnLoop, PointerBase, PointerWalk, QUAD};
use super::quad_lanes::{LaneAddress, quad_lanes, separate};
use super::radix_constants::powers;
use super::radix_operands::RadixOperands;
use crate::fft::TransformDirection;
use crate::pipeline::{BlockBody, BodyOperand, BodyPointer, BodyValue, Operations};
use cp2_asm::BlockReport;
use cp2_asm::schedule::{ModuloSchedule, PointerStep, Unschedulable};
use cp2_machine::Machine;
use std::fmt::Write as _;

/// Complex numbers of a transform.
pub(super) const M: usize = 4096;
/// Columns of the last pass.
pub(super) const COLUMNS: usize = M / 8;
/// Blocks in the order in which they are complete.
pub(in crate::fft) const ORDER: [usize; 8] = [0, 7, 1, 6, 2, 5, 3, 4];
/// Iterations from block to block, each of which has a pair of columns c and c + 1 of the block.
const COUPLES: usize = 16;
/// Iterations of the loop: all such pairs of columns but 0 and 1.
const ITERATIONS: usize = COLUMNS / 4 - 1;
/// First of the pair registers with the constants of `fft4096.s`, of which the first is 1.
pub(super) const FIRST: u8 = 60;
/// Register of the constant 1.
pub(super) const ONE: BodyOperand = BodyOperand::Pair(FIRST);
/// Name of the block of the columns that have no partner in another quad.
pub(super) const ALONE: &str = "_alone";
/// Word that signals that a block is complete.
const COMPLETE: &str = "signal COMPLETE";

/// Step register with 128 bytes, set by `fft4096.s`.
const UP: u8 = 3;
/// Step registers from a block to the next, for columns c, 511 - c and 512 - c.
const END: [u8; 3] = [8, 9, 10];
/// Step register of columns 512 - c from p0 = 0 to 2.
const FIRST_STEP: u8 = 11;
/// Step register of columns 512 - c from p0 = 6 to 0.
const LAST_STEP: u8 = 12;
/// Step register with -128 bytes.
const DOWN: u8 = 13;

/// Step registers of columns c in the iterations of a block, from its second pair of columns on.
const ABOVE: [u8; COUPLES] = {
    let mut steps = [UP; COUPLES];
    steps[COUPLES - 2] = END[0];
    steps
};
/// Step registers of columns 511 - c in the iterations of a block.
const BELOW: [u8; COUPLES] = {
    let mut steps = [DOWN; COUPLES];
    steps[COUPLES - 2] = END[1];
    steps
};
/// Step registers of columns 512 - c in the iterations of a block.
const EVEN_BELOW: [u8; COUPLES] = {
    let mut steps = [DOWN; COUPLES];
    let mut p2 = 0;
    while p2 < 4 {
        steps[(4 * p2 + COUPLES - 1) % COUPLES] = FIRST_STEP;
        steps[4 * p2 + 2] = LAST_STEP;
        p2 += 1;
    }
    steps[COUPLES - 2] = END[2];
    steps
};

/// A pass that splits, or merges (`ring4096_merge`), as assembly that `fft4096.s` includes.
#[derive(Clone, Debug)]
pub(in crate::fft) struct SplitMergeInclude {
    pub(in crate::fft) text: String,
    /// Cycles of the pass for a transform.
    pub(in crate::fft) cycles: u64,
    /// Operations that the pass issues at least.
    pub(in crate::fft) operations: Operations,
    made: AssemblyText,
}

impl SplitMergeInclude {
    /// Adds the cycles and operations of the linear blocks of the pass, by the reports of the program that includes it.
    pub(in crate::fft) fn add_blocks(&mut self, reports: &[BlockReport]) {
        let (cycles, operations) = self.made.price_blocks(reports);
        self.cycles += cycles;
        self.operations.join(&operations, 1);
    }
}

/// Returns column c, c even, of the pair c and c + 1 at index `couple` in the order.
fn column(couple: usize) -> usize {
    let (p1, inside) = (ORDER[couple / COUPLES], couple % COUPLES);
    2 * (inside % 4) + 8 * p1 + 64 * (inside / 4)
}

/// Returns the byte offset of a column in the transform.
fn place(column: usize) -> i64 {
    let (p0, p1, p2) = (column % 8, column / 8 % 8, column / 64);
    (4096 * p1 + 512 * p2 + 128 * (p0 / 2) + 8 * (p0 % 2)) as i64
}

/// Returns the byte offset of row m in a column.
fn row(m: usize) -> i64 {
    (64 * (m % 2) + 16 * (m / 2)) as i64
}
/// Returns the byte offset of result m in a column.
fn result(m: usize) -> i64 {
    QUAD * m as i64
}

/// Returns the bytes from the column `of` one pair to that of the next pair in the order.
fn step(of: impl Fn(usize) -> usize, couple: usize) -> i64 {
    place(of(column(couple + 1))) - place(of(column(couple)))
}
fn identity(c: usize) -> usize {
    c
}
fn even(c: usize) -> usize {
    COLUMNS - c
}
fn odd(c: usize) -> usize {
    COLUMNS - 1 - c
}

pub(super) fn factor(num: usize, den: usize) -> String {
    format!(".cis -{num}, {den}")
}

/// Loads and transforms two columns.
fn transform(
    body: &mut BlockBody,
    rows: LaneAddress,
    factors: &[[BodyOperand; 2]],
    opposite: bool,
) -> Vec<BodyValue> {
    let x: Vec<BodyValue> = (0..8).map(|m| rows.load(body, row(m))).collect();
    let constants = RadixOperands::default();
    let column = ColumnDft {
        opposite,
        factors,
        ..ColumnDft::plain(TransformDirection::Forward, &constants)
    };
    column.transform(body, &x)
}

/// Computes w^2 in both lanes.
fn square(body: &mut BlockBody, w: [BodyOperand; 2]) -> [BodyOperand; 2] {
    let square = body.quad();
    let lanes = [BodyOperand::Lo(square), BodyOperand::Hi(square)];
    for (to, w) in lanes.into_iter().zip(w) {
        body.op("cmul", &[to], &[w, w]);
    }
    lanes
}

/// Pointers of an iteration: those that read columns c, 512 - c and 511 - c, those that write them later, and
/// that to the factors.
struct SplitPointers {
    from: [BodyPointer; 3],
    to: [BodyPointer; 3],
    factors: BodyPointer,
}

/// Bytes of the factors of an iteration.
const FACTORS: i64 = 6 * QUAD;

/// Builds the dataflow of an iteration: columns c and c + 1 and their partners.
fn couples() -> (BlockBody, SplitPointers, Vec<(u8, PointerStep)>) {
    let mut body = BlockBody::default();
    let mut registers: Vec<(u8, PointerStep)> = Vec::new();
    let steps = [&ABOVE, &EVEN_BELOW, &BELOW];
    let mut pointers = |first: u8| {
        let mut register = first;
        steps.map(|steps| {
            registers.push((register, PointerStep::Turns(steps)));
            register += 2;
            body.pointer()
        })
    };
    let (from, to) = (pointers(0), pointers(1));
    let [above, below] = [from, to].map(|[a, b, c]| {
        let below = LaneAddress::Apart([(b, 0), (c, 0)]);
        (LaneAddress::Quad(a, 0), below)
    });
    registers.push((10, PointerStep::Bytes(FACTORS)));
    let factors = body.pointer();
    let table: Vec<[BodyOperand; 2]> = (0..FACTORS / QUAD)
        .map(|i| {
            let quad = body.quad();
            body.load(BodyOperand::Whole(quad), factors, QUAD * i);
            [BodyOperand::Lo(quad), BodyOperand::Hi(quad)]
        })
        .collect();
    let (own, turns) = table.split_at(2);
    let roots = [turns[0], turns[1]].map(|root| square(&mut body, root));
    let own = [own, &roots].concat();
    let x = transform(&mut body, above.0, &own, false);
    let y = transform(&mut body, above.1, &own, true);
    for m in 0..8 {
        let turn = (&turns[m % 4][..], m >= 4);
        let pair = (&quad_lanes(x[m])[..], &quad_lanes(y[7 - m])[..]);
        let [number, partner] = separate(&mut body, pair, turn, ONE);
        below.0.store(&mut body, number.whole, result(m));
        below.1.store(&mut body, partner.whole, result(7 - m));
    }
    let pointers = SplitPointers { from, to, factors };
    (body, pointers, registers)
}

/// Writes the loop of columns 0, 1, 256 and 511, of which column 0 is at `a8` and 511 at `a9`, and stores
/// number 4096 of the spectrum.
fn write_single_columns(text: &mut AssemblyText) {
    let alone = [[0, COLUMNS / 2], [1, COLUMNS - 1]];
    let mut numbers: Vec<usize> = Vec::new();
    for k in 0..=M / 2 {
        if alone.concat().contains(&(k % COLUMNS)) {
            numbers.push(k);
        }
    }
    let own = |&c: &usize| {
        let power = |&(power, eighths): &(usize, usize)| factor(c * power + eighths * M / 8, M);
        powers(8).iter().map(power).collect::<Vec<_>>()
    };
    let own: Vec<String> = alone.iter().flatten().flat_map(own).collect();
    let turns = numbers.iter().map(|&k| factor(k, 2 * M));
    let line: Vec<String> = own.into_iter().chain(turns).collect();

    let mut looped = ColumnLoop::with_free_registers(FIRST);
    let count = line.len();
    let (label, _) = text.pairs("own_factors", vec![line]);
    let table = looped.stream(PointerBase::Table(label), PointerWalk::Bytes(0));
    let table = looped.body.load_pairs(table, count);
    let mut blocks =
        || [8, 9].map(|a| looped.stream(PointerBase::Register(a, 0), PointerWalk::Bytes(0)));
    let (from, to) = (blocks(), blocks());
    let ends = looped.stream(PointerBase::Table("ends".to_owned()), PointerWalk::Bytes(0));
    // Column 511 is addressed by its own pointer, the others from column 0.
    let at = |[first, last]: [BodyPointer; 2], c: usize| match c == COLUMNS - 1 {
        true => (last, 0),
        false => (first, place(c)),
    };
    let body = &mut looped.body;
    let lanes = powers(8).len();
    let z: Vec<BodyValue> = alone
        .iter()
        .enumerate()
        .flat_map(|(i, columns)| {
            let factors: Vec<[BodyOperand; 2]> = (0..lanes)
                .map(|j| [0, lanes].map(|lane| table[2 * lanes * i + lane + j][0]))
                .collect();
            let rows = LaneAddress::Apart(columns.map(|c| at(from, c)));
            transform(body, rows, &factors, false)
        })
        .collect();
    let lane = |k: usize| {
        let (m, c) = (k / COLUMNS, k % COLUMNS);
        let i = usize::from(!alone[0].contains(&c));
        let lanes = quad_lanes(z[8 * i + m]);
        if c == alone[i][0] { lanes[0] } else { lanes[1] }
    };
    for (&k, turn) in numbers.iter().zip(&table[4 * lanes..]) {
        let pair = (&[lane(k)][..], &[lane((M - k) % M)][..]);
        let [number, partner] = separate(body, pair, (&turn[..], false), ONE);
        let mut store = |value: BodyValue, k: usize| {
            let (pointer, offset) = at(to, k % COLUMNS);
            body.store(
                BodyOperand::Whole(value),
                pointer,
                offset + result(k / COLUMNS),
            );
        };
        store(number.whole, k);
        if k == 0 {
            // The DMA moves whole granules, so that the number behind number M has to be initialised.
            for offset in [0, COMPLEX] {
                body.store(BodyOperand::Whole(partner.whole), ends, offset);
            }
        } else if 2 * k != M {
            store(partner.whole, M - k);
        }
    }
    looped.write(text, 1, ALONE);
}

/// Writes the words of the intervals and, between them, those that change steps.
fn intervals(text: &mut AssemblyText, schedule: &ModuloSchedule, which: std::ops::Range<usize>) {
    for interval in which {
        let words = schedule.intervals(interval as u64..interval as u64 + 1, ITERATIONS as u64);
        text.cycles += words.lines().count() as u64;
        text.words += &words;
        if interval % COUPLES == COUPLES / 2 {
            // Loads the steps at the end of this block.
            text.word(&format!("ldx2 s{}, [a11]+8", END[0]));
            text.word(&format!("ldx s{}, [a11]+8", END[2]));
        }
        if interval == COUPLES - 3 {
            // Block 0 has other steps within the block than those that follow.
            let second = COUPLES;
            text.word(&format!("movi s{FIRST_STEP}, {}", step(even, second)));
            text.word(&format!("movi s{LAST_STEP}, {}", step(even, second + 3)));
        }
    }
}

/// Generates the last pass of the forward transform.
pub(in crate::fft) fn separation(machine: &Machine) -> Result<SplitMergeInclude, Unschedulable> {
    let mut text = AssemblyText::default();
    let last = place(COLUMNS - 1);
    for word in [
        "mov a8, c5",
        &format!("movi s15, {last}"),
        "add a9, c5, s15",
        "sub a9, a9, c6",
    ] {
        text.word(word);
    }
    text.table("ends");
    text.line(".complex 0, 0");
    text.line(".complex 0, 0");
    write_single_columns(&mut text);

    let (body, pointers, registers) = couples();
    let (body, made) = body.dataflow(&registers);
    let schedule = body.schedule(machine, FIRST)?;
    let (stages, repeats) = schedule.overlap();
    if stages != 2 || !(COUPLES as u64).is_multiple_of(repeats) {
        // The exchange of steps is written for iterations that overlap with only the next one.
        return Err(schedule.make_refusal());
    }
    let mut operations = Operations::default();
    operations.add(&body, ITERATIONS as u64, machine);
    // The loop begins at the second pair of columns.
    let c = column(1);
    let starts = [
        (8, place(c)),
        (9, place(even(c)) - last),
        (9, place(odd(c)) - last),
    ];
    for side in [pointers.from, pointers.to] {
        for (pointer, (base, offset)) in side.into_iter().zip(starts) {
            let pointer = made[pointer.index()];
            let (register, bias) = (schedule.pointer_register(pointer), schedule.bias(pointer));
            text.address(register, base, offset + bias);
            text.word(&format!("movi b{register}, {bias}"));
        }
    }
    let couples: Vec<usize> = (1..=ITERATIONS).map(column).collect();
    let line = |&c: &usize| {
        let powers = [4, 2]
            .into_iter()
            .flat_map(|power| [c, c + 1].map(|c| factor(c * power, M)));
        let turns = (0..4).flat_map(|m| [c, c + 1].map(|c| factor(c + m * COLUMNS, 2 * M)));
        powers.chain(turns).collect::<Vec<_>>()
    };
    let (label, _) = text.pairs("factors_of_couples", couples.iter().map(line).collect());
    let bias = schedule.bias(made[pointers.factors.index()]);
    text.word(&format!("movi a10, {label} + {bias}"));
    text.table("ends_of_blocks");
    for block in 1..=ORDER.len() {
        // The last block has no step behind its end.
        let couple = (COUPLES * block).min(ITERATIONS) - 1;
        let [a, b, c] = [
            step(identity, couple),
            step(odd, couple),
            step(even, couple),
        ];
        text.line(&format!(".int {a}, {b}, {c}, 0"));
    }
    text.word("movi a11, ends_of_blocks");
    for (register, bytes) in [
        (DOWN, step(odd, 1)),
        (FIRST_STEP, step(even, 4)),
        (LAST_STEP, step(even, 3)),
    ] {
        text.word(&format!("movi s{register}, {bytes}"));
    }

    // Iteration 0 is the second pair, so that a block is complete with the first words of an interval of the
    // next.
    intervals(&mut text, &schedule, 0..COUPLES);
    let blocks = ORDER.len() - 2;
    let once = text.cycles;
    let _ = writeln!(text.words, "    loop {blocks} {{");
    intervals(&mut text, &schedule, COUPLES..2 * COUPLES);
    text.word(COMPLETE);
    text.words += "    }\n";
    let turn = text.cycles - once;
    text.cycles += (blocks as u64 - 1) * turn + 1 + machine.cp2.loop_setup.0;
    intervals(
        &mut text,
        &schedule,
        ITERATIONS + 1 - COUPLES..ITERATIONS + 1,
    );
    text.word(COMPLETE);
    text.word(COMPLETE);
    Ok(text.into_include(("last", "for real numbers"), operations))
}

impl AssemblyText {
    /// Makes the include for a pass of `fft4096.s`: the `which` pass, described by `what`, with the operations outside
    /// of its linear blocks.
    pub(super) fn into_include(
        self,
        (which, what): (&str, &str),
        operations: Operations,
    ) -> SplitMergeInclude {
        let text = format!(
            "; The {which} pass of fft4096.s {what}: generated, see docs/fft.md.\n.dmem RING\n{}.program\n{}",
            self.data, self.words
        );
        SplitMergeInclude {
            text,
            cycles: self.cycles,
            operations,
            made: self,
        }
    }
}
