//! Makes one connection to a server: source address, TCP or a Unix socket, PROXY protocol header and TLS, and the cause
//! of a failure.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use model::cause::Cause;
use model::circuit_breaker::BreakerResource;
use model::config::{SendProxyVersion, ServerEndpoint, ServerHost, ServerHttp2Mode};
use model::monotonic_time::MonotonicTime;
use model::snapshot::PoolView;
use wire::proxy_protocol::{self, ProxiedAddresses, ProxyVersion};

use crate::conn::client_peer::ClientPeer;
use crate::conn::deadline::ExchangeDeadline;
use crate::conn::stream::ProxyStream;
use crate::conn::upstream_connection::{ConnectFailure, UpstreamConnection};
use crate::rt::socket;
use crate::rt::{ConnectTarget, DeadlineError, NetDriver, Readiness, WorkerRuntime};
use crate::servers::worker_state::{LocalPool, LocalServer};
use crate::upstream::circuit_breaker;
use crate::upstream::upstream_tls;
use crate::worker::Worker;

/// The server, the client and the time limits of a connection.
pub struct ConnectPlan<'a, N: NetDriver> {
    pub pool: &'a LocalPool<N>,
    /// The pool's view in the snapshot.
    pub view: &'a PoolView,
    pub server: &'a LocalServer<N>,
    pub client_peer: &'a ClientPeer,
    /// The deadline of the exchange.
    pub deadline: &'a ExchangeDeadline<'a, N>,
    /// The connect timeout.
    pub until: MonotonicTime,
    /// Which HTTP version to use.
    pub speak: ServerHttp2Mode,
}

