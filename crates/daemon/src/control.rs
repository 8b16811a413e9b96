//! Changes and the picture of what is in force: who may ask (`handle`), what for (`order`), and who carries it out
//! (`actor`).
//!
//! How a change is carried out is `reconcile`'s.

mod active_config;
pub mod actor;
mod api_permissions;
pub mod audit;
mod audit_record;
pub mod change;
mod config_file;
pub(crate) mod config_overlay;
mod discovery;
pub mod discovery_result;
mod down_servers;
pub mod generations;
pub mod handle;
pub mod origin;
mod patch;
mod permission_check;
mod persistence;
pub mod reconcile;
pub mod server_command;
mod server_control;
mod server_state_file;
mod state_events;
pub mod state_snapshot;
#[cfg(test)]
mod tests;
mod timed_changes;
mod undo;
mod write_back;

pub use change::{
    ApplyError, ApplyOutcome, ConfigChange, ConfigPatch, DaemonStopping, GenerationRecord,
    HealthReport, PlanOutcome, RollbackError, ServerAgentReport, ServerResolution, ShutdownRequest,
};
pub use discovery_result::DiscoveryResult;
pub use handle::{ControlHandle, HandoverState};
pub use origin::{ChangeOrigin, ChangeTrigger};
pub use server_command::{
    OperatorCommand, SaveError, ServerCommandError, ServerCommandOutcome, ServerCommandRequest,
    UndoError, UndoOutcome,
};
pub use state_snapshot::{
    HealthState, HealthStatus, ListenerFacts, MaintenanceWindow, OperatorOverride,
    OperatorOverrides, QuiescePeriod, ResolvedAddress, ServerEjection, ServerFacts, StateSnapshot,
    WeightShare,
};
