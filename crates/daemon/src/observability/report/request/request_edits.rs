//! The edits that a request would meet, one after the other, and what they leave of it.

use std::net::SocketAddr;

use model::config::value_template::{RequestFacts, ValueBudget};
use model::request_head::ParsedHead;
use model::rules::edits::{EditMatch, EditStage, EditTable};
use model::rules::rewrite::RewriteFault;
use model::rules::{CompiledRule, RuleContext};
use model::snapshot::ServiceView;

use super::request_query::RequestText;

/// What is known of the connection in the query.
#[derive(Clone, Copy)]
pub(super) struct QueryConnection<'a> {
    pub(super) client: SocketAddr,
    /// The port that the client reached.
    pub(super) port: u16,
    pub(super) scheme: &'static str,
    pub(super) sni: Option<&'a str>,
    /// Local time, seconds since 1970.
    pub(super) unix_seconds: i64,
}

/// A request after the edits of a stage.
#[derive(Default)]
pub(super) struct EditedRequest {
    /// `None`: a connection whose bytes are not parsed.
    pub(super) text: Option<RequestText>,
    /// Names of the edits that were made.
    pub(super) names: Vec<String>,
    /// Why it is refused, in a sentence part.
    pub(super) refused: Option<&'static str>,
}

/// Makes the edits of a stage.
pub(super) fn make_edits(
    view: &ServiceView,
    stage: EditStage<'_>,
    text: Option<RequestText>,
    facts: QueryConnection<'_>,
) -> EditedRequest {
    let (Some(table), Some(mut text)) = (view.edits.as_deref(), text.clone()) else {
        return EditedRequest { text, ..EditedRequest::default() };
    };
    let mut names = Vec::new();
    let refused = make_each(table, stage, &mut text, facts, &mut names).err();
    EditedRequest { text: Some(text), names, refused }
}

/// Makes the edits one after the other. The error says why the request is refused.
fn make_each(
    table: &EditTable,
    stage: EditStage<'_>,
    text: &mut RequestText,
    facts: QueryConnection<'_>,
    names: &mut Vec<String>,
) -> Result<(), &'static str> {
    let original = text.clone();
    let head = original.head();
    let paths = table
        .compared_paths(&head)
        .ok_or("refused: 400, `ambiguous-path`: the path has too many readings")?;
    let mut budget = ValueBudget::default();
    for edit in table.edits().iter().filter(|edit| edit.is_made_at(stage)) {
        let head = text.head();
        let question = facts.rule_context(Some(&head));
        if edit.match_request(&question, &paths) == EditMatch::No {
            continue;
        }
        let request = facts.request_facts(&head);
        let mut bytes = Vec::new();
        edit.fill_response(&request, &mut budget).map_err(fault_text)?;
        let is_changed = edit
            .rewrite_request(&text.bytes, &request, &mut budget, &mut bytes)
            .map_err(fault_text)?;
        drop(head);
        if is_changed {
            text.bytes = bytes;
        }
        names.push(edit.name.clone());
    }
    Ok(())
}

impl QueryConnection<'_> {
    /// What rules and edits see of a request with this head.
    pub(super) fn rule_context<'h>(&'h self, head: Option<&'h ParsedHead<'h>>) -> RuleContext<'h> {
        let QueryConnection { client, sni, unix_seconds, .. } = *self;
        RuleContext { client, sni, tos: None, head, unix_seconds }
    }

    pub(super) fn request_facts<'h>(&'h self, head: &'h ParsedHead<'h>) -> RequestFacts<'h> {
        let QueryConnection { client, port, scheme, sni, .. } = *self;
        RequestFacts { client, port, scheme, sni, forwarded_for: b"", head }
    }
}

/// The request as a rule rewrites it; `None`: it may not be sent so.
pub(super) fn rewrite_request(
    rule: &CompiledRule,
    text: &RequestText,
    facts: QueryConnection<'_>,
) -> Option<RequestText> {
    let head = text.head();
    let mut bytes = Vec::new();
    let Some(rewrite) = &rule.request_rewrite else {
        bytes.clone_from(&text.bytes);
        return Some(RequestText { bytes, method: text.method, target: text.target.clone() });
    };
    let base = rule.rewrite_base(&head);
    let captures = rule.path_captures(&base);
    let request = facts.request_facts(&head);
    let target = rewrite.apply(&text.bytes, &request, &base, captures, &mut bytes).ok()?;
    Some(RequestText { bytes, method: text.method, target })
}

fn fault_text(fault: RewriteFault) -> &'static str {
    match fault {
        RewriteFault::AmbiguousPath => "refused: 400, `ambiguous-path`",
        RewriteFault::ValuesTooLong => "refused: 431, `head-too-large`: edits add too much",
        RewriteFault::NotAHost => "refused: 400, `bad-request`: an edit writes no host",
    }
}
