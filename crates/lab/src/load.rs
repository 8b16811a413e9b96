//! The load generator: a closed loop over a number of connections, or an open loop at a fixed rate.
//!
//! Latency counts from the intended start of a request, so that a stall of what is measured is not hidden by
//! waiting for it. Every failed request is counted by its cause and never tried again. It does not interpret the
//! figures.

mod action;
mod answer;
mod client;
mod counts;
mod dial;
mod engine;
mod fail;
mod find;
mod http2;
mod mix;
mod plan;
mod report;
mod request;
mod run;
mod schedule;
mod secure;
mod tally;
mod thread;

pub use counts::{Counts, CountsError};
pub use fail::Fail;
pub use mix::{Expect, Mix, MixError, Shot};
pub use plan::{Closer, HttpPlan, Pace, Persist, Plan, PlanError, Protocol, Reading};
pub use report::{Latency, Report};
pub use run::{Load, StartError, Stopper};
pub use secure::{Secure, SecureError};
