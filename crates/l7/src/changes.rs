//! What is changed in an answer's head on its way to the client: what the rule says, and what keeps the client.
//!
//! It is put together before an attempt and read when the head comes, with whom a learned cookie belongs to. It writes no
//! head.

use std::sync::Arc;
use std::time::Duration;

use model::affinity;
use model::moment::Moment;
use model::rules::Ruling;
use model::rules::edit::AnswerEdits;
use wire::http1::{self, Header};

/// Changes of one exchange.
#[derive(Default)]
pub struct Changes {
    /// The rule whose changes these are.
    pub rule: Option<(Arc<Ruling>, usize)>,
    /// The line that sets our cookie, or nothing.
    pub cookie: Vec<u8>,
    /// A cookie of the application that is looked for.
    pub watch: Option<Watch>,
}

/// A cookie that a server may set.
pub struct Watch {
    name: String,
    /// What is put in the place of its value.
    value: Option<Vec<u8>>,
    /// Where it is remembered whose the value is.
    kept: Option<Kept>,
}

/// Where it is remembered which server set a cookie's value: before the client has the answer, for its next request may
/// come to another worker at once.
pub struct Kept {
    /// The table.
    pub table: Arc<affinity::Table>,
    /// Whose entries these are.
    pub scope: u64,
    /// The server, as the table knows it.
    pub server: u64,
    /// For how long.
    pub time: Duration,
}

/// The same, worked out for one head.
#[derive(Default)]
pub struct Worked<'c> {
    /// Names of fields that are left out.
    pub gone: &'c [String],
    /// A cookie that is left out.
    pub gone_cookie: Option<&'c str>,
    /// Lines that come.
    pub lines: Vec<u8>,
}

impl Watch {
    /// A cookie whose value becomes this.
    pub fn rewriting(name: &str, value: Vec<u8>) -> Watch {
        Watch { name: name.to_owned(), value: Some(value), kept: None }
    }

    /// A cookie whose value is remembered.
    pub fn learning(name: &str, kept: Option<Kept>) -> Watch {
        Watch { name: name.to_owned(), value: None, kept }
    }
}

impl Changes {
    /// What does not leave in an interim answer: fields that the rule removes or sets itself, and a cookie whose value is
    /// ours to give.
    pub fn hidden(&self) -> Worked<'_> {
        let watch = self.watch.as_ref().filter(|watch| watch.value.is_some());
        let gone = self.rule_edits().map_or(&[][..], |edits| &edits.gone);
        Worked { gone, gone_cookie: watch.map(|watch| watch.name.as_str()), lines: Vec::new() }
    }

    fn rule_edits(&self) -> Option<&AnswerEdits> {
        let (ruling, at) = self.rule.as_ref()?;
        ruling.table.rules().get(*at).map(|rule| &rule.answer_edits)
    }

    /// For a head with these fields.
    pub fn of(&self, headers: &[Header<'_>], now: Moment) -> Worked<'_> {
        let mut worked = Worked::default();
        if let Some(edits) = self.rule_edits() {
            worked.gone = &edits.gone;
            worked.lines.extend_from_slice(&edits.lines);
        }
        worked.lines.extend_from_slice(&self.cookie);
        let Some(watch) = &self.watch else { return worked };
        for header in headers {
            let Some((value, attributes)) = http1::set_cookie(header, &watch.name) else {
                continue;
            };
            if let Some(Kept { table, scope, server, time }) = &watch.kept {
                table.put(affinity::scoped(affinity::part(value), *scope), *server, now, *time);
            }
            if let Some(ours) = &watch.value {
                worked.gone_cookie = Some(&watch.name);
                let name = watch.name.as_bytes();
                for part in [b"Set-Cookie: ", name, b"=", ours, attributes, b"\r\n"] {
                    worked.lines.extend_from_slice(part);
                }
            }
        }
        worked
    }
}
