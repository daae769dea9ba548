//! From characters to tokens, lines and blocks; operands and expressions.

mod block;
mod expression;
mod lexer;
mod operand;
mod parser;
mod token;

pub(crate) use block::{Node, blocks};
pub(crate) use lexer::lines;
pub(crate) use operand::{Arg, ModeArg, Register, Slots, SourceInst};
pub(crate) use parser::{Names, Parser, Text};
pub(crate) use token::{Scope, Tok, Token};
