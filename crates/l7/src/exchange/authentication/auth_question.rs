//! Asks a server of `[auth]`: one connection, one question, one answer in bounded memory. It decides nothing.
//!
//! A question may have a token that counts once, so it is sent a second time only if no server can have had it.

use std::future::Future;
use std::net::IpAddr;
use std::rc::Rc;
use std::task::Poll;

use model::cause::Cause;
use model::config::AuthConfig;
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::rules::ExchangeSettings;
use model::wait_queue::PriorityClass;

use crate::accounting::{self, ExchangeRecord};
use crate::conn::client_peer::ClientPeer;
use crate::conn::deadline::ExchangeDeadline;
use crate::conn::stream::StreamReadResult;
use crate::exchange::authentication::auth_answer::{AnswerReading, AuthAnswer, ReadAnswer};
use crate::exchange::discarded_body;
use crate::exchange::flow::BodyFraming;
use crate::exchange::outlier_stats;
use crate::rt::{DeadlineError, NetDriver};
use crate::servers::worker_state::{LocalPool, LocalServer};
use crate::upstream::hedge::FIRST_READ_BYTES;
use crate::upstream::{self, UpstreamLease, UpstreamLeaseError, UpstreamLeaseRequest};
use crate::worker::Worker;

/// Connections that are tried for one question.
/// As many as a request gets by default: a first one and two more.
const MAX_TRIES: usize = 3;

/// A question and how it is asked.
pub struct AuthQuestion<'q, N: NetDriver> {
    pub config: &'q AuthConfig,
    pub pool: &'q Rc<LocalPool<N>>,
    /// The whole request.
    pub message: &'q [u8],
    pub client_peer: &'q Rc<ClientPeer>,
    /// The client that policies hash.
    pub client: IpAddr,
    pub class: PriorityClass,
    /// The question authenticates its connection, which serves nobody else then.
    pub authenticates: bool,
    /// When there must be an answer.
    pub until: MonotonicTime,
    pub deadline: ExchangeDeadline<'q, N>,
}

/// Why a question has no answer.
struct QuestionFailure {
    cause: Cause,
    /// No server can have had the question.
    unreceived: bool,
}

impl From<Cause> for QuestionFailure {
    fn from(cause: Cause) -> QuestionFailure {
        QuestionFailure { cause, unreceived: false }
    }
}

/// Asks. A server that could not be reached is passed over for another one.
///
/// # Errors
/// Why there is no answer.
pub async fn ask<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    question: &AuthQuestion<'_, N>,
) -> Result<AuthAnswer, Cause> {
    let mut tried = Vec::new();
    let mut fresh = question.authenticates;
    let mut tries = 0;
    loop {
        tries += 1;
        let is_last = tries >= MAX_TRIES;
        let lease = match lease(worker, question, &tried, fresh).await {
            Ok(lease) => lease,
            Err(UpstreamLeaseError { cause, server }) => {
                let Some(server) = server else { return Err(end_cause(worker, question, cause)) };
                count_failure(worker, question.pool, &server, cause, 0);
                tried.push(server.id);
                if is_last || worker.rt.now() >= question.until {
                    return Err(end_cause(worker, question, cause));
                }
                continue;
            }
        };
        let server = lease.slot_guard.server.clone();
        match exchange_messages(worker, question, lease).await {
            Ok(answer) => {
                count_answer(worker, question, &server, answer.status);
                return Ok(answer);
            }
            Err(QuestionFailure { cause, unreceived }) => {
                count_failure(worker, question.pool, &server, cause, question.message.len());
                if !unreceived || is_last {
                    return Err(end_cause(worker, question, cause));
                }
                fresh = true;
            }
        }
    }
}

/// The cause that ended the exchange, if one did, else the one of the question.
fn end_cause<N: NetDriver>(
    worker: &Worker<N>,
    question: &AuthQuestion<'_, N>,
    cause: Cause,
) -> Cause {
    question.deadline.expired_cause(worker.rt.now()).unwrap_or(cause)
}

async fn lease<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    question: &AuthQuestion<'_, N>,
    tried: &[ServerId],
    fresh: bool,
) -> Result<UpstreamLease<N>, UpstreamLeaseError<N>> {
    let AuthQuestion { pool, client_peer, client, class, until, deadline, .. } = question;
    let settings = ExchangeSettings::default();
    let want = UpstreamLeaseRequest {
        client_peer,
        client: *client,
        key: None,
        tried_servers: tried,
        retry_server: None,
        only_fresh_idle: true,
        fresh,
        affinity: None,
        upgrade: false,
        authenticates: false,
        class: *class,
        settings: &settings,
        written_servers: &[],
        until: *until,
        deadline: ExchangeDeadline {
            client: deadline.client,
            total: deadline.total,
            cut_at: deadline.cut_at,
        },
    };
    // The phases of the client's exchange are those of its own server.
    let now = worker.rt.now();
    let mut record = ExchangeRecord::begin(now, now);
    let begun = upstream::lease_now(worker, pool, &want);
    upstream::lease(worker, pool, want, begun, &mut record).await
}

