//! Counts of fast short filters, whose two phases share products.

use crate::count::Count;

/// Returns the count for one output of a filter (Mou, Duhamel 1991). For two outputs, with phases x0, x1 of
/// the samples and h0, h1 of the taps, three filters of half as many taps compute h0 x0, h1 x1 and (h0 +
/// h1)(x0 + x1), and four complex additions join them. The recursion is used while it takes fewer issues than
/// the direct filter.
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
