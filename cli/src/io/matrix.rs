//! Reads sparse matrices from Matrix Market files.

use super::{FileError, check_extension, open};
use cp2_problems::sparse::{SparseMatrix, read_market};
use std::io::BufReader;
use std::path::Path;

/// Reads a Matrix Market file of at most `most_side` rows and columns. No memory is reserved for entries that
/// the file only declares.
pub(crate) fn read_matrix(path: &Path, most_side: usize) -> Result<SparseMatrix, FileError> {
    check_extension(path, "mtx", ".mtx")?;
    let mut text = BufReader::new(open(path)?);
    let matrix = read_market(&mut text, most_side).map_err(|source| FileError::Market {
        path: path.to_owned(),
        source,
    })?;
    let count = matrix.rounded_to_zero();
    if count > 0 {
        crate::say(&format!(
            "warning: {}: {count} of its numbers are too small for single precision and count as 0; multiply the matrix by a power of two, results come out multiplied by the same",
            path.display()
        ));
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_or_refused_with_name_and_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            let read = read_matrix(&path, 1000).map_err(|e| e.to_string());
            read.map_err(|e| e.replace(&dir.path().display().to_string(), ""))
        };
        let head = "%%MatrixMarket matrix coordinate real symmetric\n";
        let text = format!("{head}3 3 2\n1 1 2\n3 1 -1\n");
        let read = file("a.mtx", &text).unwrap();
        assert_eq!((read.rows(), read.nnz()), (3, 3));
        let said = file("a.mtx", &text.replace("3 1", "1 3")).unwrap_err();
        assert!(
            said.starts_with("/a.mtx: line 4: an entry above the diagonal: found `1 3 -1`"),
            "{said}"
        );
        let said = file("a.mtx", &format!("{head}1001 1001 0\n")).unwrap_err();
        assert!(
            said.contains("line 2") && said.contains("at most 1000 rows"),
            "{said}"
        );
        assert!(file("a.txt", &text).unwrap_err().contains("endings .mtx"));
        assert!(matches!(
            read_matrix(&dir.path().join("none.mtx"), 9),
            Err(FileError::System { .. })
        ));
        let folder = dir.path().join("folder.mtx");
        std::fs::create_dir(&folder).unwrap();
        assert!(matches!(
            read_matrix(&folder, 9),
            Err(FileError::Directory { .. })
        ));
    }
}
