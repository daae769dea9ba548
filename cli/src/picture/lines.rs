//! Lines over a few named values as SVG.

use super::colour;
use super::vector::escape;
use std::fmt::Write as _;

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 240.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 60.0;
/// Divisions of the vertical axis.
const DIVISIONS: usize = 4;

/// Lines over values that stand at equal distances.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinesChart {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    /// Names of the values along the horizontal axis.
    pub(crate) values: Vec<String>,
    /// Name of each line and its heights; a missing one leaves a gap.
    pub(crate) lines: Vec<(String, Vec<Option<f64>>)>,
}

/// Draws the chart from 0 to the largest height.
pub(crate) fn svg(chart: &LinesChart) -> String {
    let heights = chart
        .lines
        .iter()
        .flat_map(|(_, heights)| heights.iter().flatten());
    let top = heights.copied().fold(1.0, f64::max);
    let steps = chart.values.len().saturating_sub(1).max(1) as f64;
    let x = |at: usize| LEFT + (WIDTH - LEFT - RIGHT) * at as f64 / steps;
    let y = |height: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * height / top;
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img">
<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>
<text x="{LEFT}" y="20" font-size="14">{}</text>
<text x="{LEFT}" y="{}">{}</text>
<text x="8" y="{}">{}</text>
"##,
        escape(&chart.title),
        HEIGHT - 16.0,
        escape(&chart.x),
        TOP - 6.0,
        escape(&chart.y),
    );
    // Writing to a String cannot fail.
    for part in 0..=DIVISIONS {
        let height = top * part as f64 / DIVISIONS as f64;
        let _ = writeln!(
            out,
            r##"<line x1="{LEFT}" x2="{}" y1="{1:.1}" y2="{1:.1}" stroke="#dddddd"/><text x="{2}" y="{3:.1}" text-anchor="end">{height:.0}</text>"##,
            WIDTH - RIGHT,
            y(height),
            LEFT - 6.0,
            y(height) + 4.0,
        );
    }
    for (at, value) in chart.values.iter().enumerate() {
        let _ = writeln!(
            out,
            r##"<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>"##,
            x(at),
            HEIGHT - BOTTOM + 18.0,
            escape(value)
        );
    }
    for (number, (name, heights)) in chart.lines.iter().enumerate() {
        let stroke = colour::hex(colour::pick_colour(number));
        let known: Vec<(usize, f64)> = heights
            .iter()
            .enumerate()
            .filter_map(|(at, height)| Some((at, (*height)?)))
            .collect();
        for pair in known.windows(2) {
            // A refused point between two others leaves a gap.
            let [(a, low), (b, high)] = [pair[0], pair[1]];
            if b == a + 1 {
                let _ = writeln!(
                    out,
                    r##"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="{stroke}" stroke-width="2"/>"##,
                    x(a),
                    y(low),
                    x(b),
                    y(high)
                );
            }
        }
        for &(at, height) in &known {
            let _ = writeln!(
                out,
                r##"<circle cx="{:.1}" cy="{:.1}" r="3.5" fill="{stroke}"/>"##,
                x(at),
                y(height)
            );
        }
        if !name.is_empty() {
            let place = TOP + 16.0 * number as f64;
            let _ = writeln!(
                out,
                r##"<rect x="{0}" y="{1:.1}" width="12" height="4" fill="{stroke}"/><text x="{2}" y="{3:.1}">{4}</text>"##,
                WIDTH - RIGHT + 16.0,
                place - 5.0,
                WIDTH - RIGHT + 34.0,
                place,
                escape(name)
            );
        }
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_height_leaves_a_gap() {
        let chart = |middle| LinesChart {
            title: "a < b".to_owned(),
            x: "key".to_owned(),
            y: "cycles".to_owned(),
            values: ["1", "2", "4"].map(str::to_owned).to_vec(),
            lines: vec![("one".to_owned(), vec![Some(3.0), middle, Some(1.0)])],
        };
        let count = |text: &str, what: &str| text.matches(what).count();
        let (whole, gap) = (svg(&chart(Some(2.0))), svg(&chart(None)));
        assert_eq!(
            (count(&whole, "stroke-width"), count(&gap, "stroke-width")),
            (2, 0)
        );
        assert_eq!((count(&whole, "<circle"), count(&gap, "<circle")), (3, 2));
        assert!(whole.contains("a &lt; b"));
    }
}
