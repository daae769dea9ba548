//! Reads source text: characters to tokens, lines, blocks, and expressions.

mod block;
mod expression;
mod lexer;
mod linear;
mod operand;
mod parser;
mod piece;
mod token;

pub(crate) use block::{Arm, Line, Node, blocks};
pub(crate) use lexer::{NameTexts, lines};
pub(crate) use linear::BlockValueName;
pub(crate) use operand::{AllowedWarnings, Arg, MemArg, ModeArg, Register, Slots, SourceInst};
pub(crate) use parser::{Names, Parser, Text};
pub(crate) use piece::{Number, Numbers, Piece, Reading};
pub(crate) use token::{Known, Lexeme, Scope, Tok, Token};
