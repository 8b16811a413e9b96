//! HAProxy: sections are read in order. Frontends become services, and backends become pools.
//!
//! A frontend that has `bind` lines with and without TLS becomes two services. The converter evaluates no `.if` and no
//! variable.

mod accepted_requests;
mod acl;
mod answer_condition;
mod answer_criterion;
mod backend;
mod backend_branch;
mod backend_servers;
mod bind;
mod body_size;
mod certificate_store;
mod closed_answers;
mod compress;
mod cookie;
mod criterion_parts;
mod directives;
mod edit_times;
mod error_pages;
mod fetch;
mod field_criterion;
mod field_edit;
mod field_reads;
mod field_replacement;
mod final_rule;
mod fixed_answers;
mod forwarded;
mod frontend;
mod frontend_edits;
mod frontend_rule;
mod frontend_rules;
mod frontend_times;
mod guard_notes;
mod header_edits;
mod health_check;
mod held_back;
mod hidden_inputs;
mod http_rules;
mod inherited_limits;
mod lex;
mod listener_ports;
mod listeners;
mod log_format;
mod mode_upgrade;
mod name_resolvers;
mod number_criterion;
mod old_words;
mod opaque_fields;
mod passive_check;
mod path_change;
mod path_criterion;
mod pools;
mod proxy_senders;
mod section;
mod server;
mod server_keywords;
mod server_template;
mod server_tls;
mod service_edits;
mod settings;
mod shared_settings;
mod side_effects;
mod side_keywords;
mod side_sections;
mod stick_table;
mod tcp_talk;
mod tls;
mod tls_versions;
mod unused_settings;

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::document::{Document, TomlTable};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::{duration, empty_pool};

use self::backend_servers::BackendSurroundings;
use self::bind::FileBases;
use self::error_pages::ErrorFileSets;
use self::inherited_limits::InheritedLimits;
use self::lex::ConfigLine;
use self::name_resolvers::NameResolvers;
use self::pools::BackendPools;
use self::section::{HaproxySection, SectionKind};
use self::settings::{ProxySettings, ServerLine};
use self::unused_settings::BackendTraffic;

/// Converts `text` into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut ConversionNotes) {
    let sections = section::sections(text, notes);
    let mut names = empty_pool::reserve_name();
    // Backends get their names first, because frontends refer to later backends.
    let mut pools = BackendPools::default();
    for section in
        sections.iter().filter(|one| matches!(one.kind, SectionKind::Backend | SectionKind::Listen))
    {
        pools.set_name(section.name.clone(), names.unique_name(&section.name));
    }
    let mut names = UniqueNames::default();
    let mut bases = FileBases::default();
    let mut sets = ErrorFileSets::default();
    let mut resolvers = NameResolvers::default();
    let mut read: Vec<(&HaproxySection, Rc<ProxySettings>)> = Vec::new();
    let mut globals = TomlTable::new("global", SourcePlace::NONE, "");
    let mut limits = InheritedLimits::default();
    for section in &sections {
        match section.kind {
            SectionKind::Global => global(section, &mut globals, &mut limits, &mut bases, notes),
            SectionKind::Frontend | SectionKind::Backend | SectionKind::Listen => {
                read.push((section, Rc::new(ProxySettings::read(section, notes))));
            }
            SectionKind::HttpErrors => sets.add(section, notes),
            SectionKind::Resolvers => resolvers.add(section, notes),
            SectionKind::CertificateStore => {
                let folders = bases.folders.clone();
                bases.store.add(section, folders, notes);
            }
            SectionKind::Side => side_sections::note_section(section, notes),
        }
    }
    for (section, settings) in read.iter().filter(|(one, _)| one.kind != SectionKind::Frontend) {
        pools.set_settings(&section.name, Rc::clone(settings));
    }
    for (section, settings) in &mut read {
        if let Some(upgraded) = mode_upgrade::upgrade(section, settings, &pools, notes) {
            *settings = upgraded;
        }
    }
    if read.iter().any(|(_, settings)| settings.logs_requests()) {
        globals.set("access-log", "{ all = true }", SourcePlace::NONE);
    }
    let mut ports: BTreeMap<String, Vec<u16>> = BTreeMap::new();
    for (section, settings) in read.iter().filter(|(one, _)| one.kind != SectionKind::Backend) {
        let mut front = frontend::FrontendWriter {
            section,
            settings,
            pools: &pools,
            bases: &bases,
            sets: &sets,
        };
        front.write(document, &mut names, &mut ports, notes);
    }
    for (section, settings) in read.iter().filter(|(one, _)| one.kind != SectionKind::Frontend) {
        let ports = ports.get(&section.name).map_or(&[][..], Vec::as_slice);
        let name = pools.written_name(&section.name).unwrap_or_default().to_owned();
        let surroundings = BackendSurroundings { ports, bases: &bases, resolvers: &resolvers };
        backend::write(section, settings, &name, surroundings, document, notes);
    }
    limits.write(read.iter().any(|(_, settings)| settings.http), globals, document);
    notes.settle_written(document);
    note_unused(&read, &pools, &ports, notes);
    sets.note_unused(notes);
    let servers = read.iter().flat_map(|(_, settings)| &settings.servers);
    let referred = servers.flat_map(ServerLine::resolvers).collect();
    resolvers.note_lines(&referred, document, notes);
}

