//! A request that is sent to a second server while the first one is silent, until either begins to answer.
//!
//! The first answer wins; the other attempt is cancelled and counted. `model::hedging` decides after which delay the second
//! request is sent, `exchange::hedge` what becomes of both attempts.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use model::cause::Cause;
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::stats::ServerStats;
use model::stats::pool::PoolStats;
use model::wait_queue::PriorityClass;

use crate::accounting::{self, ExchangeRecord};
use crate::conn::client_peer::ClientPeer;
use crate::conn::deadline::ExchangeDeadline;
use crate::conn::stream::{ProxyStream, StreamReadResult};
use crate::rt::NetDriver;
use crate::servers::worker_state::LocalPool;
use crate::upstream::retry_attempts::{self, RetryInFlight};
use crate::upstream::{
    self, LeaseDecision, UpstreamLease, UpstreamLeaseError, UpstreamLeaseRequest,
};
use crate::worker::Worker;

/// Bytes read at a time while an answer's head is expected.
pub const FIRST_READ_BYTES: usize = 16 * 1024;

/// The inputs of a hedged attempt.
pub struct HedgeContext<N: NetDriver> {
    pub worker: Rc<Worker<N>>,
    pub pool: Rc<LocalPool<N>>,
    pub client_peer: Rc<ClientPeer>,
    /// What the pool's policy hashes.
    pub key: Option<u64>,
    pub class: PriorityClass,
    /// The server that is silent.
    pub first_server: ServerId,
}

/// A second attempt: not begun yet, or under way.
pub enum HedgeState<N: NetDriver> {
    /// From then on it begins.
    Delayed(MonotonicTime, HedgeContext<N>),
    /// It is under way.
    Running(Pin<Box<dyn Future<Output = Option<HedgeWinner<N>>>>>),
    /// It came to nothing, or was not to be made.
    Finished,
}

/// What there is of a second attempt when the first one is over.
pub enum HedgeResult<N: NetDriver> {
    None,
    /// Its server has answered first.
    Won(Box<HedgeWinner<N>>),
    /// It is under way.
    Running(Box<HedgeState<N>>),
}

/// A second attempt whose server has begun to answer.
pub struct HedgeWinner<N: NetDriver> {
    pub lease: UpstreamLease<N>,
    /// What was sent and came on it.
    pub sent_request: SentRequest,
    /// Counts it as a further attempt.
    pub retry_in_flight: RetryInFlight,
}

/// A request that was sent already, and the beginning of its answer.
pub struct SentRequest {
    /// When it was sent.
    pub sent_at: MonotonicTime,
    /// Bytes that were sent to the connection before it.
    pub bytes_before: u64,
    /// The answer's first bytes, at most `FIRST_READ_BYTES`.
    pub first_bytes: Vec<u8>,
}

impl<N: NetDriver> HedgeState<N> {
    /// Goes on; `message` is the whole request. Ready once: with the second attempt whose server answers.
    pub fn poll(&mut self, message: &[u8]) -> Poll<HedgeWinner<N>> {
        if let HedgeState::Delayed(begins, context) = self {
            if context.worker.rt.now() < *begins {
                context.worker.rt.wake_at(*begins);
                return Poll::Pending;
            }
            let HedgeState::Delayed(_, context) = std::mem::replace(self, HedgeState::Finished)
            else {
                return Poll::Pending;
            };
            *self = HedgeState::Running(Box::pin(run_hedge(context, message.to_vec())));
        }
        let HedgeState::Running(attempt) = self else { return Poll::Pending };
        // What wakes a task of a worker wakes it by its id.
        match attempt.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(winner) => {
                *self = HedgeState::Finished;
                winner.map_or(Poll::Pending, Poll::Ready)
            }
        }
    }

    /// Whether a second server may still answer.
    pub fn is_under_way(&self) -> bool {
        matches!(self, HedgeState::Running(_))
    }
}

