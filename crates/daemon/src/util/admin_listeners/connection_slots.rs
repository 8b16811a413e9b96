//! Places of one control listener: who has one, and whose connection is closed for the next.
//!
//! This module carries out the decisions of `model::admission`. A few places beyond the limit are reserved for requests
//! that arrive while all other places are in use; such a request has its place for a short time. A request counts once
//! it is whole: a connection without its whole body is evicted like one without its whole head.

#[cfg(test)]
mod tests;

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
use model::admission::{
    AdmissionPhase, AdmissionTable, ClientConnectionCounts, ClientKey, ClientShare,
    ConnectionHandle, ConnectionScope,
};
use model::id::ServiceId;
use model::monotonic_time::MonotonicTime;
use tokio::time::Instant;

use crate::util::admin_listeners::api_counters::{ApiCounters, ListenerKind};

/// Places beyond the limit that are for requests alone.
pub(crate) const RESERVED: usize = 8;
/// How long a connection may hold a reserved place.
pub(crate) const RESERVED_SLOT_LIFETIME: Duration = Duration::from_secs(30);
/// How long a connection may take for its request before it counts as idle: requests and responses may be in flight.
const GRACE: Duration = Duration::from_millis(250);
/// A listener is the only one of its table.
const LISTENER_ID: ServiceId = ServiceId(0);

/// The places of a listener.
#[derive(Clone)]
pub(crate) struct ConnectionSlots(Arc<ApiSlotTable>);

struct ApiSlotTable {
    limit: usize,
    listener: ListenerKind,
    counts: Arc<ApiCounters>,
    started_at: Instant,
    holders: ClientConnectionCounts,
    state: Mutex<ApiSlotState>,
}

struct ApiSlotState {
    table: AdmissionTable,
    slots: HashMap<ConnectionHandle, ConnectionSlot>,
}

/// A connection that has a place.
#[derive(Clone)]
pub(crate) struct ConnectionSlot(Arc<SlotEntry>);

