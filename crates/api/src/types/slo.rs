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
    /// When this was made.
    pub now_unix_ms: u64,
    /// Services with an objective, by name.
    pub services: Vec<ServiceObjectives>,
}

/// The users of one service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServiceObjectives {
    /// The service.
    pub name: String,
    /// An operation that takes no longer is fast, milliseconds; absent: there is no objective for latency.
    #[serde(alias = "fast-ms")]
    pub latency_ms: Option<f64>,
    /// Its objectives, with the error budget that is left.
    #[serde(alias = "promises")]
    pub objectives: Vec<ObjectiveStatus>,
    /// What came to an end within the last hour.
    pub hour: OperationCounts,
    /// Why operations failed within the last hour, the most frequent first; `status-5xx`: a server's own answer.
    pub causes: Vec<FailedOperations>,
    /// Networks of clients of the last hour, those with the most bad operations first.
    pub networks: Vec<NetworkOperations>,
    /// Operations of the last hour of networks that are not counted separately.
    pub others: OperationCounts,
    /// Number of networks that are counted separately.
    #[serde(alias = "networks-most")]
    pub max_networks: u32,
}

/// An objective, and how it is met.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ObjectiveStatus {
    /// `availability`: operations succeed; `latency`: they are fast.
    #[serde(alias = "what")]
    pub kind: String,
    /// Operations that are to be good, percent.
    pub target_percent: f64,
    /// Over so much time, milliseconds.
    pub window_ms: u64,
    /// The first operation of the window that is known of; absent: there was none.
    pub since_unix_ms: Option<u64>,
    /// Operations of the window that count.
    pub operations: u64,
    /// Of those, bad.
    pub bad: u64,
    /// Of those, good, percent; absent: there was none.
    #[serde(alias = "percent")]
    pub good_percent: Option<f64>,
    /// What is left of the operations that may be bad, percent; below 0: it is overdrawn.
    #[serde(alias = "budget-left-percent")]
    pub budget_remaining_percent: f64,
    /// Its alarms, raised or not.
    pub alarms: Vec<BurnAlarm>,
}

/// An alarm: raised when the budget burns too quickly over both spans.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BurnAlarm {
    /// Its name: `1h`, `6h`.
    pub name: String,
    /// So many times as many operations may be bad as the objective allows.
    pub factor: f64,
    /// The long span.
    pub long: BurnSpan,
    /// The short span.
    pub short: BurnSpan,
    /// Since when it is raised; absent: it is not.
    pub since_unix_ms: Option<u64>,
    /// Why it is raised, in a sentence.
    pub reason: Option<String>,
}

/// How quickly a budget burns over a span that ends now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BurnSpan {
    /// How long, milliseconds.
    pub span_ms: u64,
    /// Operations that count.
    pub operations: u64,
    /// Of those, bad.
    pub bad: u64,
    /// How many times as many are bad as may be: at 1 the budget lasts exactly as long as its window; absent: there was
    /// no operation.
    #[serde(alias = "burn")]
    pub burn_rate: Option<f64>,
}

/// Operations by how they ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct OperationCounts {
    /// Good and fast; without an objective for latency all that are good.
    pub fast: u64,
    /// Good, not fast.
    pub slow: u64,
    /// Failed.
    pub failed: u64,
    /// Aborted or sent malformed by their clients; these do not count.
    #[serde(alias = "left")]
    pub aborted: u64,
    /// Of those, after longer than what is fast.
    #[serde(alias = "left-late")]
    pub aborted_late: u64,
    /// Refused as configured; these do not count.
    pub declined: u64,
    /// Of those that count, not failed, percent; absent: there was none.
    #[serde(alias = "available-percent")]
    pub availability_percent: Option<f64>,
    /// Of those that count, fast, percent; absent: there was none, or there is no objective for latency.
    pub fast_percent: Option<f64>,
    /// Errors of TCP by kind, only those that happened: `refused-by-server`, `refused-by-balancer`, `timed-out`,
    /// `aborted-by-client`, `aborted-by-server`, `aborted-by-balancer`, `silent-client`, `silent-server`.
    pub tcp_errors: BTreeMap<String, u64>,
}

/// A cause of failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FailedOperations {
    /// Its name, as in the log.
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
    /// Good and fast; without an objective for latency all that are good.
    pub fast: Counter,
    /// Good, not fast.
    pub slow: Counter,
    /// Failed.
    pub failed: Counter,
    /// Aborted or sent malformed by their clients.
    #[serde(alias = "left")]
    pub aborted: Counter,
    /// Refused as configured.
    pub declined: Counter,
    /// Errors of TCP by kind; only those that happened.
    pub tcp_errors: BTreeMap<String, Counter>,
}
