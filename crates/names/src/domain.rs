//! Domain names in wire form: labels with their lengths, lower-case, the root's zero at the end (RFC 1035 §3.1).
//!
//! It follows no compression pointer: `question` reads names of received messages.

use std::borrow::Borrow;
use std::fmt;

/// The most bytes of a name (RFC 1035 §2.3.4).
pub const NAME_MAX: usize = 255;

/// The most bytes of a label.
pub const LABEL_MAX: usize = 63;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DomainName(Box<[u8]>);

impl DomainName {
    /// Parses dotted text; a final dot is optional, and there are no escapes. `None`: not a valid name.
    pub fn parse(text: &str) -> Option<DomainName> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let mut wire = Vec::with_capacity(text.len() + 2);
        for label in text.split('.').filter(|_| !text.is_empty()) {
            if label.is_empty() || label.len() > LABEL_MAX {
                return None;
            }
            wire.push(u8::try_from(label.len()).ok()?);
            wire.extend(label.bytes().map(|byte| byte.to_ascii_lowercase()));
        }
        wire.push(0);
        (wire.len() <= NAME_MAX).then(|| DomainName(wire.into()))
    }

    /// The name that is `labels` below this one; `None`: too long.
    pub fn child(&self, labels: &str) -> Option<DomainName> {
        let first = DomainName::parse(labels)?;
        let (_, labels) = first.0.split_last()?;
        let wire = [labels, &self.0].concat();
        (wire.len() <= NAME_MAX).then(|| DomainName(wire.into()))
    }

    pub fn wire(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for DomainName {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for DomainName {
    /// Dotted text without the last dot; the root is a dot.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&format_name(&self.0))
    }
}

/// All suffixes of a name: itself first, the root last. `wire` is a whole name.
pub fn suffixes(wire: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(wire);
    std::iter::from_fn(move || {
        let here = rest?;
        let length = usize::from(*here.first()?);
        rest = if length == 0 { None } else { here.get(1 + length..) };
        Some(here)
    })
}

/// A whole name as dotted text, unusual bytes as `\DDD` (RFC 1035 §5.1).
pub fn format_name(wire: &[u8]) -> String {
    let mut out = String::new();
    for suffix in suffixes(wire) {
        let Some((length, rest)) = suffix.split_first().filter(|(length, _)| **length > 0) else {
            break;
        };
        if !out.is_empty() {
            out.push('.');
        }
        for byte in rest.iter().take(usize::from(*length)) {
            match byte {
                b'.' | b'\\' => out.extend(['\\', char::from(*byte)]),
                byte if byte.is_ascii_graphic() => out.push(char::from(*byte)),
                byte => out.push_str(&format!("\\{byte:03}")),
            }
        }
    }
    if out.is_empty() { ".".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_and_bounded() {
        let name = DomainName::parse("WWW.Example.org.").unwrap();
        assert_eq!(name.wire(), b"\x03www\x07example\x03org\0");
        assert_eq!(name.to_string(), "www.example.org");
        assert_eq!(DomainName::parse("").unwrap().to_string(), ".");
        assert_eq!(DomainName::parse("a..b"), None);
        assert_eq!(DomainName::parse(&"a".repeat(64)), None);
        let long = ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61)].join(".");
        assert_eq!(DomainName::parse(&long).unwrap().wire().len(), 255);
        assert_eq!(DomainName::parse(&format!("{long}d")), None);
        assert_eq!(DomainName::parse(&long).unwrap().child("x"), None);
        assert_eq!(name.child("_http._TCP").unwrap().to_string(), "_http._tcp.www.example.org");
    }

    #[test]
    fn suffixes_end_with_the_root() {
        let name = DomainName::parse("a.bc").unwrap();
        let all: Vec<String> = suffixes(name.wire()).map(format_name).collect();
        assert_eq!(all, ["a.bc", "bc", "."]);
        assert_eq!(format_name(b"\x03a.\x07\x01b\0"), "a\\.\\007.b");
    }
}
