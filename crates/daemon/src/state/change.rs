//! Changes of the configuration and their results: the messages of the control actor. It carries nothing out.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api::types::AuditRecord;
use model::config::patch::ConfigObject;
use model::config::patch::object_edit::ObjectEdit;
use model::config::{ConfigDiff, ConfigFinding, ConfigFindings, PatchError};
use model::id::ServerId;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::state::evidence::EvidenceEntry;
use crate::state::origin::ChangeOrigin;
use crate::state::state_snapshot::{AgentRequestedState, HealthState};

/// A configuration to activate.
#[derive(Clone, Debug)]
pub struct ConfigChange {
    pub text: String,
    /// The file that it was read from, as messages name it.
    pub file: String,
    pub origin: ChangeOrigin,
    /// Apply only if this generation is active, so that no change is overwritten unseen; `None`: always.
    pub expect: Option<u64>,
    /// Whether to write the change into the file. `None`: the configuration decides.
    pub save: Option<bool>,
    /// The file's own text, if the new text was derived from it. `None` otherwise.
    pub base: Option<Arc<str>>,
}

impl ConfigChange {
    /// An unconditional change. The configuration decides where it is saved.
    pub fn new(
        text: impl Into<String>,
        file: impl Into<String>,
        origin: ChangeOrigin,
    ) -> ConfigChange {
        let text = text.into();
        let file = file.into();
        ConfigChange { text, file, origin, expect: None, save: None, base: None }
    }
}

/// A change of one object of the configuration, or of the whole.
#[derive(Clone, Debug)]
pub struct ConfigPatch {
    pub object: ConfigObject,
    pub edit: ObjectEdit,
    pub origin: ChangeOrigin,
    /// Apply only if this generation is active; `None`: always.
    pub expect: Option<u64>,
    /// Whether to write the change into the file. `None`: the configuration decides.
    pub save: Option<bool>,
}

/// The result of a change.
#[derive(Clone, Debug, Default)]
pub struct ApplyOutcome {
    /// The active generation afterwards.
    pub generation: u64,
    /// The differences; empty if the text equals the active one.
    pub diff: ConfigDiff,
    /// Warnings about the new configuration.
    pub warnings: Vec<ConfigFinding>,
    /// Settings that take effect only after a restart.
    pub needs_restart: Vec<String>,
    /// Every worker acts on it (false: a worker had not confirmed within the time allowed, and will).
    pub confirmed: bool,
    /// The object that was put did not exist before.
    pub created: bool,
    /// For a rollback: the generation whose text it repeats.
    pub repeats: Option<u64>,
    /// The file that has it now.
    pub saved: Option<String>,
    /// State that could not be stored, one sentence each.
    pub unsaved: Vec<String>,
}

/// The effect that a change would have.
#[derive(Clone, Debug)]
pub struct PlanOutcome {
    /// The generation that was compared with.
    pub generation: u64,
    pub diff: ConfigDiff,
    /// Warnings about the new configuration.
    pub warnings: Vec<ConfigFinding>,
    /// Settings that would take effect only after a restart.
    pub needs_restart: Vec<String>,
    /// The effect on listeners, a sentence each.
    pub listeners: Vec<String>,
}

