//! Listeners: admit connections within the limits, refuse the rest so that clients know.
//!
//! A listener that is being closed first takes everything that has already been established. It serves nothing.

use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use model::cause::Cause;
use model::config::Forward;
use model::moment::Moment;
use model::snapshot::ServiceView;
use wire::http1::{self, Persist};

use crate::account::Record;
use crate::admission::{Eviction, OpenConnection};
use crate::local::LocalService;
use crate::outside::Observation;
use crate::refuse::{self, Answer};
use crate::rt::{Net, Readiness, TaskId};
use crate::said::Said;
use crate::stream::Stream;
use crate::worker::Worker;
use crate::{connection, tcp};

/// Connections taken in one turn before others get theirs.
const BATCH: usize = 64;

/// Clients of a worker that are being refused with time to read why. Beyond that they are ended at once: a crowd
/// outside must not take the descriptors of those inside.
const REFUSING: u32 = 16;

/// Clients that wait for a place of other workers. Further ones stay with the kernel meanwhile, where they take no
/// descriptor.
pub(crate) const WAITING: u32 = 64;

/// How long they wait.
const PATIENCE: Duration = Duration::from_millis(250);

/// Between two attempts.
const STEP: Duration = Duration::from_millis(10);

/// After a failure for want of descriptors, look again this soon.
const BREATH: Duration = Duration::from_millis(20);

/// A closing listener takes what is being established for this long: a round trip or two.
const CLOSING: Duration = Duration::from_millis(200);

/// What is wanted of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Accept.
    Open,
    /// Accept what has been established, then close.
    Finish,
    /// Close now: another process goes on with the same socket.
    Drop,
}

/// A handle on a listener's task.
pub struct Listening {
    /// What is wanted.
    pub wanted: Rc<Cell<Wanted>>,
    /// Its task.
    pub task: TaskId,
}

/// Accepts until something else is wanted.
pub async fn listen<N: Net>(
    worker: Rc<Worker<N>>,
    sock: N::Sock,
    local: SocketAddr,
    service: Rc<LocalService<N>>,
    wanted: Rc<Cell<Wanted>>,
) {
    let Ok(listener) = Stream::<N>::new(&worker.rt, sock, false) else {
        worker.outside.observe(Observation::NoDescriptor { worker: worker.index });
        return;
    };
    listener.source().set(Readiness::READ);
    let mut closing = Moment::NEVER;
    loop {
        match wanted.get() {
            Wanted::Drop => return,
            Wanted::Finish if closing == Moment::NEVER => {
                closing = worker.rt.now() + CLOSING;
                listener.refuse_handshakes();
            }
            _ => {}
        }
        match batch(&worker, &listener, local, &service) {
            Batch::More => worker.rt.yield_now().await,
            Batch::Exhausted => worker.rt.sleep_until(worker.rt.now() + BREATH).await,
            Batch::Full => worker.rt.sleep_until(worker.rt.now() + STEP).await,
            Batch::Empty if worker.rt.now() >= closing => return,
            Batch::Empty => {
                let _ = listener
                    .until(|rt| {
                        if wanted.get() != Wanted::Open && closing == Moment::NEVER {
                            return std::task::Poll::Ready(Ok(()));
                        }
                        rt.poll_ready(listener.source(), Readiness::READ, closing)
                    })
                    .await;
            }
        }
    }
}

enum Batch {
    More,
    Empty,
    Exhausted,
    Full,
}

fn batch<N: Net>(
    worker: &Rc<Worker<N>>,
    listener: &Stream<N>,
    local: SocketAddr,
    service: &Rc<LocalService<N>>,
) -> Batch {
    for _ in 0..BATCH {
        if worker.waiting.get() >= WAITING {
            return Batch::Full;
        }
        match listener.accept() {
            Ok((sock, peer)) if worker.spare.is_missing() => {
                refuse_for_want(worker, &sock, peer, service);
            }
            Ok((sock, peer)) if worker.rt.net.kept_back(&sock) => {
                without_descriptor(worker, service);
                refuse_for_want(worker, &sock, peer, service);
            }
            Ok((sock, peer)) => admit(worker, sock, peer, local, service),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                listener.source().clear(Readiness::READ);
                return Batch::Empty;
            }
            Err(error) => {
                if !no_descriptor(&error) {
                    let view = service.view.borrow().clone();
                    view.live.slots[worker.index].counters.accept_failed.add(1);
                    continue;
                }
                without_descriptor(worker, service);
                return refuse_with_spare(worker, listener, service);
            }
        }
    }
    Batch::More
}

