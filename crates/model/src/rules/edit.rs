//! What a rule changes in a request's head, and what in the head of its answer.
//!
//! A head is written once more, with another target and other fields; body bytes behind it are carried along. Framing
//! and hop-by-hop fields are the codec's: the configuration refuses them here.

use crate::config::Rewrite;
use crate::config::template::{Filling, Template};
use crate::head::Head;

/// Changes of a request.
#[derive(Debug)]
pub struct Edits {
    path: Option<Template>,
    strip: Option<Vec<u8>>,
    prefix: Option<Vec<u8>>,
    /// Names of fields that go, lower case.
    gone: Vec<Vec<u8>>,
    /// Lines that come, each with its end.
    lines: Vec<u8>,
}

/// Changes of an answer.
#[derive(Clone, Debug, Default)]
pub struct AnswerEdits {
    /// Names of fields that go, lower case.
    pub gone: Vec<String>,
    /// Lines that come, each with its end.
    pub lines: Vec<u8>,
}

impl Edits {
    /// As configured.
    pub fn new(rewrite: &Rewrite) -> Edits {
        let mut gone: Vec<Vec<u8>> =
            rewrite.remove.iter().map(|name| name.to_ascii_lowercase().into_bytes()).collect();
        gone.extend(rewrite.set.iter().map(|field| name_of(field).into_bytes()));
        let mut lines = Vec::new();
        for field in rewrite.set.iter().chain(&rewrite.add) {
            line(field, &mut lines);
        }
        if let Some(host) = &rewrite.host {
            gone.push(b"host".to_vec());
            line(&format!("Host: {host}"), &mut lines);
        }
        let bytes = |text: &Option<String>| text.clone().map(String::into_bytes);
        Edits {
            path: rewrite.path.as_deref().and_then(Template::parse),
            strip: bytes(&rewrite.strip),
            prefix: bytes(&rewrite.prefix),
            gone,
            lines,
        }
    }

    /// Writes `message`, which begins with that head, once more. `rest` and `groups` are the parts of its path that the
    /// rule found. Returns where the target lies then.
    pub fn apply(
        &self,
        message: &[u8],
        head: &Head<'_>,
        (rest, groups): (&[u8], [&[u8]; 9]),
        out: &mut Vec<u8>,
    ) -> (usize, usize) {
        out.extend_from_slice(head.method());
        out.push(b' ');
        let begin = out.len();
        self.target(head, rest, groups, out);
        let target = (begin, out.len());
        out.extend_from_slice(b" HTTP/1.1\r\n");
        let mut at = after_line(message, 0);
        while let Some(line) = message.get(at..after_line(message, at)) {
            if line.len() <= 2 {
                break;
            }
            let name = line.split(|b| *b == b':').next().unwrap_or_default();
            if !self.gone.iter().any(|gone| same_name(gone, name)) {
                out.extend_from_slice(line);
            }
            at += line.len();
        }
        out.extend_from_slice(&self.lines);
        out.extend_from_slice(message.get(at..).unwrap_or_default());
        target
    }

    fn target(&self, head: &Head<'_>, rest: &[u8], groups: [&[u8]; 9], out: &mut Vec<u8>) {
        let raw = head.target();
        let whole = head.query();
        if self.path.is_none() && self.strip.is_none() && self.prefix.is_none() {
            out.extend_from_slice(raw);
            return;
        }
        let path = match head.path_differs() {
            true => head.path(),
            false => raw.get(..raw.len() - whole.len()).unwrap_or_default(),
        };
        if let Some(template) = &self.path {
            let with = Filling { host: head.authority(), path, query: whole, rest, groups };
            let begin = out.len();
            template.fill(&with, out);
            if out.get(begin) != Some(&b'/') {
                out.insert(begin, b'/');
            }
            if !template.has_query() {
                out.extend_from_slice(whole);
            }
            return;
        }
        let path =
            self.strip.as_ref().and_then(|strip| path.strip_prefix(&**strip)).unwrap_or(path);
        let prefix = self.prefix.as_deref().unwrap_or_default();
        out.extend_from_slice(prefix.strip_suffix(b"/").unwrap_or(prefix));
        if !path.starts_with(b"/") {
            out.push(b'/');
        }
        out.extend_from_slice(path);
        out.extend_from_slice(whole);
    }
}