struct SlotEntry {
    slots: ConnectionSlots,
    place: ConnectionHandle,
    client: Option<ClientKey>,
    /// It has one of the reserved places.
    is_reserved: bool,
    is_evicted: AtomicBool,
    /// The request has arrived except for its body.
    in_body: AtomicBool,
    /// A head arrived with both Content-Length and Transfer-Encoding.
    has_conflicting_lengths: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl ConnectionSlots {
    /// The places of a listener.
    pub(crate) fn new(
        limit: usize,
        which: ListenerKind,
        counts: Arc<ApiCounters>,
    ) -> ConnectionSlots {
        let state =
            ApiSlotState { table: AdmissionTable::with_grace(GRACE), slots: HashMap::new() };
        let holders = ClientConnectionCounts::default();
        let state = Mutex::new(state);
        ConnectionSlots(Arc::new(ApiSlotTable {
            limit,
            listener: which,
            counts,
            started_at: Instant::now(),
            holders,
            state,
        }))
    }

    /// A place for a connection; `None`: all are in use, or the client has its share.
    pub(crate) fn acquire(&self, address: Option<IpAddr>) -> Option<ConnectionSlot> {
        let shared = &self.0;
        let client = address.map(ClientKey::from_address);
        let mut state = shared.lock();
        let open = |state: &ApiSlotState| u32::try_from(state.slots.len()).unwrap_or(u32::MAX);
        let limit = u32::try_from(shared.limit).unwrap_or(u32::MAX);
        let held = |client| shared.holders.connections_of(client);
        let share = client
            .filter(|client| ClientShare::Auto.is_reached(held(*client), open(&state), limit));
        let scope = match share {
            Some(client) => Some(ConnectionScope::Client(client)),
            None => (state.slots.len() >= shared.limit).then_some(ConnectionScope::All),
        };
        let mut short = false;
        if let Some(scope) = scope {
            match state.table.eviction_candidate(scope, self.elapsed(), held) {
                Some(victim) => self.evict_idle(&mut state, victim.slot),
                None if share.is_none() && state.slots.len() < shared.limit + RESERVED => {
                    short = true
                }
                None => {
                    shared.counts.record_rejection(shared.listener);
                    return None;
                }
            }
        }
        let place = state.table.insert(LISTENER_ID, client, self.elapsed(), ());
        if let Some(client) = client {
            shared.holders.add(client);
        }
        let pass = ConnectionSlot(Arc::new(SlotEntry {
            slots: self.clone(),
            place,
            client,
            is_reserved: short,
            is_evicted: AtomicBool::new(false),
            in_body: AtomicBool::new(false),
            has_conflicting_lengths: AtomicBool::new(false),
            waker: Mutex::default(),
        }));
        state.slots.insert(place, pass.clone());
        Some(pass)
    }

    /// Whether a new connection should wait: all places are in use, including the reserved ones, and no connection is
    /// idle.
    pub(crate) fn should_wait(&self) -> bool {
        let mut state = self.0.lock();
        let held = |client| self.0.holders.connections_of(client);
        state.slots.len() >= self.0.limit + RESERVED
            && state.table.eviction_candidate(ConnectionScope::All, self.elapsed(), held).is_none()
    }

    fn evict_idle(&self, state: &mut ApiSlotState, place: ConnectionHandle) {
        self.0.counts.record_eviction(self.0.listener);
        let Some(pass) = state.slots.remove(&place) else { return };
        state.table.remove(place);
        if let Some(client) = pass.0.client {
            self.0.holders.remove(client);
        }
        // Stored before the waker is taken; `poll_evicted` leaves its waker before its last load.
        pass.0.is_evicted.store(true, Ordering::Release);
        let waker = pass.0.waker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn elapsed(&self) -> MonotonicTime {
        MonotonicTime(0) + self.0.started_at.elapsed()
    }
}

impl ApiSlotTable {
    fn lock(&self) -> MutexGuard<'_, ApiSlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionSlot {
    /// Sets the connection's phase.
    pub(crate) fn set_phase(&self, phase: AdmissionPhase) {
        let places = &self.0.slots;
        places.0.lock().table.set_phase(self.0.place, phase, places.elapsed());
    }

    pub(crate) fn phase(&self) -> Option<AdmissionPhase> {
        self.0.slots.0.lock().table.phase(self.0.place)
    }

    /// A request has come; with its body, if it has any, it is one that is carried out.
    pub(crate) fn begin_request(&self, whole: bool) {
        // Here and below, Release pairs with the Acquire loads, whose callers may run on another thread.
        self.0.in_body.store(!whole, Ordering::Release);
        match self.phase() {
            _ if whole => self.set_phase(AdmissionPhase::Busy),
            // It has done something just now.
            Some(AdmissionPhase::Idle) => self.set_phase(AdmissionPhase::Idle),
            _ => {}
        }
    }

    fn end_request(&self) {
        self.0.in_body.store(false, Ordering::Release);
        self.set_phase(AdmissionPhase::Idle);
    }

    /// Whether a body is awaited.
    pub(crate) fn is_in_body(&self) -> bool {
        self.0.in_body.load(Ordering::Acquire)
    }

    /// Marks a head with both Content-Length and Transfer-Encoding.
    pub(crate) fn mark_conflicting_lengths(&self) {
        self.0.has_conflicting_lengths.store(true, Ordering::Release);
    }

    pub(crate) fn has_conflicting_lengths(&self) -> bool {
        self.0.has_conflicting_lengths.load(Ordering::Acquire)
    }

    /// Whether it has one of the reserved places.
    pub(crate) fn is_reserved(&self) -> bool {
        self.0.is_reserved
    }

    /// Whether it has lost its place; if not, this waker is woken when it does.
    pub(crate) fn poll_evicted(&self, waker: &Waker) -> bool {
        if !self.0.is_evicted.load(Ordering::Acquire) {
            let mut kept = self.0.waker.lock().unwrap_or_else(PoisonError::into_inner);
            if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
                *kept = Some(waker.clone());
            }
        }
        // It may have lost it meanwhile.
        self.0.is_evicted.load(Ordering::Acquire)
    }

    /// Its connection has ended.
    pub(crate) fn release(&self) {
        let shared = &self.0.slots.0;
        let mut state = shared.lock();
        if state.slots.remove(&self.0.place).is_some() {
            state.table.remove(self.0.place);
            if let Some(client) = self.0.client {
                shared.holders.remove(client);
            }
        }
    }
}

impl fmt::Debug for ConnectionSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pass({:?})", self.0.place)
    }
}

/// Marks a complete request as pending until its response begins: its connection is not evicted meanwhile.
pub(crate) async fn track_request(
    ConnectInfo(pass): ConnectInfo<ConnectionSlot>,
    request: Request,
    next: Next,
) -> Response {
    let whole = request.body().is_end_stream();
    pass.begin_request(whole);
    let of = pass.clone();
    let request = if whole {
        request
    } else {
        request.map(|inner| Body::new(TrackedBody { body: inner, slot: of }))
    };
    let answer = next.run(request).await;
    pass.end_request();
    answer
}

/// The body of a request, which is whole once this has been read to its end.
struct TrackedBody {
    body: Body,
    slot: ConnectionSlot,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        turn: &mut Turn<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(turn);
        let ended = matches!(polled, Poll::Ready(None)) || self.body.is_end_stream();
        if ended && self.slot.is_in_body() {
            self.slot.begin_request(true);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
