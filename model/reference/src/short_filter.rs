//! Filters of few taps whose two phases share products.

use crate::count::Count;

/// What an output takes. Of two phases x0, x1 and h0, h1: h0 x0, h1 x1 and (h0 + h1)(x0 + x1), filters of half as many taps
/// each, for two outputs, and four complex additions; again while it is less.
pub(crate) fn output(taps: usize, real: bool) -> Count {
    let direct = match real {
        true => Count {
            madds: taps as f64 / 2.0,
            ..Count::default()
        },
        false => Count {
            products: taps as f64,
            ..Count::default()
        },
    };
    if taps < 2 {
        return direct;
    }
    let (more, fewer) = (taps.div_ceil(2), taps / 2);
    let adds = Count {
        adds: 2.0,
        ..Count::default()
    };
    let two = output(more, real) * 2.0 + output(fewer, real) + adds;
    match two.issues() / 2.0 < direct.issues() {
        true => two * 0.5,
        false => direct,
    }
}
