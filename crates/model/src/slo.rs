//! What users met: how each operation ended for them, counted by service and by network, and judged against what was
//! promised. It reads no clock: whoever counts and asks says when.
//!
//! An operation is a request or a `tcp` connection. Each counts once, when it ends, by what the client came away with:
//! attempts that failed and were followed by a good one are no user's.

pub mod burn_rate;
pub mod network_table;
pub mod outcome;
pub mod outcome_counts;
pub mod series;
