//! What changes over the API may not set: programs, files of secrets that are sent, the access log's file, who may order and
//! what is recorded of it, unless the daemon's file allows it. Whoever can set one has the daemon's user run, send or write
//! anything, or takes away what says so.
//!
//! Which values these are is `model::config::reach`'s.

use std::collections::BTreeSet;

use model::config::Checked;
use model::config::reach::Reach;

use super::order::ApplyError;

/// What somebody set who could write the daemon's file.
#[derive(Debug)]
pub(super) struct Reached {
    /// As the file said when it was read last.
    allowed: bool,
    /// All values that came with a file of this process, or with what it began with.
    known: BTreeSet<Reach>,
}

impl Reached {
    /// Of what the process begins with.
    pub fn first(checked: &Checked) -> Reached {
        let known = values(checked).collect();
        Reached { allowed: checked.config.global.control.allow_programs, known }
    }

    /// A text of the file was put in force.
    pub fn read(&mut self, checked: &Checked) {
        self.allowed = checked.config.global.control.allow_programs;
        self.known.extend(values(checked));
    }

    /// Whether a change over the API may be made.
    pub fn judge(&self, checked: &Checked) -> Result<(), ApplyError> {
        let found = checked.config.global.control.allow_programs;
        if found != self.allowed {
            return Err(ApplyError::Allowed { found, stays: self.allowed });
        }
        match checked.config.reaches_further(&self.known).filter(|_| !self.allowed) {
            None => Ok(()),
            Some(written) => {
                let reach = format!("{} {}", written.reach.does, written.reach.what);
                Err(ApplyError::Beyond { key: written.key, reach })
            }
        }
    }
}

fn values(checked: &Checked) -> impl Iterator<Item = Reach> {
    checked.config.reaches().into_iter().map(|written| written.reach)
}
