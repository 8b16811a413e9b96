//! Changes to a response head on its way to the client: those of the matched rule, and the affinity cookie.
//!
//! They are put together before an attempt and applied when the head comes.

use std::sync::Arc;
use std::time::Duration;

use model::affinity;
use model::monotonic_time::MonotonicTime;
use model::rules::ServiceRules;
use model::rules::response_rewrite::ResponseRewrite;
use wire::http1::{self, Header};

/// Changes of one exchange.
#[derive(Default)]
pub struct ResponseChanges {
    /// The rule whose changes these are.
    pub rule: Option<(Arc<ServiceRules>, usize)>,
    /// The line that sets our cookie, or nothing.
    pub cookie: Vec<u8>,
    /// A cookie of the application that is looked for.
    pub watch: Option<CookieWatch>,
}

/// A cookie that a server may set.
pub struct CookieWatch {
    name: String,
    /// What is put in the place of its value.
    value: Option<Vec<u8>>,
    /// Where it is remembered whose the value is.
    table_entry: Option<CookieTableEntry>,
}

/// Where it is remembered which server set a cookie's value: before the client has the answer, for its next request may
/// come to another worker at once.
pub struct CookieTableEntry {
    pub table: Arc<affinity::AffinityTable>,
    /// Whose entries these are.
    pub scope: u64,
    /// The server, as the table knows it.
    pub server: u64,
    pub lifetime: Duration,
}

/// The same, worked out for one head.
#[derive(Default)]
pub struct ResponseHeadEdits<'c> {
    /// Names of fields that are left out.
    pub removed: &'c [String],
    /// A cookie that is left out.
    pub removed_cookie: Option<&'c str>,
    pub added_lines: Vec<u8>,
}

impl CookieWatch {
    /// A cookie whose value becomes this.
    pub fn with_value(name: &str, value: Vec<u8>) -> CookieWatch {
        CookieWatch { name: name.to_owned(), value: Some(value), table_entry: None }
    }

    /// A cookie whose value is remembered.
    pub fn with_learning(name: &str, table_entry: Option<CookieTableEntry>) -> CookieWatch {
        CookieWatch { name: name.to_owned(), value: None, table_entry }
    }
}

impl ResponseChanges {
    /// What does not leave in an interim answer: fields that the rule removes or sets itself, and a cookie whose value is
    /// ours to give.
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

    /// For a head with these fields.
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
