//! Places of one control listener: who has one, and whose connection is closed for the next.
//!
//! What is decided in `model::admission` is carried out here. A few places beyond the limit are kept for requests that
//! come while all others are in use; whoever has one of those has it for a short time. A request counts once it is whole:
//! whose body has not come gives way as one does whose head has not.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Turn, Poll, Waker};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use model::admission::{Client, Holders, Phase, Place, Scope, Share, Table};
use model::id::ServiceId;
use model::moment::Moment;
use tokio::time::Instant;

use super::counts::{Counts, Listener};

/// Places beyond the limit that are for requests alone.
pub(crate) const RESERVED: usize = 8;
/// How long a connection may have one of those.
pub(super) const SHORT: Duration = Duration::from_secs(30);
/// How long a connection has for its request before it counts as one that does nothing: requests may be on their way, and
/// answers too.
const GRACE: Duration = Duration::from_millis(250);
/// A listener is the only one of its table.
const ITSELF: ServiceId = ServiceId(0);

/// The places of a listener.
#[derive(Clone)]
pub(crate) struct Places(Arc<Shared>);

struct Shared {
    limit: usize,
    which: Listener,
    counts: Arc<Counts>,
    began: Instant,
    holders: Holders,
    state: Mutex<State>,
}

struct State {
    table: Table,
    passes: HashMap<Place, Pass>,
}

/// A connection that has a place.
#[derive(Clone)]
pub(crate) struct Pass(Arc<Admitted>);

