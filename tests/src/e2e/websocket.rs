//! WebSockets that stay open and in constant use, so that a break is noticed when it occurs.
//!
//! The peer must echo frames, as `lab::origin` does at `/ws`. Implements only the part of RFC 6455 that an echo needs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::client::HttpClient;

/// The pause between two messages on one connection.
const PAUSE: Duration = Duration::from_millis(10);

/// An upgrade request with the key of RFC 6455 §1.3.
pub const REQUEST: &str = "GET /ws HTTP/1.1\r\nHost: shop.example\r\nConnection: Upgrade\r\n\
     Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
/// The `Sec-WebSocket-Accept` value for that key.
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// Opens a WebSocket. Panics unless the peer accepts the upgrade.
pub fn open(front: SocketAddr) -> HttpClient {
    let mut client = HttpClient::connect(front);
    client.send(REQUEST);
    let answer = client.read_answer_head();
    assert_eq!(answer.status(), 101, "{answer:?}");
    assert_eq!(answer.field("sec-websocket-accept").as_deref(), Some(ACCEPT));
    client
}

/// Sends a message of eight bytes and waits for its echo.
///
/// # Errors
/// The error, or the bytes received instead of the echo.
pub fn echo(client: &mut HttpClient, number: u64) -> Result<(), String> {
    let payload = number.to_be_bytes();
    // The final fragment, binary, masked with zeros.
    let mut frame = vec![0x82, 0x80 | 8, 0, 0, 0, 0];
    frame.extend_from_slice(&payload);
    client.try_send(&frame).map_err(|error| format!("message {number} not sent: {error}"))?;
    let back = client.try_read_exactly(10).map_err(|error| format!("message {number}: {error}"))?;
    if back[..2] == [0x82, 8] && back[2..] == payload {
        Ok(())
    } else {
        Err(format!("message {number} came back as {back:?}"))
    }
}

/// WebSockets that exchange messages on separate threads.
#[derive(Debug)]
pub struct WebSockets {
    stop: Arc<AtomicBool>,
    echoes: Arc<AtomicU64>,
    threads: Vec<JoinHandle<Result<(), String>>>,
}

impl WebSockets {
    pub fn start(front: SocketAddr, count: usize) -> WebSockets {
        let stop = Arc::new(AtomicBool::new(false));
        let echoes = Arc::new(AtomicU64::new(0));
        let start = |_| {
            let mut client = open(front);
            let stop = stop.clone();
            let echoes = echoes.clone();
            std::thread::spawn(move || {
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    echo(&mut client, number)?;
                    echoes.fetch_add(1, Ordering::Relaxed);
                    std::thread::park_timeout(PAUSE);
                }
                Ok(())
            })
        };
        let threads = (0..count).map(start).collect();
        WebSockets { stop, echoes, threads }
    }

    /// The number of echoed messages so far.
    pub fn echoes(&self) -> u64 {
        self.echoes.load(Ordering::Relaxed)
    }

    /// Closes all WebSockets, and returns the failures so far.
    pub fn stop(self) -> Vec<String> {
        self.stop.store(true, Ordering::Relaxed);
        let ends = self.threads.into_iter().map(|thread| thread.join().unwrap());
        ends.filter_map(Result::err).collect()
    }
}
