//! The last requests that were refused for what they were: what `steelyard report refused` shows.
//!
//! Texts that came from clients are escaped and cut: printable ASCII, other bytes as `\xNN`, `...` where something is
//! missing. Values of fields are shown only where the rule is about that field.

use serde::{Deserialize, Serialize};

/// Query of `GET /v1/refused`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RefusedQuery {
    /// Only of this service.
    pub service: Option<String>,
}

/// Answer of `GET /v1/refused`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RefusedRequests {
    /// Time of this answer.
    pub now_unix_ms: u64,
    /// Stored requests, the newest first.
    pub requests: Vec<RefusedRequest>,
    /// Limit of stored requests over all services.
    #[serde(alias = "room")]
    pub max_requests: u32,
    /// Limit of stored requests per client: an IPv4 address or an IPv6 /64.
    #[serde(alias = "share")]
    pub max_per_client: u32,
    /// Requests since the daemon started that were replaced by newer ones.
    #[serde(alias = "pushed-out")]
    pub evicted: u64,
    /// Requests that were not stored because of the limit per client.
    #[serde(alias = "beyond-share")]
    pub over_client_limit: u64,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RefusedRequest {
    /// Time of the request.
    pub unix_ms: u64,
    /// Request ID, as in the access log.
    pub id: String,
    /// The service.
    pub service: String,
    /// Address and port of the client.
    pub client: String,
    /// Protocol: `HTTP/1.1`.
    pub protocol: String,
    /// Method; absent: unreadable.
    pub method: Option<String>,
    /// Requested host; absent: none.
    pub host: Option<String>,
    /// Request target, or the whole first line if it has no method; absent: none.
    pub target: Option<String>,
    /// The cause, as in the access log and the metrics.
    pub cause: String,
    /// The violated rule of HTTP.
    pub defect: Option<String>,
    /// The field that violated it.
    pub field: Option<String>,
    /// Offset of the violation, bytes; for HTTP/2 and HTTP/3 in the form of HTTP/1.1.
    pub at: Option<u64>,
    /// The bytes at the violation.
    pub found: Option<String>,
    /// Status of the response; 0: none was sent.
    pub status: u16,
}
