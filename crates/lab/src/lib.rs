//! The proving ground: load, and origins to aim it at.
//!
//! Used by `steelyard try`, by the benchmarks and by tests of other crates. It judges nothing about a balancer:
//! it sends, answers, counts and hands the figures over.

pub mod line;
pub mod load;
pub mod net;
pub mod origin;
pub mod poller;
pub mod port;
