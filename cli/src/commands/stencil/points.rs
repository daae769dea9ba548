//! The points of a stencil, by their number or from a file.

use crate::commands::read_text;
use crate::outcome::CommandFailure;
use cp2_problems::stencil::{StencilPoint, StencilShape};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The `--points` option.
#[derive(Clone, Debug)]
pub(super) enum Points {
    /// Number of points, which names a standard stencil.
    Number(usize),
    /// File with one point on every line.
    File(PathBuf),
}

impl FromStr for Points {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(points) if [5, 7, 9, 19, 27].contains(&points) => Ok(Self::Number(points)),
            Ok(_) => {
                Err("expected 5 or 9 (two dimensions), 7, 19 or 27 (three), or a file".to_owned())
            }
            Err(_) => Ok(Self::File(text.into())),
        }
    }
}

impl Points {
    /// Returns the standard stencil across faces for an array with that many axes; of three axes if unknown.
    pub(super) fn from_axes(axes: Option<usize>) -> Self {
        Self::Number(if axes == Some(2) { 5 } else { 7 })
    }

    /// Returns the file, if there is one.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::Number(_) => None,
            Self::File(path) => Some(path),
        }
    }

    /// Loads the stencil, with coefficients for its classes of points if they are given.
    pub(super) fn load(&self, classes: Option<&[f32]>) -> Result<StencilShape, CommandFailure> {
        match self {
            Self::Number(points) => {
                StencilShape::from_classes(*points, classes).map_err(CommandFailure::input)
            }
            Self::File(path) if classes.is_some() => Err(CommandFailure::in_file(
                path,
                "has coefficients of its own; leave --coefficients out, or give the number of points",
            )),
            Self::File(path) => read(path),
        }
    }
}

/// Reads a stencil from lines `[plane] row column coefficient`; a # starts a comment.
fn read(path: &Path) -> Result<StencilShape, CommandFailure> {
    let text = read_text(path)?;
    let (mut axes, mut points) = (None, Vec::new());
    let mut last = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<&str> = line
            .split('#')
            .next()
            .unwrap_or("")
            .split_whitespace()
            .collect();
        let wrong =
            |what: String| CommandFailure::input(format!("{}:{number}: {what}", path.display()));
        if line.contains('\r') {
            let what = "a carriage return alone; expected line feeds between lines";
            return Err(wrong(what.to_owned()));
        }
        let Some((coefficient, offsets)) = words.split_last() else {
            continue;
        };
        last = number;
        if !(2..=3).contains(&offsets.len()) || axes.is_some_and(|axes| axes != offsets.len()) {
            let expected = match axes {
                Some(axes) => format!("{axes}, as in the lines before"),
                None => "2 or 3, slowest axis first".to_owned(),
            };
            return Err(wrong(format!(
                "{} offsets before the coefficient; expected {expected}",
                offsets.len()
            )));
        }
        axes = Some(offsets.len());
        let mut offset = [0; 3];
        for (axis, word) in (3 - offsets.len()..).zip(offsets) {
            let near = word.parse().ok().filter(|d: &i8| (-1..=1).contains(d));
            offset[axis] =
                near.ok_or_else(|| wrong(format!("offset `{word}`; expected -1, 0 or 1")))?;
        }
        let number = coefficient.parse().ok().filter(|c: &f32| c.is_finite());
        let coefficient = number.ok_or_else(|| {
            wrong(format!(
                "coefficient `{coefficient}`; expected a finite number"
            ))
        })?;
        if points
            .iter()
            .any(|point: &StencilPoint| point.offset == offset)
        {
            return Err(wrong("the same point as in a line before".to_owned()));
        }
        points.push(StencilPoint {
            offset,
            coefficient,
        });
    }
    StencilShape::new(axes.unwrap_or(2), points)
        .map_err(|e| CommandFailure::input(format!("{}:{}: {e}", path.display(), last.max(1))))
}
