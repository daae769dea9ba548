//! Rounds figures without moving them across a limit.
//!
//! A rounded figure on the other side of the limit would contradict the verdict beside it.

/// Formats a figure with an exponent and at least `least` digits after the decimal point.
pub(crate) fn scientific(figure: f64, least: usize, limit: f64) -> String {
    format_beside_limit(figure, least, limit, |digits| format!("{figure:.digits$e}"))
}

/// Formats a figure with at least `least` decimals.
pub(crate) fn decimal(figure: f64, least: usize, limit: f64) -> String {
    format_beside_limit(figure, least, limit, |digits| format!("{figure:.digits$}"))
}

/// Formats a figure that has no limit with three digits, or all of those before the decimal point.
pub(crate) fn significant(figure: f64) -> String {
    let size = figure.abs();
    let decimals = match () {
        () if size >= 100.0 || size == 0.0 || !figure.is_finite() => 0,
        () if size >= 10.0 => 1,
        () if size >= 1.0 => 2,
        () if size >= 1e-3 => 2 + libm::ceil(-libm::log10(size)) as usize,
        () => return format!("{figure:.2e}"),
    };
    format!("{figure:.decimals$}")
}

/// Number of digits that distinguishes all doubles near 1.
const MOST: usize = 17;

fn format_beside_limit(
    figure: f64,
    least: usize,
    limit: f64,
    text: impl Fn(usize) -> String,
) -> String {
    let keeps = |text: &String| {
        let shown: f64 = text.parse().unwrap_or(figure);
        (shown <= limit) == (figure <= limit)
    };
    let texts = (least..MOST).map(&text).find(keeps);
    texts.unwrap_or_else(|| text(MOST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_figures_keep_their_digits() {
        for (figure, text) in [
            (1234.4, "1234"),
            (99.96, "100.0"),
            (12.345, "12.3"),
            (1.0, "1.00"),
            (0.123_45, "0.123"),
            (0.001_234_5, "0.00123"),
            (0.000_123_45, "1.23e-4"),
            (0.0, "0"),
        ] {
            assert_eq!(significant(figure), text);
        }
        assert_eq!(significant(f64::NAN), "NaN");
    }

    /// The printed figure is on the same side of the limit as the exact one.
    #[test]
    fn a_figure_stays_on_its_side_of_the_limit() {
        assert_eq!(scientific(2.0e-5, 1, 1e-5), "2.0e-5");
        assert_eq!(scientific(9.996e-6, 1, 1e-5), "1.0e-5");
        assert_eq!(scientific(1.000_4e-5, 3, 1e-5), "1.0004e-5");
        assert_eq!(decimal(0.4, 2, 1.0), "0.40");
        assert_eq!(decimal(1.0, 2, 1.0), "1.00");
        assert_eq!(decimal(1.000_4, 2, 1.0), "1.0004");
        let near = 1.0 + f64::EPSILON;
        assert_eq!(scientific(near, 1, 1.0).parse(), Ok(near));
        assert_eq!(decimal(near, 1, 1.0).parse(), Ok(near));
        for text in [scientific, decimal] {
            assert_eq!(text(f64::NAN, 1, 1e-5), "NaN");
            assert_eq!(text(f64::INFINITY, 1, 1e-5), "inf");
        }
    }
}
