//! Text tables with aligned columns.

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Left, for names.
    Left,
    /// Right, for numbers.
    Right,
}

/// Rows of text in aligned columns, two spaces apart.
#[derive(Clone, Debug)]
pub(crate) struct TextTable {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Makes a table with these columns.
    pub(crate) fn new(align: &[Align]) -> Self {
        Self {
            align: align.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Appends a row.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl std::fmt::Display for TextTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = |c: usize| {
            self.rows
                .iter()
                .filter_map(|r| r.get(c))
                .map(|s| s.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.align.len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, (align, &width)) in row.iter().zip(self.align.iter().zip(&widths)) {
                match align {
                    Align::Left => line.push_str(&format!("{cell:<width$}  ")),
                    Align::Right => line.push_str(&format!("{cell:>width$}  ")),
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Formats `part` of `whole` in per cent.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        "-".to_owned()
    } else {
        format!("{:5.1} %", 100.0 * part as f64 / whole as f64)
    }
}

/// Formats a time with a fitting unit.
pub(crate) fn seconds(s: f64) -> String {
    match s {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 1e-3 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.3} us", s * 1e6),
    }
}

/// Formats a frequency with a fitting unit.
pub(crate) fn frequency(hz: f64) -> String {
    let (number, unit) = match hz {
        f if f >= 1e9 => (f / 1e9, "GHz"),
        f if f >= 1e6 => (f / 1e6, "MHz"),
        f if f >= 1e3 => (f / 1e3, "kHz"),
        f => (f, "Hz"),
    };
    let digits = format!("{number:.3}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_have_three_decimals_at_most() {
        assert_eq!(frequency(2e6), "2 MHz");
        assert_eq!(frequency(332.060_434_999), "332.06 Hz");
        assert_eq!(frequency(0.014_719), "0.015 Hz");
        assert_eq!(frequency(100.0), "100 Hz");
    }

    #[test]
    fn columns_line_up() {
        let mut table = TextTable::new(&[Align::Left, Align::Right]);
        table.row(["issue", "7"]);
        table.row(["operand-load", "12345"]);
        assert_eq!(
            table.to_string(),
            "issue             7\noperand-load  12345\n"
        );
    }

    #[test]
    fn units() {
        assert_eq!(seconds(2.0), "2.000 s");
        assert_eq!(seconds(0.0015), "1.500 ms");
        assert_eq!(seconds(1e-6), "1.000 us");
        assert_eq!(frequency(1.5e9), "1.5 GHz");
        assert_eq!(frequency(2e6), "2 MHz");
        assert_eq!(frequency(44_100.0), "44.1 kHz");
        assert_eq!(frequency(0.5), "0.5 Hz");
        assert_eq!(percent(1, 3), " 33.3 %");
        assert_eq!(percent(0, 0), "-");
    }
}
