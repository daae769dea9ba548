//! Decodes the text of files that people write: machines, sources, jobs.

/// Reason why the bytes of a file are not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The bytes are UTF-16 text, the encoding that some editors call Unicode.
    #[error("not UTF-8 text but UTF-16: save it as UTF-8")]
    Utf16,
    /// The bytes are not text, or text in an older encoding.
    #[error("not UTF-8 text (byte {at})")]
    NotUtf8 {
        /// The first byte that is wrong, from 0.
        at: usize,
    },
}

/// Decodes the UTF-8 text of a file. A byte order mark at the start, which some editors write, is removed.
///
/// ```
/// assert_eq!(cp2_machine::decode_text(b"\xef\xbb\xbfbase".to_vec()).as_deref(), Ok("base"));
/// ```
///
/// # Errors
/// The bytes are UTF-16, or not text.
pub fn decode_text(mut bytes: Vec<u8>) -> Result<String, TextError> {
    if is_utf16(&bytes) {
        return Err(TextError::Utf16);
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|e| TextError::NotUtf8 {
        at: e.utf8_error().valid_up_to(),
    })
}

/// True if the bytes begin as UTF-16 text does: with a byte order mark, or with a plain character and a zero
/// byte.
fn is_utf16(bytes: &[u8]) -> bool {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => true,
        [0, plain, ..] | [plain, 0, ..] => (b'\t'..0x80).contains(plain),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_text_and_utf_16_has_a_name() {
        let text = "base = \"vm7\" # \u{e9}\n";
        assert_eq!(decode_text(text.into()).as_deref(), Ok(text));
        let marked = format!("\u{feff}{text}");
        assert_eq!(decode_text(marked.clone().into()).as_deref(), Ok(text));
        let twice = format!("\u{feff}{marked}");
        assert_eq!(decode_text(twice.into()), Ok(marked.clone()));
        for text in [text, &marked] {
            for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
                let wide: Vec<u8> = text.encode_utf16().flat_map(bytes).collect();
                assert_eq!(decode_text(wide), Err(TextError::Utf16));
            }
        }
        assert_eq!(
            decode_text(b"a\xe9b".to_vec()),
            Err(TextError::NotUtf8 { at: 1 })
        );
        for short in [&b""[..], b"a", b"\n"] {
            assert_eq!(
                decode_text(short.to_vec())
                    .map(String::into_bytes)
                    .as_deref(),
                Ok(short)
            );
        }
    }
}
