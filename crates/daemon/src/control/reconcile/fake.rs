//! Fakes for tests: an engine and a kernel that record their calls, and fail those that the test names.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;
use l7::socket::{AddressClaim, ListenError, OutgoingError};
use model::config::{Config, SocketOptions};
use model::id::{ListenerId, ServerId, ServiceId};
use model::snapshot::WorkerSnapshot;

use super::traffic_engine::TrafficEngine;
use crate::util::listeners::{DescriptorUse, ListenerSet, NoSocketStore, SocketOps};

/// Calls in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedCall {
    /// Bind this many sockets.
    Bind(SocketAddr, usize, AddressClaim),
    Listen(SocketAddr),
    SetOptions,
    /// Try a pool's settings.
    TryOutgoing,
    /// Forward packets as of this version.
    ForwardEarly(u64),
    Install(u64),
    /// Accept on this many sockets.
    Accept(ListenerId, ServiceId, usize),
    Stop(ListenerId, bool),
    /// Cut a server's connections.
    ResetServer(ServerId),
    Drain(Duration),
}

/// Records; shared by the engine and the kernel so that the order over both is seen.
#[derive(Clone, Default)]
pub struct FakeEngine {
    inner: Arc<FakeEngineState>,
}

#[derive(Default)]
struct FakeEngineState {
    calls: Mutex<Vec<RecordedCall>>,
    occupied: Mutex<BTreeMap<SocketAddr, u32>>,
    refuse_alter: AtomicU64,
    descriptors: Mutex<Option<DescriptorUse>>,
    snapshot: Mutex<Option<Arc<WorkerSnapshot>>>,
    installed: AtomicU64,
}

impl FakeEngine {
    /// Listeners over this kernel.
    pub fn listeners(&self, workers: usize) -> ListenerSet {
        ListenerSet::new(Box::new(self.clone()), Box::new(NoSocketStore), workers)
    }

    /// The calls since the last time.
    pub fn take_calls(&self) -> Vec<RecordedCall> {
        std::mem::take(&mut *self.lock_calls())
    }

    /// Another process listens on this address from now on.
    pub fn occupy_address(&self, address: SocketAddr) {
        self.occupy_address_for(address, u32::MAX);
    }

    /// The same for this many attempts.
    pub fn occupy_address_for(&self, address: SocketAddr, attempts: u32) {
        self.inner.occupied.lock().unwrap().insert(address, attempts);
    }

    /// The n-th alteration from now (1 is the next) is refused.
    pub fn refuse_nth_alter(&self, nth: u64) {
        self.inner.refuse_alter.store(nth, Ordering::Relaxed);
    }

    /// The process has so many descriptors from now on.
    pub fn set_descriptors(&self, descriptors: DescriptorUse) {
        *self.inner.descriptors.lock().unwrap() = Some(descriptors);
    }

    pub fn snapshot(&self) -> Option<Arc<WorkerSnapshot>> {
        self.inner.snapshot.lock().unwrap().clone()
    }

    fn lock_calls(&self) -> MutexGuard<'_, Vec<RecordedCall>> {
        self.inner.calls.lock().unwrap()
    }

    fn record_call(&self, call: RecordedCall) {
        self.lock_calls().push(call);
    }
}

impl TrafficEngine for FakeEngine {
    fn forward_early(
        &self,
        snapshot: Arc<WorkerSnapshot>,
        _: Arc<Config>,
    ) -> BoxFuture<'static, ()> {
        self.record_call(RecordedCall::ForwardEarly(snapshot.version));
        Box::pin(std::future::ready(()))
    }
    fn install(&self, snapshot: Arc<WorkerSnapshot>) {
        self.record_call(RecordedCall::Install(snapshot.version));
        self.inner.installed.store(snapshot.version, Ordering::Relaxed);
        *self.inner.snapshot.lock().unwrap() = Some(snapshot);
    }
    fn installed_version(&self) -> u64 {
        self.inner.installed.load(Ordering::Relaxed)
    }
    fn listen(&self, id: ListenerId, service: ServiceId, sockets: Vec<Arc<OwnedFd>>) {
        let known =
            self.snapshot().is_some_and(|snapshot| snapshot.services.contains_key(&service));
        assert!(known, "a listener's service must be in the snapshot before");
        self.record_call(RecordedCall::Accept(id, service, sockets.len()));
    }
    fn unlisten(&self, id: ListenerId, accept_rest: bool) {
        self.record_call(RecordedCall::Stop(id, accept_rest));
    }
    fn reset_server_connections(&self, server: ServerId) {
        self.record_call(RecordedCall::ResetServer(server));
    }
    fn drain(&self, limit: Duration) {
        self.record_call(RecordedCall::Drain(limit));
    }
}

impl SocketOps for FakeEngine {
    fn bind(
        &mut self,
        address: SocketAddr,
        _options: &SocketOptions,
        count: usize,
        claim: AddressClaim,
    ) -> Result<Vec<OwnedFd>, ListenError> {
        let mut occupied = self.inner.occupied.lock().unwrap();
        let left = occupied.get(&address).copied().unwrap_or(0);
        if left > 0 {
            occupied.insert(address, left - 1);
            return Err(ListenError::Taken { address, holders: Vec::new() });
        }
        self.record_call(RecordedCall::Bind(address, count, claim));
        Ok((0..count).map(|_| std::fs::File::open("/dev/null").unwrap().into()).collect())
    }
    fn bind_udp(
        &mut self,
        _address: SocketAddr,
        _options: &SocketOptions,
        _count: usize,
        _claim: AddressClaim,
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
        self.record_call(RecordedCall::Listen(address));
        Ok(())
    }
    fn set_options(
        &mut self,
        _socket: BorrowedFd<'_>,
        _options: &SocketOptions,
    ) -> Result<(), ListenError> {
        self.record_call(RecordedCall::SetOptions);
        let left = self.inner.refuse_alter.load(Ordering::Relaxed);
        self.inner.refuse_alter.store(left.saturating_sub(1), Ordering::Relaxed);
        if left == 1 { Err(ListenError::NotListening) } else { Ok(()) }
    }
    fn try_outgoing(
        &mut self,
        _source: Option<IpAddr>,
        _options: &SocketOptions,
    ) -> Result<(), OutgoingError> {
        self.record_call(RecordedCall::TryOutgoing);
        Ok(())
    }

    fn descriptors(&self) -> Option<DescriptorUse> {
        *self.inner.descriptors.lock().unwrap()
    }
}
