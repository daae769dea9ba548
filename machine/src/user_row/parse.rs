//! Reads the expression of a row.

use super::RowFlaw;
use nom::bytes::complete::{tag, take_while, take_while1};
use nom::character::complete::{digit1, multispace0, one_of};
use nom::combinator::{opt, recognize};
use nom::error::{ErrorKind, ParseError};
use nom::sequence::{pair, preceded};
use nom::{IResult, Parser};
use std::fmt;

/// Most bytes of an expression.
const LONGEST: usize = 4096;
/// Deepest nesting of calls.
const DEEPEST: usize = 32;
/// Most statements.
const STATEMENTS: usize = 128;

/// A lane of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaneIndex {
    /// `i`: the lane that is computed.
    Own,
    /// `i^1`.
    OwnXor(u32),
    /// A number.
    Fixed(u32),
}

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LaneConstant {
    Float(f32),
    /// An integer of 32 bits, signed or not.
    Integer(i64),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Constant(LaneConstant),
    Name(String),
    Indexed(String, LaneIndex),
    Call(String, Vec<Expression>),
}

/// `name = value`, or `name[lane] = value`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    pub(super) name: String,
    pub(super) lane: Option<LaneIndex>,
    pub(super) value: Expression,
}

/// A place where the text does not go on as it must.
#[derive(Debug)]
struct Unexpected<'a> {
    rest: &'a str,
    expected: &'static str,
    flaw: Option<RowFlaw>,
}

impl<'a> ParseError<&'a str> for Unexpected<'a> {
    fn from_error_kind(rest: &'a str, _: ErrorKind) -> Self {
        Self {
            rest,
            expected: "something else",
            flaw: None,
        }
    }

    fn append(_: &'a str, _: ErrorKind, other: Self) -> Self {
        other
    }
}

type Parsed<'a, T> = IResult<&'a str, T, Unexpected<'a>>;

/// Names what a parser expects, at the place where it began.
fn expect<'a, T>(
    expected: &'static str,
    mut parser: impl Parser<&'a str, Output = T, Error = Unexpected<'a>>,
) -> impl FnMut(&'a str) -> Parsed<'a, T> {
    move |text| {
        let (text, _) = multispace0(text)?;
        parser.parse(text).map_err(|error| match error {
            nom::Err::Error(_) => nom::Err::Failure(Unexpected {
                rest: text,
                expected,
                flaw: None,
            }),
            other => other,
        })
    }
}

/// Takes a mark if it comes next.
fn mark<'a>(mark: &'static str) -> impl FnMut(&'a str) -> Parsed<'a, bool> {
    move |text| {
        let (rest, found) = opt(preceded(multispace0, tag(mark))).parse(text)?;
        Ok((rest, found.is_some()))
    }
}

fn name(text: &str) -> Parsed<'_, &str> {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let more = |c: char| c.is_ascii_alphanumeric() || c == '_';
    recognize(pair(take_while1(first), take_while(more))).parse(text)
}

/// Returns the flaw of a text at a place where nothing else will do.
fn flaw<T>(rest: &str, flaw: RowFlaw) -> Parsed<'_, T> {
    Err(nom::Err::Failure(Unexpected {
        rest,
        expected: "",
        flaw: Some(flaw),
    }))
}

fn lane(text: &str) -> Parsed<'_, LaneIndex> {
    let small = |digits: &str| digits.parse().unwrap_or(u32::MAX);
    let (text, _) = multispace0(text)?;
    if let (text, Some(digits)) = opt(digit1).parse(text)? {
        return Ok((text, LaneIndex::Fixed(small(digits))));
    }
    let (text, own) = expect("a lane, i, i^N or a number", name)(text)?;
    if own != "i" {
        let what = "a lane is known before the row runs, it cannot come from a register";
        let name = format!("[{own}]");
        return flaw(text, RowFlaw::Unsayable { name, what });
    }
    let (text, crossed) = mark("^")(text)?;
    if !crossed {
        return Ok((text, LaneIndex::Own));
    }
    let (text, digits) = expect("a number of a lane", digit1)(text)?;
    Ok((text, LaneIndex::OwnXor(small(digits))))
}

