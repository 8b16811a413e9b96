//! A frontend as one service, or as two where it listens with TLS and without.

use std::collections::BTreeMap;

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::{duration, empty_pool, value};

use super::acl::{self, AclTable};
use super::bind::{self, BindLine};
use super::compress;
use super::http_rules::{self, FinalRule, HeaderEdits, ProxyRules};
use super::lex::ConfigLine;
use super::pools::BackendPools;
use super::section::{HaproxySection, SectionKind};
use super::settings::ProxySettings;
use super::stick_table;
use super::tls;

/// A frontend with its settings, and the backends it refers to.
pub struct FrontendWriter<'a> {
    pub section: &'a HaproxySection,
    pub settings: &'a ProxySettings,
    pub pools: &'a BackendPools,
    pub base: &'a str,
}

/// All networks of both IP families.
const EVERYBODY: &str = "[\"0.0.0.0/0\", \"::/0\"]";

/// A rule whose condition may still depend on the listener's TLS.
struct FrontendRule {
    when: RuleCondition,
    keys: Vec<(&'static str, String)>,
    line: u32,
    text: String,
}

impl FrontendRule {
    fn from_final_rule(when: RuleCondition, ending: &FinalRule) -> FrontendRule {
        let keys = vec![(ending.key, ending.value.clone())];
        FrontendRule {
            when: when.and(ending.when.clone()),
            keys,
            line: ending.line,
            text: ending.text.clone(),
        }
    }
}

impl FrontendWriter<'_> {
    /// Writes its services. `ports`: where each backend's clients connect.
    pub fn write(
        &mut self,
        document: &mut Document,
        names: &mut UniqueNames,
        ports: &mut BTreeMap<String, Vec<u16>>,
        notes: &mut ConversionNotes,
    ) {
        let section = self.section;
        let settings = self.settings;
        if settings.disabled {
            return notes.left_out(section.line, &section.keyword, "it is disabled", "");
        }
        if let Some(mode) = &settings.unsupported_mode {
            return notes.left_out(
                mode.number,
                &mode.text(),
                "only requests and bytes are forwarded",
                "`forward = \"http\"` or \"tcp\"",
            );
        }
        if settings.binds.is_empty() {
            return notes.left_out(
                section.line,
                &section.keyword,
                "it listens nowhere",
                "`listen` in a service",
            );
        }
        let only_statistics = section.kind == SectionKind::Listen
            && settings.servers.is_empty()
            && settings.use_backends.is_empty()
            && settings.rules.is_empty()
            && !settings.single.contains_key("default_backend");
        if only_statistics {
            return notes.left_out(
                section.line,
                &section.keyword,
                "it has no servers",
                "`steelyard status`, `steelyard top` and `[global] metrics`",
            );
        }
        let binds: Vec<BindLine> =
            settings.binds.iter().filter_map(|line| bind::read(line, self.base, notes)).collect();
        let used = self.used_backends();
        for backend in &used {
            let known = ports.entry(backend.clone()).or_default();
            known.extend(binds.iter().flat_map(|bind| bind.ports.iter().copied()));
        }
        let rules = self.rules(notes);
        for (tls, header) in [(false, false), (true, false), (false, true), (true, true)] {
            let alike = |bind: &&BindLine| (bind.tls, bind.header) == (tls, header);
            let binds: Vec<&BindLine> = binds.iter().filter(alike).collect();
            if binds.is_empty() {
                continue;
            }
            let base = if section.name.is_empty() { "service" } else { section.name.as_str() };
            let both = tls
                && settings.binds.iter().any(|line| !line.words.iter().any(|word| word == "ssl"));
            let name =
                names.unique_name(&if both { format!("{base}-tls") } else { base.to_owned() });
            self.service(&name, &binds, &used, document, notes);
            write_rules(&name, &rules, tls, document);
        }
    }

    /// Backends that it sends to, the default one first.
    fn used_backends(&self) -> Vec<String> {
        let mut used: Vec<String> =
            self.default_backend().into_iter().map(|(name, _)| name).collect();
        for line in &self.settings.use_backends {
            if !used.iter().any(|known| known == line.word(1)) {
                used.push(line.word(1).to_owned());
            }
        }
        used.retain(|name| self.pools.written_name(name).is_some() && !self.is_empty_backend(name));
        used
    }

    /// Whether a backend has no servers. HAProxy answers its requests with 503.
    fn is_empty_backend(&self, name: &str) -> bool {
        self.pools.settings(name).is_some_and(|settings| settings.servers.is_empty())
    }

    fn refuse_action(&self) -> (&'static str, String) {
        match self.settings.http {
            true => ("answer", "503".to_owned()),
            false => ("deny", "true".to_owned()),
        }
    }

