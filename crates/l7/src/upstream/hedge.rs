//! Sends a request to a second server while the first one is silent (hedging), until either starts to respond.
//!
//! The first response wins; the other attempt is cancelled and counted. `model::hedging` determines the delay of the
//! second request, and `exchange::hedge` handles the result of both attempts.

use std::cell::Cell;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use model::cause::Cause;
use model::config::PoolConfig;
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::rules::ExchangeSettings;
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

/// Bytes per read while a response head is expected.
/// The largest record of TLS, and more than most heads.
pub const FIRST_READ_BYTES: usize = 16 * 1024;

/// The inputs of a hedged attempt.
pub struct HedgeContext<N: NetDriver> {
    pub worker: Rc<Worker<N>>,
    pub pool: Rc<LocalPool<N>>,
    pub client_peer: Rc<ClientPeer>,
    /// The client that policies hash.
    pub client: IpAddr,
    /// The hash input of the pool's policy.
    pub key: Option<u64>,
    pub class: PriorityClass,
    /// The timeouts of the exchange.
    pub settings: ExchangeSettings,
    /// The server of the first attempt.
    pub first_server: ServerId,
}

/// The state of a hedged attempt.
pub enum HedgeState<N: NetDriver> {
    /// Starts at this time.
    Delayed(MonotonicTime, HedgeContext<N>),
    Running(Pin<Box<dyn Future<Output = Option<HedgeWinner<N>>>>>),
    /// The attempt failed, or could not be made.
    Finished,
}

/// The state of the hedged attempt when the first one ends.
pub enum HedgeResult<N: NetDriver> {
    None,
    /// The hedged attempt's server has responded first.
    Won(Box<HedgeWinner<N>>),
    /// The hedged attempt continues.
    Running(Box<HedgeState<N>>),
}

/// A hedged attempt whose server has started to respond.
pub struct HedgeWinner<N: NetDriver> {
    pub lease: UpstreamLease<N>,
    /// The request as sent, and the start of the response.
    pub sent_request: SentRequest,
    /// Counts the attempt as a retry.
    pub retry_in_flight: RetryInFlight,
}

/// A request that was already sent, and the start of its response.
pub struct SentRequest {
    /// When the request was sent.
    pub sent_at: MonotonicTime,
    /// Bytes sent on the connection before the request.
    pub bytes_before: u64,
    /// The first bytes of the response, at most `FIRST_READ_BYTES`.
    pub first_bytes: Vec<u8>,
}

impl<N: NetDriver> HedgeState<N> {
    /// Continues the attempt; `message` is the whole request. Ready once, when the server responds.
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
        // Events of this future wake the surrounding task by its id, so no waker is needed.
        match attempt.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(winner) => {
                *self = HedgeState::Finished;
                winner.map_or(Poll::Pending, Poll::Ready)
            }
        }
    }

    /// Whether the second server may still respond.
    pub fn is_under_way(&self) -> bool {
        matches!(self, HedgeState::Running(_))
    }
}

/// Sends the request to a second server. `None`: no other server may receive it, or the server does not respond.
async fn run_hedge<N: NetDriver>(
    context: HedgeContext<N>,
    message: Vec<u8>,
) -> Option<HedgeWinner<N>> {
    let HedgeContext { worker, pool, client_peer, client, key, class, settings, first_server } =
        context;
    let never = Cell::new(MonotonicTime::NEVER);
    let tried = [first_server];
    let want = UpstreamLeaseRequest {
        client_peer: &client_peer,
        client,
        key,
        tried_servers: &tried,
        retry_server: None,
        only_fresh_idle: true,
        fresh: false,
        affinity: None,
        upgrade: false,
        authenticates: false,
        class,
        settings: &settings,
        written_servers: &tried,
        until: MonotonicTime::NEVER,
        // The task that waits for the first server drops this future at its deadlines.
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
    running.sent = message.len() as u64;
    let view = pool.view.borrow().clone();
    match ask_server(&worker, &lease, &message, &settings, &view.config).await {
        Ok(sent_request) => {
            running.outcome = HedgeOutcome::Won;
            Some(HedgeWinner { lease, sent_request, retry_in_flight })
        }
        Err(cause) => {
            running.outcome = HedgeOutcome::Failed(cause);
            None
        }
    }
}

/// Sends the request, and waits for the first bytes of its answer.
async fn ask_server<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    lease: &UpstreamLease<N>,
    message: &[u8],
    settings: &ExchangeSettings,
    pool: &PoolConfig,
) -> Result<SentRequest, Cause> {
    let bytes_before = lease.connection.bytes_on_wire();
    let stream = &lease.connection.stream;
    let until = worker.rt.now() + settings.between_bytes(pool);
    stream.write_all(message, until).await.map_err(|_| Cause::ServerReset)?;
    let sent_at = worker.rt.update_now();
    let first_bytes = read_first_bytes(worker, stream, sent_at + settings.first_byte(pool)).await?;
    Ok(SentRequest { sent_at, bytes_before, first_bytes })
}

/// The server of a decision, if there is one.
fn decided_server<N: NetDriver>(decision: &LeaseDecision<N>) -> Option<ServerId> {
    match decision {
        LeaseDecision::Leased(lease) => Some(lease.slot_guard.server.id),
        LeaseDecision::Chosen(slot_guard) => Some(slot_guard.server.id),
        LeaseDecision::AllAtCap | LeaseDecision::Refused(_) => None,
    }
}

/// Reads the start of a response.
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

/// A running hedged attempt; its result is counted when this is dropped.
struct RunningHedge {
    live: Arc<PoolStats>,
    worker: usize,
    /// The server, once there is a connection.
    server: Option<Arc<ServerStats>>,
    /// Bytes of the request, once sending has started.
    sent: u64,
    outcome: HedgeOutcome,
}

/// The result of a hedged attempt.
#[derive(Clone, Copy)]
enum HedgeOutcome {
    /// The attempt was dropped: the first server responded, or the exchange ended.
    Lost,
    Failed(Cause),
    /// The server has responded; the exchange counts the attempt from here on.
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
