//! The product's words and decisions.
//!
//! Everything here is pure: configuration, choosing, judging, causes and the shared live counters. It reads no
//! clock, opens no socket and starts no thread; time, randomness and facts come in as arguments.

pub mod acme;
pub mod admission;
pub mod affinity;
pub mod attribute;
pub mod bounded;
pub mod breaker;
pub mod calendar;
pub mod capacity;
pub mod capture;
pub mod cause;
pub mod compress;
pub mod config;
pub mod cookie;
pub mod eject;
pub mod hash;
pub mod head;
pub mod health;
pub mod hedge;
pub mod history;
pub mod host;
pub mod id;
pub mod insight;
pub mod limit;
pub mod line;
pub mod live;
pub mod load;
pub mod moment;
pub mod path;
pub mod pick;
pub mod preflight;
pub mod query;
pub mod refused;
pub mod retry;
pub mod rules;
pub mod schedule;
pub mod shed;
pub mod snapshot;
pub mod table_key;
pub mod users;
pub mod weigh;
