//! How servers report their load: which agent is asked, where and how often.
//!
//! It asks nobody.

use serde::Serialize;
use std::time::Duration;

/// An agent beside each server of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AgentConfig {
    /// What is asked.
    pub kind: AgentKind,
    /// The agent's port on the server's address; `None`: the server's own port.
    pub port: Option<u16>,
    /// Between two questions; default 2 s. `Answers`: between two looks for reports that are too old.
    pub every: Duration,
    /// One question; default 1 s.
    pub timeout: Duration,
    /// A report that is older counts no more: the load is not known; default 10 s.
    pub age: Duration,
}

/// What is asked of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
    /// One line of HAProxy's agent-check protocol.
    Text {
        /// What is sent first; empty: nothing.
        send: String,
    },
    /// GET of a path that answers with an ORCA report, as JSON or as a header's text.
    Orca {
        /// Path and query.
        path: String,
    },
    /// Nobody is asked: answers of the server bring `endpoint-load-metrics`.
    Answers,
}
