//! What one probe is about and its outcome: the types between `health_checkers` and `engine`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::probe::probe_plan::ProbePlan;
use model::config::{ProbeTls, SendProxyVersion, ServerEndpoint, SocketOptions};
use model::id::ServerId;

/// The target of a probe and its protocol.
#[derive(Clone, Debug)]
pub struct ProbeTarget {
    pub address: ServerEndpoint,
    /// From where; `None`: the kernel chooses.
    pub source: Option<IpAddr>,
    /// The PROXY protocol header that is sent first.
    pub proxy_header: Option<SendProxyVersion>,
    /// The pool's socket settings.
    pub socket: Arc<SocketOptions>,
    pub plan: Arc<SharedProbePlan>,
    /// The server's own name or address, with its port unless it is HTTP's.
    pub host: Arc<str>,
    /// The server's name or address without port, as in its certificate.
    pub server_name: Arc<str>,
    pub name: Arc<str>,
    /// For the whole probe.
    pub timeout: Duration,
}

impl ProbeTarget {
    /// The address that checks over UDP and ICMP are about. None of them reaches a Unix socket, for which this is the
    /// unspecified address.
    pub fn datagram_address(&self) -> SocketAddr {
        let none = || SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        self.address.socket_address().unwrap_or_else(none)
    }
}

/// The endpoint of a check or an agent that may have its own port; a Unix socket has none.
pub(super) fn with_port(at: &ServerEndpoint, port: Option<u16>) -> ServerEndpoint {
    match (at.socket_address(), port) {
        (Some(address), Some(port)) => SocketAddr::new(address.ip(), port).into(),
        _ => at.clone(),
    }
}

/// Settings that all probes of one configuration share.
#[derive(Debug)]
pub struct SharedProbePlan {
    pub plan: ProbePlan,
    pub tls: Option<ProbeTls>,
}

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// The server passed. The time is not part of the sentence.
    Passed(String),
    /// It did not: why.
    Failed(String),
    /// We could not ask: no evidence about the server.
    NotMade(String),
}

/// Identifies the server that a result belongs to. Results that arrive after the server changed are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProbeTicket {
    pub(super) server: ServerId,
    pub(super) number: u64,
}

/// A probe that is to begin now.
pub(super) struct DueServerProbe {
    pub(super) ticket: ProbeTicket,
    pub(super) target: ProbeTarget,
}

/// A worker's observation about a server.
#[derive(Debug)]
pub(super) enum ConnectObservation {
    /// A connection could not be made: why.
    Failed(ServerId, String),
    /// A connection was made after one had failed.
    Succeeded(ServerId),
}
