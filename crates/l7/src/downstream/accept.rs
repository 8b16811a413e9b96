//! Listeners: admit client connections within the limits, and reject the others with a response or a reset.
//!
//! A closing listener first accepts every connection that is already established. Connections are served elsewhere.

mod pending_client;

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use model::cause::Cause;
use model::config::ForwardingMode;
use model::monotonic_time::MonotonicTime;
use model::snapshot::ServiceView;
use wire::http1::{self, ConnectionPersistence};

use crate::accounting::ExchangeRecord;
use crate::accounting::logged_request::LoggedRequest;
use crate::accounting::observer::PlaneObservation;
use crate::conn::stream::ProxyStream;
use crate::downstream::proxy_protocol::ConnectionAddresses;
use crate::downstream::{connection, tcp};
use crate::exchange::local_reply::{self, LocalReply};
use crate::rt::{AcceptedSocket, NetDriver, Readiness, TaskId};
use crate::servers::worker_state::LocalService;
use crate::worker::Worker;
use crate::worker::admission::{EvictionScope, OpenConnection};
use pending_client::PendingClient;

/// Most connections accepted in one turn, so that other tasks get a turn.
/// A backlog of the default length, 4,096, is accepted in 64 turns.
const ACCEPTS_PER_TURN: usize = 64;

/// Most rejected clients per worker that get time to read the response. Further ones are closed at once: rejected
/// clients must not use up the descriptors of admitted ones.
const MAX_REFUSING: u32 = 16;

/// Most clients per worker that wait for admission while other workers evict a connection. Meanwhile further clients
/// stay in the kernel's backlog, where they use no descriptor.
pub(crate) const MAX_PENDING: u32 = 64;

/// How long such a client waits at most.
/// Other workers look for requests every 100 ms, so two looks fit.
const PENDING_TIMEOUT: Duration = Duration::from_millis(250);

/// Pause after a full set of waiting clients; meanwhile connections stay in the kernel's backlog. Also the interval
/// between two attempts to admit a waiting client.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Pause after a failure for lack of descriptors.
/// Descriptors come free as connections end; epoll would report the listener without pause.
const DESCRIPTOR_BACKOFF: Duration = Duration::from_millis(20);

/// Bytes of each segment that the time stamps option takes (RFC 7323 §3.2); the kernel's segment size is without them.
const TIMESTAMP_BYTES: u32 = 12;

/// A closing listener accepts connections that are being established for this long: one or two round trips.
const CLOSING_GRACE: Duration = Duration::from_millis(200);

/// What a listener does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenerMode {
    Accept,
    /// Accept the established connections, then close.
    Finish,
    /// Close now: another process continues with the same socket.
    Drop,
}

/// A handle to a listener's task.
pub struct ListenerHandle {
    pub mode: Rc<Cell<ListenerMode>>,
    pub task: TaskId,
}

/// Accepts connections until `wanted` changes.
pub async fn listen<N: NetDriver>(
    worker: Rc<Worker<N>>,
    sock: N::Sock,
    local: SocketAddr,
    service: Rc<LocalService<N>>,
    wanted: Rc<Cell<ListenerMode>>,
) {
    let Ok(listener) = ProxyStream::<N>::new(&worker.rt, sock, false) else {
        worker.observer.observe(PlaneObservation::NoDescriptor { worker: worker.index });
        return;
    };
    listener.source().set(Readiness::READ);
    let mut closing = MonotonicTime::NEVER;
    loop {
        match wanted.get() {
            ListenerMode::Drop => return,
            ListenerMode::Finish if closing == MonotonicTime::NEVER => {
                closing = worker.rt.now() + CLOSING_GRACE;
                listener.refuse_handshakes();
            }
            _ => {}
        }
        match accept_batch(&worker, &listener, local, &service) {
            AcceptBatch::More => worker.rt.yield_now().await,
            AcceptBatch::Exhausted => {
                worker.rt.sleep_until(worker.rt.now() + DESCRIPTOR_BACKOFF).await
            }
            AcceptBatch::Full => worker.rt.sleep_until(worker.rt.now() + RETRY_INTERVAL).await,
            AcceptBatch::Empty if worker.rt.now() >= closing => return,
            AcceptBatch::Empty => {
                // A client, the deadline or an error ends the wait; the next pass of the loop checks which.
                let _ = listener
                    .poll_until(|rt| {
                        if wanted.get() != ListenerMode::Accept && closing == MonotonicTime::NEVER {
                            return std::task::Poll::Ready(Ok(()));
                        }
                        rt.poll_ready(listener.source(), Readiness::READ, closing)
                    })
                    .await;
            }
        }
    }
}

enum AcceptBatch {
    More,
    Empty,
    Exhausted,
    Full,
}

