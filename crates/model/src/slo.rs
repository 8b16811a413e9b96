//! SLOs: the result of each operation for its user, counted by service and by network, and compared with the objective.
//! It reads no clock: callers pass the time.
//!
//! An operation is a request or a `tcp` connection. Each counts once, when it ends, by the client's result: failed
//! attempts before a successful retry do not count.

pub mod burn_rate;
pub mod network_table;
pub mod outcome;
pub mod outcome_counts;
pub mod series;
