//! What one probe is about and its outcome: the types between `health_checkers` and `engine`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::probe::probe_plan::ProbePlan;
use model::config::{ProbeTls, SendProxyVersion, SocketOptions};
use model::id::ServerId;

/// The target of a probe and its protocol.
#[derive(Clone, Debug)]
pub struct ProbeTarget {
    pub address: SocketAddr,
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
