//! The checked configuration of a service.

use crate::config::affinity::AffinityConfig;
use crate::config::auth::ServiceAuthPlan;
use crate::config::body_limit::BodyLimit;
use crate::config::buffer::BufferConfig;
use crate::config::client_from::ClientAddressField;
use crate::config::compression::CompressionConfig;
use crate::config::error_pages::ErrorPageConfig;
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
use crate::config::request_id::RequestIdConfig;
use crate::config::request_priority::RequestPriority;
use crate::config::reserved_fields::ReservedFields;
use crate::config::rules::{EditConfig, RuleConfig};
use crate::config::socket::SocketOptions;
use crate::config::tls::ServiceTls;
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A virtual address, and the handling of its traffic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceConfig {
    pub name: String,
    /// Listening addresses, which no two services share. Empty for packet forwarding: `packets.listen`.
    pub listen: Vec<SocketAddr>,
    /// The forwarding method.
    pub forward: ForwardingMode,
    pub pool: String,
    /// Timeouts on the client's side.
    pub timeout: ServiceTimeouts,
    pub limit: ServiceLimits,
    /// Socket options of listeners and client connections.
    pub socket: SocketOptions,
    /// Proxies in front whose forwarding fields are trusted.
    pub trust: TrustedProxies,
    /// The field in which proxies of `trust` name the client (`http`); `None`: the client is the connection's.
    pub client_from: Option<ClientAddressField>,
    /// The field with the id of a request (`http`); `None`: there is none.
    pub request_id: Option<RequestIdConfig>,
    /// Header fields that describe the client to the server (`http`).
    pub forwarded: ForwardedHeaders,
    /// Settings for packet forwarding; `None` for proxied services.
    pub packets: Option<PacketServiceConfig>,
    /// Downstream TLS; `None`: plain text.
    pub tls: Option<ServiceTls>,
    /// The authentication that servers' answers need (`http`).
    pub auth: Option<String>,
    /// Rules, in order; empty for packet forwarding: `packets.rules`.
    pub rules: Vec<RuleConfig>,
    /// Changes of fields, in order (`http`).
    pub edits: Vec<EditConfig>,
    /// Handling of ambiguous paths (`http`).
    pub path_normalization: PathNormalization,
    /// Whether paths in rules are case-sensitive (`http`).
    pub path_case: PathCase,
    /// What becomes of fields whose names have unusual characters.
    pub field_names: FieldNamePolicy,
    /// How clients keep their servers; `None` where packets are forwarded: `packets.sticky`.
    pub sticky: Option<AffinityConfig>,
    /// HTTP/2 towards clients (`http`).
    pub http2: ClientHttp2,
    /// HTTP/3 towards clients (`http`).
    pub http3: ClientHttp3,
    /// Clients whose connections start with a PROXY protocol header; `None`: none.
    pub accept_proxy: Option<AcceptProxyConfig>,
    /// Body buffering (`http`).
    pub buffer: BufferConfig,
    /// Response compression; `None`: off.
    pub compress: Option<CompressionConfig>,
    /// Own pages for errors, in order (`http`).
    pub error_pages: Vec<ErrorPageConfig>,
    /// The priority class of its requests in the queue of a pool.
    pub priority: RequestPriority,
    /// The SLO; `None`: none.
    pub objective: Option<ServiceObjective>,
    /// What authentication has to do with its requests.
    #[serde(skip)]
    pub auth_plan: ServiceAuthPlan,
    /// Header fields that its clients may not send.
    #[serde(skip)]
    pub reserved: ReservedFields,
}

/// The networks of proxies in front.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct TrustedProxies {
    pub networks: NetworkSet,
    /// Files of further networks.
    pub files: Vec<PathBuf>,
}

/// Timeouts on the client's side. `None` means off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceTimeouts {
    /// A whole request head, from the connection's start or the previous exchange; default 10 s.
    pub header: Duration,
    /// A keep-alive connection without a request; default 60 s.
    pub idle: Duration,
    /// Silence within a request body, and between a client's reads of its response; default 30 s.
    pub between_bytes: Duration,
    /// The whole exchange; default off.
    pub whole: Option<Duration>,
    /// How long exchanges of a removed or changed service may finish; default the global drain.
    pub drain: Duration,
    /// A tunnel (`tcp`, upgrades) without data in either direction; default 1 h.
    pub tunnel: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceLimits {
    /// Client connections; `None`: only the global limit.
    pub connections: Option<u32>,
    /// Connections of one client. `None`: once half of the limit is in use, at most as many as are free.
    pub connections_per_client: Option<u32>,
    /// Bytes of a head; default 32 KiB, at most 60 KiB.
    pub header_bytes: u32,
    /// Fields of a head; default 100, at most 256.
    pub header_count: u16,
    /// Bytes of a request target; default 8 KiB.
    pub target_bytes: u32,
    /// Bytes of a request body.
    pub body_bytes: BodyLimit,
    /// Memory of the balancer for one connection, bytes; default and minimum 64 KiB.
    pub connection_bytes: u32,
}
