//! Accounting of exchanges: the record of each running exchange, the counters that it updates when it closes, and its
//! access log line.
//!
//! The exchange fills in an `ExchangeRecord`, which holds plain numbers. Nothing is formatted, looked up or allocated
//! unless the exchange is logged.

mod access_log;
mod batch;
pub(crate) mod captured_fields;
mod cef_line;
mod common_line;
mod date;
mod escape;
mod exchange_counters;
mod exchange_facts;
mod exchange_record;
mod exchange_sample;
pub(crate) mod gauges;
mod id;
mod line_facts;
mod line_limits;
mod line_writer;
mod log_fields;
pub(crate) mod logged_request;
pub(crate) mod meter;
pub(crate) mod observer;
mod pace;
mod refused_request;
mod user_experience;

pub use access_log::write_line;
pub use batch::LogBatch;
pub use date::WallOrigin;
pub use exchange_counters::{count_exchange, count_failed_attempt};
pub use exchange_facts::exchange_facts;
pub use exchange_record::ExchangeRecord;
pub use exchange_sample::{ConnectionSetup, ExchangeSample, SocketSamples};
pub use id::{RequestId, RequestIds};
pub use line_limits::{FIELD, FOUND, HOST};
pub use log_fields::{
    ClientOrigin, DownstreamProtocol, FurtherFacts, LogDecision, LogFields, LoggedServer,
};
pub use pace::record_pace;
pub use refused_request::refused_request;
pub use user_experience::{count_user_experience, is_logged_always};