fn accept_batch<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    listener: &ProxyStream<N>,
    local: SocketAddr,
    service: &Rc<LocalService<N>>,
) -> AcceptBatch {
    for _ in 0..ACCEPTS_PER_TURN {
        if worker.pending_clients.get() >= MAX_PENDING {
            return AcceptBatch::Full;
        }
        match listener.accept() {
            Ok(AcceptedSocket { sock, peer }) if worker.spare.is_missing() => {
                refuse_without_descriptor(worker, &sock, peer, service);
            }
            Ok(AcceptedSocket { sock, peer }) if worker.rt.net.is_reserved_descriptor(&sock) => {
                report_descriptor_shortage(worker, service);
                refuse_without_descriptor(worker, &sock, peer, service);
            }
            Ok(AcceptedSocket { sock, peer }) => admit(worker, sock, peer, local, service),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                listener.source().clear(Readiness::READ);
                return AcceptBatch::Empty;
            }
            Err(error) => {
                if !is_descriptor_shortage(&error) {
                    let view = service.view.borrow().clone();
                    view.stats.slots[worker.index].counters.accept_failed.add(1);
                    continue;
                }
                report_descriptor_shortage(worker, service);
                return refuse_with_spare(worker, listener, service);
            }
        }
    }
    AcceptBatch::More
}

/// Counts and reports a client for which no descriptor was free.
fn report_descriptor_shortage<N: NetDriver>(worker: &Worker<N>, service: &LocalService<N>) {
    let view = service.view.borrow().clone();
    view.stats.slots[worker.index].counters.accept_no_descriptor.add(1);
    worker.observer.observe(PlaneObservation::NoDescriptor { worker: worker.index });
}

fn is_descriptor_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

/// Releases the spare descriptors briefly to accept one connection and reject it, so that its client is informed at
/// once.
fn refuse_with_spare<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    listener: &ProxyStream<N>,
    service: &Rc<LocalService<N>>,
) -> AcceptBatch {
    worker.spare.release();
    let next = match listener.accept() {
        Ok(AcceptedSocket { sock, peer }) => {
            refuse_without_descriptor(worker, &sock, peer, service);
            AcceptBatch::More
        }
        // The kernel reports a lack of descriptors even if no connection is waiting.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            listener.source().clear(Readiness::READ);
            AcceptBatch::Empty
        }
        Err(_) => AcceptBatch::Exhausted,
    };
    worker.spare.regain(&worker.rt.net);
    if worker.spare.is_missing() { AcceptBatch::Exhausted } else { next }
}

/// Rejects a connection because no descriptor is free.
fn refuse_without_descriptor<N: NetDriver>(
    worker: &Worker<N>,
    sock: &N::Sock,
    peer: SocketAddr,
    service: &LocalService<N>,
) {
    let view = service.view.borrow().clone();
    let slot = &view.stats.slots[worker.index].counters;
    slot.accepted.add(1);
    slot.closed.add(1);
    slot.refused.add(1);
    close_immediately(worker, sock, peer, &view, Cause::NoDescriptor);
}

fn admit<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    sock: N::Sock,
    peer: SocketAddr,
    local: SocketAddr,
    service: &Rc<LocalService<N>>,
) {
    let view = service.view.borrow().clone();
    view.stats.slots[worker.index].counters.accepted.add(1);
    if has_small_segments(worker, &sock, &view) {
        return reject_client(worker, sock, peer, service, Cause::SegmentsTooSmall);
    }
    let may_wait = worker.options.workers > 1;
    let eviction = if may_wait { EvictionScope::IdleOnly } else { EvictionScope::Any };
    match worker.admission.admit(&worker.rt, &view, Some(peer.ip()), eviction) {
        Ok(open) => {
            begin_connection(worker, sock, ConnectionAddresses::direct(peer, local), service, open);
        }
        Err(Cause::ConnectionLimit) if may_wait => {
            wait_for_admission(worker, sock, ConnectionAddresses::direct(peer, local), service);
        }
        Err(cause) => reject_client(worker, sock, peer, service, cause),
    }
}

/// Whether the client accepts only segments below the service's minimum.
fn has_small_segments<N: NetDriver>(
    worker: &Worker<N>,
    sock: &N::Sock,
    view: &ServiceView,
) -> bool {
    let Some(least) = view.config.socket.mss_min else { return false };
    let mss = worker.rt.net.counters(sock).map(|counters| counters.mss);
    mss.is_some_and(|mss| mss.saturating_add(TIMESTAMP_BYTES) < u32::from(least))
}

