//! Conditions in words, and why a rule does not match. For people: nothing is decided by it.
//!
//! Values of header fields, cookies and parameters may be secrets, and every viewer reads these texts: they are left
//! out.

use std::fmt::{self, Display};

use super::condition::{CompiledCondition, ConditionInput};
use super::context::{RuleContext, RuleState};
use crate::config::unit::{ByteSize, Time};
use crate::config::{
    ActiveCountScope, Condition, FieldPattern, NameValuePattern, NumberRange, PathCase,
    PoolCondition, RuleActionConfig, RuleConfig, RuleOverrides,
};

/// Why the conditions of the rule at a position do not hold, as a sentence part; `None`: they do. `pool` resolves names
/// to positions; `own` is the rule's pool.
pub fn explain_mismatch(
    rule: &RuleConfig,
    at: usize,
    own: usize,
    case: PathCase,
    pool: &dyn Fn(&str) -> usize,
    view: &RuleContext<'_>,
    facts: &dyn RuleState,
) -> Option<String> {
    let path = view.head.map(|head| head.path()).unwrap_or_default();
    let input = ConditionInput { rule: at, pool: own, refuses: false, context: view, state: facts };
    let fails = |condition: &Condition| {
        let check = CompiledCondition::new(condition, case, &mut |name| pool(name));
        check.match_readings(&input, &[path]).possible.is_empty()
    };
    let flat = match &rule.when {
        Condition::All(all) => all.as_slice(),
        condition => std::slice::from_ref(condition),
    };
    flat.iter()
        .find(|condition| fails(condition))
        .map(|condition| format!("{} does not hold", describe_condition(condition)))
}

pub fn describe_condition(condition: &Condition) -> String {
    match condition {
        Condition::All(all) if all.is_empty() => "always".into(),
        Condition::All(all) => join_conditions(all, " and "),
        Condition::Any(any) => format!("({})", join_conditions(any, " or ")),
        Condition::Not(not) => format!("not ({})", describe_condition(not)),
        Condition::Host(hosts) => describe_list("host", hosts),
        Condition::HostPart(parts) => describe_list("host-part", parts),
        Condition::HostRegex(patterns) => describe_list("host-regex", patterns),
        Condition::Path(paths) => describe_list("path", paths),
        Condition::PathRegex(patterns) => describe_list("path-regex", patterns),
        Condition::Method(methods) => describe_list("method", methods),
        Condition::Header(fields) => describe_list("header", &names(fields)),
        Condition::HeaderList(fields) => describe_list("header-list", &names(fields)),
        Condition::HeaderRegex(fields) => {
            let names: Vec<String> = fields.iter().map(FieldPattern::without_value).collect();
            describe_list("header-regex", &names)
        }
        Condition::Cookie(cookies) => describe_list("cookie", &names(cookies)),
        Condition::Query(parameters) => describe_list("query", &names(parameters)),
        Condition::Client(networks) => describe_list("client", networks),
        Condition::ClientPort(first, last) => format!("client-port {first}-{last}"),
        Condition::Sni(names) => describe_list("sni", names),
        Condition::Tos(tos) => format!("tos {tos}"),
        Condition::Time(hours, days) => {
            let hours = hours.map_or_else(|| "all day".to_owned(), |hours| hours.to_string());
            format!("hours {hours} on {}", describe_days(*days))
        }
        Condition::Rate(rate) => format!("rate {rate}"),
        Condition::Active(range, counted) => {
            let whose = match counted {
                ActiveCountScope::Rule => "rule",
                ActiveCountScope::Pool => "pool",
                ActiveCountScope::Service => "service",
            };
            format!("active {range} of the {whose}")
        }
        Condition::Arrivals(range) => format!("arrivals {range}"),
        Condition::Bandwidth(bits) => format!("bandwidth below {bits} bit/s"),
        Condition::SharedBandwidth(bits) => format!("shared-bandwidth below {bits} bit/s"),
        Condition::Servers(state) => describe_server_state(state),
    }
}

/// A rule's action, in words.
pub fn describe_action(rule: &RuleConfig) -> String {
    let action = match &rule.action {
        RuleActionConfig::Pool(None) => "the service's pool".into(),
        RuleActionConfig::Pool(Some(name)) => format!("pool {name}"),
        RuleActionConfig::Split(parts) => {
            let parts: Vec<String> =
                parts.iter().map(|part| format!("{} ({})", part.pool, part.weight)).collect();
            format!("one of {}", parts.join(", "))
        }
        RuleActionConfig::Redirect { to, status, .. } => format!("{status} to {to}"),
        RuleActionConfig::Answer(answer) => format!("answer {}", answer.status),
        RuleActionConfig::Deny => "deny".into(),
    };
    match &rule.overrides {
        Some(overrides) => format!("{action} with {}", describe_overrides(overrides)),
        None => action,
    }
}

