//! Builds the rules of proxied services from verified settings.

use super::build_rewrite::{build_rewrite, owned_text};
use super::types::{
    ActiveCountScope, Condition, FixedAnswer, Mirror, NoServersAction, PoolCondition, RateLimit,
    RateLimitKey, RuleActionConfig, RuleConfig, WeightedPool,
};
use crate::config::auth::build_rule_auth;
use crate::config::matching::{
    FieldPattern, HostPart, HostPattern, NameValuePattern, NumberRange, PathPattern,
};
use crate::config::pattern::Pattern;
use crate::config::rule_overrides::build_rule_overrides;
use crate::config::schedule::build_days;
use crate::config::section::ConfigSection;
use crate::config::value::ConfigValue;

/// `service`: the service around the rule.
pub fn build_rule(section: &ConfigSection, service: &ConfigSection) -> RuleConfig {
    RuleConfig {
        name: owned_text(section, "name"),
        when: section.table("when").map_or(Condition::All(Vec::new()), build_condition),
        action: build_action(section),
        auth: build_rule_auth(section),
        mirror: section.table("mirror").map(|mirror| Mirror {
            pool: owned_text(mirror, "pool").unwrap_or_default(),
            percent: mirror.count_or_zero("percent"),
            at_once: mirror.count_or_zero("max-concurrent"),
        }),
        rewrite: section.table("rewrite").map(build_rewrite),
        limit: section.table("limit").map(build_rate_limit),
        overrides: build_rule_overrides(section, service),
        priority: section.count("priority"),
        without_servers: match section.text("when-unavailable") {
            Some("next") => NoServersAction::Next,
            Some("answer") => NoServersAction::Answer,
            _ => NoServersAction::Pool,
        },
    }
}

fn build_action(section: &ConfigSection) -> RuleActionConfig {
    if section.flag("deny") {
        return RuleActionConfig::Deny;
    }
    if let Some(redirect) = section.table("redirect") {
        let to = owned_text(redirect, "to").unwrap_or_default();
        return RuleActionConfig::Redirect {
            to,
            status: redirect.count_or_zero("status"),
            headers: redirect.texts("headers").to_vec(),
        };
    }
    if let Some(answer) = section.table("answer") {
        return RuleActionConfig::Answer(FixedAnswer {
            status: answer.count_or_zero("status"),
            content_type: owned_text(answer, "type").unwrap_or_default(),
            body: owned_text(answer, "body").unwrap_or_default(),
            headers: answer.texts("headers").to_vec(),
        });
    }
    let split = section.list("split");
    if !split.is_empty() {
        let part = |part: &ConfigSection| WeightedPool {
            pool: owned_text(part, "pool").unwrap_or_default(),
            weight: part.count_or_zero("weight"),
        };
        return RuleActionConfig::Split(split.iter().map(part).collect());
    }
    RuleActionConfig::Pool(owned_text(section, "pool"))
}

fn build_rate_limit(section: &ConfigSection) -> RateLimit {
    let rate = section.count_or_zero("rate");
    RateLimit {
        rate,
        burst: section.count("burst").unwrap_or(rate),
        by: match (section.text("by"), section.text("header")) {
            (Some("address"), _) => RateLimitKey::Address(
                section.count("mask4").unwrap_or(32),
                section.count("mask6").unwrap_or(64),
            ),
            (Some("header"), Some(name)) => RateLimitKey::Header(name.to_ascii_lowercase()),
            _ => RateLimitKey::Rule,
        },
        entries: section.count_or_zero("entries"),
    }
}

