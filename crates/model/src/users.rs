//! What users met: how each operation ended for them, counted by service and by network, and judged against what was
//! promised. It reads no clock: whoever counts and asks says when.
//!
//! An operation is a request or a `tcp` connection. Each counts once, when it ends, by what the client came away with:
//! attempts that failed and were followed by a good one are no user's.

pub mod burn;
pub mod ended;
pub mod series;
pub mod table;
pub mod tally;
