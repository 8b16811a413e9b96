//! What users met, and what is left of what they were promised: what `steelyard explain users` shows.
//!
//! An operation is a request or a `tcp` connection that has ended. Operations that their clients spoiled or left, and
//! those that were refused as configured, count neither for nor against a promise.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counter::Counter;

/// Query of `GET /v1/explain/users`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct UsersQuery {
    /// Only this service.
    pub service: Option<String>,
}

/// Answer of `GET /v1/explain/users`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UsersExplained {
    /// When this was made.
    pub now_unix_ms: u64,
    /// Services with an objective, by name.
    pub services: Vec<UsersService>,
}

/// The users of one service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UsersService {
    /// The service.
    pub name: String,
    /// An operation that takes no longer is fast, milliseconds; absent: speed is not promised.
    pub fast_ms: Option<f64>,
    /// What is promised, and what is left of it.
    pub promises: Vec<UsersPromise>,
    /// What came to an end within the last hour.
    pub hour: UsersCounts,
    /// Why operations failed within the last hour, the most frequent first; `status-5xx`: a server's own answer.
    pub causes: Vec<UsersCause>,
    /// Networks of clients of the last hour, those with the most bad operations first.
    pub networks: Vec<UsersNetwork>,
    /// Operations of the last hour of networks that are not counted separately.
    pub others: UsersCounts,
    /// Number of networks that are counted separately.
    pub networks_most: u32,
}

/// One thing that is promised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UsersPromise {
    /// `availability`: operations succeed; `latency`: they are fast.
    pub what: String,
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
    pub percent: Option<f64>,
    /// What is left of the operations that may be bad, percent; below 0: it is overdrawn.
    pub budget_left_percent: f64,
    /// Its alarms, raised or not.
    pub alarms: Vec<BurnAlarm>,
}

/// An alarm: raised when the budget burns too quickly over both spans.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BurnAlarm {
    /// Its name: `1h`, `6h`.
    pub name: String,
    /// So many times as many operations may be bad as the promise allows.
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
    pub burn: Option<f64>,
}

/// Operations by how they ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UsersCounts {
    /// Good and fast; without a promise of speed all that are good.
    pub fast: u64,
    /// Good, not fast.
    pub slow: u64,
    /// Failed.
    pub failed: u64,
    /// Spoiled or left by their clients; these do not count.
    pub left: u64,
    /// Of those, after longer than what is fast.
    pub left_late: u64,
    /// Refused as configured; these do not count.
    pub declined: u64,
    /// Of those that count, not failed, percent; absent: there was none.
    pub available_percent: Option<f64>,
    /// Of those that count, fast, percent; absent: there was none, or speed is not promised.
    pub fast_percent: Option<f64>,
    /// Errors of TCP by kind, only those that happened: `refused-by-server`, `refused-by-us`, `timed-out`,
    /// `aborted-by-client`, `aborted-by-server`, `aborted-by-us`, `silent-client`, `silent-server`.
    pub tcp_errors: BTreeMap<String, u64>,
}

/// A cause of failures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UsersCause {
    /// Its name, as in the log.
    pub cause: String,
    /// Failed operations.
    pub count: u64,
}

/// A network of clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UsersNetwork {
    /// `ADDRESS/BITS`.
    pub network: String,
    /// Its operations.
    #[serde(flatten)]
    pub counts: UsersCounts,
}

/// What is counted of a service's users since the start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct UsersReport {
    /// Good and fast; without a promise of speed all that are good.
    pub fast: Counter,
    /// Good, not fast.
    pub slow: Counter,
    /// Failed.
    pub failed: Counter,
    /// Spoiled or left by their clients.
    pub left: Counter,
    /// Refused as configured.
    pub declined: Counter,
    /// Errors of TCP by kind; only those that happened.
    pub tcp_errors: BTreeMap<String, Counter>,
}
