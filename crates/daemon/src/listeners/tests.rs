//! What is opened, inherited, kept and let go.

use std::sync::{Arc, Mutex};

use super::*;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(String, usize)>>>);

impl Keeper for Kept {
    fn keep(&mut self, name: &str, sockets: &[BorrowedFd<'_>]) {
        self.0.lock().unwrap().push((name.to_owned(), sockets.len()));
    }
    fn forget(&mut self, name: &str) {
        self.0.lock().unwrap().retain(|(kept, _)| kept != name);
    }
}

fn at(socket: &OwnedFd) -> SocketAddr {
    socket::listening_at(socket.as_fd()).unwrap()
}

#[test]
fn names_of_kept_sockets_lead_back_to_their_address() {
    for text in ["10.0.0.1:80", "[2001:db8::1]:443", "[fe80::1%3]:80", "0.0.0.0:0"] {
        let address: SocketAddr = text.parse().unwrap();
        let name = kept_name(address);
        assert!(name.bytes().all(|b| b.is_ascii_graphic() && b != b':'), "{name}");
        assert_eq!(kept_address(&name), Some(address));
    }
    assert_eq!(kept_address("stored"), None);
}

#[test]
fn inherited_sockets_are_used_and_the_unwanted_are_closed() {
    let options = SocketOptions::default();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let wanted = socket::listener(any, &options).unwrap();
    let unwanted = socket::listener(any, &options).unwrap();
    let (address, other) = (at(&wanted), at(&unwanted));
    let mut kept = Kept::default();
    kept.keep(&kept_name(address), &[wanted.as_fd()]);
    let mut listeners = Listeners::new(Box::new(Kernel), Box::new(kept.clone()), 2);
    listeners.inherit([(address, wanted), (other, unwanted)]);
    let sockets = listeners.open(address, &options, false).unwrap();
    assert_eq!(sockets.len(), 1, "not topped up");
    let pair = listeners.pair(address, sockets).unwrap();
    listeners.hold(address, pair.ours);
    assert_eq!(listeners.close_unwanted(), [other]);
    assert_eq!(listeners.open_at(address), 1);
    let again = (kept_name(address), 1);
    assert_eq!(
        *kept.0.lock().unwrap(),
        [again.clone(), again],
        "kept again, never forgotten between"
    );
    assert!(std::net::TcpStream::connect(other).is_err(), "closed");
    drop(pair.theirs);
    std::net::TcpStream::connect(address).unwrap();
    listeners.release(address);
    assert!(kept.0.lock().unwrap().is_empty());
    assert!(std::net::TcpStream::connect(address).is_err(), "closed");
}

#[test]
fn a_fresh_address_gets_a_socket_a_worker() {
    let mut listeners = Listeners::new(Box::new(Kernel), Box::new(NoKeeper), 3);
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let options = SocketOptions::default();
    let sockets = listeners.open(any, &options, false).unwrap();
    listeners.listen(any, &sockets, &options).unwrap();
    listeners.hold(any, sockets);
    assert_eq!(listeners.open_at(any), 3);
    assert_eq!(listeners.copies().unwrap().len(), 3);
}