/// Connects to the server of a plan.
///
/// # Errors
/// Why no connection was made.
pub async fn connect<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    way: ConnectPlan<'_, N>,
) -> Result<UpstreamConnection<N>, ConnectFailure> {
    let address = way.server.view.borrow().address.clone();
    let Some(to) = address else {
        let reason = unresolved(&way.server.view.borrow().config.address.host);
        return Err(ConnectFailure::new(Cause::NoServer, reason));
    };
    let mut connection = open(worker, &way, &to).await?;
    let ConnectPlan { view, server, client_peer, deadline, until, speak, .. } = way;
    let failed = |error: io::Error| connect_failure(worker, deadline, &to, &error);
    // On a short path the connect has finished by now, with or without success. Reading the socket's error clears it,
    // so each result must be used.
    loop {
        match connection.stream.established() {
            Ok(()) => {
                let header_until = deadline.earliest_until(until);
                let header_sent =
                    send_proxy_header(view, &mut connection, client_peer, header_until).await;
                header_sent.map_err(|error| match error {
                    None => ConnectFailure::new(
                        Cause::ConnectTimeout,
                        format!("connect to {to}: no room in time"),
                    ),
                    Some(error) => failed(error),
                })?;
                return upstream_tls::connect_tls(
                    worker, view, server, connection, deadline, until, speak,
                )
                .await;
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(failed(error)),
            Err(_) if connection.stream.is_broken() => {
                return Err(failed(io::ErrorKind::ConnectionReset.into()));
            }
            Err(_) => connection.stream.source().clear(Readiness::WRITE),
        }
        let writable = |rt: &WorkerRuntime<N>| match deadline.is_client_gone() {
            true => Poll::Ready(Err(DeadlineError)),
            false => rt.poll_ready(
                connection.stream.source(),
                Readiness::WRITE,
                deadline.earliest_until(until),
            ),
        };
        if let Err(DeadlineError) = connection.stream.poll_until(writable).await {
            let cause = deadline.expired_cause(worker.rt.now()).unwrap_or(Cause::ConnectTimeout);
            return Err(ConnectFailure::new(cause, format!("connect to {to}: no answer in time")));
        }
    }
}

/// Begins a connection, and counts it as open.
async fn open<N: NetDriver>(
    worker: &Worker<N>,
    way: &ConnectPlan<'_, N>,
    to: &ServerEndpoint,
) -> Result<UpstreamConnection<N>, ConnectFailure> {
    let ConnectPlan { pool, view, server, client_peer, deadline, until, .. } = *way;
    let permit = circuit_breaker::admit_connection(worker, pool, view).ok_or_else(|| {
        let reason = format!("connect to {to}: {}", is_port_range_full(view));
        ConnectFailure::new(Cause::CircuitOpen, reason)
    })?;
    let begun = match to {
        ServerEndpoint::Socket(at) => begin(worker, pool, view, *at, client_peer.peer.ip()),
        ServerEndpoint::Unix(_) => begin_unix(worker, view, to, deadline, until).await,
    };
    let begun = begun.map_err(|error| connect_failure(worker, deadline, to, &error))?;
    let port = to.socket_address().map(|at| worker.ports.lease(begun.from, at));
    let stream = ProxyStream::new(&worker.rt, begun.sock, true).map_err(|error| {
        let reason = format!("register the connection to {to}: {error}");
        ConnectFailure::new(Cause::NoDescriptor, reason)
    })?;
    if !view.config.socket.delayed_ack {
        stream.acknowledge_at_once(true);
    }
    if port.is_none() {
        stream.source().mark_unix();
    }
    let live = server.view.borrow().stats.clone();
    Ok(UpstreamConnection::new(stream, to.clone(), live, port, permit))
}

/// Why no connection was made, from the system's error.
fn connect_failure<N: NetDriver>(
    worker: &Worker<N>,
    deadline: &ExchangeDeadline<'_, N>,
    to: &ServerEndpoint,
    error: &io::Error,
) -> ConnectFailure {
    let cause = match error.kind() {
        // The queue of a Unix socket was full until the end.
        io::ErrorKind::WouldBlock => {
            deadline.expired_cause(worker.rt.now()).unwrap_or(Cause::ConnectTimeout)
        }
        _ => connect_cause(to, error),
    };
    let text = socket::describe_connect_error(to, error);
    ConnectFailure::new(cause, format!("connect to {to}: {text}"))
}

/// Sends the PROXY protocol header, if the pool is configured to.
async fn send_proxy_header<N: NetDriver>(
    view: &PoolView,
    connection: &mut UpstreamConnection<N>,
    client_peer: &ClientPeer,
    until: MonotonicTime,
) -> Result<(), Option<io::Error>> {
    let version = match view.config.send_proxy {
        None => return Ok(()),
        Some(SendProxyVersion::V1) => ProxyVersion::V1,
        Some(SendProxyVersion::V2) => ProxyVersion::V2,
    };
    let mut header = Vec::new();
    let ends = ProxiedAddresses { source: client_peer.peer, destination: client_peer.local };
    proxy_protocol::write_header(version, Some(ends), &mut header);
    connection.preamble_bytes = header.len() as u64;
    connection.stream.write_all(&header, until).await
}

/// A connect in progress, and its source address if one was chosen here.
struct BegunConnect<N: NetDriver> {
    sock: N::Sock,
    from: Option<IpAddr>,
}

/// Starts to connect from the next source address that has a free port.
fn begin<N: NetDriver>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    view: &PoolView,
    at: SocketAddr,
    client: IpAddr,
) -> io::Result<BegunConnect<N>> {
    let options = &view.config.socket;
    let to = &ServerEndpoint::Socket(at);
    if options.transparent {
        let from = Some(client);
        let sock = worker.rt.net.connect(&ConnectTarget { to, from, options })?;
        return Ok(BegunConnect { sock, from });
    }
    let sources = &view.config.source;
    let start = pool.next_source.get();
    pool.next_source.set(start.wrapping_add(1));
    let mut last = None;
    for step in 0..sources.len() {
        let from = sources[start.wrapping_add(step) % sources.len()];
        if from.is_ipv4() != at.is_ipv4() {
            continue;
        }
        match worker.rt.net.connect(&ConnectTarget { to, from: Some(from), options }) {
            Ok(sock) => return Ok(BegunConnect { sock, from: Some(from) }),
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                worker.ports.exhausted(Some(from), at);
                last = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = last {
        return Err(error);
    }
    let result = worker.rt.net.connect(&ConnectTarget { to, from: None, options });
    if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable) {
        worker.ports.exhausted(None, at);
    }
    result.map(|sock| BegunConnect { sock, from: None })
}

/// The first pause before another attempt on a Unix socket whose queue is full, doubled up to `LONGEST_PAUSE`.
/// A server that accepts connections empties its queue within milliseconds.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// The longest pause: a client waits hardly longer than necessary, and a busy server is asked 50 times a second.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Connects to a Unix socket. Unlike a TCP handshake, an attempt fails at once while the queue of the server is full, so
/// it is repeated until the deadline.
async fn begin_unix<N: NetDriver>(
    worker: &Worker<N>,
    view: &PoolView,
    to: &ServerEndpoint,
    deadline: &ExchangeDeadline<'_, N>,
    until: MonotonicTime,
) -> io::Result<BegunConnect<N>> {
    let options = &view.config.socket;
    let mut pause = FIRST_PAUSE;
    loop {
        match worker.rt.net.connect(&ConnectTarget { to, from: None, options }) {
            Ok(sock) => return Ok(BegunConnect { sock, from: None }),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(error) => {
                let now = worker.rt.now();
                let end = deadline.earliest_until(until);
                if now >= end || deadline.is_client_gone() {
                    return Err(error);
                }
                worker.rt.sleep_until(end.min(now + pause)).await;
                pause = LONGEST_PAUSE.min(pause * 2);
            }
        }
    }
}

fn is_port_range_full(view: &PoolView) -> String {
    let in_use = view.stats.breakers.get(BreakerResource::Connections).in_use();
    format!(
        "pool {} has {in_use} connections, as many as its breaker lets through",
        view.config.name
    )
}

fn unresolved(host: &ServerHost) -> String {
    match host {
        ServerHost::Ip(ip) => format!("{ip} has no address"),
        ServerHost::Name(name) => format!("{name} does not resolve"),
        ServerHost::Unix(path) => format!("{path} is not known"),
    }
}

fn connect_cause(to: &ServerEndpoint, error: &io::Error) -> Cause {
    use io::ErrorKind as Kind;
    match error.kind() {
        // Without a socket no program listens.
        Kind::NotFound if to.socket_address().is_none() => Cause::ServerRefused,
        Kind::ConnectionRefused => Cause::ServerRefused,
        Kind::ConnectionReset | Kind::ConnectionAborted => Cause::ServerReset,
        Kind::TimedOut => Cause::ConnectTimeout,
        Kind::AddrNotAvailable => Cause::NoSourcePort,
        _ if matches!(
            error.raw_os_error(),
            Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM)
        ) =>
        {
            Cause::NoDescriptor
        }
        _ => Cause::ServerUnreachable,
    }
}
