//! Gain over cost of proposals as SVG: those that nothing dominates stand out.

use super::colour;
use super::vector::escape;
use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 180.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 50.0;

/// A proposal with its weighted cost and its mean speed-up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParetoPoint {
    pub(crate) name: String,
    /// Machine that is changed: only proposals for one machine are compared.
    pub(crate) machine: String,
    pub(crate) cost: f64,
    pub(crate) gain: f64,
}

/// Returns a point that costs no more and gains no less, and is better in one of the two.
pub(crate) fn dominated<'a>(
    point: &ParetoPoint,
    all: &'a [ParetoPoint],
) -> Option<&'a ParetoPoint> {
    all.iter().find(|other| {
        let no_worse = other.cost <= point.cost && other.gain >= point.gain;
        let same = other.machine == point.machine;
        same && no_worse && (other.cost < point.cost || other.gain > point.gain)
    })
}

/// Draws the points.
pub(crate) fn svg(points: &[ParetoPoint]) -> String {
    let span = |value: fn(&ParetoPoint) -> f64| {
        let values = points.iter().map(value);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(v), high.max(v))
        });
        (low, (high - low).max(f64::EPSILON))
    };
    let (cost, gain) = (span(|p| p.cost), span(|p| p.gain));
    let mut out = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img">
<rect x="{LEFT}" y="{TOP}" width="{}" height="{}" fill="none" stroke="#888"/>
<text x="{LEFT}" y="{}">weighted cost {:.0} to {:.0}</text>
<text x="8" y="18">mean speed-up {:.3} to {:.3}</text>
"##,
        WIDTH - LEFT - RIGHT,
        HEIGHT - TOP - BOTTOM,
        HEIGHT - 16.0,
        cost.0,
        cost.0 + cost.1,
        gain.0,
        gain.0 + gain.1,
    );
    for point in points {
        let x = LEFT + 8.0 + (WIDTH - LEFT - RIGHT - 16.0) * (point.cost - cost.0) / cost.1;
        let y =
            HEIGHT - BOTTOM - 8.0 - (HEIGHT - TOP - BOTTOM - 16.0) * (point.gain - gain.0) / gain.1;
        let fill = match dominated(point, points) {
            Some(_) => "#bbbbbb".to_owned(),
            None => colour::hex(colour::pick_colour(0)),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            r##"<circle cx="{x:.1}" cy="{y:.1}" r="5" fill="{fill}"/><text x="{:.1}" y="{:.1}">{}</text>"##,
            x + 8.0,
            y + 4.0,
            escape(&format!("{} on {}", point.name, point.machine))
        );
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_more_and_gains_less_is_dominated() {
        let point = |name: &str, cost, gain| ParetoPoint {
            name: name.to_owned(),
            machine: "vm7".to_owned(),
            cost,
            gain,
        };
        let all = [
            point("a", 1.0, 1.2),
            point("b", 2.0, 1.1),
            point("c", 3.0, 1.5),
            point("d", 1.0, 1.2),
        ];
        let by = |at: usize| dominated(&all[at], &all).map(|other| other.name.as_str());
        assert_eq!([0, 1, 2, 3].map(by), [None, Some("a"), None, None]);
        assert_eq!(svg(&all).matches("<circle").count(), 4);
    }
}
