//! Reader of Matrix Market files (.mtx), with errors by line.
//!
//! Formats are `coordinate` and `array`, numbers `real`, `integer` (or `unsigned-integer`), `complex` and
//! `pattern`, symmetries `general`, `symmetric`, `skew-symmetric` and `hermitian` (Boisvert, Pozo and
//! Remington, *The Matrix Market Exchange Formats*, NISTIR 5935, 1996).
//!
//! # Why not the reader of `sprs`
//!
//! `sprs::io::read_matrix_market` (0.11.6) reads coordinates of each field, but its caller has to know the
//! field before it reads the header, and it trusts its input:
//!
//! * it never returns from a text that ends before its sizes (its loop over comments does not check for the
//!   end);
//! * it reserves memory for as many entries as are declared, so that `5 5 999999999999999` ends the process,
//!   and twice that wraps around;
//! * indices beyond the sizes are an assertion that fails: a panic;
//! * words among the sizes that are no numbers are skipped (`5 x 5 8`), as are lines beyond the last entry;
//! * the header may have its words anywhere (`coordinate nonreal notgeneral` is a general real matrix);
//! * entries above the diagonal of a symmetric matrix are mirrored, and so added to those below;
//! * `array` is refused, and errors have no line number.
//!
//! Checking all that before `sprs` sees a text would take a second reader. Tests compare this reader with
//! that of `sprs`.

mod entries;
mod lines;
#[cfg(test)]
mod tests;

use super::{MatrixError, SparseMatrix, Symmetry, Triplets};
use entries::{Cursor, Entries};
use lines::{MarketLine, MarketLines};
use std::io::{self, BufRead};

/// Reason why a text is no matrix. Lines count from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarketError {
    /// The text cannot be read.
    #[error("line {line}: {source}")]
    Read {
        /// Number of the line.
        line: usize,
        /// The cause.
        source: io::Error,
    },
    /// A line holds something unexpected.
    #[error("line {line}: {what}: found `{found}`; expected {expected}")]
    Line {
        /// Number of the line.
        line: usize,
        /// The element that should be there.
        what: &'static str,
        /// The text that is there.
        found: String,
        /// The values that are allowed.
        expected: String,
    },
    /// The text ends too early.
    #[error(
        "line {line}: the text ends behind {found} of {expected} entries; the line of sizes declares more than there are, or the file was cut off"
    )]
    Ended {
        /// Number of the last line.
        line: usize,
        /// Entries that were read.
        found: u64,
        /// Entries that were declared.
        expected: u64,
    },
    /// The sizes are invalid, or the entries together are.
    #[error("line {line}: {source}")]
    Matrix {
        /// Number of the line with the sizes.
        line: usize,
        /// The cause.
        source: MatrixError,
    },
}

/// Type of the numbers, as the header declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarketField {
    Real,
    Integer,
    Unsigned,
    Complex,
    Pattern,
}

/// The header line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MarketHeader {
    /// True for coordinates of entries, false for arrays of all entries column by column.
    coordinate: bool,
    field: MarketField,
    symmetry: Symmetry,
}

const HEADER: &str = "`%%MatrixMarket matrix coordinate|array real|integer|unsigned-integer|complex|pattern general|symmetric|skew-symmetric|hermitian`";

impl MarketHeader {
    fn parse_line(line: &MarketLine) -> Result<Self, MarketError> {
        let wrong = || line.make_error("the first line", HEADER);
        let words: Vec<String> = line
            .words()
            .map(|word| String::from_utf8_lossy(word).to_ascii_lowercase())
            .collect();
        let [mark, object, format, field, symmetry] = &words[..] else {
            return Err(wrong());
        };
        if mark != "%%matrixmarket" || object != "matrix" {
            return Err(wrong());
        }
        let coordinate = match &**format {
            "coordinate" => true,
            "array" => false,
            _ => return Err(wrong()),
        };
        let field = match &**field {
            "real" => MarketField::Real,
            "integer" => MarketField::Integer,
            // SciPy's name of the type.
            "unsigned-integer" => MarketField::Unsigned,
            "complex" => MarketField::Complex,
            "pattern" => MarketField::Pattern,
            _ => return Err(wrong()),
        };
        let symmetry = Symmetry::find(symmetry).ok_or_else(wrong)?;
        match (field, symmetry) {
            (MarketField::Pattern, _) if !coordinate => {
                Err(line.make_error("an array", "numbers: a pattern has coordinates"))
            }
            (MarketField::Pattern, Symmetry::Skew) => Err(line.make_error(
                "a pattern",
                "general or symmetric: ones have no sign to change",
            )),
            (
                MarketField::Real
                | MarketField::Integer
                | MarketField::Unsigned
                | MarketField::Pattern,
                Symmetry::Hermitian,
            ) => Err(line.make_error(
                "a hermitian matrix",
                "complex numbers: among real ones it is symmetric",
            )),
            _ => Ok(Self {
                coordinate,
                field,
                symmetry,
            }),
        }
    }
}

