//! PNG pictures: a canvas of pixels with lines, circles and text.

use super::{HeatMap, MARK_RADIUS, PictureLayout, colour, font};

/// Encodes RGB pixels as PNG.
pub(super) fn encode(width: usize, height: usize, pixels: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let size = |n: usize| u32::try_from(n).map_err(|e| e.to_string());
    let mut encoder = png::Encoder::new(&mut bytes, size(width)?, size(height)?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
    writer.write_image_data(pixels).map_err(|e| e.to_string())?;
    writer.finish().map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// Returns the coloured area alone, one pixel per cell, top row first.
pub(super) fn cells(field: &HeatMap) -> Vec<u8> {
    let scale = field.scale();
    (0..field.rows)
        .rev()
        .flat_map(|row| (0..field.columns).flat_map(move |column| field.colour(column, row, scale)))
        .collect()
}

pub(super) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    /// Makes a white canvas.
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            pixels: vec![255; width * height * 3],
        }
    }

    /// Encodes the canvas as a PNG file.
    pub(super) fn encoded(&self) -> Result<Vec<u8>, String> {
        encode(self.width, self.height, &self.pixels)
    }

    fn dot(&mut self, x: usize, y: usize, colour: [u8; 3]) {
        if x < self.width && y < self.height {
            let at = (y * self.width + x) * 3;
            self.pixels[at..at + 3].copy_from_slice(&colour);
        }
    }

    pub(super) fn rectangle(&mut self, [x, y, w, h]: [usize; 4], colour: [u8; 3]) {
        for j in y..y + h {
            for i in x..x + w {
                self.dot(i, j, colour);
            }
        }
    }

    pub(super) fn frame(&mut self, [x, y, w, h]: [usize; 4]) {
        let black = [0; 3];
        self.rectangle([x - 1, y - 1, w + 2, 1], black);
        self.rectangle([x - 1, y + h, w + 2, 1], black);
        self.rectangle([x - 1, y - 1, 1, h + 2], black);
        self.rectangle([x + w, y - 1, 1, h + 2], black);
    }

    pub(super) fn text(&mut self, x: usize, y: usize, text: &str) {
        self.coloured(x, y, text, [0; 3]);
    }

    fn coloured(&mut self, x: usize, y: usize, text: &str, colour: [u8; 3]) {
        for (i, c) in text.chars().enumerate() {
            for (column, bits) in font::glyph(c).iter().enumerate() {
                for row in (0..8).filter(|row| bits >> row & 1 == 1) {
                    self.dot(x + i * font::ADVANCE + column, y + row, colour);
                }
            }
        }
    }

    /// Draws a circle one pixel wide.
    fn ring(&mut self, [x, y]: [usize; 2], radius: usize, colour: [u8; 3]) {
        let square = |d: usize| (d * d) as f64;
        for j in 0..=2 * radius {
            for i in 0..=2 * radius {
                let far = square(i.abs_diff(radius)) + square(j.abs_diff(radius));
                if (far.sqrt() - radius as f64).abs() < 0.6 {
                    self.dot(
                        (x + i).wrapping_sub(radius),
                        (y + j).wrapping_sub(radius),
                        colour,
                    );
                }
            }
        }
    }

    /// Draws text that reads upwards; its end is at the top.
    pub(super) fn text_upwards(&mut self, x: usize, bottom: usize, text: &str) {
        for (i, c) in text.chars().enumerate() {
            for (column, bits) in font::glyph(c).iter().enumerate() {
                for row in (0..8).filter(|row| bits >> row & 1 == 1) {
                    self.dot(
                        x + row,
                        bottom.saturating_sub(i * font::ADVANCE + column),
                        [0; 3],
                    );
                }
            }
        }
    }
}

/// Draws the whole picture and encodes it.
pub(super) fn png(field: &HeatMap) -> Result<Vec<u8>, String> {
    let layout = PictureLayout::new(field);
    let PictureLayout {
        width,
        height,
        plot: plot @ [left, top, w, h],
        bar: [bar, bar_w],
        cell,
    } = layout;
    let mut canvas = Canvas::new(width, height);
    let scale = field.scale();
    for row in 0..field.rows {
        for column in 0..field.columns {
            let y = top + h - (row + 1) * cell[1];
            canvas.rectangle(
                [left + column * cell[0], y, cell[0], cell[1]],
                field.colour(column, row, scale),
            );
        }
    }
    for y in 0..h {
        canvas.rectangle(
            [bar, top + y, bar_w, 1],
            colour::viridis(1.0 - y as f64 / h as f64),
        );
    }
    canvas.frame(plot);
    canvas.frame([bar, top, bar_w, h]);
    canvas.text(left, 12, &field.title);
    let label = field.x.label();
    canvas.text(
        left + (w / 2).saturating_sub(font::width(&label) / 2),
        top + h + 30,
        &label,
    );
    let label = field.y.label();
    canvas.text_upwards(8, top + h / 2 + font::width(&label) / 2, &label);
    for (place, text) in field.x.ticks(6) {
        let x = left + (place * w as f64) as usize;
        canvas.rectangle([x, top + h, 1, 5], [0; 3]);
        canvas.text(
            x.saturating_sub(font::width(&text) / 2),
            top + h + 10,
            &text,
        );
    }
    for (place, text) in field.y.ticks(8) {
        let y = top + h - (place * h as f64) as usize;
        canvas.rectangle([left - 5, y, 5, 1], [0; 3]);
        canvas.text(
            (left - 8).saturating_sub(font::width(&text)),
            y.saturating_sub(font::HEIGHT / 2),
            &text,
        );
    }
    let axis = super::PlotAxis::new("", "", f64::from(scale.0), f64::from(scale.1));
    for (place, text) in axis.ticks(8) {
        let y = top + h - (place * h as f64) as usize;
        canvas.rectangle([bar + bar_w, y, 5, 1], [0; 3]);
        canvas.text(bar + bar_w + 8, y.saturating_sub(font::HEIGHT / 2), &text);
    }
    canvas.text(bar, 12, &field.unit);
    for ([x, y], number) in layout.marks(field) {
        let (at, white) = ([x as usize, y as usize], [255; 3]);
        canvas.ring(at, MARK_RADIUS, white);
        let right = at[0] + MARK_RADIUS + 2;
        canvas.coloured(
            right,
            at[1].saturating_sub(font::HEIGHT),
            &number.to_string(),
            white,
        );
    }
    canvas.encoded()
}
