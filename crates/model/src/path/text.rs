//! A path as characters, some of which are still encoded. The steps that servers take are in `path/transform.rs`.

/// Marks a character that is still encoded.
const ENCODED: u16 = 0x100;

/// Characters that stay encoded at first, since decoding them may change the meaning of a path.
const SPECIAL: &[u8] = b"/\\;%?#";

/// A path after some steps of reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathText(pub(super) Vec<u16>);

pub(super) const fn encoded(byte: u8) -> u16 {
    ENCODED | byte as u16
}

/// The byte of a character, encoded or not.
pub(super) fn byte_of(character: u16) -> u8 {
    // The lower half: the rest is the mark.
    (character & 0xff) as u8
}

/// Whether a character is still encoded.
pub(super) const fn is_encoded(character: u16) -> bool {
    character & ENCODED != 0
}

impl PathText {
    /// A path as it was sent. Visible characters without a special meaning are decoded at once (RFC 3986 §6.2.2.2).
    pub(super) fn from_bytes(path: &[u8]) -> PathText {
        PathText(path.iter().copied().map(u16::from).collect()).decode_once_more()
    }

    /// Decodes percent-encodings once more.
    pub(super) fn decode_once_more(&self) -> PathText {
        let mut out = Vec::with_capacity(self.0.len());
        let mut rest = &self.0[..];
        while let Some((&first, after)) = rest.split_first() {
            rest = after;
            match escape(first, after) {
                Some(byte) => {
                    let plain = byte.is_ascii_graphic() && !SPECIAL.contains(&byte);
                    out.push(if plain { u16::from(byte) } else { encoded(byte) });
                    rest = &after[2..];
                }
                None => out.push(first),
            }
        }
        PathText(out)
    }

    /// Whether decoding once more would change the path.
    pub(super) fn has_escapes(&self) -> bool {
        (0..self.0.len()).any(|at| escape(self.0[at], &self.0[at + 1..]).is_some())
    }

    pub(super) fn has_dots(&self) -> bool {
        self.segments().any(|segment| segment == [DOT] || segment == [DOT, DOT])
    }

    /// Whether the path begins with what a URL parser takes for a host.
    pub(super) fn has_authority(&self) -> bool {
        self.0.starts_with(&[SLASH, SLASH])
    }

    /// The segments between slashes, from the first slash on.
    pub(super) fn segments(&self) -> impl Iterator<Item = &[u16]> {
        self.0.split(|character| *character == SLASH).skip(1)
    }

    /// The form that rules compare.
    pub(super) fn comparison_form(&self) -> Vec<u8> {
        self.write_encoded(|byte| byte.is_ascii_graphic() && !b"%?#".contains(&byte))
    }

    /// The form in which the path may be sent (RFC 3986 §3.3).
    pub(super) fn sendable_form(&self) -> Vec<u8> {
        self.write_encoded(|byte| {
            byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte)
        })
    }

    fn write_encoded(&self, plain: impl Fn(u8) -> bool) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.0.len());
        for &character in &self.0 {
            let byte = byte_of(character);
            if !is_encoded(character) && plain(byte) {
                out.push(byte);
            } else {
                push_encoded(&mut out, byte);
            }
        }
        out
    }
}

/// Plain characters of a path: they lack the mark `ENCODED`.
pub(super) const SLASH: u16 = b'/' as u16;
pub(super) const DOT: u16 = b'.' as u16;

pub(crate) fn push_encoded(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// The byte of a percent-encoding that begins with `first`.
fn escape(first: u16, after: &[u16]) -> Option<u8> {
    if first != u16::from(b'%') {
        return None;
    }
    let &high = after.first()?;
    let &low = after.get(1)?;
    Some(hex(high)? << 4 | hex(low)?)
}

/// The value of a hexadecimal digit that is not encoded.
pub(super) fn hex(character: u16) -> Option<u8> {
    let digit = char::from(u8::try_from(character).ok()?).to_digit(16)?;
    u8::try_from(digit).ok()
}
