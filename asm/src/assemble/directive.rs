//! The directives that do not open a block.

use super::data;
use super::limits;
use super::state::{Assembler, Context, Section};
use super::symbols::redefined;
use crate::diag::{Fail, Problem, nearest};
use crate::source::Span;
use crate::syntax::{Parser, Register, Token};
use cp2_machine::Extensions;

const DIRECTIVES: [&str; 37] = [
    ".program",
    ".dmem",
    ".entry",
    ".equ",
    ".align",
    ".float",
    ".int",
    ".complex",
    ".space",
    ".cis",
    ".alias",
    ".unalias",
    ".require",
    ".include",
    ".error",
    ".rept",
    ".endr",
    ".macro",
    ".endm",
    ".if",
    ".elif",
    ".else",
    ".endif",
    ".linear",
    ".endlinear",
    ".chain",
    ".endchain",
    ".behind",
    ".const",
    ".pointer",
    ".apart",
    ".pair",
    ".order",
    ".spread",
    ".phase",
    ".turns",
    ".free",
];

impl Assembler<'_> {
    /// Carries out a directive.
    pub(super) fn directive(
        &mut self,
        name: &str,
        at: Span,
        args: &[Token<'_>],
        context: &Context<'_>,
    ) -> Result<(), Fail> {
        self.names.note();
        // An empty list of operands has no position; the directive's is used.
        let placed = |mut fail: Fail| {
            if fail.0.at == Span::START {
                fail.0.at = at.after();
            }
            fail
        };
        let linear = self.linear_directive(name, at, args, context);
        if linear.map_err(placed)? {
            return Ok(());
        }
        let mut p = Parser::new(args, &self.names, context.scope);
        let nothing = |fail: Fail| {
            if args.is_empty() {
                Fail::new(fail.0.problem, at.after())
            } else {
                fail
            }
        };
        match name {
            ".program" => {
                p.end()?;
                self.section = Section::Program;
            }
            ".dmem" => {
                if !p.at_end() {
                    let (address, at) = p.constant_int("a DMEM address")?;
                    p.end()?;
                    let most = limits::DMEM as i64;
                    if !(0..=most).contains(&address) {
                        let what = "the DMEM address".to_owned();
                        return Err(Fail::new(
                            Problem::OutOfRange {
                                what,
                                value: address,
                                least: 0,
                                most,
                            },
                            at,
                        ));
                    }
                    self.dmem = address as u64;
                }
                self.section = Section::Dmem;
            }
            ".entry" => {
                let (expr, at) = p.expression().map_err(nothing)?;
                p.end()?;
                if let Some((_, first, _)) = &self.entry {
                    return Err(redefined(".entry", at, Some(*first)));
                }
                self.entry = Some((expr, at, context.chain));
            }
            ".equ" => {
                let name = p.name("a name").map_err(nothing)?;
                p.expect(",")?;
                let (expr, _) = p.expression()?;
                p.end()?;
                if name.text.starts_with('.') {
                    let what = "a directive or local label";
                    return Err(Fail::new(
                        Problem::Reserved {
                            name: name.text.to_string(),
                            what,
                        },
                        name.at,
                    ));
                }
                self.names.constant(&name.text, expr, name.at)?;
            }
            ".alias" => {
                let name = p.name("a name").map_err(nothing)?;
                p.expect(",")?;
                let target = p.name("a register")?;
                p.end()?;
                let Some(register) = Register::named(&target.text, &self.names) else {
                    let found = format!("`{}`", &*target.text);
                    return Err(Fail::new(
                        Problem::Expected {
                            wanted: "a register".into(),
                            found,
                        },
                        target.at,
                    ));
                };
                self.names.define_alias(&name.text, register, name.at)?;
            }
            ".unalias" => {
                let name = p.name("a name").map_err(nothing)?;
                p.end()?;
                self.names.undefine_alias(&name.text, name.at)?;
            }
            ".require" => {
                let name = extension(&mut p).map_err(nothing)?;
                p.end()?;
                let Some(flag) = Extensions::by_name(&name) else {
                    let all: Vec<String> = Extensions::all().names().collect();
                    let near = nearest(&name, all.iter().map(String::as_str));
                    return Err(Fail::new(Problem::UnknownExtension { name, near }, at));
                };
                self.requires |= flag;
                self.required_at.push((flag, at, context.chain));
            }
            ".include" => {
                let file = p.string().map_err(nothing)?.to_owned();
                p.end()?;
                self.include(&file, at, context);
            }
            ".error" => {
                let text = p.string().map_err(nothing)?.to_owned();
                p.end()?;
                return Err(Fail::new(Problem::UserError { text }, at));
            }
            ".align" | ".float" | ".int" | ".complex" | ".space" | ".cis" => {
                let data = data::read(name, p).map_err(nothing)?;
                self.place(name, data, at, context)?;
            }
            ".rept" | ".endr" | ".macro" | ".endm" | ".if" | ".elif" | ".else" | ".endif" => {
                let why = "it begins its own line: put the label on the line before";
                return Err(Fail::new(
                    Problem::Misplaced {
                        what: format!("`{name}`"),
                        why,
                    },
                    at,
                ));
            }
            ".allow" => {
                let why = "`.allow stall` and `.allow register` stand at the end of an instruction's line";
                return Err(Fail::new(
                    Problem::Misplaced {
                        what: "`.allow`".into(),
                        why,
                    },
                    at,
                ));
            }
            _ => {
                let near = nearest(name, DIRECTIVES);
                return Err(Fail::new(
                    Problem::UnknownDirective {
                        name: name.to_owned(),
                        near,
                    },
                    at,
                ));
            }
        }
        Ok(())
    }
}

/// Reads the name of an extension, which may contain dashes.
fn extension(p: &mut Parser<'_, '_>) -> Result<String, Fail> {
    let mut name = p.name("an extension")?.text.to_string();
    while p.eat("-") {
        name.push('-');
        name.push_str(&p.name("the rest of the extension's name")?.text);
    }
    Ok(name)
}
