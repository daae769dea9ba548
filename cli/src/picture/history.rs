//! Residuals of an iterative method as an SVG picture, on a logarithmic scale.

use super::PlotAxis;
use super::vector::escape;
use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;

/// Most points of the line; of more, some are left out.
const POINTS: usize = 4000;

/// Picture of the residuals of an iterative method.
#[derive(Clone, Debug)]
pub(crate) struct History<'a> {
    /// Heading.
    pub(crate) title: String,
    /// Residuals relative to the right-hand side: at the start, and after each iteration.
    pub(crate) residuals: &'a [f64],
    /// Tolerance that was requested.
    pub(crate) tolerance: f64,
}

impl History<'_> {
    /// Returns the picture as SVG. A residual of 0 is drawn at the lower edge.
    pub(crate) fn svg(&self) -> String {
        let shown = self.residuals.iter().chain([&self.tolerance]);
        let decades = shown
            .filter(|r| r.is_finite() && **r > 0.0)
            .map(|r| libm::log10(*r));
        let (low, high) = decades.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), d| {
            (l.min(d), h.max(d))
        });
        let (low, high) = (low.floor(), high.ceil().max(low.floor() + 1.0));
        let last = self.residuals.len().saturating_sub(1).max(1) as f64;
        let across = PlotAxis::new("iteration", "", 0.0, last);
        let (w, h) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
        let x = |iteration: f64| LEFT + iteration / last * w;
        let y = |residual: f64| {
            let place = (libm::log10(residual) - low) / (high - low);
            TOP + (1.0 - place.clamp(0.0, 1.0)) * h
        };
        let mut svg = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{LEFT}" y="24" font-size="15">{}</text>"##,
            escape(&self.title)
        );
        for (place, text) in across.ticks(8) {
            let at = LEFT + place * w;
            let _ = writeln!(
                svg,
                r##"<path d="M{at:.1} {TOP}v{h}" stroke="#dddddd"/><text x="{at:.1}" y="{:.1}" text-anchor="middle">{text}</text>"##,
                TOP + h + 18.0
            );
        }
        let step = ((high - low) / 10.0).ceil().max(1.0);
        let mut decade = low;
        while decade <= high {
            let at = y(libm::exp10(decade));
            let _ = writeln!(
                svg,
                r##"<path d="M{LEFT} {at:.1}h{w}" stroke="#dddddd"/><text x="{:.1}" y="{:.1}" text-anchor="end">1e{decade}</text>"##,
                LEFT - 8.0,
                at + 4.0
            );
            decade += step;
        }
        let at = y(self.tolerance);
        let _ = writeln!(
            svg,
            r##"<path d="M{LEFT} {at:.1}h{w}" stroke="#bb3333" stroke-dasharray="6 4"/><text x="{:.1}" y="{:.1}" text-anchor="end" fill="#bb3333">asked for</text>"##,
            LEFT + w - 4.0,
            at - 5.0
        );
        let every = self.residuals.len().div_ceil(POINTS).max(1);
        let end = self.residuals.len().saturating_sub(1);
        let points = self.residuals.iter().enumerate();
        let points = points.filter(|(i, _)| i % every == 0 || *i == end);
        let line: Vec<String> = points
            .map(|(i, &r)| format!("{:.1},{:.1}", x(i as f64), y(r)))
            .collect();
        let _ = writeln!(
            svg,
            r##"<polyline points="{}" fill="none" stroke="#2255aa" stroke-width="1.5"/>
<rect x="{LEFT}" y="{TOP}" width="{w}" height="{h}" fill="none" stroke="black"/>
<text x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>
<text x="22" y="{:.1}" text-anchor="middle" transform="rotate(-90 22 {:.1})">|r| / |b|</text>
</svg>"##,
            line.join(" "),
            LEFT + w / 2.0,
            HEIGHT - 16.0,
            across.label(),
            TOP + h / 2.0,
            TOP + h / 2.0
        );
        svg
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_are_drawn_by_decades() {
        let residuals = [1.0, 0.1, 1e-3, 1e-6];
        let svg = History {
            title: "3 < 4".to_owned(),
            residuals: &residuals,
            tolerance: 1e-5,
        }
        .svg();
        assert!(svg.contains("3 &lt; 4") && svg.contains(">1e-6<") && svg.contains("asked for"));
        let points = svg.split_once("points=\"").unwrap().1;
        let points: Vec<[f64; 2]> = points[..points.find('"').unwrap()]
            .split(' ')
            .map(|p| p.split_once(',').unwrap())
            .map(|(x, y)| [x.parse().unwrap(), y.parse().unwrap()])
            .collect();
        assert_eq!(points.len(), 4);
        // A third of the width for each iteration; a sixth of the height for each decade.
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.2, "{a} {b}");
        near(points[1][0] - points[0][0], (WIDTH - LEFT - RIGHT) / 3.0);
        let decade = (HEIGHT - TOP - BOTTOM) / 6.0;
        near(points[1][1] - points[0][1], decade);
        near(points[3][1] - points[2][1], 3.0 * decade);
        // A single residual, and a residual of 0.
        for residuals in [&[1.0][..], &[0.0]] {
            let history = History {
                title: String::new(),
                residuals,
                tolerance: 1e-5,
            };
            assert!(!history.svg().contains("NaN") && !history.svg().contains("inf"));
        }
    }
}
