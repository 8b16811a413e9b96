//! Builds rules and stickiness of proxied services from settings that were judged before.

use super::super::matching::{HostPattern, Match, PathPattern, Range};
use super::super::pattern::Pattern;
use super::super::rules::{
    Action, Condition, Counted, FixedAnswer, LimitBy, Mirror, PoolState, RateLimit, Rewrite, Rule,
    WithoutServers,
};
use super::super::section::Section;
use super::super::sticky::{Affinity, Cookie, CookieMode, Gone, StickyBy};
use super::super::value::Value;
use super::operate::days;

/// A rule.
pub(super) fn rule(section: &Section) -> Rule {
    Rule {
        name: owned(section, "name"),
        when: section.table("when").map_or(Condition::All(Vec::new()), condition),
        action: action(section),
        mirror: section.table("mirror").map(|mirror| Mirror {
            pool: owned(mirror, "pool").unwrap_or_default(),
            percent: mirror.number("percent"),
            at_once: mirror.number("at-once"),
        }),
        rewrite: section.table("rewrite").map(|rewrite| Rewrite {
            path: owned(rewrite, "path"),
            strip: owned(rewrite, "strip"),
            prefix: owned(rewrite, "prefix"),
            host: owned(rewrite, "host"),
            set: rewrite.texts("set").to_vec(),
            add: rewrite.texts("add").to_vec(),
            remove: rewrite.texts("remove").to_vec(),
            answer_set: rewrite.texts("answer-set").to_vec(),
            answer_remove: rewrite.texts("answer-remove").to_vec(),
        }),
        limit: section.table("limit").map(limit),
        priority: section.count("priority"),
        without_servers: match section.text("without-servers") {
            Some("next") => WithoutServers::Next,
            Some("answer") => WithoutServers::Answer,
            _ => WithoutServers::Pool,
        },
    }
}

fn owned(section: &Section, key: &str) -> Option<String> {
    section.text(key).map(str::to_owned)
}

fn action(section: &Section) -> Action {
    if section.flag("deny") {
        return Action::Deny;
    }
    if let Some(redirect) = section.table("redirect") {
        let to = owned(redirect, "to").unwrap_or_default();
        return Action::Redirect { to, status: redirect.number("status") };
    }
    if let Some(answer) = section.table("answer") {
        return Action::Answer(FixedAnswer {
            status: answer.number("status"),
            content_type: owned(answer, "type").unwrap_or_default(),
            body: owned(answer, "body").unwrap_or_default(),
            headers: answer.texts("headers").to_vec(),
        });
    }
    let split = section.list("split");
    if !split.is_empty() {
        let part =
            |part: &Section| (owned(part, "pool").unwrap_or_default(), part.number("weight"));
        return Action::Split(split.iter().map(part).collect());
    }
    Action::Pool(owned(section, "pool"))
}

fn limit(section: &Section) -> RateLimit {
    let rate = section.number("rate");
    RateLimit {
        rate,
        burst: section.count("burst").unwrap_or(rate),
        by: match (section.text("by"), section.text("header")) {
            (Some("address"), _) => LimitBy::Address(
                section.count("mask4").unwrap_or(32),
                section.count("mask6").unwrap_or(64),
            ),
            (Some("header"), Some(name)) => LimitBy::Header(name.to_ascii_lowercase()),
            _ => LimitBy::Rule,
        },
        entries: section.number("entries"),
    }
}

