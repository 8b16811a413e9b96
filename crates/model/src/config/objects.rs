//! The checked configuration: every value resolved, every reference present.
//!
//! Only `check` makes one, so whoever holds a `Config` need not ask again. Defaults and inheritance
//! (global → service or pool → server) are already applied. It does not say where a value came from: `explain` does.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::address::ServerAddress;
use super::agent::AgentConfig;
use super::balance::{BalancePolicy, HashKey, Priority, WeightControllerConfig};
use super::dns::{NameConfig, NameServerConfig, ZoneConfig};
use super::network_set::NetworkSet;
pub use super::operations::AdminState;
use super::operations::{
    ControlConfig, DiscoveryConfig, EventHook, HistoryRetention, ScheduleRule,
};
use super::packets::{PacketPlaneConfig, PacketServiceConfig};
use super::proxy_protocol::{AcceptProxyConfig, SendProxyVersion};
use super::resilience::{
    CircuitBreakerLimits, HedgingConfig, LoadSheddingConfig, OutlierDetectionConfig,
    RequestPriority, RetryConfig,
};
use super::socket::SocketOptions;
use super::telemetry::{MetricsConfig, TelemetryConfig};
use super::tls::{PoolTls, ServiceTls};
use super::vrrp::VrrpConfig;
use super::{
    affinity::AffinityConfig, path_normalization::PathCase, path_normalization::PathNormalization,
};
use super::{buffer::BufferConfig, capture::CaptureConfig, compression::CompressionConfig};
use super::{
    forwarded_headers::ForwardedHeaders, forwarding_mode::ForwardingMode,
    heartbeat::HeartbeatConfig, objective::ServiceObjective,
};
use super::{http2::ClientHttp2, http2::ServerHttp2, http3::ClientHttp3};
use super::{link::LinkBundle, mptcp::MptcpConfig, uplink::UplinkConfig, uplink::UplinksConfig};
use super::{probe::ProbeConfig, reserved_fields::ReservedFields, rules::RuleConfig};

/// A whole configuration. Objects are shared so that an unchanged one is the same allocation after a reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Config {
    /// What belongs to the process.
    pub global: GlobalConfig,
    /// The packet plane.
    pub packets: PacketPlaneConfig,
    /// Services by name.
    pub services: BTreeMap<String, Arc<ServiceConfig>>,
    /// Pools by name. Every pool that a service names is here.
    pub pools: BTreeMap<String, Arc<PoolConfig>>,
    /// Shared addresses by the names of their groups.
    pub vrrp: BTreeMap<String, Arc<VrrpConfig>>,
    /// Heartbeats by the names of the other members.
    pub heartbeats: BTreeMap<String, Arc<HeartbeatConfig>>,
    /// When packets are captured, by name.
    pub captures: BTreeMap<String, Arc<CaptureConfig>>,
    /// Bundles of links by name.
    pub links: BTreeMap<String, Arc<LinkBundle>>,
    /// What Multipath TCP is told.
    pub mptcp: MptcpConfig,
    /// What belongs to all uplinks.
    pub outward: UplinksConfig,
    /// Uplinks by name.
    pub uplinks: BTreeMap<String, Arc<UplinkConfig>>,
    /// The name server.
    pub name_server: NameServerConfig,
    /// Zones by domain.
    pub zones: BTreeMap<String, Arc<ZoneConfig>>,
    /// Names that are answered for. The zone, pool and services of each are here.
    pub names: BTreeMap<String, Arc<NameConfig>>,
}

/// What belongs to the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GlobalConfig {
    /// Worker threads; `None`: one per core this process may use.
    pub workers: Option<u16>,
    /// Client connections over all services; `None`: from the file descriptor limit.
    pub connections: Option<u32>,
    /// The access log.
    pub access_log: AccessLogConfig,
    /// The local API.
    pub control: ControlConfig,
    /// The Prometheus endpoint; off unless set.
    pub metrics: Option<MetricsConfig>,
    /// A collector of OpenTelemetry; none unless set.
    pub telemetry: Option<TelemetryConfig>,
    /// How long SIGTERM lets exchanges finish; default 30 s.
    pub drain: Duration,
    /// One exchange in so many is measured whatever it takes; `None`: none is. Default 64.
    pub sample: Option<u32>,
    /// A certificate that ends within so long is warned of; default 14 days.
    pub certificate_warning: Duration,
    /// The file of what our cookies are made with; `None`: a secret of this machine's own.
    pub sticky_secret_file: Option<PathBuf>,
    /// Programs that are told of events.
    pub hooks: Vec<EventHook>,
    /// How much history is kept; `None`: none.
    pub history: Option<HistoryRetention>,
}

/// Which exchanges are logged, how and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AccessLogConfig {
    /// Every exchange, or only the failed ones (default).
    pub all: bool,
    /// Its form.
    pub format: AccessLogFormat,
    /// Where it goes; default standard error.
    pub target: AccessLogTarget,
}

/// The form of an access log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLogFormat {
    /// One JSON object a line (default).
    Json,
    /// The common log format with times appended.
    Common,
}

