//! Half-open connections in the order in which they came, and how many of them still stand.

use std::collections::VecDeque;

use super::places::Place;

/// Places of connections that went on, which an order may hold besides.
const PASSED_OVER: usize = 16;

/// Half-open connections of a service, in the order in which they came. Those that went on are passed over.
#[derive(Debug, Default)]
pub(super) struct HalfOpen {
    pub(super) silent: u32,
    pub(super) silent_order: VecDeque<Place>,
    /// Handshakes under way.
    pub(super) shaking: u32,
    /// Those whose clients have not answered.
    pub(super) hello_order: VecDeque<Place>,
    /// The others.
    pub(super) shaking_order: VecDeque<Place>,
}

/// Appends; those that went on are dropped before they outnumber the others.
pub(super) fn remember(
    order: &mut VecDeque<Place>,
    standing: u32,
    place: Place,
    still: impl Fn(Place) -> bool,
) {
    if order.len() > 2 * standing as usize + PASSED_OVER {
        order.retain(|place| still(*place));
    }
    order.push_back(place);
}

pub(super) fn first_of(
    order: &mut VecDeque<Place>,
    still: impl Fn(Place) -> bool,
) -> Option<Place> {
    while let Some(place) = order.front().copied() {
        if still(place) {
            return Some(place);
        }
        order.pop_front();
    }
    None
}
