//! The picture of several processors: a group of rows each, links, arrows.

use super::panel::Panel;
use super::span::Activity;
use super::{LEFT, MANY, RIGHT, TOP, WIDTH, escape, head, legend};
use crate::timeline::{JobTimeline, MessageArrow, Timeline, Track};
use cp2_machine::{Ticks, TimeBase};
use std::fmt::Write;

/// Height of a track, and of a link.
const LANE: f64 = 12.0;
/// Space between tracks, and between processors.
const BETWEEN: [f64; 2] = [2.0, 10.0];
/// Height of the axis.
const AXIS: f64 = 40.0;
/// Most messages whose arrows can be told apart.
const ARROWS: usize = 400;
/// Colour of what links carry.
const CARRIED: &str = "#56b4e9";

impl JobTimeline {
    /// Returns the timeline as a self-contained SVG: three rows for each processor, a row for each link that carried
    /// something, and arrows from sends to the ends of waits, unless there are too many. Processors beyond the first
    /// [`JobTimeline::PICTURED`] are left out.
    #[must_use]
    pub fn to_svg(&self, title: &str) -> String {
        let shown = &self.processors[..self.processors.len().min(Self::PICTURED)];
        let Some(first) = shown.first() else {
            return head(title, TOP) + "</svg>\n";
        };
        let base = first.base;
        let last = |timeline: &Timeline| timeline.span().map_or(0, |(_, end)| end.0);
        let end = shown.iter().map(last).max().unwrap_or(0).max(1);
        let group = 3.0 * (LANE + BETWEEN[0]) + BETWEEN[1];
        let links_at = TOP + shown.len() as f64 * group;
        let bottom = links_at + self.links.len() as f64 * (LANE + BETWEEN[0]);
        let mut svg = head(title, bottom + AXIS);
        let there = |activity: &Activity| {
            let all = shown.iter().flat_map(|timeline| {
                let tracks = Track::ALL.into_iter();
                tracks.flat_map(|track| timeline.spans(track))
            });
            all.into_iter().any(|span| span.activity == *activity)
        };
        legend(
            &mut svg,
            Activity::ALL.into_iter().filter(there),
            self.dropped(),
        );
        let panel = |timeline| Panel {
            timeline,
            start: Ticks(0),
            end: Ticks(end),
            top: TOP,
            row: LANE,
        };
        for (number, timeline) in shown.iter().enumerate() {
            let panel = panel(timeline);
            for (i, track) in Track::ALL.into_iter().enumerate() {
                let y = TOP + number as f64 * group + i as f64 * (LANE + BETWEEN[0]);
                let spans = panel.shown_spans(track);
                let percent = panel.percent(&spans);
                let tip = format!("processor {number}: {percent:.1} % of the time");
                let label = match i {
                    0 => format!("{number} {}", track.name()),
                    _ => track.name().to_owned(),
                };
                lane(&mut svg, y, &label, &tip);
                panel.activities(&mut svg, &spans, y, spans.len() > MANY);
            }
        }
        let panel = panel(first);
        for (i, link) in self.links.iter().enumerate() {
            let y = links_at + i as f64 * (LANE + BETWEEN[0]);
            let label = if i == 0 { "links" } else { "" };
            lane(&mut svg, y, label, &link.name);
            for slice in &link.slices {
                let [from, to] = [slice.start_ps, slice.end_ps].map(|at| panel.x(ticks(base, at)));
                let _ = writeln!(
                    svg,
                    "<rect x=\"{from:.2}\" y=\"{y}\" width=\"{:.2}\" height=\"{LANE}\" fill=\"{CARRIED}\"><title>{}: {}, {} B</title></rect>",
                    (to - from).max(0.3),
                    escape(&link.name),
                    escape(&slice.name),
                    slice.bytes
                );
            }
        }
        let host = |processor: usize| {
            TOP + processor as f64 * group + 2.0 * (LANE + BETWEEN[0]) + LANE / 2.0
        };
        self.arrows(&mut svg, |message, svg| {
            let [from, to] =
                [message.sent_ps, message.taken_ps].map(|at| panel.x(ticks(base, at)));
            let _ = writeln!(
                svg,
                "<line x1=\"{from:.2}\" y1=\"{}\" x2=\"{to:.2}\" y2=\"{}\" stroke=\"#222222\" stroke-width=\"0.7\" marker-end=\"url(#head)\"><title>message of {} B from processor {} to {}, tag {}</title></line>",
                host(message.from),
                host(message.to),
                message.bytes,
                message.from,
                message.to,
                message.tag
            );
        });
        panel.axis(&mut svg, TOP, bottom);
        svg.push_str("</svg>\n");
        svg
    }

