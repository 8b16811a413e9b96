//! Listening sockets of the API and of the metrics, and the limits on the connections to them.

pub mod admin_sockets;
pub mod api_counters;
pub(crate) mod body_framing;
pub mod connection_guard;
pub mod connection_slots;
