//! Envoy's times where none are written, in milliseconds.

/// From the end of a request to the end of its answer.
pub const ROUTE_TIMEOUT_MS: u64 = 15_000;
/// Between two bytes of a stream.
pub const STREAM_IDLE_MS: u64 = 300_000;
/// A connection without a stream, and a tunnel of bytes without a byte.
pub const IDLE_MS: u64 = 3_600_000;
/// Until a connection to a server is established.
pub const CONNECT_MS: u64 = 5_000;
/// The longest time that the configuration accepts. It stands for none.
pub const NEVER_MS: u64 = 7 * 86_400_000;
