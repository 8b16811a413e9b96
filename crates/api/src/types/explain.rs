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
    /// Name of the pool.
    pub pool: String,
    /// Balancing policy.
    pub balance: String,
    /// How the pool chooses servers now, one sentence.
    #[serde(alias = "turn")]
    pub selection: String,
    /// Time of this answer.
    pub now_unix_ms: u64,
    /// The requested servers.
    pub servers: Vec<ServerExplained>,
}

/// One server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerExplained {
    /// State with its evidence, connections and times.
    pub server: ServerStatus,
    /// `priority 1`, `backup`, `last resort`.
    pub rank: String,
    /// Whether it can get new requests now.
    #[serde(alias = "takes-work")]
    pub available: bool,
    /// Share of the weights of all available servers, percent.
    pub share_percent: f64,
    /// How its weight is calculated.
    pub weight: WeightExplained,
    /// Outlier detection; absent: not configured.
    #[serde(default)]
    pub ejection: Option<EjectionExplained>,
    /// Duration of its last successful health check, milliseconds.
    pub probe_ms: Option<f64>,
    /// Mean time to the first byte, milliseconds; only if the policy uses it.
    #[serde(alias = "answer-ms")]
    pub first_byte_ms: Option<f64>,
    /// The load that it reports, 0 to 1.
    pub load: Option<f64>,
    /// How it reports its load.
    pub load_source: Option<String>,
}

/// The arithmetic of a server's ejection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EjectionExplained {
    /// Counts and decision; of an ejected server those at its ejection.
    #[serde(alias = "sum")]
    pub evaluation: OutlierEvaluation,
    /// The decision as a sentence.
    pub text: String,
    /// Consecutive failures that eject the server.
    pub failures: u32,
    /// Rate of failures that ejects the server, percent.
    pub rate_percent: u8,
    /// Rate of truncated responses that ejects the server, percent.
    #[serde(alias = "cut-rate-percent")]
    pub truncation_rate_percent: u8,
    /// Responses needed before a rate can eject the server.
    #[serde(alias = "volume")]
    pub min_requests: u32,
    /// Interval of the rates, milliseconds.
    pub interval_ms: u64,
    /// Limit of ejected servers in the pool, percent.
    #[serde(alias = "share-percent")]
    pub max_percent: u8,
    /// End of the ejection; absent: the server is not ejected.
    pub until_unix_ms: Option<u64>,
    /// Time of the last evaluation.
    pub at_unix_ms: u64,
}

/// How a weight came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct WeightExplained {
    /// The weight in the file.
    pub configured: u16,
    /// Weight set by an operator.
    pub operator: Option<OperatorWeight>,
    /// Calculation of the weight controller; absent: none, or no decision yet.
    #[serde(alias = "judge")]
    pub controller: Option<ControllerExplained>,
    /// Weight of the weight controller; absent: none.
    #[serde(alias = "judged")]
    pub controller_weight: Option<u16>,
    /// Percent of its weight that slow start allows.
    pub slow_start_percent: u16,
    /// The weight that workers use.
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
    /// Time of the command.
    pub at_unix_ms: u64,
}

/// The weight controller's arithmetic for one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ControllerExplained {
    /// Input and result of the calculation.
    #[serde(alias = "row")]
    pub calculation: WeightCalculation,
    /// Proportions of exchanges in flight, new exchanges, latency and load, percent.
    pub proportions: [u8; 4],
    /// The change of all weights of the pool, percent of their sum.
    pub change_percent: f64,
    /// Smallest change that is published, percent.
    pub sensitivity_percent: u8,
    /// Time of the decision.
    pub at_unix_ms: u64,
}
