//! The lexer: characters to lines of tokens.

use super::token::{Lexeme, Tok};
use crate::diag::{Fail, Problem};
use crate::expr::{PUNCTUATION, Punct};
use crate::source::Span;
use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_until, take_while, take_while1};
use nom::character::complete::{char, digit1, one_of};
use nom::combinator::{map, opt, peek, recognize, rest, verify};
use nom::sequence::{delimited, pair, preceded};
use nom::{IResult, Parser};
use std::collections::HashSet;
use std::rc::Rc;

/// The texts of names. Each is kept once, so that comparing names mostly compares pointers.
#[derive(Debug, Default)]
pub(crate) struct NameTexts(HashSet<Rc<str>>);

impl NameTexts {
    /// Returns the text of a name as it was kept at its first occurrence.
    fn share(&mut self, name: &str) -> Rc<str> {
        if let Some(known) = self.0.get(name) {
            return known.clone();
        }
        let name: Rc<str> = name.into();
        self.0.insert(name.clone());
        name
    }
}

/// Splits a text into lines of tokens, without empty lines. Every error is reported and skipped.
pub(crate) fn lines(
    (file, text): (u32, &str),
    names: &mut NameTexts,
    mut report: impl FnMut(Fail),
) -> Vec<Vec<Lexeme>> {
    let mut lines = Vec::new();
    // The tokens of the line that is being read. A line that is complete takes as much room as it has tokens.
    let mut line = Vec::new();
    let mut glued = false;
    let mut number = 1;
    let mut left = text;
    while let Some(first) = left.chars().next() {
        let start = text.len() - left.len();
        let at_line = number;
        let span = |length: usize| Span {
            file,
            line: at_line,
            start: start as u32,
            end: (start + length) as u32,
        };
        // The first character mostly shows that no blank begins here.
        let may = !first.is_ascii_graphic() || matches!(first, ';' | '/');
        let skipped = if may { blank(left).ok() } else { None };
        let (length, tok) = if let Some((after, skipped)) = skipped {
            (left.len() - after.len(), Err(skipped))
        } else if first == '\n' {
            if !line.is_empty() {
                let mut complete = Vec::with_capacity(line.len());
                complete.append(&mut line);
                lines.push(complete);
            }
            (1, Err(Blank::Space))
        } else {
            match token(left, names) {
                Ok((after, Ok(tok))) => (left.len() - after.len(), Ok(tok)),
                Ok((after, Err(problem))) => {
                    let length = left.len() - after.len();
                    report(Fail::new(problem.clone(), span(length)));
                    // A value replaces the flawed token, so that one error gives one message.
                    let string = problem == Problem::OpenString;
                    (
                        length,
                        Ok(if string {
                            Tok::Str("".into())
                        } else {
                            Tok::Int(0)
                        }),
                    )
                }
                Err(_) => {
                    // A whole word of foreign letters is one error.
                    let foreign = |c: char| c.is_alphanumeric() && !c.is_ascii();
                    let rest = left.trim_start_matches(foreign);
                    let length = (left.len() - rest.len()).max(first.len_utf8());
                    report(Fail::new(
                        Problem::Character { character: first },
                        span(length),
                    ));
                    (length, Err(Blank::Space))
                }
            }
        };
        if let Err(Blank::Open) = tok {
            report(Fail::new(Problem::OpenComment, span(2)));
        }
        let end = left.get(length..).unwrap_or("");
        match tok {
            Ok(tok) => {
                line.push(Lexeme {
                    tok,
                    at: span(length),
                    glued,
                });
                glued = true;
            }
            Err(_) => {
                glued = false;
                // Only line ends and block comments contain line feeds.
                let skipped = left.as_bytes().get(..length).unwrap_or(&[]);
                number += skipped.iter().filter(|b| **b == b'\n').count() as u32;
            }
        }
        left = end;
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Text between tokens of a line.
enum Blank {
    Space,
    /// A block comment that is not closed.
    Open,
}

fn blank(s: &str) -> IResult<&str, Blank> {
    alt((
        map(
            take_while1(|c: char| !matches!(c, '\n' | '\r') && c.is_whitespace()),
            |_| Blank::Space,
        ),
        map((char('\r'), peek(char('\n'))), |_| Blank::Space),
        map(
            pair(
                alt((tag(";"), tag("//"))),
                take_till(|c| c == '\r' || c == '\n'),
            ),
            |_| Blank::Space,
        ),
        map(delimited(tag("/*"), take_until("*/"), tag("*/")), |_| {
            Blank::Space
        }),
        map(preceded(tag("/*"), rest), |_| Blank::Open),
    ))
    .parse(s)
}

fn token<'s>(s: &'s str, names: &mut NameTexts) -> IResult<&'s str, Result<Tok, Problem>> {
    // The first character decides which tokens are possible.
    match s.bytes().next() {
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => named(s, names),
        Some(b'0'..=b'9') => number(s),
        Some(b'.') => number(s)
            .or_else(|_| named(s, names))
            .or_else(|_| punctuation(s)),
        Some(b'\\') => parameter(s, names),
        Some(b'"') => string(s),
        _ => punctuation(s),
    }
}