struct Admitted {
    places: Places,
    place: Place,
    client: Option<Client>,
    /// It has one of the reserved places.
    short: bool,
    given_up: AtomicBool,
    /// A request has come but for its body.
    in_body: AtomicBool,
    /// A head has come that says two things of its body.
    two_lengths: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Places {
    /// So many, of this listener.
    pub(crate) fn new(limit: usize, which: Listener, counts: Arc<Counts>) -> Places {
        let state = State { table: Table::with_grace(GRACE), passes: HashMap::new() };
        let (holders, state) = (Holders::default(), Mutex::new(state));
        Places(Arc::new(Shared { limit, which, counts, began: Instant::now(), holders, state }))
    }

    /// A place for a connection; `None`: all are in use, or the client has its share.
    pub(super) fn enter(&self, address: Option<IpAddr>) -> Option<Pass> {
        let shared = &self.0;
        let client = address.map(Client::of);
        let mut state = shared.lock();
        let open = |state: &State| u32::try_from(state.passes.len()).unwrap_or(u32::MAX);
        let limit = u32::try_from(shared.limit).unwrap_or(u32::MAX);
        let held = |client| shared.holders.held(client);
        let share = client.filter(|client| Share::Auto.is_met(held(*client), open(&state), limit));
        let scope = match share {
            Some(client) => Some(Scope::Client(client)),
            None => (state.passes.len() >= shared.limit).then_some(Scope::All),
        };
        let mut short = false;
        if let Some(scope) = scope {
            match state.table.victim(scope, self.now(), held) {
                Some(victim) => self.give_up(&mut state, victim.place),
                None if share.is_none() && state.passes.len() < shared.limit + RESERVED => {
                    short = true
                }
                None => {
                    shared.counts.turn_away(shared.which);
                    return None;
                }
            }
        }
        let place = state.table.enter(ITSELF, client, self.now(), ());
        if let Some(client) = client {
            shared.holders.add(client);
        }
        let pass = Pass(Arc::new(Admitted {
            places: self.clone(),
            place,
            client,
            short,
            given_up: AtomicBool::new(false),
            in_body: AtomicBool::new(false),
            two_lengths: AtomicBool::new(false),
            waker: Mutex::default(),
        }));
        state.passes.insert(place, pass.clone());
        Some(pass)
    }

    /// Whether a newcomer does better to wait: all places are in use, reserved ones too, and none by one that does nothing.
    pub(super) fn must_wait(&self) -> bool {
        let mut state = self.0.lock();
        let held = |client| self.0.holders.held(client);
        state.passes.len() >= self.0.limit + RESERVED
            && state.table.victim(Scope::All, self.now(), held).is_none()
    }

    fn give_up(&self, state: &mut State, place: Place) {
        self.0.counts.evict(self.0.which);
        let Some(pass) = state.passes.remove(&place) else { return };
        state.table.leave(place);
        if let Some(client) = pass.0.client {
            self.0.holders.remove(client);
        }
        pass.0.given_up.store(true, Ordering::Release);
        let waker = pass.0.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn now(&self) -> Moment {
        Moment(0) + self.0.began.elapsed()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pass {
    /// What it does from now on.
    pub(super) fn set(&self, phase: Phase) {
        let places = &self.0.places;
        places.0.lock().table.set(self.0.place, phase, places.now());
    }

    /// What it does.
    pub(super) fn phase(&self) -> Option<Phase> {
        self.0.places.0.lock().table.phase(self.0.place)
    }

    /// A request has come; with its body, if it has any, it is one that is carried out.
    pub(super) fn begin(&self, whole: bool) {
        self.0.in_body.store(!whole, Ordering::Release);
        match self.phase() {
            _ if whole => self.set(Phase::Busy),
            // It has done something just now.
            Some(Phase::Idle) => self.set(Phase::Idle),
            _ => {}
        }
    }

    /// Its answer begins.
    fn end(&self) {
        self.0.in_body.store(false, Ordering::Release);
        self.set(Phase::Idle);
    }

    /// Whether a body is awaited.
    pub(super) fn is_in_body(&self) -> bool {
        self.0.in_body.load(Ordering::Acquire)
    }

    /// A head has come that says two things of its body.
    pub(super) fn sees_two_lengths(&self) {
        self.0.two_lengths.store(true, Ordering::Release);
    }

    /// Whether one has.
    pub(super) fn has_two_lengths(&self) -> bool {
        self.0.two_lengths.load(Ordering::Acquire)
    }

    /// Whether it has one of the reserved places.
    pub(super) fn is_short(&self) -> bool {
        self.0.short
    }

    /// Whether it has lost its place; if not, this waker is woken when it does.
    pub(super) fn is_given_up(&self, waker: &Waker) -> bool {
        if !self.0.given_up.load(Ordering::Acquire) {
            let mut kept = self.0.waker.lock().unwrap_or_else(PoisonError::into_inner);
            if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
                *kept = Some(waker.clone());
            }
        }
        // It may have lost it meanwhile.
        self.0.given_up.load(Ordering::Acquire)
    }

    /// Its connection has ended.
    pub(super) fn leave(&self) {
        let shared = &self.0.places.0;
        let mut state = shared.lock();
        if state.passes.remove(&self.0.place).is_some() {
            state.table.leave(self.0.place);
            if let Some(client) = self.0.client {
                shared.holders.remove(client);
            }
        }
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pass({:?})", self.0.place)
    }
}

/// A whole request is being carried out until its answer begins: nobody takes its connection's place meanwhile.
pub(crate) async fn carry_out(
    ConnectInfo(pass): ConnectInfo<Pass>,
    request: Request,
    next: Next,
) -> Response {
    let whole = request.body().is_end_stream();
    pass.begin(whole);
    let of = pass.clone();
    let request =
        if whole { request } else { request.map(|inner| Body::new(Awaited { inner, of })) };
    let answer = next.run(request).await;
    pass.end();
    answer
}

/// The body of a request, which is whole once this has been read to its end.
struct Awaited {
    inner: Body,
    of: Pass,
}

impl HttpBody for Awaited {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        turn: &mut Turn<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(turn);
        let ended = matches!(polled, Poll::Ready(None)) || self.inner.is_end_stream();
        if ended && self.of.is_in_body() {
            self.of.begin(true);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(limit: usize) -> (Places, Arc<Counts>) {
        let counts = Arc::new(Counts::default());
        (Places::new(limit, Listener::Socket, Arc::clone(&counts)), counts)
    }

    fn is_given_up(pass: &Pass) -> bool {
        pass.is_given_up(Waker::noop())
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_silent_connection_goes_first_and_orders_are_never_cut() {
        let (places, counts) = places(3);
        let order = places.enter(None).unwrap();
        order.set(Phase::Busy);
        let [first, second] = [(); 2].map(|()| places.enter(None).unwrap());
        tokio::time::advance(GRACE).await;
        let third = places.enter(None).unwrap();
        assert!(is_given_up(&first) && !is_given_up(&second) && !is_given_up(&order));
        assert!(!third.is_short());
        for pass in [&second, &third] {
            pass.set(Phase::Busy);
        }
        let more: Vec<Pass> = (0..RESERVED)
            .map(|_| {
                let pass = places.enter(None).unwrap();
                pass.set(Phase::Busy);
                pass
            })
            .collect();
        assert!(more.iter().all(Pass::is_short));
        assert!(places.enter(None).is_none());
        assert!([&order, &second, &third].iter().all(|pass| !is_given_up(pass)));
        order.leave();
        assert!(places.enter(None).is_some(), "its place is free");
        let read = counts.read();
        assert_eq!((read.evicted[0], read.turned_away[0]), (("socket", 1), ("socket", 1)));
    }

    #[tokio::test(start_paused = true)]
    async fn one_address_has_its_share_and_what_does_nothing_goes_by_age() {
        let (places, counts) = places(32);
        let address = |last| Some(IpAddr::from([192, 0, 2, last]));
        let held: Vec<Pass> = (0..16).map(|_| places.enter(address(1)).unwrap()).collect();
        held[1..].iter().for_each(|pass| pass.set(Phase::Busy));
        tokio::time::advance(GRACE).await;
        let next = places.enter(address(1)).unwrap();
        assert!(is_given_up(&held[0]), "half of the places: only in the place of its own");
        next.set(Phase::Busy);
        assert!(places.enter(address(1)).is_none());
        let others: Vec<Pass> = (2..18).map(|last| places.enter(address(last)).unwrap()).collect();
        tokio::time::advance(Duration::from_secs(2)).await;
        others[1].set(Phase::Idle);
        assert!(!places.enter(address(31)).unwrap().is_short());
        assert!(is_given_up(&others[0]) && !is_given_up(&others[1]));
        assert_eq!(counts.read().turned_away[0], ("socket", 1));
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_just_come_or_been_answered_keeps_its_place_and_newcomers_wait() {
        let (places, counts) = places(2);
        let open: Vec<Pass> = (0..2 + RESERVED).map(|_| places.enter(None).unwrap()).collect();
        open[0].set(Phase::Busy);
        open[1].set(Phase::Idle);
        assert!(places.must_wait(), "requests and answers may be on their way");
        tokio::time::advance(GRACE).await;
        assert!(!places.must_wait());
        assert!(places.enter(None).is_some());
        assert!(is_given_up(&open[2]) && !is_given_up(&open[0]) && !is_given_up(&open[1]));
        assert_eq!(counts.read().turned_away[0], ("socket", 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_without_its_body_gives_way_and_a_whole_one_does_not() {
        let (places, _) = places(2);
        let waiting: Vec<Pass> = (0..2 + RESERVED).map(|_| places.enter(None).unwrap()).collect();
        // Some have had an answer before.
        waiting[1].set(Phase::Idle);
        waiting.iter().for_each(|pass| pass.begin(false));
        assert!(places.must_wait(), "their bodies may be on their way");
        tokio::time::advance(GRACE).await;
        waiting[0].begin(true);
        for _ in 1..2 + RESERVED {
            places.enter(None).unwrap().begin(true);
        }
        assert!(waiting[1..].iter().all(is_given_up) && !is_given_up(&waiting[0]));
        assert!(places.enter(None).is_none(), "all of them are carried out");
    }
}
