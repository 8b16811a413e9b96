//! What a configuration can carry on a machine: arithmetic with units, and the first limit that will be met.
//!
//! Every figure comes from stated quantities; nothing is measured here, and a limit that cannot be known from what was
//! stated is absent instead of guessed.

pub mod demand;
pub mod forecast;
pub mod fragment;
pub mod headroom;
pub mod mutual;
pub mod path;
pub mod ports;
pub mod quantity;
pub mod replication;
pub mod shares;
pub mod telling;
pub mod towards;
pub mod wire;
