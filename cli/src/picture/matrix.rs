//! The pattern of a sparse matrix and the blocks of its format, as PNG or SVG.

use super::raster::{self, Canvas};
use super::vector::{base64, escape};
use super::{PlotAxis, check_name, colour, font};
use crate::io::{FileError, extension, write_whole};
use cp2_problems::sparse::SparseMatrix;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

/// Approximate length of the longer side in pixels.
const SIDE: usize = 720;
/// Least length of the shorter side in pixels.
const LEAST: usize = 24;
/// Most pixels of a cell: entries of small matrices are no larger.
const CELL: usize = 24;
/// Fewest pixels along each side of a block with an outline.
const OUTLINED: usize = 5;
/// Darkness of a cell with a single entry, from 0 to 1.
const FAINTEST: f64 = 0.35;
/// Share of a block's colour in the background of its entries.
const TINT: f64 = 0.35;

/// Rectangle of rows and columns that belongs to a kind of block: an index into the legend, which decides its
/// colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LegendBlock {
    /// Range of rows, from 0 on.
    pub(crate) rows: Range<usize>,
    /// Range of columns, from 0 on.
    pub(crate) columns: Range<usize>,
    /// Index of the kind in the legend.
    pub(crate) kind: usize,
}

/// Picture of a matrix: one cell for each possible entry, or for several if there are too many; row 0 is at
/// the top.
#[derive(Clone, Debug)]
pub(crate) struct MatrixPicture {
    title: String,
    /// Number of rows and columns of the matrix.
    sides: [usize; 2],
    /// Number of rows and columns of cells.
    cells: [usize; 2],
    /// Number of entries in each cell, row by row.
    counts: Vec<u32>,
    /// Names of the kinds of blocks.
    legend: Vec<String>,
    blocks: Vec<LegendBlock>,
}

/// Positions of the parts of a picture, in pixels.
struct MatrixPictureLayout {
    /// Left, top, width and height of the matrix.
    plot: [usize; 4],
    /// Pixels of a cell, across and down.
    cell: [usize; 2],
    width: usize,
    height: usize,
}

