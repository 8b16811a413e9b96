//! A client's HTTP connection: requests one after another until either side closes it, or HTTP/2.
//!
//! Heads are read here, within their limits and timeouts, and each request is handed to `exchange`. Malformed requests
//! are answered here; everything about servers is elsewhere.

use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use model::admission::AdmissionPhase;
use model::config::ClientHttp2Mode;
use model::monotonic_time::MonotonicTime;
use model::snapshot::ServiceView;
use wire::http1;

use crate::accounting::ConnectionSetup;
use crate::conn::client_peer::ClientPeer;
use crate::conn::stream::{ProxyStream, StreamReadResult};
use crate::downstream::downstream_tls;
use crate::downstream::http2::serve;
use crate::downstream::malformed_request::{self, RequestReadError};
use crate::downstream::proxy_protocol::{self, ConnectionAddresses, ProxiedClient};
use crate::exchange::disposition::ConnectionDisposition;
use crate::exchange::incoming_request::{self, IncomingRequest};
use crate::exchange::local_reply;
use crate::exchange::{ExchangeContext, HttpExchange};
use crate::rt::{DeadlineError, NetDriver, Readiness, WorkerRuntime};
use crate::servers::worker_state::LocalService;
use crate::worker::Worker;
use crate::worker::admission::OpenConnection;

/// How long the last bytes of a connection under TLS may wait to be sent.
/// Two retransmissions fit (1 + 2 s); a client that does not read loses its last bytes anyway.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes per read while a head is expected.
/// The largest record of TLS, and more than most heads.
const HEAD_READ: usize = 16 * 1024;

/// Serves a connection to its end; `open` counts it until then. State that an idle connection does not need is boxed.
pub fn serve<N: NetDriver>(
    worker: Rc<Worker<N>>,
    client: ProxyStream<N>,
    addresses: ConnectionAddresses,
    accepted: MonotonicTime,
    service: Rc<LocalService<N>>,
    open: OpenConnection,
) -> impl Future<Output = ()> {
    // Boxed: state that only the setup needs would otherwise take memory in every idle connection.
    let opened =
        Box::pin(accept_client(worker.clone(), client, addresses, accepted, service.clone(), open));
    async move {
        let Some(AcceptedClient { open, client_peer, setup, client }) = opened.await else {
            return;
        };
        let mut setup = Some(setup);
        let mut held = Vec::new();
        if detect_http2(&worker, &client, &service, &open, &mut held).await {
            return Box::pin(serve::serve(worker, client, client_peer, service, held, open)).await;
        }
        let mut first = true;
        loop {
            if held.is_empty() && !wait_for_request(&worker, &client, &service, &open, first).await
            {
                return;
            }
            first = false;
            let parties = ExchangeContext {
                worker: &worker,
                client: &client,
                client_peer: &client_peer,
                service: &service,
            };
            match Box::pin(serve_request(parties, &open, &mut held, &mut setup)).await {
                ConnectionDisposition::KeepAlive if !service.removed.get() => {}
                ConnectionDisposition::KeepAlive | ConnectionDisposition::Close => {
                    return Box::pin(client.finish(worker.rt.now() + CLOSE_TIMEOUT)).await;
                }
                ConnectionDisposition::Reset => return client.reset(),
                ConnectionDisposition::Linger => {
                    return Box::pin(local_reply::linger(&worker, client)).await;
                }
            }
        }
    }
}

/// A connection that is ready for requests. `serve` binds the fields in this order, so it drops `client` before `open`,
/// which counts the connection.
struct AcceptedClient<N: NetDriver> {
    open: OpenConnection,
    client_peer: Rc<ClientPeer>,
    setup: ConnectionSetup,
    client: ProxyStream<N>,
}