/// Reads the matrix of a text, with at most `most_side` rows and columns. All entries are stored, also those
/// of a symmetric matrix above the diagonal; the numbers of an array are entries even if they are 0.
///
/// ```
/// let text = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 2.5\n3 1 -1\n";
/// let matrix = cp2_problems::sparse::read_market(&mut text.as_bytes(), 1 << 20)?;
/// assert_eq!((matrix.rows(), matrix.nnz()), (3, 3));
/// let wrong = cp2_problems::sparse::read_market(&mut text.replace("3 1", "4 1").as_bytes(), 1 << 20);
/// assert_eq!(wrong.unwrap_err().to_string(), "line 4: a row: found `4`; expected 1 to 3");
/// # Ok::<(), cp2_problems::sparse::MarketError>(())
/// ```
///
/// # Errors
/// The text is no matrix; the error has the line.
pub fn read_market(text: &mut dyn BufRead, most_side: usize) -> Result<SparseMatrix, MarketError> {
    let mut lines = MarketLines::new(text);
    let header = match lines.next(false)? {
        Some(line) => MarketHeader::parse_line(&line)?,
        None => {
            return Err(MarketError::Line {
                line: 1,
                what: "the first line",
                found: String::new(),
                expected: HEADER.to_owned(),
            });
        }
    };
    let Some(line) = lines.next(true)? else {
        return Err(MarketError::Line {
            line: lines.number(),
            what: "the line of sizes",
            found: "the end of the text".to_owned(),
            expected: describe_sizes(header).to_owned(),
        });
    };
    let at = line.number;
    let (rows, cols, declared) = sizes(header, &line, most_side)?;
    let failed = |source| MarketError::Matrix { line: at, source };
    let mut entries = Entries::new(header, rows, cols, declared);
    let mut cursor = Cursor::new(header, rows);
    for found in 0..declared {
        let Some(line) = lines.next(true)? else {
            return Err(MarketError::Ended {
                line: lines.number(),
                found,
                expected: declared,
            });
        };
        entries.add(&line, &mut cursor)?;
    }
    if let Some(line) = lines.next(true)? {
        return Err(line.make_error(
            "a line behind the last entry",
            &format!("the end of the text: {declared} entries are declared in line {at}"),
        ));
    }
    let triplets: Triplets = entries.into();
    let matrix = SparseMatrix::from_triplets(rows, cols, &triplets).map_err(failed)?;
    matrix.declared(header.symmetry).map_err(failed)
}

fn describe_sizes(header: MarketHeader) -> &'static str {
    match header.coordinate {
        true => "three numbers: rows, columns, entries",
        false => "two numbers: rows, columns",
    }
}

/// Reads rows, columns, and the number of entries that follow.
fn sizes(
    header: MarketHeader,
    line: &MarketLine,
    most_side: usize,
) -> Result<(usize, usize, u64), MarketError> {
    let wrong = || line.make_error("the line of sizes", describe_sizes(header));
    let numbers: Option<Vec<u64>> = line.words().map(lines::number).collect();
    let numbers = numbers.ok_or_else(wrong)?;
    let (rows, cols, declared) = match (header.coordinate, &numbers[..]) {
        (true, &[rows, cols, entries]) => (rows, cols, Some(entries)),
        (false, &[rows, cols]) => (rows, cols, None),
        _ => return Err(wrong()),
    };
    let too_large = || {
        line.make_error(
            "the line of sizes",
            &format!("at most {most_side} rows and columns"),
        )
    };
    let side = |side: u64| {
        usize::try_from(side)
            .ok()
            .filter(|&side| side <= most_side)
            .ok_or_else(too_large)
    };
    let (height, width) = (side(rows)?, side(cols)?);
    if rows == 0 || cols == 0 {
        return Err(line.make_error("the line of sizes", "at least one row and one column"));
    }
    if header.symmetry != Symmetry::General && rows != cols {
        return Err(line.make_error(
            "the sizes of a matrix with a symmetry",
            "as many rows as columns",
        ));
    }
    // Sides fit 32 bits or little more, so these products fit 64 bits.
    let declared = declared.or_else(|| match header.symmetry {
        Symmetry::General => rows.checked_mul(cols),
        Symmetry::Skew => rows.checked_mul(rows - 1).map(|n| n / 2),
        Symmetry::Symmetric | Symmetry::Hermitian => {
            rows.checked_mul(rows.checked_add(1)?).map(|n| n / 2)
        }
    });
    let declared = declared.ok_or_else(too_large)?;
    Ok((height, width, declared))
}
