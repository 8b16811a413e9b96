//! Judges rules: what the method can carry, what they name, what can never be reached.

mod never;
mod written;

use std::collections::HashSet;

use super::super::decode::quoted;
use super::super::finding::{Sink, Trouble};
use super::super::matching::PathPattern;
use super::super::resolve::Effective;
use super::super::schema::Key;
use super::super::section::Section;
use super::super::suggest::nearest;
use super::super::tables::rules::{RULE_TABLE, WHEN_TABLE};
use super::method::{forwards_packets, misfits};

/// Expressions and globs of one file: each may take a quarter of a MiB.
const EXPRESSIONS: usize = 1_000;

/// How deep conditions may nest.
const DEEP: usize = 8;

/// Rules of a service that forwards packets.
const OF_PACKETS: usize = 1_024;

/// What a judge of rules knows.
struct Judge<'e> {
    pools: HashSet<&'e str>,
    /// Those of them whose servers are spoken to in HTTP/2 alone.
    only_http2: HashSet<&'e str>,
    /// The file was read to its end.
    whole: bool,
    expressions: usize,
}

/// Where rules stand.
#[derive(Clone, Copy)]
struct Of<'e> {
    service: &'e Section,
    forward: &'e str,
}

/// Judge the rules of every service.
pub fn verify(effective: &Effective, whole: bool, sink: &mut Sink<'_, '_>) {
    let pools = effective.pools.iter().map(|pool| pool.name.as_str()).collect();
    let only = |pool: &&Section| {
        pool.table("http2").is_some_and(|http2| http2.text("speak") == Some("only"))
    };
    let only_http2 = effective.pools.iter().filter(only).map(|pool| pool.name.as_str()).collect();
    let mut judge = Judge { pools, only_http2, whole, expressions: 0 };
    for service in &effective.services {
        let of = Of { service, forward: service.text("forward").unwrap_or_default() };
        judge.service(of, sink);
    }
    if judge.expressions > EXPRESSIONS {
        let message = format!(
            "the file has {} expressions and globs in its rules, more than {EXPRESSIONS}",
            judge.expressions
        );
        let trouble =
            Trouble::new(message).expected("exact paths or `/begins/so/*` for most rules");
        sink.error(Default::default(), "service", trouble);
    }
}