/// Reads the PROXY protocol header and performs the TLS handshake; `None`: the connection has ended.
async fn accept_client<N: NetDriver>(
    worker: Rc<Worker<N>>,
    client: ProxyStream<N>,
    addresses: ConnectionAddresses,
    accepted: MonotonicTime,
    service: Rc<LocalService<N>>,
    open: OpenConnection,
) -> Option<AcceptedClient<N>> {
    client.attach_current_task();
    open.set_task(worker.rt.current());
    let looked = worker.rt.now();
    let ProxiedClient { stream: client, addresses: ConnectionAddresses { peer, local, proxy } } =
        proxy_protocol::read_proxy_header(&worker, client, addresses, &service, &open).await?;
    let client = downstream_tls::accept_tls(&worker, client, peer, &service, &open).await?;
    let client_peer = Rc::new(ClientPeer::new(peer, local).behind_proxy(proxy));
    let tls = client.is_tls().then(|| worker.rt.now().since(looked));
    let accept = looked.since(accepted);
    let group = client.tls_group();
    Some(AcceptedClient {
        open,
        client_peer,
        setup: ConnectionSetup { accept, tls, group },
        client,
    })
}

/// Whether the client uses HTTP/2: by ALPN under TLS, or by its preface where the configuration allows it. Bytes read
/// for the detection are stored in `held`.
async fn detect_http2<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    service: &LocalService<N>,
    open: &OpenConnection,
    held: &mut Vec<u8>,
) -> bool {
    if client.is_tls() {
        return client.negotiated_http2().unwrap_or(false);
    }
    if service.view.borrow().config.http2.offer != ClientHttp2Mode::Always {
        return false;
    }
    let until = worker.rt.now() + service.view.borrow().config.timeout.header;
    // Boxed, so that the rest of the connection does not reserve memory for this.
    Box::pin(async move {
        // No HTTP/1 request starts like the preface, so a few bytes decide.
        while held.len() < serve::PREFACE.len() && serve::PREFACE.starts_with(held) {
            let mut room = [0; serve::PREFACE.len()];
            match client.try_read(&mut room) {
                StreamReadResult::Data(n) => {
                    held.extend_from_slice(&room[..n]);
                    open.set_phase(AdmissionPhase::Head, worker.rt.now());
                }
                StreamReadResult::WouldBlock if wait_readable(client, open, until).await => {}
                StreamReadResult::WouldBlock
                | StreamReadResult::End
                | StreamReadResult::Failed(_) => break,
            }
        }
        if !held.is_empty() {
            open.set_phase(AdmissionPhase::Busy, worker.rt.now());
        }
        held.starts_with(serve::PREFACE)
    })
    .await
}

/// Waits for more bytes. False: none arrived in time, or the connection is evicted.
async fn wait_readable<N: NetDriver>(
    client: &ProxyStream<N>,
    open: &OpenConnection,
    until: MonotonicTime,
) -> bool {
    let waited = client.poll_until(|rt| match open.is_evicted() {
        true => Poll::Ready(Err(DeadlineError)),
        false => rt.poll_ready(client.source(), Readiness::READ, until),
    });
    waited.await.is_ok()
}

/// Waits for the first byte of a request. False: none arrived in time, or the connection is evicted.
async fn wait_for_request<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    service: &LocalService<N>,
    open: &OpenConnection,
    first: bool,
) -> bool {
    if client.may_read() {
        if first {
            open.set_phase(AdmissionPhase::Busy, worker.rt.now());
        }
        return true;
    }
    let since = worker.rt.now();
    if !first {
        open.set_phase(AdmissionPhase::Idle, since);
    }
    let _idle = worker.gauges.count_idle();
    let waited = client
        .poll_until(|rt| {
            if open.is_evicted() {
                return Poll::Ready(Err(DeadlineError));
            }
            let view = service.view.borrow();
            let timeout = &view.config.timeout;
            let mut until = since + if first { timeout.header } else { timeout.idle };
            if worker.draining.get() || service.removed.get() {
                until = until.min(worker.idle_until.get().max(since));
            }
            rt.poll_ready(client.source(), Readiness::READ, until)
        })
        .await;
    open.set_phase(AdmissionPhase::Busy, worker.rt.now());
    if waited.is_err() && !open.is_evicted() {
        service.view.borrow().stats.slots[worker.index].counters.idle_closed.add(1);
    }
    waited.is_ok()
}

