//! The load generator: a closed loop over a number of connections, or an open loop at a fixed rate.
//!
//! Latency counts from the intended start of a request, so that waiting does not hide a stall of the target. Every
//! failed request is counted by its cause and never repeated. The load generator does not interpret the figures.

mod action;
mod client;
mod counts;
mod dial;
mod engine;
mod fail;
mod http2;
pub mod memory_pipe;
mod plan;
mod report;
mod request;
mod request_mix;
mod response;
mod run;
mod schedule;
mod tally;
mod text_search;
mod thread;
mod tls;

pub use counts::{TallyRecord, TallyRecordError};
pub use fail::FailureCause;
pub use plan::{
    ClosingSide, ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadPlanError, LoadProtocol,
    ReadSpeed,
};
pub use report::{LatencyBucket, LatencySummary, LoadReport};
pub use request_mix::{MixError, RequestField, RequestMix, RequestTemplate, ResponseExpectation};
pub use run::{LoadRun, LoadStartError, Stopper};
pub use tls::{AcceptAnyCertificate, TargetTls, TargetTlsError};