    /// Draws the arrows of messages between processors that are shown.
    fn arrows(&self, svg: &mut String, mut draw: impl FnMut(&MessageArrow, &mut String)) {
        if self.messages.len() > ARROWS {
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"20\" text-anchor=\"end\" fill=\"#222222\">{} messages, too many for arrows</text>",
                WIDTH - RIGHT,
                self.messages.len()
            );
            return;
        }
        svg.push_str(
            "<defs><marker id=\"head\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L6 3L0 6Z\" fill=\"#222222\"/></marker></defs>\n",
        );
        let shown = |processor: usize| processor < Self::PICTURED;
        let messages = self.messages.iter();
        for message in messages.filter(|message| shown(message.from) && shown(message.to)) {
            draw(message, svg);
        }
    }
}

/// Draws the background of a row with its name.
fn lane(svg: &mut String, y: f64, label: &str, tip: &str) {
    let _ = writeln!(
        svg,
        "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{}\" height=\"{LANE}\" fill=\"#f3f3f3\"><title>{}</title></rect>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#222222\" font-size=\"10\">{}</text>",
        WIDTH - LEFT - RIGHT,
        escape(tip),
        LEFT - 8.0,
        y + LANE - 2.0,
        escape(label)
    );
}

/// Returns the last tick that is not behind an instant in picoseconds.
fn ticks(base: TimeBase, picoseconds: u64) -> Ticks {
    let per_second = u128::from(base.ticks_per_cycle) * u128::from(base.clock_hz);
    let ticks = u128::from(picoseconds) * per_second / 1_000_000_000_000;
    Ticks(u64::try_from(ticks).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Trace;
    use crate::timeline::{Category, LinkSlice, LinkTimeline, Slice};

    /// Processors that work for 1000 cycles and wait for as long, and so many messages from each to the next.
    fn job(processors: usize, messages: usize) -> JobTimeline {
        let base = crate::test_machine().time_base();
        let ticks = |cycles: u64| Ticks(cycles * base.ticks_per_cycle);
        let timeline = |_| {
            let mut timeline = Timeline::new(base, Trace::default());
            for (track, category, from) in [
                (Track::Cp2, Category::Kernel, 0),
                (Track::Host, Category::Wait, 1000),
            ] {
                let (start, end) = (ticks(from), ticks(from + 1000));
                timeline.push(start, end, || Slice {
                    track,
                    category,
                    name: "k<1>".to_owned(),
                    page: None,
                    command: 0,
                    start,
                    end,
                    bytes: 0,
                });
            }
            timeline
        };
        let picoseconds = 1_000_000_000_000 / base.clock_hz;
        let message = |i: usize| MessageArrow {
            from: i % processors,
            to: (i + 1) % processors,
            tag: 3,
            bytes: 64,
            sent_ps: 1000 * picoseconds,
            taken_ps: 2000 * picoseconds,
        };
        JobTimeline {
            processors: (0..processors).map(timeline).collect(),
            links: vec![LinkTimeline {
                name: "here to <there>".to_owned(),
                slices: vec![LinkSlice {
                    name: "message".to_owned(),
                    start_ps: 1000 * picoseconds,
                    end_ps: 1500 * picoseconds,
                    bytes: 64,
                }],
            }],
            messages: (0..messages).map(message).collect(),
            network_dropped: 2,
        }
    }

    #[test]
    fn processors_links_and_messages_are_drawn() {
        let svg = job(3, 5).to_svg("a & b");
        for part in [
            "0 CP2",
            "2 CP2",
            "a &amp; b",
            "here to &lt;there&gt;",
            "2 slices",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert_eq!(svg.matches("marker-end").count(), 5);
        // Waits are not work: half of the time of CP2, and nothing of the control CPU's.
        let shares = |percent: &str| svg.matches(&format!(": {percent} % of the time")).count();
        assert_eq!([shares("50.0"), shares("0.0")], [3, 6]);
        // The arrow leads from the middle to the end of the picture.
        assert!(
            svg.contains("x1=\"624.00\"") && svg.contains("x2=\"1184.00\""),
            "{svg}"
        );
    }

    #[test]
    fn pictures_have_room_for_few() {
        let svg = job(20, 1000).to_svg("t");
        assert!(svg.contains("15 CP2") && !svg.contains("16 CP2"));
        assert!(svg.contains("1000 messages, too many for arrows"));
        assert!(!svg.contains("marker-end"));
        let none = JobTimeline::default().to_svg("t");
        assert!(none.ends_with("</svg>\n"));
    }

    #[test]
    fn instants_become_ticks() {
        let base = crate::test_machine().time_base();
        let second = base.ticks_per_cycle * base.clock_hz;
        assert_eq!(ticks(base, 1_000_000_000_000), Ticks(second));
        assert_eq!(ticks(base, 0), Ticks(0));
    }
}
