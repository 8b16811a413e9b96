//! The changes that a rule makes to the head of a request and of its response.
//!
//! A head is written anew, with another target and other fields; body bytes after it are copied. Framing and hop-by-hop
//! fields belong to the codec: the configuration rejects them here.

use super::path_captures::PathCaptures;
use crate::config::RewriteConfig;
use crate::config::template::{Template, TemplateValues};
use crate::path;
use crate::request_head::{ParsedHead, same_name};

#[derive(Debug)]
pub struct RequestRewrite {
    path: Option<Template>,
    strip: Option<Vec<u8>>,
    prefix: Option<Vec<u8>>,
    /// Names of removed fields, lower case.
    removed_headers: Vec<Vec<u8>>,
    /// Added lines, each with its line end.
    added_lines: Vec<u8>,
}

/// Changes of a response.
#[derive(Clone, Debug, Default)]
pub struct ResponseRewrite {
    /// Names of removed fields, lower case.
    pub removed_headers: Vec<String>,
    /// Added lines, each with its line end.
    pub added_lines: Vec<u8>,
}

impl RequestRewrite {
    pub fn new(rewrite: &RewriteConfig) -> RequestRewrite {
        let mut gone: Vec<Vec<u8>> =
            rewrite.remove.iter().map(|name| name.to_ascii_lowercase().into_bytes()).collect();
        gone.extend(rewrite.set.iter().map(|field| field_name(field).into_bytes()));
        let mut lines = Vec::new();
        for field in rewrite.set.iter().chain(&rewrite.add) {
            field_line(field, &mut lines);
        }
        if let Some(host) = &rewrite.host {
            gone.push(b"host".to_vec());
            field_line(&format!("Host: {host}"), &mut lines);
        }
        let bytes = |text: &Option<String>| text.clone().map(String::into_bytes);
        RequestRewrite {
            path: rewrite.path.as_deref().and_then(Template::parse),
            strip: bytes(&rewrite.strip),
            prefix: bytes(&rewrite.prefix),
            removed_headers: gone,
            added_lines: lines,
        }
    }

    /// Writes `message`, which begins with that head, with the changes. `base` is the spelling of its path that the
    /// rule matched, `captures` what the rule captured of it. Returns the range of the new target; `None`: a server could
    /// read the new path as another place.
    pub fn apply(
        &self,
        message: &[u8],
        head: &ParsedHead<'_>,
        base: &[u8],
        captures: PathCaptures<'_>,
        out: &mut Vec<u8>,
    ) -> Option<(usize, usize)> {
        out.extend_from_slice(head.method());
        out.push(b' ');
        let begin = out.len();
        if self.path.is_none() && self.strip.is_none() && self.prefix.is_none() {
            out.extend_from_slice(head.target());
        } else {
            let with = TemplateValues {
                host: head.authority(),
                path: base,
                query: head.query(),
                rest: captures.rest,
                groups: captures.groups,
            };
            self.write_target(&with, out);
            let path = out[begin..].split(|b| *b == b'?').next().unwrap_or_default();
            if path::escapes_prefix(path) {
                return None;
            }
        }
        let target = (begin, out.len());
        out.extend_from_slice(b" HTTP/1.1\r\n");
        let mut at = next_line_start(message, 0);
        while let Some(line) = message.get(at..next_line_start(message, at)) {
            if line.len() <= 2 {
                break;
            }
            let name = line.split(|b| *b == b':').next().unwrap_or_default();
            if !self.removed_headers.iter().any(|gone| same_name(gone, name)) {
                out.extend_from_slice(line);
            }
            at += line.len();
        }
        out.extend_from_slice(&self.added_lines);
        out.extend_from_slice(message.get(at..).unwrap_or_default());
        Some(target)
    }

    fn write_target(&self, with: &TemplateValues<'_>, out: &mut Vec<u8>) {
        if let Some(template) = &self.path {
            let begin = out.len();
            template.fill(with, out);
            if out.get(begin) != Some(&b'/') {
                out.insert(begin, b'/');
            }
            if !template.has_query() {
                out.extend_from_slice(with.query);
            }
            return;
        }
        let stripped = self.strip.as_ref().and_then(|strip| with.path.strip_prefix(&**strip));
        let mut path = stripped.unwrap_or(with.path);
        let prefix = self.prefix.as_deref().unwrap_or_default();
        out.extend_from_slice(prefix.strip_suffix(b"/").unwrap_or(prefix));
        // Two slashes at the beginning would be a host to some servers.
        while path.starts_with(b"//") {
            path = &path[1..];
        }
        if !path.starts_with(b"/") {
            out.push(b'/');
        }
        out.extend_from_slice(path);
        out.extend_from_slice(with.query);
    }
}

impl ResponseRewrite {
    pub fn new(rewrite: &RewriteConfig) -> ResponseRewrite {
        let mut edits = ResponseRewrite::default();
        edits
            .removed_headers
            .extend(rewrite.answer_remove.iter().map(|name| name.to_ascii_lowercase()));
        for field in &rewrite.answer_set {
            edits.removed_headers.push(field_name(field));
            field_line(field, &mut edits.added_lines);
        }
        edits
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.removed_headers.is_empty() && self.added_lines.is_empty()
    }
}

fn field_name(field: &str) -> String {
    field.split(':').next().unwrap_or_default().to_ascii_lowercase()
}

