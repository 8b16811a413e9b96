//! Verifies edits: what they change, and conditions that they cannot have.

use std::collections::HashSet;

use super::rule_actions::verify_field_changes;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;

/// Limit for the edits of a service: each that fits copies the head of the request.
const MAX_EDITS: usize = 256;

/// Conditions that belong to one rule's counts, or to a pool.
const RULE_CONDITIONS: [&str; 7] =
    ["rate", "active", "scope", "connection-rate", "bandwidth", "shared-bandwidth", "servers"];

const REQUEST_CHANGES: [&str; 4] = ["host", "set", "add", "remove"];

const ANSWER_CHANGES: [&str; 3] = ["response-set", "response-remove", "response-add"];

/// Verifies how many there are, and their names. `path`: that of the list.
pub fn verify_edit_list(service: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let edits = service.list("edit");
    if edits.len() > MAX_EDITS {
        let message = format!("{} edits are more than a service may have", edits.len());
        let trouble = FindingDetails::new(message)
            .with_expected(format!("at most {MAX_EDITS}; one edit may change several fields"));
        sink.error(service.span_of("edit"), path, trouble);
    }
    let mut names: HashSet<&str> = HashSet::new();
    for (at, edit) in edits.iter().enumerate() {
        if let Some(name) = edit.text("name").filter(|name| !names.insert(name)) {
            let message = format!("two edits of this service are named `{name}`");
            let path = format!("{path}[{at}].name");
            sink.error(edit.span_of("name"), &path, FindingDetails::new(message));
        }
    }
}

/// Verifies one edit, without what its condition has in common with those of rules.
pub fn verify_edit(edit: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    if edit.is_written("after-rules") && edit.text("pool").is_some() && !edit.flag("after-rules") {
        let message =
            "the rules choose the pool, so that what is for one pool is changed after them";
        let trouble = FindingDetails::new(message).with_expected("`pool` alone");
        sink.error(edit.span_of("after-rules"), &format!("{path}.after-rules"), trouble);
    }
    if let Some(when) = edit.table("when") {
        verify_condition_kinds(when, &format!("{path}.when"), sink);
    }
    let Some(rewrite) = edit.table("rewrite") else {
        if !edit.is_invalid("rewrite") {
            let trouble = FindingDetails::new("the edit changes nothing");
            let trouble = trouble.with_expected("`rewrite` with a key such as `set`");
            sink.error(edit.span, &format!("{path}.rewrite"), trouble);
        }
        return;
    };
    let rewrite_path = format!("{path}.rewrite");
    let has_content = |key: &str| {
        rewrite.text(key).is_some()
            || !rewrite.texts(key).is_empty()
            || !rewrite.list(key).is_empty()
            || rewrite.is_invalid(key)
    };
    let writes = |keys: &[&'static str]| keys.iter().copied().find(|key| has_content(key));
    let request_change = writes(&REQUEST_CHANGES);
    if request_change.is_none() && writes(&ANSWER_CHANGES).is_none() {
        let trouble = FindingDetails::new("the edit changes nothing");
        sink.error(rewrite.span, &rewrite_path, trouble.with_expected("a key such as `set`"));
    }
    if let Some(key) = request_change.filter(|_| edit.table("when-response").is_some()) {
        let message = "the request is gone when the answer comes";
        let trouble = FindingDetails::new(message).with_expected(
            "`response-set`, `response-remove` or `response-add`; or no `when-response`",
        );
        sink.error(rewrite.span_of(key), &format!("{rewrite_path}.{key}"), trouble);
    }
    verify_field_changes(rewrite, &rewrite_path, sink);
}

/// Reports conditions that only rules have.
fn verify_condition_kinds(when: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    for key in RULE_CONDITIONS.into_iter().filter(|key| when.is_written(key)) {
        let message = format!("`{key}` counts for rules, which choose pools");
        let trouble = FindingDetails::new(message)
            .with_expected("conditions of the request and its client; or `rewrite` in a rule");
        sink.error(when.span_of(key), &format!("{path}.{key}"), trouble);
    }
    for key in ["all", "any"] {
        for (at, inner) in when.list(key).iter().enumerate() {
            verify_condition_kinds(inner, &format!("{path}.{key}[{at}]"), sink);
        }
    }
    if let Some(not) = when.table("not") {
        verify_condition_kinds(not, &format!("{path}.not"), sink);
    }
}
