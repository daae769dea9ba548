//! Source texts and positions in them.

use std::sync::Arc;

/// A source text and the name that messages call it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name, as shown in messages and recorded in the line table.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Source {
    /// Makes a source of that name and text. A byte order mark before the text, which some editors write, is
    /// left out.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let mut text = text.into();
        if text.starts_with('\u{feff}') {
            text = text.split_off('\u{feff}'.len_utf8());
        }
        Self {
            name: name.into(),
            text,
        }
    }
}

/// Range of bytes of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) file: u32,
    /// Line of `start`, counted from 1.
    pub(crate) line: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    /// Start of the first file: the place of problems that concern the whole assembly.
    pub(crate) const START: Self = Self {
        file: 0,
        line: 1,
        start: 0,
        end: 0,
    };

    /// Joins two spans from the start of `self` to the end of `other`, if both are on one line; otherwise
    /// returns `self`.
    pub(crate) fn to(self, other: Self) -> Self {
        if self.file == other.file && self.line == other.line && other.end >= self.start {
            Self {
                end: other.end,
                ..self
            }
        } else {
            self
        }
    }

    /// Returns the empty span right after this one.
    pub(crate) fn after(self) -> Self {
        Self {
            start: self.end,
            ..self
        }
    }
}

/// One loaded file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: Arc<str>,
    starts: Vec<u32>,
}

/// All files of one assembly.
#[derive(Clone, Debug, Default)]
pub(crate) struct SourceMap {
    files: Vec<File>,
}

impl SourceMap {
    /// Adds a file. Its length must fit in 32 bits: the caller has checked the limit.
    pub(crate) fn add(&mut self, source: &Source) -> u32 {
        let text: Arc<str> = source.text.as_str().into();
        let mut starts = vec![0];
        starts.extend(
            text.bytes()
                .enumerate()
                .filter(|(_, b)| *b == b'\n')
                .map(|(i, _)| i as u32 + 1),
        );
        self.files.push(File {
            name: source.name.clone(),
            text,
            starts,
        });
        self.files.len() as u32 - 1
    }

    pub(crate) fn files(&self) -> &[File] {
        &self.files
    }

    pub(crate) fn file(&self, id: u32) -> Option<&File> {
        self.files.get(id as usize)
    }
}

impl File {
    /// Returns the line, counted from 1, that holds byte `at`.
    pub(crate) fn line(&self, at: u32) -> u32 {
        self.starts.partition_point(|&s| s <= at) as u32
    }

    /// Returns line and column of byte `at`, both counted from 1; columns count characters.
    pub(crate) fn position(&self, at: u32) -> (u32, u32) {
        let line = self.line(at);
        let start = self.starts.get(line as usize - 1).copied().unwrap_or(0);
        let before = self.text.get(start as usize..at as usize).unwrap_or("");
        (line, before.chars().count() as u32 + 1)
    }

    /// Returns the number of lines.
    pub(crate) fn lines(&self) -> usize {
        self.starts.len()
    }

    /// Returns the bytes of a line, counted from 0, with its line end.
    pub(crate) fn line_range(&self, line: usize) -> Option<std::ops::Range<usize>> {
        let start = *self.starts.get(line)? as usize;
        Some(
            start
                ..self
                    .starts
                    .get(line + 1)
                    .map_or(self.text.len(), |&s| s as usize),
        )
    }

    /// Returns the text of a line, counted from 1, without its line end.
    pub(crate) fn line_text(&self, line: u32) -> &str {
        let start = self
            .starts
            .get(line as usize - 1)
            .map_or(self.text.len(), |&s| s as usize);
        let end = self
            .starts
            .get(line as usize)
            .map_or(self.text.len(), |&s| s as usize);
        self.text
            .get(start..end)
            .unwrap_or("")
            .trim_end_matches(['\n', '\r'])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let mut map = SourceMap::default();
        let id = map.add(&Source::new("f", "ab\nµx\r\nlast"));
        let file = map.file(id).unwrap();
        assert_eq!(file.position(0), (1, 1));
        assert_eq!(file.position(2), (1, 3));
        assert_eq!(file.position(3), (2, 1));
        assert_eq!(file.position(5), (2, 2));
        assert_eq!(file.line_text(2), "µx");
        assert_eq!(file.line_text(3), "last");
        assert_eq!(file.position(12), (3, 5));
    }
}
