//! Verifies rules: keys that the forwarding method does not support, missing references, and unreachable rules.

mod edits;
mod rule_actions;
mod trivial_conditions;

use std::collections::{BTreeSet, HashSet};

use super::edit_keys::EDIT_TABLE;
use super::keys::{RULE_TABLE, WHEN_TABLE};
use super::rewrite::TABLE;
use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::matching::PathPattern;
use crate::config::rule_overrides::verify_rule_overrides;
use crate::config::schema::KeySchema;
use crate::config::section::ConfigSection;
use crate::config::suggestion::nearest_match;
use crate::config::unsupported_keys::{forwards_packets, visit_unsupported_keys};
use edits::{verify_edit, verify_edit_list};
use rule_actions::verify_rule_actions;
use trivial_conditions::{ConditionContext, PathComparison, verify_trivial_conditions};

/// Limit for regular expressions and globs of one file: each may need a quarter of a MiB.
const MAX_EXPRESSIONS: usize = 1_000;

/// Limit for nested conditions.
/// Deeper than any hand-written condition; evaluation recurses.
const MAX_DEPTH: usize = 8;

/// Limit for the rules of a service that forwards packets.
const MAX_PACKET_RULES: usize = 1_024;

/// Keys of rules that choose a pool.
const POOL_RULE_KEYS: [&str; 8] =
    ["mirror", "rewrite", "timeout", "retries", "retry", "buffer", "priority", "when-unavailable"];

struct RuleVerifier<'e> {
    pools: BTreeSet<&'e str>,
    /// Pools whose servers use only HTTP/2.
    http2_only_pools: BTreeSet<&'e str>,
    /// Whether the file was parsed completely.
    complete: bool,
    expressions: usize,
}

#[derive(Clone, Copy)]
struct RuleScope<'e> {
    service: &'e ConfigSection,
    forward: &'e str,
}

/// Verifies the rules of every service.
pub fn verify_rules(
    effective: &EffectiveSettings,
    whole: bool,
    sink: &mut FindingCollector<'_, '_>,
) {
    let pools = effective.pools.iter().map(|pool| pool.name.as_str()).collect();
    let only = |pool: &&ConfigSection| {
        pool.table("http2").is_some_and(|http2| http2.text("mode") == Some("only"))
    };
    let only_http2 = effective.pools.iter().filter(only).map(|pool| pool.name.as_str()).collect();
    let mut judge =
        RuleVerifier { pools, http2_only_pools: only_http2, complete: whole, expressions: 0 };
    for service in &effective.services {
        let of = RuleScope { service, forward: service.text("forward").unwrap_or_default() };
        judge.verify_service(of, sink);
        if of.forward == "http" {
            judge.verify_edits(of, sink);
        }
    }
    if judge.expressions > MAX_EXPRESSIONS {
        let message = format!(
            "the file has {} expressions and globs in its rules, more than {MAX_EXPRESSIONS}",
            judge.expressions
        );
        let trouble = FindingDetails::new(message)
            .with_expected("exact paths or `/begins/so/*` for most rules");
        sink.error(Default::default(), "service", trouble);
    }
}

