//! The changes that a rule makes to the head of a request.
//!
//! A head is written anew, with another target and other fields; body bytes after it are copied. Framing and hop-by-hop
//! fields belong to the codec: the configuration rejects them here.

use std::ops::Range;

use super::added_lines::{AddedLines, field_name};
use super::path_captures::PathCaptures;
use crate::config::template::{Template, TemplateValues};
use crate::config::value_template::{RequestFacts, ValueBudget, ValueTemplate};
use crate::config::{PathCase, RewriteConfig};
use crate::path;
use crate::request_head::same_name;

#[derive(Debug)]
pub struct RequestRewrite {
    path: Option<Template>,
    strip: Option<Vec<u8>>,
    /// Whether letter case counts in `strip`, as in the conditions of the service's rules.
    case: PathCase,
    prefix: Option<Vec<u8>>,
    /// Names of removed fields, lower case.
    removed_headers: Vec<Vec<u8>>,
    added_lines: AddedLines,
    host: Option<ValueTemplate>,
}

/// Why a request is not rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewriteFault {
    /// A server could read the new path as another place.
    AmbiguousPath,
    /// Variables would write more than a head may get of them.
    ValuesTooLong,
    /// The new Host is none.
    NotAHost,
}

impl RequestRewrite {
    pub fn new(rewrite: &RewriteConfig, case: PathCase) -> RequestRewrite {
        let mut gone: Vec<Vec<u8>> =
            rewrite.remove.iter().map(|name| name.to_ascii_lowercase().into_bytes()).collect();
        gone.extend(rewrite.set.iter().map(|field| field_name(field).into_bytes()));
        let host = rewrite.host.as_deref().and_then(|host| ValueTemplate::parse(host).ok());
        if host.is_some() {
            gone.push(b"host".to_vec());
        }
        let bytes = |text: &Option<String>| text.clone().map(String::into_bytes);
        RequestRewrite {
            path: rewrite.path.as_deref().and_then(Template::parse),
            strip: bytes(&rewrite.strip),
            case,
            prefix: bytes(&rewrite.prefix),
            removed_headers: gone,
            added_lines: AddedLines::new(rewrite.set.iter().chain(&rewrite.add)),
            host,
        }
    }

    /// Whether it needs what the client sent as X-Forwarded-For.
    pub fn wants_forwarded_for(&self) -> bool {
        self.added_lines.wants_forwarded_for()
            || self.host.as_ref().is_some_and(ValueTemplate::wants_forwarded_for)
    }

