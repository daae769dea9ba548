//! The header of an array: a dictionary of Python with three entries.
//!
//! NumPy writes only few kinds of literals there. Brackets and quotation marks are enough to separate them,
//! without recursion, so that no hostile header is nested too deeply.

/// Entries of a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NpyHeader<'a> {
    /// Element type as written in the header: a string with its quotation marks, or a list of fields.
    pub(super) descr: &'a str,
    /// True if the first index varies fastest.
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

impl<'a> NpyHeader<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        while !rest.is_empty() {
            let (name, behind) = literal(rest)?;
            let (value, behind) = literal(behind.strip_prefix(':')?)?;
            match (string(name)?, value) {
                ("descr", value) if !value.is_empty() => descr = Some(value),
                ("fortran_order", "True") => fortran = Some(true),
                ("fortran_order", "False") => fortran = Some(false),
                ("shape", value) => shape = Some(tuple(value)?),
                _ => return None,
            }
            rest = match behind {
                "" => "",
                _ => behind.strip_prefix(',')?.trim_start(),
            };
        }
        let (descr, fortran, shape) = (descr?, fortran?, shape?);
        Some(Self {
            descr,
            fortran,
            shape,
        })
    }
}

/// Splits a text into its first literal and the rest.
pub(super) fn literal(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut quoted) = (0_usize, None);
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        match (quoted, c) {
            // NumPy's headers have no backslashes, so that escaped quotation marks are not handled.
            (_, '\\') => return None,
            (Some(mark), _) if mark == c => quoted = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quoted = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.checked_sub(1)?,
            (None, ',' | ':') if depth == 0 => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    (depth == 0 && quoted.is_none()).then(|| (text[..end].trim(), &text[end..]))
}

/// Returns the text between quotation marks, which Python 2 may precede with a letter.
pub(super) fn string(literal: &str) -> Option<&str> {
    let literal = literal.strip_prefix('u').unwrap_or(literal);
    let mark = literal.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inside = literal[1..].strip_suffix(mark)?;
    (!inside.contains(mark)).then_some(inside)
}

/// Reads the numbers of a tuple: a comma follows each number, except the last of several. Python 2 appends an
/// L to long numbers.
fn tuple(literal: &str) -> Option<Vec<usize>> {
    let inside = literal.strip_prefix('(')?.strip_suffix(')')?.trim();
    if inside.is_empty() {
        return Some(Vec::new());
    }
    let numbers = match inside.strip_suffix(',') {
        Some(numbers) => numbers,
        // In Python, (3) is a number and no tuple.
        None => inside.contains(',').then_some(inside)?,
    };
    let number = |text: &str| {
        let digits = text.trim();
        let digits = digits.strip_suffix('L').unwrap_or(digits);
        let plain = digits.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| digits.parse().ok())?
    };
    numbers.split(',').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Option<Vec<usize>> {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {text}, }}");
        NpyHeader::parse(&text).map(|header| header.shape)
    }

    #[test]
    fn entries_come_in_any_order_and_quotation() {
        for text in [
            "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
            "{\"shape\":(2,3),\"fortran_order\":True,\"descr\":'<f4'}",
            "{'descr': u'<f4', 'fortran_order': True, 'shape': (2L, 3L), }",
            " { 'fortran_order' : True , 'shape' : ( 2 , 3 , ) , 'descr' : '<f4' , } ",
        ] {
            let header = NpyHeader::parse(text).unwrap();
            assert_eq!(header.descr.trim_start_matches('u'), "'<f4'", "{text}");
            assert_eq!(string(header.descr), Some("<f4"));
            assert!(header.fortran);
            assert_eq!(header.shape, [2, 3]);
        }
        let fields = "{'descr': [('x', '<f4'), ('a,b}', '<i4', (2,))], 'fortran_order': False, 'shape': (), }";
        let header = NpyHeader::parse(fields).unwrap();
        assert_eq!(header.descr, "[('x', '<f4'), ('a,b}', '<i4', (2,))]");
        assert_eq!(string(header.descr), None);
    }

    #[test]
    fn shapes_are_tuples_of_whole_numbers() {
        assert_eq!(shape("()"), Some(vec![]));
        assert_eq!(shape("(3,)"), Some(vec![3]));
        assert_eq!(shape("(3, 0)"), Some(vec![3, 0]));
        assert_eq!(shape("(32L,)"), Some(vec![32]));
        assert_eq!(shape("(2L, 0L)"), Some(vec![2, 0]));
        for wrong in [
            "(3)",
            "(3L)",
            "(L,)",
            "(3LL,)",
            "(3 L,)",
            "(3l,)",
            "3",
            "3, 4",
            "[3, 4]",
            "(,)",
            "(3,,)",
            "(3,,4)",
            "(-3,)",
            "(+3,)",
            "(3.0,)",
            "(3 4,)",
            "('3',)",
            "((3,),)",
            "(3,]",
            "",
            "(99999999999999999999999,)",
        ] {
            assert_eq!(shape(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_numpy_does_not_write_is_no_header() {
        let whole = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
        for end in 0..whole.len() {
            assert_eq!(NpyHeader::parse(&whole[..end]), None, "{end}");
        }
        for (from, to) in [
            ("'<f4'", ""),
            ("'<f4'", "'<f4"),
            ("'<f4'", "'\\x3cf4'"),
            ("True", "true"),
            ("True", "1"),
            ("'shape'", "shape"),
            ("'shape'", "'shapes'"),
            ("'shape': (2, 3), ", ""),
            ("'shape':", "'shape'"),
            (", }", ",, }"),
            (", }", "}}"),
            (", }", "} }"),
            (", 'shape'", " 'shape'"),
        ] {
            let wrong = whole.replace(from, to);
            assert_ne!(wrong, whole);
            assert_eq!(NpyHeader::parse(&wrong), None, "{wrong}");
        }
        assert_eq!(NpyHeader::parse(&"(".repeat(9000)), None);
        assert_eq!(NpyHeader::parse("{"), None);
        assert_eq!(NpyHeader::parse("\u{e9}"), None);
    }
}
