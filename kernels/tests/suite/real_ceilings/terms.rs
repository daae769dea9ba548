//! Formulas of `docs/fft-real.md`: work and bytes of the two passes.

/// Returns the channel's cycles for a granule.
pub(crate) fn granule(machine: &str) -> f64 {
    match machine {
        "vm7" => 1.0,
        _ => 1.25,
    }
}

/// Pages of both passes: columns and rows of a page of a section, and, forward, of the last page.
#[derive(Clone, Copy)]
pub(crate) struct Pages {
    pub(crate) n1: f64,
    pub(crate) n2: f64,
    pub(crate) c: f64,
    pub(crate) r: f64,
    pub(crate) last: f64,
    /// Number of pieces in which a page of rows is moved: 1 for whole pages.
    pub(crate) pieces: f64,
    pub(crate) stay: bool,
    /// True if the factors of rows are left out.
    pub(crate) bare: bool,
}

/// Returns the factors of a row: three for the last pass, half as many as there are sub-transforms for each
/// pass before.
fn factors(radices: &[usize]) -> f64 {
    let (mut sets, mut all) = (1, 3);
    for radix in radices {
        sets *= radix;
        all += sets / 2;
    }
    all as f64
}

/// Returns the work and bytes of columns and of rows forward: for one transform with the first load and the
/// last store of either, and in a batch.
pub(crate) fn forward_terms(n: f64, g: f64, p: Pages) -> [[f64; 4]; 2] {
    let Pages { n1, n2, c, r, .. } = p;
    let bandwidth = 16.0 / g;
    let a1 = n / 16.0 * (n1.log2() + 18.0 / 16.0 + 2.0 / n1);
    let runs = if 8.0 * c == n2 { 0.0 } else { n / (8.0 * c) };
    // Columns in eighths leave their rows in groups of four, and all but one block of a page contiguous.
    let parts = n1 * c >= 4096.0 && !p.bare;
    let tiles = if parts {
        n / 64.0 + 33.0 / 8.0 * n2
    } else {
        n2 / 8.0
    };
    let d1 = (8.0 * n + 8.0 * n2) / bandwidth + runs + tiles;
    let pages = ((n1 / 8.0 + 2.0 - p.last) / r).floor() + 1.0;
    let a2 = n / 16.0 * (1.0 + 16.0 / n1) * (n2.log2() + 1.5);
    let of_rows = factors(match n2 as usize {
        32 => &[4],
        64 => &[8],
        128 => &[4, 4],
        256 => &[4, 8],
        512 => &[8, 8],
        _ if p.pieces > 1.0 => &[4, 8, 4],
        _ => &[4, 4, 8],
    });
    let f = match p.stay || p.bare {
        true => 0.0,
        false => 32.0 * of_rows * (n1 / 8.0 + 2.0) / bandwidth,
    };
    let d2 = (8.0 * n + 64.0 * n2) / bandwidth + 4.5 * n2 * pages + f;
    let e1 = d1 * 8.0 * c / n2 / if parts { 8.0 } else { 1.0 };
    // With two rows, and with pages in parts, there are no numbers but conjugates.
    let couple = if r == 2.0 || p.pieces > 1.0 {
        2.0 * n2
    } else {
        0.0
    };
    let first = 32.0 * n2 * r / bandwidth + n2 / 2.0;
    let e2 = (first + 32.0 * n2 * (p.last - 1.0) / bandwidth + 4.0 * n2 - couple) / p.pieces;
    let alone = [a1 + e1, d1, a2 + e2, d2].map(|x| x / n);
    [alone, [a1, d1, a2, d2].map(|x| x / n)]
}

/// Returns the terms of the forward table, and the efficiencies that they allow in batches and alone.
pub(crate) fn forward(n: f64, g: f64, p: Pages) -> ([f64; 4], [f64; 2]) {
    let terms = forward_terms(n, g, p);
    let bound = ((n.log2() + 1.0) / 16.0).max(g);
    let [alone, many] = terms.map(|[a1, d1, a2, d2]| bound / (a1.max(d1) + a2.max(d2)));
    (terms[1], [many, alone])
}

/// Returns the terms of the table back, and the efficiency that they allow.
pub(crate) fn back(n: f64, batch: f64, g: f64, p: Pages) -> ([f64; 6], f64) {
    let Pages { n1, n2, c, r, .. } = p;
    // True for columns in eighths.
    let parts = n1 * c >= 4096.0;
    // The last column of one transform computes while the first blocks are loaded; with 1024 numbers it has
    // the whole ring.
    let few = match (batch == 1.0, parts && n1 < 1024.0) {
        (true, true) => 0.0,
        (true, false) => 16.0,
        _ => 4.0,
    };
    let a1 = (n1.log2() + 1.0) / 16.0 * (1.0 + few / n2);
    let (partners, left) = if parts {
        (0.0, 2.0 * (g + 1.0))
    } else {
        (2.0 * g, 0.0)
    };
    let runs = (4.0 + partners) / (8.0 * c) + 1.0 / (4.0 * c * r);
    let d1 = g / 2.0 + runs + (2.0 * g + 1.0 + left) / n2 + g / (4.0 * n1);
    let last = n1 * g / 2.0 + n1 / (2.0 * r);
    let last = if batch == 1.0 { last } else { 4.0 * last };
    let e1 = match parts {
        true => (2048.0 * g + 2560.0 / c + 1024.0 / c * (g + 1.0) + 2.0 * c * g) / n,
        false => (2.0 * n1 * (c * g + g + 2.0) + 2.0 * c * g + last) / n,
    };
    let a2 = (n2.log2() + 1.0) / 16.0;
    let (d2, e2) = if n2 == 2048.0 {
        let f = if p.bare { 0.0 } else { 152.0 * g / (4.0 * n2) };
        let loads = 65.0 / 256.0 * g + 1.0 / (4.0 * c) + 1.0 / 256.0;
        let d2 = loads + g / 4.0 + 0.0625 + f;
        let first = 1040.0 * g + 1024.0 / c + 16.0 + 76.0 * g;
        let ends = first + 256.0 * (4.0 * g + 1.0);
        (d2, ends / n)
    } else {
        let of_rows = factors(match n2 as usize {
            32 => &[4],
            64 => &[8],
            128 => &[4, 4],
            256 => &[8, 4],
            512 => &[8, 8],
            _ => &[8, 4, 4],
        });
        let f = if p.bare {
            0.0
        } else {
            of_rows * g / (4.0 * n2)
        };
        let all = f64::from(u8::from(8.0 * r != n1));
        let each = if p.stay { f / batch } else { f };
        let first = if p.stay { f } else { f * 8.0 * r / n1 };
        let d2 = g / 2.0 * (1.0 + 1.0 / n2) + all / (8.0 * r) + each;
        let ends = n2 * (4.0 * r * g + r * g * 2.0 / n2 + all) + 4.0;
        (d2, ends / n + first)
    };
    let bound = ((n.log2() + 1.0) / 16.0).max(g);
    let least = (a1 + e1 / batch).max(d1) + (a2 + e2 / batch).max(d2);
    ([a1, d1, e1, a2, d2, e2], bound / least)
}
