//! The listening sockets of the API over TCP and of the metrics: inherited from the previous process, opened, and
//! handed to the next process. One of the two processes answers at any time, and neither finds the port in use.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::util::listeners::ListeningSocket;

#[derive(Debug)]
pub struct AdminSockets {
    /// Of the process before; each is used once.
    inherited: Mutex<BTreeMap<SocketAddr, OwnedFd>>,
    /// Copies of the listening sockets.
    open: Mutex<BTreeMap<SocketAddr, OwnedFd>>,
    closed: watch::Sender<bool>,
}

impl AdminSockets {
    /// With the sockets of the previous process.
    pub fn new(inherited: impl IntoIterator<Item = ListeningSocket>) -> AdminSockets {
        let inherited = inherited.into_iter().map(|one| (one.address, one.socket)).collect();
        AdminSockets {
            inherited: Mutex::new(inherited),
            open: Mutex::default(),
            closed: watch::Sender::new(false),
        }
    }

    /// Listens on an address.
    ///
    /// # Errors
    /// It cannot be had.
    pub async fn listen(&self, address: SocketAddr) -> io::Result<TcpListener> {
        let before = lock_sockets(&self.inherited).remove(&address);
        let listener = match before.map(adopt_listener) {
            Some(Ok(listener)) => listener,
            Some(Err(_)) | None => TcpListener::bind(address).await?,
        };
        // Without a copy the next process opens the port itself when this one has closed it.
        if let Ok(copy) = rustix::io::fcntl_dupfd_cloexec(&listener, 0) {
            lock_sockets(&self.open).insert(address, copy);
        }
        Ok(listener)
    }

    /// An address is no longer listened on.
    pub fn remove(&self, address: SocketAddr) {
        lock_sockets(&self.open).remove(&address);
    }

    /// Copies for the process that takes over.
    pub fn duplicate_all(&self) -> Vec<ListeningSocket> {
        let open = lock_sockets(&self.open);
        let copy = |(address, socket): (&SocketAddr, &OwnedFd)| {
            let socket = rustix::io::fcntl_dupfd_cloexec(socket, 0).ok()?;
            Some(ListeningSocket { address: *address, socket })
        };
        open.iter().filter_map(copy).collect()
    }

    /// Stops accepting, because another process has taken over.
    pub fn stop_accepting(&self) {
        lock_sockets(&self.open).clear();
        self.closed.send_replace(true);
    }

    pub async fn wait_closed(&self) {
        // The sender lives as long as this.
        let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
    }
}

fn adopt_listener(socket: OwnedFd) -> io::Result<TcpListener> {
    let listener = std::net::TcpListener::from(socket);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

fn lock_sockets(
    of: &Mutex<BTreeMap<SocketAddr, OwnedFd>>,
) -> MutexGuard<'_, BTreeMap<SocketAddr, OwnedFd>> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn the_next_process_listens_on_while_the_one_before_still_does() {
        let first = AdminSockets::new([]);
        let listener = first.listen(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let copies =
            first.duplicate_all().into_iter().map(|one| ListeningSocket { address, ..one });
        let second = AdminSockets::new(copies);
        let next = second.listen(address).await.unwrap();
        first.stop_accepting();
        first.wait_closed().await;
        drop(listener);
        assert!(first.duplicate_all().is_empty());
        let (client, accepted) = tokio::join!(TcpStream::connect(address), next.accept());
        assert!(client.is_ok() && accepted.is_ok());
        second.remove(address);
        assert!(second.duplicate_all().is_empty());
    }

    #[tokio::test]
    async fn an_address_of_somebody_else_is_an_error() {
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = other.local_addr().unwrap();
        let error = AdminSockets::new([]).listen(address).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }
}
