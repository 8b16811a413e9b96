//! The plan of a load: target, protocol, pace, and when to stop.
//!
//! It is checked once here, and the rest of the load generator relies on it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::fail::FailureCause;
use super::request_mix::{RequestMix, RequestTemplate};
use super::tls::TargetTls;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadPlan {
    pub target: SocketAddr,
    pub protocol: LoadProtocol,
    pub pace: LoadModel,
    pub persist: ConnectionReuse,
    /// Threads that share the connections (closed loop) or the rate (open loop).
    pub threads: usize,
    /// Start no requests after this time; `None`: until another limit or `Stopper::stop`.
    pub time: Option<Duration>,
    /// Start at most this many requests.
    pub requests: Option<u64>,
    /// A request without a complete response within this time has failed; counted from its intended start.
    pub timeout: Duration,
    /// How long to wait for responses after the last request was sent.
    pub grace: Duration,
    pub reading: ReadSpeed,
    /// Source addresses of connections, used in turn; empty: the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// The TLS settings; `None` means plain text.
    pub secure: Option<TargetTls>,
    /// Uses HTTP/2: selected by ALPN over TLS, with prior knowledge otherwise.
    pub http2: bool,
    /// Concurrent requests on each connection; more than one requires HTTP/2.
    pub streams: usize,
    /// Echo messages are UDP datagrams; a lost one is a request that timed out.
    pub datagrams: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LoadProtocol {
    Http(HttpPlan),
    /// HTTP/1.1 requests of several kinds, by weight.
    Mix(RequestMix),
    /// Messages of this size must be echoed unchanged; from 8 bytes to 1 MiB.
    Echo {
        /// Bytes of each message.
        bytes: usize,
    },
}

impl LoadProtocol {
    /// The kinds of requests of a mix; empty for other protocols.
    pub fn request_templates(&self) -> &[RequestTemplate] {
        match self {
            LoadProtocol::Mix(mix) => &mix.shots,
            LoadProtocol::Http(_) | LoadProtocol::Echo { .. } => &[],
        }
    }

    /// The mismatch, if any, of a complete response with the expectation of request `which`: its status, its body's
    /// size, and whether the body contains the text.
    pub fn check_response(
        &self,
        which: usize,
        status: u16,
        bytes: u64,
        found: bool,
    ) -> Option<FailureCause> {
        match self.request_templates().get(which) {
            Some(shot) => shot.expect.check_response(status, bytes, found),
            None => (status >= 500).then_some(FailureCause::ServerError),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HttpPlan {
    /// The request target, such as `/bytes/1024`.
    pub target: String,
    pub host: String,
    /// Per cent of the requests that are POST.
    pub post_percent: u8,
    /// The target of POST requests.
    pub post_target: String,
    /// Bytes of a POST body, identifier included; at least 24.
    pub post_bytes: usize,
    /// The first identifier. Each request carries its identifier in `x-lab-id` and at the start of its body, so that an
    /// origin can detect requests that arrived twice. `None`: no identifiers.
    pub first_id: Option<u64>,
}

impl HttpPlan {
    /// GET of `target`, without identifiers.
    pub fn get(host: &str, target: &str) -> HttpPlan {
        HttpPlan {
            target: target.to_owned(),
            host: host.to_owned(),
            post_percent: 0,
            post_target: "/echo".to_owned(),
            post_bytes: 64,
            first_id: None,
        }
    }
}

/// The pace of requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoadModel {
    /// Each connection starts its next request after a response and a pause.
    Closed {
        /// Connections over all threads.
        connections: usize,
        /// Pause between a response and the next request of its stream.
        think: Duration,
    },
    /// Requests start by the clock, independent of earlier requests.
    Open {
        /// Requests a second over all threads.
        per_second: f64,
        /// Largest number of connections over all threads. Requests wait for a free one, and the wait counts as
        /// latency.
        connections: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionReuse {
    /// As many requests as the peer allows.
    KeepAlive,
    /// One request: HTTP requests carry `Connection: close`, and either side may close first.
    PerRequest,
    /// One request, with a fixed side that closes first.
    ClosedBy(ClosingSide),
}

/// The side that closes a connection after its one request and then holds it in TIME_WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClosingSide {
    /// The client, as soon as the response is complete; the request does not announce it.
    Client,
    /// The server: the request carries `Connection: close`, and the client waits for the close.
    Server,
    /// The client, with a reset; no side enters TIME_WAIT.
    Reset,
}

impl ConnectionReuse {
    /// Whether a connection serves one request only.
    pub fn is_single(self) -> bool {
        self != ConnectionReuse::KeepAlive
    }

    /// Whether requests carry `Connection: close`.
    pub fn says_close(self) -> bool {
        matches!(self, ConnectionReuse::PerRequest | ConnectionReuse::ClosedBy(ClosingSide::Server))
    }
}

/// How responses are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadSpeed {
    /// As fast as they arrive.
    Fast,
    /// At most `bytes` every `pause`, with the smallest receive buffer that the kernel allows; 0 bytes: never.
    Slow {
        /// Bytes of each read.
        bytes: usize,
        pause: Duration,
    },
}

/// Why a plan is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadPlanError {
    /// No thread, or more than 256.
    #[error("threads must be between 1 and 256")]
    Threads,
    /// Fewer connections than threads, or more than a million.
    #[error("connections must be between the number of threads and 1,000,000")]
    Connections,
    /// The rate is not a positive number up to ten million.
    #[error("the rate must be above 0 and at most 10,000,000 requests a second")]
    Rate,
    /// An echo message must hold its number and fit into the buffers.
    #[error("echoed messages must have between 8 and 1,048,576 bytes")]
    EchoBytes,
    /// HTTP/2 supports only a mix, and has no header field that makes a server close its connection.
    #[error(
        "HTTP/2 carries requests of a mix, and has no field that makes a server close its connection"
    )]
    Http2,
    /// More streams than the connections can have.
    #[error(
        "streams must be between 1 and 1,000; more than one takes HTTP/2 and connections that are kept"
    )]
    Streams,
    /// Options without a meaning for datagrams, or a message that does not fit into one.
    #[error(
        "datagrams echo messages of at most 65,507 bytes without TLS, and have no reset: there is nothing to reset"
    )]
    Datagrams,
    /// A target or host that would violate the request's grammar.
    #[error(
        "targets must begin with '/', and neither targets nor the host may hold spaces or control characters"
    )]
    Target,
    /// A body too small for its identifier, or too large to hold one per connection.
    #[error(
        "POST bodies must have between 24 and 1,048,576 bytes, and the share of POST at most 100 per cent"
    )]
    Post,
    /// The mix has an invalid request.
    #[error(transparent)]
    Mix(#[from] super::request_mix::MixError),
    /// A source address whose family differs from the target's.
    #[error("source address {0} cannot reach {1}: they are of different families")]
    Source(IpAddr, SocketAddr),
    /// With a timeout of zero every request would fail.
    #[error("the timeout must be above 0")]
    Timeout,
}

