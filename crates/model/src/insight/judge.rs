//! Whose time it is that a watched connection stood still. The rest of its life is not judged: packets alone do not say
//! who had nothing to send.

use super::follow::Change;
use super::seen::Told;
use crate::attribute::Bars;
use crate::limit::{Limit, Owner};

/// Time by owner and limit.
pub fn judge(change: &Change) -> Bars {
    let mut bars = Bars::default();
    if let Some(opened) = change.opened {
        // A part that is not told was a loss, and stands there.
        let parts = opened.server.unwrap_or(0).saturating_add(opened.client.unwrap_or(0));
        let time = if change.both { parts } else { opened.whole.unwrap_or(0) };
        bars.add(Some(Owner::Network), Limit::Connect, time);
    }
    let owners = [Owner::Client, Owner::Server];
    for (owner, Told { zero_nanos, silly_nanos, loss_nanos, .. }) in
        owners.into_iter().zip(change.sides)
    {
        bars.add(Some(owner), Limit::ZeroWindow, zero_nanos);
        bars.add(Some(owner), Limit::SillyWindow, silly_nanos);
        bars.add(Some(Owner::Network), Limit::Loss, loss_nanos);
    }
    bars
}
