//! Carries a change out: everything that can fail first, then what cannot, in the order that loses no connection.
//!
//! Closing, snapshot, opening: a listener never has a service that the snapshot lacks. Nothing is decided here.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use l7::socket::{ListenError, OutgoingError};
use model::config::Config;
use model::id::ListenerId;
use model::snapshot::WorkerSnapshot;

use super::applied_state::AppliedState;
use super::listener_step::{self, ListenerStep};
use super::traffic_engine::TrafficEngine;
use crate::util::listeners::ListenerSet;

/// How long workers may take to confirm a snapshot before the change is reported as unconfirmed.
/// Workers take a snapshot between two events; one that has not after five seconds counts as hanging.
pub const CONFIRM_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between checks whether workers have installed a snapshot.
/// Bounds how much later than necessary a change is confirmed; a check reads one counter for each worker.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Between two attempts at an address that workers are about to close.
/// Workers close within `CLOSING_GRACE`, 200 ms.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// A change that was carried out.
#[derive(Debug)]
pub struct AppliedChange {
    pub state: AppliedState,
    /// The snapshot that workers use.
    pub snapshot: Arc<WorkerSnapshot>,
    pub confirmed: bool,
}

/// Why a change was not carried out. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// A listener could not be opened or changed.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A pool's connections could not be made as configured.
    #[error("pool.{pool}: {source}")]
    Pool {
        pool: String,
        #[source]
        source: OutgoingError,
    },
}

/// Carries out the change from `old` to `new`.
///
/// # Errors
/// A listener or a pool's setting cannot be had; nothing has changed then.
pub async fn apply_change(
    engine: &dyn TrafficEngine,
    listeners: &mut ListenerSet,
    old: &AppliedState,
    mut new: AppliedState,
    generation: u64,
) -> Result<AppliedChange, ReconcileError> {
    let steps = listener_step::listener_steps(old, &mut new);
    try_pool_outgoing(listeners, old, &new)?;
    let ready = prepare_with_retry(listeners, &steps, &new).await?;

    let snapshot = new.snapshot(generation);
    if let Some(config) = new.config.as_ref().filter(|config| frees_packet_address(&steps, config))
    {
        engine.forward_early(Arc::clone(&snapshot), Arc::clone(config)).await;
    }
    for step in &steps {
        match step {
            ListenerStep::Close { address, old } => {
                // The main process's socket is closed first: the workers' are then the last ones, and closing them
                // frees the address.
                listeners.release(*address);
                engine.unlisten(*old, true);
            }
            ListenerStep::Rebind { old, .. } => engine.unlisten(*old, false),
            ListenerStep::Open { .. }
            | ListenerStep::SetOptions { .. }
            | ListenerStep::Reopen { .. } => {}
        }
    }
    engine.install(Arc::clone(&snapshot));
    let confirmed = wait_installed(engine, snapshot.version).await;
    for (address, pair) in ready {
        install_state(engine, listeners, &new, address, pair);
    }
    for step in &steps {
        if let ListenerStep::Reopen { old, .. } = step {
            engine.unlisten(*old, true);
        }
    }
    listeners.close_unused();
    Ok(AppliedChange { state: new, snapshot, confirmed })
}

/// Whether a listener is closed whose address a service takes that forwards packets.
fn frees_packet_address(steps: &[ListenerStep], config: &Config) -> bool {
    let closed = steps.iter().filter(|step| matches!(step, ListenerStep::Close { .. }));
    let takes = |at: SocketAddr| {
        let services = config.services.values().filter_map(|service| service.packets.as_ref());
        let tcp = services.filter(|packets| packets.protocols.tcp);
        tcp.flat_map(|packets| &packets.listen).any(|span| span.contains(at))
    };
    closed.map(ListenerStep::address).any(takes)
}

/// Sockets for the workers.
enum PreparedListeners {
    New(Vec<Arc<OwnedFd>>),
    /// Duplicates of the sockets that are open.
    Same(Vec<Arc<OwnedFd>>),
}

