//! One request and its answer, from the open account to the closed one.
//!
//! The only place that calls the stages, in their order: choose and connect (`upstream`), relay (`relay`), judge a
//! fault (`model::retry`), answer for ourselves (`refuse`), close the account, shelve the connection. It parses and
//! moves no bytes.

mod failed;
mod failure;
mod hedged;
mod late;
mod learn;
mod over;
mod parting;
mod route;
mod whole;

use std::rc::Rc;
use std::sync::Arc;

use model::cause::Cause;
use model::compress::Asked;
use model::id::ServerId;
use model::line::Class;
use model::moment::Moment;
use model::snapshot::ServiceView;

use crate::account::{Opening, Record};
use crate::after::After;
use crate::again::{self, Another, UnderWay};
use crate::caller::Caller;
use crate::census::OpenExchange;
use crate::changes::Changes;
use crate::cuts::Cuts;
use crate::felt;
use crate::flow::Flow;
use crate::hash_on;
use crate::hedge::{Hedged, Second, Sent};
use crate::incoming::Incoming;
use crate::kept_bytes::KeptBytes;
use crate::local::{LocalPool, LocalServer, LocalService};
use crate::measured;
use crate::meter::Meter;
use crate::patience::Patience;
use crate::relay::{Ending, Ends, Relay};
use crate::rt::Net;
use crate::ruled::Taken;
use crate::sticking::Sticking;
use crate::stream::Stream;
use crate::tunnel;
use crate::upstream::{self, Lent, NotLent, Now, Want};
use crate::worker::Worker;
use failure::Failure;

/// Who talks, and through what.
pub struct Parties<'a, N: Net> {
    /// The worker.
    pub worker: &'a Rc<Worker<N>>,
    /// The client's connection.
    pub client: &'a Stream<N>,
    /// Who it is.
    pub caller: &'a Rc<Caller>,
    /// The service.
    pub service: &'a LocalService<N>,
}

/// An exchange under way.
pub struct Exchange<'a, N: Net> {
    parties: Parties<'a, N>,
    view: Arc<ServiceView>,
    pool: Rc<LocalPool<N>>,
    incoming: Incoming<N>,
    record: Record,
    whole: Moment,
    /// Servers that failed.
    failed: Vec<ServerId>,
    /// Of those, the ones that may have done what was asked for.
    written: Vec<ServerId>,
    /// When all attempts must be over.
    attempts_end: Moment,
    /// Why a first attempt failed beside a second one that goes on, where none may follow on both.
    last_cause: Option<Cause>,
    /// The server that gets the request once more, on a new connection.
    again: Option<ServerId>,
    /// A second attempt that has won, or that goes on after the first one failed.
    second: Second<N>,
    /// When a first attempt was made that lost.
    lost_since: Option<Moment>,
    /// Counts it once it is sent again.
    under_way: UnderWay,
    /// Its class where it must wait for a server.
    class: Class,
    /// The rule that took it.
    taken: Option<Taken>,
    /// How its client is kept at a server.
    sticking: Option<Sticking>,
    /// What is changed in the answer's head.
    changes: Changes,
    /// How the client takes the answer coded.
    asked: Asked,
    /// The request's body, where it is kept.
    kept: Option<KeptBytes>,
    /// What the client still lacks of an answer whose server is done.
    rest: Option<Flow<N>>,
    _open: OpenExchange,
}

/// What one attempt came to.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are done: a box would cost each an allocation"
)]
enum Attempt<N: Net> {
    Done(Lent<N>, Ending),
    Failed(Failure<N>),
}

