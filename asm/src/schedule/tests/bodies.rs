//! Bodies of small loops whose bounds are known.

use super::super::{DataOperand, DataPointer, DataValue, Dataflow, FreeRegisters, PointerStep};
use DataOperand::{Hi, Lo, Quad, Whole};

/// A body with the registers that its values may take.
pub(super) struct Body {
    pub(super) name: &'static str,
    pub(super) flow: Dataflow,
    pub(super) free: FreeRegisters,
    /// Cycles that an iteration takes at least.
    pub(super) bound: u32,
}

/// Returns all registers but the given quads.
fn without(quads: &[u8]) -> FreeRegisters {
    let taken = quads.iter().fold(0, |mask, &q| mask | 3u64 << (2 * q));
    FreeRegisters::new(!taken)
}

fn load(flow: &mut Dataflow, pointer: DataPointer, offset: i64) -> DataOperand {
    let value = flow.quad();
    flow.load(Whole(value), pointer, offset);
    Whole(value)
}

fn quad_op(flow: &mut Dataflow, name: &'static str, uses: &[DataOperand]) -> DataOperand {
    Whole(flow.quad_op(name, uses))
}

pub(super) fn axpy() -> Body {
    let mut flow = Dataflow::default();
    let [x, y, z] = [4, 6, 5].map(|register| flow.pointer(register, PointerStep::Bytes(16)));
    let (x, y) = (load(&mut flow, x, 0), load(&mut flow, y, 0));
    let sum = quad_op(&mut flow, "madd", &[x, Quad(31), y]);
    flow.store(sum, z, 0);
    Body {
        name: "axpy",
        flow,
        free: without(&[31]),
        bound: 3,
    }
}

pub(super) fn dot() -> Body {
    let mut flow = Dataflow::default();
    let [x, y] = [4, 6].map(|register| flow.pointer(register, PointerStep::Bytes(64)));
    for i in 0..4 {
        let offset = 16 * i64::from(i);
        let (x, y) = (load(&mut flow, x, offset), load(&mut flow, y, offset));
        flow.op("madd", &[Quad(16 + i)], &[x, y, Quad(16 + i)]);
    }
    Body {
        name: "dot",
        flow,
        free: without(&[16, 17, 18, 19]),
        bound: 8,
    }
}

pub(super) fn argmax() -> Body {
    let mut flow = Dataflow::default();
    let x = flow.pointer(4, PointerStep::Bytes(64));
    for i in 0..4 {
        let (best, place) = (Quad(12 + 2 * i), Quad(13 + 2 * i));
        let x = load(&mut flow, x, 16 * i64::from(i));
        let more = quad_op(&mut flow, "cmplt", &[best, x]);
        flow.op("max", &[best], &[best, x]);
        flow.op("sel", &[place], &[Quad(20), place, more]);
    }
    flow.op("iadd", &[Quad(20)], &[Quad(20), Quad(21)]);
    Body {
        name: "argmax",
        flow,
        free: without(&[12, 13, 14, 15, 16, 17, 18, 19, 20, 21]),
        bound: 13,
    }
}

