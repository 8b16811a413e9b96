//! What load to make: target, protocol, pace, and when to stop.
//!
//! Checked once here; everything below relies on it. It sends nothing.

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
    /// Whether connections serve more than one request.
    pub persist: ConnectionReuse,
    /// Threads that share the connections (closed loop) or the rate (open loop).
    pub threads: usize,
    /// Stop asking after this time; `None`: until another limit or `Stopper::stop`.
    pub time: Option<Duration>,
    /// Stop asking after so many requests.
    pub requests: Option<u64>,
    /// A request that is not answered whole in this time has failed; counted from its intended start.
    pub timeout: Duration,
    /// After the last request was sent, how long answers are waited for.
    pub grace: Duration,
    /// How answers are read.
    pub reading: ReadSpeed,
    /// Addresses that connections come from, in turn; empty: the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// The TLS settings; `None` means plain text.
    pub secure: Option<TargetTls>,
    /// HTTP/2; over TLS it must be chosen (ALPN), without it is known.
    pub http2: bool,
    /// Requests at a time on each connection; more than one with HTTP/2 alone.
    pub streams: usize,
    /// Echoes travel as datagrams of UDP; a lost one is a request that timed out.
    pub datagrams: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum LoadProtocol {
    Http(HttpPlan),
    /// HTTP/1.1 requests of several kinds, by weight.
    Mix(RequestMix),
    /// Messages of so many bytes that must come back unchanged; between 8 bytes and 1 MiB.
    Echo {
        /// Bytes of each message.
        bytes: usize,
    },
}

impl LoadProtocol {
    /// The kinds of requests of a mix; none of what is no mix.
    pub fn request_templates(&self) -> &[RequestTemplate] {
        match self {
            LoadProtocol::Mix(mix) => &mix.shots,
            LoadProtocol::Http(_) | LoadProtocol::Echo { .. } => &[],
        }
    }

    /// What is wrong with a whole answer to request `which` of the mix: its status, bytes of its body, and whether the
    /// text was found in it.
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
    /// Where POST requests go.
    pub post_target: String,
    /// Bytes of a POST body, identifier included; at least 24.
    pub post_bytes: usize,
    /// The first identifier: each request carries its own in `x-lab-id` and at the start of its body, so that an
    /// origin can tell which requests arrived twice. `None`: no identifiers.
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

/// How fast to ask.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum LoadModel {
    /// Each connection asks again as soon as it was answered, after a pause.
    Closed {
        /// Connections over all threads.
        connections: usize,
        /// Pause between an answer and the next request in its place.
        think: Duration,
    },
    /// Requests start by the clock, whatever happened to earlier ones.
    Open {
        /// Requests a second over all threads.
        per_second: f64,
        /// Connections over all threads at most; requests wait for a free one, and their clock runs.
        connections: usize,
    },
}

/// Whether connections serve more than one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConnectionReuse {
    /// As many as the peer allows.
    KeepAlive,
    /// One: HTTP requests say `Connection: close`, and whoever is first closes.
    PerRequest,
    /// One, and it is certain who ends it.
    ClosedBy(ClosingSide),
}

/// Who ends a connection after its one request, and keeps it in TIME_WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClosingSide {
    /// The client, as soon as the answer is whole; the server is not told before.
    Client,
    /// The server: the request says `Connection: close`, and its end is waited for.
    Server,
    /// The client with a reset; nobody keeps it in TIME_WAIT.
    Reset,
}

impl ConnectionReuse {
    /// Whether a connection serves one request only.
    pub fn is_single(self) -> bool {
        self != ConnectionReuse::KeepAlive
    }

    /// Whether requests say `Connection: close`.
    pub fn says_close(self) -> bool {
        matches!(self, ConnectionReuse::PerRequest | ConnectionReuse::ClosedBy(ClosingSide::Server))
    }
}

/// How answers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadSpeed {
    /// As fast as they come.
    Fast,
    /// At most `bytes` every `pause`, with the smallest receive buffer the kernel grants; 0 bytes: never.
    Slow {
        /// Bytes of each read.
        bytes: usize,
        pause: Duration,
    },
}

/// Why a plan cannot be carried out.
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
    /// An echoed message must hold its number and fit the buffers.
    #[error("echoed messages must have between 8 and 1,048,576 bytes")]
    EchoBytes,
    /// What HTTP/2 has no word for.
    #[error(
        "HTTP/2 carries requests of a mix, and has no field that makes a server close its connection"
    )]
    Http2,
    /// Streams that the connections cannot have.
    #[error(
        "streams must be between 1 and 1,000; more than one takes HTTP/2 and connections that are kept"
    )]
    Streams,
    /// What has no meaning for datagrams, or does not fit one.
    #[error(
        "datagrams echo messages of at most 65,507 bytes without TLS, and have no reset: there is nothing to reset"
    )]
    Datagrams,
    /// A target or host that would break the request's grammar.
    #[error(
        "targets must begin with '/', and neither targets nor the host may hold spaces or control characters"
    )]
    Target,
    /// A body that cannot hold its identifier, or is too large to keep one per connection.
    #[error(
        "POST bodies must have between 24 and 1,048,576 bytes, and the share of POST at most 100 per cent"
    )]
    Post,
    /// Requests of a mix that are none, or break the grammar.
    #[error(transparent)]
    Mix(#[from] super::request_mix::MixError),
    /// A source address of another family than the target's.
    #[error("source address {0} cannot reach {1}: they are of different families")]
    Source(IpAddr, SocketAddr),
    /// A request without time to be answered fails always.
    #[error("the timeout must be above 0")]
    Timeout,
}

impl LoadPlan {
    /// Closed loop over `connections` keep-alive connections, one thread, until stopped; time limits of 10 s.
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

    /// Whether it can be carried out.
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

    /// Connections over all threads at most.
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

/// Bounds the memory of a plan: bodies are held once for each thread.
const MAX_BODY: usize = 1 << 20;
/// Bounds what one connection holds; servers allow about a hundred by default.
const MOST_STREAMS: usize = 1_000;
/// What a datagram of UDP over IPv4 can hold.
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
