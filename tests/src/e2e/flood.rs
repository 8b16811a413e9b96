//! Idle clients that connect over TCP or QUIC, from one address of the loopback network or from many.

use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::target::tool;
use super::wait::DEADLINE;

/// The source addresses of the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceAddresses {
    One,
    /// This many addresses, used in turn.
    Many(usize),
}

impl SourceAddresses {
    /// The address of the client with this number.
    pub fn address_of(self, number: usize) -> Ipv4Addr {
        match self {
            SourceAddresses::One => Ipv4Addr::new(127, 9, 9, 9),
            SourceAddresses::Many(count) => {
                let [_, _, high, low] = u32::try_from(number % count).unwrap().to_be_bytes();
                Ipv4Addr::new(127, 10 + high / 200, high, low)
            }
        }
    }
}

/// Connects from this address.
///
/// # Errors
/// The kernel's error.
pub fn connect_from(source: Ipv4Addr, to: SocketAddr) -> io::Result<TcpStream> {
    let kind = (AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC);
    let socket: OwnedFd = rustix::net::socket_with(kind.0, kind.1, kind.2, None)?;
    rustix::net::bind(&socket, &SocketAddr::from((source, 0)))?;
    rustix::net::connect(&socket, &to)?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(DEADLINE))?;
    stream.set_write_timeout(Some(DEADLINE))?;
    Ok(stream)
}

/// Clients that connect continuously until they are stopped.
pub struct ConnectionFlood {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl ConnectionFlood {
    /// Opens `first` connections, then `each_second` new ones a second; each sends only `word`. Closes the oldest
    /// connection only when four times `first` are open.
    pub fn start(
        to: SocketAddr,
        sources: SourceAddresses,
        (first, each_second): (usize, u32),
        word: &'static [u8],
    ) -> ConnectionFlood {
        let stop = Arc::new(AtomicBool::new(false));
        let until = stop.clone();
        let come = move |number| {
            let stream = connect_from(sources.address_of(number), to).ok()?;
            if !word.is_empty() {
                // Ignored: the balancer may have closed the connection; then there is one fewer.
                let _ = io::Write::write_all(&mut &stream, word);
            }
            Some(stream)
        };
        let mut crowd: Vec<Option<TcpStream>> = (0..first).map(come).collect();
        let thread = std::thread::spawn(move || {
            let began = Instant::now();
            let mut come_since = 0_u32;
            while !until.load(Ordering::Relaxed) {
                let due = (began.elapsed().as_secs_f64() * f64::from(each_second)) as u32;
                if come_since >= due {
                    std::thread::park_timeout(Duration::from_millis(1));
                    continue;
                }
                let number = first + come_since as usize;
                let next = come(number);
                match crowd.get_mut(number % (4 * first)) {
                    Some(oldest) => *oldest = next,
                    None => crowd.push(next),
                }
                come_since += 1;
            }
            crowd.iter().flatten().count()
        });
        ConnectionFlood { stop, thread: Some(thread) }
    }

    pub fn stop(mut self) -> usize {
        self.end()
    }

    fn end(&mut self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map_or(0, |thread| thread.join().unwrap_or(0))
    }
}

impl Drop for ConnectionFlood {
    fn drop(&mut self) {
        self.end();
    }
}

/// Clients that begin QUIC handshakes and complete none, until this value is dropped.
pub struct QuicFlood(Child);

impl QuicFlood {
    /// Starts `first` handshakes, then `each_second` new ones a second.
    pub fn start(
        to: SocketAddr,
        sources: SourceAddresses,
        (first, each_second): (usize, u32),
    ) -> QuicFlood {
        let mut command = Command::new(tool("quic/bin/python3"));
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http3/crowd.py"));
        let addresses = match sources {
            SourceAddresses::One => 1,
            SourceAddresses::Many(count) => count,
        };
        command.args([to.ip().to_string(), to.port().to_string()]);
        command.args([first.to_string(), addresses.to_string(), each_second.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        QuicFlood(child)
    }
}

impl Drop for QuicFlood {
    fn drop(&mut self) {
        // Ignored: the process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