impl Judge<'_> {
    fn service(&mut self, of: Of<'_>, sink: &mut Sink<'_, '_>) {
        let rules = of.service.list("rule");
        let path = format!("service.{}.rule", quoted(&of.service.name));
        let packets = forwards_packets(of.service);
        if packets && rules.len() > OF_PACKETS {
            let message =
                format!("{} rules are more than packets can be held against", rules.len());
            let trouble = Trouble::new(message).expected(format!("at most {OF_PACKETS} rules"));
            sink.error(of.service.place_of("rule"), &path, trouble);
        }
        let mut names: HashSet<&str> = HashSet::new();
        let mut all_from: Option<usize> = None;
        for (at, rule) in rules.iter().enumerate() {
            let path = format!("{path}[{at}]");
            misfit(of, &RULE_TABLE, rule, &path, sink);
            if let Some(name) = rule.text("name").filter(|name| !names.insert(name)) {
                let trouble = Trouble::new(format!("two rules of this service are named `{name}`"));
                sink.error(rule.place_of("name"), &format!("{path}.name"), trouble);
            }
            if packets && rule.setting("pool").is_none() && !rule.broken("pool") {
                let trouble = Trouble::new("a rule for packets needs `pool`").found("nothing");
                sink.error(rule.place, &format!("{path}.pool"), trouble.expected("a pool's name"));
            }
            self.named(rule, &path, sink);
            action(rule, &path, sink);
            written::verify(rule, &path, sink);
            limited(of, rule, &path, sink);
            if let Some(when) = rule.table("when") {
                self.condition(of, when, &format!("{path}.when"), 0, sink);
                if let Some(first) = all_from {
                    let message =
                        format!("never reached: rule {} above takes everything", first + 1);
                    sink.warning(rule.place, &path, Trouble::new(message));
                } else if when.settings().next().is_none()
                    && rule.text("without-servers") != Some("next")
                {
                    all_from = Some(at);
                }
            }
        }
    }

    /// Every pool that a rule names.
    fn named(&self, rule: &Section, path: &str, sink: &mut Sink<'_, '_>) {
        self.pool(rule, "pool", path, sink);
        for (at, part) in rule.list("split").iter().enumerate() {
            self.pool(part, "pool", &format!("{path}.split[{at}]"), sink);
        }
        if let Some(mirror) = rule.table("mirror") {
            self.pool(mirror, "pool", &format!("{path}.mirror"), sink);
            if mirror.text("pool").is_some_and(|pool| self.only_http2.contains(pool)) {
                let message =
                    "copies go over HTTP/1.1, which this pool's servers are not spoken to";
                let trouble = Trouble::new(message).found("a pool with `http2 = \"only\"`");
                let trouble = trouble.expected("`http2 = \"prefer\"` there, or another pool");
                sink.error(mirror.place_of("pool"), &format!("{path}.mirror.pool"), trouble);
            }
        }
    }

    fn pool(&self, section: &Section, key: &str, path: &str, sink: &mut Sink<'_, '_>) {
        let Some(wanted) = section.text(key).filter(|name| !self.pools.contains(name)) else {
            return;
        };
        if !self.whole {
            return;
        }
        let near = match sink.searches() {
            true => nearest(wanted, self.pools.iter().copied()),
            false => None,
        };
        let trouble = Trouble::new(format!("there is no pool `{wanted}`"))
            .expected("the name of a table `[pool.NAME]`")
            .suggest(near.map(|name| format!("\"{name}\"")));
        sink.error(section.place_of(key), &format!("{path}.{key}"), trouble);
    }

    fn condition(
        &mut self,
        of: Of<'_>,
        when: &Section,
        path: &str,
        depth: usize,
        sink: &mut Sink<'_, '_>,
    ) {
        if depth > 0 {
            misfit(of, &WHEN_TABLE, when, path, sink);
        }
        if depth > DEEP {
            let message = format!("conditions nest more than {DEEP} deep");
            return sink.error(when.place, path, Trouble::new(message));
        }
        let paths = never::Paths::of(of.service);
        never::verify(when, never::Place { path, nested: depth > 0, paths }, sink);
        let globs = when.texts("path").iter().filter_map(|text| PathPattern::parse(text));
        self.expressions += when.texts("path-regex").len()
            + globs.filter(|glob| matches!(glob, PathPattern::Glob(_))).count();
        let mut wrong = |key: &str, trouble: Trouble| {
            sink.error(when.place_of(key), &format!("{path}.{key}"), trouble);
        };
        if depth > 0 && when.wrote("rate") {
            let trouble = Trouble::new("`rate` takes something when it holds, so it stands alone");
            wrong("rate", trouble.expected("`rate` in the rule's `when` itself"));
        }
        if when.wrote("count") && !when.wrote("active") {
            wrong(
                "count",
                Trouble::new("`count` says whose `active` is meant, and that is not there"),
            );
        }
        if when.wrote("sni") && of.forward == "http" && of.service.table("tls").is_none() {
            let trouble =
                Trouble::new("the service does not speak TLS, so no client names a server");
            wrong("sni", trouble.expected("`tls` in the service, or `host`"));
        }
        if let Some(servers) = when.table("servers") {
            let any = ["up", "busy", "load", "each-load"].iter().any(|key| servers.wrote(key));
            if !any {
                let trouble = Trouble::new("a state of a pool needs one of its numbers");
                wrong("servers", trouble.expected("`up`, `busy`, `load` or `each-load`"));
            }
            self.pool(servers, "of", &format!("{path}.servers"), sink);
        }
        for key in ["all", "any"] {
            for (at, inner) in when.list(key).iter().enumerate() {
                self.condition(of, inner, &format!("{path}.{key}[{at}]"), depth + 1, sink);
            }
        }
        if let Some(not) = when.table("not") {
            self.condition(of, not, &format!("{path}.not"), depth + 1, sink);
        }
    }
}