/// Sends the question and reads its answer; then the connection is kept, or closed.
async fn exchange_messages<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    question: &AuthQuestion<'_, N>,
    lease: UpstreamLease<N>,
) -> Result<AuthAnswer, QuestionFailure> {
    let sent_before = lease.connection.bytes_on_wire();
    let stream = &lease.connection.stream;
    let written = stream.write_all(question.message, question.until).await;
    written.map_err(|error| match error {
        None => Cause::ServerWriteTimeout,
        Some(_) => Cause::ServerReset,
    })?;
    let mut reading = AnswerReading::new(question.config, &question.pool.view.borrow());
    let mut seen = false;
    while !reading.is_complete() {
        match read_more(worker, question, &lease, &mut reading).await {
            Ok(()) => seen = true,
            Err(cause) if cause == Cause::ServerClosed && reading.ends_with_close() => break,
            Err(cause) => {
                let silent =
                    cause == Cause::ServerClosed && stream.peer_received_nothing(sent_before);
                return Err(QuestionFailure {
                    cause,
                    unreceived: !seen && (silent || stream.unprocessed()),
                });
            }
        }
    }
    let mut lease = lease;
    lease.connection.sent += question.message.len() as u64;
    let ReadAnswer { answer, unread, keeps } = reading.finish();
    match (keeps && !question.authenticates, unread) {
        (true, BodyFraming::Done) => upstream::return_connection(worker, lease),
        (true, unread) if !lease.connection.stream.is_multiplexed() => {
            discarded_body::discard_rest(worker, lease, unread);
        }
        _ => drop(lease),
    }
    Ok(answer)
}

/// Waits for bytes and reads them once.
async fn read_more<N: NetDriver>(
    worker: &Worker<N>,
    question: &AuthQuestion<'_, N>,
    lease: &UpstreamLease<N>,
    reading: &mut AnswerReading<'_, N>,
) -> Result<(), Cause> {
    let stream = &lease.connection.stream;
    loop {
        let got = {
            let input = &mut worker.scratch.borrow_mut().input[..FIRST_READ_BYTES];
            match stream.try_read(input) {
                StreamReadResult::Data(n) => Some(reading.feed(&input[..n])),
                StreamReadResult::WouldBlock => None,
                StreamReadResult::End => Some(Err(Cause::ServerClosed)),
                StreamReadResult::Failed(_) => Some(Err(Cause::ServerReset)),
            }
        };
        if let Some(got) = got {
            return got;
        }
        let until = question.deadline.earliest_until(question.until);
        let mut readable = std::pin::pin!(stream.readable(until));
        let waited = std::future::poll_fn(|context| match question.deadline.is_client_gone() {
            true => Poll::Ready(Err(DeadlineError)),
            false => readable.as_mut().poll(context),
        });
        waited.await.map_err(|DeadlineError| Cause::FirstByteTimeout)?;
    }
}

fn count_answer<N: NetDriver>(
    worker: &Worker<N>,
    question: &AuthQuestion<'_, N>,
    server: &LocalServer<N>,
    status: u16,
) {
    let view = server.view.borrow();
    let counters = &view.stats.slots[worker.index].counters;
    counters.requests.add(1);
    counters.answered.add(1);
    counters.bytes_out.add(question.message.len() as u64);
    match status / 100 {
        2 => counters.status_2xx.add(1),
        3 => counters.status_3xx.add(1),
        4 => counters.status_4xx.add(1),
        5 => counters.status_5xx.add(1),
        _ => {}
    }
    counters.complete_5xx.add(u64::from(status / 100 == 5));
    outlier_stats::record_answer(&question.pool.view.borrow(), &view.stats, worker.index, status);
}

fn count_failure<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    server: &LocalServer<N>,
    cause: Cause,
    sent: usize,
) {
    let view = server.view.borrow();
    let slot = &view.stats.slots[worker.index];
    slot.counters.bytes_out.add(sent as u64);
    accounting::count_failed_attempt(cause, sent > 0, slot);
    outlier_stats::record_failure(&pool.view.borrow(), &view.stats, worker.index, cause);
}