/// Why a configuration was not activated or not stored. Except after `FileNotWritten`, nothing has changed.
#[derive(Debug, Error)]
pub enum ApplyError {
    /// The text has mistakes.
    #[error("{0}")]
    Invalid(ConfigFindings),
    /// The active generation is not the generation that the caller expected.
    #[error(
        "generation {found} is active, not {expected}: look at what changed meanwhile, then apply again"
    )]
    Stale { expected: u64, found: u64 },
    /// It reaches beyond the product, and the API may not have it do so.
    #[error(
        "{key}: the daemon {reach}, and changes over the API may not set that: write it into the daemon's file and \
         reload that, or set global.control.allow-programs there"
    )]
    NotPermitted {
        key: String,
        /// The privileged effect, and the setting.
        reach: String,
    },
    /// The change would alter the API's own permissions over the API.
    #[error(
        "global.control.allow-programs: found {found}; over the API it stays {stays}: it is set in the daemon's file \
         alone, which is read when the daemon starts or reloads"
    )]
    PermissionChanged {
        /// The value in the text.
        found: bool,
        /// The value that stays.
        stays: bool,
    },
    /// A listener could not be opened or changed.
    #[error(transparent)]
    Listen(#[from] l7::socket::ListenError),
    /// A pool's connections could not be made as configured.
    #[error("pool.{pool}: {source}")]
    Pool {
        pool: String,
        #[source]
        source: l7::socket::OutgoingError,
    },
    /// Another daemon uses the directory in which packet programs are pinned.
    #[error(transparent)]
    Pins(#[from] bpf::ClaimError),
    /// Keys or certificates are no good.
    #[error(transparent)]
    Tls(#[from] crate::state::tls_config_error::TlsConfigError),
    /// The patch cannot be written into the configuration.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// It was to be saved, and this daemon has no file.
    #[error("this daemon was not started from a file")]
    NoFile,
    /// The file to write differs from the active text.
    #[error("{0} is neither what is active nor what is to be: reload it, or apply it, first")]
    FileDiffers(String),
    /// The file to write cannot be read.
    #[error("cannot read {file}: {source}")]
    FileUnreadable {
        file: String,
        #[source]
        source: std::io::Error,
    },
    /// The change is active, but was not written into the file.
    #[error("the configuration is active, but {file} could not be written: {source}")]
    FileNotWritten {
        file: String,
        #[source]
        source: std::io::Error,
    },
    /// Another process is taking over.
    #[error("another process is taking over: ask it, or try again when it has given up")]
    HandingOver,
    /// The daemon is on its way out.
    #[error(transparent)]
    Stopping(#[from] DaemonStoppingError),
}

/// Why an older generation was not activated. Nothing has changed.
#[derive(Debug, Error)]
pub enum RollbackError {
    /// No such generation is stored.
    #[error("generation {wanted} is not kept; kept are {}", list(.kept))]
    Unknown { wanted: u64, kept: Vec<u64> },
    /// There is none before the present one.
    #[error("no generation before the present one is kept")]
    NonePrevious,
    /// It cannot be activated now.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GenerationRecord {
    pub number: u64,
    pub origin: ChangeOrigin,
    /// The file that its text was read from, as messages name it.
    pub file: String,
    pub at: SystemTime,
    /// Digest of its text.
    pub digest: String,
    /// For a rollback: the generation whose text it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
}

/// Records of changes, oldest first.
#[derive(Clone, Debug, Default)]
pub struct AuditExcerpt {
    pub records: Vec<AuditRecord>,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// Records that could not be written.
    pub failures: u64,
}

/// Health evidence about a server, from probes and connections.
#[derive(Clone, Debug)]
pub struct HealthReport {
    pub server: ServerId,
    pub health: HealthState,
    /// The evidence, in a sentence.
    pub reason: String,
    /// The evidence; `None`: there is none.
    pub note: Option<EvidenceEntry>,
}

/// A report of a server's agent.
#[derive(Clone, Debug)]
pub struct ServerAgentReport {
    pub server: ServerId,
    /// The requested state; `None`: health alone decides.
    pub wanted: Option<AgentRequestedState>,
}

/// The resolution of a server's name.
#[derive(Clone, Debug)]
pub struct ServerResolution {
    pub server: ServerId,
    /// Its address, or why there is none.
    pub result: Result<SocketAddr, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownRequest {
    /// The listening sockets live on in another process, which accepts the connections in their queues.
    pub handed_over: bool,
    /// How long exchanges may finish; `None`: `global.drain`.
    pub limit: Option<Duration>,
    /// The packet plane continues to run in the kernel. Otherwise it is removed completely.
    pub detach: bool,
}

/// The daemon is on its way out and takes no orders.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
#[error("the daemon is stopping")]
pub struct DaemonStoppingError;

fn list(numbers: &[u64]) -> String {
    if numbers.is_empty() {
        return "none".to_owned();
    }
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}
