//! Sends every datagram back to its source, on a thread of its own.
//!
//! It answers neither reserved ports nor its own: another echo service could have them, and two of them would exchange
//! datagrams for ever.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// An end that echoes datagrams; dropping it ends it.
#[derive(Debug)]
pub struct DatagramEcho {
    counts: Arc<DatagramEchoCounters>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramEchoCounts {
    pub echoed: u64,
    /// Not: from a port below 1,024 or our own, or the kernel refused.
    pub unanswered: u64,
}

#[derive(Debug, Default)]
struct DatagramEchoCounters {
    stop: AtomicBool,
    echoed: AtomicU64,
    unanswered: AtomicU64,
}

impl DatagramEcho {
    pub fn start(listen: SocketAddr) -> io::Result<DatagramEcho> {
        let socket = UdpSocket::bind(listen)?;
        socket.set_read_timeout(Some(LOOK_EVERY))?;
        let counts = Arc::new(DatagramEchoCounters::default());
        let shared = counts.clone();
        let run = move || echo_datagrams(&socket, listen.port(), &shared);
        let thread = std::thread::Builder::new().name("datagrams".to_owned()).spawn(run)?;
        Ok(DatagramEcho { counts, thread: Some(thread) })
    }

    pub fn figures(&self) -> DatagramEchoCounts {
        DatagramEchoCounts {
            echoed: self.counts.echoed.load(Ordering::Relaxed),
            unanswered: self.counts.unanswered.load(Ordering::Relaxed),
        }
    }
}

impl Drop for DatagramEcho {
    fn drop(&mut self) {
        self.counts.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Fails only if the thread panicked, which it has reported on standard error.
            let _ = thread.join();
        }
    }
}

fn echo_datagrams(socket: &UdpSocket, own: u16, counts: &DatagramEchoCounters) {
    let mut buffer = vec![0; LARGEST];
    while !counts.stop.load(Ordering::Relaxed) {
        // An error belongs to an earlier datagram, or none arrived: neither ends the service.
        let Ok((bytes, from)) = socket.recv_from(&mut buffer) else { continue };
        let answered = from.port() >= RESERVED
            && from.port() != own
            && socket.send_to(&buffer[..bytes], from).is_ok();
        let count = if answered { &counts.echoed } else { &counts.unanswered };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// How soon an end is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// More than the longest datagram of UDP.
const LARGEST: usize = 1 << 16;
/// Below, services answer: some of them everything.
const RESERVED: u16 = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_come_back_and_echoes_get_none() {
        let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let end = DatagramEcho::start(free).unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let same = SocketAddr::from(([127, 0, 0, 2], free.port()));
        UdpSocket::bind(same).unwrap().send_to(b"loop", free).unwrap();
        client.send_to(b"hello", free).unwrap();
        let mut buffer = [0; 16];
        let (bytes, _) = client.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..bytes], b"hello");
        assert_eq!(end.figures(), DatagramEchoCounts { echoed: 1, unanswered: 1 });
    }
}
