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

/// Servers and how to choose among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolConfig {
    /// Its name, kebab-case.
    pub name: String,
    /// How a server is chosen.
    pub balance: BalancePolicy,
    /// What hashes are over.
    pub hash_on: HashKey,
    /// The weight controller; `None`: they stay as written.
    pub judge: Option<WeightControllerConfig>,
    /// How long a server takes from a tenth of its share to the whole.
    pub slow_start: Option<Duration>,
    /// Percent of the first priority's capacity below which the next one helps; `None`: when none is left.
    pub spill_over: Option<u8>,
    /// Where we are.
    pub locality: Option<String>,
    /// What a server is before its first evidence.
    pub initial: InitialState,
    /// What happens when no server may take work.
    pub all_down: AllDownPolicy,
    /// The probe that servers inherit; each server's own is in `Server::probe`.
    pub probe: Option<ProbeConfig>,
    /// How its servers report their load; `None`: they do not.
    pub agent: Option<AgentConfig>,
    /// Servers in the order written; names are unique.
    pub servers: Vec<Arc<ServerConfig>>,
    /// Where more of them are found.
    pub discovery: Option<DiscoveryConfig>,
    /// Times towards servers.
    pub timeout: PoolTimeouts,
    /// Limits.
    pub limit: PoolLimits,
    /// Source addresses towards servers, used in turn; empty: the kernel chooses.
    pub source: Vec<IpAddr>,
    /// `nat`: servers see the client's own address.
    pub source_client: bool,
    /// Socket settings towards servers.
    pub socket: SocketOptions,
    /// Further attempts after a failed one that may be repeated; default 2.
    pub retries: u8,
    /// What they may cost, and which answers ask for one.
    pub retry: RetryConfig,
    /// When a server is put out for what it answers; `None`: never.
    pub eject: Option<OutlierDetectionConfig>,
    /// What may be under way at a time before more is refused.
    pub breaker: CircuitBreakerLimits,
    /// When what waits for a server is shed; `None`: never.
    pub shed: Option<LoadSheddingConfig>,
    /// When a second server is asked for what a first one has not begun to answer; `None`: never.
    pub hedge: Option<HedgingConfig>,
    /// TLS towards servers; `None`: plain.
    pub tls: Option<PoolTls>,
    /// HTTP/2 towards servers (`http`).
    pub http2: ServerHttp2,
    /// The header of the PROXY protocol that servers get; `None`: none.
    pub send_proxy: Option<SendProxyVersion>,
    /// What is mended in heads of answers.
    pub lenient_answers: LenientAnswers,
}

/// What is mended in heads of answers instead of refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct LenientAnswers {
    /// Content-Length several times, with equal values.
    pub repeated_length: bool,
    /// Lines that end with LF alone.
    pub bare_lf: bool,
    /// Blanks before a colon.
    pub space_before_colon: bool,
}

/// Times towards servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolTimeouts {
    /// Connection established; default 3 s.
    pub connect: Duration,
    /// From the request's last byte to the answer's first; default 60 s.
    pub first_byte: Duration,
    /// Between two bytes of a stream of events or messages; default 1 h.
    pub stream: Duration,
    /// All attempts; default `connect` + `first_byte`, or twice `first_byte` with `on_timeout`.
    pub attempts: Duration,
    /// Between two bytes of an answer, and between two reads by a server of its request; default 30 s.
    pub between_bytes: Duration,
    /// Waiting for a server below its connection cap; default 1 s.
    pub queue: Duration,
    /// Until a shelved connection is closed, if the server's own limit is not shorter; default 60 s.
    pub idle: Duration,
}

/// Limits of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PoolLimits {
    /// Idle connections per server and worker; default 256.
    pub idle: u32,
    /// Exchanges waiting for a server per worker; default 1024.
    pub queue: u32,
    /// Bytes of an answer's head; default 32 KiB, at most 60 KiB.
    pub header_bytes: u32,
    /// Fields of an answer's head; default 100, at most 256.
    pub header_count: u16,
}

/// What a server is before its first evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialState {
    /// Takes work at once (default without a probe).
    Up,
    /// Takes work only while no server is up (default with a probe).
    Unknown,
    /// Takes none until the probe has risen.
    Down,
}

/// What happens when no server may take work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllDownPolicy {
    /// 503 with the cause (`http`), reset (`tcp`); the default.
    Refuse,
    /// Every enabled server is used as if it were up.
    Spread,
}
