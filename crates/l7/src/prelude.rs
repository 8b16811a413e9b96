//! The header of the PROXY protocol before anything else that a client's connection says: who stands behind it.
//!
//! It is required of whom the service trusts, and believed of nobody else. Not one byte more than the header is read, so
//! that TLS, a request or a passing connection begins where the header ends.

use std::net::SocketAddr;
use std::task::Poll;

use model::admission::Phase;
use model::cause::Cause;
use model::config::{AcceptProxy, Others};
use model::snapshot::ServiceView;
use wire::proxy::{self, Header};

use crate::account::Record;
use crate::admission::OpenConnection;
use crate::local::LocalService;
use crate::rt::{Expired, Net, Readiness};
use crate::said::Said;
use crate::stream::{Read, Stream};
use crate::worker::Worker;

/// Both ends of a client's connection: the client's and ours.
type Ends = (SocketAddr, SocketAddr);

/// Why a connection is not served; `None`: its client left without a word.
type Refused = Option<(Cause, Option<&'static str>)>;

/// Reads the header where one is due, and says between whom the connection is; `None`: it is over, and its account
/// closed.
pub async fn open<N: Net>(
    worker: &Worker<N>,
    client: Stream<N>,
    ends: Ends,
    service: &LocalService<N>,
    open: &OpenConnection,
) -> Option<(Stream<N>, Ends)> {
    let view = service.view.borrow().clone();
    let Some(accept) = &view.config.accept_proxy else { return Some((client, ends)) };
    let told = match (accept.trusts(ends.0.ip()), accept.others) {
        // Boxed so that what follows keeps no room for it.
        (true, _) => Box::pin(header(worker, &client, accept, service, open)).await,
        (false, Others::Plain) => return Some((client, ends)),
        (false, Others::Refuse) => Err(Some((Cause::ProxyUntrusted, None))),
    };
    match told {
        Ok(header) => {
            view.live.slots[worker.index].counters.proxy_headers.add(1);
            open.set(Phase::Fresh, worker.rt.now());
            let Some(behind) = behind(&header) else { return Some((client, ends)) };
            if let Err(cause) = open.rename(&worker.rt, &view, behind.0.ip()) {
                refuse(worker, &view, behind.0, cause, None);
                client.reset();
                return None;
            }
            Some((client, behind))
        }
        Err(refused) => {
            if let Some((cause, defect)) = refused {
                refuse(worker, &view, ends.0, cause, defect);
                client.reset();
            }
            None
        }
    }
}

/// Whom the header names.
fn behind(header: &Header) -> Option<Ends> {
    let plain = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
    header.ends.map(|ends| (plain(ends.source), plain(ends.destination)))
}

async fn header<N: Net>(
    worker: &Worker<N>,
    client: &Stream<N>,
    accept: &AcceptProxy,
    service: &LocalService<N>,
    open: &OpenConnection,
) -> Result<Header, Refused> {
    let until = worker.rt.now() + accept.time;
    let mut held = Vec::new();
    loop {
        let missing = match proxy::read(&held) {
            Ok(proxy::Read::Whole(header)) => return Ok(header),
            Ok(proxy::Read::Partial(missing)) => missing,
            Err(defect) => return Err(Some((Cause::ProxyHeader, Some(defect.name())))),
        };
        let before = held.len();
        held.resize(before + missing, 0);
        let got = client.try_read(&mut held[before..]);
        held.truncate(before + if let Read::Data(n) = got { n } else { 0 });
        match got {
            Read::Data(_) if before == 0 => open.set(Phase::Head, worker.rt.now()),
            Read::Data(_) => {}
            Read::End | Read::Failed(_) if held.is_empty() => return Err(None),
            Read::End => return Err(Some((Cause::ProxyHeader, Some("proxy-header-cut")))),
            Read::Failed(_) => return Err(Some((Cause::ClientReset, None))),
            Read::Later => {
                let waited = client.until(|rt| {
                    if open.is_given_up() {
                        return Poll::Ready(Err(Expired));
                    }
                    let until = until.min(service.cut_at.get());
                    rt.poll_ready(client.source(), Readiness::READ, until)
                });
                if waited.await.is_err() {
                    if open.is_given_up() {
                        return Err(None);
                    }
                    let cut = worker.rt.now() >= service.cut_at.get();
                    let late = if cut { Cause::DrainCut } else { Cause::ProxyHeaderTimeout };
                    return Err(Some((late, None)));
                }
            }
        }
    }
}

/// Closes the account of a connection that is not served.
fn refuse<N: Net>(
    worker: &Worker<N>,
    view: &ServiceView,
    peer: SocketAddr,
    cause: Cause,
    defect: Option<&'static str>,
) {
    view.live.slots[worker.index].counters.requests.add(1);
    let now = worker.rt.look();
    let mut record = Record::begin(now, now);
    (record.cause, record.defect) = (Some(cause), defect);
    worker.close(view, None, &mut record, &Said::nothing(peer, view.config.forward));
}
