//! What is known of a request at one point of its way through a site.

use crate::condition::RuleCondition;
use crate::site_rule::RewriteEdits;

use super::path_state::PathState;

/// The condition, the changes and the path of a request so far.
#[derive(Clone, Debug)]
pub struct RouteState {
    pub when: RuleCondition,
    pub edits: RewriteEdits,
    pub path: PathState,
    /// The status of the answer in place of a server's: something before could not be written.
    pub closed: Option<u16>,
    /// The most bytes of a body. `None`: there is no limit.
    pub body_bytes: Option<u64>,
}

impl RouteState {
    /// At the beginning of a site.
    pub fn begin(when: RuleCondition) -> RouteState {
        let edits = RewriteEdits::default();
        RouteState { when, edits, path: PathState::Original, closed: None, body_bytes: None }
    }
}
