//! What one probe is about and its outcome: the types between `health_checkers` and `engine`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::probe::probe_plan::ProbePlan;
use model::config::{ProbeTls, SendProxyVersion, SocketOptions};

/// What is probed and how.
#[derive(Clone, Debug)]
pub struct ProbeTarget {
    pub address: SocketAddr,
    /// From where; `None`: the kernel chooses.
    pub source: Option<IpAddr>,
    /// The header of the PROXY protocol that comes before everything else.
    pub proxy_header: Option<SendProxyVersion>,
    /// The pool's socket settings.
    pub socket: Arc<SocketOptions>,
    pub plan: Arc<SharedProbePlan>,
    /// The server's own name or address, with its port unless it is HTTP's.
    pub host: Arc<str>,
    /// The server's name or address alone: what a certificate bears.
    pub server_name: Arc<str>,
    pub name: Arc<str>,
    /// For the whole probe.
    pub timeout: Duration,
}

/// What all probes of one configuration share.
#[derive(Debug)]
pub struct SharedProbePlan {
    pub plan: ProbePlan,
    pub tls: Option<ProbeTls>,
}

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// The server did what was asked. The time is not part of the sentence.
    Passed(String),
    /// It did not: why.
    Failed(String),
    /// We could not ask: no evidence about the server.
    NotMade(String),
}
