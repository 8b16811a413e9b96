//! Texts with placeholders that are filled from a request: redirect targets and rewritten paths.
//!
//! Values come from a validated request head, so none can end a line. A Location value must additionally not choose
//! another host.

use crate::path::push_encoded;

/// Bounds the bytes that one redirect or rewrite adds to a head beside its placeholders.
const MAX_TEMPLATE_BYTES: usize = 2_048;

/// The longest filled text.
/// Servers refuse heads of more than 8 to 16 KiB.
pub const MAX_FILLED_BYTES: usize = 16 * 1_024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<TemplatePart>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum TemplatePart {
    Text(String),
    Host,
    /// The host without its port.
    HostName,
    Path,
    Query,
    /// The query behind one of the template: `&` stands in the place of its `?`.
    MoreQuery,
    Rest,
    Group(usize),
}

/// The values of placeholders.
#[derive(Clone, Copy, Debug, Default)]
pub struct TemplateValues<'a> {
    /// The requested host with its port.
    pub host: &'a [u8],
    pub path: &'a [u8],
    /// The query with its `?`, or empty.
    pub query: &'a [u8],
    /// The text that matched the last `*` of the rule's path.
    pub rest: &'a [u8],
    /// Capture groups of the rule's expression, from the first on.
    pub groups: [&'a [u8]; 9],
}

