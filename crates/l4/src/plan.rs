//! The writes that bring the maps from one snapshot to the next. Pure: snapshots go in, ordered writes come out; only
//! changed services are compared.
//!
//! A removed server keeps its index until no flow refers to it. The sweep calls `reclaim_drained`.

mod change;
mod draining_servers;
pub mod encoding;
pub mod facts;
mod guards;
mod leveling;
mod listeners;
mod merge;
mod normalization;
mod pools;
pub mod recovery;
mod rules;
pub mod schedule;
pub mod service_plan;
mod shares;
mod source;
mod state;

pub use draining_servers::ReclaimedServers;
pub use model::capacity::port_shares::distribute_ports;
pub use state::{IndexedServer, MapPlanner, PlannedChange};
