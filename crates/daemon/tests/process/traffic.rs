//! A server that repeats lines, and clients that never pause.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// No wait of a test is longer.
pub const WAIT: Duration = Duration::from_secs(60);

/// A server that repeats lines.
pub struct LineServer {
    pub address: SocketAddr,
}

impl LineServer {
    /// Starts one, for as long as the program runs.
    pub fn start() -> LineServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || repeat(stream));
            }
        });
        LineServer { address }
    }
}

fn repeat(mut stream: TcpStream) {
    let Ok(reader) = stream.try_clone() else { return };
    for line in BufReader::new(reader).lines() {
        let Ok(line) = line else { return };
        if stream.write_all(format!("{line}\n").as_bytes()).is_err() {
            return;
        }
    }
}

/// One line, without its end.
pub fn line(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(WAIT)).unwrap();
    let mut line = Vec::new();
    let mut byte = [0];
    while byte[0] != b'\n' {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "the connection ended");
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

pub fn ask(address: SocketAddr, question: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("{question}\n").as_bytes()).unwrap();
    line(&mut stream)
}

/// Clients that never pause.
pub struct ClientLoad {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    clients: Vec<JoinHandle<()>>,
    failures: Receiver<String>,
}

impl ClientLoad {
    pub fn start(address: SocketAddr) -> ClientLoad {
        let stop = Arc::<AtomicBool>::default();
        let done = Arc::<AtomicU64>::default();
        let (failed, failures) = channel();
        let client = |_| {
            let stop = Arc::clone(&stop);
            let done = Arc::clone(&done);
            let failed = failed.clone();
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    if let Err(error) = once(address) {
                        let _ = failed.send(error.to_string());
                    }
                    done.fetch_add(1, Ordering::Relaxed);
                }
            })
        };
        let clients = (0..3).map(client).collect();
        ClientLoad { stop, done, clients, failures }
    }

    /// Waits for this many more requests.
    pub fn wait_for(&self, more: u64) {
        let from = self.done.load(Ordering::Relaxed);
        let deadline = Instant::now() + WAIT;
        while self.done.load(Ordering::Relaxed) < from + more {
            assert!(Instant::now() < deadline, "the load stands still");
            std::thread::yield_now();
        }
    }

    /// Ends the clients and returns their failures.
    pub fn stop(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().unwrap();
        }
        self.failures.try_iter().collect()
    }
}

fn once(address: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(WAIT))?;
    stream.write_all(b"ping\n")?;
    let mut answer = [0; 5];
    stream.read_exact(&mut answer)?;
    if &answer == b"ping\n" { Ok(()) } else { Err(std::io::Error::other("another answer")) }
}