/// Where access lines go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLogTarget {
    /// Nowhere.
    Off,
    /// Standard error.
    Stderr,
    /// Standard output.
    Stdout,
    /// A file, reopened on SIGUSR1.
    File(PathBuf),
}

/// A virtual address and what is done with what arrives there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceConfig {
    /// Its name, kebab-case.
    pub name: String,
    /// Where it listens; no two services share one. Empty where packets are forwarded: `packets.listen`.
    pub listen: Vec<SocketAddr>,
    /// The method.
    pub forward: ForwardingMode,
    /// Name of its pool.
    pub pool: String,
    /// Client-side times.
    pub timeout: ServiceTimeouts,
    /// Limits.
    pub limit: ServiceLimits,
    /// Listener and client socket settings.
    pub socket: SocketOptions,
    /// Proxies in front whose forwarding fields are believed.
    pub trust: NetworkSet,
    /// Which headers tell the server about the client (`http`).
    pub forwarded: ForwardedHeaders,
    /// What it has where packets are forwarded.
    pub packets: Option<PacketServiceConfig>,
    /// TLS towards clients; `None`: plain.
    pub tls: Option<ServiceTls>,
    /// Rules, in order; none where packets are forwarded: `packets.rules`.
    pub rules: Vec<RuleConfig>,
    /// What becomes of paths that can be read in several ways (`http`).
    pub path_normalization: PathNormalization,
    /// Whether letter case counts in paths of rules (`http`).
    pub path_case: PathCase,
    /// How clients keep their servers; `None` where packets are forwarded: `packets.sticky`.
    pub sticky: Option<AffinityConfig>,
    /// HTTP/2 towards clients (`http`).
    pub http2: ClientHttp2,
    /// HTTP/3 towards clients (`http`).
    pub http3: ClientHttp3,
    /// Whose connections begin with a header of the PROXY protocol; `None`: nobody's.
    pub accept_proxy: Option<AcceptProxyConfig>,
    /// Bodies that are read ahead (`http`).
    pub buffer: BufferConfig,
    /// Compressing of answers; `None`: they go as they come.
    pub compress: Option<CompressionConfig>,
    /// Which class its requests have in the queue of a pool.
    pub priority: RequestPriority,
    /// What users are promised; `None`: nothing.
    pub objective: Option<ServiceObjective>,
    /// Fields that its clients may not write.
    #[serde(skip)]
    pub reserved: ReservedFields,
}

/// Times on the client's side. `None` is off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceTimeouts {
    /// A whole head, from the connection's first byte or the previous exchange; default 10 s.
    pub header: Duration,
    /// A keep-alive connection without a request; default 60 s.
    pub idle: Duration,
    /// Between two bytes of a request body, and between two reads by a client of its answer; default 30 s.
    pub between_bytes: Duration,
    /// The whole exchange; default off.
    pub whole: Option<Duration>,
    /// How long exchanges of a removed or changed service may finish; default the global drain.
    pub drain: Duration,
    /// A tunnel (`tcp`, upgrades) with no byte either way; default 1 h.
    pub tunnel: Duration,
}

/// Limits of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceLimits {
    /// Client connections at a time; `None`: the global limit alone.
    pub connections: Option<u32>,
    /// The same of one client; `None`: above half of the limit at most as many as are free.
    pub connections_per_client: Option<u32>,
    /// Bytes of a head; default 32 KiB, at most 60 KiB.
    pub header_bytes: u32,
    /// Fields of a head; default 100, at most 256.
    pub header_count: u16,
    /// Bytes of a request target; default 8 KiB.
    pub target_bytes: u32,
    /// Bytes of ours that one connection may hold; default and at least 64 KiB.
    pub connection_bytes: u32,
}

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
    /// The judge of weights; `None`: they stay as written.
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
    /// How its servers tell their load; `None`: they do not.
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
    /// Idle connections kept per server and worker; default 256.
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

/// A server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerConfig {
    /// Its name within the pool, kebab-case.
    pub name: String,
    /// Where it is.
    pub address: ServerAddress,
    /// Its share.
    pub weight: ServerWeight,
    /// Its rank among the servers of the pool.
    pub priority: Priority,
    /// Where it is; `None`: near.
    pub locality: Option<String>,
    /// What the operator wrote in the file.
    pub admin: AdminState,
    /// What the clock wants of it.
    pub schedule: Vec<ScheduleRule>,
    /// Its probe, after inheritance.
    pub probe: Option<ProbeConfig>,
    /// Connections at a time over all workers; `None`: no cap.
    pub connections: Option<u32>,
}

/// A server's share, 0–256; 0 takes no new work and is neither `down` nor `drain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ServerWeight(u16);

impl ServerWeight {
    pub const MAX: u16 = 256;
    pub const ONE: ServerWeight = ServerWeight(1);

    pub fn new(value: u16) -> Option<ServerWeight> {
        (value <= Self::MAX).then_some(ServerWeight(value))
    }

    pub fn get(self) -> u16 {
        self.0
    }
}
