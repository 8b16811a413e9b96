//! A client's HTTP connection: one request after another until someone wants it closed.
//!
//! It reads heads, with their limits and times, and hands each request to `exchange`. Refusals of malformed
//! requests are answered here; everything about servers is elsewhere.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use model::cause::Cause;
use model::snapshot::ServiceView;
use wire::http1::{self, Defect};

use crate::account::Record;
use crate::after::After;
use crate::census::OpenConnection;
use crate::exchange::{self, Parties};
use crate::front;
use crate::incoming::{self, Incoming};
use crate::local::LocalService;
use crate::refuse::{self, Answer};
use crate::rt::{Expired, Net, Readiness, Rt};
use crate::said::Said;
use crate::stream::{Read, Stream};
use crate::worker::Worker;

/// How long the last bytes of a connection under TLS may wait for room.
const PARTING: Duration = Duration::from_secs(5);

/// Bytes read at a time while a head is expected.
const HEAD_READ: usize = 16 * 1024;

/// What came instead of a request.
enum Instead {
    /// Nothing: the client ended or went away between requests, or idled too long.
    Nothing,
    /// The client ended in the middle of a head.
    Cut,
    /// A head that took too long.
    TooSlow,
    /// Nothing whole until draining ended.
    Drained,
    /// A head that breaks a rule.
    Malformed(Defect),
}

/// Serves a connection to its end; `_open` counts it until then.
pub async fn serve<N: Net>(
    worker: Rc<Worker<N>>,
    client: Stream<N>,
    (peer, local): (SocketAddr, SocketAddr),
    service: Rc<LocalService<N>>,
    _open: OpenConnection,
) {
    client.mine();
    let Some(client) = front::open(&worker, client, peer, &service).await else { return };
    let mut held = Vec::new();
    let mut first = true;
    loop {
        if held.is_empty() && !idle(&worker, &client, &service, first).await {
            return;
        }
        first = false;
        let parties = Parties { worker: &worker, client: &client, peer, service: &service };
        // Boxed so that an idle connection costs no memory for it.
        let after = Box::pin(turn(parties, local, &mut held)).await;
        match after {
            After::Next if !service.gone.get() => {}
            After::Next | After::Close => return client.finish(worker.rt.now() + PARTING).await,
            After::Reset => return client.reset(),
            After::Linger => return refuse::linger(&worker, client).await,
        }
    }
}

/// Waits for the first byte of a request; false: none came in time.
async fn idle<N: Net>(
    worker: &Worker<N>,
    client: &Stream<N>,
    service: &LocalService<N>,
    first: bool,
) -> bool {
    if client.may_read() {
        return true;
    }
    let since = worker.rt.now();
    let _idle = worker.census.idle();
    let waited = client
        .until(|rt| {
            let view = service.view.borrow();
            let timeout = &view.config.timeout;
            let mut until = since + if first { timeout.header } else { timeout.idle };
            if worker.draining.get() || service.gone.get() {
                until = until.min(worker.idle_until.get().max(since));
            }
            rt.poll_ready(client.source(), Readiness::READ, until)
        })
        .await;
    if waited.is_err() {
        service.view.borrow().live.slots[worker.index].counters.idle_closed.add(1);
    }
    waited.is_ok()
}

/// One request, from its first byte to the end of its exchange.
async fn turn<N: Net>(parties: Parties<'_, N>, local: SocketAddr, held: &mut Vec<u8>) -> After {
    match next(&parties, local, held).await {
        Ok(Some((incoming, record))) => exchange::run(parties, incoming, held, record).await,
        Ok(None) => After::Next,
        Err(instead) => Box::pin(refuse_head(&parties, instead)).await,
    }
}

