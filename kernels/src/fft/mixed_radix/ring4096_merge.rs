//! Generates the first pass of fft4096.s back to reals: merge, radix 8.
//!
//! The pass is in place. Column c = 64 n1 + 8 n2 + n3 and its partner 512 - c have all numbers that the merge
//! needs (see `real_merge`). An iteration takes columns c and c + 1, c even, which are a quad, and 512 - c
//! and 511 - c, one number each of two quads, from c = 254 down: the blocks 4, 5, 6, 7, for which the
//! transform waits, are then needed in the order in which they come.
//!
//! Results go in quads of two numbers p0 of a column to where the column was read: even columns to the even
//! rows of the quads of columns c and c + 1, odd ones to the odd rows. Column 512 - c shares its quads with
//! 513 - c, which the next iteration reads: the results of 512 - c are stored after that. Columns 0, 1, 256
//! and 511 come at the end; 256 and 511 are read from copies, as results of 257 and 510 take their place.
//!
//! Factors are `v = exp(-2 pi i/8192)` to the powers c + 512 m, m = 0 .. 3. For even c the lower two are in
//! the table of pass 4 (`powers`, powers of v^2), and the upper two are `-i conj` of the powers 1024 - c and
//! 512 - c; those of c + 1 are these times v.

use super::assembly_text::AssemblyText;
use super::butterflies::ColumnDft;
use super::column_loop::{COMPLEX, ColumnLoop, PointerBase, PointerWalk, QUAD};
use super::quad_lanes::{LaneAddress, LaneNumber, join, quad_lanes};
use super::radix_constants::RadixConstant;
use super::radix_operands::RadixOperands;
use super::ring4096_split::{ALONE, COLUMNS, FIRST, M, ONE, SplitMergeInclude, factor};
use crate::fft::TransformDirection;
use crate::pipeline::{BlockBody, BodyOperand, BodyPointer, BodyValue, Operations};
use cp2_asm::schedule::{ModuloSchedule, PointerStep, Unschedulable};
use cp2_machine::Machine;
use std::fmt::Write as _;

/// Register of v, which `fft4096.s` loads behind 1 and W8.
const TURN: BodyOperand = BodyOperand::Pair(FIRST + 2);
/// Iterations, with columns c = 254 .. 2.
const ITERATIONS: usize = COLUMNS / 4 - 1;
/// Initiation intervals after which the steps repeat.
const GROUP: usize = 4;
/// Groups of intervals from one block to the next.
const GROUPS: usize = 8;

/// Step register to the next quad of a row, set by `fft4096.s`.
const UP: u8 = 0;
/// Step register from the last quad of a row to the next row, set by `fft4096.s`.
const NEXT: u8 = 1;
/// Step register to the quad before in a row.
const DOWN: u8 = 8;
/// Step register from the first quad of a row to the row before.
const BACK: u8 = 9;
/// Step registers of columns c, 512 - c and 511 - c in the intervals of a group.
const STEPS: [&[u8]; 3] = [
    &[DOWN, DOWN, DOWN, BACK],
    &[UP, UP, NEXT, UP],
    &[UP, UP, UP, NEXT],
];

/// Bytes from row to row.
const ROW: i64 = 64;
/// Bytes from a pair of results to the next.
const PAIR: i64 = 2 * ROW;

/// Returns the byte offset of a column in the transform.
fn place(column: usize) -> i64 {
    COMPLEX * (64 * (column / 8) + column % 8) as i64
}

/// Returns the byte offset of the results of a column in the transform.
fn results(column: usize) -> i64 {
    place(column - column % 2) + ROW * (column % 2) as i64
}

/// Computes the transforms of the merged numbers of two columns.
fn transform(body: &mut BlockBody, rows: &[BodyValue]) -> Vec<BodyValue> {
    let constants = RadixOperands::with_pairs(
        FIRST,
        vec![RadixConstant::Complex(1.0), RadixConstant::Root(1, 8)],
    );
    let column = ColumnDft {
        mirrored: true,
        across: true,
        ..ColumnDft::plain(TransformDirection::Inverse, &constants)
    };
    column.transform(body, rows)
}

