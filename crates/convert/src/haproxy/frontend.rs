//! A frontend as one service, or as several if its listeners differ in more than their addresses.

use std::collections::{BTreeMap, HashSet};

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::bind::{self, BindLine, FileBases};
use super::compress;
use super::error_pages::{self, ErrorFileSets};
use super::forwarded;
use super::frontend_rule::{self, FrontendRule};
use super::frontend_times;
use super::listener_ports::ListenerPorts;
use super::listeners::{self, ListenerGroup};
use super::pools::BackendPools;
use super::proxy_senders;
use super::section::{HaproxySection, SectionKind};
use super::settings::{ProxySettings, ServerLine};
use super::stick_table;
use super::tls;

/// The most rules of a frontend: each is held in several forms before any is written.
const RULES: usize = 20_000;

/// The option that says what becomes of fields with unusual names.
const FIELD_NAMES: &str = "http-restrict-req-hdr-names";

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
        if settings.rules.len() > RULES {
            let reason = format!("`{}` has more than {RULES} rules", section.name);
            return document.refuse(reason);
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
        self.pools.ports.replace(ListenerPorts::of(&binds));
        let branches = self.read_branches(notes);
        let mut rules = Vec::new();
        for ListenerGroup { tls, binds } in listeners::group_alike(&binds) {
            let base = if section.name.is_empty() { "service" } else { section.name.as_str() };
            let both = tls && settings.binds.iter().any(|line| !line.has_word("ssl"));
            let name =
                names.unique_name(&if both { format!("{base}-tls") } else { base.to_owned() });
            self.service(&name, &binds, &used, document, notes);
            let listener = self.listener_rules(&branches, tls, notes);
            listener.edits.write(&name, document);
            frontend_rule::write(&name, &listener.rules, tls, document);
            rules.extend(listener.rules);
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

    /// Reports listeners of `defaults` that a section does not open, which its own note does not cover.
    fn note_inherited_listeners(&self, reason: &str, notes: &mut ConversionNotes) {
        let inherited = self.section.defaults.iter().filter(|line| line.word(0) == "bind");
        for line in inherited.filter(|line| !line.is_settled()) {
            notes.left_out(line.source, &line.text(), reason, "");
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
            self.note_inherited_listeners("it is disabled", notes);
            return true;
        }
        if let Some(mode) = &settings.unsupported_mode {
            notes.ledger.settle(section.source.whole(), NoteKind::LeftOut);
            self.note_inherited_listeners("only requests and bytes are forwarded", notes);
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
    pub fn used_backends(&self) -> Vec<String> {
        let mut used: Vec<String> = self
            .settings
            .default_backend(self.section)
            .into_iter()
            .map(|default| default.name)
            .collect();
        let mut known: HashSet<String> = used.iter().cloned().collect();
        for line in &self.settings.use_backends {
            if known.insert(line.word(1).to_owned()) {
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

    /// Whether a backend has no servers, or is disabled. HAProxy answers its requests with 503.
    pub fn is_empty_backend(&self, name: &str) -> bool {
        let is_empty = |one: &ProxySettings| one.servers.is_empty() || one.disabled.is_some();
        self.pools.settings(name).is_some_and(is_empty)
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
        self.write_field_names(&mut service, used, notes);
        let mut socket: Vec<KeyValue> = binds[0].socket.clone();
        if let Some(line) = settings.single.get("backlog") {
            let own = socket.iter().any(|one| one.key == "backlog");
            socket.extend((!own).then(|| KeyValue::new("backlog", line.word(1).to_owned())));
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
        tls::write(&path, binds, document);
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

    /// Writes what becomes of fields with unusual names.
    fn write_field_names(
        &self,
        service: &mut TomlTable,
        used: &[String],
        notes: &mut ConversionNotes,
    ) {
        let settings = self.settings;
        let option = |one: &&ProxySettings| one.options.contains_key(FIELD_NAMES);
        let all = self.used_settings(used).into_iter().chain([settings]).filter(option);
        // The strictest one.
        let rank = |one: &&ProxySettings| match one.options[FIELD_NAMES].word(2) {
            "preserve" => 0,
            "delete" => 1,
            _ => 2,
        };
        let Some(line) = all.max_by_key(rank).map(|one| &one.options[FIELD_NAMES]) else { return };
        let is_own = settings.options.get(FIELD_NAMES).is_some_and(|own| own.source == line.source);
        if settings.http && !is_own {
            let reason = "it acts on what goes to the other backends of a frontend, too";
            notes.changed(line.source, &line.text(), reason, "`field-names` of the service");
        }
        let kept = match line.word(2) {
            "preserve" => "any",
            "delete" => "drop",
            "reject" => "refuse",
            _ => {
                let reason = "names of fields are kept, dropped or refused";
                return notes.left_out(line.source, &line.text(), reason, "`field-names`");
            }
        };
        if settings.http {
            service.set_required("field-names", value::quote(kept), line.source);
        }
    }

    /// The settings of the backends that the frontend uses.
    pub fn used_settings(&self, used: &[String]) -> Vec<&ProxySettings> {
        used.iter().filter_map(|name| self.pools.settings(name)).collect()
    }
}