impl Template {
    /// `None`: an unknown placeholder or an unmatched brace.
    pub fn parse(text: &str) -> Option<Template> {
        if text.is_empty() || text.len() > MAX_TEMPLATE_BYTES {
            return None;
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}')?;
            if before.contains('}') {
                return None;
            }
            if !before.is_empty() {
                pieces.push(TemplatePart::Text(before.to_owned()));
            }
            pieces.push(match name {
                "host" => TemplatePart::Host,
                "host-name" => TemplatePart::HostName,
                "path" => TemplatePart::Path,
                "query" => TemplatePart::Query,
                "more-query" => TemplatePart::MoreQuery,
                "rest" => TemplatePart::Rest,
                _ => match name.parse::<usize>() {
                    Ok(group @ 1..=9) if name.len() == 1 => TemplatePart::Group(group - 1),
                    _ => return None,
                },
            });
            rest = after;
        }
        if rest.contains('}') {
            return None;
        }
        if !rest.is_empty() {
            pieces.push(TemplatePart::Text(rest.to_owned()));
        }
        Some(Template(pieces))
    }

    /// Appends the filled template, at most `MAX_FILLED_BYTES` bytes. A slash before a placeholder and a leading slash
    /// of its value become one.
    pub fn fill(&self, with: &TemplateValues<'_>, into: &mut Vec<u8>) {
        let begin = into.len();
        for piece in &self.0 {
            let mut value = piece.value(with);
            if !matches!(piece, TemplatePart::Text(_)) && into.len() > begin && into.ends_with(b"/")
            {
                value = strip_leading_slashes(value);
            }
            if *piece == TemplatePart::MoreQuery && !value.is_empty() {
                into.push(b'&');
            }
            into.extend_from_slice(value);
        }
        into.truncate(begin + MAX_FILLED_BYTES);
    }

    /// Appends the filled template as a Location value, at most `MAX_FILLED_BYTES` bytes. Client data cannot choose
    /// another host: it neither starts a host nor extends one of the template. Characters that are invalid in a URL are
    /// encoded.
    pub fn fill_location(&self, with: &TemplateValues<'_>, into: &mut Vec<u8>) {
        let mut filled = Vec::new();
        for (at, piece) in self.0.iter().enumerate() {
            let value = piece.value(with);
            match piece {
                TemplatePart::Text(_)
                | TemplatePart::Host
                | TemplatePart::HostName
                | TemplatePart::Query => filled.extend_from_slice(value),
                TemplatePart::MoreQuery => {
                    if !value.is_empty() {
                        filled.push(b'&');
                    }
                    filled.extend_from_slice(value);
                }
                TemplatePart::Rest if value.is_empty() && self.path_ends_after(at) => {
                    drop_last_slash(&mut filled);
                }
                TemplatePart::Path if filled.ends_with(b"//") && ends_inside_host(&filled) => {
                    filled.extend_from_slice(with.host);
                    filled.extend_from_slice(value);
                }
                TemplatePart::Path | TemplatePart::Rest | TemplatePart::Group(_) => {
                    self.push_path_part(at, value, &mut filled)
                }
            }
        }
        let first = self.0.first();
        if !matches!(first, Some(TemplatePart::Text(text)) if text.starts_with("//")) {
            while filled.starts_with(b"//") {
                filled.remove(0);
            }
        }
        // A value at the start must be a path.
        let begins = matches!(
            first,
            Some(
                TemplatePart::Host
                    | TemplatePart::HostName
                    | TemplatePart::Rest
                    | TemplatePart::Group(_)
            )
        );
        if begins && !filled.starts_with(b"/") {
            filled.insert(0, b'/');
        }
        let end = into.len() + MAX_FILLED_BYTES;
        for byte in filled {
            match byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
                true => into.push(byte),
                false => push_encoded(into, byte),
            }
        }
        into.truncate(end);
    }

    /// Appends a value of the path, for the template part at a position.
    fn push_path_part(&self, at: usize, value: &[u8], filled: &mut Vec<u8>) {
        let value = if filled.ends_with(b"/") { strip_leading_slashes(value) } else { value };
        let ends_host = !self.continues_with_host(at);
        if ends_inside_host(filled) && !ends_host {
            // Inside a host the value must not end the host, which would change it.
            for &byte in value {
                match byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
                    true => filled.push(byte),
                    false => push_encoded(filled, byte),
                }
            }
        } else if !ends_inside_host(filled) || value.is_empty() || value.starts_with(b"/") {
            filled.extend_from_slice(value);
        } else if ends_host && filled.last().is_some_and(u8::is_ascii_alphanumeric) {
            // The host is complete: values such as `.evil.example` or `@evil.example` would change it.
            filled.push(b'/');
            filled.extend_from_slice(value);
        } else if ends_host && filled.ends_with(b"//") {
            // The rule itself uses a placeholder for the whole host.
            filled.extend_from_slice(value);
        } else {
            for &byte in value {
                match byte {
                    b'@' | b':' => push_encoded(filled, byte),
                    _ => filled.push(byte),
                }
            }
        }
    }

    /// Whether the path ends or continues with a slash after the part at a position.
    fn path_ends_after(&self, at: usize) -> bool {
        match self.0.get(at + 1) {
            None | Some(TemplatePart::Query) => true,
            Some(TemplatePart::Text(text)) => text.starts_with(['/', '?', '#']),
            Some(_) => false,
        }
    }

    /// Whether the template continues with a host after the part at a position.
    fn continues_with_host(&self, at: usize) -> bool {
        let mut behind = self.0.iter().skip(at + 1);
        // Values of other placeholders cannot end a host.
        let next =
            behind.find(|piece| !matches!(piece, TemplatePart::Rest | TemplatePart::Group(_)));
        match next {
            Some(TemplatePart::Text(text)) => !text.starts_with(['/', '?', '#']),
            Some(TemplatePart::Host | TemplatePart::HostName) => true,
            _ => false,
        }
    }

    pub fn has_query(&self) -> bool {
        self.0.contains(&TemplatePart::Query)
    }

    /// Whether `{more-query}` stands where no query of the template precedes it. It could become a part of the host there.
    pub fn has_loose_query(&self) -> bool {
        let mut has_query = false;
        self.0.iter().any(|part| match part {
            TemplatePart::Text(text) => {
                has_query |= text.contains('?');
                false
            }
            TemplatePart::MoreQuery => !has_query,
            _ => false,
        })
    }

    /// Whether the template uses the text that matched the last `*` of the path.
    pub fn has_rest(&self) -> bool {
        self.0.contains(&TemplatePart::Rest)
    }

    /// The highest capture group in use, from 1; 0: none.
    pub fn highest_group(&self) -> usize {
        let group = |piece: &TemplatePart| match piece {
            TemplatePart::Group(group) => group + 1,
            _ => 0,
        };
        self.0.iter().map(group).max().unwrap_or(0)
    }

    /// Whether the template's literal text contains one of these characters.
    pub fn has_literal_character(&self, characters: &[char]) -> bool {
        self.0
            .iter()
            .any(|piece| matches!(piece, TemplatePart::Text(text) if text.contains(characters)))
    }
}

