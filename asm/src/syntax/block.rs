//! Groups lines into blocks that expand: `.rept`, `.macro`, `.if`.

use super::piece::Piece;
use super::token::{Lexeme, Tok};
use crate::diag::{Fail, Problem};
use crate::expr::Punct;
use std::rc::Rc;

/// Deepest nesting of blocks in one file.
const DEEPEST: usize = 64;

/// A line, or a block of lines with the line that opens it.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Line(Line),
    Repeat {
        head: Vec<Lexeme>,
        body: Rc<[Node]>,
    },
    Macro {
        head: Vec<Lexeme>,
        body: Rc<[Node]>,
    },
    /// Conditional arms in order; the last may be the `.else`.
    If {
        arms: Vec<Arm>,
    },
}

/// Lines under a condition, with the condition.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    pub(crate) head: Vec<Lexeme>,
    /// Piece of the head that holds the condition.
    pub(crate) condition: Piece,
    pub(crate) body: Rc<[Node]>,
}

impl Arm {
    fn new(head: Vec<Lexeme>, body: Rc<[Node]>) -> Self {
        Self {
            condition: Piece::new(&head, 1..head.len()),
            head,
            body,
        }
    }
}

/// A line as written.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) tokens: Vec<Lexeme>,
    /// Pieces of the arguments, if the line may be a macro call; `None` if the line begins with a label or
    /// its brackets and commas cannot separate arguments.
    pub(crate) arguments: Option<Vec<Piece>>,
}

impl Line {
    fn new(tokens: Vec<Lexeme>) -> Self {
        let arguments = arguments(&tokens);
        Self { tokens, arguments }
    }
}

/// Splits the tokens after the first at the commas outside of brackets.
fn arguments(line: &[Lexeme]) -> Option<Vec<Piece>> {
    let (mut all, mut begin, mut open) = (Vec::new(), 1, 0_u32);
    if line.get(1).is_some_and(|t| t.glued || t.tok.is(":")) {
        return None;
    }
    for (place, token) in line.iter().enumerate().skip(1) {
        let Tok::Punct(punct) = &token.tok else {
            continue;
        };
        match punct.first() {
            Some(b',') if open == 0 => {
                all.push(begin..place);
                begin = place + 1;
            }
            Some(b'(' | b'[' | b'{') => open += 1,
            Some(b')' | b']' | b'}') => open = open.checked_sub(1)?,
            _ => {}
        }
    }
    if line.len() > 1 {
        all.push(begin..line.len());
    }
    let whole = open == 0 && all.iter().all(|place| !place.is_empty());
    let pieces = all.into_iter().map(|place| Piece::new(line, place));
    whole.then(|| pieces.collect())
}

impl Node {
    /// Returns the line, or the line that opens the block.
    pub(crate) fn head(&self) -> &[Lexeme] {
        match self {
            Self::Line(line) => &line.tokens,
            Self::Repeat { head, .. } | Self::Macro { head, .. } => head,
            Self::If { arms } => arms.first().map_or(&[], |a| &a.head),
        }
    }
}

/// A block that is being read.
struct Open {
    head: Vec<Lexeme>,
    arms: Vec<Arm>,
    nodes: Vec<Node>,
}

fn closer(opener: &str) -> &'static str {
    match opener {
        ".rept" => ".endr",
        ".macro" => ".endm",
        _ => ".endif",
    }
}

fn opener(line: &[Lexeme]) -> &str {
    line.first().and_then(|t| t.tok.name()).unwrap_or("")
}

/// Directives that open, divide and close blocks.
const BLOCKS: [&str; 8] = [
    ".rept", ".macro", ".if", ".elif", ".else", ".endr", ".endm", ".endif",
];

/// Counts the tokens at the front of a line that are labels before a block directive: such a label belongs to
/// the lines around the block.
fn labels(line: &[Lexeme]) -> usize {
    let mut begin = 0;
    while let Some(end) = label(line.get(begin..).unwrap_or_default()) {
        begin += end;
    }
    let directive = BLOCKS.contains(&opener(line.get(begin..).unwrap_or_default()));
    if directive { begin } else { 0 }
}