/// The settings of a rule, by their keys.
fn describe_overrides(overrides: &RuleOverrides) -> String {
    let mut parts: Vec<String> = Vec::new();
    let RuleOverrides { timeout, retries, retry, buffer, body_bytes } = overrides;
    let times = [
        ("connect", timeout.connect),
        ("first-byte", timeout.first_byte),
        ("attempts", timeout.attempts),
        ("between-bytes", timeout.between_bytes),
        ("stream", timeout.stream),
        ("queue", timeout.queue),
        ("client-between-bytes", timeout.client_between_bytes),
        ("tunnel", timeout.tunnel),
    ];
    let written = times.into_iter().filter_map(|(key, time)| Some((key, time?)));
    parts.extend(written.map(|(key, time)| format!("timeout.{key} {}", Time(time))));
    parts.extend(retries.map(|retries| format!("retries {retries}")));
    if let Some(on) = &retry.on {
        let ranges: Vec<String> = on.0.iter().map(ToString::to_string).collect();
        parts.push(format!("retry.on {}", ranges.join(" ")));
    }
    let flags = [
        ("on-timeout", retry.on_timeout),
        ("on-malformed", retry.on_malformed),
        ("unsent-only", retry.unsent_only),
    ];
    let written = flags.into_iter().filter_map(|(key, flag)| Some((key, flag?)));
    parts.extend(written.map(|(key, flag)| format!("retry.{key} {flag}")));
    let size = |size: Option<u64>| size.map_or("off".into(), |size| ByteSize(size).to_string());
    if let Some(buffer) = buffer {
        parts.push(format!("buffer.request {}", size(buffer.request)));
        parts.push(format!("buffer.response {}", size(buffer.response)));
    }
    parts.extend(body_bytes.map(|most| format!("body-bytes {}", size(most.0))));
    parts.join(", ")
}

fn describe_days(days: u8) -> String {
    let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let on = names.iter().enumerate().filter(|(at, _)| days & (1 << at) != 0);
    on.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

fn join_conditions(conditions: &[Condition], with: &str) -> String {
    conditions.iter().map(describe_condition).collect::<Vec<_>>().join(with)
}

fn names(matches: &[NameValuePattern]) -> Vec<String> {
    matches.iter().map(NameValuePattern::without_value).collect()
}

fn describe_list(noun: &str, values: &[impl Display]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("{noun} {}", values.join(", "))
}

fn describe_server_state(state: &PoolCondition) -> String {
    let mut text = format!("servers of {}", state.of.as_deref().unwrap_or("the rule's pool"));
    let mut add = |name: &str, range: Option<NumberRange>| {
        if let Some(range) = range {
            // Writing into a String cannot fail.
            let _ = fmt::write(&mut text, format_args!(" {name} {range}"));
        }
    };
    add("up", state.up);
    add("average-active", state.busy);
    add("load", state.load);
    add("each-load", state.each_load);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;

    #[test]
    fn an_action_names_the_settings_of_its_rule() {
        let rows = [
            ("priority = 1", "the service's pool"),
            (
                "timeout = { first-byte = \"200ms\", tunnel = \"2h\" }, retries = 0, buffer = { request = \"1MiB\" }, body-bytes = \"2MiB\"",
                "the service's pool with timeout.first-byte 200ms, timeout.tunnel 2h, retries 0, \
                 buffer.request 1MiB, buffer.response off, body-bytes 2MiB",
            ),
            (
                "pool = \"p\", retry = { on = [503, \"520-530\"], on-timeout = true, unsent-only = false }",
                "pool p with retry.on 503 520-530, retry.on-timeout true, retry.unsent-only false",
            ),
        ];
        for (rule, want) in rows {
            let text = format!(
                "[service.s]\nlisten = \":80\"\nforward = \"http\"\npool = \"p\"\nrule = [{{ {rule} }}]\n\
                 [pool.p]\nservers = [\"10.0.0.1:80\"]\n"
            );
            let config = load(&text, "x").unwrap().config;
            assert_eq!(describe_action(&config.services["s"].rules[0]), want);
        }
    }

    #[test]
    fn values_that_may_be_secrets_are_left_out() {
        let text = "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"p\"\n\
            [[service.s.rule]]\ndeny = true\n\
            when = { header-list = \"x-keys: hunter2\", header-regex = \"x-key: hunter.\", \
            header = [\"x-key: hunter2\", \"via\"], query = \"token=hunter2\", not = { cookie = \"sid=hunter2\" } }\n\
            [pool.p]\nservers = [\"10.0.0.1:80\"]\n";
        let checked = load(text, "f").unwrap_or_else(|error| panic!("{error}"));
        let rule = &checked.config.services["s"].rules[0];
        let description = describe_condition(&rule.when);
        for part in [
            "header-list x-keys: (value)",
            "header-regex x-key: (expression)",
            "header x-key: (value), via",
            "query token=(value)",
            "cookie sid=(value)",
        ] {
            assert!(description.contains(part), "{part}: {description}");
        }
        assert!(!description.contains("hunter"), "{description}");
    }
}
