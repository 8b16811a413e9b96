//! Half-open connections in the order in which they came, and how many of them still stand.

use std::collections::VecDeque;

use super::slab::ConnectionHandle;

/// Places of connections that went on, which an order may hold besides.
const MAX_STALE_ENTRIES: usize = 16;

/// Half-open connections of a service, in the order in which they came. Those that went on are passed over.
#[derive(Debug, Default)]
pub(super) struct HalfOpenConnections {
    pub(super) silent: u32,
    pub(super) silent_order: VecDeque<ConnectionHandle>,
    pub(super) handshakes: u32,
    /// Those whose clients have not answered.
    pub(super) hello_order: VecDeque<ConnectionHandle>,
    pub(super) handshake_order: VecDeque<ConnectionHandle>,
}

/// Appends; those that went on are dropped before they outnumber the others.
pub(super) fn push_half_open(
    order: &mut VecDeque<ConnectionHandle>,
    standing: u32,
    place: ConnectionHandle,
    still: impl Fn(ConnectionHandle) -> bool,
) {
    if order.len() > 2 * standing as usize + MAX_STALE_ENTRIES {
        order.retain(|place| still(*place));
    }
    order.push_back(place);
}

pub(super) fn oldest_half_open(
    order: &mut VecDeque<ConnectionHandle>,
    still: impl Fn(ConnectionHandle) -> bool,
) -> Option<ConnectionHandle> {
    while let Some(place) = order.front().copied() {
        if still(place) {
            return Some(place);
        }
        order.pop_front();
    }
    None
}
