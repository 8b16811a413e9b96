//! Settings that changes over the API may not set, unless the daemon's file allows it. They are programs, files of
//! secrets that are sent, the access log's file, who may send commands, and what the audit log records. A client that
//! can set one of them can run, send or write anything as the daemon's user, or hide it.

use std::collections::BTreeSet;

use model::config::CheckedConfig;
use model::config::privileged_settings::PrivilegedEffect;

use crate::state::change::ApplyError;

/// Settings that only a user with write access to the daemon's file may extend.
#[derive(Debug)]
pub(super) struct ApiPermissions {
    /// Whether the file allowed them when it was read last.
    allowed: bool,
    /// All values from files of this process, or from its start.
    known: BTreeSet<PrivilegedEffect>,
}

impl ApiPermissions {
    /// The permissions of the configuration at the start.
    pub fn new(checked: &CheckedConfig) -> ApiPermissions {
        let known = values(checked).collect();
        ApiPermissions { allowed: checked.config.global.control.allow_programs, known }
    }

    /// Adds the values of a file's text that was activated.
    pub fn allow_file(&mut self, checked: &CheckedConfig) {
        self.allowed = checked.config.global.control.allow_programs;
        self.known.extend(values(checked));
    }

    /// Whether a change over the API may be made.
    pub fn check(&self, checked: &CheckedConfig) -> Result<(), ApplyError> {
        let allowed = checked.config.global.control.allow_programs;
        if allowed != self.allowed {
            return Err(ApplyError::PermissionChanged { found: allowed, stays: self.allowed });
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