/// Reports what has no effect on the proxies. `ports`: where clients come to the backends that they reach.
fn note_unused(
    read: &[(&HaproxySection, Rc<ProxySettings>)],
    pools: &BackendPools,
    ports: &BTreeMap<String, Vec<u16>>,
    notes: &mut ConversionNotes,
) {
    let named = |line: &ConfigLine| pools.written_name(line.word(1)).is_some();
    let chooses = read.iter().any(|(_, one)| !one.use_backends.iter().all(named));
    for (section, settings) in read {
        let traffic = match section.kind {
            SectionKind::Backend if !ports.contains_key(&section.name) && chooses => {
                BackendTraffic::Possible
            }
            SectionKind::Backend if !ports.contains_key(&section.name) => BackendTraffic::None,
            _ => BackendTraffic::Certain,
        };
        settings.note_unused(section.kind, traffic, notes);
    }
}

/// Converts the `global` section.
fn global(
    section: &HaproxySection,
    table: &mut TomlTable,
    limits: &mut InheritedLimits,
    bases: &mut FileBases,
    notes: &mut ConversionNotes,
) {
    for line in &section.lines {
        let word = line.word(0);
        let first = line.word(1);
        match word {
            "maxconn" => set_last(table, "connections", first, line, notes),
            "nbthread" => set_last(table, "workers", first, line, notes),
            "crt-base" => {
                first.clone_into(&mut bases.folders.certificates);
                line.mark_converted();
            }
            "key-base" => {
                first.clone_into(&mut bases.folders.keys);
                line.mark_converted();
            }
            "ca-base" => {
                first.clone_into(&mut bases.authorities);
                line.mark_converted();
            }
            "chroot" => {
                first.clone_into(&mut bases.root);
                directives::note_directive(word, line, notes);
            }
            "ssl-server-verify" if first == "none" => {
                bases.server_tls.set("verify", "off");
                line.mark_converted();
            }
            "ssl-server-verify" if first == "required" => line.mark_converted(),
            "ssl-default-bind-options" => bases.versions.read_default(line, notes),
            "hard-stop-after" => match duration::parse_duration(first, 1) {
                Some(ms) => {
                    set_last(table, "drain", &duration::format_duration(ms), line, notes);
                }
                None => notes.left_out(line.source, &line.text(), "not a time", "`[global] drain`"),
            },
            _ if limits.read(line) => line.mark_converted(),
            _ => directives::note_directive(word, line, notes),
        }
    }
}

/// Sets a key of `[global]`. The last of several lines counts.
fn set_last(
    table: &mut TomlTable,
    key: &'static str,
    value: &str,
    line: &ConfigLine,
    notes: &mut ConversionNotes,
) {
    if let Some(earlier) = table.source_of(key) {
        let text = notes.ledger.text(earlier).to_owned();
        notes.not_needed(earlier, &text, "a later line takes its place");
    }
    table.set(key, value, line.source);
}