fn named<'s>(s: &'s str, names: &mut NameTexts) -> IResult<&'s str, Result<Tok, Problem>> {
    map(name, |n| Ok(Tok::Name(names.share(n)))).parse(s)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

fn name(s: &str) -> IResult<&str, &str> {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    recognize((
        opt(char('.')),
        verify(take_while1(is_word), move |n: &str| n.starts_with(starts)),
    ))
    .parse(s)
}

fn parameter<'s>(s: &'s str, names: &mut NameTexts) -> IResult<&'s str, Result<Tok, Problem>> {
    let plain = take_while1(|c: char| c.is_ascii_alphanumeric() || c == '_');
    map(preceded(char('\\'), plain), |n: &str| {
        Ok(Tok::Param(names.share(n)))
    })
    .parse(s)
}

fn punctuation(s: &str) -> IResult<&str, Result<Tok, Problem>> {
    let same = |p: &&str| {
        let mut both = p.bytes().zip(s.bytes());
        p.len() <= s.len() && both.all(|(p, s)| p == s)
    };
    match PUNCTUATION.into_iter().find(same) {
        Some(p) => map(tag(p), |_| Ok(Tok::Punct(Punct::of(p)))).parse(s),
        None => Err(nom::Err::Error(nom::error::Error::new(
            s,
            nom::error::ErrorKind::Tag,
        ))),
    }
}

/// Reads a string. There are no escapes: it ends at the next quote, on the same line.
fn string(s: &str) -> IResult<&str, Result<Tok, Problem>> {
    let (s, _) = char('"')(s)?;
    let (s, text) = take_while(|c| c != '"' && c != '\n').parse(s)?;
    match char::<&str, nom::error::Error<&str>>('"')(s) {
        Ok((s, _)) => Ok((s, Ok(Tok::Str(text.into())))),
        Err(_) => Ok((s, Err(Problem::OpenString))),
    }
}

fn number(s: &str) -> IResult<&str, Result<Tok, Problem>> {
    let exponent = || (one_of("eE"), opt(one_of("+-")), digit1);
    let decimal = recognize((
        take_while1(|c: char| c.is_ascii_digit() || c == '_'),
        opt((char('.'), digit1)),
        opt(exponent()),
    ));
    let short = recognize((char('.'), digit1, opt(exponent())));
    let radix = recognize((char('0'), one_of("xXbBoO"), take_while(is_word)));
    let start = |c: char| c.is_ascii_digit() || c == '.';
    let (after, text) = verify(alt((radix, decimal, short)), move |t: &str| {
        t.starts_with(start)
    })
    .parse(s)?;
    // Letters and digits right after the number belong to it, as a misspelt number.
    let (after, tail) = take_while(is_word).parse(after)?;
    let whole = s.get(..text.len() + tail.len()).unwrap_or(text);
    Ok((after, value(whole)))
}

fn value(text: &str) -> Result<Tok, Problem> {
    // Most numbers are short and have digits only.
    if text.bytes().all(|b| b.is_ascii_digit())
        && let Ok(value) = text.parse()
    {
        return Ok(Tok::Int(value));
    }
    let plain = text.replace('_', "");
    let radix = match plain.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0b") => 2,
        Some("0o") => 8,
        _ if plain.bytes().all(|b| b.is_ascii_digit()) => 10,
        _ => return float(text, &plain),
    };
    let digits = if radix == 10 {
        &*plain
    } else {
        plain.get(2..).unwrap_or("")
    };
    let text = || text.to_owned();
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(Problem::Number { text: text() });
    }
    match u64::from_str_radix(digits, radix).map(|v| (v, i64::try_from(v))) {
        Ok((_, Ok(v))) => Ok(Tok::Int(v)),
        Ok((v, _)) if v == 1 << 63 => Ok(Tok::TooLargeByOne),
        _ => Err(Problem::NumberRange { text: text() }),
    }
}

fn float(text: &str, plain: &str) -> Result<Tok, Problem> {
    let text = || text.to_owned();
    match plain.parse::<f64>() {
        Ok(v) if v.is_finite() => Ok(Tok::Float(v)),
        Ok(_) => Err(Problem::NumberRange { text: text() }),
        Err(_) => Err(Problem::Number { text: text() }),
    }
}
