//! The servers of a backend: which of them are written, and the entry of each.

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::bind::FileBases;
use super::cookie;
use super::health_check::{CheckSettings, CheckTimes};
use super::name_resolvers::NameResolvers;
use super::server::{self, HaproxyServer};
use super::server_template::{self, TemplateValue};
use super::settings::{ProxySettings, ServerLine};
use super::shared_settings;

/// What a backend takes from the rest of the file.
#[derive(Clone, Copy, Debug)]
pub struct BackendSurroundings<'a> {
    /// The ports on which its clients connect, for servers without a port.
    pub ports: &'a [u16],
    pub bases: &'a FileBases,
    pub resolvers: &'a NameResolvers<'a>,
}

/// Reads the servers of a backend. Writes `servers-from` for a template.
pub fn read(
    settings: &ProxySettings,
    surroundings: BackendSurroundings<'_>,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) -> Vec<HaproxyServer> {
    let BackendSurroundings { ports, bases, resolvers } = surroundings;
    let mut out: Vec<HaproxyServer> = Vec::new();
    let mut found: Option<TemplateValue> = None;
    for ServerLine { line, defaults } in &settings.servers {
        if line.word(0) == "server-template" {
            let server = server::read_template(line, defaults, bases, notes);
            if found.is_some() {
                let reason = "the servers of a pool have one name";
                shared_settings::leave_out(&server, reason, "a pool of its own", notes);
                continue;
            }
            match server_template::servers_from(line, &server, resolvers, notes) {
                Ok(from) if !server.is_refused => {
                    found = Some(from);
                    out.push(server);
                }
                Ok(_) => shared_settings::leave_out(&server, REFUSED, "", notes),
                Err(why) => {
                    shared_settings::leave_out(&server, &why.reason, &why.instead, notes);
                }
            }
            continue;
        }
        let Some(mut server) = server::read(line, defaults, bases, notes) else { continue };
        server_template::note_lookup(line, &server, resolvers, notes);
        if server.is_refused {
            shared_settings::leave_out(&server, REFUSED, "", notes);
        } else if let Some(port) = port(&server, ports) {
            server.port = server.port.or(port.number);
            out.push(server);
        } else {
            let reason = "the server has no port, and its clients come to several or none";
            shared_settings::leave_out(&server, reason, "a port", notes);
        }
    }
    if !settings.http {
        out.iter_mut().for_each(|server| remove_http2(server, notes));
    }
    let mut out = shared_settings::keep_alike(out, notes);
    leave_out_template(&mut out, notes);
    if let Some(from) = found
        && let Some(template) = out.iter().find(|one| one.is_template)
    {
        pool.set("servers-from", from.value, template.source);
        pool.add_sources("servers-from", &from.sources);
    }
    cookie::write_values(settings, &mut out, notes);
    note_backups(settings, &out, notes);
    out
}

const REFUSED: &str = "the server gets no requests";

/// Where bytes are forwarded, no protocol is chosen for a server.
fn remove_http2(server: &mut HaproxyServer, notes: &mut ConversionNotes) {
    if server.http2.take().is_some() {
        let reason = "where bytes are forwarded, servers are offered no protocol (ALPN)";
        let text = format!("server {}", server.name);
        notes.left_out(server.source, &text, reason, "`forward = \"http\"`");
    }
}

/// The port of a server. No number: it is on a Unix socket.
struct ServerPort {
    number: Option<u16>,
}

/// The port of a server, or that of its clients. `None`: they come to several or to none.
fn port(server: &HaproxyServer, ports: &[u16]) -> Option<ServerPort> {
    let mut own: Vec<u16> = ports.to_vec();
    own.dedup();
    match (server.port, &own[..]) {
        (Some(number), _) => Some(ServerPort { number: Some(number) }),
        (None, _) if server.is_unix() => Some(ServerPort { number: None }),
        (None, [only]) => Some(ServerPort { number: Some(*only) }),
        (None, _) => None,
    }
}

/// Leaves the servers of a name out where they need something of their own that only a fixed server has.
fn leave_out_template(servers: &mut Vec<HaproxyServer>, notes: &mut ConversionNotes) {
    let others = servers.iter().any(|one| !one.is_template);
    let has_mains = servers.iter().any(|one| !one.backup);
    let Some(at) = servers.iter().position(|one| one.is_template) else { return };
    let server = &servers[at];
    let own = server.keys.iter().find(|one| others || one.key == "state");
    let reason = match own {
        Some(own) => {
            format!("servers of a name have no `{}` of their own: they get no requests", own.key)
        }
        None if server.backup && has_mains => {
            "servers of a name are no backups: they get no requests".to_owned()
        }
        None => return,
    };
    shared_settings::leave_out(server, &reason, "servers by their addresses", notes);
    servers.remove(at);
}

fn note_backups(settings: &ProxySettings, servers: &[HaproxyServer], notes: &mut ConversionNotes) {
    let backups = servers.iter().filter(|one| one.backup).count();
    if let Some(last) = servers.iter().rfind(|one| one.backup)
        && backups > 1
        && settings.options.get("allbackups").inspect(|line| line.mark_converted()).is_none()
    {
        let reason = "all backups help when the others are down, not the first of them alone";
        notes.changed(last.source, "backup", reason, "`priority` for an order among them");
    }
}

/// The times of the pool's own probe: those of servers by a name, else those of the first server that is checked.
pub fn common_times(servers: &[HaproxyServer]) -> Option<CheckTimes> {
    let template = servers.iter().find(|one| one.is_template);
    let first = || servers.iter().find(|one| one.checked);
    let chosen = template.map_or_else(first, Some).filter(|one| one.checked);
    chosen.map(|one| one.times.clone())
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
    let probe = match times {
        Some(_) if !server.checked => Some(value::quote("off")),
        Some(common) if *common != server.times => {
            let is_tls = server.tls.is_on && server.times.port.is_none();
            let tls = is_tls.then(|| server.tls.explicit_probe_value());
            Some(check.to_override(&server.times, common, tls))
        }
        None if server.checked => Some(check.to_toml(&server.times)),
        _ => None,
    };
    pairs.extend(probe.map(|probe| KeyValue::new("probe", probe)));
    value::table(&pairs)
}