/// Serves one request, from its first byte to the end of its exchange.
async fn serve_request<N: NetDriver>(
    parties: ExchangeContext<'_, N>,
    open: &OpenConnection,
    held: &mut Vec<u8>,
    opening: &mut Option<ConnectionSetup>,
) -> ConnectionDisposition {
    // Filled in place: each return would copy the request.
    let mut came = None;
    match read_request(&parties, open, held, &mut came).await {
        Ok(began) => match came {
            Some(incoming) => {
                HttpExchange::begin(parties, incoming, began, opening.take()).run(held).await
            }
            None => ConnectionDisposition::KeepAlive,
        },
        Err(instead) => Box::pin(malformed_request::answer_malformed(&parties, instead)).await,
    }
}

/// Reads the next request into `came`, which stays empty if no byte was there. Returns when the first byte arrived.
async fn read_request<N: NetDriver>(
    parties: &ExchangeContext<'_, N>,
    open: &OpenConnection,
    held: &mut Vec<u8>,
    came: &mut Option<IncomingRequest<N>>,
) -> Result<MonotonicTime, RequestReadError> {
    let ExchangeContext { worker, client, client_peer: caller, service } = *parties;
    let began = worker.rt.now();
    let mut seen = 0;
    loop {
        let view = service.view.borrow().clone();
        if held.len() > seen {
            let limits = incoming_request::limits(&view.config);
            if http1::may_complete(held, seen, &limits) {
                let bytes = std::mem::take(held);
                match incoming_request::read(worker, &view, client, caller, &bytes, held) {
                    Ok(Some(incoming)) => {
                        *came = Some(incoming);
                        return Ok(began);
                    }
                    Ok(None) => *held = bytes,
                    Err(defect) => return Err(RequestReadError::malformed(defect, &bytes)),
                }
            }
            seen = held.len();
        }
        match read_available(worker, client, &view, caller, held, came)? {
            FillOutcome::Request => return Ok(worker.rt.now()),
            FillOutcome::Some => {}
            FillOutcome::Nothing if held.is_empty() => return Ok(began),
            FillOutcome::Nothing => {
                let until = began + view.config.timeout.header;
                drop(view);
                open.set_phase(AdmissionPhase::Head, began);
                let readable = |rt: &WorkerRuntime<N>| {
                    if open.is_evicted() {
                        return Poll::Ready(Err(DeadlineError));
                    }
                    let until = until.min(service.cut_at.get());
                    rt.poll_ready(client.source(), Readiness::READ, until)
                };
                client.poll_until(readable).await.map_err(|DeadlineError| {
                    let cut = worker.rt.now() >= service.cut_at.get();
                    if cut { RequestReadError::Drained } else { RequestReadError::TooSlow }
                })?;
                open.set_phase(AdmissionPhase::Busy, worker.rt.now());
            }
        }
    }
}

enum FillOutcome {
    /// A complete head arrived in one read.
    Request,
    /// Some bytes arrived; they are stored in `held`.
    Some,
    Nothing,
}

/// Reads the available bytes. A complete head in one piece is parsed in the scratch buffer, without a copy.
fn read_available<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    view: &ServiceView,
    caller: &ClientPeer,
    held: &mut Vec<u8>,
    came: &mut Option<IncomingRequest<N>>,
) -> Result<FillOutcome, RequestReadError> {
    let mut scratch = worker.scratch.borrow_mut();
    let n = match client.try_read(&mut scratch.input[..HEAD_READ]) {
        StreamReadResult::Data(n) => n,
        StreamReadResult::WouldBlock => return Ok(FillOutcome::Nothing),
        StreamReadResult::End | StreamReadResult::Failed(_) if held.is_empty() => {
            return Err(RequestReadError::Empty);
        }
        StreamReadResult::End | StreamReadResult::Failed(_) => {
            return Err(RequestReadError::Truncated);
        }
    };
    let bytes = &scratch.input[..n];
    if !held.is_empty() {
        held.extend_from_slice(bytes);
        return Ok(FillOutcome::Some);
    }
    match incoming_request::read(worker, view, client, caller, bytes, held) {
        Ok(Some(incoming)) => {
            *came = Some(incoming);
            worker.rt.update_now();
            Ok(FillOutcome::Request)
        }
        Ok(None) => {
            held.extend_from_slice(bytes);
            Ok(FillOutcome::Some)
        }
        Err(defect) => Err(RequestReadError::malformed(defect, bytes)),
    }
}
