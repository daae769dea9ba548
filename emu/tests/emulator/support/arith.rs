//! An oracle for the arithmetic slot, independent of the semantics.
//!
//! The oracle works by mnemonic, on vectors of lanes. Floats are computed in binary64, where sums and
//! products of binary32 numbers round to binary32 as if they were rounded once.

use cp2_asm::isa::{Inst, Kind, Op};
use cp2_emu::semantics::elementary::{Function, evaluate};

pub(crate) const NAN: u32 = 0x7fc0_0000;

/// Registers of a section, by register and lane.
pub(crate) type File = Vec<[u32; 2]>;

fn wide(a: u32) -> f64 {
    f64::from(f32::from_bits(a))
}

fn narrow(a: f64) -> u32 {
    if a.is_nan() {
        NAN
    } else {
        (a as f32).to_bits()
    }
}

fn add(a: u32, b: u32) -> u32 {
    narrow(wide(a) + wide(b))
}

fn mul(a: u32, b: u32) -> u32 {
    narrow(wide(a) * wide(b))
}

fn neg(a: u32) -> u32 {
    a.wrapping_add(0x8000_0000)
}

fn sub(a: u32, b: u32) -> u32 {
    add(a, neg(b))
}

fn is_nan(a: u32) -> bool {
    a & 0x7fff_ffff > 0x7f80_0000
}

/// Maps floats to integers of equal order; `-0` lies just below `+0`.
fn rank(a: u32) -> i64 {
    if a >> 31 == 1 {
        -1 - i64::from(a & 0x7fff_ffff)
    } else {
        i64::from(a)
    }
}

fn mask(condition: bool) -> u32 {
    if condition { 0xffff_ffff } else { 0 }
}

fn to_integer(a: u32, round: impl Fn(f64) -> f64) -> u32 {
    if is_nan(a) {
        return 0;
    }
    let rounded = round(wide(a));
    let limit = 2f64.powi(31);
    if rounded >= limit {
        0x7fff_ffff
    } else if rounded < -limit {
        0x8000_0000
    } else {
        rounded as i64 as u32
    }
}

/// Returns the nearest integer, halves to even, without the library's rounding.
fn nearest(a: f64) -> f64 {
    let low = a.floor();
    match (a - low).partial_cmp(&0.5) {
        Some(std::cmp::Ordering::Less) => low,
        Some(std::cmp::Ordering::Equal) => 2.0 * (low / 2.0).ceil(),
        _ => low + 1.0,
    }
}

fn binary(name: &str, a: u32, b: u32) -> u32 {
    let (sa, sb) = (i64::from(a as i32), i64::from(b as i32));
    let (ua, ub) = (u64::from(a), u64::from(b));
    let either_nan = is_nan(a) || is_nan(b);
    match name {
        "add" => add(a, b),
        "sub" => sub(a, b),
        "mul" => mul(a, b),
        "min" | "max" if either_nan => NAN,
        "min" => [a, b].into_iter().min_by_key(|&v| rank(v)).unwrap(),
        "max" => [a, b].into_iter().max_by_key(|&v| rank(v)).unwrap(),
        "cmpeq" => mask(!either_nan && wide(a) == wide(b)),
        "cmplt" => mask(!either_nan && wide(a) < wide(b)),
        "cmple" => mask(!either_nan && wide(a) <= wide(b)),
        "iadd" => (ua + ub) as u32,
        "isub" => (sa - sb) as u32,
        "imul" => (sa * sb) as u32,
        "and" => a & b,
        "or" => a | b,
        "xor" => (a | b) & !(a & b),
        "andn" => a - (a & b),
        "shl" => (ua << ub.min(32)) as u32,
        "shr" => (ua >> ub.min(32)) as u32,
        "sar" => (sa >> ub.min(32)) as u32,
        "imin" => sa.min(sb) as u32,
        "imax" => sa.max(sb) as u32,
        "icmpeq" => mask(sa == sb),
        "icmplt" => mask(sa < sb),
        _ => panic!("no oracle for `{name}`"),
    }
}

fn unary(name: &str, a: u32) -> u32 {
    match name {
        "mov" => a,
        "abs" => a % 0x8000_0000,
        "neg" => neg(a),
        "not" => u32::MAX - a,
        "ftoi" => to_integer(a, f64::trunc),
        "ftoin" => to_integer(a, nearest),
        "itof" => narrow(f64::from(a as i32)),
        "rcp" => narrow(1.0 / wide(a)),
        // These functions are tested in `elementary.rs`.
        "rsqrt" => evaluate(Function::Rsqrt, a),
        "exp2" => evaluate(Function::Exp2, a),
        "log2" => evaluate(Function::Log2, a),
        "sin" => evaluate(Function::Sin, a),
        "cos" => evaluate(Function::Cos, a),
        _ => panic!("no oracle for `{name}`"),
    }
}

fn ternary(name: &str, a: u32, b: u32, c: u32) -> u32 {
    match name {
        "madd" => add(mul(a, b), c),
        "msub" => sub(mul(a, b), c),
        "nmadd" => sub(neg(mul(a, b)), c),
        "nmsub" => sub(c, mul(a, b)),
        "sel" => (0..32)
            .map(|i| {
                if c >> i & 1 == 1 {
                    a & 1 << i
                } else {
                    b & 1 << i
                }
            })
            .sum(),
        _ => panic!("no oracle for `{name}`"),
    }
}

type Complex = [u32; 2];

fn conj([re, im]: Complex) -> Complex {
    [re, neg(im)]
}

fn cmul(a: Complex, b: Complex) -> Complex {
    [
        sub(mul(a[0], b[0]), mul(a[1], b[1])),
        add(mul(a[0], b[1]), mul(a[1], b[0])),
    ]
}

