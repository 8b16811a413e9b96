//! Sends copies of requests to a mirror pool; the responses are read and dropped.
//!
//! Each copy is sent by its own task on its own connection, so that the client never waits for a copy. The number of
//! copies in flight is limited per worker. Copies above the limit are dropped, and so are requests whose body did not
//! arrive with their head.

use std::cell::Cell;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;
use model::rules::{ExchangeSettings, RuleStats};

use crate::accounting::ExchangeRecord;
use crate::conn::client_peer::ClientPeer;
use crate::conn::deadline::ExchangeDeadline;
use crate::conn::stream::{ProxyStream, StreamReadResult};
use crate::rt::NetDriver;
use crate::servers::worker_state::LocalPool;
use crate::upstream::{self, UpstreamLeaseRequest};
use crate::worker::Worker;

/// Total time limit of a copy.
/// A copy's answer serves nobody, so a slow target must not hold connections.
const MIRROR_TIMEOUT: Duration = Duration::from_secs(30);

/// Most bytes of a response that are read before the connection is closed.
/// Reading it spares a new connection; a megabyte bounds the bytes that are read for nothing.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

pub struct MirroredRequest {
    /// The message for the server.
    pub message: Vec<u8>,
    pub client_peer: Rc<ClientPeer>,
    /// The client that policies hash.
    pub client: IpAddr,
    /// The counters of the rule that configures the mirror.
    pub live: Arc<RuleStats>,
    /// Most copies in flight per worker.
    pub at_once: u32,
}

/// Sends a copy, or drops it.
pub fn mirror_request<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    pool: Rc<LocalPool<N>>,
    copied: MirroredRequest,
) {
    if worker.mirroring.get() >= copied.at_once || worker.draining.get() {
        return count_dropped(worker, &copied.live);
    }
    worker.mirroring.set(worker.mirroring.get() + 1);
    let worker_ = worker.clone();
    worker.rt.spawn(async move {
        let retry_in_flight = MirrorInFlight(worker_.clone());
        run(&worker_, &pool, copied).await;
        drop(retry_in_flight);
    });
}

/// Counts a dropped copy.
pub fn count_dropped<N: NetDriver>(worker: &Worker<N>, live: &RuleStats) {
    if let Some(slot) = live.workers.get(worker.index) {
        slot.counters.mirror_dropped.add(1);
    }
}

async fn run<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    pool: &Rc<LocalPool<N>>,
    copied: MirroredRequest,
) {
    let until = worker.rt.now() + MIRROR_TIMEOUT;
    let never = Cell::new(MonotonicTime::NEVER);
    let settings = ExchangeSettings::default();
    let want = UpstreamLeaseRequest {
        client_peer: &copied.client_peer,
        client: copied.client,
        key: None,
        tried_servers: &[],
        retry_server: None,
        only_fresh_idle: false,
        fresh: true,
        affinity: None,
        upgrade: false,
        authenticates: false,
        // No client waits for a copy.
        class: 0,
        settings: &settings,
        written_servers: &[],
        until,
        deadline: ExchangeDeadline { client: None, total: until, cut_at: &never },
    };
    let now = worker.rt.now();
    let mut record = ExchangeRecord::begin(now, now);
    let begun = upstream::lease_now(worker, pool, &want);
    let Ok(lease) = upstream::lease(worker, pool, want, begun, &mut record).await else {
        return count_dropped(worker, &copied.live);
    };
    let stream = &lease.connection.stream;
    if stream.write_all(&with_connection_close(&copied.message), until).await.is_err() {
        return count_dropped(worker, &copied.live);
    }
    if let Some(slot) = copied.live.workers.get(worker.index) {
        slot.counters.mirrored.add(1);
    }
    drain_answer(worker, stream, until).await;
}

/// The message with `Connection: close`: the response is read until the server closes, without parsing.
fn with_connection_close(message: &[u8]) -> Vec<u8> {
    let line = message.iter().position(|b| *b == b'\n').map_or(0, |at| at + 1);
    let (first, rest) = message.split_at(line);
    [first, b"Connection: close\r\n", rest].concat()
}

async fn drain_answer<N: NetDriver>(
    worker: &Worker<N>,
    stream: &ProxyStream<N>,
    until: MonotonicTime,
) {
    let mut left = MAX_ANSWER_BYTES;
    while left > 0 {
        let got = stream.try_read(&mut worker.scratch.borrow_mut().input);
        match got {
            StreamReadResult::Data(n) => left = left.saturating_sub(n),
            StreamReadResult::WouldBlock => {
                if stream.readable(until).await.is_err() {
                    return;
                }
            }
            StreamReadResult::End | StreamReadResult::Failed(_) => return,
        }
    }
}

struct MirrorInFlight<N: NetDriver>(Rc<Worker<N>>);

impl<N: NetDriver> Drop for MirrorInFlight<N> {
    fn drop(&mut self) {
        self.0.mirroring.set(self.0.mirroring.get() - 1);
    }
}
