//! Making one connection to a server: from which address, and what a failure means.
//!
//! It chooses no server and keeps no connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::task::Poll;

use model::breaker::Bound;
use model::cause::Cause;
use model::config::{Host, SendProxy, Speak};
use model::moment::Moment;
use model::snapshot::PoolView;
use wire::proxy::{self, Ends, Version};

use crate::back;
use crate::breaking;
use crate::caller::Caller;
use crate::connected::Upstream;
use crate::local::{LocalPool, LocalServer};
use crate::patience::Patience;
use crate::rt::{Connect, Expired, Net, Readiness, Rt};
use crate::stream::Stream;
use crate::worker::Worker;

/// Towards whom, for whom, and how long it may take.
pub struct Way<'a, N: Net> {
    /// The server's pool.
    pub pool: &'a LocalPool<N>,
    /// What the snapshot says of that.
    pub view: &'a PoolView,
    /// The server.
    pub server: &'a LocalServer<N>,
    /// The client.
    pub caller: &'a Caller,
    /// What may end the waiting.
    pub patience: &'a Patience<'a, N>,
    /// The connection's own time.
    pub until: Moment,
    /// What is to be spoken.
    pub speak: Speak,
}

/// Connects.
///
/// # Errors
/// The cause, and the reason for people.
pub async fn connect<N: Net>(
    worker: &Rc<Worker<N>>,
    way: Way<'_, N>,
) -> Result<Upstream<N>, (Cause, String)> {
    let Way { pool, view, server, caller, patience, until, speak } = way;
    let (address, live) = {
        let server = server.view.borrow();
        (server.address, server.live.clone())
    };
    let Some(to) = address else {
        return Err((Cause::NoServer, unresolved(&server.view.borrow().config.address.host)));
    };
    let permit = breaking::connection(worker, pool, view)
        .ok_or_else(|| (Cause::CircuitOpen, format!("connect to {to}: {}", full(view))))?;
    let (sock, from) = begin(worker, pool, view, to, caller.peer.ip())
        .map_err(|error| (connect_cause(&error), format!("connect to {to}: {error}")))?;
    let port = worker.ports.lease(from, to);
    let stream = Stream::new(&worker.rt, sock, true).map_err(|error| {
        (Cause::NoDescriptor, format!("register the connection to {to}: {error}"))
    })?;
    let mut connection = Upstream::new(stream, to, live, (port, permit));
    let failed = |error: io::Error| (connect_cause(&error), format!("connect to {to}: {error}"));
    // On a short path the handshake is over by now, well or not. Asking takes the socket's error away, so that each
    // answer counts.
    loop {
        match connection.stream.established() {
            Ok(()) => {
                let said = announce(view, &mut connection, caller, patience.until(until)).await;
                said.map_err(|error| match error {
                    None => (Cause::ConnectTimeout, format!("connect to {to}: no room in time")),
                    Some(error) => failed(error),
                })?;
                let times = (patience, until);
                return back::open(worker, view, server, connection, times, speak).await;
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(failed(error)),
            Err(_) if connection.stream.broken() => {
                return Err(failed(io::ErrorKind::ConnectionReset.into()));
            }
            Err(_) => connection.stream.source().clear(Readiness::WRITE),
        }
        let writable = |rt: &Rt<N>| match patience.is_alone() {
            true => Poll::Ready(Err(Expired)),
            false => {
                rt.poll_ready(connection.stream.source(), Readiness::WRITE, patience.until(until))
            }
        };
        if let Err(Expired) = connection.stream.until(writable).await {
            let cause = patience.over(worker.rt.now()).unwrap_or(Cause::ConnectTimeout);
            return Err((cause, format!("connect to {to}: no answer in time")));
        }
    }
}

/// Says in whose name the connection is, where the pool's servers are to be told.
async fn announce<N: Net>(
    view: &PoolView,
    connection: &mut Upstream<N>,
    caller: &Caller,
    until: Moment,
) -> Result<(), Option<io::Error>> {
    let version = match view.config.send_proxy {
        None => return Ok(()),
        Some(SendProxy::V1) => Version::One,
        Some(SendProxy::V2) => Version::Two,
    };
    let mut header = Vec::new();
    let ends = Ends { source: caller.peer, destination: caller.local };
    proxy::write(version, Some(ends), &mut header);
    connection.announced = header.len() as u64;
    connection.stream.write_all(&header, until).await
}

/// Begins a connection from the next source address that has a port left.
fn begin<N: Net>(
    worker: &Worker<N>,
    pool: &LocalPool<N>,
    view: &PoolView,
    to: SocketAddr,
    client: IpAddr,
) -> io::Result<(N::Sock, Option<IpAddr>)> {
    let options = &view.config.socket;
    if options.transparent {
        return worker
            .rt
            .net
            .connect(&Connect { to, from: Some(client), options })
            .map(|s| (s, Some(client)));
    }
    let sources = &view.config.source;
    let start = pool.next_source.get();
    pool.next_source.set(start.wrapping_add(1));
    let mut last = None;
    for step in 0..sources.len() {
        let from = sources[start.wrapping_add(step) % sources.len()];
        if from.is_ipv4() != to.is_ipv4() {
            continue;
        }
        match worker.rt.net.connect(&Connect { to, from: Some(from), options }) {
            Ok(sock) => return Ok((sock, Some(from))),
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                worker.ports.exhausted(Some(from), to);
                last = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    if let Some(error) = last {
        return Err(error);
    }
    let result = worker.rt.net.connect(&Connect { to, from: None, options });
    if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AddrNotAvailable) {
        worker.ports.exhausted(None, to);
    }
    result.map(|sock| (sock, None))
}

fn full(view: &PoolView) -> String {
    let in_use = view.live.breakers.of(Bound::Connections).in_use();
    format!(
        "pool {} has {in_use} connections, as many as its breaker lets through",
        view.config.name
    )
}

fn unresolved(host: &Host) -> String {
    match host {
        Host::Ip(ip) => format!("{ip} has no address"),
        Host::Name(name) => format!("{name} does not resolve"),
    }
}

fn connect_cause(error: &io::Error) -> Cause {
    use io::ErrorKind as Kind;
    match error.kind() {
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
