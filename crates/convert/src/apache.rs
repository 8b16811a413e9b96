//! Apache httpd: virtual hosts become services, `ProxyPass` becomes rules, balancers become pools.
//!
//! Sections that ask for a module or a version are taken, and macros are put in. No file is opened.

mod access;
mod balancer;
mod client_networks;
mod conditional;
mod expression;
mod fields;
mod forward;
mod hidden_inputs;
mod host;
mod host_limits;
mod lines;
mod listen;
mod other;
mod parameters;
mod proxy_url;
mod redirect;
mod rewrite;
mod rewrite_condition;
mod rewrite_flags;
mod routes;
mod scope;
mod section_refusals;
mod service;
mod sticky_session;
mod tls;
mod tree;
mod upstream_tls;

use std::collections::HashSet;

use crate::document::{Document, TomlTable};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use self::balancer::BalancerPools;
use self::listen::{ListenPoint, VirtualHost};
use self::scope::ServerScope;
use self::service::HostServiceWriter;

/// Converts `text` into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut ConversionNotes) {
    let lines = lines::read_lines(text, notes);
    let tree = tree::parse(lines, notes);
    if notes.is_unreadable() {
        return;
    }
    let is_host = |one: &ConfigStatement| one.name == "virtualhost";
    let mut main = tree;
    let virtual_hosts: Vec<ConfigStatement> = main.extract_if(.., |one| is_host(one)).collect();
    let mut hosts: Vec<VirtualHost<'_>> =
        virtual_hosts.iter().map(|one| virtual_host(one, &main, notes)).collect();
    let whole = ServerScope { own: &main, main: &[] };
    let forwards = [
        "proxypass",
        "proxypassmatch",
        "location",
        "locationmatch",
        "redirect",
        "redirectmatch",
        "rewriterule",
    ];
    if let Some(listen) = main.iter().find(|one| one.name == "listen")
        && (virtual_hosts.is_empty() || !whole.all(&forwards).is_empty())
    {
        let names = server_names(&main, notes);
        let points = Vec::new();
        let source = listen.source;
        hosts.push(VirtualHost {
            scope: whole,
            statement: listen,
            source,
            points,
            names,
            is_main: true,
        });
    }
    write_log(&main, &virtual_hosts, document);
    let mut lists: Vec<&[ConfigStatement]> = vec![&main];
    lists.extend(virtual_hosts.iter().map(ConfigStatement::inner));
    let mut pools = BalancerPools::new(&lists);
    let listeners = listen::listeners(&main, &hosts, notes);
    let names = UniqueNames::default();
    let mut writer = HostServiceWriter { hosts: &hosts, pools: &mut pools, names, document, notes };
    listeners.iter().for_each(|listener| writer.write(listener));
    pools.write(document, notes);
    notes.settle_written(document);
    main.iter().chain(&virtual_hosts).for_each(|one| other::note_unread(one, notes));
}

fn virtual_host<'t>(
    statement: &'t ConfigStatement,
    main: &'t [ConfigStatement],
    notes: &mut ConversionNotes,
) -> VirtualHost<'t> {
    let mut points = Vec::new();
    for word in statement.words_from(0) {
        match ListenPoint::read(word) {
            Some(point) => points.push(point),
            None => {
                let reason = "it is no address: nothing is served there";
                notes.left_out(statement.source, word, reason, "`listen` of a service");
            }
        }
    }
    let names = server_names(statement.inner(), notes);
    let scope = ServerScope { own: statement.inner(), main };
    let source = statement.source;
    VirtualHost { scope, statement, source, points, names, is_main: false }
}

/// `ServerName` and ServerAlias.
fn server_names(directives: &[ConfigStatement], notes: &mut ConversionNotes) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for one in
        directives.iter().filter(|one| matches!(one.name.as_str(), "servername" | "serveralias"))
    {
        for word in one.words_from(0) {
            let bare = word.split_once("://").map_or(word.as_str(), |parts| parts.1);
            let bare = bare.split(':').next().unwrap_or(bare).to_ascii_lowercase();
            if !bare.is_empty() && known.insert(bare.clone()) {
                names.push(bare);
            }
        }
        one.settle_converted(notes);
    }
    names
}

/// Writes the access log of the first `CustomLog`.
fn write_log(main: &[ConfigStatement], hosts: &[ConfigStatement], document: &mut Document) {
    let inner = hosts.iter().flat_map(ConfigStatement::inner);
    let log = inner.chain(main).find(|one| one.name == "customlog");
    let Some(log) = log else { return };
    let target = if log.peek(0).starts_with('/') { log.peek(0) } else { "stderr" };
    let mut globals = TomlTable::new("global", SourcePlace::NONE, "");
    let pairs = [KeyValue::new("all", "true"), KeyValue::new("target", value::quote(target))];
    globals.set("access-log", value::table(&pairs), SourcePlace::NONE);
    document.push(globals);
}

/// How much a line looks like this dialect.
pub fn score_line(line: &str) -> u32 {
    let first = line.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    if line.trim_end().ends_with(['{', ';']) {
        return 0;
    }
    match first.as_str() {
        "<virtualhost" | "proxypass" | "proxypassmatch" | "proxypassreverse" | "balancermember"
        | "rewriterule" | "rewritecond" | "sslengine" | "sslcertificatefile" | "loadmodule"
        | "documentroot" | "proxypreservehost" | "<proxy" | "<location" | "<ifmodule" => 5,
        "servername" | "serveralias" | "customlog" | "errorlog" | "requestheader" | "require"
        | "listen" | "rewriteengine" | "</virtualhost>" => 2,
        _ => 0,
    }
}
