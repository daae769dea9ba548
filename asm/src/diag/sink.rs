//! Collects problems while the source is read; makes diagnostics at the end.

use super::report::{Diagnostic, Diagnostics, Frame, Position, Related, Severity};
use super::{Fail, Flaw, Problem, render};
use crate::expansion::{Expansion, ProgramExpansion};
use crate::program::Line;
use crate::source::{SourceMap, Span};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// An expansion while the source is read, when lines share its name.
pub(crate) type SharedExpansion = Expansion<Rc<str>>;

/// Expansion that a line came from: an index into the table of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chain(Option<u32>);

impl Chain {
    /// Returns the expansion that comes `by` frames later.
    pub(crate) fn later(self, by: u32) -> Self {
        Self(self.0.map(|frame| frame + by))
    }
}

/// Most diagnostics of either severity that are kept.
const MOST: usize = 100;

/// Most expansion frames shown.
const FRAMES: usize = 12;

/// Most characters of a source line that a message repeats.
const QUOTED: usize = 400;

#[derive(Debug, Default)]
pub(crate) struct Sink {
    frames: Vec<(SharedExpansion, Span, Chain)>,
    errors: Vec<(Flaw, Chain)>,
    warnings: Vec<(Flaw, Chain)>,
    /// Place, kind and register of what is kept, and true for errors.
    seen: HashSet<(Span, &'static str, String, bool)>,
    /// Number of warnings beyond [`MOST`].
    unlisted: usize,
}

impl Sink {
    /// Opens an expansion inside `parent`.
    pub(crate) fn expand(&mut self, what: SharedExpansion, at: Span, parent: Chain) -> Chain {
        self.frames.push((what, at, parent));
        Chain(Some(self.frames.len() as u32 - 1))
    }

    /// Returns the number of expansions so far.
    pub(crate) fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Returns the source positions of words with the expansions that they came from.
    pub(crate) fn place_words(
        &self,
        words: impl Iterator<Item = (Span, Chain)>,
    ) -> (Vec<Line>, Vec<ProgramExpansion>) {
        let mut table = Vec::new();
        // Index in the table of each expansion that a word came from.
        let mut indices: HashMap<u32, u32> = HashMap::new();
        let mut enter = |at: Span, chain: Chain| {
            let mut inner = Vec::new();
            let mut next = chain.0;
            let mut outer = None;
            while let Some(frame) = next {
                outer = indices.get(&frame).copied();
                if outer.is_some() {
                    break;
                }
                inner.push(frame);
                let frame = self.frames.get(frame as usize);
                next = frame.and_then(|(_, _, parent)| parent.0);
            }
            while let Some(index) = inner.pop() {
                let Some((what, at, _)) = self.frames.get(index as usize) else {
                    continue;
                };
                let at = Line {
                    expansion: outer,
                    ..Line::new(at.file, at.line)
                };
                let what = what.with_owned_names();
                outer = Some(table.len() as u32);
                indices.insert(index, table.len() as u32);
                table.push(ProgramExpansion { what, at });
            }
            Line {
                expansion: outer,
                ..Line::new(at.file, at.line)
            }
        };
        let lines = words.map(|(at, chain)| enter(at, chain)).collect();
        (lines, table)
    }

    /// Repeats an expansion and all expansions inside it, which lie in `frames`. Returns the distance from
    /// each frame to its copy.
    pub(crate) fn repeat(&mut self, frames: Range<usize>, what: SharedExpansion) -> u32 {
        let by = (self.frames.len() - frames.start) as u32;
        let mut what = Some(what);
        for place in frames {
            let Some((inner, at, parent)) = self.frames.get(place).cloned() else {
                continue;
            };
            self.frames.push(match what.take() {
                Some(what) => (what, at, parent),
                None => (inner, at, parent.later(by)),
            });
        }
        by
    }

    /// True if an error would be kept: there is room, and none of its kind at its place.
    pub(crate) fn is_news(&self, fail: &Fail) -> bool {
        self.errors.len() < MOST && !self.seen.contains(&key(fail, true))
    }

    /// Keeps an error; another of the same kind at the same place is dropped.
    pub(crate) fn error(&mut self, fail: Fail, chain: Chain) {
        if self.errors.len() < MOST && self.seen.insert(key(&fail, true)) {
            self.errors.push((*fail.0, chain));
        }
    }

    /// Keeps a warning; another of the same kind at the same place is dropped.
    pub(crate) fn warn(&mut self, fail: Fail, chain: Chain) {
        if !self.seen.insert(key(&fail, false)) {
            return;
        }
        if self.warnings.len() < MOST {
            self.warnings.push((*fail.0, chain));
        } else {
            self.unlisted += 1;
        }
    }