    fn default_backend(&self) -> Option<(String, u32)> {
        let named = self.settings.single.get("default_backend");
        let own = (self.section.kind == SectionKind::Listen && !self.settings.servers.is_empty())
            .then(|| (self.section.name.clone(), self.section.line));
        named.map(|line| (line.word(1).to_owned(), line.number)).or(own)
    }

    fn rules(&self, notes: &mut ConversionNotes) -> Vec<FrontendRule> {
        let settings = self.settings;
        let acls = AclTable::read(&settings.acls, self.pools, notes);
        let own = http_rules::read(&settings.rules, settings.http, &acls, self.pools, notes);
        let mut rules = Vec::new();
        if let Some(line) = settings.single.get("monitor-uri").filter(|_| settings.http) {
            let when = RuleCondition::texts("path", &[line.word(1)]);
            rules.push(FrontendRule {
                when,
                keys: vec![("answer", "200".to_owned())],
                line: line.number,
                text: line.text(),
            });
        }
        rules.extend(
            own.final_rules
                .iter()
                .map(|ending| FrontendRule::from_final_rule(RuleCondition::Is(true), ending)),
        );
        for line in &settings.use_backends {
            acl::note_case_sensitivity(line, notes);
            let Some(pool) = self.pools.written_name(line.word(1)) else {
                let instead = "one rule for each pool";
                notes.left_out(
                    line.number,
                    &line.text(),
                    "the backend's name is not known before a request comes",
                    instead,
                );
                continue;
            };
            match acls.known_condition(line.rest(2), self.pools) {
                Ok(when) => {
                    let steps = self.backend_rules(line.word(1), notes);
                    rules.extend(
                        steps
                            .final_rules
                            .iter()
                            .map(|ending| FrontendRule::from_final_rule(when.clone(), ending)),
                    );
                    let mut keys = vec![("pool", value::quote(pool))];
                    keys.extend(self.rewrite_fields(&own.fields, &steps.fields));
                    if self.is_empty_backend(line.word(1)) {
                        keys = vec![self.refuse_action()];
                    }
                    rules.push(FrontendRule { when, keys, line: line.number, text: line.text() });
                }
                Err(why) => notes.left_out_because(line.number, &line.text(), &why),
            }
        }
        self.push_default_rule(&own, &mut rules, notes);
        rules
    }

    /// Adds the rule for requests that no other rule matches.
    fn push_default_rule(
        &self,
        own: &ProxyRules,
        rules: &mut Vec<FrontendRule>,
        notes: &mut ConversionNotes,
    ) {
        let taken =
            |name: &str| self.pools.written_name(name).is_some() && !self.is_empty_backend(name);
        let default = self.default_backend().filter(|(name, _)| taken(name));
        let Some((name, line)) = default else {
            let refused = self.refuse_action();
            let text = "no default_backend with servers: what no rule took is refused".to_owned();
            rules.push(FrontendRule {
                when: RuleCondition::Is(true),
                keys: vec![refused],
                line: self.section.line,
                text,
            });
            return;
        };
        let steps = self.backend_rules(&name, notes);
        rules.extend(
            steps
                .final_rules
                .iter()
                .map(|ending| FrontendRule::from_final_rule(RuleCondition::Is(true), ending)),
        );
        if let Some(fields) = self.rewrite_fields(&own.fields, &steps.fields) {
            let pool = value::quote(self.pools.written_name(&name).unwrap_or_default());
            let text = format!("default_backend {name}");
            rules.push(FrontendRule {
                when: RuleCondition::Is(true),
                keys: vec![("pool", pool), fields],
                line,
                text,
            });
        }
    }

    /// The rules of a backend. None if the backend is this `listen` section itself.
    fn backend_rules(&self, name: &str, notes: &mut ConversionNotes) -> ProxyRules {
        let itself = self.section.kind == SectionKind::Listen && self.section.name == name;
        match self.pools.settings(name).filter(|_| !itself) {
            Some(settings) => {
                let acls = AclTable::read(&settings.acls, self.pools, notes);
                http_rules::read(&settings.rules, self.settings.http, &acls, self.pools, notes)
            }
            None => ProxyRules::default(),
        }
    }

    fn rewrite_fields(
        &self,
        own: &HeaderEdits,
        inner: &HeaderEdits,
    ) -> Option<(&'static str, String)> {
        let written = inner.to_rewrite(own).filter(|_| self.settings.http);
        written.map(|written| ("rewrite", written))
    }