/// Keys that the method cannot carry.
fn misfit(
    of: Of<'_>,
    table: &'static super::super::schema::Table,
    section: &Section,
    path: &str,
    sink: &mut Sink<'_, '_>,
) {
    let forward = of.forward;
    let packets = forwards_packets(of.service);
    let unfit = |key: &Key| match forward {
        "tcp" => key.http_only || key.packets_only,
        _ if packets => key.http_only || key.proxy_only,
        _ => key.packets_only,
    };
    misfits(table, section, path, &unfit, &mut |section, key, path| {
        let message = match packets {
            true => format!(
                "`{key}` belongs to proxied services; `forward = \"{forward}\"` carries packets"
            ),
            false if forward == "tcp" && table.find(key).is_none_or(|(_, key)| key.http_only) => {
                format!("`{key}` belongs to `forward = \"http\"`; this service forwards bytes")
            }
            false => {
                format!("`{key}` belongs to packet forwarding: `forward` `mac`, `nat` or `tunnel`")
            }
        };
        sink.error(section.place_of(key), path, Trouble::new(message));
    });
}

/// What a rule does, and what goes with it.
fn action(rule: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let ends = ["redirect", "answer", "deny"].into_iter().find(|key| rule.setting(key).is_some());
    let mut wrong = |section: &Section, key: &str, inner: &str, trouble: Trouble| {
        sink.error(section.place_of(key), &format!("{path}.{inner}"), trouble);
    };
    if let Some(end) = ends {
        for key in ["mirror", "rewrite", "priority", "without-servers"] {
            // What the explanation writes out says nothing new.
            if rule.wrote(key) && rule.text(key) != Some("pool") {
                let message =
                    format!("`{key}` belongs to rules that choose a pool; this one has `{end}`");
                wrong(rule, key, key, Trouble::new(message));
            }
        }
    }
    if rule.setting("deny").is_some() && !rule.flag("deny") && !rule.broken("deny") {
        let trouble = Trouble::new("`deny = false` says nothing");
        wrong(rule, "deny", "deny", trouble.expected("`deny = true`, or no such key"));
    }
    if let Some(redirect) = rule.table("redirect") {
        let status: u16 = redirect.number("status");
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            let trouble = Trouble::new(format!("{status} does not send a client elsewhere"));
            let trouble = trouble.expected("301, 302, 303, 307 or 308");
            wrong(redirect, "status", "redirect.status", trouble);
        }
    }
    let split = rule.list("split");
    if !split.is_empty() && split.iter().all(|part| part.number::<u32>("weight") == 0) {
        let trouble = Trouble::new("no part of the split takes anything: each has weight 0");
        wrong(rule, "split", "split", trouble);
    }
    if let Some(limit) = rule.table("limit") {
        let by_header = limit.text("by") == Some("header");
        if by_header != limit.setting("header").is_some() && !limit.broken("header") {
            let trouble = Trouble::new("`by = \"header\"` and `header` belong together");
            let key = if by_header { "by" } else { "header" };
            wrong(limit, key, &format!("limit.{key}"), trouble);
        }
        for key in ["mask4", "mask6"] {
            if limit.wrote(key) && limit.text("by") != Some("address") {
                let trouble = Trouble::new("it belongs to `by = \"address\"`");
                wrong(limit, key, &format!("limit.{key}"), trouble);
            }
        }
    }
}

/// What of a limit bytes cannot be held against.
fn limited(of: Of<'_>, rule: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let limit = rule.table("limit").filter(|_| of.forward == "tcp");
    if let Some(limit) = limit.filter(|limit| limit.text("by") == Some("header")) {
        let trouble = Trouble::new("bytes show no fields").expected("`by = \"address\"`");
        sink.error(limit.place_of("by"), &format!("{path}.limit.by"), trouble);
    }
}
