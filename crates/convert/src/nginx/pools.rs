//! Pools on demand: for an upstream's name, or for an address in `proxy_pass`.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use crate::certificate_file::{has_key_beside, key_path};
use crate::document::{Document, TomlTable};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::forwarding::{RuleTerms, TermSources, UpstreamTerms, directive_prefix};
use super::passive_check;
use super::scope::DirectiveScope;
use super::tree::Directive;
use super::upstream;
use super::upstream_directory::UpstreamDirectory;

/// The pools requested so far.
pub struct UpstreamPools {
    names: UniqueNames,
    known: HashMap<PoolTarget, Vec<KnownPool>>,
    /// The targets in `known`.
    targets: HashSet<String>,
    tables: Vec<TomlTable>,
    uses_empty_pool: bool,
}

/// What a pool was requested for.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PoolTarget {
    /// `http`, `https`, `grpc`, `grpcs` or `tcp`.
    scheme: String,
    /// An upstream's name or a host, in lower case; or a Unix socket.
    target: String,
}

/// A pool for one protocol and one combination of TLS settings.
#[derive(Debug)]
struct KnownPool {
    /// A text that differs for each combination.
    settings: String,
    name: String,
    /// The times and retries that the pool has.
    terms: UpstreamTerms,
}

/// A pool for a location.
#[derive(Debug)]
pub struct PoolReference {
    pub name: String,
    /// What a rule for the location says otherwise than the pool.
    pub terms: RuleTerms,
}

/// How a pool is used.
#[derive(Clone, Copy, Debug)]
pub struct PoolUse<'a> {
    /// `http`, `https`, `grpc`, `grpcs` or `tcp`.
    pub scheme: &'a str,
    /// An upstream's name, a host with or without port, or `unix:` and a path.
    pub target: &'a str,
    pub source: SourcePlace,
}

impl UpstreamPools {
    /// An empty collection, with reserved names.
    pub fn new(names: UniqueNames) -> UpstreamPools {
        UpstreamPools {
            names,
            known: HashMap::new(),
            targets: HashSet::new(),
            tables: Vec::new(),
            uses_empty_pool: false,
        }
    }

    /// The name of the pool for services that answer every request themselves.
    pub fn empty_pool(&mut self) -> String {
        self.uses_empty_pool = true;
        empty_pool::NAME.to_owned()
    }

    /// The pool for this use. Creates the pool if necessary.
    pub fn reference(
        &mut self,
        used: PoolUse<'_>,
        upstreams: &UpstreamDirectory<'_>,
        scope: &DirectiveScope<'_>,
        notes: &mut ConversionNotes,
    ) -> PoolReference {
        let target = match used.target.starts_with("unix:") {
            true => used.target.to_owned(),
            false => used.target.to_ascii_lowercase(),
        };
        let key = PoolTarget { scheme: used.scheme.to_owned(), target };
        // TLS belongs to a location in nginx and to a pool here, so each combination needs its own pool.
        let upstream = upstreams.find(used.target);
        let settings = use_key(used, scope, upstream.is_some());
        let servers = upstream.map_or(1, upstream::count_servers);
        note_retry_words(used.scheme, scope, notes);
        note_bind(used.scheme, scope, notes);
        let mut sources = TermSources::default();
        let own = UpstreamTerms::read(used.scheme, servers, scope, &mut sources);
        sources.mark_written(used.scheme, scope);
        self.targets.insert(key.target.clone());
        let known = self.known.entry(key).or_default();
        if let Some(same) = known.iter().find(|other| other.settings == settings) {
            return PoolReference { name: same.name.clone(), terms: own.rule_keys(&same.terms) };
        }
        if !known.is_empty() {
            let reason =
                "TLS belongs to a pool: the servers stand in a further one for what is said here";
            notes.changed(used.source, used.target, reason, "");
        }
        let name = self.names.unique_name(used.target);
        let (source, text) =
            upstream.map_or((used.source, String::new()), |one| (one.source, one.text()));
        let mut pool = TomlTable::new(format!("pool.{name}"), source, &text);
        match upstream {
            Some(upstream) => upstream::fill(&mut pool, upstream, used.scheme != "tcp", notes),
            None => {
                let tls = matches!(used.scheme, "https" | "grpcs");
                let address = upstream::with_port(used.target, if tls { 443 } else { 80 });
                pool.push_item("servers", value::quote(&address), used.source);
            }
        }
        write_server_protocol(&mut pool, used, scope, upstream.is_some());
        if pool.has("tls") {
            note_unverified(used.scheme, scope, notes);
            note_server_tls(used.scheme, scope, notes);
        }
        // The pool has the terms of the server's level; those of the location stand in its rule.
        let mut sources = TermSources::default();
        let terms = UpstreamTerms::read(used.scheme, servers, &scope.server_level(), &mut sources);
        if let Some(upstream) = upstream.filter(|_| used.scheme != "tcp") {
            passive_check::write(&mut pool, upstream, &own.statuses, notes);
        }
        let retries = terms.retries.max(own.retries) > 0;
        let retry = match upstream.is_some_and(upstream::has_backup) && retries {
            true => Some(terms.pool_retry_with_backup()),
            false => terms.pool_retry(),
        };
        write_terms(&mut pool, &terms, retry, &sources);
        self.tables.push(pool);
        let reference = PoolReference { name: name.clone(), terms: own.rule_keys(&terms) };
        known.push(KnownPool { settings, name, terms });
        reference
    }

