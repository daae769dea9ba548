//! A roofline as SVG: operations per second over operations per byte.
//!
//! Both axes are logarithmic.

use super::colour;
use super::vector::escape;
use cp2_model::Roofline;
use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;

/// Rates that a picture shows of each point, in units of the point's own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RooflineRates {
    pub(crate) expected: Option<f64>,
    pub(crate) measured: Option<f64>,
}

impl RooflineRates {
    /// Returns the rates that are known: name, colour of the legend, rate.
    fn list(self) -> impl Iterator<Item = (&'static str, &'static str, f64)> {
        let all = [
            ("expected", "#ffffff", self.expected),
            ("measured", "#222222", self.measured),
        ];
        all.into_iter()
            .filter_map(|(name, fill, rate)| Some((name, fill, rate?)))
    }
}

/// Range of powers of ten around values.
struct Decades {
    low: i32,
    high: i32,
}

impl Decades {
    fn enclose_values(values: impl Iterator<Item = f64>) -> Self {
        let logs = values
            .filter(|v| v.is_finite() && *v > 0.0)
            .map(libm::log10);
        let (low, high) = logs.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
            (l.min(v), h.max(v))
        });
        if low > high {
            return Self { low: 0, high: 1 };
        }
        let low = (low - 0.3).floor() as i32;
        Self {
            low,
            high: ((high + 0.1).ceil() as i32).max(low + 1),
        }
    }

    /// Returns the position of a value, between 0 and 1.
    fn place(&self, value: f64) -> f64 {
        (libm::log10(value) - f64::from(self.low)) / f64::from(self.high - self.low)
    }
}

/// Describes a picture in words, for readers who do not see it.
fn describe(roofline: &Roofline, rates: RooflineRates) -> String {
    let mut text =
        "Rate in GFLOPS over intensity in flops per byte, both on logarithmic axes.".to_owned();
    let ceilings = roofline.ceilings.iter();
    let ceilings = ceilings.map(|c| format!("{} {:.2} GFLOPS", c.name, c.flops_per_second / 1e9));
    text += &format!(" Ceilings: {}.", ceilings.collect::<Vec<_>>().join(", "));
    let slopes = roofline.slopes.iter();
    let slopes = slopes.map(|s| format!("{} {:.2} GB/s", s.name, s.bytes_per_second / 1e9));
    text += &format!(" Slopes: {}.", slopes.collect::<Vec<_>>().join(", "));
    for point in &roofline.points {
        let known = rates.list();
        let known = known
            .map(|(name, _, f)| format!("{name} {:.2} GFLOPS", f * point.flops_per_second / 1e9));
        text += &format!(
            " At {:.3} flops per byte of {}: {}.",
            point.intensity,
            point.channel,
            known.collect::<Vec<_>>().join(", ")
        );
    }
    text
}

