//! A text line by line, none of them longer than it may be.

use super::MarketError;
use std::io::{self, BufRead, Read};

/// Bytes of a line at most. The format allows 1024; what is far longer is no matrix.
const LONGEST: u64 = 1 << 16;
/// Characters of a line that an error repeats.
const SHOWN: usize = 60;

/// A line without its end.
pub(super) struct MarketLine<'a> {
    /// Its number, from 1 on.
    pub(super) number: usize,
    bytes: &'a [u8],
}

impl MarketLine<'_> {
    /// Its words, with whatever blanks between them.
    pub(super) fn words(&self) -> impl Iterator<Item = &[u8]> {
        let words = self.bytes.split(u8::is_ascii_whitespace);
        words.filter(|word| !word.is_empty())
    }

    /// An error about all of it.
    pub(super) fn wrong(&self, what: &'static str, expected: &str) -> MarketError {
        self.wrong_word(self.bytes, what, expected)
    }

    /// An error about a part of it.
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

/// The lines of a text.
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

    /// The number of the last line.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// The text's mark of its encoding is left out; what it is in another one cannot be read.
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

    /// Refuses carriage returns alone as ends of lines: what would be lines are one.
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

    /// The next line; with `content` the next one that is neither empty nor a comment.
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

/// A number of nothing but digits.
pub(super) fn number(word: &[u8]) -> Option<u64> {
    let digits = word.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(word).ok().filter(|_| digits)?;
    text.parse().ok()
}
