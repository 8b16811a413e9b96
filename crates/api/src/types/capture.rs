//! Captures that rules call for.

use serde::{Deserialize, Serialize};

/// Answer of `GET /v1/captures`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Captures {
    /// Capture rules by name.
    pub rules: Vec<CaptureRule>,
    /// Stored captures, newest first.
    pub captures: Vec<Capture>,
    /// Why nothing is captured; absent: captures work, or no rule is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(alias = "trouble")]
    #[serde(serialize_with = "crate::plain_text::serialize")]
    pub problem: Option<String>,
    /// Packets recorded in memory since the start.
    #[serde(alias = "packets-kept")]
    pub packets_recorded: u64,
    /// Recorded packets that were replaced by later ones.
    pub packets_evicted: u64,
    /// Packets that the kernel dropped because they were not read in time.
    pub packets_dropped: u64,
    /// Captures written to files since the start.
    #[serde(alias = "made")]
    pub written: u64,
    /// Captures that could not be made.
    pub failed: u64,
}

/// A rule, as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CaptureRule {
    /// Name of the rule.
    pub name: String,
    /// Whether packets are being recorded for it.
    #[serde(alias = "taking")]
    pub recording: bool,
    /// Time until the rule can start another capture, milliseconds; 0: now.
    #[serde(alias = "waits-ms")]
    pub pause_remaining_ms: u64,
}

/// A capture on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Capture {
    /// Name of the capture.
    pub name: String,
    /// The capture rule that started it.
    pub rule: String,
    /// Time of the capture.
    pub at_unix_ms: u64,
    /// Path of the pcapng file.
    pub file: String,
    /// Size of the file, bytes.
    pub bytes: u64,
    /// What started it, and what it captured.
    #[serde(alias = "about")]
    pub reason: String,
}

/// Query of `POST /v1/captures/{name}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CaptureActionQuery {
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
    /// Name of the capture, for the report.
    pub name: Option<String>,
    /// Number of the connection to draw; absent: the slowest.
    pub connection: Option<u32>,
}

/// Query of `GET /v1/explain/capture`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CaptureQuery {
    /// Its name in `GET /v1/captures`.
    pub name: String,
    /// Number of the connection to draw; absent: the slowest.
    #[serde(default)]
    pub connection: Option<u32>,
}
