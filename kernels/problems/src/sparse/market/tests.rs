//! Reading of Matrix Market texts: all formats, errors, hostile input.

use super::*;
use crate::sparse::MatrixEntries;
use num_complex::{Complex32, Complex64};
use proptest::prelude::*;

fn read(text: &str) -> Result<SparseMatrix, String> {
    read_market(&mut text.as_bytes(), 1 << 31).map_err(|e| e.to_string())
}

fn dense(text: &str) -> Vec<Vec<Complex32>> {
    let a = read(text).unwrap();
    let row = |i| {
        let mut row = vec![Complex32::default(); a.cols()];
        a.row(i).for_each(|(j, z)| row[j] = z);
        row
    };
    (0..a.rows()).map(row).collect()
}

fn reals(text: &str) -> Vec<Vec<f32>> {
    let rows = dense(text).into_iter();
    rows.map(|row| row.into_iter().map(|z| z.re).collect())
        .collect()
}

#[test]
fn every_kind_of_text() {
    let c = |rest: &str| format!("%%MatrixMarket matrix {rest}");
    let general = c("coordinate real general\n2 3 3\n1 1 1.5\n2 3 -2e0\n1 3 .25\n");
    assert_eq!(reals(&general), [[1.5, 0.0, 0.25], [0.0, 0.0, -2.0]]);
    let symmetric = c("coordinate integer symmetric\n2 2 2\n1 1 -7\n2 1 3\n");
    assert_eq!(reals(&symmetric), [[-7.0, 3.0], [3.0, 0.0]]);
    assert_eq!(read(&symmetric).unwrap().symmetry(), Symmetry::Symmetric);
    // SciPy writes arrays of uint32 in this way.
    let unsigned = c("coordinate unsigned-integer general\n%\n2 2 3\n1 1 1\n1 2 2\n2 2 3\n");
    assert_eq!(reals(&unsigned), [[1.0, 2.0], [0.0, 3.0]]);
    // Integers of any length are rounded like real numbers.
    let digits = [
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "+100000000000000000000000000000001",
        "-0",
    ];
    for field in ["integer", "real"] {
        let lines: Vec<String> = digits.iter().map(|digits| format!("{digits}\n")).collect();
        let text = c(&format!(
            "array {field} general\n1 {}\n{}",
            digits.len(),
            lines.concat()
        ));
        let p63 = f32::powi(2.0, 63);
        assert_eq!(
            reals(&text)[0],
            [p63, p63, -p63, 2.0 * p63, 1e32, -0.0],
            "{field}"
        );
    }
    let skew = c("coordinate real skew-symmetric\n2 2 1\n2 1 3\n");
    assert_eq!(reals(&skew), [[0.0, -3.0], [3.0, 0.0]]);
    let pattern = c("coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n");
    assert_eq!(reals(&pattern), [[0.0, 1.0], [1.0, 1.0]]);
    assert!(read(&pattern).unwrap().is_pattern());
    let z = Complex32::new;
    let hermitian = c("coordinate complex hermitian\n2 2 2\n1 1 4 0\n2 1 1 -2\n");
    assert_eq!(
        dense(&hermitian),
        [[z(4.0, 0.0), z(1.0, 2.0)], [z(1.0, -2.0), z(0.0, 0.0)]]
    );
    let complex = c("coordinate complex symmetric\n2 2 1\n2 1 1 -2\n");
    assert_eq!(dense(&complex)[0][1], z(1.0, -2.0));
    // The numbers of an array are column by column.
    assert_eq!(
        reals(&c("array real general\n2 3\n1\n2\n3\n4\n5\n0\n")),
        [[1.0, 3.0, 5.0], [2.0, 4.0, 0.0]]
    );
    assert_eq!(
        read(&c("array real general\n2 3\n1\n2\n3\n4\n5\n0\n"))
            .unwrap()
            .nnz(),
        6
    );
    let lower = c("array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n");
    assert_eq!(
        reals(&lower),
        [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]]
    );
    let below = c("array real skew-symmetric\n3 3\n1\n2\n3\n");
    assert_eq!(
        reals(&below),
        [[0.0, -1.0, -2.0], [1.0, 0.0, -3.0], [2.0, 3.0, 0.0]]
    );
    assert_eq!(reals(&c("array real skew-symmetric\n1 1\n")), [[0.0]]);
    let both = c("array complex hermitian\n2 2\n1 0\n2 3\n4 0\n");
    assert_eq!(
        dense(&both),
        [[z(1.0, 0.0), z(2.0, -3.0)], [z(2.0, 3.0), z(4.0, 0.0)]]
    );
    assert_eq!(
        read(&c("coordinate real general\n3 3 0\n")).unwrap().nnz(),
        0
    );
}

