//! Patterns of rule conditions as written in the file: hosts, paths, named values, number ranges.
//!
//! Each is parsed once and prints as written. `rules` compiles the form that matches requests.

use std::fmt;

use serde::{Serialize, Serializer};

/// A host, or every name below a domain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HostPattern {
    /// This name, lower case.
    Exact(String),
    /// Every name with this suffix, lower case, including its leading `.`.
    Below(String),
}

/// A path, a path prefix, or a glob.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathPattern {
    Exact(String),
    Prefix(String),
    /// A glob with `*` (except `/`), `**` and `?`.
    Glob(String),
}

/// A named value: a header field, a cookie or a query parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NameValuePattern {
    pub name: String,
    /// The value, in which `*` matches any text; `None`: any value.
    pub value: Option<String>,
    /// The separator between name and value.
    separator: &'static str,
}

impl NameValuePattern {
    /// The text without the value, which may be a secret.
    pub fn without_value(&self) -> String {
        match self.value {
            Some(_) => format!("{}{}(value)", self.name, self.separator),
            None => self.name.clone(),
        }
    }
}

/// An inclusive range of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumberRange {
    pub min: u64,
    pub max: u64,
}

/// Bounds the memory and the time of one pattern; hosts have at most 253 bytes, and paths of rules are far shorter.
const MAX_PATTERN_BYTES: usize = 1_024;

impl HostPattern {
    pub fn parse(text: &str) -> Option<HostPattern> {
        let lower = text.to_ascii_lowercase();
        let name = lower.strip_prefix("*.").unwrap_or(&lower);
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let good = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
        let address = bare.is_some_and(|bare| bare.parse::<std::net::Ipv6Addr>().is_ok());
        let labels = name.len() <= 253 && name.split('.').all(|label| !label.is_empty());
        let named = labels && name.bytes().all(good);
        if !named && !address {
            return None;
        }
        Some(match lower.strip_prefix('*') {
            Some(below) => HostPattern::Below(below.to_owned()),
            None => HostPattern::Exact(lower),
        })
    }

    /// Whether a lower-case host matches.
    pub fn matches(&self, host: &[u8]) -> bool {
        match self {
            HostPattern::Exact(name) => name.as_bytes() == host,
            HostPattern::Below(name) => host.len() > name.len() && host.ends_with(name.as_bytes()),
        }
    }
}

impl PathPattern {
    pub fn parse(text: &str) -> Option<PathPattern> {
        let good = |b: u8| b.is_ascii_graphic() && b != b'#';
        if !text.starts_with('/') && text != "*"
            || text.len() > MAX_PATTERN_BYTES
            || !text.bytes().all(good)
        {
            return None;
        }
        let literal = text.strip_suffix('*').unwrap_or(text);
        Some(match literal.contains(['*', '?']) {
            true => PathPattern::Glob(text.to_owned()),
            false if literal.len() < text.len() => PathPattern::Prefix(literal.to_owned()),
            false => PathPattern::Exact(literal.to_owned()),
        })
    }

    /// The literal text with which every matching path starts.
    pub fn literal_prefix(&self) -> &str {
        match self {
            PathPattern::Exact(text) | PathPattern::Prefix(text) => text,
            PathPattern::Glob(text) => text.split(['*', '?']).next().unwrap_or_default(),
        }
    }
}

impl NameValuePattern {
    /// Parses `name` or `name: value`.
    pub fn parse_field(text: &str) -> Option<NameValuePattern> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value.trim().to_owned())),
            None => (text, None),
        };
        Self::new(name.to_ascii_lowercase(), value, ": ")
    }

    pub fn parse_pair(text: &str) -> Option<NameValuePattern> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        Self::new(name.to_owned(), value, "=")
    }

    fn new(
        name: String,
        value: Option<String>,
        separator: &'static str,
    ) -> Option<NameValuePattern> {
        let plain = |b: u8| b == b'\t' || (b >= b' ' && b != 0x7f);
        let named = !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic() && b != b';');
        let valued = value.as_ref().is_none_or(|value| value.bytes().all(plain));
        let short = name.len() + value.as_ref().map_or(0, String::len) <= MAX_PATTERN_BYTES;
        (named && valued && short).then_some(NameValuePattern { name, value, separator })
    }
}

impl NumberRange {
    /// Parses `10`, `10-20`, `10-` or `-20`.
    pub fn parse(text: &str) -> Option<NumberRange> {
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            text.parse::<u64>().ok().filter(|_| digits)
        };
        let range = match text.split_once('-') {
            None => NumberRange { min: number(text)?, max: number(text)? },
            Some((min, "")) => NumberRange { min: number(min)?, max: u64::MAX },
            Some(("", max)) => NumberRange { min: 0, max: number(max)? },
            Some((min, max)) => NumberRange { min: number(min)?, max: number(max)? },
        };
        (range.min <= range.max).then_some(range)
    }

    pub fn contains(self, number: u64) -> bool {
        (self.min..=self.max).contains(&number)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostPattern::Exact(name) => to.write_str(name),
            HostPattern::Below(name) => write!(to, "*{name}"),
        }
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathPattern::Exact(path) | PathPattern::Glob(path) => to.write_str(path),
            PathPattern::Prefix(path) => write!(to, "{path}*"),
        }
    }
}

impl fmt::Display for NameValuePattern {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => write!(to, "{}{}{value}", self.name, self.separator),
            None => to.write_str(&self.name),
        }
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, max) if min == max => write!(to, "{min}"),
            (0, max) => write!(to, "-{max}"),
            (min, u64::MAX) => write!(to, "{min}-"),
            (min, max) => write!(to, "{min}-{max}"),
        }
    }
}

macro_rules! as_written {
    ($($name:ident)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
    )*};
}

as_written!(HostPattern PathPattern NameValuePattern NumberRange);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_written_again() {
        for text in ["shop.example", "*.shop.example", "10.0.0.1", "[::1]"] {
            assert_eq!(HostPattern::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "*", "*.", "a*b", "a b", ".shop", "shop.example:80", "[::1"] {
            assert_eq!(HostPattern::parse(text), None, "{text}");
        }
        for (text, want) in [
            ("/", PathPattern::Exact("/".into())),
            ("*", PathPattern::Prefix(String::new())),
            ("/api/*", PathPattern::Prefix("/api/".into())),
            ("/*/edit", PathPattern::Glob("/*/edit".into())),
            ("/a/**", PathPattern::Glob("/a/**".into())),
            ("/a?*", PathPattern::Glob("/a?*".into())),
        ] {
            let read = PathPattern::parse(text).unwrap();
            assert_eq!((&read, read.to_string()), (&want, text.to_owned()));
        }
        for text in ["", "api", "/a b", "/a#b"] {
            assert_eq!(PathPattern::parse(text), None, "{text}");
        }
        for text in ["7", "7-9", "7-", "-9"] {
            assert_eq!(NumberRange::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "-", "9-7", "+7", "a", "7-9-11"] {
            assert_eq!(NumberRange::parse(text), None, "{text}");
        }
        let field = NameValuePattern::parse_field("X-Tenant: blue*").unwrap();
        assert_eq!((field.name.as_str(), field.value.as_deref()), ("x-tenant", Some("blue*")));
        assert_eq!(NameValuePattern::parse_pair("id=").unwrap().value.as_deref(), Some(""));
        assert_eq!(
            (
                NameValuePattern::parse_field(""),
                NameValuePattern::parse_pair("a;b"),
                NameValuePattern::parse_pair("=x")
            ),
            (None, None, None)
        );
    }
}