/// Stores the results of two columns, each column's from a pointer and an offset on.
fn store(body: &mut BlockBody, y: &[BodyValue], to: [(BodyPointer, i64); 2]) {
    for (y, (pointer, offset)) in y.chunks(y.len() / 2).zip(to) {
        for (j, &y) in (0..).zip(y) {
            body.store(BodyOperand::Whole(y), pointer, offset + PAIR * j);
        }
    }
}

/// Pointers of an iteration: those that read columns c, 512 - c and 511 - c, those that write them later, and
/// those to the powers of v for c and for 512 - c.
struct MergePointers {
    from: [BodyPointer; 3],
    to: [BodyPointer; 3],
    powers: [BodyPointer; 2],
}

/// Builds the dataflow of an iteration: columns c and c + 1 and their partners.
fn couples() -> (BlockBody, MergePointers, Vec<(u8, PointerStep)>) {
    let mut registers: Vec<(u8, PointerStep)> = Vec::new();
    let mut body = BlockBody::default();
    let mut columns = |first: u8| {
        let mut register = first;
        STEPS.map(|steps| {
            registers.push((register, PointerStep::Turns(steps)));
            register += 2;
            body.pointer()
        })
    };
    let (from, to) = (columns(0), columns(1));
    let powers = [(10, -COMPLEX), (11, COMPLEX)].map(|(a, step)| {
        registers.push((a, PointerStep::Bytes(step)));
        body.pointer()
    });
    // An entry a quarter of the table further on has a power of v that is 512 greater.
    let quarter = COMPLEX * (COLUMNS / 2) as i64;
    let turns: Vec<[BodyOperand; 2]> = [(0, 0), (0, 1), (1, 1), (1, 0)]
        .iter()
        .map(|&(side, further)| {
            let turn = body.quad();
            let [even, odd] = [BodyOperand::Lo(turn), BodyOperand::Hi(turn)];
            body.load(even, powers[side], quarter * further);
            let name = if side == 0 { "cmul" } else { "cmulc" };
            body.op(name, &[odd], &[even, TURN]);
            [even, odd]
        })
        .collect();
    let above = LaneAddress::Quad(from[0], 0);
    let below = LaneAddress::Apart([(from[1], 0), (from[2], 0)]);
    let rows = |body: &mut BlockBody| (0..8).map(|_| body.quad()).collect::<Vec<_>>();
    let (z, partners) = (rows(&mut body), rows(&mut body));
    let load = |body: &mut BlockBody, place: LaneAddress, m: usize| {
        quad_lanes(place.load(body, ROW * m as i64))
    };
    for m in 0..4 {
        let across = 7 - m;
        // The upper two powers are given as others, `-i conj` of table entries (see above).
        let [turn, opposite] = [m, 3 - m].map(|m| (&turns[m][..], m >= 2));
        let x = [load(&mut body, above, m), load(&mut body, below, across)];
        let to = [quad_lanes(z[m]), quad_lanes(partners[across])];
        join(&mut body, [&to[0], &to[1]], (&x[0], &x[1]), turn, ONE);
        let x = [load(&mut body, below, m), load(&mut body, above, across)];
        let to = [quad_lanes(partners[m]), quad_lanes(z[across])];
        let opposite = (opposite.0, !opposite.1);
        join(&mut body, [&to[0], &to[1]], (&x[0], &x[1]), opposite, ONE);
    }
    let y = transform(&mut body, &z);
    store(&mut body, &y, [(to[0], 0), (to[0], ROW)]);
    let y = transform(&mut body, &partners);
    store(&mut body, &y, [(to[1], 0), (to[2], ROW - COMPLEX)]);
    (body, MergePointers { from, to, powers }, registers)
}

