//! Attributes the time during which a sampled connection was stalled. Other times are left out: packets alone do not
//! show which side had nothing to send.

use super::flow_sample::FlowSideCounters;
use super::flow_tracker::FlowDelta;
use crate::limit::{Limit, TimeOwner};
use crate::time_attribution::TimeBreakdown;

/// Time by owner and limit.
pub fn attribute_time(change: &FlowDelta) -> TimeBreakdown {
    let mut bars = TimeBreakdown::default();
    if let Some(opened) = change.handshake {
        // An absent part had a loss, whose time is counted there.
        let parts = opened.server.unwrap_or(0).saturating_add(opened.client.unwrap_or(0));
        let time = if change.bidirectional { parts } else { opened.total.unwrap_or(0) };
        bars.add(Some(TimeOwner::Network), Limit::Connect, time);
    }
    let owners = [TimeOwner::Client, TimeOwner::Server];
    for (
        owner,
        FlowSideCounters {
            zero_window_nanos: zero_nanos,
            silly_window_nanos: silly_nanos,
            loss_recovery_nanos: loss_nanos,
            ..
        },
    ) in owners.into_iter().zip(change.sides)
    {
        bars.add(Some(owner), Limit::ZeroWindow, zero_nanos);
        bars.add(Some(owner), Limit::SillyWindow, silly_nanos);
        bars.add(Some(TimeOwner::Network), Limit::Loss, loss_nanos);
    }
    bars
}