/// A condition: what is cheap to look at first, what counts last.
pub(super) fn condition(section: &Section) -> Condition {
    let mut all = Vec::new();
    requests(section, &mut all);
    let client = section.prefixes("client");
    if !client.is_empty() {
        all.push(Condition::Client(client.to_vec()));
    }
    if let Some(Value::PortRange(first, last)) = section.value("client-port") {
        all.push(Condition::ClientPort(*first, *last));
    }
    all.extend(section.count("tos").map(Condition::Tos));
    let hours = match section.value("hours") {
        Some(Value::Hours(hours)) => Some(*hours),
        _ => None,
    };
    if hours.is_some() || !section.words("days").is_empty() {
        all.push(Condition::Time(hours, days(section)));
    }
    let nested =
        |key: &str| -> Vec<Condition> { section.list(key).iter().map(condition).collect() };
    all.extend(nested("all"));
    let any = nested("any");
    if !any.is_empty() {
        all.push(Condition::Any(any));
    }
    if let Some(not) = section.table("not") {
        all.push(Condition::Not(Box::new(condition(not))));
    }
    states(section, &mut all);
    Condition::All(all)
}

fn requests(section: &Section, all: &mut Vec<Condition>) {
    fn each<T>(
        section: &Section,
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
    each(section, "host", HostPattern::parse, Condition::Host, all);
    each(section, "path", PathPattern::parse, Condition::Path, all);
    each(section, "sni", HostPattern::parse, Condition::Sni, all);
    each(section, "method", |text| Some(text.to_owned()), Condition::Method, all);
    each(section, "path-regex", |text| Pattern::new(text).ok(), Condition::PathRegex, all);
    each(section, "header", Match::field, Condition::Header, all);
    each(section, "cookie", Match::pair, Condition::Cookie, all);
    each(section, "query", Match::pair, Condition::Query, all);
}

fn states(section: &Section, all: &mut Vec<Condition>) {
    if let Some(active) = range(section, "active") {
        let count = match section.text("count") {
            Some("pool") => Counted::Pool,
            Some("service") => Counted::Service,
            _ => Counted::Rule,
        };
        all.push(Condition::Active(active, count));
    }
    all.extend(range(section, "arrivals").map(Condition::Arrivals));
    all.extend(section.count("bandwidth").map(Condition::Bandwidth));
    all.extend(section.count("shared-bandwidth").map(Condition::SharedBandwidth));
    if let Some(servers) = section.table("servers") {
        all.push(Condition::Servers(PoolState {
            of: owned(servers, "of"),
            up: range(servers, "up"),
            busy: range(servers, "busy"),
            load: range(servers, "load"),
            each_load: range(servers, "each-load"),
        }));
    }
    // It takes something when it holds, so nothing may fail behind it.
    all.extend(section.count("rate").map(Condition::Rate));
}

fn range(section: &Section, key: &str) -> Option<Range> {
    section.text(key).and_then(Range::parse)
}

/// How a proxied service keeps clients.
pub(super) fn affinity(sticky: &Section, speaks_tls: bool) -> Affinity {
    let name = || owned(sticky, "name").unwrap_or_default();
    let flag = |key, else_| sticky.setting(key).map_or(else_, |_| sticky.flag(key));
    let by = match sticky.text("by") {
        Some("cookie") => StickyBy::Cookie(Cookie {
            name: name(),
            mode: match sticky.text("cookie") {
                Some("rewrite") => CookieMode::Rewrite,
                Some("learn") => CookieMode::Learn,
                _ => CookieMode::Insert,
            },
            secure: flag("secure", speaks_tls),
            http_only: flag("http-only", true),
            same_site: match sticky.text("same-site") {
                Some("strict") => "Strict",
                Some("none") => "None",
                _ => "Lax",
            },
        }),
        Some("header") => StickyBy::Header(name().to_ascii_lowercase()),
        Some("path") => StickyBy::Path,
        Some("query") => StickyBy::Query(name()),
        Some("tls-session") => StickyBy::TlsSession,
        _ => StickyBy::Address(sticky.number("mask4"), sticky.number("mask6")),
    };
    Affinity {
        by,
        time: sticky.time("time"),
        entries: sticky.number("entries"),
        gone: match sticky.text("gone") {
            Some("wait") => Gone::Wait,
            Some("refuse") => Gone::Refuse,
            _ => Gone::Choose,
        },
        spill: sticky.text("full") == Some("spill"),
        drain: sticky.span("drain"),
        share: owned(sticky, "share"),
    }
}
