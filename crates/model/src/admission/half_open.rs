//! Half-open connections in order of arrival.

use std::collections::VecDeque;

use super::slab::ConnectionHandle;

/// Entries of connections that are no longer half-open, which an order may hold besides twice its live ones: keeps
/// sweeps rare.
const MAX_STALE_ENTRIES: usize = 16;

/// The half-open connections of a service. The orders may hold stale entries, which are skipped.
#[derive(Debug, Default)]
pub(super) struct HalfOpenConnections {
    pub(super) silent: u32,
    pub(super) silent_order: VecDeque<ConnectionHandle>,
    pub(super) handshakes: u32,
    /// Handshakes whose clients have not responded.
    pub(super) hello_order: VecDeque<ConnectionHandle>,
    pub(super) handshake_order: VecDeque<ConnectionHandle>,
}

/// Appends a connection; stale entries are removed before they outnumber the others.
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

/// The first connection that is still half-open. Stale entries before it are removed.
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