impl AnswerEdits {
    /// As configured.
    pub fn new(rewrite: &Rewrite) -> AnswerEdits {
        let mut edits = AnswerEdits::default();
        edits.gone.extend(rewrite.answer_remove.iter().map(|name| name.to_ascii_lowercase()));
        for field in &rewrite.answer_set {
            edits.gone.push(name_of(field));
            line(field, &mut edits.lines);
        }
        edits
    }

    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.lines.is_empty()
    }
}

fn name_of(field: &str) -> String {
    field.split(':').next().unwrap_or_default().to_ascii_lowercase()
}

/// Whether a server may take the two names for one: gateways turn `-` into `_`.
fn same_name(wanted: &[u8], name: &[u8]) -> bool {
    let separator = |byte: u8| !byte.is_ascii_alphanumeric();
    let same = |(&a, &b): (&u8, &u8)| a.eq_ignore_ascii_case(&b) || separator(a) && separator(b);
    wanted.len() == name.len() && wanted.iter().zip(name).all(same)
}

/// A field as a line.
fn line(field: &str, out: &mut Vec<u8>) {
    let (name, value) = field.split_once(':').unwrap_or((field, ""));
    for part in [name, ": ", value.trim(), "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Where the line after the one at `at` begins; the end where there is none.
fn after_line(message: &[u8], at: usize) -> usize {
    let rest = message.get(at..).unwrap_or_default();
    rest.iter().position(|b| *b == b'\n').map_or(message.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] =
        b"POST /api/v1/x?q=1 HTTP/1.1\r\nHost: shop\r\nX-A: 1\r\nx-b: 2\r\nX-C: 3\r\n\r\nbody";

    fn applied(rewrite: &Rewrite) -> String {
        let head = Head::new(MESSAGE, 4, (5, 18));
        let mut out = Vec::new();
        let target = Edits::new(rewrite).apply(MESSAGE, &head, (b"x", [b"g"; 9]), &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text[target.1..].starts_with(" HTTP/1.1\r\n"), "{text}");
        text
    }

    #[test]
    fn paths_are_written_anew() {
        let path = |rewrite: Rewrite| applied(&rewrite).split(' ').nth(1).unwrap().to_owned();
        let text = |text: &str| Some(text.to_owned());
        let none = Rewrite::default;
        assert_eq!(path(none()), "/api/v1/x?q=1");
        assert_eq!(path(Rewrite { strip: text("/api"), ..none() }), "/v1/x?q=1");
        assert_eq!(path(Rewrite { strip: text("/api/v1/x"), ..none() }), "/?q=1");
        assert_eq!(path(Rewrite { strip: text("/other"), ..none() }), "/api/v1/x?q=1");
        assert_eq!(path(Rewrite { prefix: text("/in/"), ..none() }), "/in/api/v1/x?q=1");
        let both = Rewrite { strip: text("/api/"), prefix: text("/in"), ..none() };
        assert_eq!(path(both), "/in/v1/x?q=1");
        assert_eq!(path(Rewrite { path: text("/{1}/{rest}"), ..none() }), "/g/x?q=1");
        assert_eq!(path(Rewrite { path: text("{rest}{query}"), ..none() }), "/x?q=1");
    }

    #[test]
    fn fields_go_and_come_and_the_body_stays() {
        let rewrite = Rewrite {
            remove: vec!["X-B".into()],
            set: vec!["x-a:9".into()],
            add: vec!["X-C: 4".into()],
            host: Some("inner".into()),
            ..Rewrite::default()
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
        let rewrite = Rewrite {
            set: vec!["X-Remote-User: anonymous".into()],
            remove: vec!["x-role".into()],
            ..Rewrite::default()
        };
        let mut out = Vec::new();
        let head = Head::new(message, 3, (4, 5));
        Edits::new(&rewrite).apply(message, &head, (b"", [b""; 9]), &mut out);
        assert_eq!(out, b"GET / HTTP/1.1\r\nX-Remote-User: anonymous\r\n\r\n");
    }
}
