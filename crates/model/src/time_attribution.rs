//! Time attribution: who owns the time of an exchange, from its phases, the waits of the relay, and the kernel's
//! counters of both sockets.
//!
//! `attribute_time` computes with facts that a worker measured; it reads no clock and no socket. Time whose owner the
//! balancer cannot see is reported as unknown, and the parts always sum to the whole.

pub mod advice;
pub mod attribution;
mod breakdown;
pub mod client_prefix;
mod encoding;
pub mod ended_counts;
pub mod ended_totals;
pub mod exchange_measurement;
pub mod failure_groups;
pub mod failure_history;
pub mod sample_weights;
pub mod slow_exchanges;
pub mod tcp_info;
pub mod wait_times;

pub use attribution::attribute_time;
pub use breakdown::{TimeBreakdown, TimeShare};
pub use encoding::WORDS;
pub use exchange_measurement::{
    ExchangeFlags, ExchangeMeasurement, ExchangePhases, ExchangeTrace, RequestDrain,
};
pub use slow_exchanges::{
    BreakdownGroup, ExchangeReservoir, SlowExchangeFilter, SlowExchangeReport,
};
pub use tcp_info::{TcpInfoDelta, TcpInfoSample};
pub use wait_times::{WaitReason, WaitTimes};

#[cfg(test)]
mod tests;
