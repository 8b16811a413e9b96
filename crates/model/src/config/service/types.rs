//! The checked configuration of a service.

use crate::config::affinity::AffinityConfig;
use crate::config::buffer::BufferConfig;
use crate::config::compression::CompressionConfig;
use crate::config::field_names::FieldNamePolicy;
use crate::config::forwarded_headers::ForwardedHeaders;
use crate::config::forwarding_mode::ForwardingMode;
use crate::config::http2::ClientHttp2;
use crate::config::http3::ClientHttp3;
use crate::config::network_set::NetworkSet;
use crate::config::objective::ServiceObjective;
use crate::config::packets::PacketServiceConfig;
use crate::config::path_normalization::{PathCase, PathNormalization};
use crate::config::proxy_protocol::AcceptProxyConfig;
use crate::config::request_priority::RequestPriority;
use crate::config::reserved_fields::ReservedFields;
use crate::config::rules::RuleConfig;
use crate::config::socket::SocketOptions;
use crate::config::tls::ServiceTls;
use serde::Serialize;
use std::net::SocketAddr;
use std::time::Duration;

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
    /// Which headers describe the client to the server (`http`).
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
    /// What becomes of fields whose names have unusual characters.
    pub field_names: FieldNamePolicy,
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
