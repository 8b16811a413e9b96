//! Who may have a connection, and whose is closed so that somebody else can have one.
//!
//! Connections that do nothing never take a place that others need: at a limit they are closed for newcomers, first those
//! that have been silent for a while, last those that have only just come. What is in use is never closed. Above half of a limit no client may have more than its share. Time and counts
//! come in; it closes nothing itself.

mod chunks;
mod half_open;
mod holders;
mod keyed;
mod places;
mod share;
mod table;

pub use holders::{Holder, Holders};
pub use places::{Place, Scope};
pub use share::{Client, GREETING, LEAST_SHARE, Phase, STALLED, Share};
pub use table::{Entrance, Left, Table, Victim};