/// Counts and tells that a client came and there was no descriptor for it.
fn without_descriptor<N: Net>(worker: &Worker<N>, service: &LocalService<N>) {
    let view = service.view.borrow().clone();
    view.live.slots[worker.index].counters.accept_no_descriptor.add(1);
    worker.outside.observe(Observation::NoDescriptor { worker: worker.index });
}

fn no_descriptor(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

/// Gives up the spare descriptors for a moment to take one connection and end it, so that its client learns at once.
fn refuse_with_spare<N: Net>(
    worker: &Rc<Worker<N>>,
    listener: &Stream<N>,
    service: &Rc<LocalService<N>>,
) -> Batch {
    worker.spare.give_up();
    let next = match listener.accept() {
        Ok((sock, peer)) => {
            refuse_for_want(worker, &sock, peer, service);
            Batch::More
        }
        // Without descriptors the kernel says so even when nobody waits.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            listener.source().clear(Readiness::READ);
            Batch::Empty
        }
        Err(_) => Batch::Exhausted,
    };
    worker.spare.regain(&worker.rt.net);
    if worker.spare.is_missing() { Batch::Exhausted } else { next }
}

/// Refuses a connection for want of descriptors.
fn refuse_for_want<N: Net>(
    worker: &Worker<N>,
    sock: &N::Sock,
    peer: SocketAddr,
    service: &LocalService<N>,
) {
    let view = service.view.borrow().clone();
    let slot = &view.live.slots[worker.index].counters;
    slot.accepted.add(1);
    slot.closed.add(1);
    slot.refused.add(1);
    end_at_once(worker, sock, peer, &view, Cause::NoDescriptor);
}

fn admit<N: Net>(
    worker: &Rc<Worker<N>>,
    sock: N::Sock,
    peer: SocketAddr,
    local: SocketAddr,
    service: &Rc<LocalService<N>>,
) {
    let view = service.view.borrow().clone();
    view.live.slots[worker.index].counters.accepted.add(1);
    let may_wait = worker.options.workers > 1;
    let eviction = if may_wait { Eviction::Useless } else { Eviction::Any };
    match worker.admission.admit(&worker.rt, &view, Some(peer.ip()), eviction) {
        Ok(open) => begin(worker, sock, (peer, local), service, open),
        Err(Cause::ConnectionLimit) if may_wait => {
            wait(worker, sock, (peer, local), service);
        }
        Err(cause) => turn_away(worker, sock, peer, service, cause),
    }
}

/// Other workers may have connections that do nothing: they are asked for a place, for a while.
fn wait<N: Net>(
    worker: &Rc<Worker<N>>,
    sock: N::Sock,
    ends: (SocketAddr, SocketAddr),
    service: &Rc<LocalService<N>>,
) {
    let (worker, service) = (worker.clone(), service.clone());
    let mut waiting = Waiting::new(&worker);
    worker.clone().rt.spawn(async move {
        let until = worker.rt.now() + PATIENCE;
        let admitted = loop {
            worker.rt.sleep_until(worker.rt.now() + STEP).await;
            let (view, now) = (service.view.borrow().clone(), worker.rt.now());
            let eviction = if now < until { Eviction::Useless } else { Eviction::Any };
            match worker.admission.admit(&worker.rt, &view, Some(ends.0.ip()), eviction) {
                Err(Cause::ConnectionLimit) if now < until => waiting.looks(),
                over => break over,
            }
        };
        drop(waiting);
        match admitted {
            Ok(open) => begin(&worker, sock, ends, &service, open),
            Err(cause) => turn_away(&worker, sock, ends.0, &service, cause),
        }
    });
}

/// A client that waits for a place.
struct Waiting<N: Net> {
    worker: Rc<Worker<N>>,
    /// It is among those that want a place of any worker.
    wants: bool,
}

impl<N: Net> Waiting<N> {
    fn new(worker: &Rc<Worker<N>>) -> Waiting<N> {
        worker.waiting.set(worker.waiting.get() + 1);
        worker.eviction_requests.waiting.up();
        let mut waiting = Waiting { worker: worker.clone(), wants: false };
        waiting.looks();
        waiting
    }

