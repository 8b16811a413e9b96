//! A server that holds all requests until the test releases them.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use tests::e2e::http::HttpReader;
use tests::e2e::recording_server::ScriptedServer;

pub struct HoldingServer {
    server: ScriptedServer,
    shared: Arc<HeldConnections>,
}

#[derive(Default)]
struct HeldConnections {
    held: AtomicUsize,
    open: Mutex<bool>,
    opened: Condvar,
}

impl HoldingServer {
    /// Starts on a free port.
    pub fn start() -> HoldingServer {
        let shared = Arc::new(HeldConnections::default());
        let held = shared.clone();
        // A broken connection ends its thread.
        HoldingServer {
            server: ScriptedServer::start(move |stream| drop(held.serve(&stream))),
            shared,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn held(&self) -> usize {
        self.shared.held.load(Ordering::Relaxed)
    }

    /// Answers all held requests and all later ones at once.
    pub fn release(&self) {
        *self.shared.open.lock().unwrap() = true;
        self.shared.opened.notify_all();
    }
}

impl Drop for HoldingServer {
    fn drop(&mut self) {
        self.release();
    }
}

impl HeldConnections {
    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        let mut reader = HttpReader::new(stream);
        while reader.head()?.is_some() {
            self.held.fetch_add(1, Ordering::Relaxed);
            drop(self.opened.wait_while(self.open.lock().unwrap(), |open| !*open).unwrap());
            self.held.fetch_sub(1, Ordering::Relaxed);
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 200 OK\r\nx-origin: held\r\nContent-Length: 0\r\n\r\n")?;
        }
        Ok(())
    }
}
