//! A client that waits for admission while workers are asked to evict an idle connection.

use std::rc::Rc;

use crate::rt::NetDriver;
use crate::worker::Worker;

/// A client that waits for admission; counted until it is dropped.
pub(super) struct PendingClient<N: NetDriver> {
    worker: Rc<Worker<N>>,
    /// The client is counted among those for which other workers may evict a connection.
    asks_eviction: bool,
}

impl<N: NetDriver> PendingClient<N> {
    pub(super) fn new(worker: &Rc<Worker<N>>) -> PendingClient<N> {
        worker.pending_clients.set(worker.pending_clients.get() + 1);
        worker.eviction_requests.waiting.increment();
        let mut waiting = PendingClient { worker: worker.clone(), asks_eviction: false };
        waiting.request_eviction();
        waiting
    }

    /// Called after another failed admission: asks other workers for an eviction if this worker found no connection to
    /// evict.
    pub(super) fn request_eviction(&mut self) {
        let wants = self.worker.admission.found_no_victim();
        match (self.asks_eviction, wants) {
            (false, true) => _ = self.worker.eviction_requests.without_victim.increment(),
            (true, false) => self.worker.eviction_requests.without_victim.decrement(),
            _ => {}
        }
        self.asks_eviction = wants;
    }
}

impl<N: NetDriver> Drop for PendingClient<N> {
    fn drop(&mut self) {
        if self.asks_eviction {
            self.worker.eviction_requests.without_victim.decrement();
        }
        self.worker.eviction_requests.waiting.decrement();
        self.worker.pending_clients.set(self.worker.pending_clients.get() - 1);
    }
}
