//! What has to be written into the maps so that they say what a snapshot says. Pure: pictures go in, ordered writes
//! come out; only services that changed are looked at.
//!
//! Servers that left keep their index until no flow points at it; `reclaim` is told by the sweep.

mod change;
pub mod facts;
pub mod form;
mod guards;
mod leaving;
mod levels;
mod merge;
pub mod part;
mod pools;
pub mod recover;
mod rules;
pub mod schedule;
mod shares;
mod source;
mod state;
mod vips;

pub use model::capacity::shares::ports_of;
pub use state::{Change, Planner};
