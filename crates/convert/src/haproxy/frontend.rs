//! A frontend as one service, or as two if it listens both with TLS and without.

use std::collections::BTreeMap;

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::acl::AclTable;
use super::bind::{self, BindLine, FileBases};
use super::compress;
use super::error_pages::{self, ErrorFileSets};
use super::forwarded;
use super::frontend_rule::{self, FrontendRule};
use super::frontend_times;
use super::header_edits::HeaderEdits;
use super::http_rules::{self, ProxyRules};
use super::listeners;
use super::pools::BackendPools;
use super::proxy_senders;
use super::section::{HaproxySection, SectionKind};
use super::settings::{DefaultBackend, ProxySettings, ServerLine};
use super::stick_table;
use super::tls;

/// A frontend with its settings, and the backends it refers to.
pub struct FrontendWriter<'a> {
    pub section: &'a HaproxySection,
    pub settings: &'a ProxySettings,
    pub pools: &'a BackendPools,
    pub bases: &'a FileBases,
    pub sets: &'a ErrorFileSets<'a>,
}

impl FrontendWriter<'_> {
    /// Writes the services. Adds the frontend's listening ports to `ports`, for each backend that it uses.
    pub fn write(
        &mut self,
        document: &mut Document,
        names: &mut UniqueNames,
        ports: &mut BTreeMap<String, Vec<u16>>,
        notes: &mut ConversionNotes,
    ) {
        let section = self.section;
        let settings = self.settings;
        if self.note_unwritable(notes) {
            return;
        }
        let binds = listeners::read_all(&settings.binds, self.bases, notes);
        if binds.is_empty() {
            let reason = "none of its listeners can be carried over";
            return notes.left_out(section.source, &section.text, reason, "`listen` in a service");
        }
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
            let both = tls && settings.binds.iter().any(|line| !line.has_word("ssl"));
            let name =
                names.unique_name(&if both { format!("{base}-tls") } else { base.to_owned() });
            self.service(&name, &binds, &used, document, notes);
            frontend_rule::write(&name, &rules, tls, document);
        }
        let never_applies = |rule: &&FrontendRule| {
            let applies = |tls: bool| rule.when.clone().simplify(tls) != RuleCondition::Is(false);
            !binds.iter().any(|bind| applies(bind.tls))
        };
        for rule in rules.iter().filter(never_applies) {
            notes.not_needed(
                rule.source,
                &rule.text,
                "nothing that comes here meets its condition",
            );
        }
    }

    /// Reports a section that cannot become a service. Returns false if the section can.
    fn note_unwritable(&self, notes: &mut ConversionNotes) -> bool {
        let section = self.section;
        let settings = self.settings;
        if section.kind == SectionKind::Frontend {
            for ServerLine { line: server, defaults } in &settings.servers {
                let reason = "a frontend has no servers";
                notes.left_out(server.source.whole(), &server.text(), reason, "a backend");
                defaults
                    .iter()
                    .for_each(|line| notes.left_out(line.source.whole(), &line.text(), reason, ""));
            }
        }
        if let Some(line) = &settings.disabled {
            notes.not_needed(line.source, &line.text(), "nothing is written of what is disabled");
            notes.left_out(section.source, &section.text, "it is disabled", "");
            return true;
        }
        if let Some(mode) = &settings.unsupported_mode {
            notes.ledger.settle(section.source.whole(), NoteKind::LeftOut);
            notes.left_out(
                mode.source,
                &mode.text(),
                "only requests and bytes are forwarded",
                "`forward = \"http\"` or \"tcp\"",
            );
            return true;
        }
        if settings.binds.is_empty() {
            notes.left_out(
                section.source,
                &section.text,
                "it listens nowhere",
                "`listen` in a service",
            );
            return true;
        }
        let only_statistics = section.kind == SectionKind::Listen
            && settings.servers.is_empty()
            && settings.use_backends.is_empty()
            && settings.rules.is_empty()
            && !settings.single.contains_key("default_backend");
        if only_statistics {
            notes.left_out(
                section.source,
                &section.text,
                "it has no servers",
                "`steelyard status`, `steelyard top` and `[global] metrics`",
            );
            return true;
        }
        false
    }

    /// The backends that the frontend uses, the default backend first.
    fn used_backends(&self) -> Vec<String> {
        let mut used: Vec<String> = self
            .settings
            .default_backend(self.section)
            .into_iter()
            .map(|default| default.name)
            .collect();
        for line in &self.settings.use_backends {
            if !used.iter().any(|known| known == line.word(1)) {
                used.push(line.word(1).to_owned());
            }
        }
        used.retain(|name| self.pools.written_name(name).is_some() && !self.is_empty_backend(name));
        used
    }

    /// The settings of the backends without servers that the frontend leads to.
    fn empty_backends(&self) -> Vec<&ProxySettings> {
        let default = self.settings.default_backend(self.section).map(|default| default.name);
        let mut names: Vec<String> = default.into_iter().collect();
        names.extend(self.settings.use_backends.iter().map(|line| line.word(1).to_owned()));
        names.sort_unstable();
        names.dedup();
        names.retain(|name| self.is_empty_backend(name));
        names.iter().filter_map(|name| self.pools.settings(name)).collect()
    }

    /// Whether a backend has no servers. HAProxy answers its requests with 503.
    fn is_empty_backend(&self, name: &str) -> bool {
        self.pools.settings(name).is_some_and(|settings| settings.servers.is_empty())
    }

    fn refuse_action(&self) -> KeyValue {
        match self.settings.http {
            true => KeyValue::new("answer", "503"),
            false => KeyValue::new("deny", "true"),
        }
    }

    fn rules(&self, notes: &mut ConversionNotes) -> Vec<FrontendRule> {
        let settings = self.settings;
        let acls = AclTable::read(&settings.acls, self.pools);
        let senders = proxy_senders::split_rules(settings, &acls, self.pools, notes);
        let own = http_rules::read(&senders.rules, settings.http, &acls, self.pools, notes);
        let mut rules = Vec::new();
        rules.extend(senders.refused.map(|line| FrontendRule {
            when: RuleCondition::Is(true),
            keys: vec![KeyValue::new("deny", "true")],
            source: line.source,
            text: line.text(),
        }));
        if let Some(line) = settings.single.get("monitor-uri").filter(|_| settings.http) {
            let when = RuleCondition::texts("path", &[line.word(1)]);
            rules.push(FrontendRule {
                when,
                keys: vec![frontend_rule::monitor_answer()],
                source: line.source,
                text: line.text(),
            });
        }
        rules.extend(
            own.final_rules
                .iter()
                .map(|ending| FrontendRule::from_final_rule(RuleCondition::Is(true), ending)),
        );
        let used = self.used_backends();
        let first = used.first().and_then(|name| self.pools.settings(name));
        for line in &settings.use_backends {
            let Some(pool) = self.pools.written_name(line.word(1)) else {
                let instead = "one rule for each pool";
                notes.left_out(
                    line.source,
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
                    let mut keys = vec![KeyValue::new("pool", value::quote(pool))];
                    keys.extend(self.rewrite_fields(&own.fields, &steps.fields));
                    if let Some(backend) = self.pools.settings(line.word(1)) {
                        let times = frontend_times::rule_times(settings, first, backend, notes);
                        keys.extend(times);
                    }
                    if self.is_empty_backend(line.word(1)) {
                        keys = vec![self.refuse_action()];
                    }
                    rules.push(FrontendRule { when, keys, source: line.source, text: line.text() });
                }
                Err(why) => notes.left_out_because(line.source, &line.text(), &why),
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
        let written = |name: &str| self.pools.written_name(name).is_some();
        let default = self.settings.default_backend(self.section);
        let default = default.filter(|default| written(&default.name));
        let steps = default.as_ref().map(|default| self.backend_rules(&default.name, notes));
        let steps = steps.unwrap_or_default();
        rules.extend(
            steps
                .final_rules
                .iter()
                .map(|ending| FrontendRule::from_final_rule(RuleCondition::Is(true), ending)),
        );
        let served = default.filter(|default| !self.is_empty_backend(&default.name));
        let Some(DefaultBackend { name, source }) = served else {
            let refused = self.refuse_action();
            let text = "no default_backend with servers: what no rule took is refused".to_owned();
            rules.push(FrontendRule {
                when: RuleCondition::Is(true),
                keys: vec![refused],
                source: self.section.source,
                text,
            });
            return;
        };
        if let Some(fields) = self.rewrite_fields(&own.fields, &steps.fields) {
            let pool = value::quote(self.pools.written_name(&name).unwrap_or_default());
            let text = format!("default_backend {name}");
            rules.push(FrontendRule {
                when: RuleCondition::Is(true),
                keys: vec![KeyValue::new("pool", pool), fields],
                source,
                text,
            });
        }
    }

    /// The rules of a backend. Empty if the backend is this `listen` section itself.
    fn backend_rules(&self, name: &str, notes: &mut ConversionNotes) -> ProxyRules {
        let itself = self.section.kind == SectionKind::Listen && self.section.name == name;
        match self.pools.settings(name).filter(|_| !itself) {
            Some(settings) => {
                let acls = AclTable::read(&settings.acls, self.pools);
                http_rules::read(&settings.rules, self.settings.http, &acls, self.pools, notes)
            }
            None => ProxyRules::default(),
        }
    }

    fn rewrite_fields(&self, own: &HeaderEdits, inner: &HeaderEdits) -> Option<KeyValue> {
        let written = inner.to_rewrite(own).filter(|_| self.settings.http);
        written.map(|written| KeyValue::new("rewrite", written))
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
        let mut service = TomlTable::new(path.clone(), section.source, &section.text);
        bind::push_listen_addresses(&mut service, binds);
        service.set(
            "forward",
            value::quote(if settings.http { "http" } else { "tcp" }),
            SourcePlace::NONE,
        );
        let pool =
            used.first().and_then(|name| self.pools.written_name(name)).unwrap_or(empty_pool::NAME);
        service.set(
            "pool",
            value::quote(pool),
            self.settings
                .default_backend(self.section)
                .map_or(SourcePlace::NONE, |default| default.source),
        );
        if settings.http {
            let mut backends = self.used_settings(used);
            forwarded::write(&mut service, settings, &backends, notes);
            backends.extend(self.empty_backends());
            error_pages::write(&mut service, settings, &backends, self.sets, notes);
        }
        self.write_limit(&mut service, notes);
        let mut socket: Vec<KeyValue> = binds.iter().flat_map(|bind| bind.socket.clone()).collect();
        if let Some(line) = settings.single.get("backlog")
            && !socket.iter().any(|one| one.key == "backlog")
        {
            socket.push(KeyValue::new("backlog", line.word(1).to_owned()));
            line.mark_converted();
        }
        if binds.iter().any(|bind| bind.header) {
            proxy_senders::write(&mut service, settings, self.pools, binds[0].source);
        }
        if !socket.is_empty() {
            service.set("socket", value::table(&socket), binds[0].source);
        }
        compress::write(&mut service, settings, used, self.pools, notes);
        stick_table::write(&mut service, settings, used, self.pools, notes);
        if settings.http {
            listeners::write_versions(&mut service, binds);
        }
        document.push(service);
        let first = used.first().and_then(|name| self.pools.settings(name));
        frontend_times::write(&path, settings, first, document);
        tls::write(&path, binds, document, notes);
        if pool == empty_pool::NAME {
            empty_pool::ensure_pool(document);
        }
    }

    /// Writes how many connections the service takes.
    fn write_limit(&self, service: &mut TomlTable, notes: &mut ConversionNotes) {
        let limit = self.settings.single.get("maxconn");
        if let Some(line) = limit.filter(|line| line.word(1) == "0") {
            notes.not_needed(line.source, &line.text(), "the limit of the process is the default");
        } else if let Some(line) = limit {
            service.set(
                "limit",
                value::table(&[KeyValue::new("connections", line.word(1).to_owned())]),
                line.source,
            );
        }
    }

    /// The settings of the backends that the frontend uses.
    fn used_settings(&self, used: &[String]) -> Vec<&ProxySettings> {
        used.iter().filter_map(|name| self.pools.settings(name)).collect()
    }
}
