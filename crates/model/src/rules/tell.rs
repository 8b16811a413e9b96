//! Conditions in words, and why a rule does not fit. For people: nothing is decided by it.
//!
//! Values of header fields, cookies and parameters may be secrets, and whoever may look reads these words: they are left out.

use std::fmt::{self, Display};

use super::ask::{Facts, View};
use super::check::{Asked, Check};
use crate::config::{Action, Condition, Counted, Match, PathCase, PoolState, Range, Rule};

/// Why the conditions of the rule at a position do not hold, as a sentence part; `None`: they do. `pool` gives names
/// their positions; `own` is the rule's pool.
pub fn why_not(
    rule: &Rule,
    at: usize,
    own: usize,
    (case, pool): (PathCase, &dyn Fn(&str) -> usize),
    view: &View<'_>,
    facts: &dyn Facts,
) -> Option<String> {
    let path = view.head.map(|head| head.path()).unwrap_or_default();
    let asked = Asked { rule: at, pool: own, refuses: false, view, facts };
    let fails = |condition: &Condition| {
        let check = Check::new(condition, case, &mut |name| pool(name));
        check.fit(&asked, &[path]).possible.none()
    };
    let flat = match &rule.when {
        Condition::All(all) => all.as_slice(),
        one => std::slice::from_ref(one),
    };
    flat.iter().find(|one| fails(one)).map(|one| format!("{} does not hold", words(one)))
}

/// A condition in words.
pub fn words(condition: &Condition) -> String {
    match condition {
        Condition::All(all) if all.is_empty() => "always".into(),
        Condition::All(all) => joined(all, " and "),
        Condition::Any(any) => format!("({})", joined(any, " or ")),
        Condition::Not(not) => format!("not ({})", words(not)),
        Condition::Host(hosts) => list("host", hosts),
        Condition::Path(paths) => list("path", paths),
        Condition::PathRegex(patterns) => list("path-regex", patterns),
        Condition::Method(methods) => list("method", methods),
        Condition::Header(fields) => list("header", &names(fields)),
        Condition::Cookie(cookies) => list("cookie", &names(cookies)),
        Condition::Query(parameters) => list("query", &names(parameters)),
        Condition::Client(networks) => list("client", networks),
        Condition::ClientPort(first, last) => format!("client-port {first}-{last}"),
        Condition::Sni(names) => list("sni", names),
        Condition::Tos(tos) => format!("tos {tos}"),
        Condition::Time(hours, days) => {
            let hours = hours.map_or_else(|| "all day".to_owned(), |hours| hours.to_string());
            format!("hours {hours} on {}", days_in_words(*days))
        }
        Condition::Rate(rate) => format!("rate {rate}"),
        Condition::Active(range, counted) => {
            let whose = match counted {
                Counted::Rule => "rule",
                Counted::Pool => "pool",
                Counted::Service => "service",
            };
            format!("active {range} of the {whose}")
        }
        Condition::Arrivals(range) => format!("arrivals {range}"),
        Condition::Bandwidth(bits) => format!("bandwidth below {bits} bit/s"),
        Condition::SharedBandwidth(bits) => format!("shared-bandwidth below {bits} bit/s"),
        Condition::Servers(state) => servers(state),
    }
}

/// What a rule does, in words.
pub fn action(rule: &Rule) -> String {
    match &rule.action {
        Action::Pool(None) => "the service's pool".into(),
        Action::Pool(Some(name)) => format!("pool {name}"),
        Action::Split(parts) => {
            let parts: Vec<String> =
                parts.iter().map(|(name, weight)| format!("{name} ({weight})")).collect();
            format!("one of {}", parts.join(", "))
        }
        Action::Redirect { to, status } => format!("{status} to {to}"),
        Action::Answer(answer) => format!("answer {}", answer.status),
        Action::Deny => "deny".into(),
    }
}

fn days_in_words(days: u8) -> String {
    let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let on = names.iter().enumerate().filter(|(at, _)| days & (1 << at) != 0);
    on.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

fn joined(conditions: &[Condition], with: &str) -> String {
    conditions.iter().map(words).collect::<Vec<_>>().join(with)
}

fn names(matches: &[Match]) -> Vec<String> {
    matches.iter().map(Match::without_value).collect()
}

fn list(what: &str, values: &[impl Display]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("{what} {}", values.join(", "))
}

fn servers(state: &PoolState) -> String {
    let mut text = format!("servers of {}", state.of.as_deref().unwrap_or("the rule's pool"));
    let mut add = |name: &str, range: Option<Range>| {
        if let Some(range) = range {
            // Writing into a String cannot fail.
            let _ = fmt::write(&mut text, format_args!(" {name} {range}"));
        }
    };
    add("up", state.up);
    add("busy", state.busy);
    add("load", state.load);
    add("each-load", state.each_load);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    #[test]
    fn values_that_may_be_secrets_are_left_out() {
        let text = "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"p\"\n\
            [[service.s.rule]]\ndeny = true\n\
            when = { header = [\"x-key: hunter2\", \"via\"], query = \"token=hunter2\", not = { cookie = \"sid=hunter2\" } }\n\
            [pool.p]\nservers = [\"10.0.0.1:80\"]\n";
        let checked = load(text, "f").unwrap_or_else(|error| panic!("{error}"));
        let rule = &checked.config.services["s"].rules[0];
        let said = words(&rule.when);
        for part in ["header x-key: (value), via", "query token=(value)", "cookie sid=(value)"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("hunter2"), "{said}");
    }
}
