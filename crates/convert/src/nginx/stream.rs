//! `stream`: TCP forwarding, by SNI if a `map` selects the upstream.

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::duration::{self, TimeSetting};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::accept_proxy;
use super::access;
use super::content;
use super::listen;
use super::pools::{PoolUse, UpstreamPools};
use super::rule::{self, NginxRule};
use super::scope::DirectiveScope;
use super::tree::Directive;

pub fn convert(
    block: &[Directive],
    document: &mut Document,
    pools: &mut UpstreamPools,
    names: &mut UniqueNames,
    notes: &mut ConversionNotes,
) {
    let outer = DirectiveScope::default().nested(block);
    content::note_unsupported(block, notes);
    let of = |name: &str| block.iter().filter(|one| one.name == name).collect::<Vec<_>>();
    let upstreams = of("upstream");
    let maps = of("map");
    for server in of("server") {
        let level = server.inner();
        content::note_unsupported(level, notes);
        let mut stream = StreamWriter {
            upstreams: &upstreams,
            maps: &maps,
            scope: outer.nested(level),
            pools,
            notes,
        };
        stream.service(server, document, names);
    }
    notes.settle_written(document);
    content::note_unused(block, notes);
    for map in maps.iter().filter(|map| !map.is_settled()) {
        notes.left_out(map.source, &map.text(), "there are no variables", "rules with `sni`");
    }
    for unused in upstreams.iter().filter(|one| !pools.has_used(one.word(0))) {
        notes.not_needed(unused.source, &unused.text(), "nothing refers to it");
    }
}

struct StreamWriter<'s, 't> {
    upstreams: &'s [&'t Directive],
    maps: &'s [&'t Directive],
    scope: DirectiveScope<'t>,
    pools: &'s mut UpstreamPools,
    notes: &'s mut ConversionNotes,
}

impl StreamWriter<'_, '_> {
    fn service(&mut self, server: &Directive, document: &mut Document, names: &mut UniqueNames) {
        let level = server.inner();
        let switches = ["ssl_preread", "proxy_ssl", "proxy_protocol"];
        let switched = switches.iter().filter_map(|name| self.scope.get(name));
        switched.for_each(Directive::mark_converted);
        let all = level.iter().filter(|one| one.name == "listen");
        let listens: Vec<listen::ListenAddress> =
            all.filter_map(|one| listen::read(one, false, self.notes)).collect();
        let Some(first) = listens.first() else {
            let reason = "it listens nowhere that is carried over";
            return self.notes.left_out(server.source, &server.text(), reason, "`listen`");
        };
        let Some(pass) = level.iter().find(|one| one.name == "proxy_pass") else {
            return self.notes.left_out(
                server.source,
                &server.text(),
                "no server is named",
                "`pool` in a service",
            );
        };
        let mut rules = access::rules(&self.scope, self.notes);
        let Some(pool) = self.target(pass, &mut rules) else { return };
        let name = names.unique_name(&format!("{}-{}", pool, first.port));
        let path = format!("service.{name}");
        let mut service = TomlTable::new(path.clone(), server.source, &server.text());
        for listen in &listens {
            service.push_item("listen", value::quote(&listen.address), listen.source);
        }
        service.set("forward", value::quote("tcp"), SourcePlace::NONE);
        service.set("pool", value::quote(&pool), pass.source);
        if listens.iter().any(|listen| listen.header) {
            service.set_required(
                "accept-proxy",
                accept_proxy::accept_proxy(&self.scope),
                first.source,
            );
        }
        // nginx's own time is ten minutes.
        let silence = self.scope.time("proxy_timeout");
        let TimeSetting { ms, source } =
            silence.unwrap_or(TimeSetting { ms: 600_000, source: SourcePlace::NONE });
        let tunnel = KeyValue::new("tunnel", duration::format_duration(ms));
        service.set("timeout", value::table(&[tunnel]), source);
        let tls = listens.iter().any(|listen| listen.tls);
        if tls && !level.iter().any(|one| one.name == "ssl_certificate") {
            return self.notes.left_out(
                first.source,
                "listen … ssl",
                "TLS needs the file of a certificate",
                "`tls`",
            );
        }
        document.push(service);
        if tls {
            super::tls::write(&path, first.source, &[&self.scope], document, self.notes);
        }
        rule::write(&name, rules, tls, document);
    }

    /// The pool. If a `map` selects the pool by server name, a rule is added for each name.
    fn target(&mut self, pass: &Directive, rules: &mut Vec<NginxRule>) -> Option<String> {
        let Some(variable) = pass.word(0).strip_prefix('$') else {
            return Some(self.pool(pass.word(0), pass.source));
        };
        let map = self.maps.iter().find(|map| map.word(1).strip_prefix('$') == Some(variable));
        let Some(map) = map.filter(|map| map.word(0) == "$ssl_preread_server_name") else {
            self.notes.left_out(
                pass.source,
                &pass.text(),
                "which server is meant depends on variables",
                "rules with `sni`",
            );
            return None;
        };
        map.mark_converted();
        pass.mark_converted();
        let mut default = None;
        let denied = rules.len();
        for entry in map.inner() {
            let name = entry.name.as_str();
            let target = entry.word(0);
            let text = entry.text();
            match name {
                "default" => {
                    entry.mark_converted();
                    default = Some(self.pool(target, entry.source));
                }
                "hostnames" => entry.mark_converted(),
                name if name.starts_with('~') || name.ends_with(".*") => {
                    self.notes.left_out(
                        entry.source,
                        &text,
                        "names are compared whole or below a domain",
                        "`sni = \"*.shop.example\"`",
                    );
                }
                name => {
                    let names = match name.strip_prefix('.') {
                        Some(bare) => vec![bare.to_owned(), format!("*{name}")],
                        None => vec![name.to_owned()],
                    };
                    let pool = value::quote(&self.pool(target, entry.source));
                    rules.push(NginxRule::single_key(
                        RuleCondition::texts("sni", &names),
                        "pool",
                        pool,
                        entry.source,
                        &text,
                    ));
                }
            }
        }
        // nginx prefers exact names to wildcards, and longer wildcards to shorter ones.
        let rank = |rule: &NginxRule| {
            let when = rule.when.to_when().unwrap_or_default();
            (when.contains("\"*."), std::cmp::Reverse(when.len()))
        };
        rules[denied..].sort_by_key(rank);
        if default.is_none() {
            rules.push(NginxRule::single_key(
                RuleCondition::Is(true),
                "deny",
                "true",
                map.source,
                "map without default: refused",
            ));
        }
        let first = rules.iter().flat_map(|rule| &rule.keys).find(|one| one.key == "pool");
        default.or_else(|| first.map(|pool| pool.value.trim_matches('"').to_owned()))
    }

    fn pool(&mut self, target: &str, source: SourcePlace) -> String {
        let used = PoolUse { scheme: "tcp", target, source };
        self.pools.reference(used, self.upstreams, &self.scope, self.notes).name
    }
}
