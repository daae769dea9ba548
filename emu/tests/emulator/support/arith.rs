//! An oracle for the arithmetic slot, independent of the semantics.
//!
//! The oracle works by mnemonic, on vectors of lanes. Floats are computed in binary64, where sums and
//! products of binary32 numbers round to binary32 as if they were rounded once.

use cp2_asm::isa::{Inst, Kind, Op};
use cp2_emu::semantics::elementary::{Function, evaluate};
use cp2_machine::Extensions;

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
        "adde" => {
            let s = add(a, b);
            let t = sub(s, a);
            add(sub(a, sub(s, t)), sub(b, t))
        }
        "mule" => narrow(f64::from(
            f32::from_bits(a).mul_add(f32::from_bits(b), -f32::from_bits(mul(a, b))),
        )),
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

/// Returns the binary64 numbers in lanes, lower halves first.
fn doubles(lanes: &[u32]) -> Vec<f64> {
    let number = |c: &[u32]| f64::from_bits(u64::from(c[0]) + (u64::from(c[1]) << 32));
    lanes.chunks(2).map(number).collect()
}

fn bits64(bits: u64) -> [u32; 2] {
    [(bits % (1 << 32)) as u32, (bits >> 32) as u32]
}

fn lanes64(a: f64) -> [u32; 2] {
    bits64(if a.is_nan() {
        0x7ff8_0000_0000_0000
    } else {
        a.to_bits()
    })
}

/// Returns the smaller number, or the larger one of `-a` and `-b` negated.
fn least(a: f64, b: f64) -> f64 {
    match a.partial_cmp(&b) {
        None => f64::NAN,
        Some(std::cmp::Ordering::Less) => a,
        Some(std::cmp::Ordering::Equal) if a.is_sign_negative() => a,
        Some(_) => b,
    }
}

fn binary64(name: &str, a: f64, b: f64) -> [u32; 2] {
    let mask = |holds: bool| bits64(if holds { u64::MAX } else { 0 });
    match name {
        "dadd" => lanes64(a + b),
        "dsub" => lanes64(a + -b),
        "dmul" => lanes64(a * b),
        "dmin" => lanes64(least(a, b)),
        "dmax" => lanes64(-least(-a, -b)),
        "dcmpeq" => mask(a == b),
        "dcmplt" => mask(a < b),
        "dcmple" => mask(a <= b),
        _ => panic!("no oracle for `{name}`"),
    }
}

/// A complex number of two binary64 numbers.
type Complex64 = [f64; 2];

fn zcmul(a: Complex64, b: Complex64) -> Complex64 {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn zcadd(a: Complex64, b: Complex64) -> Complex64 {
    [a[0] + b[0], a[1] + b[1]]
}

fn zcneg(a: Complex64) -> Complex64 {
    a.map(|part| -part)
}

fn zconj(a: Complex64) -> Complex64 {
    [a[0], -a[1]]
}

/// Returns the results of a row on binary64 numbers, whose name here has no `d`.
fn results64(name: &str, operands: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let complex = |i: usize| {
        let parts = doubles(&operands[i]);
        [parts[0], parts[1]]
    };
    let flat = |parts: Complex64| parts.map(lanes64).concat();
    if let Some(letters) = name.strip_prefix("bfly") {
        let w = if letters.starts_with('c') {
            zconj(complex(2))
        } else {
            complex(2)
        };
        let product = zcmul(complex(1), w);
        let turned = [-product[1], product[0]];
        let t = match letters.trim_start_matches('c') {
            "" => product,
            "i" => turned,
            "n" => zcneg(turned),
            _ => panic!("no oracle for butterfly letters `{letters}`"),
        };
        return vec![
            flat(zcadd(complex(0), t)),
            flat(zcadd(complex(0), zcneg(t))),
        ];
    }
    let three = |f: fn(f64, f64, f64) -> f64| -> Vec<u32> {
        let [a, b, c] = [0, 1, 2].map(|i| doubles(&operands[i]));
        (0..a.len())
            .flat_map(|i| lanes64(f(a[i], b[i], c[i])))
            .collect()
    };
    let signs = |f: fn(u32) -> u32| -> Vec<u32> {
        operands[0]
            .chunks(2)
            .flat_map(|c| [c[0], f(c[1])])
            .collect()
    };
    vec![match name {
        "neg" => signs(neg),
        "abs" => signs(|a| a % 0x8000_0000),
        "madd" => three(|a, b, c| a * b + c),
        "msub" => three(|a, b, c| a * b + -c),
        "nmadd" => three(|a, b, c| -(a * b) + -c),
        "nmsub" => three(|a, b, c| c + -(a * b)),
        "cmul" => flat(zcmul(complex(0), complex(1))),
        "cmulc" => flat(zcmul(complex(0), zconj(complex(1)))),
        "cmadd" => flat(zcadd(zcmul(complex(0), complex(1)), complex(2))),
        "cmsub" => flat(zcadd(complex(2), zcneg(zcmul(complex(0), complex(1))))),
        _ => {
            let (a, b) = (doubles(&operands[0]), doubles(&operands[1]));
            let name = format!("d{name}");
            a.iter()
                .zip(b)
                .flat_map(|(&a, b)| binary64(&name, a, b))
                .collect()
        }
    }]
}

/// Returns the results of `inst`, one vector of lanes per destination.
fn results(inst: &Inst, operands: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let name = inst.row().mnemonic;
    let imm = inst.imm as u32;
    let half = operands.first().map_or(0, |a| a.len() / 2);
    match (name, operands) {
        ("dtof", [a]) => {
            let all: Vec<u32> = doubles(a).into_iter().map(narrow).collect();
            return vec![all.iter().copied().cycle().take(2).collect()];
        }
        ("ftod", [a]) => {
            let all: Vec<u32> = a.iter().flat_map(|&a| lanes64(wide(a))).collect();
            let written = inst.row().form.operands()[0].kind;
            return vec![all[..if written == Kind::Quad { 4 } else { 2 }].to_vec()];
        }
        _ => {}
    }
    if inst.row().requires == Extensions::DOUBLE {
        return results64(&name[1..], operands);
    }
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
