//! What has to be written into the maps so that they say what a snapshot says. Pure: pictures go in, ordered writes
//! come out; only services that changed are looked at.
//!
//! Servers that left keep their index until no flow points at it; `reclaim` is told by the sweep.

mod change;
mod draining_servers;
pub mod encoding;
pub mod facts;
mod guards;
mod leveling;
mod listeners;
mod merge;
mod pools;
pub mod recovery;
mod rules;
pub mod schedule;
pub mod service_plan;
mod shares;
mod source;
mod state;

pub use model::capacity::port_shares::distribute_ports;
pub use state::{MapPlanner, PlannedChange};
