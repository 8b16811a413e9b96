//! The connections of a server that became down: they stay, or are reset if the server's health check requires it. `l7`
//! resets them.

use model::config::DownAction;
use model::id::ServerId;
use model::snapshot::ServerState;

use crate::control::reconcile::applied_state::AppliedState;
use crate::control::reconcile::traffic_engine::TrafficEngine;
use crate::state::handle::ControlCommand;
use crate::state::state_snapshot::HealthState;
use crate::util::event::EventLog;

/// The server that an order takes down, if it does.
pub(super) fn server_taken_down(order: &ControlCommand) -> Option<ServerId> {
    match order {
        ControlCommand::HealthReport(verdict) if verdict.health == HealthState::Down => {
            Some(verdict.server)
        }
        _ => None,
    }
}

/// Resets connections of servers that just became down. Workers have the new state by now.
pub(super) fn reset_connections(
    engine: &dyn TrafficEngine,
    events: &EventLog,
    fallen: &[ServerId],
    before: &AppliedState,
    after: &AppliedState,
) {
    for id in fallen {
        let Some(entry) = after.servers.get(id) else { continue };
        let was = before.servers.get(id).map(|entry| entry.facts.state);
        let facts = &entry.facts;
        let cuts =
            facts.config.probe.as_ref().is_some_and(|probe| probe.on_down == DownAction::Cut);
        if cuts && facts.state == ServerState::Down && was != Some(ServerState::Down) {
            entry.live.abort_generation.increment();
            engine.reset_server_connections(*id);
            let name = format!("{}/{}", facts.pool_name, facts.config.name);
            let text = format!("{name}: it is down: its connections are cut, as its probe says");
            events.info("server-cut", text);
        }
    }
}
