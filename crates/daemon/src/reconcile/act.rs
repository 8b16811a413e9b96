//! Carries a change out: everything that can fail first, then what cannot, in the order that loses no connection.
//!
//! Closing, snapshot, opening: a listener never has a service that the snapshot lacks. Nothing is decided here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use l7::socket::{ListenError, OutgoingError};
use model::config::Config;
use model::id::ListenerId;
use model::snapshot::Snapshot;

use super::book::Book;
use super::engine::Engine;
use super::step::{self, Step};
use crate::listeners::{Listeners, Pair};

/// How long workers may take to confirm a snapshot before the change is reported as unconfirmed.
pub const CONFIRM: Duration = Duration::from_secs(5);
/// Between two looks at what they have confirmed.
const LOOK: Duration = Duration::from_millis(1);
/// Between two attempts at an address that workers are about to close.
const AGAIN: Duration = Duration::from_millis(20);

/// A change that was carried out.
#[derive(Debug)]
pub struct Done {
    /// The state now in force.
    pub book: Book,
    /// What the workers act on.
    pub snapshot: Arc<Snapshot>,
    /// They all do.
    pub confirmed: bool,
}

/// Why a change was not carried out. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// A listener could not be opened or changed.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A pool's connections could not be made as configured.
    #[error("pool.{pool}: {source}")]
    Pool {
        /// The pool's name.
        pool: String,
        /// Why.
        #[source]
        source: OutgoingError,
    },
}

/// Carries out the change from `old` to `new`.
///
/// # Errors
/// A listener or a pool's setting cannot be had; nothing has changed then.
pub async fn carry_out(
    engine: &dyn Engine,
    listeners: &mut Listeners,
    old: &Book,
    mut new: Book,
    generation: u64,
) -> Result<Done, ActError> {
    let steps = step::steps(old, &mut new);
    rehearse(listeners, old, &new)?;
    let ready = prepared(listeners, &steps, &new).await?;

    let snapshot = new.snapshot(generation);
    if let Some(config) = new.config.as_ref().filter(|config| gives_way(&steps, config)) {
        engine.ahead(Arc::clone(&snapshot), Arc::clone(config)).await;
    }
    for step in &steps {
        match step {
            Step::Close { address, old } => {
                // Ours first: the workers' are then the last, and closing them closes the address.
                listeners.release(*address);
                engine.unlisten(*old, true);
            }
            Step::Rebind { old, .. } => engine.unlisten(*old, false),
            Step::Open { .. } | Step::Alter { .. } | Step::Reopen { .. } => {}
        }
    }
    engine.install(Arc::clone(&snapshot));
    let confirmed = installed(engine, snapshot.version).await;
    for (address, pair) in ready {
        hand_over(engine, listeners, &new, address, pair);
    }
    for step in &steps {
        if let Step::Reopen { old, .. } = step {
            engine.unlisten(*old, true);
        }
    }
    listeners.close_unwanted();
    Ok(Done { book: new, snapshot, confirmed })
}

/// Whether a listener is closed whose address a service takes that forwards packets.
fn gives_way(steps: &[Step], config: &Config) -> bool {
    let closed = steps.iter().filter(|step| matches!(step, Step::Close { .. }));
    let takes = |at: SocketAddr| {
        let services = config.services.values().filter_map(|service| service.packets.as_ref());
        let tcp = services.filter(|packets| packets.protocols.tcp);
        tcp.flat_map(|packets| &packets.listen).any(|span| span.holds(at))
    };
    closed.map(Step::address).any(takes)
}

/// Sockets for the workers; with those that `Listeners` is to hold from now on, if they are new.
enum Ready {
    New(Pair),
    Same(Vec<std::os::fd::OwnedFd>),
}

/// Opens and alters everything, or nothing. An address that the change before gave up may come back with this one
/// (a rollback): it is waited for until the workers have closed it.
async fn prepared(
    listeners: &mut Listeners,
    steps: &[Step],
    new: &Book,
) -> Result<Vec<(SocketAddr, Ready)>, ListenError> {
    loop {
        let began = Instant::now();
        match prepare(listeners, steps, new) {
            Err(refused) if listeners.was_closing(&refused, began) => {
                tokio::time::sleep(AGAIN).await;
            }
            done => return done,
        }
    }
}