impl TemplatePart {
    fn value<'v>(&'v self, with: &TemplateValues<'v>) -> &'v [u8] {
        match self {
            TemplatePart::Text(text) => text.as_bytes(),
            TemplatePart::Host => with.host,
            TemplatePart::HostName => without_port(with.host),
            TemplatePart::Path => with.path,
            TemplatePart::Query => with.query,
            TemplatePart::MoreQuery => with.query.strip_prefix(b"?").unwrap_or_default(),
            TemplatePart::Rest => with.rest,
            TemplatePart::Group(group) => with.groups.get(*group).copied().unwrap_or_default(),
        }
    }
}

/// A host without its port. Colons within brackets are those of an IPv6 address.
fn without_port(host: &[u8]) -> &[u8] {
    let begin = host.iter().position(|byte| *byte == b']').unwrap_or(0);
    let port = host[begin..].iter().position(|byte| *byte == b':');
    port.map_or(host, |at| &host[..begin + at])
}

fn strip_leading_slashes(value: &[u8]) -> &[u8] {
    let begin = value.iter().position(|b| *b != b'/').unwrap_or(value.len());
    &value[begin..]
}

/// The start of the host in a URL, or in an incomplete one.
fn host_start(filled: &[u8]) -> Option<usize> {
    let at = filled.windows(2).position(|two| two == b"//")?;
    let scheme = &filled[..at];
    (scheme.is_empty() || scheme.ends_with(b":")).then_some(at + 2)
}

/// Whether the next byte would belong to a host.
fn ends_inside_host(filled: &[u8]) -> bool {
    let ends = |b: &u8| matches!(b, b'/' | b'?' | b'#');
    host_start(filled).is_some_and(|begin| !filled[begin..].iter().any(ends))
}