    /// Writes `message`, which begins with the head of `facts`, with the changes. `base` is the spelling of its path that
    /// the rule matched, `captures` what the rule captured of it. Returns the range of the new target.
    ///
    /// # Errors
    /// The request may not be sent so.
    pub fn apply(
        &self,
        message: &[u8],
        facts: &RequestFacts<'_>,
        base: &[u8],
        captures: PathCaptures<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Range<usize>, RewriteFault> {
        let head = facts.head;
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
                return Err(RewriteFault::AmbiguousPath);
            }
        }
        let target = begin..out.len();
        out.extend_from_slice(b" HTTP/1.1\r\n");
        self.write_fields(message, facts, &mut ValueBudget::default(), out)?;
        Ok(target)
    }

    /// As `apply`, for changes that keep the request line. Takes what is written from `budget`.
    ///
    /// # Errors
    /// The request may not be sent so.
    pub fn apply_to_fields(
        &self,
        message: &[u8],
        facts: &RequestFacts<'_>,
        budget: &mut ValueBudget,
        out: &mut Vec<u8>,
    ) -> Result<(), RewriteFault> {
        budget.take(self.added_lines.fixed_bytes()).ok_or(RewriteFault::ValuesTooLong)?;
        out.extend_from_slice(message.get(..next_line_start(message, 0)).unwrap_or_default());
        self.write_fields(message, facts, budget, out)
    }

    /// Writes the fields of `message` with the changes, and what follows them.
    fn write_fields(
        &self,
        message: &[u8],
        facts: &RequestFacts<'_>,
        budget: &mut ValueBudget,
        out: &mut Vec<u8>,
    ) -> Result<(), RewriteFault> {
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
        self.write_lines(facts, budget, out)?;
        out.extend_from_slice(message.get(at..).unwrap_or_default());
        Ok(())
    }

    fn write_lines(
        &self,
        facts: &RequestFacts<'_>,
        budget: &mut ValueBudget,
        out: &mut Vec<u8>,
    ) -> Result<(), RewriteFault> {
        self.added_lines.write(facts, budget, out).ok_or(RewriteFault::ValuesTooLong)?;
        let Some(host) = &self.host else { return Ok(()) };
        out.extend_from_slice(b"Host: ");
        let begin = out.len();
        match host.literal() {
            Some(host) => out.extend_from_slice(host.as_bytes()),
            None => {
                host.fill(facts, budget, out).ok_or(RewriteFault::ValuesTooLong)?;
                if !out[begin..].iter().all(|byte| is_host_byte(*byte)) {
                    return Err(RewriteFault::NotAHost);
                }
                if out.len() == begin {
                    out.extend_from_slice(facts.head.authority());
                }
            }
        }
        out.extend_from_slice(b"\r\n");
        Ok(())
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
        let mut path = self.without_prefix(with.path);
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

    /// The path without `strip`, where it begins so.
    fn without_prefix<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        let strip = self.strip.as_deref().unwrap_or_default();
        let Some(begin) = path.get(..strip.len()) else { return path };
        let begins = match self.case {
            PathCase::Exact => begin == strip,
            PathCase::Ignore => begin.eq_ignore_ascii_case(strip),
        };
        if begins { &path[strip.len()..] } else { path }
    }
}

/// A byte of a host or its port, as the codec takes them.
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:[]".contains(&byte)
}

