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
    /// When this was made.
    pub now_unix_ms: u64,
    /// The newest first.
    pub requests: Vec<RefusedRequest>,
    /// The most that are stored, over all services.
    #[serde(alias = "room")]
    pub max_requests: u32,
    /// Of those, how many of one client: an IPv4 address, or a /64 of IPv6.
    #[serde(alias = "share")]
    pub max_per_client: u32,
    /// Requests since the daemon's start that were displaced by newer ones.
    #[serde(alias = "pushed-out")]
    pub evicted: u64,
    /// Those that are not, because their client had its share.
    #[serde(alias = "beyond-share")]
    pub over_client_limit: u64,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RefusedRequest {
    /// When.
    pub unix_ms: u64,
    /// Its id, as in the access log.
    pub id: String,
    /// The service that refused it.
    pub service: String,
    /// Who sent it, with the port.
    pub client: String,
    /// In which protocol: `HTTP/1.1`.
    pub protocol: String,
    /// The method; absent: unreadable.
    pub method: Option<String>,
    /// The requested host; absent: none.
    pub host: Option<String>,
    /// The target; all of the first line where that has no method; absent: there was none.
    pub target: Option<String>,
    /// Why it was refused, as in the log and the metrics.
    pub cause: String,
    /// Which rule of HTTP it broke.
    pub defect: Option<String>,
    /// The field that broke it.
    pub field: Option<String>,
    /// How many bytes came before what broke it. Of a request in HTTP/2 or HTTP/3 in the form of HTTP/1.1.
    pub at: Option<u64>,
    /// What stood there.
    pub found: Option<String>,
    /// The answer's status; 0: there was none.
    pub status: u16,
}
