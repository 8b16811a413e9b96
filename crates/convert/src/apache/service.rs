//! Virtual hosts that share a listener become one service, with rules by name.

use crate::condition::{RuleCondition, escape_regex};
use crate::document::{Document, TomlTable};
use crate::duration::format_duration;
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::site_rule::{SiteRule, write_rules};
use crate::size::format_size;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::balancer::BalancerPools;
use super::client_networks::{TRUSTED_PROXIES, network};
use super::host::HostWriter;
use super::listen::{HttpdListener, VirtualHost};
use super::scope::ServerScope;
use super::tls;

/// Times of the server towards clients, in milliseconds.
const HEADER: u64 = 40_000;
const KEEP_ALIVE: u64 = 5_000;
const TIMEOUT: u64 = 60_000;

/// Writes the services of virtual hosts.
pub struct HostServiceWriter<'w, 't> {
    pub hosts: &'w [VirtualHost<'t>],
    pub pools: &'w mut BalancerPools<'t>,
    pub names: UniqueNames,
    pub document: &'w mut Document,
    pub notes: &'w mut ConversionNotes,
}

impl<'t> HostServiceWriter<'_, 't> {
    /// Writes the service of a listener.
    pub fn write(&mut self, listener: &HttpdListener) {
        let hosts: Vec<&VirtualHost<'t>> =
            listener.hosts.iter().filter_map(|at| self.hosts.get(*at)).collect();
        let Some(default) = hosts.first().copied() else { return };
        let is_https = listener.is_https;
        let secure = tls::is_on(default, is_https);
        for odd in hosts.iter().filter(|host| tls::is_on(host, is_https) != secure) {
            let reason =
                "TLS is spoken at a whole listener or not at all: the virtual host answers 502";
            odd.statement.leave_out(reason, "a listener of its own", self.notes);
        }
        let mut rules = Vec::new();
        for (at, host) in hosts.iter().enumerate() {
            // The default virtual host takes every name that no other one has, and its own before others.
            let when = names_condition(host);
            let is_before = |other: &&VirtualHost<'_>| {
                let wild = |name: &String| name.contains(['*', '?']);
                other.names.iter().any(|name| wild(name) || default.names.contains(name))
            };
            if at > 0 || hosts.iter().skip(1).any(is_before) {
                let Some(when) = when else { continue };
                let own = match secure && tls::asks_otherwise(&hosts, at) {
                    true => vec![closed(host)],
                    false => self.host_rules(host, secure, listener),
                };
                rules.extend(own.into_iter().map(|rule| rule.with_condition(&when)));
            }
        }
        rules.extend(self.host_rules(default, secure, listener));
        let label = default.names.first().map_or("web", String::as_str);
        let label = if secure { format!("{label}-tls") } else { label.to_owned() };
        let name = self.names.unique_name(&label);
        let path = format!("service.{name}");
        let mut service = TomlTable::new(path.clone(), default.source, &default.statement.text());
        let address = match &listener.address {
            Some(address) if address.contains(':') => format!("[{address}]:{}", listener.port),
            Some(address) => format!("{address}:{}", listener.port),
            None => format!(":{}", listener.port),
        };
        service.push_item("listen", value::quote(&address), listener.source);
        service.set("forward", value::quote("http"), SourcePlace::NONE);
        let pool = rules.iter().flat_map(|rule| &rule.keys).find(|one| one.key == "pool");
        let pool = pool.map_or_else(|| value::quote(empty_pool::NAME), |one| one.value.clone());
        if pool == value::quote(empty_pool::NAME) {
            empty_pool::ensure_pool(self.document);
        }
        service.set("pool", pool, SourcePlace::NONE);
        let scope = default.scope;
        self.write_clients(&mut service, &scope, secure);
        self.write_sticky(&mut service, &rules);
        self.write_compression(&mut service, &hosts);
        self.document.push(service);
        self.write_limits(&path, &scope);
        self.write_body_limit(&path, &hosts);
        if secure {
            tls::write(&path, &hosts, self.document, self.notes);
        }
        write_rules(&name, rules, secure, self.document, self.notes);
    }

    fn host_rules(
        &mut self,
        host: &VirtualHost<'t>,
        secure: bool,
        listener: &HttpdListener,
    ) -> Vec<SiteRule> {
        host.statement.words_from(0);
        host.statement.settle_converted(self.notes);
        if tls::is_on(host, listener.is_https) != secure {
            return vec![SiteRule::answer(RuleCondition::Is(true), 502, host.source, "")];
        }
        let server_name = host.names.first().map_or("", String::as_str);
        let mut writer = HostWriter {
            scope: host.scope,
            pools: self.pools,
            notes: self.notes,
            server_name,
            port: listener.port,
            section: None,
            is_too_large: false,
        };
        let mut rules = writer.rules(host.statement);
        if let Some(limit) = self.body_limit(host) {
            let proxied = rules.iter_mut().filter(|rule| rule.has_pool());
            proxied.for_each(|rule| rule.keys.push(KeyValue::new("body-bytes", limit.clone())));
        }
        rules
    }

    /// `LimitRequestBody` of a virtual host, as the value of `body-bytes`.
    fn body_limit(&mut self, host: &VirtualHost<'t>) -> Option<String> {
        let directive = host.scope.get("limitrequestbody")?;
        match directive.word(0).parse::<u64>() {
            Ok(bytes) if bytes <= 1 << 50 => {
                directive.settle_converted(self.notes);
                (bytes > 0).then(|| format_size(bytes))
            }
            _ => {
                let reason = "not a size: bodies have no limit here";
                directive.leave_out(reason, "`body-bytes` in a rule", self.notes);
                None
            }
        }
    }

    /// Protocols, forwarding fields and trusted proxies.
    fn write_clients(&mut self, service: &mut TomlTable, scope: &ServerScope<'_>, secure: bool) {
        let via = scope.word("proxyvia", self.notes);
        let via = matches!(via.as_deref(), Some("on" | "full"));
        let passed = [
            KeyValue::new("x-forwarded", value::quote("pass")),
            KeyValue::new("via", via.to_string()),
        ];
        service.set("forwarded", value::table(&passed), SourcePlace::NONE);
        let protocols: Vec<String> = scope.get("protocols").map_or(Vec::new(), |one| {
            let words = one.words_from(0).iter().map(|word| word.to_ascii_lowercase()).collect();
            one.settle_converted(self.notes);
            words
        });
        let has = |name: &str| protocols.iter().any(|one| one == name);
        match (has("h2"), has("h2c")) {
            (_, true) => service.set("http2", value::quote("always"), SourcePlace::NONE),
            (true, false) => {}
            (false, false) if secure => {
                service.set("http2", value::quote("off"), SourcePlace::NONE);
            }
            _ => {}
        }
        if scope.word("remoteipproxyprotocol", self.notes).as_deref() == Some("on") {
            let everybody = ["0.0.0.0/0", "::/0"];
            let from = [KeyValue::new("from", value::quote_all(&everybody))];
            service.set_required("accept-proxy", value::table(&from), SourcePlace::NONE);
        }
        let Some(header) = scope.get("remoteipheader") else { return };
        let networks: Vec<String> = scope
            .all(&TRUSTED_PROXIES)
            .iter()
            .flat_map(|one| {
                let words = one.words_from(0).to_vec();
                one.settle_converted(self.notes);
                words
            })
            .filter_map(|word| network(&word))
            .collect();
        let usual = header.word(0).eq_ignore_ascii_case("x-forwarded-for");
        if usual && !networks.is_empty() {
            header.settle_converted(self.notes);
            service.set("trust", value::quote_all(&networks), header.source);
        } else {
            let reason = "clients are named by X-Forwarded-For from proxies that are written here: none is trusted";
            header.leave_out(reason, "`trust`", self.notes);
        }
    }

    fn write_sticky(&mut self, service: &mut TomlTable, rules: &[SiteRule]) {
        let keys = rules.iter().flat_map(|rule| &rule.keys).filter(|one| one.key == "pool");
        let mut found: Vec<_> =
            keys.map(|one| self.pools.sessions.get(one.value.trim_matches('"'))).collect();
        found.dedup();
        let [Some(session)] = found.as_slice() else {
            for session in found.iter().flatten() {
                let reason = "clients are kept by a whole service, and not by one of its pools";
                self.notes.left_out(session.source, "stickysession", reason, "`sticky`");
            }
            return;
        };
        let is_route = |one: &crate::statement::ConfigStatement| {
            one.name == "header" && one.text().contains("BALANCER_WORKER_ROUTE")
        };
        let inserts = self
            .hosts
            .iter()
            .any(|host| host.scope.main.iter().chain(host.scope.own).any(is_route));
        let mut pairs = vec![
            KeyValue::new("by", value::quote("cookie")),
            KeyValue::new("name", value::quote(&session.cookie)),
        ];
        if !inserts {
            pairs.push(KeyValue::new("cookie", value::quote("learn")));
            pairs.push(KeyValue::new("expire", value::quote("1h")));
        }
        service.set("sticky", value::table(&pairs), session.source);
        let reason = match inserts {
            true => "values of the cookie are new, so that clients are shared out anew once",
            false => "which server a session has is learned from its answers, for an hour",
        };
        self.notes.changed(session.source, "stickysession", reason, "`sticky`");
    }

    fn write_compression(&mut self, service: &mut TomlTable, hosts: &[&VirtualHost<'t>]) {
        let mut types: Vec<String> = Vec::new();
        let mut codings: Vec<&str> = Vec::new();
        let mut source = SourcePlace::NONE;
        for one in hosts
            .iter()
            .flat_map(|host| host.scope.all(&["addoutputfilterbytype", "setoutputfilter"]))
        {
            let filters = one.word(0).to_ascii_uppercase();
            let known = [("BROTLI_COMPRESS", "br"), ("DEFLATE", "gzip")];
            let named: Vec<&str> =
                known.iter().filter(|pair| filters.contains(pair.0)).map(|pair| pair.1).collect();
            if named.is_empty() {
                continue;
            }
            codings.extend(named);
            types.extend(one.words_from(1).iter().map(|word| word.to_ascii_lowercase()));
            source = one.source;
            one.settle_converted(self.notes);
        }
        if codings.is_empty() {
            return;
        }
        codings.sort_unstable();
        codings.dedup();
        types.sort();
        types.dedup();
        let mut pairs = vec![KeyValue::new("codings", value::quote_all(&codings))];
        if !types.is_empty() {
            pairs.push(KeyValue::new("types", value::quote_all(&types)));
        }
        pairs.push(KeyValue::new("min", value::quote("1B")));
        service.set("compress", value::table(&pairs), source);
    }

    /// `LimitRequestBody`, where all virtual hosts of the listener have the same.
    fn write_body_limit(&mut self, path: &str, hosts: &[&VirtualHost<'t>]) {
        let found: Vec<_> = hosts.iter().map(|host| host.scope.get("limitrequestbody")).collect();
        let Some(first) = found.first().copied().flatten() else { return };
        let is_same = found.iter().all(|one| one.is_some_and(|one| one.peek(0) == first.peek(0)));
        let bytes = first.peek(0).parse::<u64>().ok().filter(|bytes| is_same && *bytes > 0);
        let Some(bytes) = bytes else { return };
        found.iter().flatten().for_each(|one| {
            one.words_from(0);
            one.settle_converted(self.notes);
        });
        let limits = format!("{path}.limit");
        let value = value::quote(&format!("{bytes}B"));
        match self.document.find(&limits) {
            Some(table) => table.set("body-bytes", value, first.source),
            None => {
                let mut table = TomlTable::new(limits, SourcePlace::NONE, "");
                table.set("body-bytes", value, first.source);
                self.document.push(table);
            }
        }
    }

    fn write_limits(&mut self, path: &str, scope: &ServerScope<'_>) {
        let between = scope.seconds("timeout", self.notes).unwrap_or(TIMEOUT);
        let idle = scope.seconds("keepalivetimeout", self.notes).unwrap_or(KEEP_ALIVE);
        let mut table = TomlTable::new(format!("{path}.timeout"), SourcePlace::NONE, "");
        let mut header = HEADER;
        if let Some(read) = scope.get("requestreadtimeout") {
            for word in read.words_from(0) {
                let bounds =
                    word.strip_prefix("header=").map(|text| text.split(',').next().unwrap_or(text));
                let most = bounds.and_then(|text| text.rsplit('-').next());
                if let Some(seconds) =
                    most.and_then(|text| text.parse::<u64>().ok()).filter(|n| *n > 0)
                {
                    header = seconds.saturating_mul(1_000);
                }
            }
            let reason = "a head has its longest time, and a body a time between two bytes";
            read.note_changed(reason, "`timeout.header`, `timeout.between-bytes`", self.notes);
        }
        for (key, ms) in
            [("header", header), ("idle", idle), ("between-bytes", between), ("tunnel", between)]
        {
            table.set(key, format_duration(ms), SourcePlace::NONE);
        }
        self.document.push(table);
        let mut limits = TomlTable::new(format!("{path}.limit"), SourcePlace::NONE, "");
        for (name, key, unit) in
            [("limitrequestline", "target-bytes", "B"), ("limitrequestfields", "header-count", "")]
        {
            let Some(one) = scope.get(name) else { continue };
            let number = one.word(0).parse::<u32>().ok().filter(|n| *n > 0);
            if let Some(number) = number {
                let text = if unit.is_empty() {
                    number.to_string()
                } else {
                    value::quote(&format!("{number}{unit}"))
                };
                limits.set(key, text, one.source);
                one.settle_converted(self.notes);
            }
        }
        if !limits.entries.is_empty() {
            self.document.push(limits);
        }
    }
}

/// A virtual host that asks for other certificates than its listener does.
fn closed(host: &VirtualHost<'_>) -> SiteRule {
    let keys = vec![KeyValue::new("deny", "true")];
    SiteRule {
        when: RuleCondition::Is(true),
        keys,
        source: host.source,
        text: host.statement.text(),
    }
}

/// The condition of a virtual host's names. `None`: it has none, so that nothing reaches it by name.
fn names_condition(host: &VirtualHost<'_>) -> Option<RuleCondition> {
    let plain: Vec<&String> = host.names.iter().filter(|name| !name.contains(['*', '?'])).collect();
    let mut any = Vec::new();
    if !plain.is_empty() {
        any.push(RuleCondition::texts("host", &plain));
    }
    for wild in host.names.iter().filter(|name| name.contains(['*', '?'])) {
        let regex = escape_regex(wild).replace("\\*", ".*").replace("\\?", ".");
        any.push(RuleCondition::texts("host-regex", &[regex]));
    }
    (!any.is_empty()).then_some(RuleCondition::Any(any))
}
