//! One HTTP request and its response, from the first byte of the request to the closed record.
//!
//! Runs the stages in order: routing, lease of a connection (`upstream`), relay (`relay`), and retry of a failure
//! (`failure_handling`) or a local reply (`local_reply`). Then the record is closed (`finish`), and the connection is
//! returned (`release`). Parsing and transfer of bytes are done in these stages.

pub(crate) mod abort_watch;
mod admit;
mod attempt_failure;
mod attempt_lease;
mod authentication;
mod buffered_answer;
pub(crate) mod buffered_bytes;
mod buffered_request;
mod client_field;
pub(crate) mod compressor;
mod discarded_body;
pub(crate) mod disposition;
mod edits;
mod failure_handling;
mod finish;
pub(crate) mod flow;
mod head_fields;
mod hedge;
pub(crate) mod incoming_request;
mod learn;
pub(crate) mod load_report;
pub(crate) mod local_reply;
mod logged_fields;
mod named_client;
pub(crate) mod outlier_stats;
mod protocol_upgrade;
pub(crate) mod relay;
mod release;
mod request_id;
pub(crate) mod resend;
mod routing;
mod shown_credentials;
mod token_check;
pub(crate) mod trace_span;
pub(crate) mod tunnel;

use std::rc::Rc;
use std::sync::Arc;

use model::cause::Cause;
use model::compression::AcceptedEncodings;
use model::id::ServerId;
use model::monotonic_time::MonotonicTime;
use model::rules::ExchangeSettings;
use model::snapshot::ServiceView;
use model::wait_queue::PriorityClass;

use crate::accounting::gauges::OpenExchange;
use crate::accounting::meter::Meter;
use crate::accounting::{ConnectionSetup, ExchangeRecord};
use crate::conn::client_peer::ClientPeer;
use crate::exchange::abort_watch::AbortWatch;
use crate::exchange::buffered_bytes::BufferedBytes;
use crate::exchange::disposition::ConnectionDisposition;
use crate::exchange::flow::ByteFlow;
use crate::exchange::incoming_request::IncomingRequest;
use crate::exchange::shown_credentials::ShownCredentials;
use crate::upstream::affinity::ClientAffinity;
use crate::upstream::hedge::{HedgeResult, SentRequest};

use crate::conn::stream::ProxyStream;
use crate::exchange::relay::{AttemptEnding, AttemptRelay, InterceptedAnswer, RelayContext};
use crate::rt::NetDriver;
use crate::upstream::response_changes::ResponseChanges;
use crate::upstream::retry_attempts::{self, RetryInFlight, RetryTrigger};
use crate::upstream::routing::MatchedRule;

use crate::servers::worker_state::{LocalPool, LocalServer, LocalService};
use crate::upstream::{UpstreamLease, UpstreamLeaseError};
use crate::worker::Worker;
use attempt_failure::AttemptFailure;

/// The client and the connection of an exchange.
pub struct ExchangeContext<'a, N: NetDriver> {
    pub worker: &'a Rc<Worker<N>>,
    pub client: &'a ProxyStream<N>,
    pub client_peer: &'a Rc<ClientPeer>,
    pub service: &'a LocalService<N>,
}

pub struct HttpExchange<'a, N: NetDriver> {
    context: ExchangeContext<'a, N>,
    view: Arc<ServiceView>,
    pool: Rc<LocalPool<N>>,
    incoming: IncomingRequest<N>,
    record: ExchangeRecord,
    total_deadline: MonotonicTime,
    failed_servers: Vec<ServerId>,
    /// The failed servers that may have processed the request.
    written_servers: Vec<ServerId>,
    /// The deadline of all attempts.
    attempts_end: MonotonicTime,
    /// The cause with which the first attempt failed while a hedged one continues. Set if no retry may follow when the
    /// hedged attempt fails too.
    last_cause: Option<Cause>,
    /// The server that gets the request again, on a new connection.
    retry_server: Option<ServerId>,
    /// A hedged attempt that has won, or that continues after the first one failed.
    hedge: HedgeResult<N>,
    /// When the request of a first attempt that lost to its hedge was sent.
    lost_since: Option<MonotonicTime>,
    /// Counts a retry while it is in flight.
    retry_in_flight: RetryInFlight,
    /// The priority class in a server's wait queue.
    class: PriorityClass,
    /// The rule that routed the request.
    matched_rule: Option<MatchedRule>,
    /// The timeouts, retries and buffering that count for this exchange.
    settings: ExchangeSettings,
    /// The client's affinity to a server.
    affinity: Option<ClientAffinity>,
    /// Changes to the response's head.
    changes: ResponseChanges,
    /// The content codings that the client accepts.
    accepted_encodings: AcceptedEncodings,
    /// The memory of the request's body, if it is buffered.
    buffered_bytes: Option<BufferedBytes>,
    /// The rest of a response that the server has completed and the client has not received yet.
    remaining_answer: Option<ByteFlow<N>>,
    /// What the client shows of itself, where somebody wants to know.
    shown_credentials: Option<Box<ShownCredentials>>,
    /// What is left of a server's answer that a page replaces.
    intercepted: InterceptedAnswer,
    _open: OpenExchange,
}

