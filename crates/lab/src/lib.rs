//! Measurement tools: a load generator, test servers, test networks, and statistics of figures.
//!
//! Used by `steelyard bench`, `compare` and `try`, by the benchmarks and by tests of other crates. It draws no
//! conclusions about a balancer: it generates load, responds, counts and compares figures.

pub mod bench;
pub mod compare;
pub mod fleet;
pub mod link_emulation;
pub mod load;
pub mod machine;
pub mod net;
pub mod origin;
pub mod poller;
pub mod port;
pub mod rate_search;
pub mod result;
pub mod result_note;
pub mod shadow;
pub mod stats;
pub mod stream;
pub mod study;
pub mod sys;
pub mod topology;
