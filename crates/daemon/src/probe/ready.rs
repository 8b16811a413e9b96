//! From a server's facts to what a probe of it needs, prepared once for all that are probed alike.
//!
//! It opens nothing and judges nothing.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use ::probe::plan::Plan;
use model::config::{Host, Pool, ProbeKind, ProbeTls, SocketOptions};
use model::health::Health;

use super::target::{Prepared, Target};
use crate::control::ServerFacts;

/// What is prepared already.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<(ProbeKind, Option<ProbeTls>), Arc<Prepared>>);

impl Known {
    /// Forgets what nobody uses any more.
    pub(super) fn forget(&mut self) {
        self.0.retain(|_, prepared| Arc::strong_count(prepared) > 1);
    }
}

/// What is done with a server, prepared once for all that are probed alike.
pub(super) struct Ready {
    prepared: Arc<Prepared>,
    host: Arc<str>,
    bare: Arc<str>,
    name: Arc<str>,
    question: String,
}

impl Ready {
    /// Of this server.
    pub(super) fn of(known: &mut Known, facts: &ServerFacts, health: &Health) -> Ready {
        let due = health.due();
        let key = (due.kind.clone(), due.tls.cloned());
        let prepared = known.0.entry(key).or_insert_with_key(|(kind, tls)| {
            Arc::new(Prepared { plan: Plan::new(kind, tls.is_some()), tls: tls.clone() })
        });
        let bare = match &facts.config.address.host {
            Host::Ip(ip) => ip.to_string(),
            Host::Name(name) => name.clone(),
        };
        let port = due.port.unwrap_or(facts.config.address.port);
        Ready {
            prepared: Arc::clone(prepared),
            host: host(&facts.config.address.host, port).into(),
            bare: bare.into(),
            name: format!("{}/{}", facts.pool_name, facts.config.name).into(),
            question: question(facts, health),
        }
    }

    /// The probe as evidence names it.
    pub(super) fn question(&self) -> &str {
        &self.question
    }
}

/// What is asked, over what and where: `http GET /healthz over tls at 10.0.0.11:8080`.
fn question(facts: &ServerFacts, health: &Health) -> String {
    let due = health.due();
    let tls = if due.tls.is_some() { " over tls" } else { "" };
    let (host, port) = (&facts.config.address.host, due.port.unwrap_or(facts.config.address.port));
    let at = match host {
        Host::Ip(ip) => SocketAddr::new(*ip, port).to_string(),
        Host::Name(name) => format!("{name}:{port}"),
    };
    format!("{}{tls} at {at}", due.kind.question())
}

/// The next probe of a server, where its address is known.
pub(super) fn target(
    facts: &ServerFacts,
    ready: &Ready,
    health: &Health,
    pool: &Pool,
    socket: &Arc<SocketOptions>,
) -> Option<Target> {
    let due = health.due();
    let at = facts.resolved.address()?;
    let address = SocketAddr::new(at.ip(), due.port.unwrap_or(at.port()));
    Some(Target {
        address,
        source: pool.source.iter().copied().find(|source| source.is_ipv4() == address.is_ipv4()),
        // At a port of its own a server expects what it pleases.
        announce: pool.send_proxy.filter(|_| address.port() == at.port()),
        socket: Arc::clone(socket),
        prepared: Arc::clone(&ready.prepared),
        host: Arc::clone(&ready.host),
        bare: Arc::clone(&ready.bare),
        name: Arc::clone(&ready.name),
        timeout: due.timeout,
    })
}

/// The server's own name or address, with the port unless it is HTTP's.
fn host(host: &Host, port: u16) -> String {
    let name = match host {
        Host::Ip(ip) if ip.is_ipv6() => format!("[{ip}]"),
        Host::Ip(ip) => ip.to_string(),
        Host::Name(name) => name.clone(),
    };
    if port == 80 { name } else { format!("{name}:{port}") }
}
