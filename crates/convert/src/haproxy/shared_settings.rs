//! Settings that all servers of a pool share, from the keywords of each server.
//!
//! A server that differs in how it is spoken to is left out, since it would get bytes that it does not understand, or
//! secrets without TLS.

use std::collections::HashMap;

use crate::document::TomlTable;
use crate::duration;
use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::server::HaproxyServer;

/// How servers are spoken to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SharedSettings {
    /// The keys of the pool's `tls` table, by their names. `None` without TLS.
    tls: Option<Vec<KeyValue>>,
    http2: Option<&'static str>,
    header: Option<&'static str>,
}

impl SharedSettings {
    fn of(server: &HaproxyServer) -> SharedSettings {
        let mut tls = server.tls.pool_keys();
        tls.iter_mut().for_each(|keys| keys.sort_by_key(|one| one.key));
        SharedSettings { tls, http2: server.http2, header: server.header }
    }

    /// In what it differs from another.
    fn differences(&self, other: &SharedSettings) -> String {
        let mut parts = Vec::new();
        if self.tls != other.tls {
            parts.push("TLS");
        }
        if self.http2 != other.http2 {
            parts.push("HTTP/2");
        }
        if self.header != other.header {
            parts.push("the PROXY protocol");
        }
        parts.join(" and ")
    }
}

/// The servers that are spoken to in one way. The mains are compared first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct AlikeCount {
    mains: usize,
    all: usize,
}

/// The servers that are spoken to in the way of most of them. Backups count only where nothing else decides.
pub fn keep_alike(servers: Vec<HaproxyServer>, notes: &mut ConversionNotes) -> Vec<HaproxyServer> {
    let all: Vec<SharedSettings> = servers.iter().map(SharedSettings::of).collect();
    let mut counts: HashMap<&SharedSettings, AlikeCount> = HashMap::new();
    for (server, one) in servers.iter().zip(&all) {
        let count = counts.entry(one).or_default();
        count.mains += usize::from(!server.backup);
        count.all += 1;
    }
    // The first one of several with the same number.
    let number = |one: &SharedSettings| counts.get(one).copied().unwrap_or_default();
    let Some(chosen) = all.iter().rev().max_by_key(|one| number(one)).cloned() else {
        return servers;
    };
    let mut written = Vec::new();
    for (server, own) in servers.into_iter().zip(&all) {
        if *own == chosen {
            written.push(server);
            continue;
        }
        let reason = format!(
            "servers of a pool are spoken to alike, and this one differs in {}: it gets no requests",
            own.differences(&chosen)
        );
        leave_out(&server, &reason, "a pool of its own, and a rule with `split`", notes);
    }
    written
}

/// Reports a server that is not written, with all words of its line.
pub fn leave_out(server: &HaproxyServer, reason: &str, instead: &str, notes: &mut ConversionNotes) {
    notes.left_out(server.source.whole(), &format!("server {}", server.name), reason, instead);
    // They may stand in the line of a `default-server`.
    let choices = [&server.resolvers, &server.family];
    let choices = choices.into_iter().flatten().map(|choice| choice.source);
    for source in choices.chain(server.cookie.iter().map(|cookie| cookie.source)) {
        notes.ledger.settle(source, NoteKind::LeftOut);
    }
}

/// Writes the settings that all servers of a pool share.
pub fn write(servers: &[HaproxyServer], pool: &mut TomlTable, notes: &mut ConversionNotes) {
    let Some(first) = servers.first() else { return };
    if let Some(keys) = first.tls.pool_keys() {
        pool.set_required("tls", value::table(&keys), first.source);
    }
    if let Some(speak) = first.http2 {
        pool.set_required("http2", value::quote(speak), first.source);
    }
    if let Some(version) = first.header {
        pool.set_required("send-proxy", value::quote(version), first.source);
    }
    write_slow_start(servers, pool, notes);
    write_agent(servers, pool, notes);
    // Servers of a name have what their pool says.
    for KeyValue { key, value } in
        servers.iter().filter(|one| one.is_template).flat_map(|one| &one.keys)
    {
        pool.set(key, value.clone(), first.source);
    }
}

fn write_slow_start(servers: &[HaproxyServer], pool: &mut TomlTable, notes: &mut ConversionNotes) {
    let Some(longest) = servers.iter().filter_map(|one| one.slow_start).max() else { return };
    // The shortest time of the configuration is a second.
    let ms = longest.max(1_000);
    let source = servers.iter().find(|one| one.slow_start.is_some()).map(|one| one.source);
    let time = duration::format_duration(ms);
    pool.set("slow-start", time.clone(), source.unwrap_or_default());
    for server in servers.iter().filter(|one| one.slow_start != Some(ms)) {
        let reason = format!("all servers of a pool take the same time for their start: {time}");
        notes.changed(server.source, &format!("server {}", server.name), &reason, "`slow-start`");
    }
}

fn write_agent(servers: &[HaproxyServer], pool: &mut TomlTable, notes: &mut ConversionNotes) {
    let Some(first) = servers.iter().find(|one| one.agent.is_on) else { return };
    let agent = &first.agent;
    let alike = servers.iter().all(|one| one.agent == *agent);
    if !alike || agent.has_address {
        let reason = match agent.has_address {
            true => {
                "an agent is asked at its server's own address: its weights and states are not read"
            }
            false => {
                "agents of a pool are asked alike, of all servers or of none: their weights and states are not read"
            }
        };
        for server in servers.iter().filter(|one| one.agent.is_on) {
            let instead = "`agent` of a pool of its own";
            notes.left_out(server.source, &format!("server {}", server.name), reason, instead);
        }
        return;
    }
    let mut pairs = vec![KeyValue::new("kind", value::quote("text"))];
    if !agent.port.is_empty() {
        pairs.push(KeyValue::new("port", agent.port.clone()));
    }
    if !agent.send.is_empty() {
        pairs.push(KeyValue::new("send", value::quote(&agent.send)));
    }
    pairs.extend(agent.interval.map(|ms| KeyValue::new("interval", duration::format_duration(ms))));
    pool.set("agent", value::table(&pairs), first.source);
}
