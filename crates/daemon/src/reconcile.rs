//! From the configuration in force to the next one, touching only what differs.
//!
//! `book` makes the next state from the old one and a configuration (pure), `step` says what has to be done to
//! listeners (pure), `act` does it. Nothing here reads a file or talks to a user.

pub mod act;
pub mod book;
pub mod engine;
#[cfg(test)]
pub mod fake;
pub(crate) mod kept;
pub mod memory;
pub mod overlay;
pub mod secure;
pub mod server;
pub mod step;
#[cfg(test)]
mod tests;
