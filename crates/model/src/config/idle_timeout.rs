//! Compares idle timeouts with what is known of the protocol behind a service, which its ports and its health check tell.
//! It only advises: a protocol at an unusual port is not recognised.

use std::time::Duration;

use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::probe::probe_kind;
use crate::config::section::ConfigSection;
use crate::config::unit::Time;

/// A protocol whose connections are idle for long.
#[derive(Clone, Copy, Debug)]
struct IdleProtocol {
    name: &'static str,
    /// The ports that are registered for it.
    ports: &'static [u16],
    /// Its kind of health check.
    probe: Option<&'static str>,
    /// How long its connections may be idle at least, in seconds.
    idle: u64,
    /// Where that comes from.
    reason: &'static str,
    /// After how many idle seconds servers close a connection by default; `None`: they do not.
    closes: Option<u64>,
}

impl IdleProtocol {
    const fn new(
        name: &'static str,
        ports: &'static [u16],
        idle: u64,
        reason: &'static str,
    ) -> IdleProtocol {
        IdleProtocol { name, ports, probe: None, idle, reason, closes: None }
    }

    const fn with_probe(self, probe: &'static str) -> IdleProtocol {
        IdleProtocol { probe: Some(probe), ..self }
    }

    const fn closing_after(self, seconds: u64) -> IdleProtocol {
        IdleProtocol { closes: Some(seconds), ..self }
    }
}

const MINUTE: u64 = 60;
const HOUR: u64 = 3_600;

/// Known protocols. Times of servers are the defaults of their current versions.
static PROTOCOLS: [IdleProtocol; 16] = [
    IdleProtocol::new(
        "LDAP",
        &[389, 636, 3268, 3269],
        HOUR,
        "clients hold connections to directories for hours",
    )
    .with_probe("ldap"),
    IdleProtocol::new(
        "MySQL",
        &[3306],
        8 * HOUR,
        "its servers keep idle connections for 8h (`wait_timeout`)",
    )
    .with_probe("mysql")
    .closing_after(8 * HOUR),
    IdleProtocol::new(
        "PostgreSQL",
        &[5432],
        HOUR,
        "connection pools keep connections for up to an hour",
    )
    .with_probe("postgres"),
    IdleProtocol::new(
        "Oracle",
        &[1521, 2484],
        HOUR,
        "connection pools keep connections for up to an hour",
    ),
    IdleProtocol::new(
        "SQL Server",
        &[1433],
        8 * MINUTE,
        "its clients' pools keep idle connections for up to 8m",
    ),
    IdleProtocol::new("DB2", &[50000], HOUR, "connection pools keep connections for up to an hour"),
    IdleProtocol::new(
        "MongoDB",
        &[27017],
        HOUR,
        "connection pools keep idle connections without a limit",
    ),
    IdleProtocol::new(
        "Redis",
        &[6379],
        5 * MINUTE,
        "its servers send a keep-alive after 5m (`tcp-keepalive`)",
    )
    .with_probe("redis"),
    IdleProtocol::new(
        "MQTT",
        &[1883, 8883],
        90,
        "a keep-alive of 60s may be late by half (MQTT 5, 3.1.2.10)",
    ),
    IdleProtocol::new(
        "AMQP",
        &[5672, 5671],
        2 * MINUTE,
        "two heartbeats of 60s, the default of RabbitMQ",
    )
    .closing_after(3 * MINUTE),
    IdleProtocol::new(
        "SSH",
        &[22],
        2 * HOUR,
        "a session without input has only TCP keep-alives, after 2h",
    ),
    IdleProtocol::new(
        "Telnet",
        &[23, 992],
        2 * HOUR,
        "a session without input has only TCP keep-alives, after 2h",
    )
    .with_probe("telnet"),
    IdleProtocol::new(
        "FTP",
        &[21, 990],
        15 * MINUTE,
        "the control connection is idle while a file is sent",
    )
    .with_probe("ftp"),
    IdleProtocol::new(
        "IMAP",
        &[143, 993],
        30 * MINUTE,
        "servers keep idle clients for 30m (RFC 9051, 5.4)",
    )
    .with_probe("imap")
    .closing_after(30 * MINUTE),
    IdleProtocol::new(
        "POP3",
        &[110, 995],
        10 * MINUTE,
        "servers keep idle clients for 10m (RFC 1939, 3)",
    )
    .with_probe("pop3")
    .closing_after(10 * MINUTE),
    IdleProtocol::new(
        "SMTP",
        &[25, 465, 587],
        5 * MINUTE,
        "both sides wait for 5m (RFC 5321, 4.5.3.2)",
    )
    .with_probe("smtp")
    .closing_after(5 * MINUTE),
];