pub(super) fn cfar() -> Body {
    let mut flow = Dataflow::default();
    let [ahead, at, out] = [4, 5, 6].map(|register| flow.pointer(register, PointerStep::Bytes(16)));
    let x = load(&mut flow, ahead, 0);
    // The first operand is of an earlier iteration, and the second too if a distance is given.
    let earlier =
        |flow: &mut Dataflow, name, [one, other]: [(DataOperand, u32); 2], n: Option<i64>| {
            let uses = [one.0, other.0];
            let value = match n {
                Some(n) => flow.quad_immediate(name, &uses, n),
                None => flow.quad_op(name, &uses),
            };
            flow.read_earlier(0, one.1);
            flow.read_earlier(1, other.1);
            Whole(value)
        };
    let h = earlier(&mut flow, "ext", [(x, 1), (x, 0)], Some(1));
    let s2 = earlier(&mut flow, "add", [(x, 1), (h, 0)], None);
    let k = earlier(&mut flow, "ext", [(s2, 1), (s2, 0)], Some(2));
    let s4 = earlier(&mut flow, "add", [(s2, 1), (k, 0)], None);
    let s8 = earlier(&mut flow, "add", [(s4, 1), (s4, 0)], None);
    let after = earlier(&mut flow, "ext", [(s8, 1), (s8, 0)], Some(3));
    let before = earlier(&mut flow, "ext", [(s8, 4), (s8, 3)], Some(2));
    let both = quad_op(&mut flow, "add", &[after, before]);
    let level = quad_op(&mut flow, "mul", &[both, Quad(31)]);
    let own = load(&mut flow, at, 0);
    let more = quad_op(&mut flow, "cmplt", &[level, own]);
    let y = quad_op(&mut flow, "and", &[more, Quad(30)]);
    flow.store(y, out, 0);
    Body {
        name: "cfar",
        flow,
        free: without(&[30, 31]),
        bound: 11,
    }
}

pub(super) fn biquad() -> Body {
    let mut flow = Dataflow::default();
    let out = flow.pointer(5, PointerStep::Modulo(2));
    for i in 0..4 {
        let (s1, s2) = (Quad(i), Quad(4 + i));
        let x = load(&mut flow, out, 16 * i64::from(i));
        let load = flow.last();
        let y = quad_op(&mut flow, "madd", &[x, Quad(24), s1]);
        let t = quad_op(&mut flow, "madd", &[x, Quad(25), s2]);
        flow.op("nmsub", &[s1], &[y, Quad(27), t]);
        let u = quad_op(&mut flow, "mul", &[x, Quad(26)]);
        flow.op("nmsub", &[s2], &[y, Quad(28), u]);
        flow.store(y, out, 16 * i64::from(i));
        flow.order(load, flow.last(), 0);
    }
    Body {
        name: "biquad",
        flow,
        free: without(&[0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28]),
        bound: 20,
    }
}

/// Adds a butterfly of two quads, one operation for each half; returns the results.
fn butterfly(
    flow: &mut Dataflow,
    name: &'static str,
    [x, y]: [DataValue; 2],
    w: impl Fn(u8) -> DataOperand,
) -> [DataValue; 2] {
    let (a, b) = (flow.quad(), flow.quad());
    for (half, part) in [Lo, Hi].into_iter().enumerate() {
        flow.op(
            name,
            &[part(a), part(b)],
            &[part(x), part(y), w(half as u8)],
        );
    }
    [a, b]
}

pub(super) fn radix4() -> Body {
    let mut flow = Dataflow::default();
    let (from, to) = (
        flow.pointer(0, PointerStep::Modulo(2)),
        flow.pointer(1, PointerStep::Modulo(2)),
    );
    for h in 0..2u8 {
        let x: Vec<DataValue> = (0..4)
            .map(|m| {
                let x = flow.quad();
                flow.load(Whole(x), from, 512 * m + 16 * i64::from(h));
                x
            })
            .collect();
        let w = |half: u8| DataOperand::Pair(58 + half);
        let v = move |half: u8| DataOperand::Pair(60 + 2 * h + half);
        let name = ["bfly", "bflyn"][usize::from(h)];
        let [a, b] = butterfly(&mut flow, name, [x[0], x[2]], w);
        let [c, d] = butterfly(&mut flow, name, [x[1], x[3]], w);
        let [y0, y2] = butterfly(&mut flow, "bfly", [a, c], v);
        let [y1, y3] = butterfly(&mut flow, "bflyn", [b, d], v);
        for (m, y) in (0..).zip([y0, y1, y2, y3]) {
            flow.store(Whole(y), to, 32 * m + 16 * i64::from(h));
        }
    }
    Body {
        name: "radix4",
        flow,
        free: FreeRegisters::below(58),
        bound: 16,
    }
}

