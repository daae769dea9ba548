//! Groups lines into the blocks that expand: `.rept`, `.macro`, `.if`.

use super::token::Token;
use crate::diag::{Fail, Problem};
use std::rc::Rc;

/// Deepest nesting of blocks in one file.
const DEEPEST: usize = 64;

/// A line, or a block of lines with the line that opens it.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Line(Vec<Token>),
    Repeat {
        head: Vec<Token>,
        body: Rc<[Node]>,
    },
    Macro {
        head: Vec<Token>,
        body: Rc<[Node]>,
    },
    /// Conditions with their lines, in order; the last may be the `.else`.
    If {
        arms: Vec<(Vec<Token>, Rc<[Node]>)>,
    },
}

impl Node {
    /// The line that opens it.
    pub(crate) fn head(&self) -> &[Token] {
        match self {
            Self::Line(head) | Self::Repeat { head, .. } | Self::Macro { head, .. } => head,
            Self::If { arms } => arms.first().map_or(&[], |a| &a.0),
        }
    }
}

/// A block that is being read.
struct Open {
    head: Vec<Token>,
    arms: Vec<(Vec<Token>, Rc<[Node]>)>,
    nodes: Vec<Node>,
}

fn closer(opener: &str) -> &'static str {
    match opener {
        ".rept" => ".endr",
        ".macro" => ".endm",
        _ => ".endif",
    }
}

fn opener(line: &[Token]) -> &str {
    line.first().and_then(Token::name).unwrap_or("")
}

/// The nodes of a file. Every flaw is reported.
pub(crate) fn blocks(lines: Vec<Vec<Token>>, mut report: impl FnMut(Fail)) -> Rc<[Node]> {
    let mut stack: Vec<Open> = Vec::new();
    let mut nodes: Vec<Node> = Vec::new();
    for line in lines {
        let Some(first) = line.first() else { continue };
        let at = first.at;
        match first.name().unwrap_or("") {
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
                match stack
                    .last_mut()
                    .filter(|open| opener(&open.head) == ".if" || opener(&open.head) == ".elif")
                {
                    Some(open) => {
                        let head = std::mem::replace(&mut open.head, line);
                        open.arms.push((head, std::mem::take(&mut nodes).into()));
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
            _ => nodes.push(Node::Line(line)),
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
        // What is in it may have flaws of its own.
        close(open, &mut nodes);
    }
    nodes.into()
}

/// Makes one node of a block and puts it behind what came before.
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
            arms.push((open.head, body));
            Node::If { arms }
        }
    });
}
