//! Stand-in servers: listeners at the servers' own addresses.
//!
//! Each connection has a thread; `serve` speaks to it. Dropping the servers ends their listeners.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::net::Shutdown as SocketShutdown;
use rustls::ServerConfig;

use super::serve::serve;
use super::serve_checks::StandInGreeting;
use super::served_record::{ServedRecord, ServerContext};

/// Running stand-in servers.
#[derive(Debug)]
pub struct StandInServers {
    listeners: Vec<Arc<TcpListener>>,
    threads: Vec<JoinHandle<()>>,
}

impl StandInServers {
    /// Listens at these addresses, in the network of the calling thread. `greeting` is what a server says first.
    pub fn start(
        addresses: &[SocketAddr],
        greeting: impl Fn(SocketAddr) -> StandInGreeting,
        tls: &Arc<ServerConfig>,
        record: &Arc<ServedRecord>,
    ) -> io::Result<StandInServers> {
        let mut servers = StandInServers { listeners: Vec::new(), threads: Vec::new() };
        for address in addresses {
            let place = |error: io::Error| {
                io::Error::new(error.kind(), format!("stand-in server at {address}: {error}"))
            };
            let listener = Arc::new(TcpListener::bind(address).map_err(place)?);
            servers.listeners.push(listener.clone());
            let context = Arc::new(ServerContext {
                address: *address,
                greeting: greeting(*address),
                tls: tls.clone(),
                record: record.clone(),
            });
            servers.threads.push(std::thread::spawn(move || accept_all(&listener, &context)));
        }
        Ok(servers)
    }
}

fn accept_all(listener: &TcpListener, context: &Arc<ServerContext>) {
    while let Ok((stream, _)) = listener.accept() {
        let context = context.clone();
        let serving = std::thread::Builder::new();
        let dropped = serving.spawn(move || {
            // Ignored: a balancer or a health check may end a connection at any point.
            let _ = serve(&stream, &context);
            let _ = stream.shutdown(Shutdown::Both);
        });
        if dropped.is_err() {
            return;
        }
    }
}

impl Drop for StandInServers {
    fn drop(&mut self) {
        for listener in &self.listeners {
            // Wakes `accept`, which then fails (shutdown(2) on a listening socket).
            let _ = rustix::net::shutdown(&**listener, SocketShutdown::Both);
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
