//! The active state, as one immutable snapshot, and the handle through which the rest of the daemon reads and changes
//! it. It carries out nothing: `control` does.

pub mod acme_proof;
pub mod cert_status;
pub mod change;
pub mod discovery_result;
pub mod evidence;
pub mod handle;
pub mod origin;
pub mod overlay;
pub(crate) mod predecessor;
pub mod saved_state;
pub mod server_command;
pub mod server_state;
pub mod server_text;
pub mod state_snapshot;
pub mod tls_config_error;

pub use change::{
    ApplyError, ApplyOutcome, ConfigChange, ConfigPatch, DaemonStoppingError, GenerationRecord,
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
    AgentRequestedState, EjectionChange, HealthState, HealthStatus, ListenerFacts,
    MaintenanceWindow, OperatorOverride, OperatorOverrides, QuiescePeriod, ResolvedAddress,
    ServerEjection, ServerFacts, StateSnapshot, WeightShare, WeightShareChange,
};
