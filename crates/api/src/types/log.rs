//! The newest lines of the access log: what `steelyard log` shows.
//!
//! The daemon keeps the lines that it logs in bounded memory, whatever their target is. Texts that came from clients are
//! escaped and cut as in the log.

use serde::{Deserialize, Serialize};

/// Query of `GET /v1/log`. A line has to fit every filter that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct LogQuery {
    /// Only lines after the one with this number: `next` of the answer before.
    pub after: Option<u64>,
    /// Only of this service.
    pub service: Option<String>,
    /// Only with this server, `POOL/NAME`, or `POOL/*`.
    pub server: Option<String>,
    /// Only with one of these statuses: `503`, `5xx`, `500-599`, several with commas.
    pub status: Option<String>,
    /// Only with this cause; `any`: with one.
    pub cause: Option<String>,
    /// Only from this client: an address, or a network such as `192.0.2.0/24`.
    pub client: Option<String>,
    /// Only requests with this id, the balancer's or that of a trusted proxy.
    pub id: Option<String>,
    /// Limit of lines or rows, the newest or largest ones; absent: 1,000.
    pub limit: Option<u32>,
    /// Count lines by this instead of listing them.
    pub top: Option<LogGroup>,
}

/// By what lines are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogGroup {
    /// The address of the client, without its port.
    Client,
    /// The service that took the request.
    Service,
    /// The server of the last attempt.
    Server,
    /// The status of the response.
    Status,
    /// Why a request ended other than well.
    Cause,
    /// The target without its query.
    Target,
}

impl LogGroup {
    /// Every group, in the order of help.
    pub const ALL: [LogGroup; 6] = [
        LogGroup::Client,
        LogGroup::Service,
        LogGroup::Server,
        LogGroup::Status,
        LogGroup::Cause,
        LogGroup::Target,
    ];

    /// As written in a query.
    pub const fn name(self) -> &'static str {
        match self {
            LogGroup::Client => "client",
            LogGroup::Service => "service",
            LogGroup::Server => "server",
            LogGroup::Status => "status",
            LogGroup::Cause => "cause",
            LogGroup::Target => "target",
        }
    }
}

/// Which requests the daemon logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogScope {
    /// None: `access-log` is off.
    #[default]
    Off,
    /// Those that failed or were refused.
    Errors,
    /// Those, slow ones, and a share of the rest.
    Sample,
    /// Every one.
    All,
}

/// Answer of `GET /v1/log`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LogPage {
    /// Time of this answer.
    pub now_unix_ms: u64,
    /// Which requests are logged.
    pub scope: LogScope,
    /// Matching lines, the oldest first; empty with `top`.
    pub entries: Vec<LogEntry>,
    /// Counts of matching lines, the most frequent first; only with `top`.
    pub top: Vec<LogCount>,
    /// Lines that were searched.
    pub examined: u64,
    /// Lines after `after` that were replaced by newer ones.
    pub lost: u64,
    /// Number of the newest line: `after` of the next query.
    pub next: u64,
}

/// A line of the access log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct LogEntry {
    /// Start of the request, as in the log.
    pub time: String,
    /// The id of the request; absent: the line has none.
    pub id: Option<String>,
    /// Request ID of a trusted proxy; absent: none.
    pub request_id: Option<String>,
    /// The service.
    pub service: String,
    /// Address of the client, with the port if the line has it.
    pub client: String,
    /// Protocol: `HTTP/1.1`.
    pub protocol: Option<String>,
    /// Method; absent: none was read.
    pub method: Option<String>,
    /// Request target; absent: none was read.
    pub target: Option<String>,
    /// Status; 0: no response was sent.
    pub status: u16,
    /// Who made the response: `balancer` or `server`.
    pub by: Option<String>,
    /// The server of the last attempt, `POOL/NAME`.
    pub server: Option<String>,
    /// Attempts at servers.
    pub attempts: u32,
    /// Cause of the failure; absent: there was none.
    pub cause: Option<String>,
    /// The violated rule of HTTP.
    pub defect: Option<String>,
    /// Bytes sent to the client.
    pub bytes_to_client: u64,
    /// Duration, milliseconds.
    pub total_ms: Option<f64>,
}

/// Lines that have something in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LogCount {
    /// The common value of the lines.
    pub name: String,
    /// Number of lines.
    pub lines: u64,
    /// Lines that are errors.
    pub errors: u64,
    /// Bytes sent to the clients.
    pub bytes_to_client: u64,
}
