//! `reverse_proxy`: a pool for each, with its servers, times and retries.

use std::collections::HashMap;

use crate::document::{Document, TomlTable};
use crate::duration::{format_duration, parse_duration};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::balance;
use super::cookie_affinity::CookieAffinity;
use super::health;
use super::order::RouteStep;
use super::proxy_target::ProxyTarget;
use super::transport;
use super::upstream::{self, UpstreamScheme, UpstreamServer};

/// The pools of all sites.
pub struct ProxyPools {
    names: UniqueNames,
    known: HashMap<SourcePlace, ProxyTarget>,
    tables: Vec<TomlTable>,
    /// Names of cookies that keep clients at servers, by pool.
    pub cookies: HashMap<String, CookieAffinity>,
}

impl ProxyPools {
    pub fn new() -> ProxyPools {
        ProxyPools {
            names: empty_pool::reserve_name(),
            known: HashMap::new(),
            tables: Vec::new(),
            cookies: HashMap::new(),
        }
    }

    /// The pool of a `reverse_proxy`. It is made when it is first asked for.
    pub fn target(&mut self, step: &RouteStep<'_>, notes: &mut ConversionNotes) -> ProxyTarget {
        let source = step.statement.source;
        if let Some(known) = self.known.get(&source) {
            return known.clone();
        }
        let target = self.make(step, notes).unwrap_or_default();
        self.known.insert(source, target.clone());
        target
    }

    fn make(&mut self, step: &RouteStep<'_>, notes: &mut ConversionNotes) -> Option<ProxyTarget> {
        let statement = step.statement;
        let servers = upstream::servers(step, notes);
        let discovery = upstream::discovery(statement, notes);
        if servers.is_empty() && discovery.is_none() {
            let reason = "no server that can be forwarded to is left: 502";
            statement.leave_out(reason, "`servers` of a pool", notes);
            settle_options(statement, notes);
            return None;
        }
        let scheme = servers.first().map_or(UpstreamScheme::Http, |one| one.scheme);
        let first = servers.first().map_or("dynamic", |one| one.address.as_str());
        let name = self.names.unique_name(first);
        let mut pool = TomlTable::new(format!("pool.{name}"), statement.source, &statement.text());
        let policy = balance::write(&mut pool, statement, servers.len(), notes);
        for (at, server) in servers.iter().enumerate() {
            pool.push_item("servers", policy.server(at, &server.address), server.source);
        }
        if let Some(discovery) = discovery {
            pool.set("servers-from", discovery.value, discovery.source);
        }
        if let Some(cookie) = policy.cookie {
            self.cookies.insert(name.clone(), cookie);
        }
        let is_closed = !transport::write(&mut pool, statement, scheme, notes);
        write_retries(&mut pool, statement, notes);
        health::write(&mut pool, statement, notes);
        settle_options(statement, notes);
        // An imported file may say anything of the fields and of TLS.
        let is_unknown = |name: &str| statement.find(name).is_some();
        if is_closed || is_unknown("import") || is_unknown("handle_response") {
            return None;
        }
        let tls = pool.has("tls");
        self.tables.push(pool);
        let single = match servers.as_slice() {
            [only] => Some(only.host()),
            _ => None,
        };
        Some(ProxyTarget { pool: Some(name), single_host: single, tls })
    }

    /// Writes all pools that a rule refers to.
    pub fn write(self, document: &mut Document) {
        self.tables.into_iter().for_each(|table| document.push(table));
    }
}

/// Reports the options that no other part has read.
fn settle_options(statement: &ConfigStatement, notes: &mut ConversionNotes) {
    for option in statement.inner().iter().filter(|one| !one.is_settled()) {
        match option.name.as_str() {
            "to" | "header_up" | "header_down" | "rewrite" | "method" => {}
            "flush_interval" | "trusted_proxies" if option.name == "flush_interval" => {
                option.note_not_needed("answers are passed on as they come", notes);
            }
            "request_buffers" | "response_buffers" | "buffer_requests" | "buffer_responses"
            | "max_buffer_size" | "verbose_logs" | "stream_close_delay" => {
                option.note_changed("bodies are passed on in bounded memory", "`buffer`", notes);
            }
            "trusted_proxies" => option.leave_out(
                "proxies are trusted by a whole service: here none is trusted",
                "`trust` of the service",
                notes,
            ),
            // It may hold back what a server answers.
            "handle_response" => option.leave_out(
                "answers of servers are not looked at: its requests get 502",
                "`error-page`",
                notes,
            ),
            "replace_status" | "@" => option.leave_out(
                "answers of servers are not replaced: they are passed on",
                "",
                notes,
            ),
            name if name.starts_with('@') => {
                option.leave_out("answers are not chosen by their fields", "", notes);
            }
            "import" => option.leave_out(
                "files are not opened: what it may hold is not known: 502",
                "put the file's text in its place",
                notes,
            ),
            _ => option.leave_out("the converter does not know this option", "", notes),
        }
    }
}

/// Retries. Caddy does not repeat a request unless it is told to.
fn write_retries(pool: &mut TomlTable, statement: &ConfigStatement, notes: &mut ConversionNotes) {
    let time = |one: &ConfigStatement| parse_duration(one.word(0), 0).filter(|ms| *ms > 0);
    let count = statement.find("lb_retries").and_then(|one| {
        one.word(0)
            .parse::<u32>()
            .ok()
            .map(|count| KeyValue::new("retries", count.min(10).to_string()))
    });
    let trying = statement.find("lb_try_duration").filter(|one| time(one).is_some());
    let count_source = statement.find("lb_retries").map_or(SourcePlace::NONE, |one| one.source);
    match (count, trying) {
        (Some(count), _) => pool.set("retries", count.value, count_source),
        (None, Some(trying)) => {
            let reason = "a request is tried again at most 10 times within this time";
            trying.note_changed(reason, "`retries`", notes);
            pool.set("retries", "10", trying.source);
        }
        (None, None) => pool.set("retries", "0", SourcePlace::NONE),
    }
    for name in ["lb_retries", "lb_try_duration"] {
        statement.find(name).into_iter().for_each(|one| one.settle_converted(notes));
    }
    if let Some(interval) = statement.find("lb_try_interval")
        && let Some(ms) = time(interval)
    {
        let back_off = [KeyValue::new("back-off", format_duration(ms.min(60_000)))];
        pool.set("retry", value::table(&back_off), interval.source);
    }
    if let Some(only) = statement.find("lb_retry_match") {
        only.leave_out("only idempotent requests are sent again", "`retry`", notes);
    }
}

impl UpstreamServer {
    /// The Host by which the server is asked for itself.
    fn host(&self) -> String {
        let usual = match self.scheme {
            UpstreamScheme::Https => ":443",
            _ => ":80",
        };
        self.address.strip_suffix(usual).unwrap_or(&self.address).to_owned()
    }
}