pub(super) fn radix8() -> Body {
    let mut flow = Dataflow::default();
    let table = |step, table| PointerStep::Table {
        step,
        table,
        by: 14,
        modulo: true,
    };
    let from = flow.pointer(0, table(0, 4));
    let to = flow.pointer(1, table(1, 5));
    let factors = flow.pointer(2, PointerStep::Modulo(3));
    let mut load = |pointer, offset| {
        let x = flow.quad();
        flow.load(Whole(x), pointer, offset);
        x
    };
    let x: Vec<DataValue> = (0..8).map(|m| load(from, 256 * m)).collect();
    let w: Vec<DataValue> = (0..4).map(|m| load(factors, 16 * m)).collect();
    let by = |w: DataValue| move |half: u8| if half == 0 { Lo(w) } else { Hi(w) };
    let first: Vec<_> = (0..4)
        .map(|m| butterfly(&mut flow, "bfly", [x[m], x[m + 4]], by(w[0])))
        .collect();
    let mut y = vec![x[0]; 8];
    let (mut p, mut r) = (vec![x[0]; 4], vec![x[0]; 4]);
    for m in 0..2 {
        let (even, odd) = (
            [first[m][0], first[m + 2][0]],
            [first[m][1], first[m + 2][1]],
        );
        [p[m], p[m + 2]] = butterfly(&mut flow, "bfly", even, by(w[1]));
        [r[m], r[m + 2]] = butterfly(&mut flow, "bflyn", odd, by(w[1]));
    }
    [y[0], y[4]] = butterfly(&mut flow, "bfly", [p[0], p[1]], by(w[2]));
    [y[2], y[6]] = butterfly(&mut flow, "bflyn", [p[2], p[3]], by(w[2]));
    [y[1], y[5]] = butterfly(&mut flow, "bfly", [r[0], r[1]], by(w[3]));
    [y[3], y[7]] = butterfly(&mut flow, "bflyn", [r[2], r[3]], by(w[3]));
    for (m, &y) in (0..).zip(&y) {
        flow.store(Whole(y), to, 64 * m);
    }
    Body {
        name: "radix8",
        flow,
        free: FreeRegisters::below(60),
        bound: 24,
    }
}

/// Returns a row of so many results of nine neighbours each: ten operations a result.
pub(super) fn row(results: usize) -> Body {
    let mut flow = Dataflow::default();
    let mut lines = Vec::new();
    for register in 4..7 {
        let pointer = flow.pointer(register, PointerStep::Bytes(16 * results as i64));
        let line: Vec<_> = (0..=results + 1)
            .map(|j| load(&mut flow, pointer, 16 * j as i64))
            .collect();
        lines.push(line);
    }
    let out = flow.pointer(7, PointerStep::Bytes(16 * results as i64));
    let columns: Vec<_> = (0..=results + 1)
        .map(|j| {
            let ends = quad_op(&mut flow, "add", &[lines[0][j], lines[2][j]]);
            quad_op(&mut flow, "madd", &[lines[1][j], Quad(31), ends])
        })
        .collect();
    for j in 0..results {
        let ext = |flow: &mut Dataflow, n| {
            Whole(flow.quad_immediate("ext", &[columns[j], columns[j + 1]], n))
        };
        let (one, other) = (ext(&mut flow, 1), ext(&mut flow, 3));
        let both = quad_op(&mut flow, "add", &[one, other]);
        let y = quad_op(&mut flow, "madd", &[both, Quad(30), columns[j]]);
        flow.store(y, out, 16 * j as i64);
    }
    Body {
        name: "row",
        flow,
        free: without(&[30, 31]),
        bound: 2 * (results as u32 + 2) + 4 * results as u32,
    }
}

pub(super) fn all() -> Vec<Body> {
    vec![
        axpy(),
        dot(),
        argmax(),
        cfar(),
        biquad(),
        radix4(),
        radix8(),
    ]
}
