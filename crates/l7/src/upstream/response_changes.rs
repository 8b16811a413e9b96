//! Changes to a response head for the client: those of the matched rule and of edits, and the affinity cookie.
//!
//! They are assembled before an attempt and applied when the head arrives.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use model::affinity::{self, server_prefix};
use model::monotonic_time::MonotonicTime;
use model::rules::ServiceRules;
use model::rules::response_rewrite::{FilledResponse, ResponseRewrite};
use wire::http1::{self, Header, SetCookieParts};

use crate::upstream::response_edits::{self, AppliedEdit, ResponseHeadEdits};

/// The changes of one exchange.
#[derive(Default)]
pub struct ResponseChanges {
    /// The rule with the changes.
    pub rule: Option<ResponseRule>,
    /// Its variables, filled for this request.
    pub filled: FilledResponse,
    /// The edits that change the response, in order.
    pub edits: Vec<AppliedEdit>,
    /// The line that sets our cookie, or nothing.
    pub cookie: Vec<u8>,
    /// An application's cookie to watch for.
    pub watch: Option<CookieWatch>,
    /// Header lines to add if that cookie is changed.
    pub lines_of_changed_cookie: &'static [u8],
    /// The field with the request's id, where answers have it.
    pub request_id: Option<Box<RequestIdLine>>,
}

/// The field with the id of a request.
pub struct RequestIdLine {
    /// Its name, lower case.
    pub name: String,
    /// The whole line.
    pub line: Vec<u8>,
}

/// A rule that changes the response, by its position among the service's rules.
pub struct ResponseRule {
    pub ruling: Arc<ServiceRules>,
    pub at: usize,
}

/// A cookie that a server may set.
pub struct CookieWatch {
    name: String,
    change: CookieChange,
    /// The table that learns the value, if the affinity learns cookies.
    table_entry: Option<CookieTableEntry>,
}

/// The change of a cookie that a server sets.
enum CookieChange {
    /// The cookie is passed on as it is.
    None,
    /// The value is replaced by this one.
    Value(Vec<u8>),
    /// This server is put in front of the value.
    Prefix(Vec<u8>),
    /// The cookie is removed from the response.
    Drop,
}

/// An entry of the affinity table for the server that set a cookie's value. It is stored before the client gets the
/// response, since the client's next request may reach another worker at once.
pub struct CookieTableEntry {
    pub table: Arc<affinity::AffinityTable>,
    /// The scope of the entry.
    pub scope: u64,
    /// The server's key in the table.
    pub server: u64,
    pub lifetime: Duration,
}

impl CookieWatch {
    /// A cookie whose value is replaced.
    pub fn with_value(name: &str, value: Vec<u8>) -> CookieWatch {
        CookieWatch { name: name.to_owned(), change: CookieChange::Value(value), table_entry: None }
    }

    /// A cookie whose value gets this server as its prefix.
    pub fn with_prefix(name: &str, server: &str) -> CookieWatch {
        let change = CookieChange::Prefix(server.as_bytes().to_vec());
        CookieWatch { name: name.to_owned(), change, table_entry: None }
    }

    /// A cookie that servers must not set.
    pub fn without(name: &str) -> CookieWatch {
        CookieWatch { name: name.to_owned(), change: CookieChange::Drop, table_entry: None }
    }

    /// A cookie whose value is learned.
    pub fn with_learning(name: &str, table_entry: Option<CookieTableEntry>) -> CookieWatch {
        CookieWatch { name: name.to_owned(), change: CookieChange::None, table_entry }
    }
}

impl CookieWatch {
    /// The line that sets the cookie in its changed form.
    fn write_changed(&self, value: &[u8], attributes: &[u8], out: &mut Vec<u8>) {
        if matches!(self.change, CookieChange::None | CookieChange::Drop) {
            return;
        }
        for part in [b"Set-Cookie: ", self.name.as_bytes(), b"="] {
            out.extend_from_slice(part);
        }
        match &self.change {
            CookieChange::Value(ours) => out.extend_from_slice(ours),
            CookieChange::Prefix(server) => server_prefix::write_with_prefix(server, value, out),
            CookieChange::None | CookieChange::Drop => {}
        }
        out.extend_from_slice(attributes);
        out.extend_from_slice(b"\r\n");
    }
}