/// Letter case, blanks, comments and line ends may be as found in files.
#[test]
fn how_texts_are_written() {
    let plain =
        read("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 1.5\n2 1 -300\n").unwrap();
    for text in [
        "%%matrixmarket MATRIX Coordinate REAL General\r\n% a comment\r\n\r\n2 2 2\r\n1 2 1.5\r\n2 1 -3e2\r\n",
        "%%MatrixMarket  matrix\tcoordinate real general \n%\n   % more\n  2 2\t2 \n\n 1   2 +1.5\n% within\n2 1 -3.0D+2",
        "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 1 -200\n1 2 1.5\n2 1 -100\n\n\n% end\n",
        "\u{feff}%%MatrixMarket matrix coordinate real general\r\r\n2 2 2\r\n1 2 1.5\r\n2 1 -300\r",
    ] {
        assert_eq!(read(text).as_ref(), Ok(&plain), "{text}");
    }
    let mut latin =
        b"%%MatrixMarket matrix coordinate real general\n% J\xfcrgen\n2 2 2\n1 2 1.5\n2 1 -300\n"
            .to_vec();
    assert_eq!(read_market(&mut &latin[..], 9).unwrap(), plain);
    latin.truncate(70);
    assert!(read_market(&mut &latin[..], 9).is_err());
    let odd =
        read("%%MatrixMarket matrix coordinate real general\n1 3 3\n1 1 inf\n1 2 nan\n1 3 0\n")
            .unwrap();
    match odd.coefficients() {
        MatrixEntries::Real(a) => assert!(a[0] == f32::INFINITY && a[1].is_nan() && a[2] == 0.0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let real = "%%MatrixMarket matrix coordinate real general\n";
    let symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
    let hermitian = "%%MatrixMarket matrix coordinate complex hermitian\n";
    for (start, rest, said) in [
        ("", "", "line 1: the first line"),
        (
            "",
            "1 1 1\n",
            "line 1: the first line: found `1 1 1`; expected `%%MatrixMarket",
        ),
        (
            "%%MatrixMarket matrix coordinate real\n",
            "1 1 0\n",
            "line 1",
        ),
        (
            "%%MatrixMarket vector coordinate real general\n",
            "1 1 0\n",
            "line 1",
        ),
        (
            "%%MatrixMarket matrix coordinate nonreal notgeneral\n",
            "1 1 0\n",
            "line 1",
        ),
        (
            "%%MatrixMarket matrix array pattern general\n",
            "1 1\n",
            "line 1: an array",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern skew-symmetric\n",
            "1 1 0\n",
            "line 1: a pattern",
        ),
        (
            "%%MatrixMarket matrix coordinate real hermitian\n",
            "1 1 0\n",
            "line 1: a hermitian matrix",
        ),
        (
            real,
            "",
            "line 1: the line of sizes: found `the end of the text`; expected three numbers",
        ),
        (real, "% only\n\n", "line 3: the line of sizes"),
        (real, "5 x 5 8\n", "line 2: the line of sizes"),
        (real, "5 5\n", "line 2: the line of sizes"),
        (real, "5 5 -1\n", "line 2: the line of sizes"),
        (
            real,
            "0 5 0\n",
            "line 2: the line of sizes: found `0 5 0`; expected at least one",
        ),
        (
            real,
            "99999999999999999999 5 1\n",
            "line 2: the line of sizes",
        ),
        (
            real,
            "4294967296 4294967296 999999999999\n",
            "line 2: the line of sizes: found `4294967296 4294967296 999999999999`; expected at most 2147483648",
        ),
        (
            real,
            "5 5 999999999999999999\n1 1 1\n",
            "line 3: the text ends behind 1 of 999999999999999999 entries",
        ),
        (
            real,
            "2 2 2\n1 1 1\n",
            "line 3: the text ends behind 1 of 2",
        ),
        (
            real,
            "2 2 1\n1 1 1\n\n2 2 1\n",
            "line 5: a line behind the last entry: found `2 2 1`; expected the end of the text: 1 entries are declared in line 2",
        ),
        (
            real,
            "2 2 1\n0 1 1\n",
            "line 3: a row: found `0`; expected 1 to 2",
        ),
        (real, "2 2 1\n3 1 1\n", "line 3: a row: found `3`"),
        (
            real,
            "2 2 1\n1 3 1\n",
            "line 3: a column: found `3`; expected 1 to 2",
        ),
        (real, "2 2 1\n1 -1 1\n", "line 3: a column: found `-1`"),
        (real, "2 2 1\n1 1.0 1\n", "line 3: a column"),
        (
            real,
            "2 2 1\n1 1\n",
            "line 3: an entry: found `1 1`; expected row, column, number",
        ),
        (real, "2 2 1\n1 1 1 1\n", "line 3: an entry"),
        (real, "2 2 1\n1 1 one\n", "line 3: a number: found `one`"),
        (
            real,
            "2 2 1\n1 1 1e400\n",
            "line 3: a number: found `1e400`; expected at most 3.4",
        ),
        (real, "2 2 1\n1 1 1e39\n", "line 3: a number"),
        (real, "2 2 1\n1 1 \u{fe}\n", "line 3: a number"),
        (
            "%%MatrixMarket matrix coordinate integer general\n",
            "2 2 1\n1 1 1.5\n",
            "line 3: an integer: found `1.5`; expected digits, with a sign if it is negative",
        ),
        (
            "%%MatrixMarket matrix coordinate integer general\n",
            "2 2 1\n1 1 -\n",
            "line 3: an integer: found `-`; expected digits",
        ),
        (
            "%%MatrixMarket matrix coordinate integer general\n",
            "2 2 1\n1 1 400000000000000000000000000000000000000\n",
            "line 3: a number: found `400000000000000000000000000000000000000`; expected at most 3.4",
        ),
        (
            "%%MatrixMarket matrix coordinate unsigned-integer general\n",
            "2 2 1\n1 1 -1\n",
            "line 3: an integer: found `-1`; expected digits: an unsigned integer",
        ),
        (
            "%%MatrixMarket matrix coordinate unsigned-integer hermitian\n",
            "1 1 0\n",
            "line 1: a hermitian matrix",
        ),
        (
            "%%MatrixMarket matrix coordinate real general\r2 2 1\r",
            "1 1 1\r",
            "line 1: the end of a line: found `a carriage return alone`; expected a line feed",
        ),
        (
            real,
            "% comment\r2 2 1\n",
            "line 2: the end of a line: found `a carriage return alone`",
        ),
        (
            "\u{feff}\u{feff}",
            "%%MatrixMarket matrix coordinate real general\n",
            "line 1: the first line: found `\u{feff}%%",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern general\n",
            "2 2 1\n1 1 1\n",
            "line 3: an entry: found `1 1 1`; expected row and column",
        ),
        (
            "%%MatrixMarket matrix array real general\n",
            "2 1\n1\n",
            "line 3: the text ends behind 1 of 2",
        ),
        (
            "%%MatrixMarket matrix array real general\n",
            "2 1\n1 2\n",
            "line 3: an entry",
        ),
        (
            symmetric,
            "2 3 1\n1 1 1\n",
            "line 2: the sizes of a matrix with a symmetry",
        ),
        (
            symmetric,
            "2 2 1\n1 2 1\n",
            "line 3: an entry above the diagonal",
        ),
        (
            hermitian,
            "2 2 1\n1 1 1 1\n",
            "line 3: an entry on the diagonal: found `1 1 1 1`; expected a real number",
        ),
        (
            "%%MatrixMarket matrix coordinate real skew-symmetric\n",
            "2 2 1\n1 1 1\n",
            "line 3: an entry on the diagonal",
        ),
    ] {
        let found = read(&format!("{start}{rest}")).unwrap_err();
        assert!(found.starts_with(said), "{rest:?}: {found}");
    }
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        for mark in ["", "\u{feff}"] {
            let text = format!("{mark}{real}1 1 0\n");
            let wide: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
            let said = read_market(&mut &wide[..], 9).unwrap_err().to_string();
            assert_eq!(
                said,
                "line 1: the first line: found `UTF-16 text`; expected UTF-8 or plain ASCII, as other tools write it"
            );
        }
    }
    // A line that never ends is not read to its end.
    let endless = &mut std::io::BufReader::new(std::io::repeat(b'%'));
    let said = read_market(endless, 9).unwrap_err().to_string();
    assert!(
        said.starts_with("line 1: a line of more than 65536 bytes"),
        "{said}"
    );
}

/// Builds a text of entries below the diagonal that another library's reader accepts too. Its numbers are
/// multiples of 1/4, so that sums of duplicates are exact in any order.
fn text(field: &str, symmetry: &str, n: usize, entries: &[(usize, usize, i32, i32)]) -> String {
    let mut lines = Vec::new();
    for &(i, j, a, b) in entries {
        let (i, j) = (i % n, j % n);
        let (i, j) = match symmetry {
            "general" => (i, j),
            _ => (i.max(j), i.min(j)),
        };
        if i == j && symmetry == "skew-symmetric" {
            continue;
        }
        let b = if i == j && symmetry == "hermitian" {
            0
        } else {
            b
        };
        let value = match field {
            "integer" => format!(" {a}"),
            "real" => format!(" {}.0e-2", 100 * a + 25 * b),
            "complex" if b == 0 => format!(" {a} 0"),
            "complex" => format!(" {a} {b}.5"),
            _ => String::new(),
        };
        lines.push(format!("{} {}{value}\n", i + 1, j + 1));
    }
    let head = format!(
        "%%MatrixMarket matrix coordinate {field} {symmetry}\n{n} {n} {}\n",
        lines.len()
    );
    head + &lines.concat()
}

/// Reads a text with another library, by rows and rounded.
fn theirs<N>(text: &str, wide: impl Fn(&N) -> Complex64) -> Vec<(usize, usize, Complex32)>
where
    N: sprs::num_kinds::PrimitiveKind
        + sprs::num_matrixmarket::MatrixMarketRead
        + sprs::num_matrixmarket::MatrixMarketConjugate
        + std::ops::Neg<Output = N>
        + Clone,
{
    let all: sprs::TriMatI<N, usize> =
        sprs::io::read_matrix_market_from_bufread(&mut text.as_bytes()).unwrap();
    let mut sums = sprs::TriMat::new((all.rows(), all.cols()));
    all.triplet_iter()
        .for_each(|(a, (i, j))| sums.add_triplet(i, j, wide(a)));
    let sums: sprs::CsMat<Complex64> = sums.to_csr();
    sums.iter()
        .map(|(z, (i, j))| (i, j, Complex32::new(z.re as f32, z.im as f32)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// A text that another library's reader accepts is read equally.
    #[test]
    fn texts_are_read_as_by_others(
        n in 1usize..8,
        entries in prop::collection::vec((0usize..8, 0usize..8, -9i32..9, -9i32..9), 0..30),
        field in 0usize..3,
        symmetry in 0usize..4,
    ) {
        let symmetry = ["general", "symmetric", "skew-symmetric", "hermitian"][symmetry];
        let field = if symmetry == "hermitian" { "complex" } else { ["real", "integer", "complex"][field] };
        let text = text(field, symmetry, n, &entries);
        let theirs = match field {
            "real" => theirs::<f64>(&text, |&a| a.into()),
            "integer" => theirs::<i64>(&text, |&a| (a as f64).into()),
            _ => theirs::<Complex64>(&text, |&z| z),
        };
        let ours = read(&text).unwrap();
        let ours: Vec<_> = (0..n).flat_map(|i| ours.row(i).map(move |(j, z)| (i, j, z)).collect::<Vec<_>>()).collect();
        prop_assert_eq!(ours, theirs);
    }

    /// No text causes any failure but an error.
    #[test]
    fn no_text_is_fatal(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..100, at in 0usize..80, byte in any::<u8>()) {
        let _ = read_market(&mut &bytes[..], 1 << 20);
        let mut good = text("real", "symmetric", 5, &[(0, 1, 3, 4), (2, 2, 1, 1), (4, 3, 0, 0)]).into_bytes();
        if let Some(place) = good.get_mut(at) {
            *place = byte;
        }
        good.truncate(cut);
        let _ = read_market(&mut &good[..], 1 << 20);
    }
}
