//! From the active configuration to the next one, touching only what differs.
//!
//! `applied_state` makes the next state from the old one and a configuration (pure), `listener_step` computes what has
//! to be done to listeners (pure), `apply` does it. Nothing here reads a file or talks to a user.

pub mod applied_state;
pub mod apply;
#[cfg(test)]
pub mod fake;
pub mod listener_step;
pub(crate) mod preserved;
#[cfg(test)]
mod tests;
pub mod tls_materials;
pub mod traffic_engine;
