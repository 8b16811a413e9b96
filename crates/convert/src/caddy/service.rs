//! Sites that share a port become one service, with rules by host.

use std::collections::HashSet;

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::draft_check::DraftChecker;
use crate::duration::format_duration;
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::site_rule::{SiteRule, write_rules};
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::globals::GlobalOptions;
use super::matcher::{NamedMatchers, host_condition};
use super::pools::ProxyPools;
use super::route::RouteWriter;
use super::route_state::RouteState;
use super::rule_closing::close_gaps;
use super::site::{CaddySite, GroupMember, SiteGroup};

/// Caddy's times towards clients, in milliseconds. Where it has no limit, a day is written.
const HEADER: u64 = 60_000;
const IDLE: u64 = 300_000;
const UNLIMITED: u64 = 86_400_000;

/// Writes the services of sites.
pub struct SiteServiceWriter<'w, 't> {
    pub sites: &'w [CaddySite<'t>],
    pub globals: &'w GlobalOptions,
    pub pools: &'w mut ProxyPools,
    pub checker: &'w mut DraftChecker,
    pub names: UniqueNames,
    pub document: &'w mut Document,
    pub notes: &'w mut ConversionNotes,
}

impl<'w> SiteServiceWriter<'w, '_> {
    /// Writes the service of a group. Nothing is written where no site of it can have its TLS.
    pub fn write(&mut self, group: &SiteGroup) {
        let served: Vec<usize> = group
            .members
            .iter()
            .map(|member| member.site)
            .filter(|at| !group.tls || self.sites.get(*at).is_some_and(|site| !site.tls.is_refused))
            .collect();
        let Some(first) = served.first().and_then(|at| self.sites.get(*at)) else { return };
        let client = self.client_keys(group);
        let mut rules = Vec::new();
        for member in &group.members {
            rules.extend(self.member_rules(group, member, client));
        }
        if !group.members.iter().any(|member| member.hosts.iter().any(String::is_empty)) {
            let redirect = group.members.iter().find_map(|member| member.redirect);
            let when = RuleCondition::Is(true);
            rules.push(match redirect {
                // Beside redirects for its names, Caddy has one for all others.
                Some(port) => SiteRule {
                    when,
                    keys: vec![https_redirect(port)],
                    source: SourcePlace::NONE,
                    text: "automatic HTTPS".to_owned(),
                },
                None => SiteRule::answer(when, 200, SourcePlace::NONE, ""),
            });
        }
        let host = group.members.iter().flat_map(|one| &one.hosts).find(|host| !host.is_empty());
        let label = host.map_or("web", String::as_str);
        let label = if group.tls { format!("{label}-tls") } else { label.to_owned() };
        let name = self.names.unique_name(&label);
        let path = format!("service.{name}");
        let mut service =
            TomlTable::new(path.clone(), first.statement.source, &first.statement.text());
        let source = first.statement.source;
        let every = [String::new()];
        for bind in if group.bind.is_empty() { &every[..] } else { &group.bind[..] } {
            let bind = if bind.contains(':') { format!("[{bind}]") } else { bind.clone() };
            service.push_item("listen", value::quote(&format!("{bind}:{}", group.port)), source);
        }
        service.set("forward", value::quote("http"), SourcePlace::NONE);
        let pool = rules.iter().flat_map(|rule| &rule.keys).find(|one| one.key == "pool");
        let pool = pool.map_or_else(|| value::quote(empty_pool::NAME), |one| one.value.clone());
        if pool == value::quote(empty_pool::NAME) {
            empty_pool::ensure_pool(self.document);
        }
        service.set("pool", pool, SourcePlace::NONE);
        service.set("path-case", value::quote("ignore"), SourcePlace::NONE);
        self.write_clients(&mut service, group.tls);
        self.write_sticky(&mut service, &rules);
        self.write_compression(&mut service, &served);
        self.document.push(service);
        self.write_times(&path);
        if group.tls {
            self.write_tls(&path, group);
        }
        write_rules(&name, rules, group.tls, self.document, self.notes);
    }

    fn member_rules(
        &mut self,
        group: &SiteGroup,
        member: &GroupMember,
        client: Option<&[KeyValue]>,
    ) -> Vec<SiteRule> {
        let Some(site) = self.sites.get(member.site) else { return Vec::new() };
        let when = host_condition(&member.hosts);
        let statement = site.statement;
        let text = statement.text();
        if let Some(port) = member.redirect {
            let keys = vec![https_redirect(port)];
            return vec![SiteRule { when, keys, source: statement.source, text }];
        }
        if group.tls && site.tls.is_refused || self.is_other_client(client, site) {
            return vec![SiteRule::answer(when, 502, statement.source, &text)];
        }
        let trusts_proxies = self.globals.trust.is_some();
        let matchers = NamedMatchers::none(self.globals.clients);
        let steps = self.globals.order.steps(statement.inner(), &matchers, false);
        let mut writer = RouteWriter {
            order: &self.globals.order,
            pools: self.pools,
            checker: self.checker,
            notes: self.notes,
            tls: group.tls,
            trusts_proxies,
            rules: Vec::new(),
            is_too_large: false,
            depth: 0,
        };
        writer.follow(statement, &steps, RouteState::begin(when.clone()));
        if writer.is_too_large {
            let reason = "its conditions make more rules than one site may have: it answers 502";
            statement.leave_out(reason, "fewer conditional changes", writer.notes);
            return vec![SiteRule::answer(when, 502, statement.source, &text)];
        }
        let rules = writer.rules;
        close_gaps(rules, group.tls, self.checker, self.notes)
    }

    /// What the first site of a listener that asks for certificates of clients wants of them.
    fn client_keys(&self, group: &SiteGroup) -> Option<&'w [KeyValue]> {
        let sites = self.sites;
        let served = group.members.iter().filter_map(|one| sites.get(one.site));
        let mut served = served.filter(|one| group.tls && !one.tls.is_refused);
        served.find_map(|one| one.tls.client.as_ref()).map(|client| client.keys.as_slice())
    }

    /// Whether a site wants other certificates of clients than those that its listener asks for.
    fn is_other_client(&mut self, asked: Option<&[KeyValue]>, site: &CaddySite<'_>) -> bool {
        let (Some(asked), Some(own)) = (asked, &site.tls.client) else { return false };
        if asked == own.keys.as_slice() {
            return false;
        }
        let reason =
            "certificates of clients are judged alike at one listener: the site answers 502";
        self.notes.left_out(own.source, "client_auth", reason, "a listener of its own");
        true
    }

    /// What is known of clients: forwarding fields, trusted proxies, protocols.
    fn write_clients(&mut self, service: &mut TomlTable, tls: bool) {
        match &self.globals.trust {
            Some(trust) => service.set("trust", trust.value.clone(), trust.source),
            // The fields are set by rules, and others pass.
            None => {
                let passed = [KeyValue::new("x-forwarded", value::quote("pass"))];
                service.set("forwarded", value::table(&passed), SourcePlace::NONE);
            }
        }
        if let Some(accept) = &self.globals.accept_proxy {
            service.set_required("accept-proxy", accept.value.clone(), accept.source);
        }
        if tls && !self.globals.http2 {
            service.set("http2", value::quote("off"), SourcePlace::NONE);
        }
        if tls && self.globals.http3 {
            service.set("http3", value::quote("on"), SourcePlace::NONE);
        }
    }

    fn write_sticky(&mut self, service: &mut TomlTable, rules: &[SiteRule]) {
        let keys = rules.iter().flat_map(|rule| &rule.keys).filter(|one| one.key == "pool");
        let mut cookies: Vec<_> =
            keys.map(|one| self.pools.cookies.get(one.value.trim_matches('"'))).collect();
        cookies.dedup();
        match cookies.as_slice() {
            [Some(cookie)] => {
                let pairs = [
                    KeyValue::new("by", value::quote("cookie")),
                    KeyValue::new("name", value::quote(&cookie.name)),
                ];
                service.set("sticky", value::table(&pairs), cookie.source);
            }
            several => {
                for cookie in several.iter().flatten() {
                    let reason = "clients are kept by a whole service, and not by one of its pools";
                    self.notes.left_out(cookie.source, "lb_policy cookie", reason, "`sticky`");
                }
            }
        }
    }

    fn write_compression(&mut self, service: &mut TomlTable, served: &[usize]) {
        let sites = self.sites;
        let inner = served.iter().filter_map(|at| sites.get(*at)).map(|site| site.statement);
        let mut found: Vec<&ConfigStatement> = Vec::new();
        let mut without = false;
        for site in inner {
            let before = found.len();
            collect_encodes(site, &mut found);
            without |= found.len() == before;
        }
        let Some(first) = found.first() else { return };
        let known = ["zstd", "br", "gzip"];
        let named = |one: &str| known.contains(&one).then(|| one.to_owned());
        let mut codings: Vec<String> =
            first.words_from(0).iter().filter_map(|one| named(one)).collect();
        codings.extend(first.inner().iter().filter_map(|line| named(&line.name)));
        if codings.is_empty() {
            codings = vec!["zstd".to_owned(), "gzip".to_owned()];
        }
        let least = first.find("minimum_length").map_or("512", |one| one.word(0));
        let pairs = [
            KeyValue::new("codings", value::quote_all(&codings)),
            KeyValue::new("min", value::quote(&format!("{least}B"))),
        ];
        service.set("compress", value::table(&pairs), first.source);
        let is_partial = |one: &ConfigStatement| one.peek(0).starts_with(['/', '@']);
        for encode in &found {
            if without || is_partial(encode) || found.len() > served.len() {
                let reason = "answers of a whole service are compressed";
                encode.note_changed(reason, "`compress`", self.notes);
            }
            encode.words_from(0);
            encode.settle_converted(self.notes);
            for line in encode.inner() {
                match line.name.as_str() {
                    "match" => line.note_changed(
                        "media types are the usual ones",
                        "`compress.types`",
                        self.notes,
                    ),
                    _ => line.note_changed(
                        "coders have levels of their own",
                        "`compress`",
                        self.notes,
                    ),
                }
            }
        }
    }

    fn write_times(&mut self, path: &str) {
        let times = &self.globals.timeouts;
        let mut table = TomlTable::new(format!("{path}.timeout"), SourcePlace::NONE, "");
        for (key, set, other) in [
            ("header", times.header, HEADER),
            ("idle", times.idle, IDLE),
            ("between-bytes", times.body, UNLIMITED),
            ("tunnel", None, UNLIMITED),
        ] {
            let ms = set.map_or(other, |time| time.ms);
            table.set(key, format_duration(ms), set.map_or(SourcePlace::NONE, |time| time.source));
        }
        self.document.push(table);
    }

    fn write_tls(&mut self, path: &str, group: &SiteGroup) {
        let all = group.members.iter().filter_map(|member| self.sites.get(member.site));
        let served: Vec<&CaddySite<'_>> = all.filter(|site| !site.tls.is_refused).collect();
        let Some(first) = served.first() else { return };
        let mut tls = TomlTable::new(format!("{path}.tls"), first.statement.source, "");
        let mut files: Vec<String> = Vec::new();
        let mut known = HashSet::new();
        let mut names: Vec<String> = Vec::new();
        let mut acme: Vec<KeyValue> = Vec::new();
        let mut sources = Vec::new();
        for site in &served {
            for file in &site.tls.certificates {
                sources.push(file.source);
                if known.insert(file.path.as_str()) {
                    files.push(file.path.clone());
                }
            }
            let Some(keys) = &site.tls.acme else { continue };
            let hosts = site.addresses.iter().filter(|one| one.tls).map(|one| one.host.clone());
            names.extend(hosts);
            if acme.is_empty() {
                acme.clone_from(keys);
            } else if acme != *keys {
                let reason = "certificates of one listener are ordered in one way, the first that is written";
                site.statement.note_changed(reason, "`tls.acme`", self.notes);
            }
        }
        names.sort();
        names.dedup();
        if !files.is_empty() {
            tls.set_required("certificates", value::quote_all(&files), sources[0]);
            tls.add_sources("certificates", &sources);
        }
        if !names.is_empty() {
            acme.insert(0, KeyValue::new("names", value::quote_all(&names)));
            tls.set_required("acme", value::table(&acme), SourcePlace::NONE);
        }
        let modern = served.iter().filter(|site| site.tls.is_modern).count();
        if modern > 0 && modern < served.len() {
            let reason = "TLS 1.3 alone is spoken at the whole listener";
            first.statement.note_changed(reason, "`tls.minimum`", self.notes);
        }
        let minimum = if modern > 0 { "1.3" } else { "1.2" };
        tls.set_required("minimum", value::quote(minimum), SourcePlace::NONE);
        let unknown = if self.globals.default_sni.is_some() { "refuse" } else { "require" };
        let source = self.globals.default_sni.as_ref().map_or(SourcePlace::NONE, |one| one.source);
        if self.globals.default_sni.is_some() && (files.len() + usize::from(!names.is_empty())) > 1
        {
            let reason = "a client without a name gets the first certificate";
            self.notes.changed(source, "default_sni", reason, "the order of `certificates`");
        }
        tls.set("unknown-sni", value::quote(unknown), source);
        if let Some(demand) = served.iter().find_map(|site| site.tls.client.as_ref()) {
            let mut keys = demand.keys.clone();
            let asks = |site: &&&CaddySite<'_>| site.tls.client.is_some();
            let hosts: Vec<String> = served
                .iter()
                .filter(asks)
                .flat_map(|site| site.addresses.iter().map(|one| one.host.clone()))
                .collect();
            if served.iter().any(|site| site.tls.client.is_none())
                && !hosts.iter().any(String::is_empty)
            {
                keys.push(KeyValue::new("names", value::quote_all(&hosts)));
            }
            tls.set_required("client", value::table(&keys), demand.source);
        }
        self.document.push(tls);
    }
}

/// A redirect to the same URL with TLS at this port.
fn https_redirect(port: u16) -> KeyValue {
    let port = if port == 443 { String::new() } else { format!(":{port}") };
    let to = value::quote(&format!("https://{{host-name}}{port}{{path}}{{query}}"));
    let keys = [KeyValue::new("to", to), KeyValue::new("status", "308")];
    KeyValue::new("redirect", value::table(&keys))
}

/// The `encode` directives of a site and of the blocks in it.
fn collect_encodes<'t>(block: &'t ConfigStatement, out: &mut Vec<&'t ConfigStatement>) {
    for one in block.inner() {
        match one.name.as_str() {
            "encode" => out.push(one),
            "handle" | "handle_path" | "route" => collect_encodes(one, out),
            _ => {}
        }
    }
}
