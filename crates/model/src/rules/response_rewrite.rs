//! The changes that a rule makes to the head of a response.

use super::added_lines::{AddedLines, field_name};
use super::cookie_rewrite::CookieRewrite;
use super::location_rewrite::LocationRewrite;
use crate::config::value_template::{RequestFacts, ValueBudget};
use crate::config::{AddedField, RewriteConfig, StatusRanges};

/// Changes of a response.
#[derive(Clone, Debug, Default)]
pub struct ResponseRewrite {
    /// Names of removed fields, lower case.
    pub removed_headers: Vec<String>,
    /// Added lines, each with its line end.
    pub added_lines: Vec<u8>,
    pub cookies: CookieRewrite,
    by_status: Vec<StatusLines>,
    locations: Vec<LocationRewrite>,
}

/// A field that is added to responses of some statuses.
#[derive(Clone, Debug)]
struct StatusLines {
    lines: AddedLines,
    statuses: StatusRanges,
    /// Also to responses of the balancer itself.
    own: bool,
}

/// The variables of a response rewrite, filled for one request.
#[derive(Clone, Debug, Default)]
pub struct FilledResponse {
    by_status: Vec<FilledLines>,
    /// What is put in the place of each beginning of a Location.
    locations: Vec<Vec<u8>>,
}

#[derive(Clone, Debug)]
struct FilledLines {
    lines: Vec<u8>,
    statuses: StatusRanges,
    own: bool,
}

impl ResponseRewrite {
    pub fn new(rewrite: &RewriteConfig) -> ResponseRewrite {
        let mut edits = ResponseRewrite {
            cookies: CookieRewrite::new(rewrite),
            by_status: rewrite.response_add.iter().map(StatusLines::new).collect(),
            locations: rewrite.location.iter().filter_map(LocationRewrite::new).collect(),
            ..ResponseRewrite::default()
        };
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
        self.removed_headers.is_empty()
            && self.added_lines.is_empty()
            && self.cookies.is_empty()
            && !self.has_variables()
    }

    /// Whether it is filled for each request.
    pub fn has_variables(&self) -> bool {
        !self.by_status.is_empty() || !self.locations.is_empty()
    }

    /// Bytes of the lines that have no variables.
    pub fn fixed_bytes(&self) -> usize {
        let by_status = self.by_status.iter().map(|added| added.lines.fixed_bytes());
        self.added_lines.len() + by_status.sum::<usize>()
    }

    /// Whether it needs what the client sent as X-Forwarded-For.
    pub fn wants_forwarded_for(&self) -> bool {
        self.by_status.iter().any(|added| added.lines.wants_forwarded_for())
            || self.locations.iter().any(LocationRewrite::wants_forwarded_for)
    }

    /// Fills the variables; `None`: they would write more than a head may get of them.
    pub fn fill(&self, facts: &RequestFacts<'_>) -> Option<FilledResponse> {
        self.fill_within(facts, &mut ValueBudget::default())
    }

    /// As `fill`; takes what is added from `budget`.
    pub fn fill_within(
        &self,
        facts: &RequestFacts<'_>,
        budget: &mut ValueBudget,
    ) -> Option<FilledResponse> {
        let mut filled = FilledResponse::default();
        for added in &self.by_status {
            let mut lines = Vec::new();
            added.lines.write(facts, budget, &mut lines)?;
            let StatusLines { statuses, own, .. } = added.clone();
            filled.by_status.push(FilledLines { lines, statuses, own });
        }
        for location in &self.locations {
            filled.locations.push(location.fill(facts, budget)?);
        }
        Some(filled)
    }

    /// The new value of a Location or Refresh field; `None`: it stays.
    pub fn rewrite_location(
        &self,
        name: &str,
        value: &[u8],
        filled: &FilledResponse,
    ) -> Option<Vec<u8>> {
        let refresh = name.eq_ignore_ascii_case("refresh");
        if self.locations.is_empty() || !(refresh || name.eq_ignore_ascii_case("location")) {
            return None;
        }
        let begin = if refresh { super::location_rewrite::refresh_url(value)? } else { 0 };
        let (before, url) = value.split_at(begin);
        let mut pairs = self.locations.iter().zip(&filled.locations);
        let url = pairs.find_map(|(location, to)| location.rewrite(url, to))?;
        Some([before, &url].concat())
    }
}