impl ResponseChanges {
    /// The changes for an interim response: fields that the rule removes or sets, and a cookie whose value is replaced,
    /// are removed.
    pub fn interim_edits(&self) -> ResponseHeadEdits<'_> {
        let watch = self.watch.as_ref();
        let watch = watch.filter(|watch| !matches!(watch.change, CookieChange::None));
        let gone = self.rule_edits().map_or(&[][..], |edits| &edits.removed_headers);
        let mut removed = Cow::Borrowed(gone);
        for rewrite in self.edits.iter().filter_map(AppliedEdit::rewrite) {
            removed.to_mut().extend_from_slice(&rewrite.removed_headers);
        }
        removed.to_mut().extend(self.request_id.as_ref().map(|own| own.name.clone()));
        ResponseHeadEdits {
            removed,
            removed_cookie: watch.map(|watch| watch.name.as_str()),
            added_lines: Vec::new(),
        }
    }

    fn rule_edits(&self) -> Option<&ResponseRewrite> {
        let ResponseRule { ruling, at } = self.rule.as_ref()?;
        ruling.table.rules().get(*at).map(|rule| &rule.response_rewrite)
    }

    /// Appends the lines of an answer of the balancer itself.
    pub fn write_own_lines(&self, status: u16, out: &mut Vec<u8>) {
        self.filled.write_lines(status, true, out);
        response_edits::write_own_lines(&self.edits, status, out);
        self.write_request_id(out);
    }

    /// Appends the field with the request's id.
    pub fn write_request_id(&self, out: &mut Vec<u8>) {
        if let Some(own) = &self.request_id {
            response_edits::drop_lines(out, &own.name);
            out.extend_from_slice(&own.line);
        }
    }

    /// Appends the lines that a server's answer would have got, for a page in its place.
    pub fn write_lines_beside_page(&self, status: u16, out: &mut Vec<u8>) {
        if let Some(edits) = self.rule_edits() {
            out.extend_from_slice(&edits.added_lines);
        }
        self.filled.write_lines(status, false, out);
        if !self.edits.is_empty() {
            let added_lines = std::mem::take(out);
            let mut worked = ResponseHeadEdits { added_lines, ..ResponseHeadEdits::default() };
            response_edits::make_edits(&self.edits, status, &[], &mut worked);
            *out = worked.added_lines;
        }
        self.write_request_id(out);
    }

    /// For a head with this status and these fields.
    pub fn edits_for(
        &self,
        status: u16,
        headers: &[Header<'_>],
        now: MonotonicTime,
    ) -> ResponseHeadEdits<'_> {
        let mut worked = ResponseHeadEdits::default();
        let edits = self.rule_edits();
        if let Some(edits) = edits {
            worked.removed = Cow::Borrowed(&edits.removed_headers);
            worked.added_lines.extend_from_slice(&edits.added_lines);
            self.filled.write_lines(status, false, &mut worked.added_lines);
            self.rewrite_locations(edits, headers, &mut worked);
        }
        response_edits::make_edits(&self.edits, status, headers, &mut worked);
        if let Some(own) = &self.request_id {
            worked.removed.to_mut().push(own.name.clone());
            self.write_request_id(&mut worked.added_lines);
        }
        worked.added_lines.extend_from_slice(&self.cookie);
        self.watch_cookie(headers, now, &mut worked);
        if let Some(edits) = edits.filter(|edits| !edits.cookies.is_empty()) {
            rewrite_cookies(edits, headers, &mut worked);
        }
        worked
    }

    /// Puts what a client can reach in the place of where a server leads.
    fn rewrite_locations(
        &self,
        edits: &ResponseRewrite,
        headers: &[Header<'_>],
        worked: &mut ResponseHeadEdits<'_>,
    ) {
        let stays = |header: &&Header<'_>| {
            !edits.removed_headers.iter().any(|name| header.name.eq_ignore_ascii_case(name))
        };
        let new =
            |header: &Header<'_>| edits.rewrite_location(header.name, header.value, &self.filled);
        for name in ["location", "refresh"] {
            let named = |header: &&Header<'_>| header.name.eq_ignore_ascii_case(name);
            let own = || headers.iter().filter(named).filter(stays);
            if !own().any(|header| new(header).is_some()) {
                continue;
            }
            for header in own() {
                let value = new(header);
                let value = value.as_deref().unwrap_or(header.value);
                for part in [header.name.as_bytes(), b": ", value, b"\r\n"] {
                    worked.added_lines.extend_from_slice(part);
                }
            }
            worked.removed.to_mut().push(name.to_owned());
        }
    }

    /// Looks for the cookie of the application: remembers it, and gives it our value.
    fn watch_cookie<'c>(
        &'c self,
        headers: &[Header<'_>],
        now: MonotonicTime,
        worked: &mut ResponseHeadEdits<'c>,
    ) {
        let Some(watch) = &self.watch else { return };
        let removed = worked.removed.iter().any(|name| name.eq_ignore_ascii_case("set-cookie"));
        let mut changed = false;
        for header in headers {
            let Some(SetCookieParts { value, attributes }) = http1::set_cookie(header, &watch.name)
            else {
                continue;
            };
            if let Some(CookieTableEntry { table, scope, server, lifetime: time }) =
                &watch.table_entry
            {
                table.assign(
                    affinity::scoped_client_key(affinity::request_part_key(value), *scope),
                    *server,
                    now,
                    *time,
                );
            }
            let mut rewritten = Vec::new();
            let attributes = match self.rule_edits().map(|edits| &edits.cookies) {
                Some(rewrite) if !rewrite.is_empty() => {
                    rewrite.write_attributes(attributes, &mut rewritten);
                    &rewritten[..]
                }
                _ => attributes,
            };
            if removed {
                continue;
            }
            watch.write_changed(value, attributes, &mut worked.added_lines);
            changed = true;
        }
        if changed && !matches!(watch.change, CookieChange::None) {
            worked.removed_cookie = Some(&watch.name);
            worked.added_lines.extend_from_slice(self.lines_of_changed_cookie);
        }
    }
}

/// Gives the cookies of a server the domain and path that the client sees, but not the one that is replaced.
fn rewrite_cookies(
    edits: &ResponseRewrite,
    headers: &[Header<'_>],
    worked: &mut ResponseHeadEdits<'_>,
) {
    let removes = worked.removed.iter().any(|name| name == "set-cookie");
    let own = headers.iter().filter(|header| header.name.eq_ignore_ascii_case("set-cookie"));
    for header in own.filter(|_| !removes) {
        let replaced = |name: &str| http1::set_cookie(header, name).is_some();
        if worked.removed_cookie.is_some_and(replaced) {
            continue;
        }
        worked.added_lines.extend_from_slice(b"Set-Cookie: ");
        edits.cookies.write_cookie(header.value, &mut worked.added_lines);
        worked.added_lines.extend_from_slice(b"\r\n");
    }
    worked.removed.to_mut().push("set-cookie".to_owned());
}