impl RuleVerifier<'_> {
    fn verify_service(&mut self, of: RuleScope<'_>, sink: &mut FindingCollector<'_, '_>) {
        let rules = of.service.list("rule");
        let path = format!("service.{}.rule", quote_key(&of.service.name));
        let packets = forwards_packets(of.service);
        if packets && rules.len() > MAX_PACKET_RULES {
            let message =
                format!("{} rules are more than packets can be held against", rules.len());
            let trouble = FindingDetails::new(message)
                .with_expected(format!("at most {MAX_PACKET_RULES} rules"));
            sink.error(of.service.span_of("rule"), &path, trouble);
        }
        let mut names: HashSet<&str> = HashSet::new();
        let mut all_from: Option<usize> = None;
        for (at, rule) in rules.iter().enumerate() {
            let path = format!("{path}[{at}]");
            verify_method_keys(of, &RULE_TABLE, rule, &path, sink);
            if let Some(name) = rule.text("name").filter(|name| !names.insert(name)) {
                let trouble =
                    FindingDetails::new(format!("two rules of this service are named `{name}`"));
                sink.error(rule.span_of("name"), &format!("{path}.name"), trouble);
            }
            if packets && rule.setting("pool").is_none() && !rule.is_invalid("pool") {
                let trouble =
                    FindingDetails::new("a rule for packets needs `pool`").with_found("nothing");
                sink.error(
                    rule.span,
                    &format!("{path}.pool"),
                    trouble.with_expected("a pool's name"),
                );
            }
            self.verify_pool_references(rule, &path, sink);
            verify_action(rule, &path, sink);
            verify_rule_actions(rule, &path, sink);
            verify_rule_overrides(rule, of.service, &path, sink);
            verify_bandwidth_limits(of, rule, &path, sink);
            if let Some(when) = rule.table("when") {
                self.verify_condition(of, when, &format!("{path}.when"), 0, sink);
                if let Some(first) = all_from {
                    let message =
                        format!("never reached: rule {} above takes everything", first + 1);
                    sink.warning(rule.span, &path, FindingDetails::new(message));
                } else if when.settings().next().is_none()
                    && rule.text("when-unavailable") != Some("next")
                {
                    all_from = Some(at);
                }
            }
        }
    }

    fn verify_edits(&mut self, of: RuleScope<'_>, sink: &mut FindingCollector<'_, '_>) {
        let path = format!("service.{}.edit", quote_key(&of.service.name));
        verify_edit_list(of.service, &path, sink);
        for (at, edit) in of.service.list("edit").iter().enumerate() {
            let path = format!("{path}[{at}]");
            verify_method_keys(of, &EDIT_TABLE, edit, &path, sink);
            self.verify_pool_reference(edit, "pool", &path, sink);
            verify_edit(edit, &path, sink);
            if let Some(when) = edit.table("when") {
                self.verify_condition(of, when, &format!("{path}.when"), 0, sink);
            }
        }
    }

    /// Verifies every pool that a rule names.
    fn verify_pool_references(
        &self,
        rule: &ConfigSection,
        path: &str,
        sink: &mut FindingCollector<'_, '_>,
    ) {
        self.verify_pool_reference(rule, "pool", path, sink);
        for (at, part) in rule.list("split").iter().enumerate() {
            self.verify_pool_reference(part, "pool", &format!("{path}.split[{at}]"), sink);
        }
        if let Some(mirror) = rule.table("mirror") {
            self.verify_pool_reference(mirror, "pool", &format!("{path}.mirror"), sink);
            if mirror.text("pool").is_some_and(|pool| self.http2_only_pools.contains(pool)) {
                let message =
                    "copies go over HTTP/1.1, which this pool's servers are not spoken to";
                let trouble =
                    FindingDetails::new(message).with_found("a pool with `http2 = \"only\"`");
                let trouble = trouble.with_expected("`http2 = \"prefer\"` there, or another pool");
                sink.error(mirror.span_of("pool"), &format!("{path}.mirror.pool"), trouble);
            }
        }
    }

    fn verify_pool_reference(
        &self,
        section: &ConfigSection,
        key: &str,
        path: &str,
        sink: &mut FindingCollector<'_, '_>,
    ) {
        let Some(wanted) = section.text(key).filter(|name| !self.pools.contains(name)) else {
            return;
        };
        if !self.complete {
            return;
        }
        let near = match sink.wants_suggestions() {
            true => nearest_match(wanted, self.pools.iter().copied()),
            false => None,
        };
        let trouble = FindingDetails::new(format!("there is no pool `{wanted}`"))
            .with_expected("the name of a table `[pool.NAME]`")
            .with_suggestion(near.map(|name| format!("\"{name}\"")));
        sink.error(section.span_of(key), &format!("{path}.{key}"), trouble);
    }

    fn verify_condition(
        &mut self,
        of: RuleScope<'_>,
        when: &ConfigSection,
        path: &str,
        depth: usize,
        sink: &mut FindingCollector<'_, '_>,
    ) {
        if depth > 0 {
            verify_method_keys(of, &WHEN_TABLE, when, path, sink);
        }
        if depth > MAX_DEPTH {
            let message = format!("conditions nest more than {MAX_DEPTH} deep");
            return sink.error(when.span, path, FindingDetails::new(message));
        }
        let paths = PathComparison::from_service(of.service);
        verify_trivial_conditions(when, ConditionContext { path, nested: depth > 0, paths }, sink);
        let globs = when.texts("path").iter().filter_map(|text| PathPattern::parse(text));
        let written = ["path-regex", "host-regex", "header-regex"].map(|key| when.texts(key).len());
        self.expressions += written.iter().sum::<usize>()
            + globs.filter(|glob| matches!(glob, PathPattern::Glob(_))).count();
        let mut wrong = |key: &str, trouble: FindingDetails| {
            sink.error(when.span_of(key), &format!("{path}.{key}"), trouble);
        };
        if depth > 0 && when.is_written("rate") {
            let trouble =
                FindingDetails::new("`rate` takes something when it holds, so it stands alone");
            wrong("rate", trouble.with_expected("`rate` in the rule's `when` itself"));
        }
        if when.is_written("scope") && !when.is_written("active") {
            wrong(
                "scope",
                FindingDetails::new("`scope` says whose `active` is meant, and that is not there"),
            );
        }
        let valued = ["header", "header-list", "cookie", "query"];
        if when.is_written("value-case") && !valued.iter().any(|key| when.is_written(key)) {
            let trouble =
                FindingDetails::new("`value-case` says how values are compared, and none is");
            wrong(
                "value-case",
                trouble.with_expected("`header`, `header-list`, `cookie` or `query`"),
            );
        }
        if when.is_written("sni") && of.forward == "http" && of.service.table("tls").is_none() {
            let trouble =
                FindingDetails::new("the service does not speak TLS, so no client names a server");
            wrong("sni", trouble.with_expected("`tls` in the service, or `host`"));
        }
        if let Some(servers) = when.table("servers") {
            let any = ["up", "average-active", "load", "each-load"]
                .iter()
                .any(|key| servers.is_written(key));
            if !any {
                let trouble = FindingDetails::new("a state of a pool needs one of its numbers");
                wrong("servers", trouble.with_expected("`up`, `busy`, `load` or `each-load`"));
            }
            self.verify_pool_reference(servers, "of", &format!("{path}.servers"), sink);
        }
        for key in ["all", "any"] {
            for (at, inner) in when.list(key).iter().enumerate() {
                self.verify_condition(of, inner, &format!("{path}.{key}[{at}]"), depth + 1, sink);
            }
        }
        if let Some(not) = when.table("not") {
            self.verify_condition(of, not, &format!("{path}.not"), depth + 1, sink);
        }
    }
}

