//! Rules of HAProxy that change what later rules and servers see, or decide by a program, and cannot be written.
//!
//! Requests that they take are refused, because every later rule would judge them by something else.

use std::collections::BTreeSet;

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;

use super::answer_criterion::ANSWER_STATUS;
use super::field_reads::{ANSWER_FIELD, looks_at};
use super::lex::ConfigLine;
use super::path_change::reads_path;

/// What became of a request that such a rule takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedChange {
    pub status: &'static str,
    pub reason: &'static str,
}

const UNNAMED: &str = "only fields of one name each are removed; so that servers see none of those that were to go, these requests are refused";

/// Whether an action says the whole name of the field that it changes.
pub fn names_one_field(words: &[String]) -> bool {
    let method = words.iter().position(|word| word == "-m").and_then(|at| words.get(at + 1));
    method.is_none_or(|method| method == "str")
}

/// The refusal in place of an action of `http-request`; `None`: the action is none of these.
pub fn refused_change(words: &[String]) -> Option<RefusedChange> {
    let action = words.first().map_or("", String::as_str);
    let path = [
        "set-path",
        "set-pathq",
        "set-query",
        "set-uri",
        "replace-path",
        "replace-pathq",
        "replace-uri",
    ];
    let refused = |status, reason| Some(RefusedChange { status, reason });
    match action {
        _ if path.contains(&action) => refused(
            "502",
            "a path or a query is changed in a way that cannot be written; so that no server and no rule sees another one, these requests are refused",
        ),
        "set-dst" | "set-dst-port" => refused(
            "502",
            "no rule sets the address that a server without one is reached at; these requests are refused",
        ),
        "set-method" => refused(
            "502",
            "a method cannot be changed; so that no server and no rule sees another one, these requests are refused",
        ),
        "normalize-uri" if merged_paths(words).is_some() => refused(
            "502",
            "paths are not made simpler; so that no server gets another one than it got, requests with such paths are refused",
        ),
        "del-header" if !names_one_field(words) => refused("502", UNNAMED),
        "del-headers-bin" => refused("502", UNNAMED),
        "use-service" => {
            refused("502", "there are no programs that answer; these requests are refused")
        }
        _ if action.starts_with("lua.") => refused(
            "403",
            "a program decides about these requests; so that nothing is open that was closed, they are refused",
        ),
        _ => None,
    }
}

/// Whether an action of `tcp-request` decides by a program, or where a connection goes.
pub fn decides_connection(action: &str) -> bool {
    action.starts_with("lua.")
        || action.starts_with("expect-")
        || ["use-service", "set-dst", "set-dst-port", "switch-mode"].contains(&action)
}

/// The expression of the paths that a `normalize-uri` makes shorter. What it does to escapes and queries leaves their
/// meaning.
fn merged_paths(words: &[String]) -> Option<&'static str> {
    match words.get(1)?.as_str() {
        "path-merge-slashes" => Some(".*//.*"),
        "path-strip-dot" => Some(".*/\\.(/.*)?"),
        "path-strip-dotdot" => Some(".*/\\.\\.(/.*)?"),
        _ => None,
    }
}

/// Where a `replace-path` or a `normalize-uri` acts: the path fits its expression. Other actions act on every request.
pub fn acting_condition(action: &[String]) -> RuleCondition {
    match action {
        [name, expression, ..] if name == "replace-path" => {
            let whole = crate::condition::whole_path(expression, false);
            RuleCondition::texts("path-regex", &[whole])
        }
        [name, ..] if name == "normalize-uri" => match merged_paths(action) {
            Some(expression) => RuleCondition::texts("path-regex", &[expression]),
            None => RuleCondition::Is(true),
        },
        _ => RuleCondition::Is(true),
    }
}

/// Whether an action gives requests another client's address or port.
pub fn changes_client(line: &ConfigLine) -> bool {
    line.all_words().iter().take(3).any(|word| word == "set-src" || word == "set-src-port")
}

/// A condition about a request in which every test of its answer is unknown.
pub fn hide_answer(condition: RuleCondition) -> RuleCondition {
    let why = UnsupportedReason::new("the answer is not known when the request comes", "");
    let of_answer = |part: &RuleCondition| match part {
        RuleCondition::Key(key, _) | RuleCondition::AnyCase(key, _) => {
            [ANSWER_STATUS, ANSWER_FIELD].contains(key)
        }
        _ => false,
    };
    hide_parts(condition, &why, &of_answer)
}

/// A condition in which every test of these fields is unknown: they are changed where rules do not see it.
pub fn hide_fields(when: RuleCondition, unseen: &BTreeSet<String>) -> RuleCondition {
    if unseen.is_empty() {
        return when;
    }
    let why = UnsupportedReason::new(
        "it looks at a field that is changed between rules, which cannot be written",
        "`[[service.NAME.edit]]`, which changes fields before all rules or after them",
    );
    hide_parts(when, &why, &|part| looks_at(part, unseen))
}

/// A condition in which every test that a path is none of these is unknown. HAProxy compares a path as it is spelt, so that
/// `/%69nternal` is not `/internal`. What is taken from such a path must not stay.
pub fn hide_negated_paths(condition: RuleCondition, is_negated: bool) -> RuleCondition {
    let each = |parts: Vec<RuleCondition>| {
        parts.into_iter().map(|one| hide_negated_paths(one, is_negated)).collect()
    };
    match condition {
        RuleCondition::Not(inner) => hide_negated_paths(*inner, !is_negated).negate(),
        RuleCondition::All(parts) => RuleCondition::All(each(parts)),
        RuleCondition::Any(parts) => RuleCondition::Any(each(parts)),
        part if is_negated && reads_path(&part) => RuleCondition::Unknown(UnsupportedReason::new(
            "other spellings of a path are the same path here, and HAProxy takes them for another one",
            "a condition that names the paths where the field changes",
        )),
        other => other,
    }
}

/// A condition in which each test that `is_hidden` names is unknown.
pub fn hide_parts(
    condition: RuleCondition,
    why: &UnsupportedReason,
    is_hidden: &dyn Fn(&RuleCondition) -> bool,
) -> RuleCondition {
    let each = |parts: Vec<RuleCondition>| {
        parts.into_iter().map(|one| hide_parts(one, why, is_hidden)).collect()
    };
    match condition {
        RuleCondition::Not(inner) => hide_parts(*inner, why, is_hidden).negate(),
        RuleCondition::All(parts) => RuleCondition::All(each(parts)),
        RuleCondition::Any(parts) => RuleCondition::Any(each(parts)),
        part if is_hidden(&part) => RuleCondition::Unknown(why.clone()),
        other => other,
    }
}