/// Builds a condition: cheap checks first, counting ones last.
pub(super) fn build_condition(section: &ConfigSection) -> Condition {
    let mut all = Vec::new();
    push_request_conditions(section, &mut all);
    let client = section.prefixes("client");
    if !client.is_empty() {
        all.push(Condition::Client(client.to_vec()));
    }
    if let Some(ConfigValue::PortRange(ports)) = section.value("client-port") {
        all.push(Condition::ClientPort(ports.first, ports.last));
    }
    all.extend(section.count("tos").map(Condition::Tos));
    let hours = match section.value("hours") {
        Some(ConfigValue::DailyWindow(hours)) => Some(*hours),
        _ => None,
    };
    if hours.is_some() || !section.keywords("days").is_empty() {
        all.push(Condition::Time(hours, build_days(section)));
    }
    let nested =
        |key: &str| -> Vec<Condition> { section.list(key).iter().map(build_condition).collect() };
    all.extend(nested("all"));
    let any = nested("any");
    if !any.is_empty() {
        all.push(Condition::Any(any));
    }
    if let Some(not) = section.table("not") {
        all.push(Condition::Not(Box::new(build_condition(not))));
    }
    push_state_conditions(section, &mut all);
    Condition::All(all)
}

fn push_request_conditions(section: &ConfigSection, all: &mut Vec<Condition>) {
    fn each<T>(
        section: &ConfigSection,
        key: &str,
        parse: impl Fn(&str) -> Option<T>,
        make: fn(Vec<T>) -> Condition,
        all: &mut Vec<Condition>,
    ) {
        let found: Vec<T> = section.texts(key).iter().filter_map(|text| parse(text)).collect();
        if !found.is_empty() {
            all.push(make(found));
        }
    }
    let ignore_case = section.text("value-case") == Some("ignore");
    let field =
        |text: &str| NameValuePattern::parse_field(text).map(|read| read.with_case(ignore_case));
    let pair =
        |text: &str| NameValuePattern::parse_pair(text).map(|read| read.with_case(ignore_case));
    let expression = |text: &str| Pattern::new(text).ok();
    each(section, "host", HostPattern::parse, Condition::Host, all);
    each(section, "host-part", HostPart::parse, Condition::HostPart, all);
    each(section, "path", PathPattern::parse, Condition::Path, all);
    each(section, "sni", HostPattern::parse, Condition::Sni, all);
    each(section, "method", |text| Some(text.to_owned()), Condition::Method, all);
    each(section, "host-regex", expression, Condition::HostRegex, all);
    each(section, "path-regex", expression, Condition::PathRegex, all);
    each(section, "header", field, Condition::Header, all);
    each(section, "header-list", field, Condition::HeaderList, all);
    each(
        section,
        "header-regex",
        |text| FieldPattern::parse(text)?.ok(),
        Condition::HeaderRegex,
        all,
    );
    each(section, "cookie", pair, Condition::Cookie, all);
    each(section, "query", pair, Condition::Query, all);
}

fn push_state_conditions(section: &ConfigSection, all: &mut Vec<Condition>) {
    if let Some(active) = build_range(section, "active") {
        let count = match section.text("scope") {
            Some("pool") => ActiveCountScope::Pool,
            Some("service") => ActiveCountScope::Service,
            _ => ActiveCountScope::Rule,
        };
        all.push(Condition::Active(active, count));
    }
    all.extend(build_range(section, "connection-rate").map(Condition::Arrivals));
    all.extend(section.count("bandwidth").map(Condition::Bandwidth));
    all.extend(section.count("shared-bandwidth").map(Condition::SharedBandwidth));
    if let Some(servers) = section.table("servers") {
        all.push(Condition::Servers(PoolCondition {
            of: owned_text(servers, "of"),
            up: build_range(servers, "up"),
            busy: build_range(servers, "average-active"),
            load: build_range(servers, "load"),
            each_load: build_range(servers, "each-load"),
        }));
    }
    // A rate condition consumes a token when it holds, so no condition after it may fail.
    all.extend(section.count("rate").map(Condition::Rate));
}

fn build_range(section: &ConfigSection, key: &str) -> Option<NumberRange> {
    section.text(key).and_then(NumberRange::parse)
}
