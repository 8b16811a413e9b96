//! Pools on demand: by an upstream's name, or by an address in `proxy_pass`.

use std::collections::HashMap;

use crate::document::{Document, TomlTable};
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::{duration, empty_pool, value};

use super::scope::DirectiveScope;
use super::tree::Directive;
use super::upstream;

/// The pools that were requested so far.
pub struct UpstreamPools {
    names: UniqueNames,
    known: HashMap<(String, String), Vec<(String, String)>>,
    tables: Vec<TomlTable>,
    uses_empty_pool: bool,
}

/// How a pool is used.
#[derive(Clone, Copy, Debug)]
pub struct PoolUse<'a> {
    /// `http`, `https`, `grpc`, `grpcs` or `tcp`.
    pub scheme: &'a str,
    /// An upstream's name, or a host with or without port.
    pub target: &'a str,
    pub line: u32,
}

impl UpstreamPools {
    /// An empty collection, with reserved names.
    pub fn new(names: UniqueNames) -> UpstreamPools {
        UpstreamPools { names, known: HashMap::new(), tables: Vec::new(), uses_empty_pool: false }
    }

    /// The pool of services that only answer by themselves.
    pub fn empty_pool(&mut self) -> String {
        self.uses_empty_pool = true;
        empty_pool::NAME.to_owned()
    }

    /// The name of the pool for this use. Creates the pool if necessary.
    pub fn pool_name(
        &mut self,
        used: PoolUse<'_>,
        upstreams: &[&Directive],
        scope: &DirectiveScope<'_>,
        notes: &mut ConversionNotes,
    ) -> String {
        let key = (used.scheme.to_owned(), used.target.to_ascii_lowercase());
        // Times and retries are a pool's here, and a place's there.
        let said = use_key(used, scope);
        let known = self.known.entry(key).or_default();
        if let Some((_, name)) = known.iter().find(|(other, _)| *other == said) {
            return name.clone();
        }
        if !known.is_empty() {
            let reason = "times, retries and TLS belong to a pool: the servers stand in a further one for what is said here";
            notes.changed(used.line, used.target, reason, "");
        }
        let upstream = upstreams.iter().find(|one| one.word(0).eq_ignore_ascii_case(used.target));
        let name = self.names.unique_name(used.target);
        let (line, text) =
            upstream.map_or((used.line, String::new()), |one| (one.line, one.text()));
        let mut pool = TomlTable::new(format!("pool.{name}"), line, &text);
        let tls = matches!(used.scheme, "https" | "grpcs");
        let port = if tls { 443 } else { 80 };
        match upstream {
            Some(upstream) => {
                upstream::fill(&mut pool, upstream, used.scheme != "tcp", port, notes)
            }
            None => pool.push_item(
                "servers",
                value::quote(&upstream::with_port(used.target, port)),
                used.line,
            ),
        }
        write_server_protocol(&mut pool, used, scope);
        self.tables.push(pool);
        known.push((said, name.clone()));
        name
    }

    pub fn write(self, document: &mut Document) {
        for table in self.tables {
            document.push(table);
        }
        if self.uses_empty_pool {
            empty_pool::ensure_pool(document);
        }
    }
}

/// Writes the protocol, the timeouts and the retries towards servers.
fn write_server_protocol(pool: &mut TomlTable, used: PoolUse<'_>, scope: &DirectiveScope<'_>) {
    let stream_tls =
        used.scheme == "tcp" && scope.get("proxy_ssl").is_some_and(|one| one.word(0) == "on");
    if stream_tls || matches!(used.scheme, "https" | "grpcs") {
        pool.set_required("tls", verify_settings(used.scheme, scope), used.line);
    }
    if used.scheme.starts_with("grpc") {
        pool.set("http2", value::quote("only"), used.line);
    }
    let proxied = scope.get("proxy_protocol").filter(|one| one.word(0) == "on");
    if let Some(proxied) = proxied.filter(|_| used.scheme == "tcp") {
        pool.set_required("send-proxy", value::quote("v1"), proxied.line);
    }
    write_timeouts(pool, used.scheme, scope);
    write_retry(pool, scope);
}

/// A key of these settings, which distinguishes two uses of one upstream.
fn use_key(used: PoolUse<'_>, scope: &DirectiveScope<'_>) -> String {
    let mut own = TomlTable::new("", 0, "");
    write_server_protocol(&mut own, used, scope);
    own.entries.iter().map(|entry| format!("{} {:?};", entry.key, entry.value)).collect()
}

/// The `tls` of a pool. nginx does not verify servers by default; directives of the proxying location enable it.
fn verify_settings(scheme: &str, scope: &DirectiveScope<'_>) -> String {
    let prefix = directive_prefix(scheme);
    let get = |name: &str| scope.get(&format!("{prefix}_ssl_{name}"));
    let on = get("verify").is_some_and(|one| one.word(0) == "on");
    let mut pairs = vec![("verify", value::quote(if on { "on" } else { "off" }))];
    for (key, name) in [("ca", "trusted_certificate"), ("crl", "crl")] {
        let file = get(name).filter(|_| on);
        pairs.extend(file.map(|file| (key, value::quote(file.word(0)))));
    }
    let name = get("name").filter(|name| !name.word(0).contains('$'));
    pairs.extend(name.map(|name| ("name", value::quote(name.word(0)))));
    value::table(&pairs)
}

/// The prefix of directives about servers.
fn directive_prefix(scheme: &str) -> &'static str {
    if scheme.starts_with("grpc") { "grpc" } else { "proxy" }
}

fn write_timeouts(pool: &mut TomlTable, scheme: &str, scope: &DirectiveScope<'_>) {
    let prefix = directive_prefix(scheme);
    let mut pairs = Vec::new();
    let mut line = 0;
    let mut set = |key: &'static str, name: &str| {
        if let Some((ms, at)) = scope.time(&format!("{prefix}_{name}")) {
            pairs.push((key, duration::format_duration(ms)));
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
fn write_retry(pool: &mut TomlTable, scope: &DirectiveScope<'_>) {
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