/// Returns the picture as SVG.
pub(crate) fn svg(roofline: &Roofline, rates: RooflineRates) -> String {
    let peak = roofline
        .ceilings
        .first()
        .map_or(1.0, |c| c.flops_per_second);
    let ridges = roofline.slopes.iter().map(|s| peak / s.bytes_per_second);
    let across = Decades::enclose_values(
        ridges
            .flat_map(|r| [r / 30.0, r * 10.0])
            .chain(roofline.points.iter().map(|p| p.intensity)),
    );
    let up = Decades::enclose_values(
        roofline
            .ceilings
            .iter()
            .map(|c| c.flops_per_second)
            .chain(roofline.points.iter().flat_map(|p| {
                let known = rates.list().map(|(.., rate)| rate);
                known.chain([1.0, 0.1]).map(|f| f * p.flops_per_second)
            }))
            .chain([peak / 30.0]),
    );
    let (w, h) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let x = |v: f64| LEFT + across.place(v) * w;
    let y = |v: f64| TOP + (1.0 - up.place(v)) * h;
    let mut svg = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img">
<title>{0}</title>
<desc>{1}</desc>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{LEFT}" y="24" font-size="15">{0}</text>
<defs><clipPath id="plot"><rect x="{LEFT}" y="{TOP}" width="{w}" height="{h}"/></clipPath></defs>"##,
        escape(&format!("{} on {}", roofline.procedure, roofline.system)),
        escape(&describe(roofline, rates))
    );
    for decade in across.low..=across.high {
        let at = x(libm::exp10(decade.into()));
        let _ = writeln!(
            svg,
            r##"<path d="M{at:.1} {TOP}v{h}" stroke="#dddddd"/><text x="{at:.1}" y="{:.1}" text-anchor="middle">{}</text>"##,
            TOP + h + 18.0,
            plain(decade)
        );
    }
    for decade in up.low..=up.high {
        let at = y(libm::exp10(decade.into()));
        let _ = writeln!(
            svg,
            r##"<path d="M{LEFT} {at:.1}h{w}" stroke="#dddddd"/><text x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"##,
            LEFT - 8.0,
            at + 4.0,
            plain(decade - 9)
        );
    }
    // A ceiling begins at the slope of the fastest channel: no program reaches the area to its left.
    let bandwidths = roofline.slopes.iter().map(|s| s.bytes_per_second);
    let fastest = bandwidths.fold(0.0, f64::max);
    let heights: Vec<f64> = roofline
        .ceilings
        .iter()
        .map(|c| y(c.flops_per_second))
        .collect();
    for ((ceiling, at), label) in roofline
        .ceilings
        .iter()
        .zip(&heights)
        .zip(separate_labels(&heights))
    {
        let ridge = ceiling.flops_per_second / fastest;
        let from = if fastest > 0.0 {
            x(ridge).max(LEFT)
        } else {
            LEFT
        };
        let right = LEFT + w;
        let _ = writeln!(
            svg,
            r##"<path d="M{from:.1} {at:.1}H{right}" stroke="#222222" stroke-width="1.5" clip-path="url(#plot)"/><path d="M{right} {at:.1}L{:.1} {label:.1}" stroke="#999999" stroke-width="0.7" fill="none"/><text x="{:.1}" y="{:.1}">{}</text>"##,
            right + 8.0,
            right + 11.0,
            label + 4.0,
            escape(&format!(
                "{} {:.2} GFLOPS",
                ceiling.name,
                ceiling.flops_per_second / 1e9
            ))
        );
    }
    let left = libm::exp10(across.low.into());
    for (i, slope) in roofline.slopes.iter().enumerate() {
        let colour = colour::hex(colour::pick_colour(i));
        // A slope ends at the highest ceiling.
        let right = peak / slope.bytes_per_second;
        let _ = writeln!(
            svg,
            r#"<path d="M{:.1} {:.1}L{:.1} {:.1}" stroke="{colour}" stroke-width="1.5" clip-path="url(#plot)"/><text x="{:.1}" y="{:.1}" fill="{colour}">{}</text>"#,
            x(left),
            y(left * slope.bytes_per_second),
            x(right),
            y(right * slope.bytes_per_second),
            LEFT + 8.0,
            TOP + 18.0 + 16.0 * i as f64,
            escape(&format!(
                "{} {:.2} GB/s",
                slope.name,
                slope.bytes_per_second / 1e9
            ))
        );
    }
    for point in &roofline.points {
        let slope = roofline.slopes.iter().position(|s| s.name == point.channel);
        let colour = colour::hex(colour::pick_colour(slope.unwrap_or(0)));
        let mut draw = |what: &str, rate: f64, fill: &str| {
            let _ = writeln!(
                svg,
                r#"<circle cx="{:.1}" cy="{:.1}" r="5" fill="{fill}" stroke="{colour}" stroke-width="1.5"><title>{}</title></circle>"#,
                x(point.intensity),
                y(rate),
                escape(&format!(
                    "{what}: {:.2} GFLOPS, {:.3} flops per byte of {}",
                    rate / 1e9,
                    point.intensity,
                    point.channel
                ))
            );
        };
        for (name, _, ratio) in rates.list() {
            let fill = if name == "measured" {
                &colour
            } else {
                "#ffffff"
            };
            draw(name, ratio * point.flops_per_second, fill);
        }
    }
    let rate = roofline.points.first().map(|p| p.flops_per_second / 1e9);
    let known = rates
        .list()
        .filter_map(|(name, fill, f)| Some((name, fill, rate? * f)));
    for (i, (name, fill, rate)) in known.enumerate() {
        // The legend stands below the ceilings, in the corner without slopes.
        let at = TOP + h - 14.0 - 18.0 * i as f64;
        let _ = writeln!(
            svg,
            r##"<circle cx="{:.1}" cy="{:.1}" r="5" fill="{fill}" stroke="#222222" stroke-width="1.5"/><text x="{:.1}" y="{at:.1}">{name} {rate:.2} GFLOPS</text>"##,
            LEFT + w - 170.0,
            at - 4.0,
            LEFT + w - 158.0,
        );
    }
    let _ = writeln!(
        svg,
        r#"<rect x="{LEFT}" y="{TOP}" width="{w}" height="{h}" fill="none" stroke="black"/>
<text x="{:.1}" y="{:.1}" text-anchor="middle">intensity, flops per byte</text>
<text x="24" y="{:.1}" text-anchor="middle" transform="rotate(-90 24 {:.1})">rate, GFLOPS</text>
</svg>"#,
        LEFT + w / 2.0,
        HEIGHT - 16.0,
        TOP + h / 2.0,
        TOP + h / 2.0
    );
    svg
}