/// Reads the next request; `None`: not even a byte of it was there.
async fn next<N: Net>(
    parties: &Parties<'_, N>,
    local: SocketAddr,
    held: &mut Vec<u8>,
) -> Result<Option<(Incoming<N>, Record)>, Instead> {
    let Parties { worker, client, peer, service } = *parties;
    let began = worker.rt.now();
    let mut seen = 0;
    loop {
        let view = service.view.borrow().clone();
        if held.len() > seen {
            let limits = incoming::limits(&view.config);
            if http1::may_complete(held, seen, &limits) {
                let bytes = std::mem::take(held);
                match incoming::read(worker, &view.config, client, (peer, local), &bytes, held) {
                    Ok(Some(incoming)) => {
                        return Ok(Some((incoming, Record::begin(began, worker.rt.now()))));
                    }
                    Ok(None) => *held = bytes,
                    Err(defect) => return Err(Instead::Malformed(defect)),
                }
            }
            seen = held.len();
        }
        match fill(worker, client, &view, peer, local, held)? {
            Filled::Request(incoming, record) => return Ok(Some((incoming, record))),
            Filled::Some => {}
            Filled::Nothing if held.is_empty() => return Ok(None),
            Filled::Nothing => {
                let until = began + view.config.timeout.header;
                drop(view);
                let readable = |rt: &Rt<N>| {
                    let until = until.min(service.cut_at.get());
                    rt.poll_ready(client.source(), Readiness::READ, until)
                };
                client.until(readable).await.map_err(|Expired| {
                    let cut = worker.rt.now() >= service.cut_at.get();
                    if cut { Instead::Drained } else { Instead::TooSlow }
                })?;
            }
        }
    }
}

#[expect(
    clippy::large_enum_variant,
    reason = "it lives for a moment on the stack of the request's own box"
)]
enum Filled<N: Net> {
    /// A whole head came at once.
    Request(Incoming<N>, Record),
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
    peer: SocketAddr,
    local: SocketAddr,
    held: &mut Vec<u8>,
) -> Result<Filled<N>, Instead> {
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
    match incoming::read(worker, &view.config, client, (peer, local), bytes, held) {
        Ok(Some(incoming)) => {
            let now = worker.rt.look();
            Ok(Filled::Request(incoming, Record::begin(now, now)))
        }
        Ok(None) => {
            held.extend_from_slice(bytes);
            Ok(Filled::Some)
        }
        Err(defect) => Err(Instead::Malformed(defect)),
    }
}

/// Answers what was no request.
async fn refuse_head<N: Net>(parties: &Parties<'_, N>, instead: Instead) -> After {
    let Parties { worker, client, peer, service } = *parties;
    let view = service.view.borrow().clone();
    let slot = &view.live.slots[worker.index];
    let (cause, status) = match instead {
        Instead::Nothing => return After::Close,
        Instead::Cut => (Cause::ClientClosedRequest, 0),
        Instead::Drained => (Cause::DrainCut, 0),
        Instead::TooSlow => (Cause::ClientHeaderTimeout, Cause::ClientHeaderTimeout.status()),
        Instead::Malformed(defect) => {
            if let Some(count) = slot.defects.get(defect as usize) {
                count.add(1);
            }
            (cause_of(defect), defect.status())
        }
    };
    slot.counters.requests.add(1);
    let now = worker.rt.look();
    let mut record = Record::begin(now, now);
    record.cause = Some(cause);
    if let Instead::Malformed(defect) = instead {
        record.defect = Some(defect.name());
    }
    let mut after = After::Close;
    if status > 0 {
        let answer = Answer { status, cause, keep: false, head_only: false };
        after = refuse::answer(worker, client, &view, &answer, &mut record).await;
    }
    worker.close(&view, None, &mut record, &Said::nothing(peer, view.config.forward));
    if matches!(after, After::Next) { After::Linger } else { after }
}

fn cause_of(defect: Defect) -> Cause {
    match defect {
        Defect::HeadTooLarge | Defect::TooManyFields => Cause::HeadTooLarge,
        Defect::TargetTooLong => Cause::TargetTooLong,
        _ => Cause::BadRequest,
    }
}