/// Opens and alters everything, or nothing.
fn prepare(
    listeners: &mut Listeners,
    steps: &[Step],
    new: &Book,
) -> Result<Vec<(SocketAddr, Ready)>, ListenError> {
    let mut ready = Vec::new();
    let (mut bound, mut refused) = (Vec::new(), Vec::new());
    for step in steps {
        let address = step.address();
        let Some(listener) = new.listeners.get(&address) else { continue };
        match step {
            Step::Open { .. } | Step::Reopen { .. } => {
                match listeners.open(address, &listener.options, listener.quic) {
                    Ok(sockets) => bound.push((address, sockets)),
                    Err(error) => refused.push(error),
                }
            }
            Step::Rebind { .. } => {
                ready.push((address, Ready::Same(listeners.duplicates(address)?)))
            }
            Step::Alter { .. } | Step::Close { .. } => {}
        }
    }
    // Whoever has to give addresses up, or to wait for them, hears of all at once.
    let opened = refused.is_empty();
    for (address, sockets) in &bound {
        let Some(listener) = new.listeners.get(address) else { continue };
        if opened && let Err(error) = listeners.listen(*address, sockets, &listener.options) {
            refused.push(error);
        }
    }
    if let Some(refused) = ListenError::all(refused) {
        return Err(refused);
    }
    for (address, sockets) in bound {
        ready.push((address, Ready::New(listeners.pair(address, sockets)?)));
    }
    alter(listeners, steps, new)?;
    Ok(ready)
}

/// Changes settings of open sockets; when one is refused those changed before are changed back.
fn alter(listeners: &mut Listeners, steps: &[Step], new: &Book) -> Result<(), ListenError> {
    let mut changed = Vec::new();
    for step in steps {
        let (address, before) = match step {
            Step::Alter { address, before } => (*address, before),
            Step::Rebind { address, before: Some(before), .. } => (*address, before),
            _ => continue,
        };
        let Some(listener) = new.listeners.get(&address) else { continue };
        if let Err(refused) = listeners.alter(address, &listener.options, before) {
            for (address, before, after) in changed {
                let _ = listeners.alter(address, before, after);
            }
            return Err(refused);
        }
        changed.push((address, before, &listener.options));
    }
    Ok(())
}

/// Tries the settings of every pool whose own have changed. A source address that moves with a group may be elsewhere.
fn rehearse(listeners: &mut Listeners, old: &Book, new: &Book) -> Result<(), ActError> {
    let groups = new.config.iter().flat_map(|config| config.vrrp.values());
    let moving: Vec<IpAddr> = groups.flat_map(|group| group.moves().map(|(ip, _)| ip)).collect();
    for (name, pool) in &new.pools {
        let config = &pool.config;
        let before = old.pools.get(name).map(|view| &view.config);
        if before.is_some_and(|b| b.socket == config.socket && b.source == config.source) {
            continue;
        }
        let here = config.source.iter().copied().filter(|ip| !moving.contains(ip));
        let mut sources: Vec<_> = here.map(Some).collect();
        if sources.is_empty() {
            sources.push(None);
        }
        for source in sources {
            listeners
                .rehearse(source, &config.socket)
                .map_err(|source| ActError::Pool { pool: name.clone(), source })?;
        }
    }
    Ok(())
}

fn hand_over(
    engine: &dyn Engine,
    listeners: &mut Listeners,
    new: &Book,
    address: SocketAddr,
    ready: Ready,
) {
    let Some(listener) = new.listeners.get(&address) else { return };
    let theirs = match ready {
        Ready::New(Pair { ours, theirs }) => {
            listeners.hold(address, ours);
            theirs
        }
        Ready::Same(theirs) => theirs,
    };
    engine.listen(listener.id, listener.service, theirs);
}

/// Waits, within `CONFIRM`, until every worker acts on a version.
pub async fn installed(engine: &dyn Engine, version: u64) -> bool {
    let look = async {
        while engine.installed() < version {
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::time::timeout(CONFIRM, look).await.is_ok()
}

/// Ids of all listeners, to stop them.
pub fn listener_ids(book: &Book) -> Vec<ListenerId> {
    book.listeners.values().map(|listener| listener.id).collect()
}
