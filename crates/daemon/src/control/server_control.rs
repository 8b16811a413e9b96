//! Server commands, carried out: state, weight, added and removed servers. Each is recorded.
//!
//! The resulting state is computed in `state::server_state`; a file is edited by `model::config`.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use model::config::server_edit::{ServerEdit, edit_server, parse_server_address, server_name};
use model::config::{AdminState, ServerWeight, WriteBack};
use model::id::ServerId;

use super::actor::ControlActor;
use super::audit_record::{AuditedChange, command_undo};
use super::command_checks::{check_unique, is_plain_name, validate_command};
use crate::control::audit::UndoAction;
use crate::state::change::ConfigChange;
use crate::state::origin::ChangeOrigin;
use crate::state::overlay::{AddedServer, MembershipOverride, RemovedServer, SERVERS};
use crate::state::server_command::{
    OperatorCommand, SaveError, ServerCommandError, ServerCommandOutcome, ServerCommandRequest,
};
use crate::state::server_state;
use crate::state::server_text::{describe_server, format_address};
use crate::state::state_snapshot::ServerFacts;
use crate::util::atomic_file;

/// Bytes of a file that orders are written back to.
const FILE_BYTES: u64 = 16 << 20;

/// A text to write back, and where.
struct EditedFile {
    file: PathBuf,
    text: String,
}

impl ControlActor {
    /// Carries out an order about a server.
    pub(super) async fn run_server_command(
        &mut self,
        order: ServerCommandRequest,
    ) -> Result<ServerCommandOutcome, ServerCommandError> {
        if self.handing_over {
            return Err(ServerCommandError::HandingOver);
        }
        validate_command(&order.command, SystemTime::now()).map_err(ServerCommandError::Invalid)?;
        if order.save == Some(true) && !order.command.is_in_file() {
            return Err(SaveError::NotExpressible(order.command.name()).into());
        }
        if let Some(first) = order.part_of {
            self.check_part(first, &order)?;
        }
        let failures = self.persistence_failures();
        let done = match &order.command {
            OperatorCommand::Add { address, weight } => {
                let address = address.clone();
                let weight = *weight;
                self.add(order, &address, weight).await
            }
            OperatorCommand::Remove => self.remove(order).await,
            _ => self.command_existing(order).await,
        }?;
        // The audit record is written after the state was published.
        self.publish_unsaved();
        Ok(ServerCommandOutcome { unsaved: self.unsaved_since(failures), ..done })
    }

    /// A command for an existing server.
    async fn command_existing(
        &mut self,
        order: ServerCommandRequest,
    ) -> Result<ServerCommandOutcome, ServerCommandError> {
        let ServerCommandRequest { pool, name, command: server_command, save, part_of, origin } =
            order;
        let id = self.find(&pool, &name)?;
        let edit = match &server_command {
            OperatorCommand::Enable => Some(ServerEdit::State(AdminState::Enabled)),
            OperatorCommand::Drain => Some(ServerEdit::State(AdminState::Drain)),
            OperatorCommand::Disable => Some(ServerEdit::State(AdminState::Disabled)),
            OperatorCommand::Weight(weight) => Some(ServerEdit::Weight(weight.get())),
            _ => None,
        };
        let written = match edit.filter(|_| self.should_save(save)) {
            Some(edit) => Some(self.edit_file_text(&pool, &name, &edit)?),
            None => None,
        };
        let old = self.facts(id, &pool, &name)?;
        let before = self.applied.clone();
        let applied_command = server_command.clone();
        let by = origin.clone();
        let now = SystemTime::now();
        self.update_server(id, |facts| {
            server_state::apply_command(facts, applied_command, by, now)
        });
        self.publish_changes(&before);
        if server_command == OperatorCommand::Cut
            && let Some(entry) = self.applied.servers.get(&id)
        {
            entry.live.abort_generation.increment();
            self.engine.reset_server_connections(id);
        }
        self.save_server_state();
        self.events.info("server-command", format!("{pool}/{name}: {server_command} by {origin}"));
        let new = self.facts(id, &pool, &name)?;
        let mut reversal = command_undo(&old, &new);
        let generation = self.active.generation;
        let saved = match written {
            Some(written) => Some(self.write_back(written, &origin).await?),
            None => None,
        };
        let after = self.active.generation;
        if after != generation {
            reversal = UndoAction::Generation { before: generation, after };
        }
        let new = self.facts(id, &pool, &name)?;
        let target = format!("{pool}/{name}");
        let change = AuditedChange {
            action: &server_command.to_string(),
            target: &target,
            before: &describe_server(&old),
            after: &describe_server(&new),
            part_of,
        };
        let audit = self.record_change(&origin, change, saved.clone(), Some(reversal));
        Ok(ServerCommandOutcome { facts: new, saved, audit_id: audit, unsaved: Vec::new() })
    }

