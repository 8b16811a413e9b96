//! The only room where the planes meet: start, configuration in force, changes to it, the way out.
//!
//! It forwards nothing itself: `l7` does.

pub mod access;
pub mod acme;
mod alarm;
pub mod audit;
pub mod capture;
mod clock;
pub mod control;
mod cover;
pub mod embed;
pub mod event;
mod footprint;
pub mod generations;
mod headroom;
pub mod history;
mod hook;
pub mod house;
pub mod insight;
pub mod judge;
pub mod keep;
pub mod kept;
pub mod links;
pub mod listeners;
pub mod local_time;
mod machine;
pub mod metrics;
pub mod mptcp;
pub mod names;
mod offspring;
mod outside;
pub mod packets;
pub mod probe;
pub mod reconcile;
pub mod report;
pub mod resolve;
mod rights;
mod run;
mod scratch;
pub mod secrets;
pub mod serve;
pub mod slow;
mod source;
mod sys;
pub mod systemd;
pub mod telemetry;
pub mod tls;
pub mod upgrade;
pub mod uplinks;
pub mod users;
pub mod vrrp;
pub mod wall_clock;
mod ways;
pub mod workers_time;

pub use embed::{EmbedError, Embedded};
pub use run::{RunError, RunOptions, run};
