//! What one probe is about and what came of it: the words between `judges` and `engine`.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ::probe::plan::Plan;
use model::config::{ProbeTls, SendProxy, SocketOptions};

/// What is probed and how.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where.
    pub address: SocketAddr,
    /// From where; `None`: the kernel chooses.
    pub source: Option<IpAddr>,
    /// The header of the PROXY protocol that comes before everything else.
    pub announce: Option<SendProxy>,
    /// The pool's socket settings.
    pub socket: Arc<SocketOptions>,
    /// What is done.
    pub prepared: Arc<Prepared>,
    /// The server's own name or address, with its port unless it is HTTP's.
    pub host: Arc<str>,
    /// The server's name or address alone: what a certificate bears.
    pub bare: Arc<str>,
    /// `POOL/NAME`.
    pub name: Arc<str>,
    /// For the whole probe.
    pub timeout: Duration,
}

/// What all probes of one configuration share.
#[derive(Debug)]
pub struct Prepared {
    /// What is said.
    pub plan: Plan,
    /// TLS beneath it.
    pub tls: Option<ProbeTls>,
}

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server did what was asked. The time is not part of the sentence.
    Seen(String),
    /// It did not: why.
    Failed(String),
    /// We could not ask: no evidence about the server.
    Ours(String),
}

/// A time for people: two digits are enough.
pub fn time(span: Duration) -> String {
    let micros = span.as_micros();
    match micros {
        0..10_000 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        10_000..1_000_000 => format!("{} ms", micros / 1000),
        _ if micros % 1_000_000 < 100_000 => format!("{} s", micros / 1_000_000),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}