/// Counts the tokens of the label that a line begins with: a name with its glued parts, and a colon.
fn label(line: &[Lexeme]) -> Option<usize> {
    let part = |t: &Lexeme| matches!(t.tok, Tok::Name(_) | Tok::Param(_));
    line.first().filter(|first| part(first))?;
    let (mut at, mut open) = (1, 0_u32);
    loop {
        let token = line.get(at)?;
        open = match &token.tok {
            Tok::Punct(punct) if *punct == Punct::of("{") && (open > 0 || token.glued) => open + 1,
            Tok::Punct(punct) if *punct == Punct::of("}") && open > 0 => open - 1,
            Tok::Punct(punct) if *punct == Punct::of(":") && open == 0 => return Some(at + 1),
            _ if open > 0 => open,
            Tok::Int(_) | Tok::Name(_) | Tok::Param(_) if token.glued => open,
            _ => return None,
        };
        at += 1;
    }
}

/// Groups the lines of a file into nodes, and reports every error.
pub(crate) fn blocks(lines: Vec<Vec<Lexeme>>, mut report: impl FnMut(Fail)) -> Rc<[Node]> {
    let mut stack: Vec<Open> = Vec::new();
    let mut nodes: Vec<Node> = Vec::new();
    for mut line in lines {
        let directive = line.split_off(labels(&line));
        if !line.is_empty() {
            nodes.push(Node::Line(Line::new(line)));
        }
        let line = directive;
        let Some(first) = line.first() else { continue };
        let at = first.at;
        match first.tok.name().unwrap_or("") {
            ".rept" | ".macro" | ".if" => {
                if stack.len() >= DEEPEST {
                    report(Fail::new(
                        Problem::Limit {
                            what: "the nesting of blocks",
                            limit: DEEPEST as u64,
                        },
                        at,
                    ));
                    return Rc::new([]);
                }
                stack.push(Open {
                    head: line,
                    arms: Vec::new(),
                    nodes: std::mem::take(&mut nodes),
                });
            }
            word @ (".elif" | ".else") => {
                let done = stack
                    .last()
                    .is_some_and(|open| opener(&open.head) == ".else");
                match stack
                    .last_mut()
                    .filter(|open| opener(&open.head) == ".if" || opener(&open.head) == ".elif")
                {
                    Some(open) => {
                        let head = std::mem::replace(&mut open.head, line);
                        let body = std::mem::take(&mut nodes);
                        open.arms.push(Arm::new(head, body.into()));
                    }
                    None if done => {
                        let problem = Problem::Misplaced {
                            what: format!("`{word}`"),
                            why: "the `.else` of this `.if` is its last arm: `.endif` comes next",
                        };
                        report(Fail::new(problem, at));
                    }
                    None => report(Fail::new(
                        Problem::Unopened {
                            closer: word.to_owned(),
                            opener: "`.if`",
                        },
                        at,
                    )),
                }
            }
            word @ (".endr" | ".endm" | ".endif") => {
                let fits = stack
                    .last()
                    .is_some_and(|open| closer(opener(&open.head)) == word);
                let Some(open) = (if fits { stack.pop() } else { None }) else {
                    let opener = match word {
                        ".endr" => "`.rept`",
                        ".endm" => "`.macro`",
                        _ => "`.if`",
                    };
                    report(Fail::new(
                        Problem::Unopened {
                            closer: word.to_owned(),
                            opener,
                        },
                        at,
                    ));
                    continue;
                };
                if let Some(extra) = line.get(1) {
                    let problem = Problem::Expected {
                        wanted: "the end of the line".into(),
                        found: extra.tok.to_string(),
                    };
                    report(Fail::new(problem, extra.at));
                }
                close(open, &mut nodes);
            }
            _ => nodes.push(Node::Line(Line::new(line))),
        }
    }
    while let Some(open) = stack.pop() {
        let word = opener(&open.head).to_owned();
        let closer = closer(&word);
        if let Some(first) = open.head.first() {
            report(Fail::new(
                Problem::Unclosed {
                    opener: word,
                    closer,
                },
                first.at,
            ));
        }
        // An unclosed block is kept, since its lines may have errors of their own.
        close(open, &mut nodes);
    }
    nodes.into()
}

/// Makes a node of a complete block and appends it to the nodes around it.
fn close(open: Open, nodes: &mut Vec<Node>) {
    let body: Rc<[Node]> = std::mem::replace(nodes, open.nodes).into();
    nodes.push(match opener(&open.head) {
        ".rept" => Node::Repeat {
            head: open.head,
            body,
        },
        ".macro" => Node::Macro {
            head: open.head,
            body,
        },
        _ => {
            let mut arms = open.arms;
            arms.push(Arm::new(open.head, body));
            Node::If { arms }
        }
    });
}
