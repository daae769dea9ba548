//! Escapes control characters in printed text.
//!
//! Names and lines of files may contain any characters, and a terminal obeys control characters.

use std::borrow::Cow;

/// True for invisible characters that affect a terminal or how adjacent characters are read.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // A byte order mark, marks and overrides of the writing direction, and rare line separators.
        '\u{feff}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

/// Returns the text with hidden characters written as in JSON and TOML: `\u001b`.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_hidden(c) {
            true => shown += &format!("\\u{:04x}", u32::from(c)),
            false => shown.push(c),
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_obeys_is_seen() {
        for (text, shown) in [
            (
                "plain\ttext\n\u{e9}\u{4e2d}\n",
                "plain\ttext\n\u{e9}\u{4e2d}\n",
            ),
            ("\x1b]0;owned\x07", "\\u001b]0;owned\\u0007"),
            (
                "a\rb\r\n\x08\x7f\0",
                "a\\u000db\\u000d\n\\u0008\\u007f\\u0000",
            ),
            (
                "\u{9b}31m\u{feff}%%\u{202e}gpj.exe\u{2066}",
                "\\u009b31m\\ufeff%%\\u202egpj.exe\\u2066",
            ),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// An object stays the same object, and a text without hidden characters the same text.
        #[test]
        fn objects_keep_their_strings(text in any::<String>(), hidden in "[\\x00-\\x1f\\x7f-\\x9f\u{202a}-\u{202e}]{0,4}") {
            let text = text + &hidden;
            let object = serde_json::json!({ "text": text }).to_string();
            let printed = visible(&object);
            prop_assert!(!printed.contains(|c: char| c.is_control()));
            let back: serde_json::Value = serde_json::from_str(&printed).unwrap();
            prop_assert_eq!(back["text"].as_str(), Some(&*text));
            let shown = visible(&text);
            prop_assert!(shown.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')));
            prop_assert_eq!(visible(&shown), &*shown);
        }
    }
}
