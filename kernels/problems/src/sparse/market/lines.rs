//! Reads a text line by line, with a limit on the length of lines.

use super::MarketError;
use std::io::{self, BufRead, Read};

/// Most bytes of a line. The format allows 1024; texts with far longer lines are no matrices.
const LONGEST: u64 = 1 << 16;
/// Most characters of a line that an error repeats.
const SHOWN: usize = 60;

/// A line without its line end.
pub(super) struct MarketLine<'a> {
    /// Number of the line, from 1.
    pub(super) number: usize,
    bytes: &'a [u8],
}

impl MarketLine<'_> {
    /// Iterates over the words, separated by any blanks.
    pub(super) fn words(&self) -> impl Iterator<Item = &[u8]> {
        let words = self.bytes.split(u8::is_ascii_whitespace);
        words.filter(|word| !word.is_empty())
    }

    /// Returns an error about the whole line.
    pub(super) fn make_error(&self, what: &'static str, expected: &str) -> MarketError {
        self.wrong_word(self.bytes, what, expected)
    }

    /// Returns an error about a part of the line.
    pub(super) fn wrong_word(
        &self,
        word: &[u8],
        what: &'static str,
        expected: &str,
    ) -> MarketError {
        let text = String::from_utf8_lossy(word);
        let text = text.trim();
        let mut found: String = text.chars().take(SHOWN).collect();
        if found.len() < text.len() {
            found.push_str("..");
        }
        MarketError::Line {
            line: self.number,
            what,
            found,
            expected: expected.to_owned(),
        }
    }
}

/// Iterator over the lines of a text.
pub(super) struct MarketLines<'a> {
    text: &'a mut dyn BufRead,
    number: usize,
    line: Vec<u8>,
}

impl<'a> MarketLines<'a> {
    pub(super) fn new(text: &'a mut dyn BufRead) -> Self {
        Self {
            text,
            number: 0,
            line: Vec::new(),
        }
    }

    /// Returns the number of the last line that was read.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// Removes a UTF-8 byte order mark from the first line, and refuses other encodings.
    fn check_encoding(&mut self) -> Result<(), MarketError> {
        let what = "the first line";
        let expected = "UTF-8 or plain ASCII, as other tools write it";
        let wide = match &self.line[..] {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
            bytes => bytes.starts_with(b"%\0") || bytes.starts_with(b"\0%"),
        };
        if wide {
            return Err(MarketError::Line {
                line: self.number,
                what,
                found: "UTF-16 text".to_owned(),
                expected: expected.to_owned(),
            });
        }
        if self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        Ok(())
    }

    /// Refuses carriage returns alone as line ends: all lines would be read as one.
    fn check_returns(&self) -> Result<(), MarketError> {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let end = line.iter().rposition(|&byte| byte != b'\r');
        if !line[..end.map_or(0, |end| end + 1)].contains(&b'\r') {
            return Ok(());
        }
        Err(MarketError::Line {
            line: self.number,
            what: "the end of a line",
            found: "a carriage return alone".to_owned(),
            expected: "a line feed, with or without a carriage return before it".to_owned(),
        })
    }

    /// Returns the next line; with `content` the next one that is neither empty nor a comment.
    pub(super) fn next(&mut self, content: bool) -> Result<Option<MarketLine<'_>>, MarketError> {
        loop {
            self.line.clear();
            let failed = |line| move |source| MarketError::Read { line, source };
            let read = (&mut *self.text)
                .take(LONGEST)
                .read_until(b'\n', &mut self.line);
            if read.map_err(failed(self.number + 1))? == 0 {
                return Ok(None);
            }
            self.number += 1;
            let long = self.line.len() as u64 == LONGEST && self.line.last() != Some(&b'\n');
            if self.number == 1 {
                self.check_encoding()?;
            }
            self.check_returns()?;
            if long {
                let text = format!(
                    "a line of more than {LONGEST} bytes; expected the text of a Matrix Market file"
                );
                return Err(failed(self.number)(io::Error::new(
                    io::ErrorKind::InvalidData,
                    text,
                )));
            }
            let first = self.line.iter().find(|byte| !byte.is_ascii_whitespace());
            if !content || first.is_some_and(|&byte| byte != b'%') {
                break;
            }
        }
        Ok(Some(MarketLine {
            number: self.number,
            bytes: &self.line,
        }))
    }
}

/// Parses a number that consists of digits only.
pub(super) fn number(word: &[u8]) -> Option<u64> {
    let digits = word.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(word).ok().filter(|_| digits)?;
    text.parse().ok()
}
