//! A panel of the picture: tracks over time, span by span or as shares.

use super::span::{Activity, TimeSpan};
use super::{GAP, LEFT, RIGHT, ROW, TimeUnit, WIDTH, escape};
use crate::timeline::{Category, Timeline, Track};
use cp2_machine::Ticks;
use std::fmt::Write;

/// Height of the strip with the names of the kernels.
const STRIP: f64 = 16.0;
/// Half the width of the longest label of the axis.
const LABEL: f64 = 48.0;
/// Width of the narrowest and of the widest steps in which shares are drawn.
const STEP: [f64; 2] = [4.0, 56.0];
/// Average number of spans in a step. With fewer, the shares would show how steps and pages overlap rather
/// than the activity.
const TOGETHER: f64 = 8.0;
/// Height of a panel, with its axis.
pub(super) const PANEL: f64 = STRIP + GAP + 3.0 * (ROW + GAP) + 40.0;

/// The tracks from one time to another.
pub(super) struct Panel<'a> {
    pub(super) timeline: &'a Timeline,
    pub(super) start: Ticks,
    pub(super) end: Ticks,
    /// Vertical position of the panel in the picture.
    pub(super) top: f64,
    /// Height of a track.
    pub(super) row: f64,
}

impl Panel<'_> {
    fn length(&self) -> u64 {
        (self.end.0.saturating_sub(self.start.0)).max(1)
    }

    /// Returns the horizontal position of a time; times outside the panel lie at its edge.
    pub(super) fn x(&self, at: Ticks) -> f64 {
        let at = at.clamp(self.start, self.end.max(self.start));
        let share = (at.0 - self.start.0) as f64 / self.length() as f64;
        LEFT + share * (WIDTH - LEFT - RIGHT)
    }

    fn is_shown(&self, start: Ticks, end: Ticks) -> bool {
        end > self.start && start < self.end
    }

    /// Draws the rows, as shares of the time if `shares` is set.
    pub(super) fn draw(&self, svg: &mut String, shares: bool) {
        self.kernels(svg);
        let first = self.top + STRIP + GAP;
        let row = |i: usize| first + i as f64 * (ROW + GAP);
        for (i, track) in Track::ALL.into_iter().enumerate() {
            let y = row(i);
            let spans = self.shown_spans(track);
            let percent = self.percent(&spans);
            let (label, middle) = (LEFT - 8.0, y + ROW / 2.0);
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{}\" height=\"{ROW}\" fill=\"#f3f3f3\"/>\n\
                 <text x=\"{label}\" y=\"{middle}\" text-anchor=\"end\" fill=\"#222222\">{}</text>\n\
                 <text x=\"{label}\" y=\"{}\" text-anchor=\"end\" fill=\"#777777\" font-size=\"10\">{percent:.1} %</text>",
                WIDTH - LEFT - RIGHT,
                track.name(),
                middle + 13.0,
            );
            self.activities(svg, &spans, y, shares);
        }
        self.axis(svg, first, row(Track::ALL.len()));
    }

    /// Returns what a track did in the time shown.
    pub(super) fn shown_spans(&self, track: Track) -> Vec<TimeSpan<'_>> {
        let mut spans = self.timeline.spans(track);
        spans.retain(|s| self.is_shown(s.start, s.end));
        spans
    }

    /// Returns the share of the time in which a track works.
    pub(super) fn percent(&self, spans: &[TimeSpan<'_>]) -> f64 {
        let busy = spans.iter().filter(|s| !s.activity.is_idle());
        let ticks: u64 = busy
            .map(|s| s.end.min(self.end).0 - s.start.max(self.start).0)
            .sum();
        100.0 * ticks as f64 / self.length() as f64
    }

    /// Draws what a track did, as shares of the time if `shares` is set.
    pub(super) fn activities(
        &self,
        svg: &mut String,
        spans: &[TimeSpan<'_>],
        y: f64,
        shares: bool,
    ) {
        match shares {
            true => self.shares(svg, spans, y),
            false => self.spans(svg, spans, y),
        }
    }

    /// Draws the names of the kernels over the times in which they run.
    fn kernels(&self, svg: &mut String) {
        let kernels = self
            .timeline
            .sorted_slices(|c| c == Category::Kernel, Track::Cp2);
        let mut drawn = LEFT;
        for kernel in kernels {
            let (from, to) = (self.x(kernel.start), self.x(kernel.end));
            // A kernel that would be drawn over the one before it is left out.
            if !self.is_shown(kernel.start, kernel.end) || to < drawn + 0.5 {
                continue;
            }
            drawn = to;
            let width = to - from;
            let _ = writeln!(
                svg,
                "<rect x=\"{from:.2}\" y=\"{}\" width=\"{width:.2}\" height=\"{STRIP}\" fill=\"#ddeefa\" stroke=\"#ffffff\" stroke-width=\"{}\"><title>{}</title></rect>",
                self.top,
                if width > 3.0 { 0.6 } else { 0.0 },
                escape(&kernel.title())
            );
            label(
                svg,
                &kernel.title(),
                from,
                width,
                self.top + 12.0,
                "#222222",
            );
        }
    }

    /// Draws a track span by span; neighbours too narrow to see apart become one rectangle.
    fn spans(&self, svg: &mut String, spans: &[TimeSpan<'_>], y: f64) {
        let mut i = 0;
        while let Some(span) = spans.get(i) {
            let from = self.x(span.start);
            let mut to = self.x(span.end);
            let mut count = 1;
            while let Some(next) = spans.get(i + count) {
                if next.activity != span.activity || self.x(next.end) - from >= 1.5 {
                    break;
                }
                to = to.max(self.x(next.end));
                count += 1;
            }
            let tip = match count {
                1 => self.tip_text(span),
                _ => format!("{count} of {}", span.activity.name()),
            };
            let width = (to - from).max(0.3);
            let _ = writeln!(
                svg,
                "<rect x=\"{from:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\" fill=\"{}\" stroke=\"#ffffff\" stroke-width=\"{}\"><title>{}</title></rect>",
                self.row,
                span.activity.colour(),
                if width > 3.0 { 0.6 } else { 0.0 },
                escape(&tip)
            );
            if let (1, Some(slice)) = (count, span.slice) {
                let text = y + self.row / 2.0 + 4.0;
                label(svg, &slice.title(), from, width, text, "#ffffff");
            }
            i += count;
        }
    }

    fn tip_text(&self, span: &TimeSpan<'_>) -> String {
        let base = self.timeline.base;
        let cycles = (span.end.0 - span.start.0) as f64 / base.ticks_per_cycle as f64;
        let name = span.activity.name();
        let what = span
            .slice
            .map_or(name.to_owned(), |s| format!("{} ({name})", s.title()));
        let bytes = match span.slice.map_or(0, |s| s.bytes) {
            0 => String::new(),
            bytes => format!(", {bytes} B"),
        };
        let at = base.seconds(span.start);
        let unit = TimeUnit::from_seconds(at);
        format!(
            "{what}: {cycles} cycles from {:.3} {}{bytes}",
            at / unit.seconds,
            unit.name
        )
    }

    /// Draws the share of time of each activity, stacked, in narrow steps.
    fn shares(&self, svg: &mut String, spans: &[TimeSpan<'_>], y: f64) {
        let across = WIDTH - LEFT - RIGHT;
        let [narrowest, widest] = STEP;
        let wanted = TOGETHER * across / spans.len().max(1) as f64;
        let steps = (across / wanted.clamp(narrowest, widest)) as usize;
        let width = across / steps as f64;
        let each = self.length() as f64 / steps as f64;
        let mut below = vec![0.0f64; steps];
        for activity in Activity::ALL {
            let mut shares = vec![0.0f64; steps];
            let own = spans.iter().filter(|s| s.activity == activity);
            for span in own {
                let place = |at: Ticks| {
                    let at = at.clamp(self.start, self.end);
                    (at.0 - self.start.0) as f64 / each
                };
                let (from, to) = (place(span.start), place(span.end));
                let last = (to.ceil() as usize).min(steps);
                for (step, share) in shares.iter_mut().enumerate().take(last).skip(from as usize) {
                    let (left, right) = (step as f64, step as f64 + 1.0);
                    *share += (to.min(right) - from.max(left)).max(0.0);
                }
            }
            let sum: f64 = shares.iter().sum();
            if sum == 0.0 {
                continue;
            }
            let mut path = String::new();
            for (step, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                let x = LEFT + step as f64 * width;
                let bottom = y + self.row * (1.0 - below[step].min(1.0));
                let top = y + self.row * (1.0 - (below[step] + share).min(1.0));
                let _ = write!(path, "M{x:.2} {bottom:.2}V{top:.2}h{width:.2}V{bottom:.2}Z");
            }
            let _ = writeln!(
                svg,
                "<path d=\"{path}\" fill=\"{}\"><title>{}: {:.1} % of the time</title></path>",
                activity.colour(),
                activity.name(),
                100.0 * sum / steps as f64
            );
            for (below, share) in below.iter_mut().zip(shares) {
                *below += share;
            }
        }
    }

    /// Draws ticks at round numbers of a unit from rows at `first` down to `y`, and the cycles below.
    pub(super) fn axis(&self, svg: &mut String, first: f64, y: f64) {
        let base = self.timeline.base;
        let per_second = base.ticks_per_cycle as f64 * base.clock_hz as f64;
        let unit = TimeUnit::from_seconds(self.end.0 as f64 / per_second);
        let per_unit = per_second * unit.seconds;
        let step = round_step(self.length() as f64 / per_unit / 8.0);
        let decimals = (-libm::floor(libm::log10(step) + 1e-9)).max(0.0) as usize;
        let from = (self.start.0 as f64 / per_unit / step).ceil() as u64;
        let to = (self.end.0 as f64 / per_unit / step).floor() as u64;
        for i in from..=to {
            let value = i as f64 * step;
            let at = Ticks((value * per_unit).round() as u64);
            if at < self.start {
                continue;
            }
            let (px, cycle) = (self.x(at), at.0 / base.ticks_per_cycle);
            // The picture ends close behind the last tick, and the text of the tick must not extend beyond
            // it.
            let (anchor, tx) = if px > WIDTH - LABEL {
                ("end", WIDTH - 4.0)
            } else {
                ("middle", px)
            };
            let _ = writeln!(
                svg,
                "<line x1=\"{px:.2}\" x2=\"{px:.2}\" y1=\"{first}\" y2=\"{}\" stroke=\"#bbbbbb\" stroke-width=\"0.5\"/>\n\
                 <text x=\"{tx:.2}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"#222222\">{value:.decimals$} {}</text>\n\
                 <text x=\"{tx:.2}\" y=\"{}\" text-anchor=\"{anchor}\" fill=\"#777777\" font-size=\"10\">cycle {cycle}</text>",
                y + 2.0,
                y + 16.0,
                unit.name,
                y + 30.0,
            );
        }
    }
}

/// Writes a name in the middle of the area it names, if it fits.
fn label(svg: &mut String, text: &str, from: f64, width: f64, y: f64, colour: &str) {
    if width > 7.0 * text.chars().count() as f64 + 6.0 {
        let _ = writeln!(
            svg,
            "<text x=\"{:.2}\" y=\"{y}\" text-anchor=\"middle\" fill=\"{colour}\" pointer-events=\"none\">{}</text>",
            from + width / 2.0,
            escape(text)
        );
    }
}

/// Returns the next larger number of the form 1, 2 or 5 times a power of ten.
fn round_step(wanted: f64) -> f64 {
    let power = libm::exp10(libm::floor(libm::log10(wanted.max(1e-9))));
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|m| m * power)
        .find(|&s| s >= wanted)
        .unwrap_or(10.0 * power)
}