/// Waits for admission while other workers, which may have idle connections, are asked to evict one.
fn wait_for_admission<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    sock: N::Sock,
    addresses: ConnectionAddresses,
    service: &Rc<LocalService<N>>,
) {
    let worker = worker.clone();
    let service = service.clone();
    let mut waiting = PendingClient::new(&worker);
    worker.clone().rt.spawn(async move {
        let until = worker.rt.now() + PENDING_TIMEOUT;
        let admitted = loop {
            worker.rt.sleep_until(worker.rt.now() + RETRY_INTERVAL).await;
            let view = service.view.borrow().clone();
            let now = worker.rt.now();
            let eviction = if now < until { EvictionScope::IdleOnly } else { EvictionScope::Any };
            match worker.admission.admit(&worker.rt, &view, Some(addresses.peer.ip()), eviction) {
                Err(Cause::ConnectionLimit) if now < until => waiting.request_eviction(),
                over => break over,
            }
        };
        drop(waiting);
        match admitted {
            Ok(open) => begin_connection(&worker, sock, addresses, &service, open),
            Err(cause) => reject_client(&worker, sock, addresses.peer, &service, cause),
        }
    });
}

/// Starts serving an admitted connection.
fn begin_connection<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    sock: N::Sock,
    addresses: ConnectionAddresses,
    service: &Rc<LocalService<N>>,
    open: OpenConnection,
) {
    let view = service.view.borrow().clone();
    // For a wildcard listener the connection has the actual local address.
    let ConnectionAddresses { peer, local, .. } = addresses;
    let local = match local.ip().is_unspecified() {
        true => worker.rt.net.local_address(&sock).unwrap_or(local),
        false => local,
    };
    let Ok(client) = ProxyStream::new(&worker.rt, sock, true) else {
        view.stats.slots[worker.index].counters.accept_failed.add(1);
        return;
    };
    if !view.config.socket.delayed_ack {
        client.acknowledge_at_once(true);
    }
    let worker_ = worker.clone();
    let service_ = service.clone();
    let addresses = ConnectionAddresses::direct(peer, local);
    let now = worker.rt.now();
    match view.config.forward {
        ForwardingMode::Http => {
            worker.rt.spawn(connection::serve(worker_, client, addresses, now, service_, open))
        }
        // Forwarded packets never reach a listening socket.
        ForwardingMode::Tcp
        | ForwardingMode::Mac
        | ForwardingMode::Tunnel
        | ForwardingMode::Nat => {
            worker.rt.spawn(tcp::serve(worker_, client, addresses, now, service_, open))
        }
    };
}

/// Counts a client that is not admitted, and sends a response: 503 with the cause (`http`), or a reset (`tcp`, and causes
/// without a status).
fn reject_client<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    sock: N::Sock,
    peer: SocketAddr,
    service: &Rc<LocalService<N>>,
    cause: Cause,
) {
    let view = service.view.borrow().clone();
    let slot = &view.stats.slots[worker.index].counters;
    slot.refused.add(1);
    slot.closed.add(1);
    let is_answered = view.config.forward == ForwardingMode::Http && cause.status() != 0;
    if !is_answered || worker.refusing.get() >= MAX_REFUSING {
        return close_immediately(worker, &sock, peer, &view, cause);
    }
    let Ok(client) = ProxyStream::<N>::new(&worker.rt, sock, true) else { return };
    view.stats.slots[worker.index].counters.requests.add(1);
    let mut record = ExchangeRecord::begin(worker.rt.now(), worker.rt.now());
    record.cause = Some(cause);
    let worker_ = worker.clone();
    worker.refusing.set(worker.refusing.get() + 1);
    worker.rt.spawn(async move {
        client.attach_current_task();
        let answer =
            LocalReply { status: cause.status(), cause, keep_alive: false, head_only: false };
        local_reply::send_reply(&worker_, &client, &view, &answer, b"", &mut record).await;
        worker_.close(
            &view,
            None,
            &mut record,
            &LoggedRequest::unreadable(peer, view.config.forward),
        );
        local_reply::linger(&worker_, client).await;
        worker_.refusing.set(worker_.refusing.get() - 1);
    });
}

/// Sends a response to a client that is not admitted and closes without waiting. If the client has sent more than was
/// read, the close may cause a reset that discards the response.
fn close_immediately<N: NetDriver>(
    worker: &Worker<N>,
    sock: &N::Sock,
    peer: SocketAddr,
    view: &ServiceView,
    cause: Cause,
) {
    view.stats.slots[worker.index].counters.requests.add(1);
    let mut record = ExchangeRecord::begin(worker.rt.now(), worker.rt.now());
    record.cause = Some(cause);
    if view.config.forward == ForwardingMode::Http && cause.status() != 0 {
        record.status = cause.status();
        record.local_reply = true;
        let mut out = worker.buffers.take();
        let id = record.id(&worker.ids);
        http1::emit_local_reply(
            cause.status(),
            cause.name(),
            id.as_str(),
            b"",
            ConnectionPersistence::Close,
            false,
            &mut out,
        );
        // The client may be gone or its buffer full: it is rejected in either case.
        let _ = worker.rt.net.write(sock, &out, false);
        let _ = worker.rt.net.end(sock);
        worker.buffers.put(out);
    } else {
        worker.rt.net.reset_on_drop(sock);
    }
    worker.close(view, None, &mut record, &LoggedRequest::unreadable(peer, view.config.forward));
}
