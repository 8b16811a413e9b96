//! SLOs: outcomes of operations for users, and the error budget that is left: what `steelyard explain users` shows.
//!
//! An operation is a request or a `tcp` connection that has ended. Operations that their clients aborted or sent
//! malformed, and those that were denied as configured, count neither for nor against an objective.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counter::Counter;

/// Query of `GET /v1/explain/users`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct SloQuery {
    /// Only this service.
    pub service: Option<String>,
}

/// Answer of `GET /v1/explain/users`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SloExplained {
    /// Time of this answer.
    pub now_unix_ms: u64,
    /// Services with an objective, by name.
    pub services: Vec<ServiceObjectives>,
}

/// The users of one service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceObjectives {
    /// Name of the service.
    pub name: String,
    /// The latency objective, milliseconds; absent: there is none.
    #[serde(alias = "fast-ms")]
    pub latency_ms: Option<f64>,
    /// Its objectives, with the remaining error budget.
    #[serde(alias = "promises")]
    pub objectives: Vec<ObjectiveStatus>,
    /// Operations that ended within the last hour.
    pub hour: OperationCounts,
    /// Why operations failed within the last hour, the most frequent first; `status-5xx`: a server's own answer.
    pub causes: Vec<FailedOperations>,
    /// Client networks of the last hour, those with the most bad operations first.
    pub networks: Vec<NetworkOperations>,
    /// Operations of the last hour from other networks.
    pub others: OperationCounts,
    /// Number of networks that are counted separately.
    #[serde(alias = "networks-most")]
    pub max_networks: u32,
}

/// An objective, and how it is met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ObjectiveStatus {
    /// `availability` (operations succeed) or `latency` (operations are fast).
    #[serde(alias = "what")]
    pub kind: String,
    /// Target for good operations, percent.
    pub target_percent: f64,
    /// Length of the window, milliseconds.
    pub window_ms: u64,
    /// Time of the first known operation of the window; absent: there were none.
    pub since_unix_ms: Option<u64>,
    /// Operations of the window that count.
    pub operations: u64,
    /// Bad operations.
    pub bad: u64,
    /// Good operations, percent; absent: there were none.
    #[serde(alias = "percent")]
    pub good_percent: Option<f64>,
    /// Remaining error budget, percent; below 0: more than all of it was used.
    #[serde(alias = "budget-left-percent")]
    pub budget_remaining_percent: f64,
    /// Alarms of the objective, raised or not.
    pub alarms: Vec<BurnAlarm>,
}

/// An alarm: raised when the budget burns too quickly over both spans.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BurnAlarm {
    /// Name of the alarm: `1h`, `6h`.
    pub name: String,
    /// The burn rate at which the alarm is raised.
    pub factor: f64,
    /// The long window.
    pub long: BurnSpan,
    /// The short window.
    pub short: BurnSpan,
    /// Time since which it is raised; absent: it is not raised.
    pub since_unix_ms: Option<u64>,
    /// Why it is raised, one sentence; absent: it is not raised.
    pub reason: Option<String>,
}

/// How quickly a budget burns over a span that ends now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BurnSpan {
    /// Length of the window, milliseconds.
    pub span_ms: u64,
    /// Operations that count.
    pub operations: u64,
    /// Bad operations.
    pub bad: u64,
    /// How fast the error budget is used: at 1 it lasts exactly for its window. Absent: there were no operations.
    #[serde(alias = "burn")]
    pub burn_rate: Option<f64>,
}

/// Operations by how they ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OperationCounts {
    /// Good operations within the latency objective; all good ones without such an objective.
    pub fast: u64,
    /// Good operations that missed the latency objective.
    pub slow: u64,
    /// Failed operations.
    pub failed: u64,
    /// Aborted by clients, or malformed; these do not count.
    #[serde(alias = "left")]
    pub aborted: u64,
    /// Aborted after longer than the latency objective.
    #[serde(alias = "left-late")]
    pub aborted_late: u64,
    /// Denied as configured; these do not count.
    pub declined: u64,
    /// Operations that did not fail, percent of those that count; absent: there were none.
    #[serde(alias = "available-percent")]
    pub availability_percent: Option<f64>,
    /// Operations within the latency objective, percent of those that count; absent: there were none, or there is no
    /// such objective.
    pub fast_percent: Option<f64>,
    /// Errors of TCP by kind, only those that happened: `refused-by-server`, `refused-by-balancer`, `timed-out`,
    /// `aborted-by-client`, `aborted-by-server`, `aborted-by-balancer`, `silent-client`, `silent-server`.
    pub tcp_errors: BTreeMap<String, u64>,
}

/// A cause of failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FailedOperations {
    /// Name of the cause, as in the access log.
    pub cause: String,
    /// Failed operations.
    pub count: u64,
}

/// A network of clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NetworkOperations {
    /// `ADDRESS/BITS`.
    pub network: String,
    /// Its operations.
    #[serde(flatten)]
    pub counts: OperationCounts,
}

/// What is counted of a service's users since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SloReport {
    /// Good operations within the latency objective; all good ones without such an objective.
    pub fast: Counter,
    /// Good operations that missed the latency objective.
    pub slow: Counter,
    /// Failed operations.
    pub failed: Counter,
    /// Aborted by clients, or malformed.
    #[serde(alias = "left")]
    pub aborted: Counter,
    /// Denied as configured.
    pub declined: Counter,
    /// Errors of TCP by kind; only those that happened.
    pub tcp_errors: BTreeMap<String, Counter>,
}
