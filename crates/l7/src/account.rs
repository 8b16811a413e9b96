//! The account of one exchange: its facts while it runs, its sums when it closes, its line in the access log.
//!
//! A `Record` is plain numbers that the exchange fills in as it goes; nothing is formatted, looked up or allocated
//! unless the exchange is logged. It reads no clock, moves no bytes and decides nothing.

mod batch;
mod calendar;
mod close;
mod escape;
mod facts;
mod id;
mod learn;
mod line;
mod measured;
mod met;
mod record;
mod refused;

pub use batch::LogBatch;
pub use close::{attempt_failed, close};
pub use facts::facts;
pub use id::{Id, Ids};
pub use learn::learn;
pub use line::{FIELD, FOUND, HOST, Names, Protocol, Wall, line};
pub use measured::{Measured, Opening, Sockets};
pub use met::met;
pub use record::Record;
pub use refused::refused;
