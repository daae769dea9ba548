//! Reads instruction words: slots, mnemonics, operands.

use super::parser::{Names, Parser, Text};
use super::token::Token;
use crate::diag::{Fail, Problem};
use crate::expr::Expr;
use crate::isa::{Address, Kind, RegSet, Scalar, index};
use crate::source::Span;
use std::fmt;

/// Half-words of a pair register.
const HALVES: u8 = 4;

/// Expected number of operands: most operations have no more.
const OPERANDS: usize = 5;

/// A register operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    Pair(u8),
    Quad(u8),
    Scalar(Scalar),
}

impl Register {
    /// Returns the register called `text`, or the one that `text` is an alias of.
    pub(crate) fn named(text: &str, names: &dyn Names) -> Option<Self> {
        Self::built_in(text).or_else(|| names.alias(text))
    }

    /// Returns the register called `text`, without aliases.
    pub(crate) fn built_in(text: &str) -> Option<Self> {
        let of = |prefix, kind: Kind| {
            text.strip_prefix(prefix)
                .and_then(|d| index(d, kind.registers()))
        };
        of('r', Kind::Pair)
            .map(Self::Pair)
            .or_else(|| of('q', Kind::Quad).map(Self::Quad))
            .or_else(|| Scalar::by_name(text).map(Self::Scalar))
    }
}

impl Register {
    /// Returns the number of a step register.
    pub(crate) fn step(self) -> Option<u8> {
        match self {
            Self::Scalar(scalar) => scalar.0.checked_sub(16).filter(|&step| step < 16),
            Self::Pair(_) | Self::Quad(_) => None,
        }
    }

    /// Returns the flat registers that the operand covers.
    pub(crate) fn regs(self) -> RegSet {
        match self {
            Self::Pair(index) => Kind::Pair.regs(index),
            Self::Quad(index) => Kind::Quad.regs(index),
            Self::Scalar(scalar) => RegSet::one(scalar.reg()),
        }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair(i) => write!(f, "r{i}"),
            Self::Quad(i) => write!(f, "q{i}"),
            Self::Scalar(s) => s.fmt(f),
        }
    }
}

/// An operand as written in the source.
#[derive(Clone, Debug)]
pub(crate) enum Arg {
    Register(Register),
    Expr(Expr),
    Mem(MemArg),
    /// The `{` of a loop block, which stands for the loop's end.
    Block,
}

/// A DMEM address as written in the source.
#[derive(Clone, Debug)]
pub(crate) struct MemArg {
    pub(crate) base: u8,
    pub(crate) mode: ModeArg,
    /// Position of the offset or increment.
    pub(crate) at: Span,
}

/// Formation and update of the address.
#[derive(Clone, Debug)]
pub(crate) enum ModeArg {
    Offset(Expr),
    Post(Expr),
    Step(u8),
    Modulo(u8),
    Reverse(u8),
    /// A half-word of a pair register: each section's own address.
    Own {
        register: u8,
        half: u8,
    },
}

/// One operation as written in the source.
#[derive(Clone, Debug)]
pub(crate) struct SourceInst<'t> {
    pub(crate) mnemonic: Text<'t>,
    pub(crate) mnemonic_at: Span,
    pub(crate) args: Vec<(Arg, Span)>,
    /// Position of the whole operation.
    pub(crate) at: Span,
}

/// One instruction word as written in the source.
#[derive(Clone, Debug)]
pub(crate) struct Slots<'t> {
    pub(crate) insts: Vec<SourceInst<'t>>,
    pub(crate) at: Span,
    /// Warnings that `.allow` at the end turns off.
    pub(crate) allowed: AllowedWarnings,
}

/// Warnings that are turned off for a word.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AllowedWarnings {
    /// True if a wait is allowed: `.allow stall`.
    pub(crate) stall: bool,
    /// True if any use of registers is allowed: `.allow register`.
    pub(crate) register: bool,
}

