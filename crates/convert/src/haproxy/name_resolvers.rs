//! `resolvers` sections: the name server that `servers-from` asks, and what becomes of their other lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::Document;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

use super::lex::ConfigLine;
use super::section::HaproxySection;

/// The sections by their names.
#[derive(Debug, Default)]
pub struct NameResolvers<'s>(BTreeMap<&'s str, &'s HaproxySection>);

/// The name server of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServer {
    /// The address with its port.
    pub address: String,
    pub source: SourcePlace,
}

/// How the proxies use a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionUse {
    /// Its name server is written.
    Written,
    /// Servers with fixed names refer to it.
    Referred,
    Unused,
}

impl<'s> NameResolvers<'s> {
    pub fn add(&mut self, section: &'s HaproxySection, notes: &mut ConversionNotes) {
        if let Some(earlier) = self.0.insert(&section.name, section) {
            earlier.note_replaced(notes);
        }
    }

    /// The first name server of a section that can be asked. `None`: those of the system are asked.
    pub fn name_server(&self, name: &str) -> Option<NameServer> {
        self.0.get(name)?.lines.iter().find_map(name_server)
    }

    /// Whether a section names servers of its own.
    pub fn has_name_servers(&self, name: &str) -> bool {
        let lines = self.0.get(name).map_or(&[][..], |section| &section.lines);
        lines.iter().any(|line| line.word(0) == "nameserver")
    }

    /// Settles all lines, after all pools are written. `referred`: the sections that server lines name.
    pub fn note_lines(
        &self,
        referred: &BTreeSet<&str>,
        document: &Document,
        notes: &mut ConversionNotes,
    ) {
        for (name, section) in &self.0 {
            let first = section.lines.iter().find_map(name_server);
            let is_written = first.as_ref().is_some_and(|first| is_source(first.source, document));
            let section_use = match is_written {
                true => SectionUse::Written,
                false if referred.contains(name) => SectionUse::Referred,
                false => SectionUse::Unused,
            };
            let whole = section.source.whole();
            match section_use {
                SectionUse::Written => notes.converted(whole),
                SectionUse::Referred => {
                    let reason = "names of servers are looked up by the system's resolver";
                    notes.changed(whole, &section.text, reason, INSTEAD);
                }
                SectionUse::Unused => {
                    notes.not_needed(whole, &section.text, UNUSED);
                }
            }
            for line in &section.lines {
                let is_first = first.is_some() && name_server(line) == first;
                match line.word(0) {
                    "nameserver" => note_name_server(line, section_use, is_first, notes),
                    "parse-resolv-conf" => note_system(line, first.is_some(), notes),
                    _ => note_line(line, notes),
                }
            }
        }
    }
}

/// Whether a place is a source of any written `servers-from`.
fn is_source(place: SourcePlace, document: &Document) -> bool {
    let entries = document.tables.iter().flat_map(|table| &table.entries);
    entries
        .filter(|entry| entry.key == "servers-from")
        .any(|entry| entry.more_sources.contains(&place))
}

fn note_name_server(
    line: &ConfigLine,
    section_use: SectionUse,
    is_first: bool,
    notes: &mut ConversionNotes,
) {
    let text = line.text();
    let whole = line.source.whole();
    match section_use {
        SectionUse::Written if is_first => {
            notes.converted(line.source.range(0, 3));
            if line.len() > 3 {
                let reason = "a name server is asked over UDP, from any address of this machine";
                notes.left_out(line.source.range(3, line.len()), &text, reason, INSTEAD);
            }
        }
        SectionUse::Written => {
            let reason =
                "one name server is asked: while it is silent, the last good answer stands";
            notes.left_out(whole, &text, reason, INSTEAD);
        }
        SectionUse::Referred => {
            let reason = "it is not asked: names of servers are looked up by the system's resolver";
            notes.left_out(whole, &text, reason, INSTEAD);
        }
        SectionUse::Unused => notes.not_needed(whole, &text, UNUSED),
    }
}

fn note_system(line: &ConfigLine, has_own: bool, notes: &mut ConversionNotes) {
    let source = line.source.whole();
    if has_own {
        let reason = "the name server of this section is asked, and not those of the system";
        notes.changed(source, &line.text(), reason, "");
    } else {
        notes.not_needed(source, &line.text(), "the system's resolver is asked anyway");
    }
}

const UNUSED: &str = "no server refers to it";
const INSTEAD: &str = "/etc/resolv.conf, or `servers-from = { dns = …, resolver = … }`";

/// The address of a `nameserver` line. `None`: only TCP, or no address with a port.
fn name_server(line: &ConfigLine) -> Option<NameServer> {
    let text = line.all_words().get(2).filter(|_| line.all_words()[0] == "nameserver")?;
    let kinds = ["udp@", "udp4@", "udp6@", "ipv4@", "ipv6@"];
    let plain = kinds.iter().find_map(|kind| text.strip_prefix(kind)).unwrap_or(text);
    let (host, port) = plain.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = std::net::SocketAddr::new(host.parse().ok()?, port.parse().ok()?);
    Some(NameServer { address: address.to_string(), source: line.source.range(0, 3) })
}

fn note_line(line: &ConfigLine, notes: &mut ConversionNotes) {
    let source = line.source.whole();
    let text = line.text();
    match line.word(0) {
        "hold" if line.word(1) == "valid" => {
            let reason = "a name is asked for again when the time to live of its answer ends, a fixed server's each 10 s";
            notes.changed(source, &text, reason, "");
        }
        "hold" => {
            let reason =
                "an answer that fails or is empty changes nothing: the last good one stands";
            notes.changed(source, &text, reason, "`probe` takes servers out that are gone");
        }
        "resolve_retries" | "timeout" | "accepted_payload_size" => {
            let reason = "questions have times and sizes of their own, and are repeated until there is an answer";
            notes.not_needed(source, &text, reason);
        }
        other => {
            let reason = format!("nothing is known of `{other}` in a section `resolvers`");
            notes.left_out(source, &text, &reason, "");
        }
    }
}
