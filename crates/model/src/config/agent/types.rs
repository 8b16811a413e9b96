//! The checked configuration of load reports from servers: which agent is queried, where and how often.
//!
//! It sends no query.

use serde::Serialize;
use std::time::Duration;

/// The load agent of each server of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AgentConfig {
    pub kind: AgentKind,
    /// The agent's port on the server's address; `None`: the server's own port.
    pub port: Option<u16>,
    /// Interval between queries; default 2 s. For `Answers`: interval between checks for outdated reports.
    pub every: Duration,
    /// Time limit for a query; default 1 s.
    pub timeout: Duration,
    /// Maximum age of a report; afterwards the load is unknown. Default 10 s.
    pub age: Duration,
}

/// The protocol of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
    /// One line of HAProxy's agent-check protocol.
    Text {
        /// Text to send first; empty: none.
        send: String,
    },
    /// A GET request whose response is an ORCA report, as JSON or as a header's text.
    Orca {
        /// Path and query of the request.
        path: String,
    },
    /// No query is sent: responses of the server carry the report in `endpoint-load-metrics`.
    Answers,
}
