//! `.include`: finding and reading further files.

mod parsed_files;

use super::limits;
use super::state::{Assembler, Context};
use crate::diag::{Fail, Problem};
use crate::expansion::Expansion;
use crate::source::{Source, Span};
use crate::syntax::{self, NameTexts, Node};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Finder of the texts that `.include` names.
pub trait Include {
    /// Returns the text of `name`, asked for by the file `from`. The result's name identifies the file and is
    /// shown in messages.
    ///
    /// # Errors
    /// The reason why there is no such text, for the message.
    fn include(&self, name: &str, from: &str) -> Result<Source, String>;
}

impl<F: Fn(&str, &str) -> Result<Source, String>> Include for F {
    fn include(&self, name: &str, from: &str) -> Result<Source, String> {
        self(name, from)
    }
}

/// Names and texts of the files that `.include` finds without a finder.
const SHIPPED: [(&str, &str); 1] = [("page.s", include_str!("../page.s"))];

/// Returns the text of a file shipped with the assembler: `page.s`, the page loop of the kernel ABI.
#[must_use]
pub fn shipped(name: &str) -> Option<&'static str> {
    let found = SHIPPED.iter().find(|(file, _)| *file == name);
    found.map(|(_, text)| *text)
}

/// Finder that searches the directory of the including file, then others.
#[derive(Clone, Debug, Default)]
pub struct IncludeFiles {
    /// Directories searched in order.
    pub directories: Vec<PathBuf>,
}

impl Include for IncludeFiles {
    fn include(&self, name: &str, from: &str) -> Result<Source, String> {
        let own = Path::new(from)
            .parent()
            .unwrap_or(Path::new(""))
            .to_path_buf();
        let mut reason = String::from("no such file");
        for directory in std::iter::once(&own).chain(&self.directories) {
            let path = directory.join(name);
            match read(&path) {
                Ok(text) => return Ok(Source::new(path.display().to_string(), text)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => reason = error.to_string(),
            }
        }
        Err(reason)
    }
}

/// Reads a regular file. Others are refused: reading a pipe, for example, would wait for its writer.
fn read(path: &Path) -> io::Result<String> {
    let refused = |reason: &str| Err(io::Error::other(reason));
    if !std::fs::metadata(path)?.is_file() {
        return refused("not a plain file");
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(limits::FILE as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limits::FILE {
        return refused("the file is too long");
    }
    cp2_machine::decode_text(bytes).map_err(io::Error::other)
}

/// A file that has been read, kept for further inclusions.
#[derive(Clone)]
pub(super) struct Loaded {
    file: u32,
    nodes: Rc<[Node]>,
}

impl Assembler<'_> {
    /// Reads the main file.
    pub(super) fn main(&mut self, source: &Source) {
        let context = Context {
            scope: super::symbols::GLOBAL,
            chain: Default::default(),
            arguments: None,
            depth: 0,
            file: 0,
        };
        if let Some(loaded) = self.load(source, Span::START, &context) {
            self.expand(&loaded.nodes, &context);
        }
    }

    /// Reads an included file.
    pub(super) fn include(&mut self, name: &str, at: Span, context: &Context<'_>) {
        let from = self
            .map
            .file(context.file)
            .map(|f| f.name.clone())
            .unwrap_or_default();
        let found = match self.options.include {
            Some(include) => include.include(name, &from),
            None => Err("nothing can be included here".to_owned()),
        };
        // The caller's file takes precedence over a shipped one of the same name.
        let found = found.or_else(|reason| {
            shipped(name)
                .map(|text| Source::new(name, text))
                .ok_or(reason)
        });
        let source = match found {
            Ok(source) => source,
            Err(reason) => {
                let problem = Problem::Include {
                    name: name.to_owned(),
                    reason,
                };
                return self.error(Fail::new(problem, at), context.chain);
            }
        };
        let loaded = match self.loaded.get(&source.name) {
            Some(loaded) => Some(loaded.clone()),
            None => self.load(&source, at, context),
        };
        if let Some(loaded) = loaded {
            let chain = self.sink.expand(
                Expansion::File(source.name.as_str().into()),
                at,
                context.chain,
            );
            let scope = super::symbols::GLOBAL;
            let context = Context {
                scope,
                chain,
                arguments: None,
                depth: context.depth + 1,
                file: loaded.file,
            };
            self.expand(&loaded.nodes, &context);
        }
    }

    fn load(&mut self, source: &Source, at: Span, context: &Context<'_>) -> Option<Loaded> {
        let bytes: usize = self.map.files().iter().map(|f| f.text.len()).sum();
        let file = if source.text.len() > limits::FILE {
            // An empty file stands in, so that the message has a file to point into.
            self.map.add(&Source::new(&source.name, ""));
            self.halt(
                "the length of a file in bytes",
                limits::FILE as u64,
                at,
                context.chain,
            );
            return None;
        } else if bytes + source.text.len() > limits::FILES {
            self.halt(
                "the length of all files in bytes",
                limits::FILES as u64,
                at,
                context.chain,
            );
            return None;
        } else {
            self.map.add(source)
        };
        let known = parsed_files::find(file, &source.text);
        let nodes = known.unwrap_or_else(|| {
            let mut flaws = Vec::new();
            let read = (file, source.text.as_str());
            let lines = syntax::lines(read, &mut NameTexts::default(), |flaw| flaws.push(flaw));
            let nodes = syntax::blocks(lines, |flaw| flaws.push(flaw));
            if flaws.is_empty() {
                parsed_files::keep(file, &source.text, &nodes);
            }
            for flaw in flaws {
                self.error(flaw, context.chain);
            }
            nodes
        });
        let loaded = Loaded { file, nodes };
        self.loaded.insert(source.name.clone(), loaded.clone());
        Some(loaded)
    }
}
