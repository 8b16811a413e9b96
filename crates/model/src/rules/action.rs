//! What a matching rule does, with its pools by their position in the table of rules.

use crate::config::template::Template;

/// The action of a rule; pools by their position in `RuleTable::pools`.
#[derive(Debug)]
pub enum RuleAction {
    Pool(usize),
    /// One of these pools, by weight.
    Split {
        parts: Vec<SplitPool>,
        /// The sum of weights.
        sum: u64,
    },
    Redirect(Template, u16),
    /// The fixed response of the configuration.
    Answer,
    Deny,
}

/// A pool of a split by its position, and its weight.
#[derive(Clone, Copy, Debug)]
pub struct SplitPool {
    pub pool: usize,
    pub weight: u32,
}

/// Where copies of requests go.
#[derive(Clone, Copy, Debug)]
pub struct MirrorTarget {
    pub pool: usize,
    /// Requests that are copied, percent.
    pub percent: u8,
    /// Limit for concurrent copies of a worker.
    pub at_once: u32,
}