/// Writes the loop of columns 0, 1, 256 and 511. Block 0 is addressed by `a8`, block 4 and those behind it by
/// `a9`; copies of the quads of 256 and 511, and number 4096 of the spectrum, are at `ends`.
fn write_single_columns(text: &mut AssemblyText) {
    let alone = [[0, COLUMNS / 2], [1, COLUMNS - 1]];
    let all = alone.concat();
    let numbers: Vec<usize> = (0..=M / 2)
        .filter(|k| all.contains(&(k % COLUMNS)))
        .collect();
    let line = numbers.iter().map(|&k| factor(k, 2 * M)).collect();
    let (label, _) = text.pairs("turns_alone", vec![line]);

    let mut looped = ColumnLoop::with_free_registers(FIRST);
    let mut fixed = |base: PointerBase| looped.stream(base, PointerWalk::Bytes(0));
    let table = fixed(PointerBase::Table(label));
    let first = fixed(PointerBase::Register(8, 0));
    let copies = fixed(PointerBase::Table("ends".to_owned()));
    let middle = results(COLUMNS / 2);
    let to = [0, COLUMNS / 2, 1, COLUMNS - 1].map(|c| match c {
        0 | 1 => (fixed(PointerBase::Register(8, 0)), results(c)),
        _ => (fixed(PointerBase::Register(9, results(c) - middle)), 0),
    });
    let body = &mut looped.body;
    let table = body.load_pairs(table, numbers.len());
    let number = |body: &mut BlockBody, k: usize| {
        let (c, m) = (k % COLUMNS, (k / COLUMNS) as i64);
        let (pointer, offset) = match c {
            _ if k == M => (copies, 0),
            0 | 1 => (first, COMPLEX * c as i64 + ROW * m),
            _ if c == COLUMNS / 2 => (copies, QUAD * (1 + m)),
            _ => (copies, QUAD * (9 + m) + COMPLEX),
        };
        let x = body.pair();
        body.load(BodyOperand::Whole(x), pointer, offset);
        vec![BodyOperand::Whole(x)]
    };
    let rows = alone.map(|_| (0..8).map(|_| body.quad()).collect::<Vec<BodyValue>>());
    let lane = |k: usize| {
        let (m, c) = (k / COLUMNS, k % COLUMNS);
        let i = usize::from(!alone[0].contains(&c));
        let lanes = quad_lanes(rows[i][m]);
        vec![if c == alone[i][0] { lanes[0] } else { lanes[1] }]
    };
    for (&k, turn) in numbers.iter().zip(table) {
        let [x, y] = [k, M - k].map(|k| number(body, k));
        // The upper half of the rows are conjugated; of each pair of results the one that is not wanted goes
        // to a spare register.
        let upper = |k: usize| k / COLUMNS >= 4;
        let mut place = |kept: bool, k: usize| match kept {
            true => lane(k),
            false => LaneNumber::new(body, 1).lanes,
        };
        let z = place(!upper(k), k);
        let conjugate = place(upper((M - k) % M), (M - k) % M);
        join(body, [&z, &conjugate], (&x, &y), (&turn[..1], false), ONE);
    }
    for (rows, to) in rows.iter().zip(to.chunks(2)) {
        let y = transform(body, rows);
        store(body, &y, [to[0], to[1]]);
    }
    looped.write(text, 1, ALONE);
}

/// Writes the words of a group of intervals; if `wait`, the last is preceded by the wait for another block.
fn group(text: &mut AssemblyText, schedule: &ModuloSchedule, group: usize, wait: bool) {
    let end = if group == GROUP * GROUPS - 1 {
        // The last group also has the drain of the pipeline.
        usize::MAX
    } else {
        GROUP * (group + 1)
    };
    for interval in GROUP * group..end.min(ITERATIONS + GROUP) {
        if wait && interval + 1 == end {
            text.word("wait LOADED");
        }
        let words = schedule.intervals(interval as u64..interval as u64 + 1, ITERATIONS as u64);
        text.cycles += words.lines().count() as u64;
        text.words += &words;
    }
}

