//! The timeline as a picture: span by span, or shares and the first pages.

mod job;
mod panel;
mod span;

use super::{Category, Timeline, Track};
use cp2_machine::Ticks;
use panel::{PANEL, Panel};
use span::Activity;
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 58.0;
const ROW: f64 = 44.0;
const GAP: f64 = 8.0;
/// Number of spans of a track beyond which they cannot be told apart, and shares are drawn.
const MANY: usize = 100;
/// Number of pages that are drawn one by one besides the shares, from the first on.
const FIRST: usize = 8;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TimeUnit {
    name: &'static str,
    seconds: f64,
}

impl TimeUnit {
    const ALL: [Self; 4] = [
        Self::new("s", 1.0),
        Self::new("ms", 1e-3),
        Self::new("\u{b5}s", 1e-6),
        Self::new("ns", 1e-9),
    ];

    const fn new(name: &'static str, seconds: f64) -> Self {
        Self { name, seconds }
    }

    /// Returns the largest unit of which the time is at least one, or the smallest unit for shorter times.
    fn from_seconds(seconds: f64) -> Self {
        let [.., smallest] = Self::ALL;
        let fits = Self::ALL.into_iter().find(|u| seconds >= u.seconds);
        fits.unwrap_or(smallest)
    }
}

impl Timeline {
    /// Returns the timeline as a self-contained SVG: a row per track, a legend, time in a unit that suits it
    /// and in cycles. Hovering over a slice names it. The share beside a track is that of the time in which
    /// it works.
    ///
    /// A kernel that has finished a page while the next one is not loaded yet waits; waits have a colour of
    /// their own. If there are more slices than can be told apart, the picture shows the share of each
    /// activity in every small stretch of time, stacked from the bottom, and below them the first pages slice
    /// by slice.
    #[must_use]
    pub fn to_svg(&self, title: &str) -> String {
        let (start, end) = self.span().unwrap_or((Ticks(0), Ticks(1)));
        let rows = Track::ALL.map(|track| self.spans(track));
        let many = rows.iter().any(|spans| spans.len() > MANY);
        let height = TOP + PANEL + if many { PANEL + 36.0 } else { 0.0 };
        let mut svg = head(title, height);
        let there = |activity: &Activity| rows.iter().flatten().any(|s| s.activity == *activity);
        legend(
            &mut svg,
            Activity::ALL.into_iter().filter(there),
            self.dropped,
        );
        let mut panel = Panel {
            timeline: self,
            start,
            end,
            top: TOP,
            row: ROW,
        };
        panel.draw(&mut svg, many);
        if many {
            let (until, what) = self.first();
            (panel.end, panel.top) = (until.unwrap_or(end), TOP + PANEL + 36.0);
            let _ = writeln!(
                svg,
                "<text x=\"{LEFT}\" y=\"{}\" font-size=\"13\" fill=\"#222222\">The first {FIRST} {what}</text>",
                panel.top - 10.0
            );
            panel.draw(&mut svg, false);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Returns the end of the first [`FIRST`] pages, or of as many transfers if there are no pages, and the
    /// name of either.
    fn first(&self) -> (Option<Ticks>, &'static str) {
        let pages = self.sorted_slices(|c| c == Category::Page, Track::Cp2);
        let (slices, what) = match pages.len() {
            0 => (self.sorted_slices(|_| true, Track::Dma), "transfers"),
            _ => (pages, "pages"),
        };
        (slices.get(FIRST - 1).map(|s| s.end), what)
    }
}

/// Returns the beginning of a picture.
fn head(title: &str, height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"15\" fill=\"#222222\">{}</text>\n",
        escape(title)
    )
}

/// Draws the colours of activities with their names, and says how many slices are not shown.
fn legend(svg: &mut String, activities: impl Iterator<Item = Activity>, dropped: u64) {
    let mut x = LEFT;
    for activity in activities {
        // Writing to a String cannot fail.
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"32\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"42\" fill=\"#222222\">{}</text>",
            activity.colour(),
            x + 17.0,
            activity.name()
        );
        x += 40.0 + 7.0 * activity.name().len() as f64;
    }
    if dropped > 0 {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"42\" fill=\"#222222\">{dropped} slices outside the window or beyond the limit not shown</text>",
            x + 10.0,
        );
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Trace;
    use crate::timeline::Slice;

    /// Returns the timeline of a kernel of `count` pages of 1000 cycles each, of which it waits for the first
    /// 100.
    fn pages(count: u64) -> Timeline {
        let base = crate::test_machine().time_base();
        let ticks = |cycles: u64| Ticks(cycles * base.ticks_per_cycle);
        let mut timeline = Timeline::new(base, Trace::default());
        let mut push = |track, category, page, from: u64, to: u64| {
            let (start, end) = (ticks(from), ticks(to));
            timeline.push(start, end, || Slice {
                track,
                category,
                name: "k".to_owned(),
                page,
                command: 0,
                start,
                end,
                bytes: 0,
            });
        };
        push(Track::Cp2, Category::Kernel, None, 0, 1000 * count + 50);
        for page in 0..count {
            let at = 1000 * page;
            push(Track::Cp2, Category::Page, Some(page), at + 100, at + 1000);
            push(Track::Dma, Category::Load, Some(page), at, at + 500);
            push(Track::Dma, Category::Store, Some(page), at + 500, at + 700);
        }
        timeline
    }

    #[test]
    fn waits_are_told_from_work() {
        let timeline = pages(3);
        let spans = timeline.spans(Track::Cp2);
        let names: Vec<&str> = spans.iter().map(|s| s.activity.name()).collect();
        let wait = Activity::Wait.name();
        assert_eq!(names, [wait, "page", wait, "page", wait, "page", "kernel"]);
        assert!(spans.windows(2).all(|w| w[0].end == w[1].start));
        let svg = timeline.to_svg("t");
        assert!(svg.contains("waits for a page: 100 cycles from") && !svg.contains("The first"));
        // 2700 of 3050 cycles in pages, and 50 behind them.
        assert!(svg.contains("90.2 %") && svg.contains("68.9 %"), "{svg}");
    }

    #[test]
    fn many_pages_are_shares_and_the_first_ones() {
        let svg = pages(20_000).to_svg("t");
        assert!(
            svg.contains("The first 8 pages")
                && svg.contains("waits for a page: 10.0 % of the time")
        );
        // The picture is as large as that of a few pages.
        assert!(svg.len() < 60_000, "{}", svg.len());
        // 20 million cycles at 200 MHz are 100 ms; the first eight pages are 40 us.
        assert!(
            svg.contains(">20 ms<") && svg.contains(">10 \u{b5}s<"),
            "{svg}"
        );
        assert!(!svg.contains("0000 \u{b5}s") && !svg.contains("0000 ms"));
    }

    #[test]
    fn units_suit_the_time() {
        for (seconds, name) in [
            (3.0, "s"),
            (0.02, "ms"),
            (0.999e-3, "\u{b5}s"),
            (5e-9, "ns"),
            (0.0, "ns"),
        ] {
            assert_eq!(TimeUnit::from_seconds(seconds).name, name);
        }
    }
}
