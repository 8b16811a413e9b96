//! A client's HTTP connection: one request after another until someone wants it closed, or HTTP/2 from its first byte.
//!
//! It reads heads, with their limits and times, and hands each request to `exchange`. Refusals of malformed
//! requests are answered here; everything about servers is elsewhere.

use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use model::admission::Phase;
use model::config::Offer;
use model::moment::Moment;
use model::snapshot::ServiceView;
use wire::http1;

use crate::account::Opening;
use crate::admission::OpenConnection;
use crate::after::After;
use crate::caller::Caller;
use crate::exchange::{Exchange, Parties};
use crate::front;
use crate::http2::serve;
use crate::incoming::{self, Incoming};
use crate::local::LocalService;
use crate::misread::{self, Instead};
use crate::prelude;
use crate::refuse;
use crate::rt::{Expired, Net, Readiness, Rt};
use crate::stream::{Read, Stream};
use crate::worker::Worker;

/// How long the last bytes of a connection under TLS may wait for room.
const PARTING: Duration = Duration::from_secs(5);

/// Bytes read at a time while a head is expected.
const HEAD_READ: usize = 16 * 1024;

/// Serves a connection to its end; `open` counts it until then. What an idle connection does not need is boxed.
pub fn serve<N: Net>(
    worker: Rc<Worker<N>>,
    client: Stream<N>,
    ends: (SocketAddr, SocketAddr, Moment),
    service: Rc<LocalService<N>>,
    open: OpenConnection,
) -> impl Future<Output = ()> {
    // What is only needed to begin is kept there alone: an idle connection would keep room for it.
    let opened = Box::pin(opened(worker.clone(), client, ends, service.clone(), open));
    async move {
        let Some(Opened { open, caller, opening, client }) = opened.await else { return };
        let mut opening = Some(opening);
        let mut held = Vec::new();
        if speaks_http2(&worker, &client, &service, &open, &mut held).await {
            return Box::pin(serve::serve(worker, client, caller, service, held, open)).await;
        }
        let mut first = true;
        loop {
            if held.is_empty() && !idle(&worker, &client, &service, &open, first).await {
                return;
            }
            first = false;
            let parties =
                Parties { worker: &worker, client: &client, caller: &caller, service: &service };
            match Box::pin(turn(parties, &open, &mut held, &mut opening)).await {
                After::Next if !service.gone.get() => {}
                After::Next | After::Close => {
                    return Box::pin(client.finish(worker.rt.now() + PARTING)).await;
                }
                After::Reset => return client.reset(),
                After::Linger => return Box::pin(refuse::linger(&worker, client)).await,
            }
        }
    }
}

/// A connection that can carry requests. The client goes before the count of its connection does.
struct Opened<N: Net> {
    open: OpenConnection,
    caller: Rc<Caller>,
    opening: Opening,
    client: Stream<N>,
}

/// Who stands behind a connection and what it is sealed with; `None`: it has ended.
async fn opened<N: Net>(
    worker: Rc<Worker<N>>,
    client: Stream<N>,
    (peer, local, accepted): (SocketAddr, SocketAddr, Moment),
    service: Rc<LocalService<N>>,
    open: OpenConnection,
) -> Option<Opened<N>> {
    client.mine();
    open.belongs_to(worker.rt.current());
    let looked = worker.rt.now();
    let (client, (peer, local)) =
        prelude::open(&worker, client, (peer, local), &service, &open).await?;
    let client = front::open(&worker, client, peer, &service, &open).await?;
    let caller = Rc::new(Caller::new(peer, local));
    let tls = client.is_sealed().then(|| worker.rt.now().since(looked));
    let (accept, group) = (looked.since(accepted), client.tls_group());
    Some(Opened { open, caller, opening: Opening { accept, tls, group }, client })
}

/// Whether the client speaks HTTP/2: agreed on under TLS, or by its preface where that is configured. Bytes that were
/// read to find out go to `held`.
async fn speaks_http2<N: Net>(
    worker: &Worker<N>,
    client: &Stream<N>,
    service: &LocalService<N>,
    open: &OpenConnection,
    held: &mut Vec<u8>,
) -> bool {
    if client.is_sealed() {
        return client.agreed_on_http2().unwrap_or(false);
    }
    if service.view.borrow().config.http2.offer != Offer::Always {
        return false;
    }
    let until = worker.rt.now() + service.view.borrow().config.timeout.header;
    // Boxed so that what follows keeps no room for it.
    Box::pin(async move {
        // No request of HTTP/1 begins as the preface does, so that few bytes tell.
        while held.len() < serve::PREFACE.len() && serve::PREFACE.starts_with(held) {
            let mut room = [0; serve::PREFACE.len()];
            match client.try_read(&mut room) {
                Read::Data(n) => {
                    held.extend_from_slice(&room[..n]);
                    open.set(Phase::Head, worker.rt.now());
                }
                Read::Later if readable(client, open, until).await => {}
                Read::Later | Read::End | Read::Failed(_) => break,
            }
        }
        if !held.is_empty() {
            open.set(Phase::Busy, worker.rt.now());
        }
        held.starts_with(serve::PREFACE)
    })
    .await
}

/// Waits for more; false: none came in time, or the connection is given up.
async fn readable<N: Net>(client: &Stream<N>, open: &OpenConnection, until: Moment) -> bool {
    let waited = client.until(|rt| match open.is_given_up() {
        true => Poll::Ready(Err(Expired)),
        false => rt.poll_ready(client.source(), Readiness::READ, until),
    });
    waited.await.is_ok()
}

