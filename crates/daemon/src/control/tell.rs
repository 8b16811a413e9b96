//! What the daemon says about changes. It changes nothing.

use model::id::ServerId;

use super::force::{Force, needs_restart};
use super::picture::ServerFacts;
use crate::event::Events;
use crate::listeners::Listeners;
use crate::reconcile::act;
use crate::reconcile::book::Book;

/// A generation is in force.
pub(super) fn in_force(events: &Events, force: &Force, confirmed: bool) {
    let Force { generation, origin, config, .. } = force;
    let (services, pools) = (config.services.len(), config.pools.len());
    events.info(
        "applied",
        format!(
            "generation {generation} is in force: {services} services, {pools} pools; by {origin}"
        ),
    );
    for key in needs_restart(&force.first, config) {
        let text =
            format!("{key} takes effect in the next process: restart, or upgrade with SIGUSR2");
        events.warn("needs-restart", text);
    }
    if !confirmed {
        let text = format!(
            "generation {generation}: a worker had not confirmed within {:?}",
            act::CONFIRM
        );
        events.warn("not-confirmed", text);
    }
}

/// What is to be known of files of keys and certificates.
pub(super) fn certificates(events: &Events, warnings: &[String]) {
    for warning in warnings {
        events.warn("certificate", warning.clone());
    }
}

/// Inherited listeners that not every worker can accept on.
pub(super) fn fewer_sockets(events: &Events, book: &Book, listeners: &Listeners) {
    let workers = book.workers();
    for (address, listener) in &book.listeners {
        let sockets = listeners.open_at(*address);
        if sockets < workers {
            let service = &listener.service_name;
            let text = format!(
                "service.{service}: {address} came from a process with {sockets} workers: of {workers} workers only \
                 so many accept there until the next restart"
            );
            events.warn("fewer-sockets-than-workers", text);
        }
    }
}

/// A server's state changed, if it did.
pub(super) fn server_state(events: &Events, id: ServerId, old: &Book, new: &Book) {
    let (Some(old), Some(new)) = (old.servers.get(&id), new.servers.get(&id)) else { return };
    if old.facts.state != new.facts.state {
        let ServerFacts { pool_name, config, state, reason, .. } = &*new.facts;
        let (was, is) = (old.facts.state.name(), state.name());
        let text = format!("{pool_name}/{}: {was} → {is}: {reason}", config.name);
        events.info("server-state", text);
    }
}