impl LoadPlan {
    /// A closed loop over `connections` keep-alive connections, one thread, until stopped; time limits of 10 s.
    pub fn new(target: SocketAddr, protocol: LoadProtocol, connections: usize) -> LoadPlan {
        LoadPlan {
            target,
            protocol,
            pace: LoadModel::Closed { connections, think: Duration::ZERO },
            persist: ConnectionReuse::KeepAlive,
            threads: 1,
            time: None,
            requests: None,
            // Ten seconds are far above a good answer and short against a run.
            timeout: Duration::from_secs(10),
            grace: Duration::from_secs(10),
            reading: ReadSpeed::Fast,
            sources: Vec::new(),
            secure: None,
            http2: false,
            streams: 1,
            datagrams: false,
        }
    }

    /// Fails unless the plan can be carried out.
    pub fn check(&self) -> Result<(), LoadPlanError> {
        if !(1..=256).contains(&self.threads) {
            return Err(LoadPlanError::Threads);
        }
        if !(self.threads..=1_000_000).contains(&self.connections()) {
            return Err(LoadPlanError::Connections);
        }
        if let LoadModel::Open { per_second, .. } = self.pace
            && !(per_second > 0.0 && per_second <= 1e7)
        {
            return Err(LoadPlanError::Rate);
        }
        if self.timeout.is_zero() {
            return Err(LoadPlanError::Timeout);
        }
        if let Some(ip) = self.sources.iter().find(|ip| ip.is_ipv4() != self.target.is_ipv4()) {
            return Err(LoadPlanError::Source(*ip, self.target));
        }
        if self.datagrams && !self.fits_datagrams() {
            return Err(LoadPlanError::Datagrams);
        }
        let is_mix = matches!(self.protocol, LoadProtocol::Mix(_));
        if self.http2 && (self.datagrams || !is_mix || self.persist.says_close()) {
            return Err(LoadPlanError::Http2);
        }
        let shared = self.http2 && self.persist == ConnectionReuse::KeepAlive;
        if !(1..=MOST_STREAMS).contains(&self.streams) || (self.streams > 1 && !shared) {
            return Err(LoadPlanError::Streams);
        }
        match &self.protocol {
            LoadProtocol::Mix(mix) => Ok(mix.check()?),
            LoadProtocol::Echo { bytes } if !(8..=MAX_BODY).contains(bytes) => {
                Err(LoadPlanError::EchoBytes)
            }
            LoadProtocol::Echo { .. } => Ok(()),
            LoadProtocol::Http(http) => check_http(http),
        }
    }