/// Reads `]` behind a lane; a second index would be that of a section.
fn close(text: &str) -> Parsed<'_, ()> {
    let (rest, second) = mark(",")(text)?;
    if second {
        let what = "a row sees only the section that it runs in, and has one index, the lane";
        let name = "[i, ..]".to_owned();
        return flaw(rest, RowFlaw::Unsayable { name, what });
    }
    let (text, _) = expect("`]`", tag("]"))(text)?;
    Ok((text, ()))
}

fn number(text: &str) -> Parsed<'_, LaneConstant> {
    let (rest, negative) = opt(one_of("+-")).parse(text)?;
    let negative = negative == Some('-');
    let hex = |c: char| c.is_ascii_hexdigit();
    if let (rest, Some(digits)) = opt(preceded(tag("0x"), take_while1(hex))).parse(rest)? {
        return match u32::from_str_radix(digits, 16) {
            Ok(value) if !negative => Ok((rest, LaneConstant::Integer(value.into()))),
            _ => out_of_range(text, &text[..text.len() - rest.len()]),
        };
    }
    let digits =
        |text| take_while::<_, &str, Unexpected<'_>>(|c: char| c.is_ascii_digit()).parse(text);
    let (behind, _) = digit1(rest)?;
    let (behind, point) = opt(pair(tag("."), digits)).parse(behind)?;
    let (behind, exponent) = opt((one_of("eE"), opt(one_of("+-")), digit1)).parse(behind)?;
    let literal = &text[..text.len() - behind.len()];
    if point.is_none() && exponent.is_none() {
        let range = i64::from(i32::MIN)..=i64::from(u32::MAX);
        return match literal.parse::<i64>() {
            Ok(value) if range.contains(&value) => Ok((behind, LaneConstant::Integer(value))),
            _ => out_of_range(text, literal),
        };
    }
    match literal.parse::<f32>() {
        Ok(value) if value.is_finite() => Ok((behind, LaneConstant::Float(value))),
        _ => out_of_range(text, literal),
    }
}

fn out_of_range<'a>(text: &'a str, literal: &str) -> Parsed<'a, LaneConstant> {
    let problem = RowFlaw::Field {
        key: "lanes",
        found: literal.to_owned(),
        expected: "a binary32 number, or an integer of 32 bits".to_owned(),
    };
    flaw(text, problem)
}

fn expression(text: &str, depth: usize) -> Parsed<'_, Expression> {
    if depth >= DEEPEST {
        let what = "calls in one another";
        return flaw(
            text,
            RowFlaw::TooLong {
                what,
                most: DEEPEST,
            },
        );
    }
    let (text, _) = multispace0(text)?;
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') {
        let (text, number) = expect("a number", number)(text)?;
        return Ok((text, Expression::Constant(number)));
    }
    let (text, name) = expect("a call, an operand with a lane, a name or a number", name)(text)?;
    let (after, indexed) = mark("[")(text)?;
    if indexed {
        let (text, lane) = lane(after)?;
        let (text, ()) = close(text)?;
        return Ok((text, Expression::Indexed(name.to_owned(), lane)));
    }
    let (mut text, called) = mark("(")(text)?;
    if !called {
        return Ok((text, Expression::Name(name.to_owned())));
    }
    let mut arguments = Vec::new();
    loop {
        let (rest, argument) = expression(text, depth + 1)?;
        arguments.push(argument);
        let (rest, more) = mark(",")(rest)?;
        text = rest;
        if !more {
            break;
        }
    }
    let (text, _) = expect("`,` or `)`", tag(")"))(text)?;
    Ok((text, Expression::Call(name.to_owned(), arguments)))
}

fn statement(text: &str) -> Parsed<'_, Statement> {
    let (text, name) = expect("a result with a lane, or a name", name)(text)?;
    let (after, indexed) = mark("[")(text)?;
    if let (false, Some(what)) = (!indexed && mark("=")(text)?.1, unsayable_word(name)) {
        let name = name.to_owned();
        return flaw(text, RowFlaw::Unsayable { name, what });
    }
    let (text, lane) = if indexed {
        let (text, lane) = lane(after)?;
        let (text, ()) = close(text)?;
        (text, Some(lane))
    } else {
        (text, None)
    };
    let (text, _) = expect("`=`", tag("="))(text)?;
    let (text, value) = expression(text, 0)?;
    let name = name.to_owned();
    Ok((text, Statement { name, lane, value }))
}

