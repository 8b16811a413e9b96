//! The checked configuration of a pool.

use crate::config::agent::AgentConfig;
use crate::config::balance::{BalancePolicy, HashKey, WeightControllerConfig};
use crate::config::circuit_breaker::CircuitBreakerLimits;
use crate::config::discovery::DiscoveryConfig;
use crate::config::hedging::HedgingConfig;
use crate::config::http2::ServerHttp2;
use crate::config::load_shedding::LoadSheddingConfig;
use crate::config::outlier_detection::OutlierDetectionConfig;
use crate::config::probe::ProbeConfig;
use crate::config::proxy_protocol::SendProxyVersion;
use crate::config::retry::RetryConfig;
use crate::config::server::ServerConfig;
use crate::config::socket::SocketOptions;
use crate::config::tls::PoolTls;
use serde::Serialize;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// A pool: servers, and how requests are distributed to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolConfig {
    pub name: String,
    /// The load balancing policy.
    pub balance: BalancePolicy,
    /// The key for hashing policies.
    pub hash_on: HashKey,
    /// The weight controller; `None`: weights stay as configured.
    pub judge: Option<WeightControllerConfig>,
    /// Time in which a new server's share grows from a tenth to the whole; `None`: no slow start.
    pub slow_start: Option<Duration>,
    /// When less than this percentage of the first priority's capacity is available, the next priority is used too;
    /// `None`: when none is.
    pub spill_over: Option<u8>,
    /// The locality of this balancer; servers in it are preferred.
    pub locality: Option<String>,
    /// The state of a server before its first health check result.
    pub initial: InitialState,
    /// Action when no server may get work.
    pub all_down: AllDownPolicy,
    /// The health check that servers inherit; each server's effective one is in `ServerConfig::probe`.
    pub probe: Option<ProbeConfig>,
    /// Load reports of its servers; `None`: none.
    pub agent: Option<AgentConfig>,
    /// Servers in the order of the file; names are unique.
    pub servers: Vec<Arc<ServerConfig>>,
    /// Discovery of further servers.
    pub discovery: Option<DiscoveryConfig>,
    /// Timeouts towards servers.
    pub timeout: PoolTimeouts,
    pub limit: PoolLimits,
    /// Source addresses towards servers, used in turn; empty: the kernel chooses.
    pub source: Vec<IpAddr>,
    /// `nat`: servers see the client's address as source.
    pub source_client: bool,
    /// Socket options towards servers.
    pub socket: SocketOptions,
    /// Limit for retries of a failed request that may be repeated; default 2.
    pub retries: u8,
    /// The retry budget, and the responses that are retried.
    pub retry: RetryConfig,
    /// Outlier detection; `None`: no server is ejected.
    pub eject: Option<OutlierDetectionConfig>,
    /// Limits of the circuit breaker.
    pub breaker: CircuitBreakerLimits,
    /// Load shedding in the queue; `None`: off.
    pub shed: Option<LoadSheddingConfig>,
    /// Hedging; `None`: off.
    pub hedge: Option<HedgingConfig>,
    /// Upstream TLS; `None`: plain text.
    pub tls: Option<PoolTls>,
    /// HTTP/2 towards servers (`http`).
    pub http2: ServerHttp2,
    /// The PROXY protocol header sent to servers; `None`: none.
    pub send_proxy: Option<SendProxyVersion>,
    /// Defects of response heads that are repaired.
    pub lenient_answers: LenientAnswers,
}

/// Defects of response heads that are repaired instead of rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LenientAnswers {
    /// Repeated Content-Length with equal values.
    pub repeated_length: bool,
    /// Lines that end with a bare LF.
    pub bare_lf: bool,
    /// Whitespace before a colon.
    pub space_before_colon: bool,
}

/// Timeouts towards servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolTimeouts {
    /// Establishing a connection; default 3 s.
    pub connect: Duration,
    /// From the request's last byte to the response's first; default 60 s.
    pub first_byte: Duration,
    /// Silence in a stream of events or messages; default 1 h.
    pub stream: Duration,
    /// All attempts together; default `connect` + `first_byte`, or twice `first_byte` with `on_timeout`.
    pub attempts: Duration,
    /// Silence within a response, and between a server's reads of its request; default 30 s.
    pub between_bytes: Duration,
    /// Waiting for a server below its connection limit; default 1 s.
    pub queue: Duration,
    /// Lifetime of an idle connection, unless the server's own limit is shorter; default 60 s.
    pub idle: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolLimits {
    /// Idle connections per server and worker; default 256.
    pub idle: u32,
    /// Queued requests per worker; default 1024.
    pub queue: u32,
    /// Bytes of a response head; default 32 KiB, at most 60 KiB.
    pub header_bytes: u32,
    /// Fields of a response head; default 100, at most 256.
    pub header_count: u16,
}

/// The state of a server before its first health check result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// Gets work at once (default without a health check).
    Up,
    /// Gets work only while no server is up (default with a health check).
    Unknown,
    /// Gets no work until enough health checks have succeeded.
    Down,
}

/// Action when no server may get work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllDownPolicy {
    /// Respond with 503 and the cause (`http`) or reset (`tcp`); the default.
    Refuse,
    /// Treat every enabled server as up.
    Spread,
}