impl<'a, N: Net> Exchange<'a, N> {
    /// Opens the account of a request whose first byte came at `began`.
    pub fn begin(
        parties: Parties<'a, N>,
        incoming: Incoming<N>,
        began: Moment,
        opening: Option<Opening>,
    ) -> Exchange<'a, N> {
        let worker = parties.worker;
        let mut record = Record::begin(began, worker.rt.now());
        record.measured.opening = opening;
        if let Some(place) = incoming.place {
            record.trace(place.traced, place.span);
        }
        let view = parties.service.view.borrow().clone();
        let open = worker.census.exchange(&view);
        view.live.slots[worker.index].counters.requests.add(1);
        let whole = view.config.timeout.whole.map_or(Moment::NEVER, |span| worker.rt.now() + span);
        let pool = parties.service.pool.borrow().clone();
        // Read before a rule changes what the server is told.
        let asked = view.config.compress.as_ref().map(|_| incoming.asked_coding());
        let class = incoming.class(&view.config.priority);
        Exchange {
            parties,
            view,
            pool,
            incoming,
            record,
            whole,
            failed: Vec::new(),
            written: Vec::new(),
            attempts_end: Moment::NEVER,
            last_cause: None,
            again: None,
            second: Second::None,
            lost_since: None,
            under_way: UnderWay::default(),
            class,
            taken: None,
            sticking: None,
            changes: Changes::default(),
            asked: asked.unwrap_or_default(),
            kept: None,
            rest: None,
            _open: open,
        }
    }

    /// Carries it out. Bytes that came after the request are left in `held`. A future that took the exchange over would hold
    /// room for it twice, and would be moved as a whole.
    pub async fn run(&mut self, held: &mut Vec<u8>) -> After {
        let end = self.outlived().or_else(|| self.misdirected()).or_else(|| self.proof());
        let end = end.or_else(|| self.last_hop());
        if let Some(end) = end {
            return Box::pin(self.end_here(end)).await;
        }
        if (self.view.rules.is_some()
            || self.view.config.sticky.is_some()
            || self.view.config.path_normalization.acts_alone())
            && let Some(end) = self.route()
        {
            return Box::pin(self.end_here(end)).await;
        }
        if self.view.config.buffer.request.is_some()
            && let Err(fault) = Box::pin(self.read_whole(held)).await
        {
            return Box::pin(self.give_up(fault, None)).await;
        }
        again::first(self.parties.worker, &self.pool);
        let all = self.pool.view.borrow().config.timeout.attempts;
        self.attempts_end = self.parties.worker.rt.now() + all;
        let mut attempts = 0;
        loop {
            let failure = match self.attempt(held, attempts).await {
                Attempt::Done(lent, Ending::Upgraded) => {
                    return Box::pin(self.tunnel(lent, std::mem::take(held))).await;
                }
                Attempt::Done(lent, Ending::Answered { keep_client, keep_server }) => {
                    return self.answered(lent, keep_client, keep_server);
                }
                Attempt::Done(lent, Ending::Ahead { keep_client, keep_server }) => {
                    return Box::pin(self.late(lent, (keep_client, keep_server))).await;
                }
                Attempt::Failed(failure) => failure,
            };
            if self.again.is_none() {
                attempts += 1;
            }
            if let Some(after) = Box::pin(self.follow(failure, attempts)).await {
                return after;
            }
            self.record.again();
        }
    }

    async fn attempt(&mut self, held: &mut Vec<u8>, attempts: u32) -> Attempt<N> {
        let Parties { worker, client, service, .. } = self.parties;
        let (mut lent, sent) = match self.lend().await {
            Ok(begun) => begun,
            Err(NotLent { cause, server }) => {
                return Attempt::Failed(Failure::before_sending(cause, server));
            }
        };
        let server = lent.hold.server.clone();
        self.note(&lent);
        self.took(server.id);
        self.say_close(&lent, sent.is_some());
        let cuts = Cuts::of(&server.view.borrow().live);
        let pool = self.pool.clone();
        let race = self.race(attempts, server.id);
        let ends = Ends {
            worker,
            client,
            another: self
                .may_follow(attempts)
                .then(|| Another::new(worker, &pool, &server, &self.under_way)),
            server: &lent.connection.stream,
            service: self.view.clone(),
            pool: self.pool.view.borrow().clone(),
            whole: self.whole,
            until: if attempts > 0 { self.attempts_end } else { Moment::NEVER },
            cut_at: &service.cut_at,
            cuts: &cuts,
            sent_before: sent
                .as_ref()
                .map_or_else(|| lent.connection.sent_before(), |it| it.before),
            changes: &self.changes,
            asked: self.asked,
        };
        let mut relay = Relay::new(ends, self.meter(&server), &mut self.incoming, &mut self.record);
        relay.races(race);
        if let Some(sent) = sent {
            relay.resume(sent);
        }
        let ended = std::future::poll_fn(|_| relay.poll()).await;
        self.rest = matches!(ended, Ok(Ending::Ahead { .. })).then(|| relay.take_rest());
        relay.release();
        let dropped = relay.trailers_dropped();
        held.extend_from_slice(&relay.take_excess());
        let (moved, replayable) = (relay.moved(), relay.replayable());
        let learned = (relay.keep_alive_timeout(), relay.reported());
        let second = relay.take_second();
        drop(relay);
        self.count_dropped(dropped);
        learn::learn(worker, &server, learned);
        self.record.add(&moved);
        lent.connection.sent += moved.to_server;
        match ended {
            Ok(ending) => Attempt::Done(lent, ending),
            Err(fault) => {
                self.second = second;
                if fault.cause == Cause::OrderCut {
                    lent.connection.stream.reset_on_drop();
                }
                Attempt::Failed(Failure {
                    fault,
                    server: Some(server),
                    reused: lent.reused,
                    replayable,
                    sent: moved.to_server > 0,
                })
            }
        }
    }

    /// A connection to a server of the pool; one on which the request was sent already, where there is.
    async fn lend(&mut self) -> Result<(Lent<N>, Option<Sent>), NotLent<N>> {
        // What is rare is boxed: each future is moved as a whole when it begins.
        if !matches!(self.second, Second::None) {
            match Box::pin(self.adopt()).await {
                Some(Hedged { lent, sent, .. }) => return Ok((lent, Some(sent))),
                // It was paid for, and came to nothing: this is one more.
                None => self.one_more().map_err(|cause| NotLent { cause, server: None })?,
            }
        }
        let Parties { worker, client, caller, service } = self.parties;
        let want = Want {
            caller,
            key: self.key(),
            tried: &self.failed,
            again: self.again,
            careful: !self.incoming.idempotent,
            fresh: false,
            stick: self.stick(),
            upgrade: self.incoming.upgrade,
            authenticates: self.incoming.authenticates,
            class: self.class,
            written: &self.written,
            until: if self.failed.is_empty() { Moment::NEVER } else { self.attempts_end },
            patience: Patience { client: Some(client), whole: self.whole, cut_at: &service.cut_at },
        };
        let lent = match upstream::now(worker, &self.pool, &want) {
            Now::Lent(lent) => lent,
            now => {
                Box::pin(upstream::lend(worker, &self.pool, want, now, &mut self.record)).await?
            }
        };
        Ok((lent, None))
    }

    /// Whether the client's connection may carry another request after an answer of ours.
    fn may_keep(&self) -> bool {
        let body = &self.incoming.body;
        body.framing.done()
            && !body.holds()
            && self.incoming.keep_alive
            && !self.parties.worker.draining.get()
    }

    fn meter(&self, server: &LocalServer<N>) -> Meter {
        let (live, worker) = (self.view.live.clone(), self.parties.worker);
        let rule = self.taken.as_ref().and_then(Taken::live);
        Meter::new(live, server.view.borrow().live.clone(), worker.index).of_rule(rule)
    }

    /// What the pool's policy hashes, where it is not the address.
    fn key(&self) -> Option<u64> {
        let pool = self.pool.view.borrow();
        hash_on::key(
            &pool.config.hash_on,
            &self.incoming.head,
            self.incoming.target,
            self.parties.caller.peer,
        )
    }

    fn counters(&self) -> &model::live::ServiceCounters {
        &self.view.live.slots[self.parties.worker.index].counters
    }

    /// After a whole answer.
    fn answered(&mut self, lent: Lent<N>, keep_client: bool, keep_server: bool) -> After {
        let worker = self.parties.worker;
        self.record.done = Some(worker.rt.look());
        let (pool, server) = (self.pool.view.borrow(), lent.hold.server.view.borrow());
        felt::answered(&pool, &server.live, worker.index, self.record.status);
        drop((pool, server));
        let after = self.afterwards(keep_client);
        self.close(Some(&lent.hold.server));
        match keep_server {
            true => self.keep(lent),
            false => self.part(lent),
        }
        after
    }

    /// What becomes of the client's connection after a whole answer.
    fn afterwards(&self, keep_client: bool) -> After {
        match keep_client {
            true => After::Next,
            // Closing with unread bytes would send a reset that may overtake the answer.
            false if self.parties.client.may_read() || !self.incoming.body.framing.done() => {
                After::Linger
            }
            false => After::Close,
        }
    }

    /// After both agreed on another protocol; `first` came behind the request.
    async fn tunnel(&mut self, lent: Lent<N>, first: Vec<u8>) -> After {
        let Parties { worker, client, service, .. } = self.parties;
        self.counters().upgraded.add(1);
        self.under_way.end();
        let server = lent.hold.server.clone();
        let meter = self.meter(&server);
        let cuts = Cuts::of(&server.view.borrow().live);
        let server_stream = &lent.connection.stream;
        let ends = tunnel::Ends { client, server: server_stream, service, cuts, first };
        let ended = tunnel::run(worker, ends, meter, &mut self.record.measured).await;
        self.record.done = Some(worker.rt.now());
        let sockets = (client, &lent.connection.stream);
        measured::end(&worker.lot, &self.view, &mut self.record, sockets, worker.rt.now());
        self.record.add(&ended.moved);
        self.record.cause = ended.cause;
        self.close(Some(&server));
        if ended.cause.is_none() {
            return After::Close;
        }
        // Both sides learn that it did not end well: an orderly end would pass half of it for the whole.
        lent.connection.reset();
        After::Reset
    }
}
