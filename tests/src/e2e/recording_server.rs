//! Servers whose behaviour a test scripts, and one that records every byte it receives.
//!
//! Each connection has a blocking thread with deadlines. For load, use `lab::origin`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::http::{ExpectedBody, HttpReader, ReceivedMessage};
use super::wait::{self, DEADLINE};

/// A server with a test's function as its connection handler.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl ScriptedServer {
    /// Calls `serve` with each connection, on a separate thread.
    pub fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> ScriptedServer {
        ScriptedServer::start_at("127.0.0.1:0".parse().unwrap(), serve)
    }

    /// As `start`, at this address.
    pub fn start_at(
        address: SocketAddr,
        serve: impl Fn(TcpStream) + Send + Sync + 'static,
    ) -> ScriptedServer {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let server = ScriptedServer {
            address,
            accepted: Arc::default(),
            open: Arc::default(),
            stop: Arc::default(),
        };
        let accepted = server.accepted.clone();
        let counted = server.open.clone();
        let stopped = server.stop.clone();
        let serve = Arc::new(serve);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let stream = stream.unwrap();
                stream.set_read_timeout(Some(DEADLINE)).unwrap();
                stream.set_write_timeout(Some(DEADLINE)).unwrap();
                let serve = serve.clone();
                let counted = counted.clone();
                counted.fetch_add(1, Ordering::Relaxed);
                accepted.fetch_add(1, Ordering::Relaxed);
                std::thread::spawn(move || {
                    serve(stream);
                    counted.fetch_sub(1, Ordering::Relaxed);
                });
            }
        });
        server
    }

    /// Sends these bytes after the first bytes of each connection, and closes.
    pub fn answering(bytes: &'static [u8]) -> ScriptedServer {
        ScriptedServer::start(move |stream| {
            let mut reader = HttpReader::new(&stream);
            if let Ok(Some(mut request)) = reader.head() {
                let _ = reader.body(&mut request, ExpectedBody::AsDeclared);
                let _ = (&stream).write_all(bytes);
            }
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that have been accepted.
    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Connections that are being handled.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes up `accept`, so that the thread sees the stop flag.
        let _ = TcpStream::connect(self.address);
    }
}

/// The requests and bytes that a server received.
#[derive(Clone, Debug, Default)]
pub struct RecordedTraffic {
    /// Complete requests, in the order of their ends.
    pub requests: Vec<ReceivedMessage>,
    /// Every byte of each connection.
    pub connections: Vec<Vec<u8>>,
}

/// Responds to every request with `200` and the body `ok`, and records the traffic.
#[derive(Debug)]
pub struct RecordingServer {
    server: ScriptedServer,
    record: Arc<Mutex<RecordedTraffic>>,
}

impl RecordingServer {
    /// Starts on a free port.
    pub fn start() -> RecordingServer {
        let record = Arc::new(Mutex::new(RecordedTraffic::default()));
        let kept = record.clone();
        let server = ScriptedServer::start(move |stream| {
            // Ignored: some tests break off a connection on purpose.
            let _ = serve(&stream, &kept);
        });
        RecordingServer { server, record }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Takes the traffic recorded since the last call. First waits until this many connections were accepted since the
    /// start, and until none is open.
    pub fn take_after(&self, connections: u64) -> RecordedTraffic {
        wait::until("the recorder's connections accepted", || {
            self.server.accepted() as u64 >= connections
        });
        self.take()
    }

    /// Takes the traffic recorded so far, and empties the record. First waits until no connection is open.
    pub fn take(&self) -> RecordedTraffic {
        wait::until("the recorder's connections closed", || self.server.open() == 0);
        std::mem::take(&mut self.record.lock().unwrap())
    }

    /// A copy of the traffic recorded so far.
    pub fn so_far(&self) -> RecordedTraffic {
        self.record.lock().unwrap().clone()
    }
}

const OK: &[u8] = b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok";
const HEAD: &[u8] = b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n";

fn serve(stream: &TcpStream, record: &Mutex<RecordedTraffic>) -> io::Result<()> {
    let number = {
        let mut record = record.lock().unwrap();
        record.connections.push(Vec::new());
        record.connections.len() - 1
    };
    let mut reader = HttpReader::new(RecordingStream { stream, record, number });
    while let Some(mut request) = reader.head()? {
        reader.body(&mut request, ExpectedBody::AsDeclared)?;
        let answer = if request.start.starts_with("HEAD ") { HEAD } else { OK };
        record.lock().unwrap().requests.push(request);
        (&*stream).write_all(answer)?;
    }
    Ok(())
}

/// A stream that records the bytes as they are read.
struct RecordingStream<'a> {
    stream: &'a TcpStream,
    record: &'a Mutex<RecordedTraffic>,
    number: usize,
}

impl Read for RecordingStream<'_> {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream;
        let read = stream.read(piece)?;
        if let Some(bytes) = self.record.lock().unwrap().connections.get_mut(self.number) {
            bytes.extend_from_slice(&piece[..read]);
        }
        Ok(read)
    }
}