/// Opens and alters everything, or nothing. An address that the change before gave up may come back with this one
/// (a rollback): it is waited for until the workers have closed it.
async fn prepare_with_retry(
    listeners: &mut ListenerSet,
    steps: &[ListenerStep],
    new: &AppliedState,
) -> Result<Vec<(SocketAddr, PreparedListeners)>, ListenError> {
    loop {
        let began = Instant::now();
        match prepare(listeners, steps, new) {
            Err(refused) if listeners.may_be_own_listener(&refused, began) => {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            done => return done,
        }
    }
}

/// Opens and alters everything, or nothing.
fn prepare(
    listeners: &mut ListenerSet,
    steps: &[ListenerStep],
    new: &AppliedState,
) -> Result<Vec<(SocketAddr, PreparedListeners)>, ListenError> {
    check_room(listeners, steps, new)?;
    let mut ready = Vec::new();
    let mut bound = Vec::new();
    let mut refused = Vec::new();
    for step in steps {
        let address = step.address();
        let Some(listener) = new.listeners.get(&address) else { continue };
        match step {
            ListenerStep::Open { .. } | ListenerStep::Reopen { .. } => {
                match listeners.open(address, &listener.options, listener.quic) {
                    Ok(sockets) => bound.push((address, sockets)),
                    Err(error) => refused.push(error),
                }
            }
            ListenerStep::Rebind { .. } => {
                ready.push((address, PreparedListeners::Same(listeners.duplicates(address)?)))
            }
            ListenerStep::SetOptions { .. } | ListenerStep::Close { .. } => {}
        }
    }
    // All addresses that fail are reported at once, so that an operator can free them together.
    let opened = refused.is_empty();
    for (address, sockets) in &bound {
        let Some(listener) = new.listeners.get(address) else { continue };
        if opened && let Err(error) = listeners.listen(*address, sockets, &listener.options) {
            refused.push(error);
        }
    }
    if let Some(refused) = ListenError::combine(refused) {
        return Err(refused);
    }
    for (address, sockets) in bound {
        ready.push((address, PreparedListeners::New(sockets)));
    }
    set_socket_options(listeners, steps, new)?;
    Ok(ready)
}

/// Whether there are descriptors for all sockets that must be opened.
fn check_room(
    listeners: &ListenerSet,
    steps: &[ListenerStep],
    new: &AppliedState,
) -> Result<(), ListenError> {
    let opened = steps.iter().filter(|step| {
        matches!(step, ListenerStep::Open { .. } | ListenerStep::Reopen { .. })
            && !listeners.is_inherited(step.address())
    });
    let all: Vec<_> = opened.filter_map(|step| new.listeners.get(&step.address())).collect();
    listeners.check_room(all.len(), all.iter().filter(|listener| listener.quic).count())
}

/// Changes settings of open sockets. If one fails, the earlier changes are reverted.
fn set_socket_options(
    listeners: &mut ListenerSet,
    steps: &[ListenerStep],
    new: &AppliedState,
) -> Result<(), ListenError> {
    let mut changed = Vec::new();
    for step in steps {
        let (address, before) = match step {
            ListenerStep::SetOptions { address, before } => (*address, before),
            ListenerStep::Rebind { address, before: Some(before), .. } => (*address, before),
            _ => continue,
        };
        let Some(listener) = new.listeners.get(&address) else { continue };
        if let Err(refused) = listeners.set_options(address, &listener.options, before) {
            for (address, before, after) in changed {
                // The error is already reported. A socket whose options cannot be restored stays with the new options.
                let _ = listeners.set_options(address, before, after);
            }
            return Err(refused);
        }
        changed.push((address, before, &listener.options));
    }
    Ok(())
}

/// Tries the settings of every pool whose own have changed. A source address that moves with a group may be elsewhere.
fn try_pool_outgoing(
    listeners: &mut ListenerSet,
    old: &AppliedState,
    new: &AppliedState,
) -> Result<(), ReconcileError> {
    let groups = new.config.iter().flat_map(|config| config.vrrp.values());
    let moving: Vec<IpAddr> =
        groups.flat_map(|group| group.floating_addresses().map(|(ip, _)| ip)).collect();
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
                .try_outgoing(source, &config.socket)
                .map_err(|source| ReconcileError::Pool { pool: name.clone(), source })?;
        }
    }
    Ok(())
}

fn install_state(
    engine: &dyn TrafficEngine,
    listeners: &mut ListenerSet,
    new: &AppliedState,
    address: SocketAddr,
    ready: PreparedListeners,
) {
    let Some(listener) = new.listeners.get(&address) else { return };
    let theirs = match ready {
        PreparedListeners::New(sockets) => {
            listeners.insert(address, sockets.clone());
            sockets
        }
        PreparedListeners::Same(sockets) => {
            listeners.replace_duplicates(address, sockets.clone());
            sockets
        }
    };
    engine.listen(listener.id, listener.service, theirs);
}

/// Waits, within `CONFIRM_TIMEOUT`, until every worker acts on a version.
pub async fn wait_installed(engine: &dyn TrafficEngine, version: u64) -> bool {
    let look = async {
        while engine.installed_version() < version {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(CONFIRM_TIMEOUT, look).await.is_ok()
}

/// Ids of all listeners, to stop them.
pub fn listener_ids(applied: &AppliedState) -> Vec<ListenerId> {
    applied.listeners.values().map(|listener| listener.id).collect()
}
