//! What changes over the API may not set, unless the daemon's file allows it: programs, files of secrets that are sent,
//! the access log's file, who may send commands and what the audit log records. Whoever can set one can run, send or
//! write anything as the daemon's user, or hide it.

use std::collections::BTreeSet;

use model::config::CheckedConfig;
use model::config::privileged_settings::PrivilegedEffect;

use crate::state::change::ApplyError;

/// What somebody set who could write the daemon's file.
#[derive(Debug)]
pub(super) struct ApiPermissions {
    /// As the file said when it was read last.
    allowed: bool,
    /// All values that came with a file of this process, or with what it began with.
    known: BTreeSet<PrivilegedEffect>,
}

impl ApiPermissions {
    /// Of what the process begins with.
    pub fn new(checked: &CheckedConfig) -> ApiPermissions {
        let known = values(checked).collect();
        ApiPermissions { allowed: checked.config.global.control.allow_programs, known }
    }

    /// A text of the file was put in force.
    pub fn allow_file(&mut self, checked: &CheckedConfig) {
        self.allowed = checked.config.global.control.allow_programs;
        self.known.extend(values(checked));
    }

    /// Whether a change over the API may be made.
    pub fn check(&self, checked: &CheckedConfig) -> Result<(), ApplyError> {
        let found = checked.config.global.control.allow_programs;
        if found != self.allowed {
            return Err(ApplyError::PermissionChanged { found, stays: self.allowed });
        }
        match checked.config.first_new_privileged_setting(&self.known).filter(|_| !self.allowed) {
            None => Ok(()),
            Some(written) => {
                let reach = format!("{} {}", written.effect.action, written.effect.subject);
                Err(ApplyError::NotPermitted { key: written.key, reach })
            }
        }
    }
}

fn values(checked: &CheckedConfig) -> impl Iterator<Item = PrivilegedEffect> {
    checked.config.privileged_settings().into_iter().map(|written| written.effect)
}
