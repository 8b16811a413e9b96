//! Rules of HAProxy that change what later rules and servers see, or decide by a program, and cannot be written.
//!
//! Requests that they take are refused, because every later rule would judge them by something else.

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;

use super::lex::ConfigLine;

/// What became of a request that such a rule takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedChange {
    pub status: &'static str,
    pub reason: &'static str,
}

/// The refusal in place of an action of `http-request`; `None`: the action is none of these.
pub fn refused_change(action: &str) -> Option<RefusedChange> {
    let path = ["set-path", "set-pathq", "set-uri", "replace-path", "replace-pathq", "replace-uri"];
    let refused = |status, reason| Some(RefusedChange { status, reason });
    match action {
        _ if path.contains(&action) => refused(
            "502",
            "a path is changed in a way that cannot be written; so that no server and no rule sees another one, these requests are refused",
        ),
        "set-method" => refused(
            "502",
            "a method cannot be changed; so that no server and no rule sees another one, these requests are refused",
        ),
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

/// Where a `replace-path` acts: the path fits its expression. Other actions act on every request.
pub fn acting_condition(action: &[String]) -> RuleCondition {
    match action {
        [name, expression, ..] if name == "replace-path" => {
            let whole = crate::condition::whole_path(expression, false);
            RuleCondition::texts("path-regex", &[whole])
        }
        _ => RuleCondition::Is(true),
    }
}

/// The reason why no rule can judge by the client's address: a line gives requests another one.
pub fn changed_address(lines: &[ConfigLine]) -> Option<UnsupportedReason> {
    let changes = |line: &ConfigLine| line.all_words().get(1).is_some_and(|word| word == "set-src");
    lines.iter().any(changes).then(|| {
        UnsupportedReason::new(
            "`set-src` gives requests another address, which rules do not see",
            "`trust` of the proxies whose X-Forwarded-For is believed",
        )
    })
}

/// A condition in which every test of the client's address is unknown.
pub fn hide_address(condition: RuleCondition, why: &UnsupportedReason) -> RuleCondition {
    let each =
        |parts: Vec<RuleCondition>| parts.into_iter().map(|one| hide_address(one, why)).collect();
    match condition {
        RuleCondition::Key("client", _) => RuleCondition::Unknown(why.clone()),
        RuleCondition::Not(inner) => hide_address(*inner, why).negate(),
        RuleCondition::All(parts) => RuleCondition::All(each(parts)),
        RuleCondition::Any(parts) => RuleCondition::Any(each(parts)),
        other => other,
    }
}
