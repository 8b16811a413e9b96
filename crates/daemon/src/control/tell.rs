//! What the daemon says about changes. It changes nothing.

use model::snapshot::ServerState;

use super::force::{Force, needs_restart};
use super::picture::ServerFacts;
use crate::event::{Events, Level};
use crate::listeners::Listeners;
use crate::reconcile::act;
use crate::reconcile::book::{Book, Changed};
use crate::reconcile::server::{address_text, moment_text};

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

/// What is to be known of files at the start.
pub(super) fn files(events: &Events, warnings: &[String], doubts: &mut Vec<String>) {
    certificates(events, warnings);
    cookies(events, doubts);
}

/// What is to be known of files of keys and certificates.
pub(super) fn certificates(events: &Events, warnings: &[String]) {
    for warning in warnings {
        events.warn("certificate", warning.clone());
    }
}

/// What is to be known of the secret of cookies; it is told once.
pub(super) fn cookies(events: &Events, doubts: &mut Vec<String>) {
    for doubt in doubts.drain(..) {
        events.warn("sticky-secret", doubt);
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

/// A server's state changed, if it did; and with it its pool's, if that is so.
pub(super) fn server_state(events: &Events, changed: &Changed) {
    let Changed { old: old_facts, new: facts, takers: (before, left) } = changed;
    ejection(events, old_facts, facts);
    if old_facts.state == facts.state {
        return;
    }
    let ServerFacts { pool_name, config, state, reason, .. } = &**facts;
    let (was, is) = (old_facts.state.name(), state.name());
    let text = format!("{pool_name}/{}: {was} → {is}: {reason}", config.name);
    let (level, what) = match state {
        ServerState::Up => (Level::Info, "server-up"),
        ServerState::Down => (Level::Warning, "server-down"),
        ServerState::Unknown => (Level::Info, "server-unknown"),
        ServerState::Drain => (Level::Info, "server-drain"),
        ServerState::Disabled => (Level::Info, "server-disabled"),
    };
    let mut about = vec![
        ("pool", pool_name.clone()),
        ("server", config.name.clone()),
        ("address", address_text(&config.address)),
        ("was", was.to_owned()),
        ("state", is.to_owned()),
        ("reason", reason.clone()),
        ("left", left.to_string()),
    ];
    about.extend(evidence(facts));
    events.tell(level, what, text, &about);
    pool(events, pool_name, *before, *left);
}

/// A server was put out for what it answered, or came back.
fn ejection(events: &Events, old: &ServerFacts, new: &ServerFacts) {
    let name = format!("{}/{}", new.pool_name, new.config.name);
    let mut about = vec![
        ("pool", new.pool_name.clone()),
        ("server", new.config.name.clone()),
        ("address", address_text(&new.config.address)),
    ];
    match (&old.ejected, &new.ejected) {
        (None, Some(ejected)) => {
            let until = moment_text(ejected.until);
            about.extend([("reason", ejected.reason.clone()), ("until", until.clone())]);
            let text = format!("{name}: {}; it comes back at {until}", ejected.reason);
            events.tell(Level::Warning, "server-ejected", text, &about);
        }
        (Some(_), None) => {
            let text = format!("{name}: it is not put out any more: {}", new.reason);
            events.tell(Level::Info, "server-readmitted", text, &about);
        }
        _ => {}
    }
}

/// What a judgement rests on, where the state is the judgement's.
fn evidence(facts: &ServerFacts) -> Vec<(&'static str, String)> {
    let judged = matches!(facts.state, ServerState::Up | ServerState::Down | ServerState::Unknown);
    let Some(note) = facts
        .judged
        .note
        .as_ref()
        .filter(|_| judged && facts.agent.is_none() && facts.ejected.is_none())
    else {
        return Vec::new();
    };
    let mut about = vec![("saw", note.saw.clone()), ("in-a-row", note.in_a_row.to_string())];
    about.extend(note.probe.clone().map(|probe| ("probe", probe)));
    about.extend(note.took.map(|took| ("took-us", took.as_micros().to_string())));
    about
}

/// Pools that a change left without a server that takes work, or gave one back.
pub(super) fn pools(events: &Events, old: &Book, new: &Book) {
    for name in new.pools.keys().filter(|name| old.pools.contains_key(*name)) {
        pool(events, name, takers(old, name), takers(new, name));
    }
}

fn pool(events: &Events, name: &str, before: usize, after: usize) {
    let about = [("pool", name.to_owned()), ("left", after.to_string())];
    if before > 0 && after == 0 {
        let text = format!("{name}: no server takes work any more");
        events.tell(Level::Warning, "pool-empty", text, &about);
    }
    if before == 0 && after > 0 {
        events.tell(Level::Info, "pool-back", format!("{name}: a server takes work again"), &about);
    }
}

/// Servers of a pool that take work, or would if none were up.
fn takers(book: &Book, pool: &str) -> usize {
    let servers = book.pools.get(pool).map_or(&[][..], |view| &view.servers);
    servers.iter().filter(|it| it.takes()).count()
}