/// Waits for the first byte of a request; false: none came in time, or the connection is given up.
async fn idle<N: Net>(
    worker: &Worker<N>,
    client: &Stream<N>,
    service: &LocalService<N>,
    open: &OpenConnection,
    first: bool,
) -> bool {
    if client.may_read() {
        if first {
            open.set(Phase::Busy, worker.rt.now());
        }
        return true;
    }
    let since = worker.rt.now();
    if !first {
        open.set(Phase::Idle, since);
    }
    let _idle = worker.census.idle();
    let waited = client
        .until(|rt| {
            if open.is_given_up() {
                return Poll::Ready(Err(Expired));
            }
            let view = service.view.borrow();
            let timeout = &view.config.timeout;
            let mut until = since + if first { timeout.header } else { timeout.idle };
            if worker.draining.get() || service.gone.get() {
                until = until.min(worker.idle_until.get().max(since));
            }
            rt.poll_ready(client.source(), Readiness::READ, until)
        })
        .await;
    open.set(Phase::Busy, worker.rt.now());
    if waited.is_err() && !open.is_given_up() {
        service.view.borrow().live.slots[worker.index].counters.idle_closed.add(1);
    }
    waited.is_ok()
}

/// One request, from its first byte to the end of its exchange.
async fn turn<N: Net>(
    parties: Parties<'_, N>,
    open: &OpenConnection,
    held: &mut Vec<u8>,
    opening: &mut Option<Opening>,
) -> After {
    // Filled in where it stays: a request is some hundred bytes, which each step would copy.
    let mut came = None;
    match next(&parties, open, held, &mut came).await {
        Ok(began) => match came {
            Some(incoming) => {
                Exchange::begin(parties, incoming, began, opening.take()).run(held).await
            }
            None => After::Next,
        },
        Err(instead) => Box::pin(misread::refuse(&parties, instead)).await,
    }
}

/// Reads the next request into `came`, unless not even a byte of it was there; when its first byte was there.
async fn next<N: Net>(
    parties: &Parties<'_, N>,
    open: &OpenConnection,
    held: &mut Vec<u8>,
    came: &mut Option<Incoming<N>>,
) -> Result<Moment, Instead> {
    let Parties { worker, client, caller, service } = *parties;
    let began = worker.rt.now();
    let mut seen = 0;
    loop {
        let view = service.view.borrow().clone();
        if held.len() > seen {
            let limits = incoming::limits(&view.config);
            if http1::may_complete(held, seen, &limits) {
                let bytes = std::mem::take(held);
                match incoming::read(worker, &view.config, client, caller, &bytes, held) {
                    Ok(Some(incoming)) => {
                        *came = Some(incoming);
                        return Ok(began);
                    }
                    Ok(None) => *held = bytes,
                    Err(defect) => return Err(Instead::malformed(defect, &bytes)),
                }
            }
            seen = held.len();
        }
        match fill(worker, client, &view, caller, held, came)? {
            Filled::Request => return Ok(worker.rt.now()),
            Filled::Some => {}
            Filled::Nothing if held.is_empty() => return Ok(began),
            Filled::Nothing => {
                let until = began + view.config.timeout.header;
                drop(view);
                open.set(Phase::Head, began);
                let readable = |rt: &Rt<N>| {
                    if open.is_given_up() {
                        return Poll::Ready(Err(Expired));
                    }
                    let until = until.min(service.cut_at.get());
                    rt.poll_ready(client.source(), Readiness::READ, until)
                };
                client.until(readable).await.map_err(|Expired| {
                    let cut = worker.rt.now() >= service.cut_at.get();
                    if cut { Instead::Drained } else { Instead::TooSlow }
                })?;
                open.set(Phase::Busy, worker.rt.now());
            }
        }
    }
}

enum Filled {
    /// A whole head came at once, now.
    Request,
    /// Some bytes, now in `held`.
    Some,
    /// Nothing now.
    Nothing,
}

/// Reads what is there. A whole head in one piece is taken from the scratch buffer without a copy.
fn fill<N: Net>(
    worker: &Worker<N>,
    client: &Stream<N>,
    view: &ServiceView,
    caller: &Caller,
    held: &mut Vec<u8>,
    came: &mut Option<Incoming<N>>,
) -> Result<Filled, Instead> {
    let mut scratch = worker.scratch.borrow_mut();
    let n = match client.try_read(&mut scratch.input[..HEAD_READ]) {
        Read::Data(n) => n,
        Read::Later => return Ok(Filled::Nothing),
        Read::End | Read::Failed(_) if held.is_empty() => return Err(Instead::Nothing),
        Read::End | Read::Failed(_) => return Err(Instead::Cut),
    };
    let bytes = &scratch.input[..n];
    if !held.is_empty() {
        held.extend_from_slice(bytes);
        return Ok(Filled::Some);
    }
    match incoming::read(worker, &view.config, client, caller, bytes, held) {
        Ok(Some(incoming)) => {
            *came = Some(incoming);
            worker.rt.look();
            Ok(Filled::Request)
        }
        Ok(None) => {
            held.extend_from_slice(bytes);
            Ok(Filled::Some)
        }
        Err(defect) => Err(Instead::malformed(defect, bytes)),
    }
}
