//! Verifies the settings of a pool that do not fit its servers on Unix sockets: a Unix socket has no IP address, no port
//! and no TCP.

use crate::config::address::{ServerAddress, ServerHost};
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::pool_usage::PoolUsage;
use crate::config::probe::probe_kind;
use crate::config::section::ConfigSection;

/// Kinds of health checks that send UDP or ICMP packets.
const PACKET_PROBES: [&str; 6] = ["udp", "dns", "ping", "radius", "sip", "snmp"];

/// Keys of `socket` that set options of TCP or IP.
const TCP_OPTIONS: [&str; 10] = [
    "nodelay",
    "keep-alive",
    "user-timeout",
    "mss",
    "congestion",
    "fast-open",
    "mptcp",
    "interface",
    "mark",
    "path",
];

/// A server on a Unix socket.
struct UnixServer<'a> {
    section: &'a ConfigSection,
    address: &'a ServerAddress,
    /// The key path of the server.
    path: String,
}

/// Verifies the servers on Unix sockets, and the settings of their pool.
pub fn verify_unix_servers(
    pool: &ConfigSection,
    uses: PoolUsage,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let servers: Vec<UnixServer<'_>> = unix_servers(pool, path);
    let Some(first) = servers.first() else { return };
    for server in &servers {
        verify_unix_server(server, uses, sink);
    }
    let address = first.address;
    let mut refuse = |section: &ConfigSection, key: &str, path: String, message: String| {
        sink.error(section.span_of(key), &path, FindingDetails::new(message));
    };
    if let Some(socket) = pool.table("socket") {
        let path = |key: &str| format!("{path}.socket.{key}");
        if socket.flag("transparent") {
            let message = format!(
                "`transparent` cannot show clients' addresses to {address}: `send-proxy` can"
            );
            refuse(socket, "transparent", path("transparent"), message);
        }
        // Servers of other kinds in the pool have a use for these.
        if servers.len() == pool.list("servers").len() {
            for key in TCP_OPTIONS.into_iter().filter(|key| socket.is_written(key)) {
                let message = format!("`{key}` has no effect: every server is a Unix socket");
                refuse(socket, key, path(key), message);
            }
        }
    }
    if let Some(agent) = pool.table("agent")
        && matches!(agent.text("kind"), Some("text" | "orca"))
        && agent.count::<u64>("port").is_some()
    {
        let trouble = FindingDetails::new(format!("{address} has no port for an agent"))
            .with_expected(
                "`port = \"server\"`, where the server itself answers, or `kind = \"responses\"`",
            );
        sink.error(agent.span, &format!("{path}.agent"), trouble);
    }
    if let Some(tls) = pool.table("tls")
        && tls.text("name").is_none()
        && !tls.is_invalid("name")
    {
        sink.error(tls.span, &format!("{path}.tls.name"), missing_tls_name(address));
    }
}

fn unix_servers<'a>(pool: &'a ConfigSection, path: &str) -> Vec<UnixServer<'a>> {
    let all = pool.list("servers").iter().enumerate();
    let found = all.filter_map(|(at, section)| {
        let address = section.server_address("address")?;
        let path = format!("{path}.servers[{at}]");
        address.host.is_unix().then_some(UnixServer { section, address, path })
    });
    found.collect()
}

fn verify_unix_server(
    server: &UnixServer<'_>,
    uses: PoolUsage,
    sink: &mut FindingCollector<'_, '_>,
) {
    let UnixServer { section, address, path } = server;
    let key = format!("{path}.address");
    if uses.packets {
        let trouble = FindingDetails::new(format!("no packet can be forwarded to {address}"))
            .with_expected("an IP address, or a service with `forward = \"http\"` or `\"tcp\"`");
        sink.error(section.span_of("address"), &key, trouble);
    }
    if uses.names {
        let trouble = FindingDetails::new(format!("no DNS answer can name {address}"))
            .with_expected("servers with IP addresses in a pool that a `[name]` uses");
        sink.error(section.span_of("address"), &key, trouble);
    }
    let Some(probe) = section.table("probe") else { return };
    if let Some(kind) = probe_kind(probe).filter(|kind| PACKET_PROBES.contains(kind)) {
        let trouble = FindingDetails::new(format!("a probe `{kind}` cannot reach {address}"))
            .with_expected("a probe over a connection, such as `http` or `tcp`");
        sink.error(section.span_of("probe"), &format!("{path}.probe"), trouble);
    }
    if probe.count::<u64>("port").is_some() {
        let message = format!("`port` has no meaning: {address} is a Unix socket");
        sink.error(
            probe.span_of("port"),
            &format!("{path}.probe.port"),
            FindingDetails::new(message),
        );
    }
    if let Some(tls) = probe.table("tls")
        && tls.text("name").is_none()
        && !tls.is_invalid("name")
    {
        sink.error(tls.span, &format!("{path}.probe.tls.name"), missing_tls_name(address));
    }
}

fn missing_tls_name(address: &ServerAddress) -> FindingDetails {
    FindingDetails::new(format!("{address} has no host name that a certificate could prove"))
        .with_expected("`name`, a host name of the server's certificate")
}

/// The address of a server on a Unix socket whose file is this one.
pub fn find_unix_server<'a>(pools: &'a [ConfigSection], file: &str) -> Option<&'a ConfigSection> {
    let servers = pools.iter().flat_map(|pool| pool.list("servers"));
    servers.into_iter().find(|server| match server.server_address("address").map(|at| &at.host) {
        Some(ServerHost::Unix(path)) => path.file() == Some(std::path::Path::new(file)),
        _ => false,
    })
}
