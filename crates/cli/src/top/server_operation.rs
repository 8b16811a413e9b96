//! A command to a server, and its result, in words. Pure; `event_loop` sends it.

use api::types::{ServerAction, ServerChanged};

use crate::show::unit::count;

/// A command to one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOperation {
    pub pool: String,
    pub server: String,
    pub action: ServerAction,
}

impl ServerOperation {
    /// As text: `drain web/a`.
    pub fn describe(&self) -> String {
        let verb = match self.action {
            ServerAction::Drain => "drain",
            ServerAction::Enable => "enable",
            _ => "disable",
        };
        format!("{verb} {}/{}", self.pool, self.server)
    }
}

/// The result for the selected server.
pub fn describe_change(changed: &ServerChanged) -> String {
    let each = changed.servers.iter().map(|one| {
        let before = if one.changed { "" } else { " as before" };
        let left = count(u64::from(one.in_flight));
        format!("{}/{} is {}{before}, {left} in flight", one.pool, one.server, one.state.name())
    });
    let mut text = each.collect::<Vec<_>>().join("; ");
    if let Some(file) = &changed.saved {
        text.push_str(&format!("; written to {file}"));
    }
    text
}
