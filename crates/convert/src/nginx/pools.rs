//! Pools as they are asked for: by an upstream's name, or by an address in `proxy_pass`.

use std::collections::HashMap;

use crate::document::{Document, Table};
use crate::names::Names;
use crate::notes::Notes;
use crate::{nowhere, span, value};

use super::scope::Scope;
use super::tree::Directive;
use super::upstream;

/// What was asked for so far.
pub struct Pools {
    names: Names,
    known: HashMap<(String, String), Vec<(String, String)>>,
    tables: Vec<Table>,
    nowhere: bool,
}

/// How a pool is used.
#[derive(Clone, Copy, Debug)]
pub struct Use<'a> {
    /// `http`, `https`, `grpc`, `grpcs` or `tcp`.
    pub scheme: &'a str,
    /// An upstream's name, or a host with or without port.
    pub target: &'a str,
    /// Where it stands.
    pub line: u32,
}

impl Pools {
    /// None so far, with names that are taken.
    pub fn new(names: Names) -> Pools {
        Pools { names, known: HashMap::new(), tables: Vec::new(), nowhere: false }
    }

    /// The pool of services that only answer by themselves.
    pub fn nowhere(&mut self) -> String {
        self.nowhere = true;
        nowhere::NAME.to_owned()
    }

    /// The pool's name; it is made when it is new.
    pub fn of(
        &mut self,
        used: Use<'_>,
        upstreams: &[&Directive],
        scope: &Scope<'_>,
        notes: &mut Notes,
    ) -> String {
        let key = (used.scheme.to_owned(), used.target.to_ascii_lowercase());
        // Times and retries are a pool's here, and a place's there.
        let said = said(used, scope);
        let known = self.known.entry(key).or_default();
        if let Some((_, name)) = known.iter().find(|(other, _)| *other == said) {
            return name.clone();
        }
        if !known.is_empty() {
            let reason = "times, retries and TLS belong to a pool: the servers stand in a further one for what is said here";
            notes.changed(used.line, used.target, reason, "");
        }
        let upstream = upstreams.iter().find(|one| one.word(0).eq_ignore_ascii_case(used.target));
        let name = self.names.give(used.target);
        let (line, text) =
            upstream.map_or((used.line, String::new()), |one| (one.line, one.text()));
        let mut pool = Table::new(format!("pool.{name}"), line, &text);
        let tls = matches!(used.scheme, "https" | "grpcs");
        let port = if tls { 443 } else { 80 };
        match upstream {
            Some(upstream) => {
                upstream::fill(&mut pool, upstream, used.scheme != "tcp", port, notes)
            }
            None => pool.item(
                "servers",
                value::text(&upstream::with_port(used.target, port)),
                used.line,
            ),
        }
        reached(&mut pool, used, scope);
        self.tables.push(pool);
        known.push((said, name.clone()));
        name
    }

    /// Writes all of them.
    pub fn write(self, document: &mut Document) {
        for table in self.tables {
            document.push(table);
        }
        if self.nowhere {
            nowhere::ensure(document);
        }
    }
}

/// How servers are spoken to.
fn reached(pool: &mut Table, used: Use<'_>, scope: &Scope<'_>) {
    if matches!(used.scheme, "https" | "grpcs") {
        pool.must("tls", verified(used.scheme, scope), used.line);
    }
    if used.scheme.starts_with("grpc") {
        pool.set("http2", value::text("only"), used.line);
    }
    let proxied = scope.get("proxy_protocol").filter(|one| one.word(0) == "on");
    if let Some(proxied) = proxied.filter(|_| used.scheme == "tcp") {
        pool.must("send-proxy", value::text("v1"), proxied.line);
    }
    times(pool, used.scheme, scope);
    again(pool, scope);
}

/// All of that, to tell two uses of one upstream apart.
fn said(used: Use<'_>, scope: &Scope<'_>) -> String {
    let mut own = Table::new("", 0, "");
    reached(&mut own, used, scope);
    own.entries.iter().map(|entry| format!("{} {:?};", entry.key, entry.value)).collect()
}

/// nginx verifies servers only when it is told to, by directives of what speaks to them.
fn verified(scheme: &str, scope: &Scope<'_>) -> String {
    let prefix = prefix(scheme);
    let get = |name: &str| scope.get(&format!("{prefix}_ssl_{name}"));
    let on = get("verify").is_some_and(|one| one.word(0) == "on");
    let mut pairs = vec![("verify", value::text(if on { "on" } else { "off" }))];
    for (key, name) in [("ca", "trusted_certificate"), ("crl", "crl")] {
        let file = get(name).filter(|_| on);
        pairs.extend(file.map(|file| (key, value::text(file.word(0)))));
    }
    let name = get("name").filter(|name| !name.word(0).contains('$'));
    pairs.extend(name.map(|name| ("name", value::text(name.word(0)))));
    value::table(&pairs)
}

/// What directives about servers begin with.
fn prefix(scheme: &str) -> &'static str {
    if scheme.starts_with("grpc") { "grpc" } else { "proxy" }
}

fn times(pool: &mut Table, scheme: &str, scope: &Scope<'_>) {
    let prefix = prefix(scheme);
    let mut pairs = Vec::new();
    let mut line = 0;
    let mut set = |key: &'static str, name: &str| {
        if let Some((ms, at)) = scope.time(&format!("{prefix}_{name}")) {
            pairs.push((key, span::written(ms)));
            line = at;
        }
    };
    set("connect", "connect_timeout");
    if scheme != "tcp" {
        set("first-byte", "read_timeout");
        set("between-bytes", "read_timeout");
    }
    if let Some(own) = pool.get("timeout").map(|own| own.trim_matches(['{', '}', ' ']).to_owned())
        && let Some((_, time)) = own.split_once(" = ")
    {
        pairs.push(("idle", time.to_owned()));
    }
    if !pairs.is_empty() {
        pool.set("timeout", value::table(&pairs), line);
    }
}

/// `proxy_next_upstream` and how often.
fn again(pool: &mut Table, scope: &Scope<'_>) {
    let tries = scope
        .get("proxy_next_upstream_tries")
        .and_then(|one| one.word(0).parse::<u32>().ok().map(|n| (n, one.line)));
    if let Some((tries, line)) = tries.filter(|(tries, _)| *tries > 0) {
        pool.set("retries", (tries - 1).to_string(), line);
    }
    let Some(next) = scope.get("proxy_next_upstream") else { return };
    if next.word(0) == "off" {
        return pool.set("retries", "0", next.line);
    }
    let statuses: Vec<String> =
        next.args.iter().filter_map(|word| word.strip_prefix("http_")).map(str::to_owned).collect();
    let mut pairs = Vec::new();
    if !statuses.is_empty() {
        pairs.push(("on", value::list(statuses)));
    }
    for (word, key) in [("timeout", "on-timeout"), ("invalid_header", "on-malformed")] {
        if next.args.iter().any(|arg| arg == word) {
            pairs.push((key, "true".to_owned()));
        }
    }
    if !pairs.is_empty() {
        pool.set("retry", value::table(&pairs), next.line);
    }
}