    /// It was kept out once more: others are asked for a place where this worker has none to give.
    fn looks(&mut self) {
        let wants = self.worker.admission.found_no_victim();
        match (self.wants, wants) {
            (false, true) => _ = self.worker.eviction_requests.without_victim.up(),
            (true, false) => self.worker.eviction_requests.without_victim.down(),
            _ => {}
        }
        self.wants = wants;
    }
}

impl<N: Net> Drop for Waiting<N> {
    fn drop(&mut self) {
        if self.wants {
            self.worker.eviction_requests.without_victim.down();
        }
        self.worker.eviction_requests.waiting.down();
        self.worker.waiting.set(self.worker.waiting.get() - 1);
    }
}

/// A connection that has its place is served.
fn begin<N: Net>(
    worker: &Rc<Worker<N>>,
    sock: N::Sock,
    (peer, local): (SocketAddr, SocketAddr),
    service: &Rc<LocalService<N>>,
    open: OpenConnection,
) {
    let view = service.view.borrow().clone();
    // Of every address only the connection knows the one that was meant.
    let local = match local.ip().is_unspecified() {
        true => worker.rt.net.local(&sock).unwrap_or(local),
        false => local,
    };
    let Ok(client) = Stream::new(&worker.rt, sock, true) else {
        view.live.slots[worker.index].counters.accept_failed.add(1);
        return;
    };
    let (worker_, service_, now) = (worker.clone(), service.clone(), worker.rt.now());
    match view.config.forward {
        Forward::Http => {
            worker.rt.spawn(connection::serve(worker_, client, (peer, local, now), service_, open))
        }
        // Forwarded packets never reach a socket of ours.
        Forward::Tcp | Forward::Mac | Forward::Tunnel | Forward::Nat => {
            worker.rt.spawn(tcp::serve(worker_, client, (peer, local, now), service_, open))
        }
    };
}

/// Counts and tells a client that it is not let in: 503 with the cause (`http`), a reset (`tcp`).
fn turn_away<N: Net>(
    worker: &Rc<Worker<N>>,
    sock: N::Sock,
    peer: SocketAddr,
    service: &Rc<LocalService<N>>,
    cause: Cause,
) {
    let view = service.view.borrow().clone();
    let slot = &view.live.slots[worker.index].counters;
    slot.refused.add(1);
    slot.closed.add(1);
    if view.config.forward != Forward::Http || worker.refusing.get() >= REFUSING {
        return end_at_once(worker, &sock, peer, &view, cause);
    }
    let Ok(client) = Stream::<N>::new(&worker.rt, sock, true) else { return };
    view.live.slots[worker.index].counters.requests.add(1);
    let mut record = Record::begin(worker.rt.now(), worker.rt.now());
    record.cause = Some(cause);
    let worker_ = worker.clone();
    worker.refusing.set(worker.refusing.get() + 1);
    worker.rt.spawn(async move {
        client.mine();
        let answer = Answer { status: cause.status(), cause, keep: false, head_only: false };
        refuse::answer(&worker_, &client, &view, &answer, &mut record).await;
        worker_.close(&view, None, &mut record, &Said::nothing(peer, view.config.forward));
        refuse::linger(&worker_, client).await;
        worker_.refusing.set(worker_.refusing.get() - 1);
    });
}

/// Tells a client that is not admitted, and waits for nothing: closing follows, which may overtake the answer to a
/// client that has sent more than we read.
fn end_at_once<N: Net>(
    worker: &Worker<N>,
    sock: &N::Sock,
    peer: SocketAddr,
    view: &ServiceView,
    cause: Cause,
) {
    view.live.slots[worker.index].counters.requests.add(1);
    let mut record = Record::begin(worker.rt.now(), worker.rt.now());
    record.cause = Some(cause);
    if view.config.forward == Forward::Http {
        (record.status, record.by_us) = (cause.status(), true);
        let mut out = worker.buffers.take();
        let id = record.id(&worker.ids);
        http1::emit_error(
            cause.status(),
            cause.name(),
            id.as_str(),
            Persist::Close,
            false,
            &mut out,
        );
        // The client may be gone or its buffer full: it is refused either way.
        let _ = worker.rt.net.write(sock, &out, false);
        let _ = worker.rt.net.end(sock);
        worker.buffers.give(out);
    } else {
        worker.rt.net.reset_on_drop(sock);
    }
    worker.close(view, None, &mut record, &Said::nothing(peer, view.config.forward));
}