    async fn add(
        &mut self,
        order: ServerCommandRequest,
        address: &str,
        weight: Option<ServerWeight>,
    ) -> Result<ServerCommandOutcome, ServerCommandError> {
        let ServerCommandRequest { pool, name, save, part_of, origin, command: server_command } =
            order;
        let at = parse_server_address(address).map_err(ServerCommandError::Invalid)?;
        // Whoever may add servers may not thereby reach the sockets of other programs on this machine.
        if at.host.is_unix() {
            return Err(ServerCommandError::Invalid(format!(
                "{at} is a Unix socket: such a server is added in the configuration file"
            )));
        }
        let name = if name == "-" { server_name(&at) } else { name };
        if !is_plain_name(&name) {
            return Err(ServerCommandError::Invalid(format!(
                "'{name}' is not a name: lower-case letters, digits, single '-'"
            )));
        }
        let Some(view) = self.applied.pools.get(&pool) else {
            return Err(ServerCommandError::Unknown {
                near: self.similar_names(&pool),
                pool,
                name,
            });
        };
        check_unique(view, &name, &at)?;
        if self.applied.servers.len() >= SERVERS {
            return Err(ServerCommandError::Invalid(format!(
                "there are {SERVERS} servers already"
            )));
        }
        let weight = weight.map(ServerWeight::get);
        let manual = self.overlay.membership_override(&pool, &name);
        let mut saved = None;
        let generation = self.active.generation;
        if self.should_save(save) {
            let written =
                self.edit_file_text(&pool, &name, &ServerEdit::Add { address, weight })?;
            saved = Some(self.write_back(written, &origin).await?);
        } else {
            let added = AddedServer {
                pool: pool.clone(),
                name: name.clone(),
                address: at.to_string(),
                weight,
                by: origin.clone(),
                at: SystemTime::now(),
            };
            let membership = MembershipOverride { added: Some(added), removed: None };
            self.apply_overlay(self.overlay.with_membership(&pool, &name, membership)).await?;
        }
        self.events.info("server-command", format!("{pool}/{name}: {server_command} by {origin}"));
        let facts = self.facts(self.find(&pool, &name)?, &pool, &name)?;
        let reversal = self.membership_undo(&pool, &name, manual, generation);
        let target = format!("{pool}/{name}");
        let change = AuditedChange {
            action: server_command.name(),
            target: &target,
            before: "not there",
            after: &describe_server(&facts),
            part_of,
        };
        let audit = self.record_change(&origin, change, saved.clone(), Some(reversal));
        Ok(ServerCommandOutcome { facts, saved, audit_id: audit, unsaved: Vec::new() })
    }

    async fn remove(
        &mut self,
        order: ServerCommandRequest,
    ) -> Result<ServerCommandOutcome, ServerCommandError> {
        let ServerCommandRequest { pool, name, save, part_of, origin, command: server_command } =
            order;
        let id = self.find(&pool, &name)?;
        let facts = self.facts(id, &pool, &name)?;
        let left = self.applied.pools.get(&pool).map_or(0, |view| view.servers.len());
        if left <= 1 {
            return Err(ServerCommandError::LastServer { pool, name });
        }
        let manual = self.overlay.membership_override(&pool, &name);
        let generation = self.active.generation;
        let mut saved = None;
        if self.should_save(save) && manual.added.is_none() {
            let written = self.edit_file_text(&pool, &name, &ServerEdit::Remove)?;
            saved = Some(self.write_back(written, &origin).await?);
        } else {
            let address = format_address(&facts.config.address);
            let by = origin.clone();
            let at = SystemTime::now();
            let removed = RemovedServer { pool: pool.clone(), name: name.clone(), address, by, at };
            // A server that was only added at run time simply disappears.
            let removed = Some(removed).filter(|_| manual.added.is_none());
            let membership = MembershipOverride { added: None, removed };
            self.apply_overlay(self.overlay.with_membership(&pool, &name, membership)).await?;
        }
        self.events.info("server-command", format!("{pool}/{name}: {server_command} by {origin}"));
        let reversal = self.membership_undo(&pool, &name, manual, generation);
        let target = format!("{pool}/{name}");
        let change = AuditedChange {
            action: server_command.name(),
            target: &target,
            before: &describe_server(&facts),
            after: "not there",
            part_of,
        };
        let audit = self.record_change(&origin, change, saved.clone(), Some(reversal));
        Ok(ServerCommandOutcome { facts, saved, audit_id: audit, unsaved: Vec::new() })
    }

