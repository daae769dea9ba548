//! Tests of matrix pictures: entries, blocks, density, file formats.

use super::*;
use cp2_problems::sparse::{GeneratedMatrix, Pattern, Triplets};

fn small() -> SparseMatrix {
    let places = vec![(0, 0), (1, 3), (2, 1)];
    SparseMatrix::from_triplets(3, 4, &Triplets::Pattern(places)).unwrap()
}

fn decoded(bytes: &[u8]) -> (usize, Vec<u8>) {
    let decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width as usize, pixels)
}

/// Returns the pixel in the middle of a cell.
fn read_pixel(picture: &MatrixPicture, row: usize, column: usize) -> [u8; 3] {
    let (width, pixels) = decoded(&picture.png().unwrap());
    let layout = picture.layout();
    let x = layout.plot[0] + column * layout.cell[0] + layout.cell[0] / 2;
    let y = layout.plot[1] + row * layout.cell[1] + layout.cell[1] / 2;
    let at = (y * width + x) * 3;
    [pixels[at], pixels[at + 1], pixels[at + 2]]
}

#[test]
fn entries_are_where_they_are_row_0_at_the_top() {
    let picture = MatrixPicture::new("small".into(), &small());
    for (row, column) in (0..3).flat_map(|i| (0..4).map(move |j| (i, j))) {
        let there = [(0, 0), (1, 3), (2, 1)].contains(&(row, column));
        let expected = if there { [0; 3] } else { [255; 3] };
        assert_eq!(
            read_pixel(&picture, row, column),
            expected,
            "{row} {column}"
        );
    }
}

#[test]
fn blocks_are_tinted_and_outlined() {
    let block = |rows, columns, kind| LegendBlock {
        rows,
        columns,
        kind,
    };
    let blocks = vec![
        block(0..2, 1..9, 1),
        block(2..3, 0..0, 0),
        block(5..6, 0..1, 0),
    ];
    let legend = vec!["cells".to_owned(), "rows & <more>".to_owned()];
    let picture = MatrixPicture::new("a < b".into(), &small()).with_blocks(legend, blocks);
    let tint = colour::interpolate_colour([255; 3], colour::pick_colour(1), TINT);
    assert_eq!(read_pixel(&picture, 0, 1), tint);
    assert_eq!(read_pixel(&picture, 1, 3), [0; 3]);
    assert_eq!(read_pixel(&picture, 2, 1), [0; 3]);
    assert_eq!(read_pixel(&picture, 2, 3), [255; 3]);
    let text = picture.svg().unwrap();
    // Empty blocks and blocks beyond the matrix are not drawn.
    assert_eq!(text.matches(r#"fill="none" stroke="\#"#).count(), 0);
    assert_eq!(text.matches(r##"fill="none" stroke="#d55e00""##).count(), 1);
    assert_eq!(text.matches(r##"stroke="#0072b2""##).count(), 0);
    for part in ["rows &amp; &lt;more&gt;", "a &lt; b", "column", ">row<"] {
        assert!(text.contains(part), "{part}");
    }
}

/// Several entries share a cell, which is darker the more there are; no entry is lost, however narrow the
/// matrix.
#[test]
fn large_matrices_are_rasters_of_density() {
    let band = GeneratedMatrix::new(Pattern::Band, 100_000)
        .matrix()
        .unwrap();
    let picture = MatrixPicture::new("band".into(), &band);
    assert_eq!(picture.cells, [SIDE; 2]);
    let total: u64 = picture.counts.iter().map(|&count| u64::from(count)).sum();
    assert_eq!(total, band.nnz() as u64);
    let pixels = picture.pixels();
    let grey = |row: usize, column: usize| pixels[(row * SIDE + column) * 3];
    assert!(grey(300, 300) < 20 && grey(300, 310) == 255);
    // The few entries beside the diagonal's cells are visible as well.
    assert!((100..200).contains(&grey(300, 301)), "{}", grey(300, 301));
    let narrow = GeneratedMatrix {
        cols: 2,
        each: 1,
        ..GeneratedMatrix::new(Pattern::Random, 5000)
    };
    let picture = MatrixPicture::new("narrow".into(), &narrow.matrix().unwrap());
    assert_eq!(picture.cells, [SIDE, 1]);
    assert!(picture.layout().plot[2] >= LEAST);
}

#[test]
fn names_choose_the_format() {
    let dir = tempfile::tempdir().unwrap();
    let picture = MatrixPicture::new("small".into(), &small());
    let written = |name: &str| {
        let path = dir.path().join(name);
        picture.write(&path).map(|()| std::fs::read(&path).unwrap())
    };
    assert!(written("a.svg").unwrap().starts_with(b"<svg"));
    assert!(written("a.png").unwrap().starts_with(b"\x89PNG"));
    assert!(written("a.gif").is_err());
}