/// Moves the heights of text lines, given in descending order, so that no two lines overlap.
fn separate_labels(heights: &[f64]) -> Vec<f64> {
    const LINE: f64 = 15.0;
    let mut last = f64::NEG_INFINITY;
    let places = heights.iter().map(|&height| {
        last = height.max(last + LINE);
        last
    });
    places.collect()
}

/// Formats a power of ten for people.
fn plain(decade: i32) -> String {
    match decade {
        0..=4 => format!("{}", 10u64.pow(decade.unsigned_abs())),
        -4..=-1 => format!(
            "{:.*}",
            decade.unsigned_abs() as usize,
            libm::exp10(decade.into())
        ),
        _ => format!("1e{decade}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_model::{Ceiling, RooflinePoint, Slope};

    /// Returns the numbers behind `key` on every line that contains `line`.
    fn numbers(svg: &str, line: &str, key: &str) -> Vec<f64> {
        let lines = svg.lines().filter(|l| l.contains(line));
        let values = lines.filter_map(|l| l.split_once(key)?.1.split(['"', ' ', 'H', 'L']).next());
        values.filter_map(|v| v.parse().ok()).collect()
    }

    #[test]
    fn labels_are_apart_and_lines_end_at_the_ridge() {
        let ceiling = |name: &str, gflops: f64| Ceiling {
            name: name.to_owned(),
            flops_per_second: gflops * 1e9,
        };
        let roofline = Roofline {
            system: "s".to_owned(),
            procedure: "p".to_owned(),
            ceilings: vec![
                ceiling("a", 8.0),
                ceiling("b", 7.9),
                ceiling("c", 7.8),
                ceiling("d", 1.0),
            ],
            slopes: vec![Slope {
                name: "dma".to_owned(),
                bytes_per_second: 4e9,
            }],
            points: vec![RooflinePoint {
                channel: "dma".to_owned(),
                intensity: 3.0,
                flops_per_second: 6e9,
            }],
        };
        let rates = |measured| RooflineRates {
            expected: Some(1.0),
            measured,
        };
        // The picture without its description, which has the same names.
        let drawn = |svg: String| -> String {
            let lines = svg.lines().filter(|line| !line.starts_with("<desc>"));
            lines.collect::<Vec<_>>().join("\n")
        };
        let alone = drawn(svg(&roofline, rates(None)));
        let labels: Vec<f64> = ["a 8.00", "b 7.90", "c 7.80", "d 1.00"]
            .iter()
            .flat_map(|name| {
                let line = alone.lines().find(|l| l.contains(name)).unwrap();
                let text = line.rsplit_once("<text").unwrap().1;
                numbers(text, "", " y=\"")
            })
            .collect();
        assert!(labels.windows(2).all(|w| w[1] - w[0] >= 14.9), "{labels:?}");
        // The slope ends on the highest ceiling, which begins there; lower ceilings begin further to the
        // left.
        let starts = numbers(&alone, "GFLOPS</text>", "<path d=\"M");
        let slope = alone.lines().find(|l| l.contains("GB/s")).unwrap();
        let end = slope.split_once('L').unwrap().1.split(' ').next().unwrap();
        assert_eq!(starts.len(), 4, "{alone}");
        assert!(
            (starts[0] - end.parse::<f64>().unwrap()).abs() < 0.2,
            "{starts:?} {end}"
        );
        assert!(starts.windows(2).all(|w| w[0] > w[1]));
        assert!(!alone.contains("measured"));
        let both = svg(&roofline, rates(Some(0.5)));
        // Readers who do not see the picture have the same numbers in words.
        assert!(both.contains(
            "At 3.000 flops per byte of dma: expected 6.00 GFLOPS, measured 3.00 GFLOPS."
        ));
        assert!(both.contains("measured: 3.00 GFLOPS") && both.contains("expected: 6.00 GFLOPS"));
    }
}
