//! Numbers by their lanes: two transforms in a quad, two columns, or one pair.

use super::butterflies::LANES;
use crate::pipeline::{Body, Pointer, Reg, Value};

/// Where the numbers of both lanes of a quad lie, but for an offset that they share.
#[derive(Clone, Copy, Debug)]
pub(super) enum LaneAddress {
    /// Side by side.
    Quad(Pointer, i64),
    /// Each so many bytes behind a pointer.
    Apart([(Pointer, i64); 2]),
}

impl LaneAddress {
    pub(super) fn load(self, body: &mut Body, offset: i64) -> Value {
        let x = body.quad();
        match self {
            Self::Quad(pointer, at) => body.load(Reg::Whole(x), pointer, at + offset),
            Self::Apart(places) => {
                for (lane, (pointer, at)) in LANES.iter().zip(places) {
                    body.load(lane(x), pointer, at + offset);
                }
            }
        }
        x
    }

    pub(super) fn store(self, body: &mut Body, x: Value, offset: i64) {
        match self {
            Self::Quad(pointer, at) => body.store(Reg::Whole(x), pointer, at + offset),
            Self::Apart(places) => {
                for (lane, (pointer, at)) in LANES.iter().zip(places) {
                    body.store(lane(x), pointer, at + offset);
                }
            }
        }
    }

    /// The same further on.
    pub(super) fn add_offset(self, bytes: i64) -> Self {
        match self {
            Self::Quad(pointer, at) => Self::Quad(pointer, at + bytes),
            Self::Apart(places) => Self::Apart(places.map(|(p, at)| (p, at + bytes))),
        }
    }
}

/// The lanes of a quad.
pub(super) fn both(x: Value) -> Vec<Reg> {
    LANES.iter().map(|lane| lane(x)).collect()
}

/// A result in both lanes of a quad or in one pair.
#[derive(Clone, Debug)]
pub(super) struct LaneNumber {
    pub(super) whole: Value,
    pub(super) lanes: Vec<Reg>,
}

impl LaneNumber {
    /// A new one, not yet computed.
    pub(super) fn new(body: &mut Body, lanes: usize) -> Self {
        if lanes == LANES.len() {
            let whole = body.quad();
            let lanes = both(whole);
            return Self { whole, lanes };
        }
        let whole = body.pair();
        let lanes = vec![Reg::Whole(whole)];
        Self { whole, lanes }
    }
}

/// A butterfly in every lane.
fn butterflies(
    body: &mut Body,
    name: &'static str,
    results: [&[Reg]; 2],
    (x, y): (&[Reg], &[Reg]),
    w: &[Reg],
) {
    for (i, (&x, &y)) in x.iter().zip(y).enumerate() {
        body.op(name, &[results[0][i], results[1][i]], &[x, y, w[i]]);
    }
}

/// x + conj(y) and x - conj(y).
fn mirrored(body: &mut Body, (x, y): (&[Reg], &[Reg]), one: Reg) -> [Vec<Reg>; 2] {
    let [s, d] = [(); 2].map(|()| LaneNumber::new(body, x.len()).lanes);
    butterflies(body, "bflyy", [&s, &d], (x, y), &[one; 2]);
    [s, d]
}

/// X[k] and X[M-k] from Z[k]/2 and Z[M-k]/2, and w or, `turned`, i w.
pub(super) fn separate(
    body: &mut Body,
    pair: (&[Reg], &[Reg]),
    (w, turned): (&[Reg], bool),
    one: Reg,
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
        &[Reg::Whole(y.whole)],
        &[Reg::Whole(conjugate.whole)],
    );
    [x, y]
}

/// Z[k] and conj Z[M-k] from X[k] and X[M-k], and w or, `turned`, v with `conj w = i v`.
pub(super) fn join(
    body: &mut Body,
    [z, conjugate]: [&[Reg]; 2],
    pair: (&[Reg], &[Reg]),
    (w, turned): (&[Reg], bool),
    one: Reg,
) {
    let [s, d] = mirrored(body, pair, one);
    if turned {
        butterflies(body, "bfly", [conjugate, z], (&s, &d), w);
    } else {
        butterflies(body, "bflyci", [z, conjugate], (&s, &d), w);
    }
}