/// Reports keys that the forwarding method does not support.
fn verify_method_keys(
    of: RuleScope<'_>,
    table: &'static crate::config::schema::TableSchema,
    section: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let forward = of.forward;
    let packets = forwards_packets(of.service);
    let unfit = |key: &KeySchema| match forward {
        "tcp" => key.http_only || key.packets_only,
        _ if packets => key.http_only || key.proxy_only,
        _ => key.packets_only,
    };
    visit_unsupported_keys(section, path, &unfit, &mut |section, key, path| {
        let message = match packets {
            true => format!(
                "`{key}` belongs to proxied services; `forward = \"{forward}\"` carries packets"
            ),
            false
                if forward == "tcp" && table.find(key).is_none_or(|found| found.key.http_only) =>
            {
                format!("`{key}` belongs to `forward = \"http\"`; this service forwards bytes")
            }
            false => {
                format!("`{key}` belongs to packet forwarding: `forward` `mac`, `nat` or `tunnel`")
            }
        };
        sink.error(section.span_of(key), path, FindingDetails::new(message));
    });
}

/// Whether all that a rule rewrites are answers of the balancer itself.
fn adds_to_own_answers(rule: &ConfigSection) -> bool {
    rule.table("rewrite").is_some_and(|rewrite| {
        let alone = TABLE
            .keys
            .iter()
            .all(|key| key.name == "response-add" || !rewrite.is_written(key.name));
        alone && rewrite.list("response-add").iter().all(|added| added.flag("own"))
    })
}