    /// Whether a pool was requested for this upstream.
    pub fn has_used(&self, upstream: &str) -> bool {
        self.targets.contains(&upstream.to_ascii_lowercase())
    }

    /// Writes all pools that a rule refers to.
    pub fn write(self, document: &mut Document) {
        for table in self.tables {
            document.push(table);
        }
        if self.uses_empty_pool {
            empty_pool::ensure_pool(document);
        }
    }
}

/// Writes the protocol of connections to servers.
fn write_server_protocol(
    pool: &mut TomlTable,
    used: PoolUse<'_>,
    scope: &DirectiveScope<'_>,
    is_upstream: bool,
) {
    let stream_tls =
        used.scheme == "tcp" && scope.get("proxy_ssl").is_some_and(|one| one.word(0) == "on");
    if stream_tls || matches!(used.scheme, "https" | "grpcs") {
        pool.set_required("tls", verify_settings(used, scope, is_upstream), used.source);
    }
    if used.scheme.starts_with("grpc") {
        pool.set("http2", value::quote("only"), used.source);
    }
    let bind = scope.get(&format!("{}_bind", directive_prefix(used.scheme)));
    let bind = bind.filter(|bind| bind.peek(1).is_empty());
    if let Some(bind) = bind.filter(|bind| bind.word(0).parse::<IpAddr>().is_ok()) {
        pool.set("source", value::quote(bind.word(0)), bind.source);
    }
    let proxied = if used.scheme == "tcp" { scope.get("proxy_protocol") } else { None };
    if let Some(proxied) = proxied.filter(|one| one.word(0) == "on") {
        pool.set_required("send-proxy", value::quote("v1"), proxied.source);
    }
}

/// Reports an address towards servers that is not one of this machine.
fn note_bind(scheme: &str, scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) {
    let bind = scope.get(&format!("{}_bind", directive_prefix(scheme)));
    let is_plain = |bind: &&Directive| {
        let is_alone = bind.peek(1).is_empty();
        is_alone && (bind.peek(0) == "off" || bind.peek(0).parse::<IpAddr>().is_ok())
    };
    let Some(bind) = bind else { return };
    match is_plain(&bind) {
        true => bind.mark_converted(),
        false => {
            let reason = "servers see an address of this machine, which the kernel chooses";
            bind.args();
            notes.left_out(bind.source, &bind.text(), reason, "`source` of the pool");
        }
    }
}

/// Reports what is left of TLS to servers: the place of a key, and a name that depends on the request.
fn note_server_tls(scheme: &str, scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) {
    let prefix = directive_prefix(scheme);
    let get = |name: &str| scope.get(&format!("{prefix}_ssl_{name}"));
    if let Some(name) = get("name").filter(|one| one.word(0).contains('$'))
        && !matches!(name.word(0), "$proxy_host" | "${proxy_host}")
    {
        let reason =
            "servers are asked for the name of their upstream, or their own, and must prove it";
        notes.left_out(name.source, &name.text(), reason, "`tls.name` of the pool");
    }
    if let Some(certificate) = get("certificate").filter(|one| !one.is_settled()) {
        certificate.args();
        let reason = "a certificate stands in a file: servers get none";
        notes.left_out(certificate.source, &certificate.text(), reason, "`tls.certificate`");
    }
    if let (Some(certificate), Some(key)) = (get("certificate"), get("certificate_key")) {
        key.mark_converted();
        let file = certificate.word(0);
        if !has_key_beside(file, key.word(0)) {
            let reason = "a key stands in the certificate's file or beside it";
            let instead = format!("cp {} {}", key.word(0), key_path(file));
            notes.left_out(certificate.source, &certificate.text(), reason, &instead);
        }
    }
}

/// Reports files for the verification of servers that have no effect, because the verification is off.
fn note_unverified(scheme: &str, scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) {
    let prefix = directive_prefix(scheme);
    let get = |name: &str| scope.get(&format!("{prefix}_ssl_{name}"));
    if get("verify").is_some_and(|one| one.word(0) == "on") {
        return;
    }
    for file in ["trusted_certificate", "crl"].into_iter().filter_map(get) {
        let reason = "servers are not verified, as nginx does not without `proxy_ssl_verify on`";
        notes.changed(file.source, &file.text(), reason, "`tls = { verify = \"on\" }`");
    }
}

