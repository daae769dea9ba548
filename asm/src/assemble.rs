//! The assembler: text to [`Program`](crate::Program).
//!
//! Lines are expanded and read in one pass that fixes every address, since each word takes one address.
//! Expressions that use later names are evaluated at the end. Every step is bounded ([`limits`]); every error
//! carries its place in the source.
//!
//! Macros are text with arguments. A first reading folds: an argument that has a value is replaced by that
//! value, and expressions in a macro's body remember their values by the numbers that the parameters stand
//! for. If the folded reading gives errors, or if a value would stand where the text may mean something else
//! ([`arguments`]), the source is read again as written.

mod arguments;
mod call;
mod data;
mod directive;
mod expand;
mod finish;
mod include;
mod limits;
mod line;
mod linear;
mod loops;
mod machine;
mod registers;
mod repeat;
mod resolve;
mod select;
mod stall;
mod state;
mod suggest;
mod symbols;
#[cfg(test)]
mod tests;

pub use finish::Assembly;
pub use include::{Include, IncludeFiles, shipped};
pub(crate) use select::describe_row;

use crate::diag::Diagnostics;
use crate::expr::Value;
use crate::isa::{Isa, Slot, Word};
use crate::schedule::ScheduleCache;
use crate::source::Source;
use crate::syntax::{self, NameTexts, Parser};
use cp2_machine::Machine;
use state::Assembler;

/// Options that the caller passes to the assembler.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Constants defined before the source is read; an `.equ` of the same name
    /// is a default that gives way.
    pub defines: Vec<(String, Value)>,
    /// Machine that the program is for. The program is checked against its limits, and warnings report
    /// stalls.
    pub machine: Option<&'a Machine>,
    /// True if warnings report flaws in the use of registers ([`crate::analysis::check_registers`]).
    pub check_registers: bool,
    /// Finder of the files that `.include` names, besides those shipped with the assembler ([`shipped`]);
    /// without a finder, only shipped files are found. A file found here takes precedence over a shipped one
    /// of the same name. [`IncludeFiles`] reads the file system; a closure from the name and the asking file
    /// to a [`Source`] works as well.
    ///
    /// ```
    /// use cp2_asm::{Include, Options, Source, assemble};
    ///
    /// let text = ".include \"page.s\"\n.include \"mine.s\"\n.program\n    mine\n    stop\n";
    /// let source = Source::new("k.s", text);
    /// // `page.s` is shipped, `mine.s` is not.
    /// assert!(assemble(&source, &Options::default()).unwrap_err().to_string().contains("mine.s"));
    /// let mine = |name: &str, _from: &str| match name {
    ///     "mine.s" => Ok(Source::new(name, ".macro mine\n    nop\n.endm\n")),
    ///     _ => Err("no such file".to_owned()),
    /// };
    /// let include: &dyn Include = &mine;
    /// let options = Options { include: Some(include), ..Options::default() };
    /// assert_eq!(assemble(&source, &options).unwrap().program.words.len(), 2);
    /// ```
    pub include: Option<&'a dyn Include>,
    /// Schedules of linear blocks that are kept from one program to the next. The program is the same without.
    pub schedules: Option<&'a ScheduleCache>,
}

impl Options<'_> {
    /// Returns the instructions of the machine; those of the table where there is no machine.
    pub(crate) fn isa(&self) -> Isa<'_> {
        self.machine.map_or(Isa::BASE, Isa::of)
    }
}

/// Assembles a source.
///
/// # Errors
/// All errors of the source, in its order.
pub fn assemble(source: &Source, options: &Options<'_>) -> Result<Assembly, Diagnostics> {
    // The second reading is not folded, so that messages quote names and arguments as they are written.
    attempt(source, options, true).or_else(|_| attempt(source, options, false))
}