fn cadd(a: Complex, b: Complex) -> Complex {
    [add(a[0], b[0]), add(a[1], b[1])]
}

fn cneg(a: Complex) -> Complex {
    a.map(neg)
}

/// Returns `i * a`, by swapping the parts and flipping a sign.
fn times_i([re, im]: Complex) -> Complex {
    [neg(im), re]
}

fn pair(lanes: &[u32]) -> Complex {
    [lanes[0], lanes[1]]
}

/// Returns sum and difference of `x` and the turned product, by the letters after `bfly`.
fn butterfly(letters: &str, x: Complex, y: Complex, w: Complex) -> Vec<Vec<u32>> {
    let (y, letters) = match letters.strip_prefix('y') {
        Some(rest) => (conj(y), rest),
        None => (y, letters),
    };
    let (w, letters) = match letters.strip_prefix('c') {
        Some(rest) => (conj(w), rest),
        None => (w, letters),
    };
    let t = match letters {
        "" => cmul(y, w),
        "i" => times_i(cmul(y, w)),
        "n" => cneg(times_i(cmul(y, w))),
        _ => panic!("no oracle for butterfly letters `{letters}`"),
    };
    vec![cadd(x, t).to_vec(), cadd(x, cneg(t)).to_vec()]
}

/// Returns the results of `inst`, one vector of lanes per destination.
fn results(inst: &Inst, operands: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let name = inst.row().mnemonic;
    let imm = inst.imm as u32;
    let half = operands.first().map_or(0, |a| a.len() / 2);
    if let Some(letters) = name.strip_prefix("bfly") {
        return butterfly(
            letters,
            pair(&operands[0]),
            pair(&operands[1]),
            pair(&operands[2]),
        );
    }
    let one = match (name, operands) {
        ("nop", _) => return vec![],
        ("lif" | "lii", []) => vec![imm; 2],
        ("addsub", [a, b]) => {
            let (a, b) = (pair(a), pair(b));
            return vec![cadd(a, b).to_vec(), cadd(a, cneg(b)).to_vec()];
        }
        ("conj", [a]) => a.chunks(2).flat_map(|c| conj(pair(c))).collect(),
        ("swap", [a]) => a.chunks(2).flat_map(|c| [c[1], c[0]]).collect(),
        ("dup0", [a]) => vec![a[0]; 2],
        ("dup1", [a]) => vec![a[1]; 2],
        ("perm", [a]) => [0, 2, 4, 6]
            .map(|shift| a[(imm >> shift & 3) as usize])
            .to_vec(),
        ("shli" | "shri" | "sari", [a]) => a.iter().map(|&v| binary(&name[..3], v, imm)).collect(),
        ("trnlo", [a, b]) => [&a[..half], &b[..half]].concat(),
        ("trnhi", [a, b]) => [&a[half..], &b[half..]].concat(),
        ("ext", [a, b]) => {
            let first = if a.len() == 2 { 1 } else { imm as usize };
            [&a[..], b].concat()[first..first + a.len()].to_vec()
        }
        ("cmul", [a, b]) => cmul(pair(a), pair(b)).to_vec(),
        ("cmulc", [a, b]) => cmul(pair(a), conj(pair(b))).to_vec(),
        ("cmadd", [a, b, c]) => cadd(cmul(pair(a), pair(b)), pair(c)).to_vec(),
        ("cmaddc", [a, b, c]) => cadd(cmul(pair(a), conj(pair(b))), pair(c)).to_vec(),
        ("cmsub", [a, b, c]) => cadd(pair(c), cneg(cmul(pair(a), pair(b)))).to_vec(),
        ("cmsubc", [a, b, c]) => cadd(pair(c), cneg(cmul(pair(a), conj(pair(b))))).to_vec(),
        (_, [a]) => a.iter().map(|&v| unary(name, v)).collect(),
        (_, [a, b]) => a.iter().zip(b).map(|(&v, &w)| binary(name, v, w)).collect(),
        (_, [a, b, c]) => (0..a.len())
            .map(|i| ternary(name, a[i], b[i], c[i]))
            .collect(),
        _ => panic!("no oracle for `{name}`"),
    };
    vec![one]
}

/// Returns the registers that a register operand covers: the first, and their number.
fn extent(kind: Kind, r: u8) -> (usize, usize) {
    if kind == Kind::Quad {
        (2 * r as usize, 2)
    } else {
        (r as usize, 1)
    }
}

/// Returns the register file after `inst`.
pub(crate) fn expected(inst: &Inst, file: &File) -> File {
    let (mut inputs, mut outputs) = (vec![], vec![]);
    for (operand, &r) in inst
        .row()
        .form
        .operands()
        .iter()
        .filter(|o| o.kind.is_register())
        .zip(&inst.r)
    {
        let (first, count) = extent(operand.kind, r);
        if operand.role.reads() {
            inputs.push(file[first..first + count].concat());
        }
        if operand.role.writes() {
            outputs.push(first);
        }
    }
    let results = results(inst, &inputs);
    assert_eq!(results.len(), outputs.len(), "{:?}", inst.op);
    let mut file = file.clone();
    for (first, lanes) in outputs.into_iter().zip(results) {
        for (i, value) in lanes.into_iter().enumerate() {
            file[first + i / 2][i % 2] = value;
        }
    }
    file
}

/// Returns every operation of the arithmetic slot.
pub(crate) fn rows() -> impl Iterator<Item = Op> {
    Op::ALL
        .iter()
        .copied()
        .filter(|op| op.row().slot() == cp2_asm::isa::Slot::Arith)
}