/// Reports the words of `proxy_next_upstream` that are not carried over.
fn note_retry_words(scheme: &str, scope: &DirectiveScope<'_>, notes: &mut ConversionNotes) {
    let prefix = directive_prefix(scheme);
    let next = scope.get(&format!("{prefix}_next_upstream")).filter(|next| !next.is_settled());
    let Some(next) = next else { return };
    for option in next.options(0) {
        match option.text {
            "non_idempotent" => notes.left_out(
                option.source,
                &next.text(),
                "a request that may do something twice is not sent again",
                "`retry` of the pool",
            ),
            _ => notes.converted(option.source),
        }
    }
    if scheme == "tcp" || next.args().iter().any(|word| word == "error" || word == "off") {
        return notes.converted(next.source);
    }
    let reason = "a server that cannot be connected to is not asked again, but another one is";
    notes.changed(next.source, &next.text(), reason, "`retries` of the rule");
}

/// A text of the settings that distinguishes two uses of one upstream.
fn use_key(used: PoolUse<'_>, scope: &DirectiveScope<'_>, is_upstream: bool) -> String {
    let mut own = TomlTable::new("", SourcePlace::NONE, "");
    write_server_protocol(&mut own, used, scope, is_upstream);
    if used.scheme == "tcp" {
        // A service for bytes may have no rule that says otherwise.
        let mut sources = TermSources::default();
        let terms = UpstreamTerms::read(used.scheme, 1, scope, &mut sources);
        write_terms(&mut own, &terms, terms.pool_retry(), &sources);
    }
    own.entries.iter().map(|entry| format!("{} {:?};", entry.key, entry.value)).collect()
}

/// The `tls` of a pool. nginx does not verify servers by default; directives of the proxying location enable it.
fn verify_settings(used: PoolUse<'_>, scope: &DirectiveScope<'_>, is_upstream: bool) -> String {
    let prefix = directive_prefix(used.scheme);
    let get = |name: &str| scope.get(&format!("{prefix}_ssl_{name}"));
    for name in ["verify", "name"] {
        get(name).into_iter().for_each(Directive::mark_converted);
    }
    let on = get("verify").is_some_and(|one| one.word(0) == "on");
    let mut pairs = vec![KeyValue::new("verify", value::quote(if on { "on" } else { "off" }))];
    for (key, name) in [("ca", "trusted_certificate"), ("crl", "crl")] {
        let file = get(name).filter(|_| on).inspect(|file| file.mark_converted());
        pairs.extend(file.map(|file| KeyValue::new(key, value::quote(file.word(0)))));
    }
    if let Some(certificate) = get("certificate").filter(|one| !one.word(0).contains([':', '$'])) {
        pairs.push(KeyValue::new("certificate", value::quote(certificate.word(0))));
        certificate.mark_converted();
    }
    let proxy_host = used.target.rsplit_once(':').map_or(used.target, |(host, _)| host);
    let name = match get("name").map(|name| name.word(0)) {
        Some("$proxy_host" | "${proxy_host}") => Some(proxy_host),
        Some(name) if !name.contains('$') => Some(name),
        // nginx takes the host of `proxy_pass`, which is `localhost` for a Unix socket.
        _ if used.target.starts_with("unix:") => Some("localhost"),
        _ if is_upstream && (on || get("server_name").is_some_and(|one| one.peek(0) == "on")) => {
            Some(proxy_host)
        }
        _ => None,
    };
    pairs.extend(name.map(|name| KeyValue::new("name", value::quote(name))));
    value::table(&pairs)
}

/// Writes times and retries. A time of idle connections that the upstream has is kept.
fn write_terms(
    pool: &mut TomlTable,
    terms: &UpstreamTerms,
    retry: Option<String>,
    sources: &TermSources,
) {
    let mut pairs = terms.timeout.clone();
    let mut places = sources.timeout.clone();
    if let Some(own) = pool.get("timeout").map(|own| own.trim_matches(['{', '}', ' ']).to_owned())
        && let Some((_, time)) = own.split_once(" = ")
    {
        pairs.push(KeyValue::new("idle", time.to_owned()));
        places.extend(pool.source_of("timeout"));
    }
    let mut set = |key: &'static str, value: String, places: &[SourcePlace]| {
        pool.set(key, value, places.last().copied().unwrap_or_default());
        pool.add_sources(key, places);
    };
    set("timeout", value::table(&pairs), &places);
    set("retries", terms.retries.to_string(), &sources.retries);
    if let Some(retry) = retry {
        set("retry", retry, &sources.retry);
    }
}
