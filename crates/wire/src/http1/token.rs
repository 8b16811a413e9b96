//! Character classes of RFC 9110 §5.6 and iteration over comma-separated lists.

/// The characters of a token (RFC 9110 §5.6.2), by byte.
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        table[at] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-')
            || matches!(byte, b'.' | b'^' | b'_' | b'`' | b'|' | b'~');
        at += 1;
    }
    table
};

/// Whether a byte is allowed in a token (RFC 9110 §5.6.2).
#[inline]
pub(crate) fn is_token_byte(byte: u8) -> bool {
    TOKEN[byte as usize]
}

/// Whether `text` is one token.
pub(crate) fn is_token(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|&byte| is_token_byte(byte))
}

/// Whether a byte is allowed in a field value (RFC 9110 §5.5): no control byte but HTAB.
#[inline]
pub(crate) fn is_value_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// `text` without leading and trailing spaces and tabs.
#[inline]
pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// The trimmed elements of a comma-separated list, empty ones included. Quoted strings are not supported: the lists
/// that are parsed here contain only tokens.
#[inline]
pub(crate) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_and_trimmed() {
        let found: Vec<_> = elements(b" close ,, x-a\t").collect();
        assert_eq!(found, [&b"close"[..], b"", b"x-a"]);
        assert!(is_token(b"x-a") && !is_token(b"") && !is_token(b"a b"));
        assert!(is_value_byte(0x80) && !is_value_byte(0) && !is_value_byte(0x7f));
    }
}