/// Removes a trailing slash before an empty value, unless it is the whole path.
fn drop_last_slash(filled: &mut Vec<u8>) {
    let root = host_start(filled).unwrap_or(0);
    let path = &filled[root.min(filled.len())..];
    let slashes = path.iter().filter(|b| **b == b'/').count();
    if filled.ends_with(b"/") && slashes > 1 {
        filled.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_chooses_no_host_of_a_redirect() {
        let location = |to: &str, value: &str| {
            let path = format!("/{value}");
            let with = TemplateValues {
                host: b"shop.example:80",
                path: path.as_bytes(),
                query: b"?q=\"",
                rest: value.as_bytes(),
                groups: [value.as_bytes(); 9],
            };
            let mut out = b"Location: ".to_vec();
            Template::parse(to).unwrap().fill_location(&with, &mut out);
            String::from_utf8(out).unwrap().split_off(10)
        };
        for (to, value, want) in [
            ("/{rest}", "a/b", "/a/b"),
            ("/{rest}", "/evil.example/x", "/evil.example/x"),
            ("/{rest}", "///evil.example", "/evil.example"),
            ("/{rest}", "\\evil.example", "/%5Cevil.example"),
            ("/{rest}", "%5Cevil.example", "/%5Cevil.example"),
            ("/{1}", "/\\evil.example", "/%5Cevil.example"),
            ("{rest}", "//evil.example", "/evil.example"),
            ("{rest}", "https://evil.example", "/https://evil.example"),
            ("{1}", "javascript:alert(1)", "/javascript:alert(1)"),
            ("{path}", "/evil.example", "/evil.example"),
            ("{path}", "\\evil.example", "/%5Cevil.example"),
            ("{path}{query}", "a", "/a?q=%22"),
            ("{host}{path}", "a", "/shop.example:80/a"),
            ("/new{rest}", "/x", "/new/x"),
            ("/new/{rest}", "", "/new"),
            ("/new/{rest}{query}", "", "/new?q=%22"),
            ("/new/{rest}/end", "", "/new/end"),
            ("/{rest}/end", "", "/end"),
            ("https://{path}", "/evil.example", "https://shop.example:80//evil.example"),
            ("/{rest}", "", "/"),
            ("https://h.example/{rest}", "", "https://h.example/"),
            ("https://h.example/new/{rest}?x=1", "", "https://h.example/new?x=1"),
            ("https://{host}{path}", "a//b", "https://shop.example:80/a//b"),
            ("https://{host}/{path}", "a", "https://shop.example:80/a"),
            ("https://h.example{rest}", ".evil.example", "https://h.example/.evil.example"),
            ("https://h.example{1}", "@evil.example/", "https://h.example/@evil.example/"),
            ("https://h.example:8443{rest}", "1", "https://h.example:8443/1"),
            ("https://h.example{rest}", "/x", "https://h.example/x"),
            ("https://h.example{rest}", "", "https://h.example"),
            ("https://h{1}.example/x", "7", "https://h7.example/x"),
            ("https://h.{1}/x", "example", "https://h.example/x"),
            (
                "https://{1}.h.example/x",
                "a@evil.example:1",
                "https://a%40evil.example%3A1.h.example/x",
            ),
            ("https://{1}.h.example/x", "evil.example\\", "https://evil.example%5C.h.example/x"),
            ("https://{1}.h.example/x", "evil.example/", "https://evil.example%2F.h.example/x"),
            ("https://{1}.h.example/x", "evil.example?", "https://evil.example%3F.h.example/x"),
            ("https://{1}.h.example/x", "evil.example#", "https://evil.example%23.h.example/x"),
            ("https://{1}.h.example/x", "e%2f", "https://e%252f.h.example/x"),
            ("https://h{1}.example/x", "/", "https://h%2F.example/x"),
            ("https://{1}{rest}.h.example/", "e/", "https://e%2Fe%2F.h.example/"),
            ("//h.example/{rest}", "a", "//h.example/a"),
            ("/x?back=/{path}", "/evil.example", "/x?back=/evil.example"),
            ("/{rest}", "a\"<>^`{|} \u{e9}\u{1}", "/a%22%3C%3E%5E%60%7B%7C%7D%20%C3%A9%01"),
        ] {
            assert_eq!(location(to, value), want, "{to} {value}");
        }
    }

    #[test]
    fn places_are_filled() {
        let with = TemplateValues {
            host: b"shop.example:8080",
            path: b"/a/b",
            query: b"?q=1",
            rest: b"b",
            groups: [b"one", b"two", b"", b"", b"", b"", b"", b"", b""],
        };
        let filled = |text: &str| {
            let mut out = Vec::new();
            Template::parse(text).unwrap().fill(&with, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(filled("https://{host}{path}{query}"), "https://shop.example:8080/a/b?q=1");
        assert_eq!(filled("https://{host-name}{path}"), "https://shop.example/a/b");
        assert_eq!(filled("/new?a=1{more-query}"), "/new?a=1&q=1");
        assert_eq!(without_port(b"[::1]:80"), b"[::1]");
        assert_eq!(filled("/new/{rest}/{2}{1}{3}"), "/new/b/twoone");
        for text in ["", "{", "}", "{none}", "{0}", "{10}", "a}b{host}", &"a".repeat(3_000)] {
            assert_eq!(Template::parse(text), None, "{text}");
        }
    }
}
