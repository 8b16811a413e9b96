//! Stand-in servers: listeners at the servers' own addresses.
//!
//! Each connection has a thread; `serve` speaks to it. Dropping the servers ends their listeners.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::net::Shutdown as SocketShutdown;
use rustls::ServerConfig;

use super::serve::serve;
use super::serve_checks::StandInGreeting;
use super::served_record::{ServedRecord, ServerContext};

/// Running stand-in servers.
#[derive(Debug)]
pub struct StandInServers {
    servers: Vec<StandInListener>,
}

#[derive(Debug)]
struct StandInListener {
    address: SocketAddr,
    listener: Arc<TcpListener>,
    open: Arc<OpenConnections>,
    thread: Option<JoinHandle<()>>,
}

/// The open connections of a server, so that they end with it.
#[derive(Debug, Default)]
struct OpenConnections {
    streams: Mutex<BTreeMap<u64, TcpStream>>,
    last: AtomicU64,
}

impl StandInServers {
    /// Listens at these addresses, in the network of the calling thread. `greeting` is what a server says first.
    pub fn start(
        addresses: &[SocketAddr],
        greeting: impl Fn(SocketAddr) -> StandInGreeting,
        tls: &Arc<ServerConfig>,
        record: &Arc<ServedRecord>,
    ) -> io::Result<StandInServers> {
        let mut servers = StandInServers { servers: Vec::new() };
        for address in addresses {
            let place = |error: io::Error| {
                io::Error::new(error.kind(), format!("stand-in server at {address}: {error}"))
            };
            let listener = Arc::new(TcpListener::bind(address).map_err(place)?);
            let context = Arc::new(ServerContext {
                address: *address,
                greeting: greeting(*address),
                tls: tls.clone(),
                record: record.clone(),
            });
            let open = Arc::new(OpenConnections::default());
            let accepting = AcceptLoop { listener: listener.clone(), context, open: open.clone() };
            let thread = Some(std::thread::spawn(move || accepting.run()));
            servers.servers.push(StandInListener { address: *address, listener, open, thread });
        }
        Ok(servers)
    }

    /// Ends the servers at these addresses, with their connections, as if their machines had ended the processes.
    pub fn stop(&mut self, dead: &[SocketAddr]) {
        self.servers.retain(|server| !dead.contains(&server.address));
    }
}

struct AcceptLoop {
    listener: Arc<TcpListener>,
    context: Arc<ServerContext>,
    open: Arc<OpenConnections>,
}

impl AcceptLoop {
    fn run(self) {
        let AcceptLoop { listener, context, open } = self;
        while let Ok((stream, _)) = listener.accept() {
            let context = context.clone();
            let open = open.clone();
            let serving = std::thread::Builder::new();
            let dropped = serving.spawn(move || {
                let number = open.enter(&stream);
                // Ignored: a balancer or a health check may end a connection at any point.
                let _ = serve(&stream, &context);
                let _ = stream.shutdown(Shutdown::Both);
                open.leave(number);
            });
            if dropped.is_err() {
                return;
            }
        }
    }
}

impl OpenConnections {
    fn streams(&self) -> MutexGuard<'_, BTreeMap<u64, TcpStream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, stream: &TcpStream) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        if let Ok(other) = stream.try_clone() {
            self.streams().insert(number, other);
        }
        number
    }

    fn leave(&self, number: u64) {
        self.streams().remove(&number);
    }

    fn end_all(&self) {
        for stream in self.streams().values() {
            // Ignored: the other side may have ended it already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for StandInListener {
    fn drop(&mut self) {
        // Wakes `accept`, which then fails (shutdown(2) on a listening socket).
        let _ = rustix::net::shutdown(&*self.listener, SocketShutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.open.end_all();
    }
}
