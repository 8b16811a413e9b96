//! Changes to a response head for the client: those of the matched rule, and the affinity cookie.
//!
//! They are assembled before an attempt and applied when the head arrives.

use std::sync::Arc;
use std::time::Duration;

use model::affinity;
use model::monotonic_time::MonotonicTime;
use model::rules::ServiceRules;
use model::rules::rewrite::ResponseRewrite;
use wire::http1::{self, Header};

/// The changes of one exchange.
#[derive(Default)]
pub struct ResponseChanges {
    /// The rule with the changes, by its position.
    pub rule: Option<(Arc<ServiceRules>, usize)>,
    /// The line that sets the affinity cookie, or empty.
    pub cookie: Vec<u8>,
    /// An application's cookie to watch for.
    pub watch: Option<CookieWatch>,
}

/// A cookie that a server may set.
pub struct CookieWatch {
    name: String,
    /// The value that replaces the server's.
    value: Option<Vec<u8>>,
    /// The table that learns the value, if the affinity learns cookies.
    table_entry: Option<CookieTableEntry>,
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

/// The changes for one response head.
#[derive(Default)]
pub struct ResponseHeadEdits<'c> {
    /// Names of fields to remove.
    pub removed: &'c [String],
    /// The name of a cookie to remove.
    pub removed_cookie: Option<&'c str>,
    pub added_lines: Vec<u8>,
}

impl CookieWatch {
    /// A cookie whose value is replaced.
    pub fn with_value(name: &str, value: Vec<u8>) -> CookieWatch {
        CookieWatch { name: name.to_owned(), value: Some(value), table_entry: None }
    }

    /// A cookie whose value is learned.
    pub fn with_learning(name: &str, table_entry: Option<CookieTableEntry>) -> CookieWatch {
        CookieWatch { name: name.to_owned(), value: None, table_entry }
    }
}

impl ResponseChanges {
    /// The changes for an interim response: fields that the rule removes or sets, and a cookie whose value is replaced,
    /// are removed.
    pub fn interim_edits(&self) -> ResponseHeadEdits<'_> {
        let watch = self.watch.as_ref().filter(|watch| watch.value.is_some());
        let gone = self.rule_edits().map_or(&[][..], |edits| &edits.removed_headers);
        ResponseHeadEdits {
            removed: gone,
            removed_cookie: watch.map(|watch| watch.name.as_str()),
            added_lines: Vec::new(),
        }
    }

    fn rule_edits(&self) -> Option<&ResponseRewrite> {
        let (ruling, at) = self.rule.as_ref()?;
        ruling.table.rules().get(*at).map(|rule| &rule.response_rewrite)
    }

    /// The changes for a head with these fields.
    pub fn edits_for(&self, headers: &[Header<'_>], now: MonotonicTime) -> ResponseHeadEdits<'_> {
        let mut worked = ResponseHeadEdits::default();
        if let Some(edits) = self.rule_edits() {
            worked.removed = &edits.removed_headers;
            worked.added_lines.extend_from_slice(&edits.added_lines);
        }
        worked.added_lines.extend_from_slice(&self.cookie);
        let Some(watch) = &self.watch else { return worked };
        for header in headers {
            let Some((value, attributes)) = http1::set_cookie(header, &watch.name) else {
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
            if let Some(ours) = &watch.value {
                worked.removed_cookie = Some(&watch.name);
                let name = watch.name.as_bytes();
                for part in [b"Set-Cookie: ", name, b"=", ours, attributes, b"\r\n"] {
                    worked.added_lines.extend_from_slice(part);
                }
            }
        }
        worked
    }
}
