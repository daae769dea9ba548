//! The two lanes of a quad: addresses, loads, split and merge of values.

use super::butterflies::LANES;
use crate::pipeline::{BlockBody, BodyOperand, BodyPointer, BodyValue};

/// Addresses of the numbers of both lanes of a quad; accesses add an offset that both share.
#[derive(Clone, Copy, Debug)]
pub(super) enum LaneAddress {
    /// Both numbers make a quad in memory.
    Quad(BodyPointer, i64),
    /// Each number has a pointer and an offset in bytes.
    Apart([(BodyPointer, i64); 2]),
}

impl LaneAddress {
    pub(super) fn load(self, body: &mut BlockBody, offset: i64) -> BodyValue {
        let x = body.quad();
        match self {
            Self::Quad(pointer, at) => body.load(BodyOperand::Whole(x), pointer, at + offset),
            Self::Apart(places) => {
                for (lane, (pointer, at)) in LANES.iter().zip(places) {
                    body.load(lane(x), pointer, at + offset);
                }
            }
        }
        x
    }

    pub(super) fn store(self, body: &mut BlockBody, x: BodyValue, offset: i64) {
        match self {
            Self::Quad(pointer, at) => body.store(BodyOperand::Whole(x), pointer, at + offset),
            Self::Apart(places) => {
                for (lane, (pointer, at)) in LANES.iter().zip(places) {
                    body.store(lane(x), pointer, at + offset);
                }
            }
        }
    }

    /// Returns the addresses `bytes` bytes further on.
    pub(super) fn add_offset(self, bytes: i64) -> Self {
        match self {
            Self::Quad(pointer, at) => Self::Quad(pointer, at + bytes),
            Self::Apart(places) => Self::Apart(places.map(|(p, at)| (p, at + bytes))),
        }
    }
}

/// Returns the two lanes of a quad.
pub(super) fn quad_lanes(x: BodyValue) -> Vec<BodyOperand> {
    LANES.iter().map(|lane| lane(x)).collect()
}

/// A result in both lanes of a quad or in one pair.
#[derive(Clone, Debug)]
pub(super) struct LaneNumber {
    pub(super) whole: BodyValue,
    pub(super) lanes: Vec<BodyOperand>,
}

impl LaneNumber {
    /// Makes a result that is not yet computed.
    pub(super) fn new(body: &mut BlockBody, lanes: usize) -> Self {
        if lanes == LANES.len() {
            let whole = body.quad();
            let lanes = quad_lanes(whole);
            return Self { whole, lanes };
        }
        let whole = body.pair();
        let lanes = vec![BodyOperand::Whole(whole)];
        Self { whole, lanes }
    }
}

/// Computes a butterfly in every lane.
fn butterflies(
    body: &mut BlockBody,
    name: &'static str,
    results: [&[BodyOperand]; 2],
    (x, y): (&[BodyOperand], &[BodyOperand]),
    w: &[BodyOperand],
) {
    for (i, (&x, &y)) in x.iter().zip(y).enumerate() {
        body.op(name, &[results[0][i], results[1][i]], &[x, y, w[i]]);
    }
}

/// Computes x + conj(y) and x - conj(y).
fn mirrored(
    body: &mut BlockBody,
    (x, y): (&[BodyOperand], &[BodyOperand]),
    one: BodyOperand,
) -> [Vec<BodyOperand>; 2] {
    let [s, d] = [(); 2].map(|()| LaneNumber::new(body, x.len()).lanes);
    butterflies(body, "bflyy", [&s, &d], (x, y), &[one; 2]);
    [s, d]
}

/// Splits: computes `X[k]` and `X[M-k]` from `P = Z[k]/2` and `Q = Z[M-k]/2` by `S, D = P +- conj Q`,
/// `X[k], conj X[M-k] = S -+ i w D`. The factor given is w or, if `turned`, i w.
pub(super) fn separate(
    body: &mut BlockBody,
    pair: (&[BodyOperand], &[BodyOperand]),
    (w, turned): (&[BodyOperand], bool),
    one: BodyOperand,
) -> [LaneNumber; 2] {
    let [s, d] = mirrored(body, pair, one);
    let [x, conjugate, y] = [(); 3].map(|()| LaneNumber::new(body, s.len()));
    if turned {
        butterflies(body, "bfly", [&conjugate.lanes, &x.lanes], (&s, &d), w);
    } else {
        butterflies(body, "bflyn", [&x.lanes, &conjugate.lanes], (&s, &d), w);
    }
    body.op(
        "conj",
        &[BodyOperand::Whole(y.whole)],
        &[BodyOperand::Whole(conjugate.whole)],
    );
    [x, y]
}

/// Merges: computes `Z[k]` and `conj Z[M-k]` from `P = X[k]` and `Q = X[M-k]` by `S, D = P +- conj Q`,
/// `Z[k], conj Z[M-k] = S +- i conj(w) D`. The factor given is w or, if `turned`, v with `conj w = i v`.
pub(super) fn join(
    body: &mut BlockBody,
    [z, conjugate]: [&[BodyOperand]; 2],
    pair: (&[BodyOperand], &[BodyOperand]),
    (w, turned): (&[BodyOperand], bool),
    one: BodyOperand,
) {
    let [s, d] = mirrored(body, pair, one);
    if turned {
        butterflies(body, "bfly", [conjugate, z], (&s, &d), w);
    } else {
        butterflies(body, "bflyci", [z, conjugate], (&s, &d), w);
    }
}
