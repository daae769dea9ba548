//! The timeline as a picture.

use super::perfetto::micros;
use super::{Category, Slice, Timeline, Track};
use cp2_machine::Ticks;
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 58.0;
const ROW: f64 = 44.0;
const GAP: f64 = 10.0;
/// Half the width of the longest label of the axis.
const LABEL: f64 = 48.0;

impl Category {
    /// Colours that stay apart for colour-blind readers (Okabe and Ito).
    fn colour(self) -> &'static str {
        match self {
            Self::Kernel => "#56b4e9",
            Self::Page => "#0072b2",
            Self::Load => "#009e73",
            Self::Store => "#e69f00",
            Self::Descriptor => "#999999",
            Self::Work => "#cc79a7",
        }
    }
}

impl Timeline {
    /// The timeline as a self-contained SVG: a row per track, a legend, time
    /// in microseconds and cycles. Hovering over a slice names it.
    #[must_use]
    pub fn to_svg(&self, title: &str) -> String {
        let (start, end) = self.span().unwrap_or((Ticks(0), Ticks(1)));
        let length = (end.0 - start.0).max(1);
        let scale = (WIDTH - LEFT - RIGHT) / length as f64;
        let x = |t: Ticks| LEFT + (t.0 - start.0) as f64 * scale;
        let height = TOP + Track::ALL.len() as f64 * (ROW + GAP) + 48.0;
        let mut svg = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
             <text x=\"{LEFT}\" y=\"20\" font-size=\"15\" fill=\"#222222\">{}</text>",
            escape(title)
        );
        self.legend(&mut svg);
        for (i, track) in Track::ALL.into_iter().enumerate() {
            let y = TOP + i as f64 * (ROW + GAP);
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{}\" height=\"{ROW}\" fill=\"#f3f3f3\"/>\n\
                 <text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#222222\">{}</text>",
                WIDTH - LEFT - RIGHT,
                LEFT - 8.0,
                y + ROW / 2.0 + 4.0,
                track.name()
            );
            let mut slices: Vec<&Slice> = self.slices.iter().filter(|s| s.track == track).collect();
            // What lies in another is drawn over it.
            slices.sort_by_key(|s| (s.start, std::cmp::Reverse(s.end)));
            draw(&mut svg, self, &slices, y, x);
        }
        self.axis(&mut svg, start, length, x);
        svg.push_str("</svg>\n");
        svg
    }

    fn legend(&self, svg: &mut String) {
        let mut x = LEFT;
        for category in Category::ALL
            .into_iter()
            .filter(|c| self.slices.iter().any(|s| s.category == *c))
        {
            let _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"32\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"42\" fill=\"#222222\">{}</text>",
                category.colour(),
                x + 17.0,
                category.name()
            );
            x += 40.0 + 7.0 * category.name().len() as f64;
        }
        if self.dropped > 0 {
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"42\" fill=\"#222222\">{} slices outside the window or beyond the limit not shown</text>",
                x + 10.0,
                self.dropped
            );
        }
    }

    /// Ticks at round numbers of microseconds, and the cycles below.
    fn axis(&self, svg: &mut String, start: Ticks, length: u64, x: impl Fn(Ticks) -> f64) {
        let y = TOP + Track::ALL.len() as f64 * (ROW + GAP);
        let per_micro = self.base.ticks_per_cycle as f64 * self.base.clock_hz as f64 / 1e6;
        let step = round_step(length as f64 / per_micro / 8.0);
        let first = (start.0 as f64 / per_micro / step).ceil() as u64;
        let last = ((start.0 + length) as f64 / per_micro / step).floor() as u64;
        for i in first..=last {
            let micro = i as f64 * step;
            let at = Ticks((micro * per_micro).round() as u64);
            if at < start {
                continue;
            }
            let (px, cycle) = (x(at), at.0 / self.base.ticks_per_cycle);
            // The picture ends close behind the last tick: its text must not.
            let (anchor, tx) = if px > WIDTH - LABEL {
                ("end", WIDTH - 4.0)
            } else {
                ("middle", px)
            };
            let _ = writeln!(
                svg,
                "<line x1=\"{px:.2}\" x2=\"{px:.2}\" y1=\"{TOP}\" y2=\"{}\" stroke=\"#bbbbbb\" stroke-width=\"0.5\"/>\n\
                 <text x=\"{tx:.2}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"#222222\">{} &#181;s</text>\n\
                 <text x=\"{tx:.2}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"#777777\" font-size=\"10\">cycle {cycle}</text>",
                y + 2.0,
                y + 16.0,
                micros(self.base, at),
                y + 30.0,
            );
        }
    }
}

/// Draws a row; neighbours too narrow to see apart become one rectangle.
fn draw(
    svg: &mut String,
    timeline: &Timeline,
    slices: &[&Slice],
    y: f64,
    x: impl Fn(Ticks) -> f64,
) {
    let mut i = 0;
    while let Some(slice) = slices.get(i) {
        let from = x(slice.start);
        let mut to = x(slice.end);
        let mut count = 1;
        while let Some(next) = slices.get(i + count) {
            let narrow = next.category == slice.category && x(next.end) - from < 1.5;
            if !narrow {
                break;
            }
            to = to.max(x(next.end));
            count += 1;
        }
        let tip = if count > 1 {
            format!("{count} of {}", slice.category.name())
        } else {
            let cycles =
                (slice.end.0 - slice.start.0) as f64 / timeline.base.ticks_per_cycle as f64;
            let bytes = if slice.bytes > 0 {
                format!(", {} B", slice.bytes)
            } else {
                String::new()
            };
            let at = micros(timeline.base, slice.start);
            format!(
                "{} ({}): {cycles} cycles from {at} \u{b5}s{bytes}",
                slice.title(),
                slice.category.name()
            )
        };
        let width = (to - from).max(0.3);
        let _ = writeln!(
            svg,
            "<rect x=\"{from:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{ROW}\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"{}\"><title>{}</title></rect>",
            slice.category.colour(),
            if width > 3.0 { 0.6 } else { 0.0 },
            escape(&tip)
        );
        let label = slice.title();
        if count == 1 && width > 7.0 * label.chars().count() as f64 + 6.0 {
            let _ = writeln!(
                svg,
                "<text x=\"{:.2}\" y=\"{}\" text-anchor=\"middle\" fill=\"#ffffff\" pointer-events=\"none\">{}</text>",
                from + width / 2.0,
                y + ROW / 2.0 + 4.0,
                escape(&label)
            );
        }
        i += count;
    }
}

/// The next of 1, 2, 5 times a power of ten.
fn round_step(wanted: f64) -> f64 {
    let power = libm::exp10(libm::floor(libm::log10(wanted.max(1e-9))));
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|&s| s >= wanted)
        .unwrap_or(10.0 * power)
}

fn escape(text: &str) -> String {
    text.chars()
        .flat_map(|c| match c {
            '&' => "&amp;".chars().collect::<Vec<_>>(),
            '<' => "&lt;".chars().collect(),
            '>' => "&gt;".chars().collect(),
            '"' => "&quot;".chars().collect(),
            c if c.is_control() => vec![' '],
            c => vec![c],
        })
        .collect()
}