impl StatusLines {
    fn new(added: &AddedField) -> StatusLines {
        StatusLines {
            lines: AddedLines::new(std::iter::once(&added.field)),
            statuses: added.statuses.clone(),
            own: added.own,
        }
    }
}

impl FilledResponse {
    /// Appends the lines for a status. `own`: the response is the balancer's.
    pub fn write_lines(&self, status: u16, own: bool, out: &mut Vec<u8>) {
        let fits = |added: &&FilledLines| added.statuses.contains(status) && (added.own || !own);
        self.by_status.iter().filter(fits).for_each(|added| out.extend_from_slice(&added.lines));
    }
}

/// A field as a line.
fn field_line(field: &str, out: &mut Vec<u8>) {
    let (name, value) = field.split_once(':').unwrap_or((field, ""));
    for part in [name, ": ", value.trim(), "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{PrefixRewrite, StatusRange};
    use crate::request_head::ParsedHead;

    #[test]
    fn lines_are_added_by_status_and_locations_lead_to_the_client() {
        let added = |field: &str, statuses: StatusRange, own: bool| AddedField {
            field: field.into(),
            statuses: StatusRanges(vec![statuses]),
            own,
        };
        let pair = |from: &str, to: &str| PrefixRewrite { from: from.into(), to: to.into() };
        let rewrite = ResponseRewrite::new(&RewriteConfig {
            response_add: vec![
                added("X-A: {client}", StatusRange { first: 200, last: 299 }, false),
                added("X-B: {sni}", StatusRange { first: 100, last: 599 }, false),
                added("X-C: 1", StatusRange { first: 500, last: 599 }, true),
            ],
            location: vec![
                pair("http://inner", "{scheme}://{host}"),
                pair("http://inner:8080/in/", "/app/"),
                pair("/in/", "/"),
                pair("/to", "https://shop.example"),
            ],
            ..RewriteConfig::default()
        });
        let bytes = b"GET / HTTP/1.1\r\nHost: shop.example:81\r\n\r\n";
        let head = ParsedHead::new(bytes, 3, 4..5);
        let facts = RequestFacts {
            client: "192.0.2.9:4711".parse().unwrap(),
            port: 81,
            scheme: "http",
            sni: None,
            forwarded_for: b"",
            head: &head,
        };
        let filled = rewrite.fill(&facts).unwrap();
        for (status, own, want) in [
            (204, false, "X-A: 192.0.2.9\r\n"),
            (404, false, ""),
            (502, false, "X-C: 1\r\n"),
            (502, true, "X-C: 1\r\n"),
            (200, true, ""),
        ] {
            let mut out = Vec::new();
            filled.write_lines(status, own, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), want, "{status} {own}");
        }
        for (name, value, want) in [
            ("Location", "HTTP://Inner/x", Some("http://shop.example:81/x")),
            ("location", "http://inner", Some("http://shop.example:81")),
            ("location", "http://inner.evil.example/", None),
            ("location", "http://inner@evil.example/", None),
            ("location", "http://inner:8080/in/x", Some("/app/x")),
            ("location", "http://inner:8080/IN/x", None),
            ("location", "/in/x?y", Some("/x?y")),
            ("location", "/in//evil.example", Some("/evil.example")),
            ("location", "/in/\\evil.example", Some("/evil.example")),
            ("location", "/to/x", Some("https://shop.example/x")),
            ("location", "/to.evil.example", Some("https://shop.example/.evil.example")),
            ("location", "/to@evil.example", Some("https://shop.example/@evil.example")),
            ("content-location", "/in/x", None),
            ("refresh", "5; url=/in/x", Some("5; url=/x")),
            ("Refresh", "5;URL = '/in/x'", Some("5;URL = '/x'")),
            ("refresh", "5", None),
            ("refresh", "url=/in/x", None),
        ] {
            let found = rewrite.rewrite_location(name, value.as_bytes(), &filled);
            let found = found.map(|value| String::from_utf8(value).unwrap());
            assert_eq!(found.as_deref(), want, "{name}: {value}");
        }
    }
}
