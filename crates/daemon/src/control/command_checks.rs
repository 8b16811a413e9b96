//! What is refused of a server command before anything changes.

use std::time::{Duration, SystemTime};

use api::types::AuditRecord;
use model::config::ServerAddress;
use model::snapshot::{PoolView, ServerView};

use super::actor::ControlActor;
use crate::control::audit::AuditEntry;
use crate::state::server_command::{OperatorCommand, ServerCommandError, ServerCommandRequest};
use crate::state::server_text::format_address;

/// How long a quiesce may be, and how far ahead a window may lie.
const FAR: Duration = Duration::from_secs(366 * 86_400);
/// Characters of a reason.
const REASON: usize = 200;

impl ControlActor {
    /// Refuses an order that names the first one of a command of somebody else, or of another kind: an undo would take
    /// back more than its author knows of.
    pub(super) fn check_part(
        &self,
        first: u64,
        order: &ServerCommandRequest,
    ) -> Result<(), ServerCommandError> {
        let same = |entry: &AuditEntry| {
            let AuditRecord { who, action, part_of, undoes, .. } = &entry.record;
            let kind = action.split(' ').next() == Some(order.command.name());
            kind && *who == order.origin.who && part_of.is_none() && undoes.is_none()
        };
        match self.audit.find(first).is_some_and(same) {
            true => Ok(()),
            false => Err(ServerCommandError::Invalid(format!(
                "record {first} does not begin a command `{}` of the same user and process",
                order.command.name()
            ))),
        }
    }
}

/// A kebab-case name, as the configuration takes it.
pub(super) fn is_plain_name(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    };
    name.len() <= 255 && name.split('-').all(part)
}

/// Whether an order can be meant.
pub(super) fn validate_command(command: &OperatorCommand, now: SystemTime) -> Result<(), String> {
    match command {
        OperatorCommand::Quiesce(limit) if limit.is_zero() || *limit > FAR => {
            Err("a quiesce lasts more than 0 and at most 366 days".to_owned())
        }
        OperatorCommand::Maintain { from, until, reason } => {
            let begins = from.unwrap_or(now);
            let far = |at: &SystemTime| *at > now + FAR;
            if until.is_some_and(|until| until <= begins || until <= now) {
                return Err("the window ends before it begins, or has passed".to_owned());
            }
            if far(&begins) || until.as_ref().is_some_and(far) {
                return Err("a window lies at most 366 days ahead".to_owned());
            }
            if reason.chars().count() > REASON || reason.chars().any(char::is_control) {
                return Err(format!("a reason has at most {REASON} characters, on one line"));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether a pool may have one more server with this name and address. Names and addresses in the overlay are unique.
pub(super) fn check_unique(
    view: &PoolView,
    name: &str,
    at: &ServerAddress,
) -> Result<(), ServerCommandError> {
    for ServerView { config: other, .. } in &view.servers {
        if other.name == name || other.address == *at {
            return Err(ServerCommandError::Exists {
                pool: view.config.name.clone(),
                name: other.name.clone(),
                address: format_address(&other.address),
            });
        }
        if other.cookie_value() == name {
            let other = &other.name;
            return Err(ServerCommandError::Invalid(format!(
                "cookies name server `{other}` by '{name}': choose another name"
            )));
        }
    }
    Ok(())
}