/// What a rule does, and what goes with it.
fn verify_action(rule: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let ends = ["redirect", "answer", "deny"].into_iter().find(|key| rule.setting(key).is_some());
    let mut wrong = |section: &ConfigSection, key: &str, inner: &str, trouble: FindingDetails| {
        sink.error(section.span_of(key), &format!("{path}.{inner}"), trouble);
    };
    if let Some(end) = ends {
        // Bodies of redirected and answered requests have a limit too.
        let denied = (end == "deny").then_some("body-bytes");
        for key in POOL_RULE_KEYS.into_iter().chain(denied) {
            // What the explanation writes out says nothing new.
            if rule.is_written(key)
                && rule.text(key) != Some("pool")
                && !(key == "rewrite" && adds_to_own_answers(rule))
            {
                let message = match denied == Some(key) {
                    true => format!("`{key}` has no effect: the rule refuses every request"),
                    false => {
                        format!("`{key}` belongs to rules that choose a pool; this one has `{end}`")
                    }
                };
                let trouble = FindingDetails::new(message);
                wrong(
                    rule,
                    key,
                    key,
                    match key {
                        "rewrite" => {
                            trouble.with_expected("`response-add` with `own = true` alone")
                        }
                        "body-bytes" => trouble.with_expected("no such key"),
                        _ => trouble,
                    },
                );
            }
        }
    }
    if rule.setting("deny").is_some() && !rule.flag("deny") && !rule.is_invalid("deny") {
        let trouble = FindingDetails::new("`deny = false` says nothing");
        wrong(rule, "deny", "deny", trouble.with_expected("`deny = true`, or no such key"));
    }
    if let Some(redirect) = rule.table("redirect") {
        let status: u16 = redirect.count_or_zero("status");
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            let trouble = FindingDetails::new(format!("{status} does not send a client elsewhere"));
            let trouble = trouble.with_expected("301, 302, 303, 307 or 308");
            wrong(redirect, "status", "redirect.status", trouble);
        }
    }
    let split = rule.list("split");
    if !split.is_empty() && split.iter().all(|part| part.count_or_zero::<u32>("weight") == 0) {
        let trouble = FindingDetails::new("no part of the split takes anything: each has weight 0");
        wrong(rule, "split", "split", trouble);
    }
    if let Some(limit) = rule.table("limit") {
        let by_header = limit.text("by") == Some("header");
        if by_header != limit.setting("header").is_some() && !limit.is_invalid("header") {
            let trouble = FindingDetails::new("`by = \"header\"` and `header` belong together");
            let key = if by_header { "by" } else { "header" };
            wrong(limit, key, &format!("limit.{key}"), trouble);
        }
        for key in ["mask4", "mask6"] {
            if limit.is_written(key) && limit.text("by") != Some("address") {
                let trouble = FindingDetails::new("it belongs to `by = \"address\"`");
                wrong(limit, key, &format!("limit.{key}"), trouble);
            }
        }
    }
}

/// Reports limits that cannot be compared with a bandwidth.
fn verify_bandwidth_limits(
    of: RuleScope<'_>,
    rule: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let limit = rule.table("limit").filter(|_| of.forward == "tcp");
    if let Some(limit) = limit.filter(|limit| limit.text("by") == Some("header")) {
        let trouble =
            FindingDetails::new("bytes show no fields").with_expected("`by = \"address\"`");
        sink.error(limit.span_of("by"), &format!("{path}.limit.by"), trouble);
    }
}