/// Assembles a source. With `folds`, values take the place of arguments and names: about twice as fast, and
/// the result is either the same program or errors, which need not be those of the source.
fn attempt(source: &Source, options: &Options<'_>, folds: bool) -> Result<Assembly, Diagnostics> {
    let mut assembler = Assembler::new(options);
    assembler.names.folds = folds;
    assembler.main(source);
    assembler.finish()
}

/// Assembles one instruction word at word address `pc`, without labels and without checks against a
/// surrounding program.
///
/// # Errors
/// All errors of the word.
pub fn assemble_word(text: &str, pc: u16) -> Result<Word, Diagnostics> {
    assemble_word_for(text, pc, &Options::default())
}

/// Assembles one word with the instructions of a machine.
fn assemble_word_for(text: &str, pc: u16, options: &Options<'_>) -> Result<Word, Diagnostics> {
    let mut assembler = Assembler::new(options);
    match assembler.single(text, pc) {
        Ok(word) if !assembler.sink.has_errors() => Ok(word),
        Ok(_) => Err(assembler.sink.finish(&assembler.map).0),
        Err(fail) => {
            assembler.error(fail, Default::default());
            Err(assembler.sink.finish(&assembler.map).0)
        }
    }
}

/// Reads a definition as given on a command line: `NAME=expression`, or `NAME` for 1.
///
/// # Errors
/// All errors of the definition.
pub fn parse_define(text: &str) -> Result<(String, Value), Diagnostics> {
    let options = Options::default();
    let mut assembler = Assembler::new(&options);
    let found = match assembler.define_from(text) {
        Ok(definition) => Some(definition),
        Err(fail) => {
            assembler.error(fail, Default::default());
            None
        }
    };
    // Errors in single characters have been reported already.
    found
        .filter(|_| !assembler.sink.has_errors())
        .ok_or_else(|| assembler.sink.finish(&assembler.map).0)
}

impl Assembler<'_> {
    /// Returns the tokens of a text of one line.
    fn one_line(&mut self, name: &str, text: &str) -> Vec<syntax::Lexeme> {
        let file = self.map.add(&Source::new(name, text));
        let mut flaws = Vec::new();
        let lines = syntax::lines((file, text), &mut NameTexts::default(), |flaw| {
            flaws.push(flaw);
        });
        for flaw in flaws {
            self.error(flaw, Default::default());
        }
        lines.into_iter().flatten().collect()
    }

    fn single(&mut self, text: &str, pc: u16) -> Result<Word, crate::diag::Fail> {
        let line = self.one_line("word", text);
        let tokens: Vec<_> = line.iter().map(syntax::Lexeme::token).collect();
        self.names.location = pc.into();
        let slots = Parser::new(&tokens, &self.names, symbols::GLOBAL).word()?;
        let mut selected = Vec::new();
        for source in slots.insts {
            selected.push(select::select(
                source,
                self.options.isa(),
                std::iter::empty(),
            )?);
        }
        line::one_per_slot(&selected)?;
        let mut word = Word::NOP;
        for selected in &selected {
            let inst = resolve::resolve(selected, usize::from(pc), None, &self.names)?;
            match inst.row().slot() {
                Slot::Arith => word.arith = inst,
                Slot::Mem => word.mem = inst,
            }
        }
        match word.written_twice() {
            None => Ok(word),
            Some(register) => {
                let problem = crate::diag::Problem::WrittenTwice {
                    register: register.to_string(),
                };
                Err(crate::diag::Fail::new(problem, slots.at))
            }
        }
    }

    fn define_from(&mut self, text: &str) -> Result<(String, Value), crate::diag::Fail> {
        let line = self.one_line("definition", text);
        let tokens: Vec<_> = line.iter().map(syntax::Lexeme::token).collect();
        let mut p = Parser::new(&tokens, &self.names, symbols::GLOBAL);
        let name = p.name("a name")?;
        let value = if p.eat("=") {
            p.constant()?.0
        } else {
            Value::Int(1)
        };
        p.end()?;
        self.names.check_free(&name.text, name.at)?;
        Ok((name.text.to_string(), value))
    }
}
