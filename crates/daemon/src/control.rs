//! Carries out changes to the active configuration: one task (`actor`), one change after the other.
//!
//! How the next state is computed and reached is in `reconcile`; the types of changes and states are in `state`.

mod active_config;
pub mod actor;
mod api_permissions;
pub mod audit;
mod audit_record;
mod command_checks;
mod config_file;
pub(crate) mod config_overlay;
mod discovery;
mod down_servers;
pub mod generations;
mod patch;
mod permission_check;
mod persistence;
pub mod reconcile;
mod server_control;
mod server_state_file;
mod state_events;
#[cfg(test)]
mod tests;
mod timed_changes;
mod undo;
mod write_back;
