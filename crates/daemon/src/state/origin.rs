//! The origin of a change: who sent it, and through which interface. It grants nothing: the API's socket mode does.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who made a change, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ChangeOrigin {
    /// A user name or number, or a part of the daemon.
    pub who: String,
    pub way: ChangeTrigger,
}

/// The trigger of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeTrigger {
    /// The file, read at start.
    Start,
    /// The file, reloaded on SIGHUP.
    Reload,
    Api,
    /// A rollback to an older generation.
    Rollback,
    /// A schedule, or a limit that was set.
    Clock,
    /// A source of servers.
    Source,
}

impl ChangeTrigger {
    pub const fn name(self) -> &'static str {
        match self {
            ChangeTrigger::Start => "start",
            ChangeTrigger::Reload => "reload",
            ChangeTrigger::Api => "api",
            ChangeTrigger::Rollback => "rollback",
            ChangeTrigger::Clock => "clock",
            ChangeTrigger::Source => "source",
        }
    }
}

impl ChangeOrigin {
    /// With `who` as given.
    pub fn new(who: impl Into<String>, way: ChangeTrigger) -> ChangeOrigin {
        ChangeOrigin { who: who.into(), way }
    }
}

impl fmt::Display for ChangeOrigin {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} ({})", self.who, self.way.name())
    }
}
