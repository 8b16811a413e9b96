//! HAProxy: sections are read one after the other; frontends become services, backends become pools.
//!
//! A frontend with and without TLS on its `bind` lines becomes two services. It evaluates no `.if` and no variable.

mod acl;
mod backend;
mod bind;
mod check;
mod compress;
mod fetch;
mod frontend;
mod known;
mod lex;
mod pools;
mod section;
mod server;
mod settings;
mod steps;
mod sticky;

use std::collections::BTreeMap;

use crate::document::{Document, Table};
use crate::names::Names;
use crate::notes::Notes;
use crate::{nowhere, span};

use self::pools::Pools;
use self::section::{Kind, Section};
use self::settings::Settings;

/// Writes what `text` says into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut Notes) {
    let sections = section::sections(text, notes);
    let mut names = nowhere::reserved();
    // Names of backends first: frontends refer to ones that come later.
    let mut pools = Pools::default();
    for section in sections.iter().filter(|one| matches!(one.kind, Kind::Backend | Kind::Listen)) {
        pools.name(section.name.clone(), names.give(&section.name));
    }
    let mut names = Names::default();
    let mut base = String::new();
    let mut read: Vec<(&Section, Settings)> = Vec::new();
    let mut globals = Table::new("global", 0, "");
    for section in &sections {
        match section.kind {
            Kind::Global => global(section, &mut globals, &mut base, notes),
            Kind::Frontend | Kind::Backend | Kind::Listen => {
                read.push((section, Settings::read(section, notes)));
            }
            Kind::Other => {
                let (reason, instead) = known::section(&section.word);
                notes.left(section.line, &section.word, reason, instead);
            }
        }
    }
    for (section, settings) in read.iter().filter(|(one, _)| one.kind != Kind::Frontend) {
        pools.set(&section.name, settings.clone());
    }
    if read.iter().any(|(_, settings)| settings.logs()) {
        globals.set("access-log", "{ all = true }", 0);
    }
    if !globals.entries.is_empty() {
        document.push(globals);
    }
    let mut ports: BTreeMap<String, Vec<u16>> = BTreeMap::new();
    for (section, settings) in read.iter().filter(|(one, _)| one.kind != Kind::Backend) {
        let mut front = frontend::Frontend { section, settings, pools: &pools, base: &base };
        front.write(document, &mut names, &mut ports, notes);
    }
    for (section, settings) in read.iter().filter(|(one, _)| one.kind != Kind::Frontend) {
        let ports = ports.get(&section.name).map_or(&[][..], Vec::as_slice);
        let name = pools.written(&section.name).unwrap_or_default().to_owned();
        backend::write(section, settings, (&name, ports), document, notes);
    }
}

/// The process' own settings.
fn global(section: &Section, table: &mut Table, base: &mut String, notes: &mut Notes) {
    for line in &section.lines {
        let (word, first) = (line.word(0), line.word(1));
        match word {
            "maxconn" => table.set("connections", first, line.number),
            "nbthread" => table.set("workers", first, line.number),
            "crt-base" => first.clone_into(base),
            "hard-stop-after" => match span::read(first, 1) {
                Some(ms) => table.set("drain", span::written(ms), line.number),
                None => notes.left(line.number, &line.text(), "not a time", "`[global] drain`"),
            },
            _ => known::tell(word, line, notes),
        }
    }
}