impl MatrixPicture {
    /// Makes the picture of a matrix's pattern.
    pub(crate) fn new(title: String, matrix: &SparseMatrix) -> Self {
        let sides = [matrix.rows(), matrix.cols()];
        let longest = sides[0].max(sides[1]);
        let cells = match longest <= SIDE {
            true => sides,
            // The division rounds up, so that neither side has 0 cells. The product fits in 64 bits, see
            // `SparseMatrix`.
            false => {
                sides.map(|side| (side as u64 * SIDE as u64).div_ceil(longest as u64) as usize)
            }
        };
        let mut counts = vec![0u32; cells[0] * cells[1]];
        for i in 0..sides[0] {
            let row = cell(i, sides[0], cells[0]);
            for &j in matrix.columns_of(i) {
                let count = &mut counts[row * cells[1] + cell(j as usize, sides[1], cells[1])];
                *count = count.saturating_add(1);
            }
        }
        Self {
            title,
            sides,
            cells,
            counts,
            legend: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// Adds blocks to the picture; `legend` names their kinds. Parts of a block beyond the matrix are not
    /// drawn.
    pub(crate) fn with_blocks(self, legend: Vec<String>, blocks: Vec<LegendBlock>) -> Self {
        Self {
            legend,
            blocks,
            ..self
        }
    }

    /// Returns the cells that a block touches: left, top, width, height.
    fn covered(&self, block: &LegendBlock) -> Option<[usize; 4]> {
        let along = |range: &Range<usize>, axis: usize| {
            let (side, cells) = (self.sides[axis], self.cells[axis]);
            let last = range.end.min(side).checked_sub(1)?;
            let first = (range.start <= last).then(|| cell(range.start, side, cells))?;
            Some((first, cell(last, side, cells) + 1 - first))
        };
        let ((top, height), (left, width)) = (along(&block.rows, 0)?, along(&block.columns, 1)?);
        Some([left, top, width, height])
    }

    /// Returns the colours of all cells, three bytes each, row by row.
    fn pixels(&self) -> Vec<u8> {
        let mut kinds: Vec<Option<usize>> = vec![None; self.counts.len()];
        for block in &self.blocks {
            if let Some([left, top, width, height]) = self.covered(block) {
                for row in kinds.chunks_exact_mut(self.cells[1]).skip(top).take(height) {
                    row[left..left + width].fill(Some(block.kind));
                }
            }
        }
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let darkness = |count: u32| {
            let part = libm::log(f64::from(count)) / libm::log(f64::from(most).max(2.0));
            match most {
                1 => 1.0,
                _ => FAINTEST + (1.0 - FAINTEST) * part,
            }
        };
        let pixel = |(&count, kind): (&u32, &Option<usize>)| {
            let behind = kind.map_or([255; 3], |kind| {
                colour::interpolate_colour([255; 3], colour::pick_colour(kind), TINT)
            });
            match count {
                0 => behind,
                count => colour::interpolate_colour(behind, [0; 3], darkness(count)),
            }
        };
        self.counts.iter().zip(&kinds).flat_map(pixel).collect()
    }

    fn layout(&self) -> MatrixPictureLayout {
        let [rows, columns] = self.cells;
        let even = (SIDE / rows.max(columns).max(1)).clamp(1, CELL);
        let cell = [columns, rows].map(|cells| even.max(LEAST.div_ceil(cells.max(1))));
        let (w, h) = (columns * cell[0], rows * cell[1]);
        let (left, top, bottom) = (76, 30, 50);
        let words = self.legend.iter().map(|text| font::width(text)).max();
        let right = words.map_or(30, |width| width + 60);
        let title = font::width(&self.title) * 3 / 2;
        let below = 18 * self.legend.len();
        MatrixPictureLayout {
            plot: [left, top, w, h],
            cell,
            width: left + (w + right).max(title + 10),
            height: top + h.max(below) + bottom,
        }
    }

    /// Returns the outlines, in pixels, of blocks that are large enough for one, with their kinds.
    fn outlines(&self, layout: &MatrixPictureLayout) -> Vec<([usize; 4], usize)> {
        let [left, top, ..] = layout.plot;
        let [across, down] = layout.cell;
        let outline = |block: &LegendBlock| {
            let [x, y, w, h] = self.covered(block)?;
            let outline = [left + x * across, top + y * down, w * across, h * down];
            let large = outline[2].min(outline[3]) >= OUTLINED;
            large.then_some((outline, block.kind))
        };
        self.blocks.iter().filter_map(outline).collect()
    }

    fn axes(&self) -> [PlotAxis; 2] {
        let [rows, columns] = self.sides.map(|side| side as f64);
        [
            PlotAxis::new("column", "", 0.0, columns),
            PlotAxis::new("row", "", 0.0, rows),
        ]
    }

    fn svg(&self) -> Result<String, String> {
        let layout = self.layout();
        let MatrixPictureLayout {
            plot: [left, top, w, h],
            width,
            height,
            ..
        } = layout;
        let image = base64(&raster::encode(
            self.cells[1],
            self.cells[0],
            &self.pixels(),
        )?);
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">
<rect width="{width}" height="{height}" fill="white"/>
<text x="{left}" y="20" font-size="13">{}</text>
<image x="{left}" y="{top}" width="{w}" height="{h}" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{image}"/>"#,
            escape(&self.title)
        );
        for ([x, y, w, h], kind) in self.outlines(&layout) {
            let colour = colour::hex(colour::pick_colour(kind));
            let _ = writeln!(
                out,
                r#"<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="none" stroke="{colour}"/>"#
            );
        }
        let base = top + h;
        let _ = writeln!(
            out,
            r#"<rect x="{left}" y="{top}" width="{w}" height="{h}" fill="none" stroke="black"/>"#
        );
        let [x, y] = self.axes();
        for (place, text) in x.ticks(6) {
            let at = left as f64 + place * w as f64;
            let _ = writeln!(
                out,
                r#"<path d="M{at:.1} {base}v5" stroke="black"/><text x="{at:.1}" y="{}" text-anchor="middle">{text}</text>"#,
                base + 18
            );
        }
        for (place, text) in y.ticks(8) {
            let at = top as f64 + place * h as f64;
            let _ = writeln!(
                out,
                r#"<path d="M{left} {at:.1}h-5" stroke="black"/><text x="{}" y="{:.1}" text-anchor="end">{text}</text>"#,
                left - 8,
                at + 4.0
            );
        }
        let middle = top + h / 2;
        let _ = writeln!(
            out,
            r#"<text x="{}" y="{}" text-anchor="middle">{}</text><text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">{}</text>"#,
            left + w / 2,
            base + 38,
            x.label(),
            y.label()
        );
        for (kind, text) in self.legend.iter().enumerate() {
            let (at, line) = (left + w + 14, top + 18 * kind);
            let _ = writeln!(
                out,
                r#"<rect x="{at}" y="{line}" width="12" height="12" fill="{}"/><text x="{}" y="{}">{}</text>"#,
                colour::hex(colour::pick_colour(kind)),
                at + 18,
                line + 10,
                escape(text)
            );
        }
        out.push_str("</svg>\n");
        Ok(out)
    }

    fn png(&self) -> Result<Vec<u8>, String> {
        let layout = self.layout();
        let plot @ [left, top, w, h] = layout.plot;
        let [across, down] = layout.cell;
        let mut canvas = Canvas::new(layout.width, layout.height);
        for (i, pixel) in self.pixels().chunks_exact(3).enumerate() {
            let (row, column) = (i / self.cells[1], i % self.cells[1]);
            let at = [left + column * across, top + row * down, across, down];
            canvas.rectangle(at, [pixel[0], pixel[1], pixel[2]]);
        }
        for ([x, y, w, h], kind) in self.outlines(&layout) {
            let colour = colour::pick_colour(kind);
            canvas.rectangle([x, y, w, 1], colour);
            canvas.rectangle([x, y + h - 1, w, 1], colour);
            canvas.rectangle([x, y, 1, h], colour);
            canvas.rectangle([x + w - 1, y, 1, h], colour);
        }
        canvas.frame(plot);
        canvas.text(left, 12, &self.title);
        let [x, y] = self.axes();
        for (place, text) in x.ticks(6) {
            let at = left + (place * w as f64) as usize;
            canvas.rectangle([at, top + h, 1, 5], [0; 3]);
            canvas.text(
                at.saturating_sub(font::width(&text) / 2),
                top + h + 10,
                &text,
            );
        }
        for (place, text) in y.ticks(8) {
            let at = top + (place * h as f64) as usize;
            canvas.rectangle([left - 5, at, 5, 1], [0; 3]);
            let right = (left - 8).saturating_sub(font::width(&text));
            canvas.text(right, at.saturating_sub(font::HEIGHT / 2), &text);
        }
        let (column, row) = (x.label(), y.label());
        let middle = left + (w / 2).saturating_sub(font::width(&column) / 2);
        canvas.text(middle, top + h + 30, &column);
        canvas.text_upwards(8, top + h / 2 + font::width(&row) / 2, &row);
        for (kind, text) in self.legend.iter().enumerate() {
            let (at, line) = (left + w + 14, top + 18 * kind);
            canvas.rectangle([at, line, 12, 12], colour::pick_colour(kind));
            canvas.text(at + 18, line + 3, text);
        }
        canvas.encoded()
    }

    /// Writes the picture in the format that the name asks for.
    pub(crate) fn write(&self, path: &Path) -> Result<(), FileError> {
        check_name(path)?;
        let failed = |what| FileError::format(path, what, "a picture the PNG encoder accepts");
        let bytes = match extension(path).as_str() {
            "svg" => self.svg().map_err(failed)?.into_bytes(),
            _ => self.png().map_err(failed)?,
        };
        write_whole(path, &bytes)
    }
}

/// Returns the cell of a row or column index.
fn cell(index: usize, side: usize, cells: usize) -> usize {
    // Sides are at most 2^31, cells fewer than 2^10.
    (index as u64 * cells as u64 / side.max(1) as u64) as usize
}

#[cfg(test)]
mod tests;
