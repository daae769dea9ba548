//! Heat maps of decibels with axes, units and a colour scale.
//!
//! PNG and SVG pictures both draw the same [`PictureLayout`].

mod axis;
mod colour;
pub(crate) mod distribution;
mod font;
pub(crate) mod history;
pub(crate) mod lines;
pub(crate) mod matrix;
pub(crate) mod pareto;
mod raster;
pub(crate) mod roofline;
mod vector;

pub(crate) use axis::PlotAxis;

use crate::io::{FileError, extension, write_whole};
use num_complex::Complex32;
use std::path::Path;

/// A matrix of values to show as colours.
#[derive(Clone, Debug)]
pub(crate) struct HeatMap {
    /// Heading.
    pub(crate) title: String,
    /// Number of columns.
    pub(crate) columns: usize,
    /// Number of rows; row 0 is at the bottom.
    pub(crate) rows: usize,
    /// Decibels, row by row from the bottom.
    pub(crate) values: Vec<f32>,
    /// Horizontal axis.
    pub(crate) x: PlotAxis,
    /// Vertical axis.
    pub(crate) y: PlotAxis,
    /// Unit of the values.
    pub(crate) unit: String,
    /// Values below the largest by more than this take the darkest colour.
    pub(crate) range: f32,
    /// Findings as values of both axes: encircled, numbered from 1.
    pub(crate) marks: Vec<[f64; 2]>,
}

/// Most marks on a picture, as many as a report lists.
const MARKS: usize = 20;
/// Radius of a mark in pixels.
const MARK_RADIUS: usize = 8;

/// Most cells along one side of a picture; if there are more, cells are merged to their largest value.
const CELLS: usize = 1024;
/// Smallest side of the coloured area in pixels; small fields get larger cells.
const MIN_SIDE: usize = 320;

impl HeatMap {
    /// Makes a map of `columns` x `rows` decibels from `value(column, row)`, called column by column. Values
    /// that share a cell of the picture are merged to the largest. Values more than `range` below the largest
    /// take the darkest colour.
    pub(crate) fn new(
        title: String,
        [columns, rows]: [usize; 2],
        mut value: impl FnMut(usize, usize) -> f32,
        x: PlotAxis,
        y: PlotAxis,
        range: f32,
    ) -> Self {
        let (width, height) = (columns.clamp(1, CELLS), rows.clamp(1, CELLS));
        let mut values = vec![f32::NEG_INFINITY; width * height];
        for column in 0..columns {
            for row in 0..rows {
                let line = &mut values[row * height / rows * width..][..width];
                let cell = &mut line[column * width / columns];
                *cell = cell.max(value(column, row));
            }
        }
        Self {
            title,
            columns: width,
            rows: height,
            values,
            x,
            y,
            unit: "dB".to_owned(),
            range,
            marks: Vec::new(),
        }
    }

    /// Adds marks to the picture.
    pub(crate) fn marked(self, marks: impl IntoIterator<Item = [f64; 2]>) -> Self {
        Self {
            marks: marks.into_iter().take(MARKS).collect(),
            ..self
        }
    }

    /// Makes a map of `columns` spectra over time, with `bins` bins upwards; `spectrum` returns one spectrum
    /// at a time, in order.
    pub(crate) fn spectra(
        mut spectrum: impl FnMut(usize) -> Vec<Complex32>,
        [columns, bins]: [usize; 2],
        title: String,
        x: PlotAxis,
        y: PlotAxis,
    ) -> Self {
        let mut shown = (usize::MAX, Vec::new());
        let value = |column: usize, bin: usize| {
            if shown.0 != column {
                shown = (column, spectrum(column));
            }
            let z: Complex32 = shown.1.get(bin).copied().unwrap_or_default();
            // The square is computed in f64: in f32 that of a large number would overflow.
            let power = num_complex::Complex64::new(z.re.into(), z.im.into()).norm_sqr();
            (10.0 * libm::log10(power)) as f32
        };
        Self::new(title, [columns, bins], value, x, y, 80.0)
    }

    /// Returns the smallest and the largest value of the colour scale.
    fn scale(&self) -> (f32, f32) {
        let top = self
            .values
            .iter()
            .copied()
            .filter(|v| v.is_finite())
            .fold(f32::NEG_INFINITY, f32::max);
        let top = if top.is_finite() { top } else { 0.0 };
        let low = self
            .values
            .iter()
            .copied()
            .filter(|v| v.is_finite())
            .fold(top, f32::min);
        (low.max(top - self.range).min(top - 1.0), top)
    }

    /// Returns the colour of a cell.
    fn colour(&self, column: usize, row: usize, (low, top): (f32, f32)) -> [u8; 3] {
        let value = self
            .values
            .get(row * self.columns + column)
            .copied()
            .unwrap_or(f32::NEG_INFINITY);
        colour::viridis(f64::from((value - low) / (top - low)))
    }
}

/// Positions of the parts of a picture, in pixels, y downwards.
struct PictureLayout {
    width: usize,
    height: usize,
    /// Left, top, width and height of the coloured area.
    plot: [usize; 4],
    /// Left and width of the colour scale.
    bar: [usize; 2],
    /// Pixels of one cell, across and down.
    cell: [usize; 2],
}