/// A timeout is far longer than the server's if it is so many times as long.
const FAR_LONGER: u32 = 10;

/// The idle timeout that acts on a service's connections.
struct IdleTimeout<'s> {
    /// The table that has it, and its key there.
    section: &'s ConfigSection,
    key: &'static str,
    /// From the service on.
    path: &'static str,
    time: Duration,
}

/// Warns of idle timeouts that do not fit the protocol behind the service.
pub fn verify_idle_timeouts(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    for service in &effective.services {
        let Some(timeout) = idle_timeout(service) else { continue };
        let Some(protocol) = recognize(service, effective) else { continue };
        let path = format!("service.{}.{}", quote_key(&service.name), timeout.path);
        let place = match timeout.section.is_written(timeout.key) {
            true => timeout.section.span_of(timeout.key),
            false => service.span,
        };
        let IdleProtocol { name, reason, .. } = protocol;
        let least = Duration::from_secs(protocol.idle);
        let key = timeout.path;
        if timeout.time < least {
            let trouble = FindingDetails::new(format!(
                "idle connections are cut after {}, which is short for {name}: {reason}",
                Time(timeout.time)
            ))
            .with_expected(format!(
                "`{key}` of at least {}, or clients that close idle connections earlier",
                Time(least)
            ));
            sink.warning(place, &path, trouble);
        }
        // With direct return only the client's side is seen: a connection that the server closed stays in the table.
        let is_direct = matches!(service.text("forward"), Some("mac" | "tunnel"));
        let closes = protocol.closes.map(Duration::from_secs);
        if let Some(closes) = closes.filter(|closes| timeout.time > *closes * FAR_LONGER)
            && is_direct
            && timeout.section.is_written(timeout.key)
        {
            let trouble = FindingDetails::new(format!(
                "{name} servers close idle connections after {}, which direct return does not see: a connection whose \
                 client is gone takes room for {}",
                Time(closes),
                Time(timeout.time)
            ))
            .with_expected(format!("`{key}` of about {}", Time(closes.max(least) * 2)));
            sink.warning(place, &path, trouble);
        }
    }
}

/// `None` for requests, which have timeouts of their own.
fn idle_timeout(service: &ConfigSection) -> Option<IdleTimeout<'_>> {
    match service.text("forward")? {
        "mac" | "nat" | "tunnel" => {
            let key = "idle-timeout";
            Some(IdleTimeout { section: service, key, path: key, time: service.time(key)? })
        }
        "tcp" => {
            let section = service.table("timeout")?;
            let key = "tunnel";
            Some(IdleTimeout { section, key, path: "timeout.tunnel", time: section.time(key)? })
        }
        _ => None,
    }
}

/// By the kind of the pool's health check, else by the ports of the servers, else by that of the service.
fn recognize(
    service: &ConfigSection,
    effective: &EffectiveSettings,
) -> Option<&'static IdleProtocol> {
    let name = service.text("pool")?;
    let pool = effective.pools.iter().find(|pool| pool.name == name)?;
    let kind = pool.table("probe").and_then(probe_kind);
    let by_probe = PROTOCOLS.iter().find(|one| one.probe.is_some() && one.probe == kind);
    let by_port = |port: u16| PROTOCOLS.iter().find(|one| one.ports.contains(&port));
    let mut servers = pool.list("servers").iter();
    let mut spans = service.listen_ranges("listen").into_iter();
    by_probe
        .or_else(|| servers.find_map(|server| by_port(server.server_address("address")?.port)))
        .or_else(|| spans.find_map(|span| by_port(span.exact_port()?)))
}
