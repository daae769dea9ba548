//! A roofline as SVG: flops per second over flops per byte, both logarithmic.

use super::vector::escape;
use cp2_model::Roofline;
use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// Okabe and Ito: apart for colour-blind readers.
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"];

/// Powers of ten around values.
struct Decades {
    low: i32,
    high: i32,
}

impl Decades {
    fn around(values: impl Iterator<Item = f64>) -> Self {
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

    /// Position of a value between 0 and 1.
    fn place(&self, value: f64) -> f64 {
        (libm::log10(value) - f64::from(self.low)) / f64::from(self.high - self.low)
    }
}

/// The picture.
pub(crate) fn svg(roofline: &Roofline) -> String {
    let peak = roofline
        .ceilings
        .first()
        .map_or(1.0, |c| c.flops_per_second);
    let ridges = roofline.slopes.iter().map(|s| peak / s.bytes_per_second);
    let across = Decades::around(
        ridges
            .flat_map(|r| [r / 30.0, r * 10.0])
            .chain(roofline.points.iter().map(|p| p.intensity)),
    );
    let up = Decades::around(
        roofline
            .ceilings
            .iter()
            .map(|c| c.flops_per_second)
            .chain(
                roofline
                    .points
                    .iter()
                    .flat_map(|p| [p.flops_per_second, p.flops_per_second / 10.0]),
            )
            .chain([peak / 30.0]),
    );
    let (w, h) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let x = |v: f64| LEFT + across.place(v) * w;
    let y = |v: f64| TOP + (1.0 - up.place(v)) * h;
    let mut svg = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        svg,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="{LEFT}" y="24" font-size="15">{}</text>
<defs><clipPath id="plot"><rect x="{LEFT}" y="{TOP}" width="{w}" height="{h}"/></clipPath></defs>"##,
        escape(&format!("{} on {}", roofline.procedure, roofline.system))
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
    for ceiling in &roofline.ceilings {
        let at = y(ceiling.flops_per_second);
        let _ = writeln!(
            svg,
            r##"<path d="M{LEFT} {at:.1}h{w}" stroke="#222222" stroke-width="1.5" clip-path="url(#plot)"/><text x="{:.1}" y="{:.1}">{}</text>"##,
            LEFT + w + 6.0,
            at + 4.0,
            escape(&format!(
                "{} {:.2} GFLOPS",
                ceiling.name,
                ceiling.flops_per_second / 1e9
            ))
        );
    }
    let (left, right) = (
        libm::exp10(across.low.into()),
        libm::exp10(across.high.into()),
    );
    for (i, slope) in roofline.slopes.iter().enumerate() {
        let colour = COLOURS[i % COLOURS.len()];
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
        let colour = COLOURS[slope.unwrap_or(0) % COLOURS.len()];
        let _ = writeln!(
            svg,
            r#"<circle cx="{:.1}" cy="{:.1}" r="5" fill="{colour}"><title>{}</title></circle>"#,
            x(point.intensity),
            y(point.flops_per_second),
            escape(&format!(
                "{:.2} GFLOPS, {:.3} flops per byte of {}",
                point.flops_per_second / 1e9,
                point.intensity,
                point.channel
            ))
        );
    }
    let _ = writeln!(
        svg,
        r#"<rect x="{LEFT}" y="{TOP}" width="{w}" height="{h}" fill="none" stroke="black"/>
<text x="{:.1}" y="{:.1}" text-anchor="middle">intensity, flops per byte</text>
<text x="24" y="{:.1}" text-anchor="middle" transform="rotate(-90 24 {:.1})">expected rate, GFLOPS</text>
</svg>"#,
        LEFT + w / 2.0,
        HEIGHT - 16.0,
        TOP + h / 2.0,
        TOP + h / 2.0
    );
    svg
}

/// A power of ten as people write it.
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
