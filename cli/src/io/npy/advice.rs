//! Advice how to convert arrays with unsupported elements in NumPy.

use super::Kind;
use super::header::{literal, string};

/// Returns a NumPy expression that converts an array `x` with header entry `descr` to one of `kinds`.
pub(super) fn advice(descr: &str, kinds: &[Kind]) -> String {
    let Some(fields) = fields(descr) else {
        return plain("x", string(descr).unwrap_or(descr), kinds);
    };
    let float = |(_, of): &(&str, &str)| string(of) == Some(Kind::Float32.descr());
    if fields.len() == 2 && fields.iter().all(float) && kinds.contains(&Kind::Complex64) {
        return "x.view('complex64')".to_owned();
    }
    match fields.first() {
        None => "an array whose elements have fields".to_owned(),
        // A field may itself have fields.
        Some((name, of)) => format!(
            "one of its fields, as in {}",
            advise_field("x", name, of, kinds)
        ),
    }
}

fn advise_field(x: &str, name: &str, descr: &str, kinds: &[Kind]) -> String {
    let mut x = format!("{x}[{name}]");
    let mut descr = descr;
    while let Some(&(name, of)) = fields(descr).unwrap_or_default().first() {
        x += &format!("[{name}]");
        descr = of;
    }
    plain(&x, string(descr).unwrap_or(descr), kinds)
}

/// Returns the expression for elements without fields.
fn plain(x: &str, descr: &str, kinds: &[Kind]) -> String {
    let nearest = nearest_kind(descr, kinds).map_or("", Kind::name);
    match code(descr) {
        Some('c') if !kinds.contains(&Kind::Complex64) => {
            format!("{x}.real.astype('{nearest}'), or {x}.imag.astype('{nearest}')")
        }
        // Raw bytes without a type.
        Some('V') => format!("{x}.view('uint8').astype('{nearest}')"),
        _ => format!("{x}.astype('{nearest}')"),
    }
}

/// Returns the letter of a type code, such as f in <f8.
fn code(descr: &str) -> Option<char> {
    descr.chars().find(char::is_ascii_alphabetic)
}

/// Returns the type of `kinds` that is nearest to a type which is none of them.
fn nearest_kind(descr: &str, kinds: &[Kind]) -> Option<Kind> {
    let wanted: &[Kind] = match code(descr) {
        Some('c') => &[Kind::Complex64, Kind::Float32],
        Some('i') => &[Kind::Int32, Kind::Float32],
        Some('u' | 'b') => &[Kind::Uint32, Kind::Float32],
        _ => &[Kind::Float32],
    };
    let found = wanted.iter().find(|kind| kinds.contains(kind));
    found.or(kinds.first()).copied()
}

/// Returns the quoted names and the types of a record's fields; `None` for a type that is no record.
fn fields(descr: &str) -> Option<Vec<(&str, &str)>> {
    let mut rest = descr.strip_prefix('[')?.strip_suffix(']')?.trim();
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (field, behind) = literal(rest)?;
        let inside = field.strip_prefix('(')?.strip_suffix(')')?;
        let (name, of) = literal(inside)?;
        let (of, _) = literal(of.strip_prefix(',')?)?;
        // A field with a title is written ('title', 'name').
        let named = match name.strip_prefix('(').and_then(|n| n.strip_suffix(')')) {
            Some(both) => literal(both)?.1.strip_prefix(',')?.trim(),
            None => name,
        };
        string(named)?;
        fields.push((named, of));
        rest = behind.strip_prefix(',').unwrap_or(behind).trim();
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each expression was tried with NumPy 2: it gives an array of a supported type and raises no error.
    #[test]
    fn numpy_does_what_is_advised() {
        for (descr, kinds, said) in [
            ("'<f8'", Kind::SIGNAL, "x.astype('float32')"),
            ("'>c8'", Kind::SIGNAL, "x.astype('complex64')"),
            ("'<c16'", Kind::SIGNAL, "x.astype('complex64')"),
            (
                "'<c8'",
                &[Kind::Float32],
                "x.real.astype('float32'), or x.imag.astype('float32')",
            ),
            ("'<i8'", Kind::ANY, "x.astype('int32')"),
            ("'|u1'", Kind::ANY, "x.astype('uint32')"),
            ("'|b1'", Kind::ANY, "x.astype('uint32')"),
            ("'<i8'", Kind::SIGNAL, "x.astype('float32')"),
            ("'|S4'", Kind::SIGNAL, "x.astype('float32')"),
            ("'|V4'", Kind::SIGNAL, "x.view('uint8').astype('float32')"),
            (
                "[('re', '<f4'), ('im', '<f4')]",
                Kind::SIGNAL,
                "x.view('complex64')",
            ),
            (
                "[('re', '<f4'), ('im', '<f4')]",
                &[Kind::Float32],
                "one of its fields, as in x['re'].astype('float32')",
            ),
            (
                "[('a, b', '<i8', (2,)), ('c', '<f4')]",
                Kind::ANY,
                "one of its fields, as in x['a, b'].astype('int32')",
            ),
            (
                "[(('title', 'name'), '>f4')]",
                Kind::SIGNAL,
                "one of its fields, as in x['name'].astype('float32')",
            ),
            (
                "[('a', [('b', '<c16')])]",
                &[Kind::Float32],
                "one of its fields, as in x['a']['b'].real.astype('float32'), or x['a']['b'].imag.astype('float32')",
            ),
            ("[]", Kind::SIGNAL, "an array whose elements have fields"),
        ] {
            assert_eq!(advice(descr, kinds), said, "{descr}");
        }
    }
}