impl<'t> Parser<'t, '_> {
    /// Reads a whole word: operations separated by `||`.
    pub(crate) fn word(&mut self) -> Result<Slots<'t>, Fail> {
        self.slots = true;
        let start = self.here();
        let mut insts = Vec::with_capacity(2);
        insts.push(self.instruction()?);
        while self.eat("||") {
            insts.push(self.instruction()?);
        }
        let at = start.to(self.last());
        let mut allowed = AllowedWarnings::default();
        while self.peek().is_some_and(|t| t.tok.name() == Some(".allow")) {
            self.next();
            let what = self.name("`stall` or `register`")?;
            match &*what.text {
                "stall" => allowed.stall = true,
                "register" => allowed.register = true,
                other => {
                    let problem = Problem::Expected {
                        wanted: "`stall` or `register`".into(),
                        found: format!("`{other}`"),
                    };
                    return Err(Fail::new(problem, what.at));
                }
            }
        }
        self.end()?;
        Ok(Slots { insts, at, allowed })
    }

    fn instruction(&mut self) -> Result<SourceInst<'t>, Fail> {
        let name = self.name("an instruction")?;
        let mut args = Vec::with_capacity(OPERANDS);
        if !self.ends_instruction() {
            loop {
                let start = self.here();
                let arg = self.operand()?;
                args.push((arg, start.to(self.last())));
                if !self.eat(",") {
                    break;
                }
            }
            let ends = |next: Option<&Token<'_>>| {
                next.is_none_or(|next| next.tok.name() == Some(".allow"))
            };
            if self.is("{") && ends(self.peek_second()) {
                self.next();
                args.push((Arg::Block, self.last()));
            }
        }
        if !self.ends_instruction() {
            return self.expected("`,`, `||` or the end of the line");
        }
        Ok(SourceInst {
            mnemonic: name.text,
            mnemonic_at: name.at,
            args,
            at: name.at.to(self.last()),
        })
    }

    fn ends_instruction(&self) -> bool {
        self.at_end()
            || self.is("||")
            || self.peek().is_some_and(|t| t.tok.name() == Some(".allow"))
    }

    fn operand(&mut self) -> Result<Arg, Fail> {
        if self.eat("[") {
            return self.address().map(Arg::Mem);
        }
        if let Some(register) = self.register() {
            return Ok(Arg::Register(register));
        }
        Ok(Arg::Expr(self.expression()?.0))
    }

    /// Reads a register, if one stands here; otherwise takes no token.
    fn register(&mut self) -> Option<Register> {
        if !self.at_name() {
            return None;
        }
        self.attempt(|p| {
            let ident = p.name("a register").ok()?;
            Register::named(&ident.text, p.names)
        })
    }

    /// Reads an address after its opening bracket: `[a0 + 8]`, `[a0]+8`, `[a0]+s1%`.
    fn address(&mut self) -> Result<MemArg, Fail> {
        let at = self.here();
        let Some(register) = self.register() else {
            return self.expected("an address register");
        };
        let base = match register {
            Register::Scalar(s) if s.0 < 16 => s.0,
            other => {
                return Err(Fail::new(
                    Problem::NotAddress {
                        register: other.to_string(),
                    },
                    at.to(self.last()),
                ));
            }
        };
        let at = at.to(self.last());
        if !self.is("]") {
            if !self.is("+") && !self.is("-") {
                return self.expected("`+`, `-` or `]`");
            }
            if let Some((register, half, at)) = self.half()? {
                self.expect("]")?;
                return Ok(MemArg {
                    base,
                    mode: ModeArg::Own { register, half },
                    at,
                });
            }
            let (offset, at) = self.inside_brackets()?;
            self.expect("]")?;
            return Ok(MemArg {
                base,
                mode: ModeArg::Offset(offset),
                at,
            });
        }
        self.expect("]")?;
        let sign = self.here();
        if self.is("+") {
            let step = self.attempt(|p| {
                p.next();
                p.register()
            });
            if let Some(step) = step {
                let step_at = self.last();
                return self.step(base, step, step_at).map(|mode| MemArg {
                    base,
                    mode,
                    at: sign.to(self.last()),
                });
            }
        }
        if self.is("+") || self.is("-") {
            let (increment, at) = self.offset()?;
            return Ok(MemArg {
                base,
                mode: ModeArg::Post(increment),
                at,
            });
        }
        Ok(MemArg {
            base,
            mode: ModeArg::Offset(Expr::Value(0.into())),
            at,
        })
    }

    /// Reads `+ r5.h1`, if that stands here; otherwise takes no token.
    fn half(&mut self) -> Result<Option<(u8, u8, Span)>, Fail> {
        let found = self.attempt(|p| {
            if !p.eat("+") || !p.at_name() {
                return None;
            }
            let name = p.name("a register").ok()?;
            let (register, half) = match name.text.rsplit_once('.') {
                Some((register, half)) => (register, half.strip_prefix('h')?),
                None => (&*name.text, ""),
            };
            let register = Register::named(register, p.names)?;
            let half = index(half, HALVES);
            Some((register, half, name.text.to_string(), name.at))
        });
        match found {
            None => Ok(None),
            Some((Register::Pair(register), Some(half), _, at)) => Ok(Some((register, half, at))),
            Some((.., text, at)) => {
                let problem = Problem::Expected {
                    wanted: "an offset, or a half-word of a pair register (`r5.h0` to `r5.h3`)"
                        .into(),
                    found: format!("`{text}`"),
                };
                Err(Fail::new(problem, at))
            }
        }
    }

    pub(super) fn inside_brackets(&mut self) -> Result<(Expr, Span), Fail> {
        let slots = std::mem::replace(&mut self.slots, false);
        let offset = self.offset();
        self.slots = slots;
        offset
    }

    fn step(&mut self, base: u8, step: Register, at: Span) -> Result<ModeArg, Fail> {
        let index = match step {
            Register::Scalar(s) if (16..32).contains(&s.0) => s.0 - 16,
            other => {
                let found = format!("`{other}`");
                return Err(Fail::new(
                    Problem::Expected {
                        wanted: "a step register s0..s15".into(),
                        found,
                    },
                    at,
                ));
            }
        };
        match self.peek().map(|t| t.tok) {
            Some(tok) if tok.is("%") => {
                self.next();
                if base >= Address::MODULO_REGISTERS {
                    return Err(Fail::new(
                        Problem::NoModulo {
                            register: format!("a{base}"),
                        },
                        at,
                    ));
                }
                Ok(ModeArg::Modulo(index))
            }
            Some(tok) if tok.is("!") => {
                self.next();
                Ok(ModeArg::Reverse(index))
            }
            _ => Ok(ModeArg::Step(index)),
        }
    }
}
