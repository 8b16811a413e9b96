//! Servers that return every datagram with their name in front, and a client that counts the responses by server.
//!
//! Each address has a separate socket, so that a response leaves from the address that received the request.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use lab::net::NetworkNamespace;

/// The interval between two checks of the stop flag.
const LOOK: Duration = Duration::from_millis(20);
/// A client waits this long for a response before it resends, because datagrams may be lost.
const PATIENCE: Duration = Duration::from_millis(700);
/// The number of datagrams that a client sends before it gives up.
const TRIES: usize = 8;

#[derive(Debug)]
pub struct DatagramServer {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl DatagramServer {
    /// Starts a server on these addresses of a namespace.
    pub fn start(
        inside: &NetworkNamespace,
        name: &str,
        addresses: &[SocketAddr],
    ) -> DatagramServer {
        let stop = Arc::new(AtomicBool::new(false));
        let serve = |address: &SocketAddr| {
            let socket = UdpSocket::bind(address).unwrap_or_else(|e| panic!("{address}: {e}"));
            socket.set_read_timeout(Some(LOOK)).unwrap();
            let stop = Arc::clone(&stop);
            let name = name.to_owned();
            std::thread::spawn(move || echo(&socket, &name, &stop))
        };
        let threads = inside.run_inside(|| addresses.iter().map(serve).collect()).unwrap();
        DatagramServer { stop, threads }
    }
}

impl Drop for DatagramServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| {
            let _ = thread.join();
        });
    }
}

fn echo(socket: &UdpSocket, name: &str, stop: &AtomicBool) {
    let mut bytes = vec![0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        // A time-out, or an ICMP error caused by an earlier response.
        let Ok((length, from)) = socket.recv_from(&mut bytes) else { continue };
        let answer = [name.as_bytes(), b":", &bytes[..length]].concat();
        let _ = socket.send_to(&answer, from);
    }
}

/// Sends `times` requests from a namespace, each from another port, and counts the responses by server. Panics when a
/// response is incomplete.
pub fn send_datagrams(
    inside: &NetworkNamespace,
    service: SocketAddr,
    times: usize,
    bytes: usize,
) -> BTreeMap<String, usize> {
    let mut answers = BTreeMap::new();
    let one = |number: usize| {
        let any: SocketAddr =
            if service.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
        let socket = UdpSocket::bind(any).unwrap();
        socket.connect(service).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let question = vec![b'a' + (number % 26) as u8; bytes];
        let mut got = vec![0; 65_536];
        for _ in 0..TRIES {
            socket.send(&question).unwrap();
            let Ok(length) = socket.recv(&mut got) else { continue };
            let colon = got[..length].iter().position(|byte| *byte == b':').unwrap();
            assert!(got[colon + 1..length] == question, "another datagram than was sent");
            return String::from_utf8_lossy(&got[..colon]).into_owned();
        }
        panic!("no answer from {service} to {TRIES} datagrams");
    };
    let names: Vec<String> = inside.run_inside(|| (0..times).map(one).collect()).unwrap();
    names.into_iter().for_each(|name| *answers.entry(name).or_default() += 1);
    answers
}
