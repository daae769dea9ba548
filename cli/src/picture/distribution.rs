//! Errors in units of allowed ones as histograms, an SVG picture.

use super::vector::escape;
use std::fmt::Write as _;

/// Bins are powers of two; errors below the first one count in it, and errors above the last one in that.
const FIRST: i32 = -24;
const LAST: i32 = 3;
/// Number of bins, with one before them for what has no error.
const BINS: usize = (LAST - FIRST + 2) as usize;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// Height of a histogram, and the gap below it.
const HEIGHT: f64 = 130.0;
const GAP: f64 = 34.0;

/// Errors of the parts of results, in units of those that are allowed.
#[derive(Clone, Debug)]
pub(crate) struct ErrorDistribution {
    name: String,
    bins: [u64; BINS],
}

impl ErrorDistribution {
    /// Makes an empty distribution.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            bins: [0; BINS],
        }
    }

    /// Returns the name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Counts errors. One that is NaN counts in the last bin.
    pub(crate) fn add(&mut self, ratios: &[f64]) {
        for ratio in ratios {
            if let Some(count) = self.bins.get_mut(bin(*ratio)) {
                *count += 1;
            }
        }
    }

    /// Draws the distributions one below the other.
    pub(crate) fn svg(title: &str, all: &[Self]) -> String {
        let height = TOP + all.len() as f64 * (HEIGHT + GAP) - GAP + BOTTOM;
        let mut svg = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{LEFT}" y="20" font-size="15">{}</text>"##,
            escape(title)
        );
        let mut top = TOP;
        for (number, one) in all.iter().enumerate() {
            one.draw(top, number + 1 == all.len(), &mut svg);
            top += HEIGHT + GAP;
        }
        let _ = writeln!(
            svg,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="middle">error / allowed error, powers of two</text>
</svg>"##,
            LEFT + (WIDTH - LEFT - RIGHT) / 2.0,
            height - 14.0
        );
        svg
    }

    /// Draws one histogram; the lowest one has the numbers of the axis.
    fn draw(&self, top: f64, lowest: bool, svg: &mut String) {
        let width = (WIDTH - LEFT - RIGHT) / BINS as f64;
        let at = |bin: usize| LEFT + bin as f64 * width;
        let total: u64 = self.bins.iter().sum();
        let most = self.bins.iter().copied().max().unwrap_or(0).max(1);
        let _ = writeln!(
            svg,
            r##"<text x="{LEFT}" y="{:.1}">{}: {total} parts</text>"##,
            top - 6.0,
            escape(&self.name)
        );
        for (bin, count) in self
            .bins
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let part = *count as f64 / most as f64 * HEIGHT;
            let beyond = bin > bin_of_exponent(-1);
            let _ = writeln!(
                svg,
                r##"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{part:.1}" fill="{}"><title>{}: {count}</title></rect>"##,
                at(bin) + 1.0,
                top + HEIGHT - part,
                width - 2.0,
                if beyond { "#bb3333" } else { "#2255aa" },
                describe(bin)
            );
        }
        let limit = at(bin_of_exponent(0));
        let share = 100.0 * most as f64 / total.max(1) as f64;
        let _ = writeln!(
            svg,
            r##"<path d="M{limit:.1} {top:.1}v{HEIGHT}" stroke="#bb3333" stroke-dasharray="6 4"/><text x="{:.1}" y="{:.1}" fill="#bb3333">allowed</text>
<rect x="{LEFT}" y="{top:.1}" width="{:.1}" height="{HEIGHT}" fill="none" stroke="black"/>
<text x="{:.1}" y="{:.1}" text-anchor="end">{share:.0} %</text><text x="{:.1}" y="{:.1}" text-anchor="end">0</text>"##,
            limit + 4.0,
            top + 14.0,
            WIDTH - LEFT - RIGHT,
            LEFT - 8.0,
            top + 10.0,
            LEFT - 8.0,
            top + HEIGHT
        );
        if lowest {
            let base = top + HEIGHT + 18.0;
            let _ = writeln!(
                svg,
                r##"<text x="{:.1}" y="{base:.1}" text-anchor="middle">0</text>"##,
                at(0) + width / 2.0
            );
            for exponent in (FIRST + 1..=LAST).filter(|exponent| exponent % 4 == 0) {
                let _ = writeln!(
                    svg,
                    r##"<text x="{:.1}" y="{base:.1}" text-anchor="middle">2^{exponent}</text>"##,
                    at(bin_of_exponent(exponent))
                );
            }
        }
    }
}

/// Returns the bin of a ratio.
fn bin(ratio: f64) -> usize {
    match ratio {
        0.0 => 0,
        // An error of exactly the allowed one is allowed.
        1.0 => bin_of_exponent(-1),
        ratio if ratio.is_finite() => bin_of_exponent(libm::ilogb(ratio)),
        _ => BINS - 1,
    }
}

/// Returns the bin of ratios from a power of two to the next one.
fn bin_of_exponent(exponent: i32) -> usize {
    (exponent.clamp(FIRST, LAST) - FIRST) as usize + 1
}

fn describe(bin: usize) -> String {
    let exponent = FIRST + bin as i32 - 1;
    match bin {
        0 => "no error".to_owned(),
        1 => format!("below 2^{}", exponent + 1),
        _ if exponent == LAST => format!("2^{exponent} and more"),
        _ => format!("2^{exponent} to 2^{}", exponent + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_powers_of_two() {
        let mut one = ErrorDistribution::new("a < b");
        one.add(&[
            0.0,
            0.3,
            0.49,
            0.5,
            1.0,
            1e-30,
            1.5,
            f64::NAN,
            f64::INFINITY,
        ]);
        let count = |exponent| one.bins[bin_of_exponent(exponent)];
        assert_eq!(one.bins[0], 1);
        assert_eq!((count(-2), count(-1), count(0)), (2, 2, 1));
        assert_eq!((count(FIRST), count(LAST)), (1, 2));
        assert_eq!(one.bins.iter().sum::<u64>(), 9);
        let svg = ErrorDistribution::svg("x", &[one, ErrorDistribution::new("none")]);
        for words in [
            "a &lt; b: 9 parts",
            "none: 0 parts",
            "2^-2 to 2^-1: 2",
            ">2^0<",
            "allowed",
        ] {
            assert!(svg.contains(words), "{words}: {svg}");
        }
        assert_eq!(svg.matches("#bb3333\"><title>").count(), 2);
        assert!(!svg.contains("NaN") && svg.trim_end().ends_with("</svg>"));
    }
}
