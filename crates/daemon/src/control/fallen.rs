//! What becomes of the connections of a server that has gone down: they stay, or are cut where its probe says so.
//!
//! Which servers are down, verdicts say; whoever cuts the connections is `l7`.

use model::config::OnDown;
use model::id::ServerId;
use model::snapshot::ServerState;

use super::handle::Order;
use super::picture::Judgement;
use crate::event::Events;
use crate::reconcile::book::Book;
use crate::reconcile::engine::Engine;

/// The server that an order takes down, if it does.
pub(super) fn falls(order: &Order) -> Option<ServerId> {
    match order {
        Order::Verdict(verdict) if verdict.health == Judgement::Down => Some(verdict.server),
        _ => None,
    }
}

/// Cuts the connections of those that were not down before and are now; workers know already that they are.
pub(super) fn cut(
    engine: &dyn Engine,
    events: &Events,
    fallen: &[ServerId],
    (before, after): (&Book, &Book),
) {
    for id in fallen {
        let Some(entry) = after.servers.get(id) else { continue };
        let was = before.servers.get(id).map(|entry| entry.facts.state);
        let facts = &entry.facts;
        let cuts = facts.config.probe.as_ref().is_some_and(|it| it.on_down == OnDown::Cut);
        if cuts && facts.state == ServerState::Down && was != Some(ServerState::Down) {
            entry.live.cuts.up();
            engine.cut(*id);
            let name = format!("{}/{}", facts.pool_name, facts.config.name);
            let text = format!("{name}: it is down: its connections are cut, as its probe says");
            events.info("server-cut", text);
        }
    }
}