impl PictureLayout {
    fn new(field: &HeatMap) -> Self {
        let cell = [
            MIN_SIDE.div_ceil(field.columns.max(1)),
            MIN_SIDE.div_ceil(field.rows.max(1)),
        ];
        let (w, h) = (field.columns * cell[0], field.rows * cell[1]);
        let (left, top, bottom) = (70, 30, 50);
        Self {
            width: left + w + 110,
            height: top + h + bottom,
            plot: [left, top, w, h],
            bar: [left + w + 20, 14],
            cell,
        }
    }

    /// Returns the centres of the marks inside the coloured area, in pixels, with their numbers.
    fn marks(&self, field: &HeatMap) -> Vec<([f64; 2], usize)> {
        let [left, top, w, h] = self.plot.map(|p| p as f64);
        let place = |&[x, y]: &[f64; 2]| {
            let (x, y) = (field.x.place(x)?, field.y.place(y)?);
            Some([left + x * w, top + (1.0 - y) * h])
        };
        let numbered = field.marks.iter().zip(1..);
        numbered
            .filter_map(|(mark, number)| Some((place(mark)?, number)))
            .collect()
    }
}

/// Endings of file names that [`write()`] understands.
pub(crate) const ENDINGS: &str = ".png, .svg";

/// Checks the name of a picture before the work starts.
pub(crate) fn check_name(path: &Path) -> Result<(), FileError> {
    match extension(path).as_str() {
        "png" | "svg" => Ok(()),
        _ => Err(FileError::Extension {
            path: path.to_owned(),
            expected: ENDINGS,
        }),
    }
}

/// Writes the picture in the format that its name asks for.
pub(crate) fn write(path: &Path, field: &HeatMap) -> Result<(), FileError> {
    check_name(path)?;
    let png = |what| FileError::format(path, what, "a picture the PNG encoder accepts");
    let bytes = if extension(path) == "svg" {
        vector::svg(field).map_err(png)?.into_bytes()
    } else {
        raster::png(field).map_err(png)?
    };
    write_whole(path, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(n: usize, rows: usize) -> HeatMap {
        let mut spectra = vec![Complex32::new(1e-3, 0.0); n * rows];
        for row in 0..rows {
            spectra[row * n + n / 4] = Complex32::new(10.0, 0.0);
        }
        HeatMap::spectra(
            |row| spectra[row * n..][..n].to_vec(),
            [rows, n / 2],
            "test <&>".into(),
            PlotAxis::new("time", "s", 0.0, 1.5),
            PlotAxis::new("frequency", "kHz", 0.0, 24.0),
        )
    }

    #[test]
    fn a_tone_is_the_brightest_row() {
        let field = field(64, 10);
        assert_eq!((field.columns, field.rows), (10, 32));
        assert_eq!(field.scale(), (-60.0, 20.0));
        let bright = field.colour(3, 16, field.scale());
        assert_eq!(bright, colour::viridis(1.0));
        assert_eq!(field.colour(3, 15, field.scale()), colour::viridis(0.0));
    }

    #[test]
    fn large_fields_are_merged_and_small_ones_enlarged() {
        let large = field(4096, 3000);
        assert_eq!((large.columns, large.rows), (1024, 1024));
        assert_eq!(large.scale().1, 20.0, "merging keeps the peak");
        assert!(PictureLayout::new(&field(16, 1)).plot[2] >= MIN_SIDE);
    }

    #[test]
    fn the_png_decodes_and_shows_the_tone() {
        let field = field(64, 400);
        let bytes = raster::png(&field).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes))
            .read_info()
            .unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        let layout = PictureLayout::new(&field);
        assert_eq!(
            (info.width as usize, info.height as usize),
            (layout.width, layout.height)
        );
        let [left, top, _, h] = layout.plot;
        let y = top + h - 1 - 16 * layout.cell[1];
        let at = (y * layout.width + left + 5) * 3;
        assert_eq!(pixels[at..at + 3], colour::viridis(1.0));
    }

    #[test]
    fn the_svg_carries_text_with_units_and_escapes_it() {
        let text = vector::svg(&field(64, 10)).unwrap();
        for part in [
            "frequency [kHz]",
            "time [s]",
            "test &lt;&amp;&gt;",
            "dB",
            "data:image/png;base64,iVBORw0KGgo",
        ] {
            assert!(text.contains(part), "{part}");
        }
    }

    #[test]
    fn what_was_found_is_encircled() {
        let marked = field(64, 400).marked([[0.75, 12.0], [9.0, 12.0]]);
        let layout = PictureLayout::new(&marked);
        let [left, top, w, h] = layout.plot;
        let (x, y) = (left + w / 2, top + h / 2);
        // The second mark lies outside the axes.
        assert_eq!(layout.marks(&marked), [([x as f64, y as f64], 1)]);
        let text = vector::svg(&marked).unwrap();
        assert!(
            text.contains(&format!(r#"<circle cx="{x}.0" cy="{y}.0""#)),
            "{text}"
        );
        assert_ne!(raster::png(&marked), raster::png(&field(64, 400)));
    }

    #[test]
    fn a_field_of_nothing_is_still_a_picture() {
        let zero = HeatMap::spectra(
            |_| vec![Complex32::default(); 16],
            [1, 16],
            String::new(),
            PlotAxis::new("x", "", 0.0, 0.0),
            PlotAxis::new("y", "", 0.0, f64::NAN),
        );
        assert!(!raster::png(&zero).unwrap().is_empty());
        assert!(vector::svg(&zero).is_ok());
    }
}
