//! Data directives and the layout of DMEM.

use super::limits;
use super::state::{Assembler, Context, Datum, Extent, Format, Section};
use crate::diag::{Fail, Problem};
use crate::expr::{Expr, Value, cis};
use crate::source::Span;
use crate::syntax::Parser;

/// Contents that a data directive puts into DMEM.
pub(super) enum Data {
    /// Words of four bytes, each with its format, expression and position.
    Words(Vec<(Format, Expr, Span)>),
    /// A number of bytes, filled with a repeated word.
    Space(u64, (Format, Expr, Span)),
    /// Padding up to the next multiple of this many bytes.
    Align(u64),
}

/// Reads the directive's operands.
pub(super) fn read(name: &str, mut p: Parser<'_, '_>) -> Result<Data, Fail> {
    let data = match name {
        ".float" => Data::Words(list(&mut p, Format::Float)?),
        ".int" => Data::Words(list(&mut p, Format::Int)?),
        ".complex" => {
            let words = list(&mut p, Format::Float)?;
            if words.len() % 2 == 1 {
                return p.expected("`,` and the imaginary part of the last number");
            }
            Data::Words(words)
        }
        ".cis" => {
            let start = p.here();
            let (num, _) = p.constant_int("the numerator of `.cis`")?;
            p.expect(",")?;
            let (den, den_at) = p.constant_int("the denominator of `.cis`")?;
            if den <= 0 {
                let what = "the denominator of `.cis`".to_owned();
                return Err(Fail::new(
                    Problem::OutOfRange {
                        what,
                        value: den,
                        least: 1,
                        most: i64::MAX,
                    },
                    den_at,
                ));
            }
            let (re, im) = cis(num, den);
            let at = start.to(p.last());
            let word = |v: f64| (Format::Float, Expr::Value(Value::Float(v)), at);
            Data::Words(vec![word(re), word(im)])
        }
        ".space" => {
            let (bytes, at) = p.constant_int("a number of bytes")?;
            let bytes = size("the number of bytes", bytes, 0, at)?;
            if bytes % 4 != 0 {
                let what = "the number of bytes".to_owned();
                return Err(Fail::new(
                    Problem::Misaligned {
                        what,
                        value: bytes as i64,
                        multiple: 4,
                    },
                    at,
                ));
            }
            let (value, at) = if p.eat(",") {
                p.constant()?
            } else {
                (Value::Int(0), at)
            };
            let format = if value.as_int().is_some() {
                Format::Int
            } else {
                Format::Float
            };
            let fill = (format, Expr::Value(value), at);
            Data::Space(bytes, fill)
        }
        _ => {
            let (multiple, at) = p.constant_int("an alignment")?;
            let multiple = size("the alignment", multiple, 1, at)?;
            if !multiple.is_power_of_two() {
                let found = format!("`{multiple}`");
                return Err(Fail::new(
                    Problem::Expected {
                        wanted: "a power of two".into(),
                        found,
                    },
                    at,
                ));
            }
            Data::Align(multiple)
        }
    };
    p.end()?;
    Ok(data)
}

fn size(what: &str, value: i64, least: i64, at: Span) -> Result<u64, Fail> {
    let most = limits::DMEM as i64;
    if (least..=most).contains(&value) {
        return Ok(value as u64);
    }
    Err(Fail::new(
        Problem::OutOfRange {
            what: what.to_owned(),
            value,
            least,
            most,
        },
        at,
    ))
}

fn list(p: &mut Parser<'_, '_>, format: Format) -> Result<Vec<(Format, Expr, Span)>, Fail> {
    let mut words = Vec::new();
    loop {
        let (expr, at) = p.expression()?;
        words.push((format, expr, at));
        if !p.eat(",") {
            return Ok(words);
        }
    }
}

/// Converts a value to the bits of a binary32. A finite value that would overflow to infinity is an error.
pub(super) fn binary32(value: Value, at: Span) -> Result<u32, Fail> {
    let bits = value.to_f32_bits();
    if value.to_f64().is_finite() && !f32::from_bits(bits).is_finite() {
        return Err(Fail::new(Problem::FloatRange { value }, at));
    }
    Ok(bits)
}

/// Converts a value to the four bytes of a DMEM word, little-endian.
pub(super) fn word(format: Format, value: Value, at: Span) -> Result<[u8; 4], Fail> {
    match (format, value) {
        (Format::Float, value) => Ok(binary32(value, at)?.to_le_bytes()),
        (Format::Int, Value::Float(_)) => Err(Fail::new(
            Problem::NotInteger {
                what: "`.int`".into(),
                value,
            },
            at,
        )),
        (Format::Int, Value::Int(v)) => {
            let (least, most) = (i64::from(i32::MIN), i64::from(u32::MAX));
            if !(least..=most).contains(&v) {
                let what = "the value".to_owned();
                return Err(Fail::new(
                    Problem::OutOfRange {
                        what,
                        value: v,
                        least,
                        most,
                    },
                    at,
                ));
            }
            Ok((v as u32).to_le_bytes())
        }
    }
}

impl Assembler<'_> {
    /// Puts the data of a directive at the current DMEM address.
    pub(super) fn place(
        &mut self,
        name: &str,
        data: Data,
        at: Span,
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        if self.section != Section::Dmem {
            let what = format!("`{name}`");
            return Err(Fail::new(
                Problem::WrongSection {
                    what,
                    section: "the program section",
                },
                at,
            ));
        }
        let start = self.dmem;
        let bytes = match &data {
            Data::Words(words) => 4 * words.len() as u64,
            Data::Space(bytes, _) => *bytes,
            Data::Align(multiple) => start.next_multiple_of(*multiple) - start,
        };
        let end = start + bytes;
        if end > limits::DMEM {
            let whose = "the largest DMEM has".to_owned();
            return Err(Fail::new(
                Problem::DmemFull {
                    end,
                    most: limits::DMEM,
                    whose,
                },
                at,
            ));
        }
        self.dmem = end;
        let chain = context.chain;
        let words = match data {
            Data::Words(words) => words,
            Data::Space(_, fill) => vec![fill; (bytes / 4) as usize],
            Data::Align(_) => return Ok(()),
        };
        if !start.is_multiple_of(4) && !words.is_empty() {
            let what = "the address".to_owned();
            return Err(Fail::new(
                Problem::Misaligned {
                    what,
                    value: start as i64,
                    multiple: 4,
                },
                at,
            ));
        }
        if bytes > 0 {
            self.extents.push(Extent {
                start,
                end,
                at,
                chain,
            });
        }
        if (self.data.len() + words.len()) as u64 > limits::DMEM / 4 {
            self.halt("the amount of data in bytes", limits::DMEM, at, chain);
            return Ok(());
        }
        for (i, (format, expr, at)) in words.into_iter().enumerate() {
            self.data.push(Datum {
                address: start + 4 * i as u64,
                format,
                expr,
                at,
                chain,
            });
        }
        Ok(())
    }
}