/// Writes a hardware loop of `times` turns around the words that `body` writes.
fn repeat(
    text: &mut AssemblyText,
    machine: &Machine,
    times: usize,
    body: impl FnOnce(&mut AssemblyText),
) {
    let _ = writeln!(text.words, "    loop {times} {{");
    let before = text.cycles;
    body(text);
    text.words += "    }\n";
    let turn = text.cycles - before;
    text.cycles = before + times as u64 * turn + 1 + machine.cp2.loop_setup.0;
}

/// Generates the first pass of the inverse transform.
pub(in crate::fft) fn generate_merge(
    machine: &Machine,
) -> Result<SplitMergeInclude, Unschedulable> {
    let mut text = AssemblyText::default();
    let middle = results(COLUMNS / 2);
    for word in [
        "mov a8, c5",
        &format!("movi s15, {middle}"),
        "add a9, c5, s15",
        "sub a9, a9, c6",
    ] {
        text.word(word);
    }
    // Room for number 4096 and the one behind it, and for the quads of columns 256 and 510.
    text.table("ends");
    text.line(&format!(".space {}", 17 * QUAD));

    let (body, pointers, registers) = couples();
    let (mut body, made) = body.dataflow(&registers);
    // Column 512 - c shares its quads with 513 - c, which the next iteration reads.
    let [to, from] = [pointers.to[1], pointers.from[2]].map(|pointer| made[pointer.index()]);
    body.order_stores_after_next_loads(to, from);
    let schedule = body.schedule(machine, FIRST)?;
    let (stages, repeats) = schedule.overlap();
    if !(2..=GROUP as u64).contains(&stages) || !(GROUP as u64).is_multiple_of(repeats) {
        return Err(schedule.make_refusal());
    }
    let mut operations = Operations::default();
    operations.add(&body, ITERATIONS as u64, machine);
    let c = COLUMNS / 2 - 2;
    let starts = [
        (8, place(c)),
        (9, place(COLUMNS - c) - middle),
        (9, place(COLUMNS - 1 - c) - middle),
    ];
    for side in [pointers.from, pointers.to] {
        for (pointer, (base, offset)) in side.into_iter().zip(starts) {
            let pointer = made[pointer.index()];
            let (register, bias) = (schedule.pointer_register(pointer), schedule.bias(pointer));
            text.address(register, base, offset + bias);
            text.word(&format!("movi b{register}, {bias}"));
        }
    }
    for (pointer, power) in pointers.powers.into_iter().zip([c, COLUMNS - c]) {
        let pointer = made[pointer.index()];
        let (register, bias) = (schedule.pointer_register(pointer), schedule.bias(pointer));
        let at = COMPLEX * (power / 2) as i64 + bias;
        text.word(&format!("movi a{register}, powers + {at}"));
    }
    for (step, bytes) in [(DOWN, -QUAD), (BACK, place(6) - place(8))] {
        text.word(&format!("movi s{step}, {bytes}"));
    }

    // The next block is needed when c reaches 192, 128 and 64.
    let turn = |text: &mut AssemblyText, first: usize, count: usize| {
        repeat(text, machine, count, |text| {
            group(text, &schedule, first, false)
        });
        group(text, &schedule, first + count, true);
    };
    group(&mut text, &schedule, 0, false);
    turn(&mut text, 1, GROUPS - 2);
    repeat(&mut text, machine, 2, |text| turn(text, GROUPS, GROUPS - 1));
    let last = 3 * GROUPS;
    repeat(&mut text, machine, GROUPS - 1, |text| {
        group(text, &schedule, last, false)
    });
    group(&mut text, &schedule, 4 * GROUPS - 1, false);
    write_single_columns(&mut text);
    Ok(text.into_include(("first", "back to real numbers"), operations))
}