fn statements(text: &str) -> Parsed<'_, Vec<Statement>> {
    let mut all = Vec::new();
    let mut rest = text;
    loop {
        let (text, one) = statement(rest)?;
        all.push(one);
        if all.len() > STATEMENTS {
            let (what, most) = ("statements", STATEMENTS);
            return flaw(text, RowFlaw::TooLong { what, most });
        }
        let (text, more) = mark(";")(text)?;
        let (text, _) = multispace0(text)?;
        if text.is_empty() {
            return Ok((text, all));
        }
        if !more {
            let expected = "`;` or the end";
            return Err(nom::Err::Failure(Unexpected {
                rest: text,
                expected,
                flaw: None,
            }));
        }
        rest = text;
    }
}

/// Reads an expression. An error comes with the byte at which it was found.
pub(super) fn parse(text: &str) -> Result<Vec<Statement>, (usize, RowFlaw)> {
    if text.len() > LONGEST {
        let (what, most) = ("bytes", LONGEST);
        return Err((0, RowFlaw::TooLong { what, most }));
    }
    let found = match statements(text) {
        Ok((_, all)) => return Ok(all),
        Err(nom::Err::Error(found) | nom::Err::Failure(found)) => found,
        Err(nom::Err::Incomplete(_)) => Unexpected::from_error_kind("", ErrorKind::Eof),
    };
    let at = text.len() - found.rest.len();
    let problem = found.flaw.unwrap_or_else(|| RowFlaw::Syntax {
        column: text[..at].chars().count() + 1,
        found: match found.rest.chars().next() {
            None => "the end".to_owned(),
            Some(c) if "+-*/".contains(c) => {
                format!("`{c}` (operations are called by name, fadd(a[i], b[i]))")
            }
            Some(c) if "<>?&|!".contains(c) => {
                format!("`{c}` (operations are called by name, flt(a[i], b[i]))")
            }
            Some(c) => format!("`{}`", c.escape_debug()),
        },
        expected: found.expected,
    });
    Err((at, problem))
}

/// Returns what a word would be that rows cannot say.
pub(super) fn unsayable_word(name: &str) -> Option<&'static str> {
    let memory = ["mem", "memory", "dmem", "load", "store", "read", "write"];
    let branches = [
        "if", "else", "for", "while", "loop", "goto", "jmp", "branch", "return",
    ];
    let sections = [
        "section",
        "sections",
        "rot",
        "xchg",
        "exchange",
        "neighbour",
        "neighbor",
    ];
    let state = ["static", "state", "counter", "random"];
    let elementary = [
        "rcp", "rsqrt", "exp2", "log2", "sin", "cos", "sqrt", "fdiv", "div", "exp", "log",
    ];
    let load = name.starts_with("ld") || name.starts_with("st");
    let operation = |c: char| "pqwdx".contains(c);
    if memory.contains(&name) || load && name.len() <= 4 && name[2..].starts_with(operation) {
        Some("rows have no access to memory")
    } else if branches.contains(&name) {
        Some("rows have no branches; `select` chooses between two values")
    } else if sections.contains(&name) {
        Some("rows see only the section that they run in")
    } else if state.contains(&name) {
        Some("rows keep no state")
    } else if elementary.contains(&name) {
        Some("elementary functions have a unit of their own, which no row takes")
    } else {
        None
    }
}

impl fmt::Display for LaneIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("i"),
            Self::OwnXor(with) => write!(f, "i^{with}"),
            Self::Fixed(lane) => write!(f, "{lane}"),
        }
    }
}

impl fmt::Display for LaneConstant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The shortest text that reads back to the number; it has a point or an exponent.
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Integer(value) if *value > i64::from(i32::MAX) => write!(f, "{value:#x}"),
            Self::Integer(value) => write!(f, "{value}"),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(number) => number.fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Indexed(name, lane) => write!(f, "{name}[{lane}]"),
            Self::Call(name, arguments) => {
                write!(f, "{name}(")?;
                for (i, argument) in arguments.iter().enumerate() {
                    f.write_str(if i > 0 { ", " } else { "" })?;
                    argument.fmt(f)?;
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(lane) = self.lane {
            write!(f, "[{lane}]")?;
        }
        write!(f, " = {}", self.value)
    }
}

/// Returns the text of statements.
pub(super) fn print(all: &[Statement]) -> String {
    let all: Vec<String> = all.iter().map(Statement::to_string).collect();
    all.join("; ")
}