/// A field as a line.
fn field_line(field: &str, out: &mut Vec<u8>) {
    let (name, value) = field.split_once(':').unwrap_or((field, ""));
    for part in [name, ": ", value.trim(), "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Where the line after the one at `at` begins; the end if there is none.
fn next_line_start(message: &[u8], at: usize) -> usize {
    let rest = message.get(at..).unwrap_or_default();
    rest.iter().position(|b| *b == b'\n').map_or(message.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] =
        b"POST /api/v1/x?q=1 HTTP/1.1\r\nHost: shop\r\nX-A: 1\r\nx-b: 2\r\nX-C: 3\r\n\r\nbody";

    fn applied(rewrite: &RewriteConfig) -> String {
        let head = ParsedHead::new(MESSAGE, 4, (5, 18));
        let mut out = Vec::new();
        let captures = PathCaptures { rest: b"x", groups: [b"g"; 9] };
        let target = RequestRewrite::new(rewrite)
            .apply(MESSAGE, &head, head.raw_path(), captures, &mut out)
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text[target.1..].starts_with(" HTTP/1.1\r\n"), "{text}");
        text
    }

    #[test]
    fn paths_are_written_anew() {
        let path = |rewrite: RewriteConfig| applied(&rewrite).split(' ').nth(1).unwrap().to_owned();
        let text = |text: &str| Some(text.to_owned());
        let none = RewriteConfig::default;
        assert_eq!(path(none()), "/api/v1/x?q=1");
        assert_eq!(path(RewriteConfig { strip: text("/api"), ..none() }), "/v1/x?q=1");
        assert_eq!(path(RewriteConfig { strip: text("/api/v1/x"), ..none() }), "/?q=1");
        assert_eq!(path(RewriteConfig { strip: text("/other"), ..none() }), "/api/v1/x?q=1");
        assert_eq!(path(RewriteConfig { prefix: text("/in/"), ..none() }), "/in/api/v1/x?q=1");
        let both = RewriteConfig { strip: text("/api/"), prefix: text("/in"), ..none() };
        assert_eq!(path(both), "/in/v1/x?q=1");
        assert_eq!(path(RewriteConfig { path: text("/{1}/{rest}"), ..none() }), "/g/x?q=1");
        assert_eq!(path(RewriteConfig { path: text("{rest}{query}"), ..none() }), "/x?q=1");
    }

    #[test]
    fn a_new_path_that_leads_elsewhere_is_not_written() {
        let new = |path: &str, rewrite: &RewriteConfig, rest: &str| {
            let message = format!("GET {path}?q HTTP/1.1\r\n\r\n");
            let head = ParsedHead::new(message.as_bytes(), 3, (4, 6 + path.len()));
            let mut out = Vec::new();
            let rest = rest.as_bytes();
            let captures = PathCaptures { rest, groups: [rest; 9] };
            let edits = RequestRewrite::new(rewrite);
            edits.apply(message.as_bytes(), &head, path.as_bytes(), captures, &mut out)?;
            Some(String::from_utf8(out).unwrap().split(' ').nth(1).unwrap().to_owned())
        };
        let path =
            |path: &str| RewriteConfig { path: Some(path.into()), ..RewriteConfig::default() };
        let strip =
            |path: &str| RewriteConfig { strip: Some(path.into()), ..RewriteConfig::default() };
        let text = |text: &str| Some(text.to_owned());
        for (from, rewrite, rest, want) in [
            ("/u-x", path("/users/{rest}"), "x", text("/users/x?q")),
            ("/u-..", path("/users/{rest}"), "..", None),
            ("/u-../admin", path("/users/{1}"), "../admin", None),
            ("/u-..%2fadmin", path("/users/{1}"), "..%2fadmin", None),
            ("/u-%2e%2e/admin", path("/users/{1}"), "%2e%2e/admin", None),
            ("/u-a%2Fb", path("/users/{1}"), "a%2Fb", text("/users/a%2Fb?q")),
            ("/u-a;v=1", path("/users/{1}"), "a;v=1", text("/users/a;v=1?q")),
            ("/u-/x", path("/{rest}"), "/x", text("/x?q")),
            ("/u-\\h/x", path("/{rest}"), "\\h/x", None),
            ("/api/v1", strip("/api"), "", text("/v1?q")),
            ("/api//h/v1", strip("/api"), "", text("/h/v1?q")),
            ("/api/\\h/v1", strip("/api"), "", None),
            ("/api../v1", strip("/api"), "", None),
            ("/api/a%252e%252e/..;/b", strip("/api"), "", None),
        ] {
            assert_eq!(new(from, &rewrite, rest), want, "{from} {rewrite:?}");
        }
    }

    #[test]
    fn fields_go_and_come_and_the_body_stays() {
        let rewrite = RewriteConfig {
            remove: vec!["X-B".into()],
            set: vec!["x-a:9".into()],
            add: vec!["X-C: 4".into()],
            host: Some("inner".into()),
            ..RewriteConfig::default()
        };
        assert_eq!(
            applied(&rewrite),
            "POST /api/v1/x?q=1 HTTP/1.1\r\nX-C: 3\r\nx-a: 9\r\nX-C: 4\r\nHost: inner\r\n\r\nbody"
        );
    }

    #[test]
    fn a_field_is_replaced_and_removed_under_every_spelling() {
        let message =
            b"GET / HTTP/1.1\r\nX_Remote_User: eve\r\nx-Remote_user: eve\r\nX.Role: a\r\n\r\n";
        let rewrite = RewriteConfig {
            set: vec!["X-Remote-User: anonymous".into()],
            remove: vec!["x-role".into()],
            ..RewriteConfig::default()
        };
        let mut out = Vec::new();
        let head = ParsedHead::new(message, 3, (4, 5));
        let captures = PathCaptures { rest: b"", groups: [b""; 9] };
        RequestRewrite::new(&rewrite).apply(message, &head, b"/", captures, &mut out).unwrap();
        assert_eq!(out, b"GET / HTTP/1.1\r\nX-Remote-User: anonymous\r\n\r\n");
    }
}
