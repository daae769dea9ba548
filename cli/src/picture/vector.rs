//! SVG pictures: the coloured area is an embedded image, the rest is vectors.

use super::{HeatMap, MARK_RADIUS, PictureLayout, PlotAxis, colour, raster};
use std::fmt::Write as _;

/// Draws the whole picture as SVG.
pub(super) fn svg(field: &HeatMap) -> Result<String, String> {
    let layout = PictureLayout::new(field);
    let PictureLayout {
        width,
        height,
        plot: [left, top, w, h],
        bar: [bar, bar_w],
        ..
    } = layout;
    let image = base64(&raster::encode(
        field.columns,
        field.rows,
        &raster::cells(field),
    )?);
    let (low, high) = field.scale();
    let mut out = String::new();
    let mut line =
        |text: std::fmt::Arguments<'_>| writeln!(out, "{text}").map_err(|e| e.to_string());
    line(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">"#
    ))?;
    line(format_args!(
        r#"<rect width="{width}" height="{height}" fill="white"/>"#
    ))?;
    line(format_args!(
        r#"<text x="{left}" y="20" font-size="13">{}</text>"#,
        escape(&field.title)
    ))?;
    line(format_args!(
        r#"<image x="{left}" y="{top}" width="{w}" height="{h}" preserveAspectRatio="none" style="image-rendering:pixelated" href="data:image/png;base64,{image}"/>"#
    ))?;
    line(format_args!(
        r#"<defs><linearGradient id="scale" x1="0" y1="1" x2="0" y2="0">"#
    ))?;
    for i in 0..=8 {
        let t = f64::from(i) / 8.0;
        let [r, g, b] = colour::viridis(t);
        line(format_args!(
            r#"<stop offset="{t}" stop-color="rgb({r},{g},{b})"/>"#
        ))?;
    }
    line(format_args!("</linearGradient></defs>"))?;
    line(format_args!(
        r#"<rect x="{bar}" y="{top}" width="{bar_w}" height="{h}" fill="url(#scale)" stroke="black"/>"#
    ))?;
    line(format_args!(
        r#"<rect x="{left}" y="{top}" width="{w}" height="{h}" fill="none" stroke="black"/>"#
    ))?;
    line(format_args!(
        r#"<text x="{bar}" y="20">{}</text>"#,
        escape(&field.unit)
    ))?;
    let (middle, base) = (left + w / 2, top + h);
    line(format_args!(
        r#"<text x="{middle}" y="{}" text-anchor="middle">{}</text>"#,
        base + 40,
        escape(&field.x.label())
    ))?;
    let y = top + h / 2;
    line(format_args!(
        r#"<text x="16" y="{y}" text-anchor="middle" transform="rotate(-90 16 {y})">{}</text>"#,
        escape(&field.y.label())
    ))?;
    for (place, text) in field.x.ticks(6) {
        let x = left as f64 + place * w as f64;
        line(format_args!(
            r#"<path d="M{x:.1} {base}v5" stroke="black"/><text x="{x:.1}" y="{}" text-anchor="middle">{text}</text>"#,
            base + 18
        ))?;
    }
    let colours = PlotAxis::new("", "", f64::from(low), f64::from(high));
    for (axis, x, tick, anchor) in [
        (&field.y, left, -5, "end"),
        (&colours, bar + bar_w, 5, "start"),
    ] {
        for (place, text) in axis.ticks(8) {
            let y = base as f64 - place * h as f64;
            let at = x as f64 + 1.6 * f64::from(tick);
            line(format_args!(
                r#"<path d="M{x} {y:.1}h{tick}" stroke="black"/><text x="{at}" y="{:.1}" text-anchor="{anchor}">{text}</text>"#,
                y + 4.0
            ))?;
        }
    }
    for ([x, y], number) in layout.marks(field) {
        line(format_args!(
            r#"<circle cx="{x:.1}" cy="{y:.1}" r="{MARK_RADIUS}" fill="none" stroke="white" stroke-width="1.5"/><text x="{:.1}" y="{:.1}" fill="white">{number}</text>"#,
            x + MARK_RADIUS as f64 + 2.0,
            y - 2.0
        ))?;
    }
    line(format_args!("</svg>"))?;
    Ok(out)
}

/// Escapes text between tags.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Encodes bytes in base64 (RFC 4648, section 4).
pub(super) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0_usize, |w, i| {
            w << 8 | usize::from(chunk.get(i).copied().unwrap_or(0))
        });
        for digit in 0..4 {
            let value = word >> (18 - 6 * digit) & 63;
            out.push(if digit > chunk.len() {
                '='
            } else {
                char::from(DIGITS[value])
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_of_the_rfc() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