/// Where the line after the one at `at` begins; the end if there is none.
fn next_line_start(message: &[u8], at: usize) -> usize {
    let rest = message.get(at..).unwrap_or_default();
    rest.iter().position(|b| *b == b'\n').map_or(message.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_head::ParsedHead;

    const MESSAGE: &[u8] =
        b"POST /api/v1/x?q=1 HTTP/1.1\r\nHost: shop\r\nX-A: 1\r\nx-b: 2\r\nX-C: 3\r\n\r\nbody";

    fn facts<'a>(head: &'a ParsedHead<'a>) -> RequestFacts<'a> {
        RequestFacts {
            client: "192.0.2.9:4711".parse().unwrap(),
            port: 80,
            scheme: "http",
            sni: None,
            forwarded_for: b"198.51.100.1",
            head,
        }
    }

    fn applied(rewrite: &RewriteConfig) -> String {
        let head = ParsedHead::new(MESSAGE, 4, 5..18);
        let mut out = Vec::new();
        let captures = PathCaptures { rest: b"x", groups: [b"g"; 9] };
        let target = RequestRewrite::new(rewrite, PathCase::Exact)
            .apply(MESSAGE, &facts(&head), head.raw_path(), captures, &mut out)
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text[target.end..].starts_with(" HTTP/1.1\r\n"), "{text}");
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
    fn letter_case_of_a_stripped_prefix_counts_as_in_conditions() {
        let message = b"GET /API/v1 HTTP/1.1\r\n\r\n";
        let head = ParsedHead::new(message, 3, 4..11);
        for (strip, case, want) in
            [("/api", PathCase::Ignore, "/v1"), ("/api", PathCase::Exact, "/API/v1")]
        {
            let strip = Some(strip.to_owned());
            let rewrite = RewriteConfig { strip, ..RewriteConfig::default() };
            let mut out = Vec::new();
            let captures = PathCaptures { rest: b"", groups: [b""; 9] };
            let edits = RequestRewrite::new(&rewrite, case);
            edits.apply(message, &facts(&head), b"/API/v1", captures, &mut out).unwrap();
            assert!(out.starts_with(format!("GET {want} ").as_bytes()), "{rewrite:?} {case:?}");
        }
    }

    #[test]
    fn a_new_path_that_leads_elsewhere_is_not_written() {
        let new = |path: &str, rewrite: &RewriteConfig, rest: &str| {
            let message = format!("GET {path}?q HTTP/1.1\r\n\r\n");
            let head = ParsedHead::new(message.as_bytes(), 3, 4..6 + path.len());
            let mut out = Vec::new();
            let rest = rest.as_bytes();
            let captures = PathCaptures { rest, groups: [rest; 9] };
            let edits = RequestRewrite::new(rewrite, PathCase::Exact);
            let facts = facts(&head);
            edits.apply(message.as_bytes(), &facts, path.as_bytes(), captures, &mut out).ok()?;
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
    fn variables_are_put_in_and_empty_fields_are_not_sent() {
        let list = |fields: &[&str]| fields.iter().map(|field| (*field).to_owned()).collect();
        let rewrite = RewriteConfig {
            set: list(&["X-A: {sni}", "x-b:{client} {{x}", "X-Fixed: 1"]),
            add: list(&["X-New: {header.x-c}; {host-name}", "X-For: {client-chain}", "X-Last:"]),
            host: Some("{header.x-a}.inner:{port}".into()),
            ..RewriteConfig::default()
        };
        assert_eq!(
            applied(&rewrite),
            "POST /api/v1/x?q=1 HTTP/1.1\r\nX-C: 3\r\nx-b: 192.0.2.9 {x}\r\nX-Fixed: 1\r\nX-New: 3; shop\r\n\
             X-For: 198.51.100.1, 192.0.2.9\r\nX-Last: \r\nHost: 1.inner:80\r\n\r\nbody"
        );
        let edits = RequestRewrite::new(&rewrite, PathCase::Exact);
        assert!(edits.wants_forwarded_for());
        assert!(
            !RequestRewrite::new(&RewriteConfig::default(), PathCase::Exact).wants_forwarded_for()
        );
    }

    #[test]
    fn a_host_of_variables_is_a_host_or_that_of_the_client() {
        let host = |value: &str| {
            let message = format!("GET / HTTP/1.1\r\nHost: shop\r\nX-Host: {value}\r\n\r\n");
            let head = ParsedHead::new(message.as_bytes(), 3, 4..5);
            let host = Some("{header.x-host}".to_owned());
            let edits = RequestRewrite::new(
                &RewriteConfig { host, ..RewriteConfig::default() },
                PathCase::Exact,
            );
            let captures = PathCaptures { rest: b"", groups: [b""; 9] };
            let mut out = Vec::new();
            edits.apply(message.as_bytes(), &facts(&head), b"/", captures, &mut out)?;
            let text = String::from_utf8(out).unwrap();
            Ok(text.split("Host: ").last().unwrap().trim().to_owned())
        };
        assert_eq!(host("inner:8080"), Ok("inner:8080".to_owned()));
        assert_eq!(host(""), Ok("shop".to_owned()));
        for value in ["a/b", "user@a", "a b", "a, b", "\u{e9}"] {
            assert_eq!(host(value), Err(RewriteFault::NotAHost), "{value}");
        }
        assert_eq!(host(&"a".repeat(17_000)), Err(RewriteFault::ValuesTooLong));
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
        let head = ParsedHead::new(message, 3, 4..5);
        let captures = PathCaptures { rest: b"", groups: [b""; 9] };
        let edits = RequestRewrite::new(&rewrite, PathCase::Exact);
        edits.apply(message, &facts(&head), b"/", captures, &mut out).unwrap();
        assert_eq!(out, b"GET / HTTP/1.1\r\nX-Remote-User: anonymous\r\n\r\n");
    }
}