/// Sends the request to a second server; `None`: no other server may get it, or the server does not answer.
async fn run_hedge<N: NetDriver>(
    context: HedgeContext<N>,
    message: Vec<u8>,
) -> Option<HedgeWinner<N>> {
    let HedgeContext { worker, pool, client_peer, key, class, first_server } = context;
    let never = Cell::new(MonotonicTime::NEVER);
    let tried = [first_server];
    let want = UpstreamLeaseRequest {
        client_peer: &client_peer,
        key,
        tried_servers: &tried,
        retry_server: None,
        only_fresh_idle: true,
        fresh: false,
        affinity: None,
        upgrade: false,
        authenticates: false,
        class,
        written_servers: &tried,
        until: MonotonicTime::NEVER,
        // Whoever waits for the first server ends this with it.
        deadline: ExchangeDeadline { client: None, total: MonotonicTime::NEVER, cut_at: &never },
    };
    let now = upstream::lease_now(&worker, &pool, &want);
    let second = decided_server(&now)?;
    let retry_in_flight = RetryInFlight::default();
    if second == first_server
        || retry_attempts::take_retry(&worker, &pool, &retry_in_flight).is_err()
    {
        return None;
    }
    let mut running = RunningHedge::begin(&worker, &pool);
    let begun = worker.rt.now();
    let mut record = ExchangeRecord::begin(begun, begun);
    let lease = match upstream::lease(&worker, &pool, want, now, &mut record).await {
        Ok(lease) => lease,
        Err(UpstreamLeaseError { cause, server }) => {
            running.server = server.map(|server| server.view.borrow().stats.clone());
            running.outcome = HedgeOutcome::Failed(cause);
            return None;
        }
    };
    running.server = Some(lease.slot_guard.server.view.borrow().stats.clone());
    let before = lease.connection.bytes_on_wire();
    let timeouts = pool.view.borrow().config.timeout.clone();
    let stream = &lease.connection.stream;
    running.sent = message.len() as u64;
    if stream.write_all(&message, worker.rt.now() + timeouts.between_bytes).await.is_err() {
        running.outcome = HedgeOutcome::Failed(Cause::ServerReset);
        return None;
    }
    let at = worker.rt.update_now();
    match read_first_bytes(&worker, stream, at + timeouts.first_byte).await {
        Ok(first) => {
            running.outcome = HedgeOutcome::Won;
            Some(HedgeWinner {
                lease,
                sent_request: SentRequest { sent_at: at, bytes_before: before, first_bytes: first },
                retry_in_flight,
            })
        }
        Err(cause) => {
            running.outcome = HedgeOutcome::Failed(cause);
            None
        }
    }
}

/// The server of a decision that names one.
fn decided_server<N: NetDriver>(decision: &LeaseDecision<N>) -> Option<ServerId> {
    match decision {
        LeaseDecision::Leased(lease) => Some(lease.slot_guard.server.id),
        LeaseDecision::Chosen(slot_guard) => Some(slot_guard.server.id),
        LeaseDecision::AllAtCap | LeaseDecision::Refused(_) => None,
    }
}

/// The beginning of an answer.
async fn read_first_bytes<N: NetDriver>(
    worker: &Worker<N>,
    stream: &ProxyStream<N>,
    until: MonotonicTime,
) -> Result<Vec<u8>, Cause> {
    loop {
        let got = {
            let input = &mut worker.scratch.borrow_mut().input[..FIRST_READ_BYTES];
            match stream.try_read(input) {
                StreamReadResult::Data(n) => Some(Ok(input[..n].to_vec())),
                StreamReadResult::WouldBlock => None,
                StreamReadResult::End => Some(Err(Cause::ServerClosed)),
                StreamReadResult::Failed(_) => Some(Err(Cause::ServerReset)),
            }
        };
        if let Some(got) = got {
            return got;
        }
        stream.readable(until).await.map_err(|_| Cause::FirstByteTimeout)?;
    }
}

/// A second attempt under way, which is counted when this is dropped.
struct RunningHedge {
    live: Arc<PoolStats>,
    worker: usize,
    /// Its server, once there is a connection.
    server: Option<Arc<ServerStats>>,
    /// Bytes of the request, once they are being sent.
    sent: u64,
    outcome: HedgeOutcome,
}

/// How a second attempt ends.
#[derive(Clone, Copy)]
enum HedgeOutcome {
    /// It is dropped: the first one answered, or nobody waits any more.
    Lost,
    Failed(Cause),
    /// Its server answers: the exchange counts it from here on.
    Won,
}

impl RunningHedge {
    fn begin<N: NetDriver>(worker: &Worker<N>, pool: &LocalPool<N>) -> RunningHedge {
        let live = pool.view.borrow().stats.clone();
        live.slots[worker.index].counters.hedges.add(1);
        RunningHedge {
            live,
            worker: worker.index,
            server: None,
            sent: 0,
            outcome: HedgeOutcome::Lost,
        }
    }
}

impl Drop for RunningHedge {
    fn drop(&mut self) {
        let counters = &self.live.slots[self.worker].counters;
        let cause = match self.outcome {
            HedgeOutcome::Won => return counters.hedges_won.add(1),
            HedgeOutcome::Failed(cause) => cause,
            HedgeOutcome::Lost => {
                counters.hedges_lost.add(1);
                Cause::HedgeLost
            }
        };
        let Some(server) = &self.server else { return };
        let slot = &server.slots[self.worker];
        slot.counters.bytes_out.add(self.sent);
        accounting::count_failed_attempt(cause, self.sent > 0, slot);
    }
}
