//! What can be ordered of a server, what comes of it, and why not. It carries nothing out.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api::types::AuditRecord;
use model::config::ServerWeight;
use model::config::server_edit::EditError;
use thiserror::Error;

use crate::state::change::{ApplyError, DaemonStoppingError, RollbackError};
use crate::state::origin::ChangeOrigin;
use crate::state::server_text::format_utc;
use crate::state::state_snapshot::ServerFacts;

/// An order about a server.
#[derive(Clone, Debug)]
pub struct ServerCommandRequest {
    pub pool: String,
    /// Its name; `-` when it is added: derived from the address.
    pub name: String,
    pub command: OperatorCommand,
    /// Whether to write the command into the file. `None`: the configuration decides.
    pub save: Option<bool>,
    /// The record of the first order of the command that this one is part of.
    pub part_of: Option<u64>,
    pub origin: ChangeOrigin,
}

/// The result of an order.
#[derive(Clone, Debug)]
pub struct ServerCommandOutcome {
    /// The server now; the last that was known of it when it was removed.
    pub facts: Arc<ServerFacts>,
    /// The file that the command was written to.
    pub saved: Option<String>,
    /// Its number in the audit log.
    pub audit_id: u64,
    /// State that could not be stored, one sentence each.
    pub unsaved: Vec<String>,
}

/// An operator's order about a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperatorCommand {
    /// Its health alone decides.
    Enable,
    /// It finishes its connections and takes no new ones.
    Drain,
    Disable,
    /// It takes nothing new, and its connections are reset.
    Cut,
    /// Takes no new client; after the limit it drains.
    Quiesce(Duration),
    /// Takes nothing in a window.
    Maintain {
        /// From when; `None`: now.
        from: Option<SystemTime>,
        /// Until when; `None`: until it is enabled.
        until: Option<SystemTime>,
        reason: String,
    },
    Weight(ServerWeight),
    Add {
        /// Its address, as written.
        address: String,
        /// Its weight; `None`: the pool's.
        weight: Option<ServerWeight>,
    },
    /// It is no more.
    Remove,
}

impl OperatorCommand {
    /// As recorded and as the program calls it.
    pub const fn name(&self) -> &'static str {
        match self {
            OperatorCommand::Enable => "enable",
            OperatorCommand::Drain => "drain",
            OperatorCommand::Disable => "disable",
            OperatorCommand::Cut => "cut",
            OperatorCommand::Quiesce(_) => "quiesce",
            OperatorCommand::Maintain { .. } => "maintain",
            OperatorCommand::Weight(_) => "weight",
            OperatorCommand::Add { .. } => "add",
            OperatorCommand::Remove => "remove",
        }
    }

    /// Whether the file can express it.
    pub const fn is_in_file(&self) -> bool {
        !matches!(
            self,
            OperatorCommand::Cut | OperatorCommand::Quiesce(_) | OperatorCommand::Maintain { .. }
        )
    }
}

impl fmt::Display for OperatorCommand {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            OperatorCommand::Weight(weight) => write!(to, "{name} {}", weight.get()),
            OperatorCommand::Quiesce(limit) => write!(to, "{name} for {limit:?}"),
            OperatorCommand::Add { address, .. } => write!(to, "{name} {address}"),
            OperatorCommand::Maintain { from, until, reason } => {
                to.write_str(name)?;
                for (word, at) in [("from", from), ("until", until)] {
                    if let Some(at) = at {
                        write!(to, " {word} {}", format_utc(*at))?;
                    }
                }
                if reason.is_empty() { Ok(()) } else { write!(to, " ({reason})") }
            }
            _ => to.write_str(name),
        }
    }
}

/// Why a server was not changed.
#[derive(Debug, Error)]
pub enum ServerCommandError {
    /// No such pool or server.
    #[error("there is no server '{pool}/{name}'{}", hint(.near))]
    Unknown {
        pool: String,
        name: String,
        /// The servers of that pool, or the pools when there is no such pool.
        near: Vec<String>,
    },
    /// A server that is added has the name or the address of another one.
    #[error("there is a server '{pool}/{name}' already: at {address}")]
    Exists {
        pool: String,
        /// The name of the other server.
        name: String,
        address: String,
    },
    /// The command is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The pool would be left without a server.
    #[error("{pool}/{name} is the last server of its pool: drain or disable it instead")]
    LastServer { pool: String, name: String },
    /// The order cannot be written back, and was not carried out.
    #[error("the order cannot be saved, and was not carried out: {0}")]
    Save(#[from] SaveError),
    /// It cannot be activated now.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The command is active, but not in the file.
    #[error("the server command took effect, but {file} could not be written: {source}")]
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

/// Why an order cannot be written back.
#[derive(Debug, Error)]
pub enum SaveError {
    /// This daemon has no file.
    #[error("this daemon was not started from a file")]
    NoFile,
    /// The file cannot express it.
    #[error("the file has no word for `{0}`")]
    NotExpressible(&'static str),
    /// The file differs from the active text.
    #[error("{0} is not what is active: reload it, or apply what is to be active, first")]
    Differs(String),
    /// The file cannot be read.
    #[error("cannot read {file}: {source}")]
    Read {
        file: String,
        #[source]
        source: std::io::Error,
    },
    /// The command cannot be written into the text.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// The result of undoing a command.
#[derive(Debug)]
pub struct UndoOutcome {
    /// What was undone, the latest order first.
    pub undone: Vec<UndoneCommand>,
    /// Why the rest of the command was not.
    pub failed: Option<UndoError>,
}

/// A command that was undone.
#[derive(Clone, Debug)]
pub struct UndoneCommand {
    /// The number of the undoing in the record.
    pub id: u64,
    /// The record of the command that was undone.
    pub undoes: AuditRecord,
}

/// Why a command was not undone.
#[derive(Debug, Error)]
pub enum UndoError {
    #[error("there is no record {0}; `steelyard audit` lists them")]
    Unknown(u64),
    /// No command is left that can be undone.
    #[error("no command is left that can be undone")]
    Nothing,
    /// The order has no way back.
    #[error("record {0} cannot be undone")]
    Cannot(u64),
    /// Something else changed the same since.
    #[error(
        "{1} was changed again since record {0}: take that back first, or say what it is to be"
    )]
    Moved(u64, String),
    /// It cannot be activated now.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The previous generation is not stored, or cannot be activated.
    #[error(transparent)]
    Rollback(#[from] RollbackError),
    /// Another process is taking over.
    #[error("another process is taking over: ask it, or try again when it has given up")]
    HandingOver,
    /// The daemon is on its way out.
    #[error(transparent)]
    Stopping(#[from] DaemonStoppingError),
}

fn hint(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; there are {}", near.join(", ")) }
}
