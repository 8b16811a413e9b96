//! What is opened, inherited, kept and let go.

use std::sync::{Arc, Mutex};

use super::*;

/// The sockets that were stored by one call.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RecordedStore {
    name: String,
    sockets: usize,
}

#[derive(Clone, Default)]
struct RecordingSocketStore(Arc<Mutex<Vec<RecordedStore>>>);

impl SocketStore for RecordingSocketStore {
    fn store_sockets(&mut self, name: &str, sockets: &[BorrowedFd<'_>]) {
        let stored = RecordedStore { name: name.to_owned(), sockets: sockets.len() };
        self.0.lock().unwrap().push(stored);
    }
    fn remove_sockets(&mut self, name: &str) {
        self.0.lock().unwrap().retain(|kept| kept.name != name);
    }
}

fn at(socket: &OwnedFd) -> SocketAddr {
    socket::listening_address(socket.as_fd()).unwrap()
}

#[test]
fn names_of_kept_sockets_lead_back_to_their_address() {
    for text in ["10.0.0.1:80", "[2001:db8::1]:443", "[fe80::1%3]:80", "0.0.0.0:0"] {
        let address: SocketAddr = text.parse().unwrap();
        let name = fd_store_name(address);
        assert!(name.bytes().all(|b| b.is_ascii_graphic() && b != b':'), "{name}");
        assert_eq!(fd_store_address(&name), Some(address));
    }
    assert_eq!(fd_store_address("stored"), None);
}

#[test]
fn inherited_sockets_are_used_and_the_unwanted_are_closed() {
    let options = SocketOptions::default();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let wanted = socket::listener(any, &options).unwrap();
    let unwanted = socket::listener(any, &options).unwrap();
    let address = at(&wanted);
    let other = at(&unwanted);
    let mut kept = RecordingSocketStore::default();
    kept.store_sockets(&fd_store_name(address), &[wanted.as_fd()]);
    let mut listeners = ListenerSet::new(Box::new(KernelSockets), Box::new(kept.clone()), 2);
    listeners.inherit([
        ListeningSocket { address, socket: wanted },
        ListeningSocket { address: other, socket: unwanted },
    ]);
    let sockets = listeners.open(address, &options, false).unwrap();
    assert_eq!(sockets.len(), 1, "not topped up");
    listeners.insert(address, sockets.clone());
    assert_eq!(listeners.close_unused(), [other]);
    assert_eq!(listeners.open_at(address), 1);
    let again = RecordedStore { name: fd_store_name(address), sockets: 1 };
    assert_eq!(
        *kept.0.lock().unwrap(),
        [again.clone(), again],
        "kept again, never forgotten between"
    );
    assert!(std::net::TcpStream::connect(other).is_err(), "closed");
    drop(sockets);
    std::net::TcpStream::connect(address).unwrap();
    listeners.release(address);
    assert!(kept.0.lock().unwrap().is_empty());
    assert!(std::net::TcpStream::connect(address).is_err(), "closed");
}

#[test]
fn a_fresh_address_gets_a_socket_a_worker() {
    let mut listeners = ListenerSet::new(Box::new(KernelSockets), Box::new(NoSocketStore), 3);
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let options = SocketOptions::default();
    let sockets = listeners.open(any, &options, false).unwrap();
    listeners.listen(any, &sockets, &options).unwrap();
    listeners.insert(any, sockets);
    assert_eq!(listeners.open_at(any), 3);
    assert_eq!(listeners.copies().unwrap().len(), 3);
}
