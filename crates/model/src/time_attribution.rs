//! Whose time an exchange took, live: phases, for whom the relay waited, and what the kernel counted of both sockets.
//!
//! `judge` is arithmetic over facts that a worker measured; it reads no clock and no socket. What the balancer cannot
//! see from where it stands is said to be unknown, and the parts sum to the whole in every case.

pub mod advice;
pub mod attribution;
mod breakdown;
pub mod client_prefix;
mod encoding;
pub mod exchange_measurement;
pub mod slow_exchanges;
pub mod tcp_info;
pub mod wait_times;

pub use attribution::attribute_time;
pub use breakdown::{TimeBreakdown, TimeShare};
pub use encoding::WORDS;
pub use exchange_measurement::{ExchangeFlags, ExchangeMeasurement, ExchangePhases, ExchangeTrace};
pub use slow_exchanges::{
    BreakdownGroup, ExchangeReservoir, SlowExchangeFilter, SlowExchangeReport,
};
pub use tcp_info::{TcpInfoDelta, TcpInfoSample};
pub use wait_times::{WaitReason, WaitTimes};

#[cfg(test)]
mod tests;
