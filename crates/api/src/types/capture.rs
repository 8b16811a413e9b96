//! Captures that rules call for.

use serde::{Deserialize, Serialize};

/// Answer of `GET /v1/captures`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Captures {
    /// Rules by name.
    pub rules: Vec<CaptureRule>,
    /// What was captured, newest first.
    pub captures: Vec<Capture>,
    /// Why nothing is captured; absent: it is, or no rule is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "trouble")]
    pub problem: Option<String>,
    /// Packets recorded in memory since the start.
    #[serde(alias = "packets-kept")]
    pub packets_recorded: u64,
    /// Of those, such as went for later ones.
    pub packets_evicted: u64,
    /// Packets that the kernel could not hand over in time.
    pub packets_dropped: u64,
    /// Captures written down since the start.
    #[serde(alias = "made")]
    pub written: u64,
    /// Captures that were called for and not made.
    pub failed: u64,
}

/// A rule, as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CaptureRule {
    /// Its name.
    pub name: String,
    /// Packets are taken by it now.
    #[serde(alias = "taking")]
    pub recording: bool,
    /// It waits so long still before it holds again; 0: it is ready.
    #[serde(alias = "waits-ms")]
    pub pause_remaining_ms: u64,
}

/// A capture on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Capture {
    /// Its name.
    pub name: String,
    /// The rule that called for it.
    pub rule: String,
    /// When.
    pub at_unix_ms: u64,
    /// Where it is: pcapng.
    pub file: String,
    /// Bytes.
    pub bytes: u64,
    /// Why it was made, and of what.
    #[serde(alias = "about")]
    pub reason: String,
}

/// Query of `POST /v1/captures/{name}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CaptureOrder {
    /// `start` or `stop`.
    pub action: CaptureAction,
}

/// The command for a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaptureAction {
    /// To take what it is about, now.
    Start,
    /// To write down what it takes, now.
    Stop,
}

/// Query of `POST /v1/explain/trace`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct TraceQuery {
    /// What it is called.
    pub name: Option<String>,
    /// Draw this connection, by its number, instead of the slowest.
    pub connection: Option<u32>,
}

/// Query of `GET /v1/explain/capture`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CaptureQuery {
    /// Its name in `GET /v1/captures`.
    pub name: String,
    /// Draw this connection, by its number, instead of the slowest.
    #[serde(default)]
    pub connection: Option<u32>,
}