    /// How an order that adds or removes servers is undone.
    fn membership_undo(
        &self,
        pool: &str,
        name: &str,
        before: MembershipOverride,
        generation: u64,
    ) -> UndoAction {
        let now = self.active.generation;
        if now != generation {
            return UndoAction::Generation { before: generation, after: now };
        }
        let before = Box::new(before);
        let after = Box::new(self.overlay.membership_override(pool, name));
        UndoAction::Manual { pool: pool.to_owned(), name: name.to_owned(), before, after }
    }

    fn should_save(&self, requested: Option<bool>) -> bool {
        // Without a file, saving fails only after an explicit request, and the operator gets an error.
        let into_file = self.active.config.global.control.write_back == WriteBack::File;
        let usual = into_file && self.config_file.file.is_some();
        requested.unwrap_or(usual)
    }

    /// The file's text with an order in it; nothing is written yet.
    fn edit_file_text(
        &self,
        pool: &str,
        name: &str,
        order: &ServerEdit<'_>,
    ) -> Result<EditedFile, SaveError> {
        let path = self.config_file.file.clone().ok_or(SaveError::NoFile)?;
        let shown = path.display().to_string();
        let failed = |source: io::Error| SaveError::Read { file: shown.clone(), source };
        // A link stays a link.
        let file = path.canonicalize().map_err(failed)?;
        let text = atomic_file::read(&file, FILE_BYTES).map_err(failed)?.unwrap_or_default();
        if text != *self.active.text {
            return Err(SaveError::Differs(shown));
        }
        Ok(EditedFile { file, text: edit_server(&text, pool, name, order)? })
    }

    /// Activates an edited text, then writes it; returns the file's name.
    async fn write_back(
        &mut self,
        written: EditedFile,
        origin: &ChangeOrigin,
    ) -> Result<String, ServerCommandError> {
        let EditedFile { file, text } = written;
        let shown = file.display().to_string();
        let change = ConfigChange::new(text.clone(), &*self.active.file, origin.clone());
        let checked = self.check_change(&change)?;
        self.apply(change, checked, None).await?;
        match atomic_file::replace_keeping_owner(&file, text.as_bytes()) {
            Ok(()) => {
                self.config_file.set_base(&self.active.text);
                if self.refresh_file_drift() {
                    self.publish();
                }
                Ok(shown)
            }
            Err(source) => Err(ServerCommandError::FileNotWritten { file: shown, source }),
        }
    }

    fn find(&self, pool: &str, name: &str) -> Result<ServerId, ServerCommandError> {
        let view = self.applied.pools.get(pool);
        let matched =
            view.and_then(|view| view.servers.iter().find(|server| server.config.name == name));
        matched.map(|view| view.id).ok_or_else(|| ServerCommandError::Unknown {
            pool: pool.to_owned(),
            name: name.to_owned(),
            near: self.similar_names(pool),
        })
    }

    fn facts(
        &self,
        id: ServerId,
        pool: &str,
        name: &str,
    ) -> Result<Arc<ServerFacts>, ServerCommandError> {
        let facts = self.applied.servers.get(&id).map(|entry| Arc::clone(&entry.facts));
        facts.ok_or_else(|| ServerCommandError::Unknown {
            pool: pool.to_owned(),
            name: name.to_owned(),
            near: Vec::new(),
        })
    }

    /// The servers of a pool, or the pools when there is no such pool.
    fn similar_names(&self, pool: &str) -> Vec<String> {
        match self.applied.pools.get(pool) {
            Some(view) => {
                view.servers.iter().map(|server| format!("{pool}/{}", server.config.name)).collect()
            }
            None => self.applied.pools.keys().map(|name| format!("pool {name}")).collect(),
        }
    }
}
