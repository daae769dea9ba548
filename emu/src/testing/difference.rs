//! Describes where two processors differ, for people.

use crate::Processor;

/// Returns the first few places where two processors differ.
pub(super) fn difference(left: &Processor, right: &Processor) -> String {
    let (left, right) = (serde_json::to_value(left), serde_json::to_value(right));
    match (left, right) {
        (Ok(left), Ok(right)) => {
            let mut found = Vec::new();
            compare("", &left, &right, &mut found);
            found.truncate(12);
            found.join("\n")
        }
        _ => "the states cannot be written".to_owned(),
    }
}

fn compare(at: &str, left: &serde_json::Value, right: &serde_json::Value, found: &mut Vec<String>) {
    use serde_json::Value::{Array, Object};
    match (left, right) {
        (Array(l), Array(r)) if l.len() == r.len() => {
            for (i, (l, r)) in l.iter().zip(r).enumerate() {
                compare(&format!("{at}[{i}]"), l, r, found);
            }
        }
        (Object(l), Object(r)) if l.keys().eq(r.keys()) => {
            for (key, value) in l {
                compare(&format!("{at}.{key}"), value, &r[key], found);
            }
        }
        _ if left == right => {}
        _ => found.push(format!("{at}: {} and {}", short(left), short(right))),
    }
}

fn short(value: &serde_json::Value) -> String {
    value.to_string().chars().take(80).collect()
}
