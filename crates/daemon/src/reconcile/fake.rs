//! Stand-ins for tests: an engine and a kernel that record what they are asked, and refuse what they are told to.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;
use l7::socket::{Claim, ListenError, OutgoingError};
use model::config::{Config, SocketOptions};
use model::id::{ListenerId, ServerId, ServiceId};
use model::snapshot::Snapshot;

use super::engine::Engine;
use crate::listeners::{Listeners, NoKeeper, Sockets};

/// What was asked, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Bind so many sockets.
    Bind(SocketAddr, usize, Claim),
    /// Make one listen.
    Listen(SocketAddr),
    /// Set one anew.
    Alter,
    /// Try a pool's settings.
    Rehearse,
    /// Forward packets as this version says.
    Ahead(u64),
    /// Install this version.
    Install(u64),
    /// Accept on so many sockets.
    Accept(ListenerId, ServiceId, usize),
    /// Stop accepting.
    Stop(ListenerId, bool),
    /// Cut a server's connections.
    Cut(ServerId),
    /// Drain.
    Drain(Duration),
}

/// Records; shared by the engine and the kernel so that the order over both is seen.
#[derive(Clone, Default)]
pub struct Fake {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    asked: Mutex<Vec<Asked>>,
    taken: Mutex<BTreeMap<SocketAddr, u32>>,
    refuse_alter: AtomicU64,
    snapshot: Mutex<Option<Arc<Snapshot>>>,
    installed: AtomicU64,
}

impl Fake {
    /// Listeners over this kernel.
    pub fn listeners(&self, workers: usize) -> Listeners {
        Listeners::new(Box::new(self.clone()), Box::new(NoKeeper), workers)
    }

    /// What was asked since the last call.
    pub fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked())
    }

    /// From now on somebody else listens there.
    pub fn occupy(&self, address: SocketAddr) {
        self.occupy_for(address, u32::MAX);
    }

    /// The same for so many attempts.
    pub fn occupy_for(&self, address: SocketAddr, attempts: u32) {
        self.inner.taken.lock().unwrap().insert(address, attempts);
    }

    /// The n-th alteration from now (1 is the next) is refused.
    pub fn refuse_alter(&self, nth: u64) {
        self.inner.refuse_alter.store(nth, Ordering::Relaxed);
    }

    /// The snapshot in force.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.inner.snapshot.lock().unwrap().clone()
    }

    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.inner.asked.lock().unwrap()
    }

    fn ask(&self, what: Asked) {
        self.asked().push(what);
    }
}

impl Engine for Fake {
    fn ahead(&self, snapshot: Arc<Snapshot>, _: Arc<Config>) -> BoxFuture<'static, ()> {
        self.ask(Asked::Ahead(snapshot.version));
        Box::pin(std::future::ready(()))
    }
    fn install(&self, snapshot: Arc<Snapshot>) {
        self.ask(Asked::Install(snapshot.version));
        self.inner.installed.store(snapshot.version, Ordering::Relaxed);
        *self.inner.snapshot.lock().unwrap() = Some(snapshot);
    }
    fn installed(&self) -> u64 {
        self.inner.installed.load(Ordering::Relaxed)
    }
    fn listen(&self, id: ListenerId, service: ServiceId, sockets: Vec<OwnedFd>) {
        let known = self.snapshot().is_some_and(|it| it.services.contains_key(&service));
        assert!(known, "a listener's service must be in the snapshot before");
        self.ask(Asked::Accept(id, service, sockets.len()));
    }
    fn unlisten(&self, id: ListenerId, accept_rest: bool) {
        self.ask(Asked::Stop(id, accept_rest));
    }
    fn cut(&self, server: ServerId) {
        self.ask(Asked::Cut(server));
    }
    fn drain(&self, limit: Duration) {
        self.ask(Asked::Drain(limit));
    }
}

impl Sockets for Fake {
    fn bind(
        &mut self,
        address: SocketAddr,
        _options: &SocketOptions,
        count: usize,
        claim: Claim,
    ) -> Result<Vec<OwnedFd>, ListenError> {
        let mut taken = self.inner.taken.lock().unwrap();
        let left = taken.get(&address).copied().unwrap_or(0);
        if left > 0 {
            taken.insert(address, left - 1);
            return Err(ListenError::Taken { address, holders: Vec::new() });
        }
        self.ask(Asked::Bind(address, count, claim));
        Ok((0..count).map(|_| std::fs::File::open("/dev/null").unwrap().into()).collect())
    }
    fn packets(
        &mut self,
        _address: SocketAddr,
        _options: &SocketOptions,
        _count: usize,
        _claim: Claim,
        _beside: &[OwnedFd],
    ) -> Result<Vec<OwnedFd>, ListenError> {
        Ok(Vec::new())
    }
    fn listen(
        &mut self,
        _socket: BorrowedFd<'_>,
        address: SocketAddr,
        _options: &SocketOptions,
    ) -> Result<(), ListenError> {
        self.ask(Asked::Listen(address));
        Ok(())
    }
    fn alter(
        &mut self,
        _socket: BorrowedFd<'_>,
        _options: &SocketOptions,
    ) -> Result<(), ListenError> {
        self.ask(Asked::Alter);
        let left = self.inner.refuse_alter.load(Ordering::Relaxed);
        self.inner.refuse_alter.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 1 { Err(ListenError::NotListening) } else { Ok(()) }
    }
    fn rehearse(
        &mut self,
        _source: Option<IpAddr>,
        _options: &SocketOptions,
    ) -> Result<(), OutgoingError> {
        self.ask(Asked::Rehearse);
        Ok(())
    }
}
