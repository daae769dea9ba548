//! Axes with round tick marks.

/// Axis of a picture: name, unit, first and last value.
#[derive(Clone, Debug)]
pub(crate) struct PlotAxis {
    name: String,
    unit: String,
    from: f64,
    to: f64,
}

impl PlotAxis {
    /// Makes an axis; an empty unit stands for a plain number.
    pub(crate) fn new(name: &str, unit: &str, from: f64, to: f64) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            from,
            to,
        }
    }

    /// Returns the label: `name [unit]`.
    pub(super) fn label(&self) -> String {
        if self.unit.is_empty() {
            self.name.clone()
        } else {
            format!("{} [{}]", self.name, self.unit)
        }
    }

    /// Returns the position of a value along the axis, from 0 to 1; `None` if it lies outside.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let place = (value - self.from) / (self.to - self.from);
        (0.0..=1.0).contains(&place).then_some(place)
    }

    /// Returns round values with their positions along the axis, 0 to 1, and their texts.
    pub(crate) fn ticks(&self, about: usize) -> Vec<(f64, String)> {
        let span = self.to - self.from;
        if !span.is_finite() || span <= 0.0 {
            return Vec::new();
        }
        let raw = span / about.max(1) as f64;
        let decade = libm::exp10(libm::floor(libm::log10(raw)));
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|m| m * decade)
            .into_iter()
            .find(|&s| s >= raw * 0.999)
            .unwrap_or(decade);
        let digits = (-libm::floor(libm::log10(step))).clamp(0.0, 12.0) as usize;
        let first = (self.from / step - 1e-9).ceil();
        (0..=4 * about)
            .map(|i| (first + i as f64) * step)
            .take_while(|&v| v <= self.to + span * 1e-9)
            .map(|v| {
                (
                    (v - self.from) / span,
                    format!("{:.digits$}", if v == 0.0 { 0.0 } else { v }),
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let texts = |from, to| {
            PlotAxis::new("x", "s", from, to)
                .ticks(5)
                .into_iter()
                .map(|t| t.1)
                .collect::<Vec<_>>()
        };
        assert_eq!(texts(0.0, 24.0), ["0", "5", "10", "15", "20"]);
        assert_eq!(texts(0.0, 1.5), ["0.0", "0.5", "1.0", "1.5"]);
        assert_eq!(texts(-60.0, 20.0), ["-60", "-40", "-20", "0", "20"]);
        assert_eq!(
            texts(0.0, 0.004),
            ["0.000", "0.001", "0.002", "0.003", "0.004"]
        );
        assert!(texts(1.0, 1.0).is_empty() && texts(0.0, f64::INFINITY).is_empty());
        for (place, _) in PlotAxis::new("x", "", 3.7, 91.2).ticks(6) {
            assert!((0.0..=1.0 + 1e-9).contains(&place));
        }
    }
}
