//! Echoes every datagram to its source, on its own thread.
//!
//! Datagrams from reserved ports and from its own port are not echoed. Another echo service may use such a port, and
//! the two would exchange datagrams for ever.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A datagram echo server; dropping it stops it.
#[derive(Debug)]
pub struct DatagramEcho {
    counts: Arc<DatagramEchoCounters>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramEchoCounts {
    pub echoed: u64,
    /// Datagrams not echoed: from a port below 1,024 or the server's own, or the kernel rejected the response.
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
        // The receive timeout, or an error from an earlier datagram: neither stops the server.
        let Ok((bytes, from)) = socket.recv_from(&mut buffer) else { continue };
        let answered = from.port() >= RESERVED
            && from.port() != own
            && socket.send_to(&buffer[..bytes], from).is_ok();
        let count = if answered { &counts.echoed } else { &counts.unanswered };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// How soon a stop is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Larger than the longest UDP datagram.
const LARGEST: usize = 1 << 16;
/// Ports below this belong to services, some of which answer everything.
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
        // A datagram is counted after it was sent: the thread's end is behind both.
        let counts = end.counts.clone();
        drop(end);
        let echoed = counts.echoed.load(Ordering::Relaxed);
        assert_eq!((echoed, counts.unanswered.load(Ordering::Relaxed)), (1, 1));
    }
}
