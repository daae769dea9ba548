//! Parsed files, kept from one program to the next.
//!
//! The programs of a library include the same ones again and again.

use crate::syntax::Node;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Bytes of texts that a thread keeps at most. What they are parsed to takes some tens of times as many.
const MOST: usize = 512 << 10;
/// Bytes that a text counts for besides its own.
const OWN: usize = 64;

/// A text that was parsed, with the index of its file in the program: positions name it.
type ParsedText = (u32, Rc<[Node]>);

/// The files of a thread, by their texts.
#[derive(Default)]
struct ParsedFiles {
    all: HashMap<Box<str>, Vec<ParsedText>>,
    bytes: usize,
}

thread_local! {
    /// It changes nothing but how long reading takes: what a text is parsed to depends on nothing else.
    static KEPT: RefCell<ParsedFiles> = RefCell::default();
}

/// Returns what a text was parsed to that was a program's file of that index.
pub(super) fn find(file: u32, text: &str) -> Option<Rc<[Node]>> {
    KEPT.with_borrow(|kept| {
        let mut known = kept.all.get(text)?.iter();
        known
            .find(|(index, _)| *index == file)
            .map(|(_, nodes)| nodes.clone())
    })
}

/// Keeps what a text without errors was parsed to.
pub(super) fn keep(file: u32, text: &str, nodes: &Rc<[Node]>) {
    let bytes = text.len() + OWN;
    if bytes > MOST {
        return;
    }
    KEPT.with_borrow_mut(|kept| {
        if kept.bytes + bytes > MOST {
            *kept = ParsedFiles::default();
        }
        kept.bytes += bytes;
        let own = kept.all.entry(text.into()).or_default();
        own.push((file, nodes.clone()));
    });
}

#[cfg(test)]
mod tests {
    use crate::{Options, Source, Value, assemble};

    /// A text is parsed once, but what its expressions come to depends on the constants of each program, and its
    /// errors name the file of each.
    #[test]
    fn programs_share_no_values() {
        let text =
            ".macro set x\n    movi a0, \\x\n.endm\n.macro far x\n    set 8 * (\\x + N)\n.endm\n";
        let included = |name: &str, _: &str| Ok(Source::new(name, text));
        let make = |n: i64, main: &str| {
            let options = Options {
                defines: vec![("N".to_owned(), Value::Int(n))],
                include: Some(&included),
                ..Options::default()
            };
            assemble(&Source::new("main.s", main), &options)
        };
        let plain = |number: i64| {
            let text = format!(".program\n    movi a0, {number}\n    stop\n");
            let made = assemble(&Source::new("main.s", text), &Options::default());
            made.unwrap().program.words
        };
        let main = ".include \"far.s\"\n.program\n    far 3\n    stop\n";
        for n in [1, 2, 1, 7] {
            assert_eq!(make(n, main).unwrap().program.words, plain(8 * (3 + n)));
        }
        let wrong = ".include \"far.s\"\n.program\n    far 3 +\n    stop\n";
        let said = make(1, wrong).unwrap_err().to_string();
        assert!(said.contains("main.s:3"), "{said}");
    }
}