/// The connection of an attempt.
struct AttemptLease<N: NetDriver> {
    lease: UpstreamLease<N>,
    /// The request, if it was already sent on the connection.
    sent: Option<SentRequest>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are done: a box would cost each an allocation"
)]
enum AttemptOutcome<N: NetDriver> {
    Done(UpstreamLease<N>, AttemptEnding),
    Failed(AttemptFailure<N>),
}

impl<'a, N: NetDriver> HttpExchange<'a, N> {
    /// Starts an exchange, whose request's first byte arrived at `began`.
    pub fn begin(
        parties: ExchangeContext<'a, N>,
        incoming: IncomingRequest<N>,
        began: MonotonicTime,
        opening: Option<ConnectionSetup>,
    ) -> HttpExchange<'a, N> {
        let worker = parties.worker;
        let mut record = ExchangeRecord::begin(began, worker.rt.now());
        record.sample.connection_setup = opening;
        if let Some(place) = incoming.trace_span {
            record.join_trace(place.trace, place.span);
        }
        let view = parties.service.view.borrow().clone();
        let open = worker.gauges.count_exchange(&view);
        let counters = &view.stats.slots[worker.index].counters;
        counters.requests.add(1);
        if incoming.fields_dropped > 0 {
            counters.fields_dropped.add(incoming.fields_dropped.into());
        }
        if let Some(found) = &incoming.found_client {
            named_client::count_named_client(counters, found);
        }
        let whole =
            view.config.timeout.whole.map_or(MonotonicTime::NEVER, |span| worker.rt.now() + span);
        let pool = parties.service.pool.borrow().clone();
        // Read before a rule changes the request head.
        let asked = view.config.compress.as_ref().map(|_| incoming.accepted_encodings());
        let class = incoming.class(&view.config.priority);
        let id = incoming.request_id.as_ref();
        let changes = id.map(|id| id.begin_changes(&view.config, &mut record)).unwrap_or_default();
        HttpExchange {
            context: parties,
            view,
            pool,
            incoming,
            record,
            total_deadline: whole,
            failed_servers: Vec::new(),
            written_servers: Vec::new(),
            attempts_end: MonotonicTime::NEVER,
            last_cause: None,
            retry_server: None,
            hedge: HedgeResult::None,
            lost_since: None,
            retry_in_flight: RetryInFlight::default(),
            class,
            matched_rule: None,
            settings: ExchangeSettings::default(),
            affinity: None,
            changes,
            accepted_encodings: asked.unwrap_or_default(),
            buffered_bytes: None,
            remaining_answer: None,
            shown_credentials: None,
            intercepted: InterceptedAnswer::default(),
            _open: open,
        }
    }

    /// Runs the exchange. Bytes after the request are stored in `held`. Takes `&mut self`: a future that owned the
    /// exchange would store it twice and be moved as a whole.
    pub async fn run(&mut self, held: &mut Vec<u8>) -> ConnectionDisposition {
        let mut end = self.answer_early();
        if self.shown_credentials.is_some() {
            end = Box::pin(self.check_access(end.as_ref())).await.or(end);
        }
        if let Some(end) = end {
            return Box::pin(self.end_locally(end)).await;
        }
        self.mirror_request();
        if self.settings.buffer(&self.view.config).request.is_some()
            && let Err(fault) = Box::pin(self.buffer_request(held)).await
        {
            return Box::pin(self.finish_failed(fault, None)).await;
        }
        retry_attempts::count_request(self.context.worker, &self.pool);
        let all = self.settings.attempts(&self.pool.view.borrow().config);
        self.attempts_end = self.context.worker.rt.now() + all;
        let mut attempts = 0;
        loop {
            let failure = match self.run_attempt(held, attempts).await {
                AttemptOutcome::Done(lease, AttemptEnding::Upgraded) => {
                    return Box::pin(self.run_tunnel(lease, std::mem::take(held))).await;
                }
                AttemptOutcome::Done(
                    lease,
                    AttemptEnding::Answered { keep_client, keep_server },
                ) => {
                    return self.finish_answered(lease, keep_client, keep_server);
                }
                AttemptOutcome::Done(
                    lease,
                    AttemptEnding::ReadAhead { keep_client, keep_server },
                ) => {
                    return Box::pin(self.deliver_buffered_answer(lease, keep_client, keep_server))
                        .await;
                }
                AttemptOutcome::Done(lease, AttemptEnding::Intercepted { keep_server }) => {
                    return Box::pin(self.finish_intercepted(lease, keep_server)).await;
                }
                AttemptOutcome::Failed(failure) => failure,
            };
            if self.retry_server.is_none() {
                attempts += 1;
            }
            if let Some(after) = Box::pin(self.handle_failure(failure, attempts)).await {
                return after;
            }
            self.record.begin_retry();
        }
    }

    async fn run_attempt(&mut self, held: &mut Vec<u8>, attempts: u32) -> AttemptOutcome<N> {
        let ExchangeContext { worker, client, service, .. } = self.context;
        let AttemptLease { mut lease, sent } = match self.lease_upstream().await {
            Ok(leased) => leased,
            Err(UpstreamLeaseError { cause, server }) => {
                return AttemptOutcome::Failed(AttemptFailure::before_sending(cause, server));
            }
        };
        let server = lease.slot_guard.server.clone();
        self.record_server(&lease);
        self.record_chosen_server(server.id);
        self.announce_close(&lease, sent.is_some());
        let abort_watch = AbortWatch::new(&server.view.borrow().stats);
        let pool = self.pool.clone();
        let hedge = self.start_hedge(attempts, server.id);
        let on_wire = || lease.connection.bytes_on_wire();
        let sent_before = sent.as_ref().map_or_else(on_wire, |it| it.bytes_before);
        let ends = RelayContext {
            worker,
            client,
            retry_trigger: self
                .may_retry(attempts)
                .then(|| RetryTrigger::new(worker, &pool, &server, &self.retry_in_flight)),
            settings: &self.settings,
            server: &lease.connection.stream,
            service: self.view.clone(),
            pool: self.pool.view.borrow().clone(),
            total_deadline: self.total_deadline,
            until: if attempts > 0 { self.attempts_end } else { MonotonicTime::NEVER },
            cut_at: &service.cut_at,
            abort_watch: &abort_watch,
            sent_before,
            changes: &self.changes,
            accepted_encodings: self.accepted_encodings,
        };
        let mut relay =
            AttemptRelay::new(ends, self.meter(&server), &mut self.incoming, &mut self.record);
        relay.set_hedge(hedge);
        if let Some(sent) = sent {
            relay.resume(sent);
        }
        let ended = std::future::poll_fn(|_| relay.poll()).await;
        self.remaining_answer =
            matches!(ended, Ok(AttemptEnding::ReadAhead { .. })).then(|| relay.take_remaining());
        self.intercepted = relay.take_intercepted();
        relay.release();
        held.extend_from_slice(&relay.take_excess());
        let moved = relay.transfer_totals();
        let replayable = relay.replayable();
        learn::learn_from_answer(worker, &server, relay.keep_alive_timeout(), relay.load_report());
        let hedge = relay.take_hedge();
        let dropped = relay.trailers_dropped();
        drop(relay);
        self.count_dropped_trailers(dropped);
        self.record.add_transfer(&moved);
        lease.connection.sent += moved.to_server;
        match ended {
            Ok(ending) => AttemptOutcome::Done(lease, ending),
            Err(fault) => {
                self.hedge = hedge;
                if fault.cause == Cause::OrderCut {
                    lease.connection.stream.reset_on_drop();
                }
                let sent = moved.to_server > 0;
                let reused = lease.reused;
                let failure = AttemptFailure::at_server(fault, server, reused, replayable, sent);
                AttemptOutcome::Failed(failure)
            }
        }
    }

    /// Whether the client's connection may carry another request after a local reply.
    fn may_keep_alive(&self) -> bool {
        let body = &self.incoming.body;
        body.framing.is_done()
            && !body.has_pending()
            && self.incoming.keep_alive
            && !self.context.worker.draining.get()
    }

    fn meter(&self, server: &LocalServer<N>) -> Meter {
        let live = self.view.stats.clone();
        let worker = self.context.worker;
        let rule = self.matched_rule.as_ref().and_then(MatchedRule::live);
        Meter::new(live, server.view.borrow().stats.clone(), worker.index).with_rule(rule)
    }

    fn counters(&self) -> &model::stats::ServiceCounters {
        &self.view.stats.slots[self.context.worker.index].counters
    }
}
