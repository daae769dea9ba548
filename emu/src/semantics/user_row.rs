//! Rows of machine files: values of their expressions, on lanes.

use crate::alu::Alu;
use cp2_machine::{LaneFlow, LaneNode, Primitive};
use smallvec::SmallVec;

/// Values that are kept without an allocation: most rows have fewer.
const FEW: usize = 24;

/// Computes the results of a row: `operand(k, lane)` is a lane of operand `k` of its form, and each result has four
/// lanes, of which a pair is the first two.
pub(super) fn compute<A: Alu>(
    alu: &mut A,
    flow: &LaneFlow,
    operand: impl Fn(usize, usize) -> A::L,
) -> SmallVec<[[A::L; 4]; 2]> {
    let mut values: SmallVec<[A::L; FEW]> = SmallVec::new();
    for node in flow.nodes() {
        let value = match *node {
            LaneNode::Operand { operand: at, lane } => operand(at.into(), lane.into()),
            LaneNode::Constant(bits) => alu.constant(bits),
            LaneNode::Call {
                primitive,
                arguments,
            } => call(alu, primitive, arguments.map(|at| values[usize::from(at)])),
        };
        values.push(value);
    }
    let results = flow.results().iter();
    results
        .map(|places| places.map(|at| values[usize::from(at)]))
        .collect()
}

/// Computes one primitive; the arguments that it does not take are any.
fn call<A: Alu>(alu: &mut A, primitive: Primitive, [a, b, c]: [A::L; 3]) -> A::L {
    match primitive {
        Primitive::Fadd => alu.fadd(a, b),
        Primitive::Fsub => alu.fsub(a, b),
        Primitive::Fmul => alu.fmul(a, b),
        Primitive::Fmin => alu.fmin(a, b),
        Primitive::Fmax => alu.fmax(a, b),
        Primitive::Feq => alu.feq(a, b),
        Primitive::Flt => alu.flt(a, b),
        Primitive::Fle => alu.fle(a, b),
        Primitive::Ftoi => alu.ftoi(a),
        Primitive::Ftoin => alu.ftoin(a),
        Primitive::Itof => alu.itof(a),
        Primitive::Iadd => alu.iadd(a, b),
        Primitive::Isub => alu.isub(a, b),
        Primitive::Imul => alu.imul(a, b),
        Primitive::Imin => alu.imin(a, b),
        Primitive::Imax => alu.imax(a, b),
        Primitive::Ieq => alu.ieq(a, b),
        Primitive::Ilt => alu.ilt(a, b),
        Primitive::And => alu.and(a, b),
        Primitive::Or => alu.or(a, b),
        Primitive::Xor => alu.xor(a, b),
        Primitive::Andn => alu.andn(a, b),
        Primitive::Not => alu.not(a),
        Primitive::Shl => alu.shl(a, b),
        Primitive::Shr => alu.shr(a, b),
        Primitive::Sar => alu.sar(a, b),
        Primitive::Select => alu.select(a, b, c),
        Primitive::Fneg => alu.fneg(a),
        Primitive::Fabs => alu.fabs(a),
    }
}