    fn service(
        &self,
        name: &str,
        binds: &[&BindLine],
        used: &[String],
        document: &mut Document,
        notes: &mut ConversionNotes,
    ) {
        let section = self.section;
        let settings = self.settings;
        let path = format!("service.{name}");
        let mut service = TomlTable::new(path.clone(), section.line, &section.keyword);
        bind::push_listen_addresses(&mut service, binds);
        service.set("forward", value::quote(if settings.http { "http" } else { "tcp" }), 0);
        let pool =
            used.first().and_then(|name| self.pools.written_name(name)).unwrap_or(empty_pool::NAME);
        service.set("pool", value::quote(pool), self.default_backend().map_or(0, |(_, line)| line));
        if settings.http {
            let mode = value::quote(self.forwarded_header(used));
            service.set(
                "forwarded",
                value::table(&[("x-forwarded", mode), ("via", "false".to_owned())]),
                0,
            );
        }
        // 0 means the limit of the process.
        if let Some(line) = settings.single.get("maxconn").filter(|line| line.word(1) != "0") {
            service.set(
                "limit",
                value::table(&[("connections", line.word(1).to_owned())]),
                line.number,
            );
        }
        let mut socket: Vec<(&str, String)> =
            binds.iter().flat_map(|bind| bind.socket.clone()).collect();
        if let Some(line) = settings.single.get("backlog")
            && !socket.iter().any(|(key, _)| *key == "backlog")
        {
            socket.push(("backlog", line.word(1).to_owned()));
        }
        if binds.iter().any(|bind| bind.header) {
            service.set_required(
                "accept-proxy",
                value::table(&[("from", EVERYBODY.to_owned())]),
                binds[0].line,
            );
        }
        if !socket.is_empty() {
            service.set("socket", value::table(&socket), binds[0].line);
        }
        compress::write(&mut service, settings, used, self.pools, notes);
        stick_table::write(&mut service, settings, used, self.pools, notes);
        if let Some(offer) = binds.iter().find_map(|bind| bind.http2).filter(|_| settings.http) {
            service.set("http2", value::quote(offer), binds[0].line);
        }
        document.push(service);
        self.write_timeouts(&path, used, document);
        tls::write(&path, binds, document, notes);
        if pool == empty_pool::NAME {
            empty_pool::ensure_pool(document);
        }
    }

    /// The mode of `forwarded`, from `option forwardfor` and the header fields that are set.
    fn forwarded_header(&self, used: &[String]) -> &'static str {
        let backends = used.iter().filter_map(|name| self.pools.settings(name));
        let all: Vec<&ProxySettings> = std::iter::once(self.settings).chain(backends).collect();
        let steps = || all.iter().flat_map(|one| &one.rules);
        let written = |line: &ConfigLine, action: &str, field: &str| {
            line.word(1) == action && line.word(2).eq_ignore_ascii_case(field)
        };
        let appends = |line: &ConfigLine| {
            written(line, "add-header", "x-forwarded-for")
                || written(line, "set-header", "x-forwarded-proto")
                || written(line, "add-header", "x-forwarded-proto")
        };
        if steps().any(|line| written(line, "set-header", "x-forwarded-for")) {
            "replace"
        } else if all.iter().any(|one| one.options.contains_key("forwardfor"))
            || steps().any(appends)
        {
            "append"
        } else {
            "keep"
        }
    }

    fn write_timeouts(&self, path: &str, used: &[String], document: &mut Document) {
        let settings = self.settings;
        let mut times = TomlTable::new(format!("{path}.timeout"), 0, "");
        let mut set = |key: &'static str, time: Option<(u64, u32)>| {
            if let Some((ms, line)) = time {
                times.set(key, duration::format_duration(ms), line);
            }
        };
        let client = settings.time("client");
        if settings.http {
            let header = settings.time("http-request");
            set("header", header);
            set("idle", settings.time("http-keep-alive").or(header).or(client));
            set("between-bytes", client);
            set("tunnel", settings.time("tunnel"));
        } else {
            let server = used
                .first()
                .and_then(|name| self.pools.settings(name))
                .and_then(|pool| pool.time("server"));
            let shorter = client.into_iter().chain(server).min();
            set("tunnel", settings.time("tunnel").or(shorter));
        }
        if !times.entries.is_empty() {
            document.push(times);
        }
    }
}

fn write_rules(name: &str, rules: &[FrontendRule], tls: bool, document: &mut Document) {
    for rule in rules {
        let when = rule.when.clone().simplify(tls);
        if when == RuleCondition::Is(false) {
            continue;
        }
        let mut table = TomlTable::one_of(format!("service.{name}.rule"), rule.line, &rule.text);
        if let Some(when) = when.to_when() {
            table.set("when", when, 0);
        }
        for (key, value) in &rule.keys {
            table.set(key, value.clone(), 0);
        }
        document.push(table);
    }
}
