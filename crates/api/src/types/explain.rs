//! Why servers have the weights and the work that they have: what `steelyard explain server` shows.
//!
//! Everything that a weight was made of is here, in the order in which it was made. It explains no request.

use model::outlier_detection::OutlierEvaluation;
use model::weight_controller::WeightCalculation;
use serde::{Deserialize, Serialize};

use super::status::ServerStatus;

/// Answer of `GET /v1/explain/servers/{pool}/{name}`; `name` may be `*`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServersExplained {
    /// The pool.
    pub pool: String,
    /// Its policy.
    pub balance: String,
    /// How the pool selects among its servers now, in a sentence.
    #[serde(alias = "turn")]
    pub selection: String,
    /// When this was made.
    pub now_unix_ms: u64,
    /// The requested servers.
    pub servers: Vec<ServerExplained>,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerExplained {
    /// State with its evidence, connections, since when.
    pub server: ServerStatus,
    /// `priority 1`, `backup`, `last resort`.
    pub rank: String,
    /// Whether new work may come to it now.
    #[serde(alias = "takes-work")]
    pub available: bool,
    /// Its part of the weights of all that take work, percent.
    pub share_percent: f64,
    /// How its weight came about.
    pub weight: WeightExplained,
    /// Outlier detection: whether it is ejected, and the numbers; absent if its pool ejects no servers.
    #[serde(default)]
    pub ejection: Option<EjectionExplained>,
    /// What its last good probe took, milliseconds.
    pub probe_ms: Option<f64>,
    /// Its mean time to the first byte, milliseconds; only while the policy looks at it.
    #[serde(alias = "answer-ms")]
    pub first_byte_ms: Option<f64>,
    /// The load that it reports, 0–1.
    pub load: Option<f64>,
    /// By which way it reports it.
    pub load_source: Option<String>,
}

/// The arithmetic of a server's ejection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EjectionExplained {
    /// What was counted and what it comes to; while it is out, at its ejection.
    #[serde(alias = "sum")]
    pub evaluation: OutlierEvaluation,
    /// The same in a sentence.
    pub text: String,
    /// Failures in a row that put it out.
    pub failures: u32,
    /// The rate of failures that does, percent.
    pub rate_percent: u8,
    /// The rate of cut answers that does, percent.
    pub cut_rate_percent: u8,
    /// Answers below which the rate of failures proves nothing.
    #[serde(alias = "volume")]
    pub min_requests: u32,
    /// What the rates look back on, milliseconds.
    pub interval_ms: u64,
    /// Servers of the pool that may be out, percent.
    #[serde(alias = "share-percent")]
    pub max_percent: u8,
    /// It is out until then.
    pub until_unix_ms: Option<u64>,
    /// When this was looked at last.
    pub at_unix_ms: u64,
}

/// How a weight came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WeightExplained {
    /// In the file.
    pub configured: u16,
    /// The weight that an operator set, and who set it.
    pub operator: Option<OperatorWeight>,
    /// The numbers of the weight controller; absent if the pool has none, or before its first decision about this server.
    #[serde(alias = "judge")]
    pub controller: Option<ControllerExplained>,
    /// The weight of the weight controller; absent if the pool has none.
    #[serde(alias = "judged")]
    pub controller_weight: Option<u16>,
    /// Percent of its share that slow start lets it have.
    pub slow_start_percent: u16,
    /// What workers use.
    #[serde(alias = "in-force")]
    pub active: u16,
}

/// A weight that an operator set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OperatorWeight {
    /// The weight.
    pub weight: u16,
    /// Who set it.
    pub by: String,
    /// When.
    pub at_unix_ms: u64,
}

/// The weight controller's arithmetic for one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ControllerExplained {
    /// What went in and what came out.
    #[serde(alias = "row")]
    pub calculation: WeightCalculation,
    /// The say of exchanges in flight, exchanges begun, latency and load, percent.
    pub proportions: [u8; 4],
    /// The change of all weights of the pool, percent of their sum.
    pub change_percent: f64,
    /// A change must exceed it to be published.
    pub sensitivity_percent: u8,
    /// When it was made.
    pub at_unix_ms: u64,
}