    /// Revises the errors once all of the source is known.
    pub(crate) fn revise(&mut self, revise: impl FnMut(&mut Problem)) {
        self.errors
            .iter_mut()
            .map(|(flaw, _)| &mut flaw.problem)
            .for_each(revise);
    }

    /// Counts the errors.
    pub(crate) fn count_errors(&self) -> usize {
        self.errors.len()
    }

    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// True if there is no room for a further error.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.len() >= MOST
    }

    /// Returns the errors and the warnings as diagnostics.
    pub(crate) fn finish(self, map: &SourceMap) -> (Diagnostics, Diagnostics) {
        let more_errors = self
            .is_full()
            .then_some(Problem::MoreErrors { shown: MOST });
        let more_warnings = (self.unlisted > 0).then_some(Problem::MoreWarnings {
            shown: MOST,
            more: self.unlisted,
        });
        let list = |flaws: Vec<(Flaw, Chain)>, severity, more: Option<Problem>| {
            let last = flaws.last().map_or(Span::START, |(flaw, _)| flaw.at);
            let mut list: Vec<(Span, Diagnostic)> = flaws
                .into_iter()
                .map(|(flaw, chain)| (flaw.at, resolve(map, &self.frames, flaw, chain, severity)))
                .collect();
            list.sort_by_key(|(at, _)| *at);
            list.extend(more.map(|problem| {
                let flaw = *Fail::new(problem, last).0;
                let chain = Chain::default();
                (last, resolve(map, &self.frames, flaw, chain, severity))
            }));
            Diagnostics {
                list: list.into_iter().map(|(_, d)| d).collect(),
            }
        };
        (
            list(self.errors, Severity::Error, more_errors),
            list(self.warnings, Severity::Warning, more_warnings),
        )
    }
}

/// Returns what distinguishes a problem from another one: only one of them is kept.
fn key(fail: &Fail, is_error: bool) -> (Span, &'static str, String, bool) {
    let problem = &fail.0.problem;
    let register = match problem {
        Problem::RegisterUse { register, .. } => register.clone(),
        _ => String::new(),
    };
    (fail.0.at, problem.code(), register, is_error)
}

fn resolve(
    map: &SourceMap,
    frames: &[(SharedExpansion, Span, Chain)],
    flaw: Flaw,
    mut chain: Chain,
    severity: Severity,
) -> Diagnostic {
    let mut expansion = Vec::new();
    let mut left_out = 0;
    while let Some((what, at, parent)) = chain.0.and_then(|i| frames.get(i as usize)) {
        if expansion.len() < FRAMES {
            expansion.push(Frame {
                what: shorten(&what.to_string(), 0),
                at: position(map, *at),
            });
        } else {
            left_out += 1;
        }
        chain = *parent;
    }
    let Flaw {
        problem,
        at,
        related,
    } = flaw;
    let at_position = position(map, at);
    let source = map
        .file(at.file)
        .map_or("", |f| f.line_text(at_position.line));
    let mut diagnostic = Diagnostic {
        severity,
        code: problem.code(),
        message: shorten(&problem.to_string(), 0),
        source: shorten(source, at_position.column as usize - 1),
        related: related
            .iter()
            .map(|(at, message)| Related {
                message: shorten(message, 0),
                at: position(map, *at),
            })
            .collect(),
        expansion,
        help: problem.help().iter().map(|h| shorten(h, 0)).collect(),
        at: at_position,
        problem,
        rendered: String::new(),
    };
    let wide = std::iter::once(at)
        .chain(related.iter().map(|r| r.0))
        .filter_map(|s| map.file(s.file).map(|f| f.line_text(s.line).len()))
        .any(|length| length > QUOTED);
    diagnostic.rendered = render::render(map, &diagnostic, at, &related, left_out, wide);
    diagnostic
}

/// Cuts a text to what a message can repeat: for a long one, the part from just before character `at`.
fn shorten(text: &str, at: usize) -> String {
    if text.len() <= QUOTED {
        return text.to_owned();
    }
    let first = at.saturating_sub(QUOTED / 4);
    let mut part: String = text.chars().skip(first).take(QUOTED).collect();
    if first > 0 {
        part.insert_str(0, "...");
    }
    if text.chars().nth(first + QUOTED).is_some() {
        part.push_str("...");
    }
    part
}

fn position(map: &SourceMap, at: Span) -> Position {
    let Some(file) = map.file(at.file) else {
        return Position {
            file: String::new(),
            line: 0,
            column: 0,
            end_line: 0,
            end_column: 0,
        };
    };
    let ((line, column), (end_line, end_column)) = (file.position(at.start), file.position(at.end));
    Position {
        file: file.name.clone(),
        line,
        column,
        end_line,
        end_column,
    }
}