    fn fits_datagrams(&self) -> bool {
        let fits = matches!(self.protocol, LoadProtocol::Echo { bytes } if bytes <= MOST_DATAGRAM);
        fits && self.secure.is_none()
            && self.persist != ConnectionReuse::ClosedBy(ClosingSide::Reset)
    }

    /// Largest number of connections over all threads.
    pub fn connections(&self) -> usize {
        match self.pace {
            LoadModel::Closed { connections, .. } | LoadModel::Open { connections, .. } => {
                connections
            }
        }
    }
}

fn check_http(http: &HttpPlan) -> Result<(), LoadPlanError> {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let target = |text: &str| text.starts_with('/') && text.len() <= 4_096 && plain(text);
    if !target(&http.target) || !target(&http.post_target) || !plain(&http.host) {
        return Err(LoadPlanError::Target);
    }
    if http.post_percent > 100 || !(24..=MAX_BODY).contains(&http.post_bytes) {
        return Err(LoadPlanError::Post);
    }
    Ok(())
}

/// Bounds the memory of a plan: each thread holds a copy of the bodies.
const MAX_BODY: usize = 1 << 20;
/// Bounds the memory of one connection; nginx allows 128 streams by default (http2_max_concurrent_streams).
const MOST_STREAMS: usize = 1_000;
/// Largest payload of a UDP datagram over IPv4.
const MOST_DATAGRAM: usize = 65_507;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mistake_has_its_error() {
        let get = LoadProtocol::Http(HttpPlan::get("x", "/"));
        let plan = LoadPlan::new(SocketAddr::from(([127, 0, 0, 1], 1)), get, 4);
        assert_eq!(plan.check(), Ok(()));
        let with = |change: &dyn Fn(&mut LoadPlan)| {
            let mut changed = plan.clone();
            change(&mut changed);
            changed.check()
        };
        assert_eq!(with(&|p| p.threads = 0), Err(LoadPlanError::Threads));
        assert_eq!(with(&|p| p.threads = 5), Err(LoadPlanError::Connections));
        let open = |per_second| LoadModel::Open { per_second, connections: 4 };
        assert_eq!(with(&|p| p.pace = open(0.0)), Err(LoadPlanError::Rate));
        assert_eq!(with(&|p| p.pace = open(f64::NAN)), Err(LoadPlanError::Rate));
        assert_eq!(with(&|p| p.timeout = Duration::ZERO), Err(LoadPlanError::Timeout));
        assert_eq!(with(&|p| p.streams = 0), Err(LoadPlanError::Streams));
        assert_eq!(with(&|p| p.streams = 2), Err(LoadPlanError::Streams), "HTTP/1.1");
        assert_eq!(
            with(&|p| p.protocol = LoadProtocol::Echo { bytes: 7 }),
            Err(LoadPlanError::EchoBytes)
        );
        let echo = |bytes, persist| {
            with(&move |p| {
                p.protocol = LoadProtocol::Echo { bytes };
                p.datagrams = true;
                p.persist = persist;
            })
        };
        assert_eq!(echo(65_507, ConnectionReuse::KeepAlive), Ok(()));
        assert_eq!(echo(65_508, ConnectionReuse::KeepAlive), Err(LoadPlanError::Datagrams));
        assert_eq!(
            echo(8, ConnectionReuse::ClosedBy(ClosingSide::Reset)),
            Err(LoadPlanError::Datagrams)
        );
        assert_eq!(with(&|p| p.datagrams = true), Err(LoadPlanError::Datagrams), "HTTP");
        let http = |target: &str, post_bytes| {
            let mut http = HttpPlan::get("x", target);
            http.post_bytes = post_bytes;
            LoadProtocol::Http(http)
        };
        assert_eq!(with(&|p| p.protocol = http("/a b", 64)), Err(LoadPlanError::Target));
        assert_eq!(with(&|p| p.protocol = http("a", 64)), Err(LoadPlanError::Target));
        assert_eq!(with(&|p| p.protocol = http("/", 23)), Err(LoadPlanError::Post));
    }
}
