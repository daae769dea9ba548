//! The dictionary at the head of an `.npy` file (NEP 1): three known keys, in any order.

/// The dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Element type, as in `<c8`.
    pub(super) descr: String,
    /// Whether the first index runs fastest.
    pub(super) fortran_order: bool,
    /// Length of each dimension.
    pub(super) shape: Vec<usize>,
}

impl Header {
    /// Reads the dictionary; the error says what was expected instead.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        let mut rest = Rest(text);
        rest.expect('{')?;
        while !rest.take('}') {
            let key = rest.string()?;
            rest.expect(':')?;
            match key {
                "descr" => {
                    let text = rest
                        .string()
                        .map_err(|e| format!("one element type such as '<c8', no record: {e}"))?;
                    descr = Some(text.to_owned());
                }
                "fortran_order" => order = Some(rest.boolean()?),
                "shape" => shape = Some(rest.shape()?),
                other => {
                    return Err(format!(
                        "the keys 'descr', 'fortran_order' and 'shape', not '{other}'"
                    ));
                }
            }
            if !rest.take(',') {
                rest.expect('}')?;
                break;
            }
        }
        if !rest.0.trim().is_empty() {
            return Err("nothing after the dictionary".to_owned());
        }
        match (descr, order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok(Self {
                descr,
                fortran_order,
                shape,
            }),
            _ => Err("all of the keys 'descr', 'fortran_order' and 'shape'".to_owned()),
        }
    }

    /// Magic, version 1.0, and the dictionary, filled up to a multiple of 64 bytes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let shape: String = self.shape.iter().map(|n| format!("{n}, ")).collect();
        let order = if self.fortran_order { "True" } else { "False" };
        let dict = format!(
            "{{'descr': '{}', 'fortran_order': {order}, 'shape': ({}), }}",
            self.descr,
            if self.shape.len() == 1 {
                shape.trim_end()
            } else {
                shape.trim_end_matches(", ")
            }
        );
        // 10 bytes before the dictionary and the newline after it.
        let size = (10 + dict.len() + 1).next_multiple_of(64) - 10;
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((size as u16).to_le_bytes());
        bytes.extend(format!("{dict:<width$}\n", width = size - 1).into_bytes());
        bytes
    }
}

/// What is still to be read.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn take(&mut self, c: char) -> bool {
        let rest = self.0.trim_start();
        self.0 = rest.strip_prefix(c).unwrap_or(rest);
        self.0.len() != rest.len()
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.take(c) {
            Ok(())
        } else {
            Err(format!("'{c}' before {:?}", self.start()))
        }
    }

    /// The beginning of the rest, for messages.
    fn start(&self) -> String {
        self.0.chars().take(12).collect()
    }

    fn string(&mut self) -> Result<&'a str, String> {
        let quote = if self.take('"') {
            '"'
        } else {
            self.expect('\'').map(|()| '\'')?
        };
        let (text, rest) = self.0.split_once(quote).ok_or("a closing quote")?;
        self.0 = rest;
        Ok(text)
    }

    /// Letters and digits.
    fn word(&mut self) -> &'a str {
        let text = self.0.trim_start();
        let end = text
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(text.len());
        self.0 = &text[end..];
        &text[..end]
    }

    fn boolean(&mut self) -> Result<bool, String> {
        match self.word() {
            "True" => Ok(true),
            "False" => Ok(false),
            other => Err(format!("True or False, not {other:?}")),
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>, String> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.take(')') {
            let word = self.word();
            // Python 2 wrote long integers with an L.
            let number = word.strip_suffix('L').unwrap_or(word);
            shape.push(
                number
                    .parse()
                    .map_err(|_| format!("a shape of integers below 2^64, not {word:?}"))?,
            );
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_numpy_writes_it() {
        let header = Header {
            descr: "<c8".into(),
            fortran_order: false,
            shape: vec![2, 3],
        };
        let bytes = header.to_bytes();
        assert_eq!(bytes.len(), 128);
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert!(
            bytes[10..]
                .starts_with(b"{'descr': '<c8', 'fortran_order': False, 'shape': (2, 3), }  ")
        );
        assert_eq!(bytes.last(), Some(&b'\n'));
        let one = Header {
            shape: vec![7],
            ..header.clone()
        };
        assert!(String::from_utf8_lossy(&one.to_bytes()[10..]).contains("'shape': (7,), }"));
        for header in [
            header.clone(),
            one,
            Header {
                shape: vec![],
                fortran_order: true,
                ..header
            },
        ] {
            assert_eq!(
                Header::parse(&String::from_utf8_lossy(&header.to_bytes()[10..])),
                Ok(header)
            );
        }
    }

    #[test]
    fn as_others_write_it() {
        let header =
            Header::parse(r#"{"shape":(5L,) ,"descr":"<f4","fortran_order":True}"#).unwrap();
        assert_eq!(
            header,
            Header {
                descr: "<f4".into(),
                fortran_order: true,
                shape: vec![5]
            }
        );
    }

    #[test]
    fn everything_else_says_what_is_expected() {
        for (text, expected) in [
            ("", "'{'"),
            ("{", "'''"),
            ("{}", "all of the keys"),
            ("{'a': 1}", "not 'a'"),
            ("{'descr': [('x', '<f4')]}", "no record"),
            ("{'shape': (-1,)}", "integers"),
            ("{'shape': (99999999999999999999,)}", "integers"),
            ("{'shape': (1 2)}", "')'"),
            ("{'fortran_order': 1}", "True or False"),
            ("{'descr': '<c8", "closing quote"),
            ("{} x", "nothing after"),
        ] {
            assert!(
                Header::parse(text).unwrap_err().contains(expected),
                "{text}: {:?}",
                Header::parse(text)
            );
        }
    }
}
