//! The assembler's state: words and data so far, expressions still open.

use super::arguments::{Argument, Arguments};
use super::limits;
use super::linear::{BlockConstants, BlockWrites, OpenChain, PooledWords};
use super::select::Selected;
use super::symbols::Table;
use super::{Options, include::Loaded};
use crate::diag::{Chain, Fail, Problem, Sink};
use crate::expr::Expr;
use crate::linear::{BlockReport, LinearBlock, TableLabel};
use crate::source::{SourceMap, Span};
use crate::syntax::{AllowedWarnings, Lexeme, Node, Reading, Scope};
use cp2_machine::Extensions;
use std::collections::HashMap;
use std::rc::Rc;

/// Section that lines are assembled into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Program,
    Dmem,
}

/// A word of the program whose expressions are still open.
#[derive(Clone, Debug)]
pub(super) struct PendingWord {
    pub(super) insts: Vec<Selected>,
    pub(super) at: Span,
    pub(super) chain: Chain,
    pub(super) allowed: AllowedWarnings,
    /// Last word of the loop block that the word opens.
    pub(super) block_end: Option<usize>,
}

/// Four bytes of DMEM whose value is still an expression.
#[derive(Debug)]
pub(super) struct Datum {
    pub(super) address: u64,
    pub(super) format: Format,
    pub(super) expr: Expr,
    pub(super) at: Span,
    pub(super) chain: Chain,
}

/// Conversion from a value to four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Float,
    Int,
}

/// Range of DMEM that a directive fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) at: Span,
    pub(super) chain: Chain,
}

/// A macro: parameters and body.
#[derive(Debug)]
pub(super) struct Macro {
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Rc<[Node]>,
    pub(super) at: Span,
}

/// A macro's parameter.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: Rc<str>,
    pub(super) default: Option<Vec<Lexeme>>,
}

/// Surroundings of a line's expansion: scope, macro arguments, depth, file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'c> {
    pub(super) scope: Scope,
    pub(super) chain: Chain,
    pub(super) arguments: Option<&'c Arguments<'c>>,
    pub(super) depth: u32,
    /// Index of the file that is being read.
    pub(super) file: u32,
}

impl<'c> Context<'c> {
    /// Returns the argument bound to the macro parameter `name`.
    pub(super) fn argument(&self, name: &Rc<str>) -> Option<&'c Argument<'c>> {
        self.arguments?.of(name)
    }
}

/// State of the assembler while a source is read.
pub(super) struct Assembler<'a> {
    pub(super) options: &'a Options<'a>,
    pub(super) map: SourceMap,
    pub(super) sink: Sink,
    /// Identifies this reading of the source, see [`crate::syntax::Piece::keep`].
    pub(super) reading: Reading,
    pub(super) names: Table,
    pub(super) macros: HashMap<Rc<str>, Rc<Macro>>,
    pub(super) loaded: HashMap<String, Loaded>,
    pub(super) section: Section,
    pub(super) words: Vec<PendingWord>,
    pub(super) blocks: Vec<(usize, Span, Chain)>,
    pub(super) dmem: u64,
    pub(super) data: Vec<Datum>,
    pub(super) extents: Vec<Extent>,
    pub(super) entry: Option<(Expr, Span, Chain)>,
    pub(super) requires: Extensions,
    /// Source position of each `.require`, for messages.
    pub(super) required_at: Vec<(Extensions, Span, Chain)>,
    /// The linear block that is being read.
    pub(super) linear: Option<Box<LinearBlock>>,
    /// The chain of linear blocks that is being read.
    pub(super) open_chain: Option<Box<OpenChain>>,
    /// Tables of the constants of linear blocks.
    pub(super) tables: Vec<BlockConstants>,
    /// Labels of tables of steps in linear blocks that were not known there.
    pub(super) table_labels: Vec<(TableLabel, Chain)>,
    /// Words of linear blocks that wait for a place behind the loop around them, or behind the program.
    pub(super) pool: Vec<PooledWords>,
    /// Names of linear blocks with the word before which they branch to pooled words, and the first of these.
    pub(super) pooled: Vec<(Rc<str>, usize, usize)>,
    /// Registers that the linear blocks write.
    pub(super) block_writes: Vec<BlockWrites>,
    /// Reports of the linear blocks.
    pub(super) reports: Vec<BlockReport>,
    /// Last word of the latest hardware loop that a linear block made.
    pub(super) scheduled_end: Option<usize>,
    pub(super) lines: u64,
    pub(super) tokens: u64,
    /// True once a limit was hit: nothing more is read.
    pub(super) halted: bool,
}

impl<'a> Assembler<'a> {
    pub(super) fn new(options: &'a Options<'a>) -> Self {
        let mut names = Table::new();
        for (name, value) in &options.defines {
            names.predefine(name, *value);
        }
        Self {
            options,
            map: SourceMap::default(),
            sink: Sink::default(),
            reading: Reading::begin(),
            names,
            macros: HashMap::new(),
            loaded: HashMap::new(),
            section: Section::Program,
            words: Vec::new(),
            blocks: Vec::new(),
            dmem: 0,
            data: Vec::new(),
            extents: Vec::new(),
            entry: None,
            requires: Extensions::empty(),
            required_at: Vec::new(),
            linear: None,
            open_chain: None,
            tables: Vec::new(),
            table_labels: Vec::new(),
            pool: Vec::new(),
            pooled: Vec::new(),
            block_writes: Vec::new(),
            reports: Vec::new(),
            scheduled_end: None,
            lines: 0,
            tokens: 0,
            halted: false,
        }
    }

    /// Reports an error.
    pub(super) fn error(&mut self, mut fail: Fail, chain: Chain) {
        if !self.sink.is_news(&fail) {
            return;
        }
        self.names.suggest(&mut fail);
        self.sink.error(fail, chain);
        self.halted |= self.sink.is_full();
    }

    /// Reports that a limit was hit, and stops the reading.
    pub(super) fn halt(&mut self, what: &'static str, limit: u64, at: Span, chain: Chain) {
        self.error(Fail::new(Problem::Limit { what, limit }, at), chain);
        self.halted = true;
    }

    /// Sets the current location, the address of the next word or byte, for expressions.
    pub(super) fn locate(&mut self) {
        self.names.location = match self.section {
            Section::Program => self.words.len() as i64,
            Section::Dmem => self.dmem as i64,
        };
    }

    /// Counts one more line; false when there are too many.
    pub(super) fn count_line(&mut self, at: Span, chain: Chain) -> bool {
        self.lines += 1;
        if self.lines > limits::LINES {
            self.halt("the number of expanded lines", limits::LINES, at, chain);
        }
        !self.halted
    }
}
