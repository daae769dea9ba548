//! Colours of pictures: a scale of even perceived brightness, and a palette.

/// Nine points of the viridis scale (van der Walt and Smith, released into the public domain).
const VIRIDIS: [[u8; 3]; 9] = [
    [0x44, 0x01, 0x54],
    [0x47, 0x2d, 0x7b],
    [0x3b, 0x52, 0x8b],
    [0x2c, 0x72, 0x8e],
    [0x21, 0x91, 0x8c],
    [0x28, 0xae, 0x80],
    [0x5e, 0xc9, 0x62],
    [0xad, 0xdc, 0x30],
    [0xfd, 0xe7, 0x25],
];

/// Palette of Okabe and Ito, distinguishable for colour-blind readers.
pub(super) const APART: [[u8; 3]; 5] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0xe6, 0x9f, 0x00],
];

/// Returns colour `i` of the palette, cyclically.
pub(super) fn pick_colour(i: usize) -> [u8; 3] {
    APART[i % APART.len()]
}

/// Returns a colour in the notation of SVG.
pub(super) fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Interpolates between two colours; `part` is 0 for the first and 1 for the second.
pub(super) fn interpolate_colour(a: [u8; 3], b: [u8; 3], part: f64) -> [u8; 3] {
    std::array::from_fn(|c| {
        let (a, b) = (f64::from(a[c]), f64::from(b[c]));
        (a + (b - a) * part).round() as u8
    })
}

/// Returns the colour of `t`, 0 to 1. Values outside take the nearer end, a NaN the dark one.
pub(super) fn viridis(t: f64) -> [u8; 3] {
    let place = if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) } * (VIRIDIS.len() - 1) as f64;
    let low = (place as usize).min(VIRIDIS.len() - 2);
    interpolate_colour(VIRIDIS[low], VIRIDIS[low + 1], place - low as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brightness_rises_along_the_scale() {
        let luma = |c: [u8; 3]| {
            0.2126 * f64::from(c[0]) + 0.7152 * f64::from(c[1]) + 0.0722 * f64::from(c[2])
        };
        for i in 0..255 {
            assert!(
                luma(viridis(f64::from(i + 1) / 255.0)) > luma(viridis(f64::from(i) / 255.0)) - 0.7
            );
        }
        assert_eq!(viridis(f64::NAN), VIRIDIS[0]);
        assert_eq!(viridis(f64::NEG_INFINITY), VIRIDIS[0]);
        assert_eq!(viridis(7.0), VIRIDIS[8]);
    }
}
