//! The PROXY protocol header at the start of a client's connection, with the addresses of the original client.
//!
//! Trusted peers must send it; from other peers it is not accepted. No byte beyond the header is read, so that TLS, a
//! request or a passed-through connection starts right after the header.

use std::net::SocketAddr;
use std::task::Poll;

use model::admission::AdmissionPhase;
use model::cause::Cause;
use model::config::{AcceptProxyConfig, UntrustedPeerPolicy};
use model::snapshot::ServiceView;
use wire::proxy_protocol::{self, ProxyProtocolHeader};

use crate::accounting::ExchangeRecord;
use crate::accounting::logged_request::LoggedRequest;
use crate::conn::stream::{ProxyStream, StreamReadResult};
use crate::rt::{DeadlineError, NetDriver, Readiness};
use crate::servers::worker_state::LocalService;
use crate::worker::Worker;
use crate::worker::admission::OpenConnection;

/// The addresses of a client's connection: the client's and the balancer's.
#[derive(Clone, Copy)]
pub struct ConnectionAddresses {
    pub peer: SocketAddr,
    pub local: SocketAddr,
    /// The peer of the connection, where a header named the client.
    pub proxy: Option<SocketAddr>,
}

impl ConnectionAddresses {
    /// Those of a connection whose peer is the client.
    pub fn direct(peer: SocketAddr, local: SocketAddr) -> ConnectionAddresses {
        ConnectionAddresses { peer, local, proxy: None }
    }
}

/// A client's connection after the header, if it has one.
pub struct ProxiedClient<N: NetDriver> {
    pub stream: ProxyStream<N>,
    pub addresses: ConnectionAddresses,
}

/// Why a connection is not served.
struct ProxyHeaderRefusal {
    cause: Cause,
    /// The name of the header's defect, for the log.
    defect: Option<&'static str>,
}

impl ProxyHeaderRefusal {
    const fn new(cause: Cause) -> ProxyHeaderRefusal {
        ProxyHeaderRefusal { cause, defect: None }
    }

    const fn malformed(defect: &'static str) -> ProxyHeaderRefusal {
        ProxyHeaderRefusal { cause: Cause::ProxyHeader, defect: Some(defect) }
    }
}

/// Reads the header if the service expects one, and returns the addresses of the connection. `None`: the connection has
/// ended, and its record is closed.
pub async fn read_proxy_header<N: NetDriver>(
    worker: &Worker<N>,
    client: ProxyStream<N>,
    ends: ConnectionAddresses,
    service: &LocalService<N>,
    open: &OpenConnection,
) -> Option<ProxiedClient<N>> {
    let view = service.view.borrow().clone();
    let direct = |stream| Some(ProxiedClient { stream, addresses: ends });
    let Some(accept) = &view.config.accept_proxy else { return direct(client) };
    let header = match (accept.trusts(ends.peer.ip()), accept.others) {
        // Boxed, so that the rest of the connection does not reserve memory for this.
        (true, _) => Box::pin(read_header(worker, &client, accept, service, open)).await,
        (false, UntrustedPeerPolicy::Plain) => return direct(client),
        (false, UntrustedPeerPolicy::Refuse) => {
            Err(Some(ProxyHeaderRefusal::new(Cause::ProxyUntrusted)))
        }
    };
    match header {
        Ok(header) => {
            view.stats.slots[worker.index].counters.proxy_headers.add(1);
            open.set_phase(AdmissionPhase::Fresh, worker.rt.now());
            let Some(behind) = header_addresses(&header, ends.peer) else { return direct(client) };
            if let Err(cause) = open.change_client(&worker.rt, &view, behind.peer.ip()) {
                refuse_connection(worker, &view, behind.peer, cause, None);
                client.reset();
                return None;
            }
            Some(ProxiedClient { stream: client, addresses: behind })
        }
        Err(refused) => {
            if let Some(ProxyHeaderRefusal { cause, defect }) = refused {
                refuse_connection(worker, &view, ends.peer, cause, defect);
                client.reset();
            }
            None
        }
    }
}

/// The addresses in the header.
fn header_addresses(
    header: &ProxyProtocolHeader,
    proxy: SocketAddr,
) -> Option<ConnectionAddresses> {
    let plain = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
    header.addresses.map(|ends| ConnectionAddresses {
        peer: plain(ends.source),
        local: plain(ends.destination),
        proxy: Some(proxy),
    })
}

/// Reads the header.
///
/// # Errors
/// Why the connection is not served; `None`: the client left without sending anything.
async fn read_header<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    accept: &AcceptProxyConfig,
    service: &LocalService<N>,
    open: &OpenConnection,
) -> Result<ProxyProtocolHeader, Option<ProxyHeaderRefusal>> {
    let until = worker.rt.now() + accept.time;
    let mut held = Vec::new();
    loop {
        let missing = match proxy_protocol::read_header(&held) {
            Ok(proxy_protocol::ProxyHeaderResult::Complete(header)) => return Ok(header),
            Ok(proxy_protocol::ProxyHeaderResult::Partial(missing)) => missing,
            Err(defect) => return Err(Some(ProxyHeaderRefusal::malformed(defect.name()))),
        };
        let before = held.len();
        held.resize(before + missing, 0);
        let got = client.try_read(&mut held[before..]);
        held.truncate(before + if let StreamReadResult::Data(n) = got { n } else { 0 });
        match got {
            StreamReadResult::Data(_) if before == 0 => {
                open.set_phase(AdmissionPhase::Head, worker.rt.now())
            }
            StreamReadResult::Data(_) => {}
            StreamReadResult::End | StreamReadResult::Failed(_) if held.is_empty() => {
                return Err(None);
            }
            StreamReadResult::End => {
                return Err(Some(ProxyHeaderRefusal::malformed("proxy-header-cut")));
            }
            StreamReadResult::Failed(_) => {
                return Err(Some(ProxyHeaderRefusal::new(Cause::ClientReset)));
            }
            StreamReadResult::WouldBlock => {
                let waited = client.poll_until(|rt| {
                    if open.is_evicted() {
                        return Poll::Ready(Err(DeadlineError));
                    }
                    let until = until.min(service.cut_at.get());
                    rt.poll_ready(client.source(), Readiness::READ, until)
                });
                if waited.await.is_err() {
                    if open.is_evicted() {
                        return Err(None);
                    }
                    let cut = worker.rt.now() >= service.cut_at.get();
                    let late = if cut { Cause::DrainCut } else { Cause::ProxyHeaderTimeout };
                    return Err(Some(ProxyHeaderRefusal::new(late)));
                }
            }
        }
    }
}

/// Closes the record of a connection that is not served.
fn refuse_connection<N: NetDriver>(
    worker: &Worker<N>,
    view: &ServiceView,
    peer: SocketAddr,
    cause: Cause,
    defect: Option<&'static str>,
) {
    view.stats.slots[worker.index].counters.requests.add(1);
    let now = worker.rt.update_now();
    let mut record = ExchangeRecord::begin(now, now);
    record.cause = Some(cause);
    record.defect = defect;
    worker.close(view, None, &mut record, &LoggedRequest::unreadable(peer, view.config.forward));
}
