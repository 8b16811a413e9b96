//! The servers of a backend: what is theirs, and what all servers of a pool share.

use crate::document::TomlTable;
use crate::duration;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::bind::FileBases;
use super::cookie;
use super::health_check::{CheckSettings, CheckTimes};
use super::lex::ConfigLine;
use super::server::{self, AgentCheckSettings, HaproxyServer};
use super::settings::{ProxySettings, ServerLine};

/// Reads the servers of a backend. Writes `servers-from` for a template.
pub fn read(
    settings: &ProxySettings,
    ports: &[u16],
    bases: &FileBases,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) -> Vec<HaproxyServer> {
    let mut out = Vec::new();
    for ServerLine { line, defaults } in &settings.servers {
        if line.word(0) == "server-template" {
            if server_template(line, pool, notes) {
                out.push(server::read_template(line, defaults, bases, notes));
            }
            continue;
        }
        let Some(mut server) = server::read(line, defaults, bases, notes) else { continue };
        let mut own: Vec<u16> = ports.to_vec();
        own.dedup();
        match (server.port, &own[..]) {
            (Some(_), _) => {}
            (None, _) if server.is_unix() => {}
            (None, [only]) => server.port = Some(*only),
            (None, _) => {
                notes.left_out(
                    line.source,
                    &line.text(),
                    "the server has no port, and its clients come to several or none",
                    "a port",
                );
                continue;
            }
        }
        out.push(server);
    }
    cookie::write_values(settings, &mut out, notes);
    let backups = out.iter().filter(|one| one.backup).count();
    if let Some(last) = out.iter().rfind(|one| one.backup)
        && backups > 1
        && settings.options.get("allbackups").inspect(|line| line.mark_converted()).is_none()
    {
        let reason = "all backups help when the others are down, not the first of them alone";
        notes.changed(last.source, "backup", reason, "`priority` for an order among them");
    }
    out
}

/// `server-template PREFIX NUM NAME:PORT`. Returns false if the line cannot be carried over.
fn server_template(line: &ConfigLine, pool: &mut TomlTable, notes: &mut ConversionNotes) -> bool {
    let (host, port) = line.word(3).rsplit_once(':').unwrap_or((line.word(3), ""));
    let most = line.word(2).rsplit('-').next().unwrap_or_default();
    if pool.has("servers-from") || port.is_empty() || host.starts_with('_') {
        let instead = "`servers-from = { dns = …, port = … }`";
        let reason = "one name with a port for each pool";
        notes.left_out(line.source.whole(), &line.text(), reason, instead);
        return false;
    }
    // Marks the name prefix as read. It is not needed, because servers are named by their addresses.
    line.word(1);
    let pairs = [
        KeyValue::new("dns", value::quote(host)),
        KeyValue::new("port", port.to_owned()),
        KeyValue::new("max", most.to_owned()),
    ];
    pool.set("servers-from", value::table(&pairs), line.source);
    true
}

/// Writes the settings that all servers of a pool share.
pub fn write_common_settings(
    servers: &[HaproxyServer],
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) {
    let Some(first) = servers.first() else { return };
    if let Some(keys) = &first.tls {
        pool.set_required("tls", value::table(keys), first.source);
    }
    if first.http2 {
        pool.set("http2", value::quote("only"), first.source);
    }
    if let Some(version) = first.header {
        pool.set_required("send-proxy", value::quote(version), first.source);
    }
    if let Some(ms) = servers.iter().find_map(|one| one.slow_start) {
        pool.set("slow-start", duration::format_duration(ms.max(1_000)), first.source);
    }
    if let Some(AgentCheckSettings { port, interval }) =
        servers.iter().find_map(|one| one.agent.clone())
    {
        let mut pairs = vec![KeyValue::new("kind", value::quote("text"))];
        if !port.is_empty() {
            pairs.push(KeyValue::new("port", port));
        }
        pairs.extend(interval.map(|ms| KeyValue::new("every", duration::format_duration(ms))));
        pool.set("agent", value::table(&pairs), first.source);
    }
    for other in servers {
        let alike = |one: &HaproxyServer| (one.tls.clone(), one.http2, one.header);
        if alike(other) != alike(first) {
            let reason = "all servers of a pool are spoken to in the same way, that of the first";
            notes.changed(
                other.source,
                &format!("server {}", other.name),
                reason,
                "pools of their own and a `split` rule",
            );
        }
    }
}

/// The entry of a server in `servers`. `times`: those of the pool's probe.
pub fn server_entry(
    server: &HaproxyServer,
    name: String,
    times: Option<&CheckTimes>,
    check: &CheckSettings,
) -> String {
    let mut pairs: Vec<KeyValue> = vec![
        KeyValue::new("name", value::quote(&name)),
        KeyValue::new("address", value::quote(&server.address(80))),
    ];
    pairs.extend(server.keys.iter().cloned());
    if server.backup {
        pairs.push(KeyValue::new("backup", "true"));
    }
    match times {
        Some(_) if !server.checked => pairs.push(KeyValue::new("probe", value::quote("off"))),
        Some(common) if *common != server.times => {
            pairs.push(KeyValue::new("probe", check.to_toml(&server.times)))
        }
        _ => {}
    }
    value::table(&pairs)
}
