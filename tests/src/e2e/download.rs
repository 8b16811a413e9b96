//! A download that lasts as long as a test needs: slow until the test calls `finish`.
//!
//! The server must send `-` throughout, as `lab::origin` does at `/bytes/N`. Every byte is checked.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::client::HttpClient;

/// Bytes of each slow read, and the time between two.
const PIECE: usize = 16 * 1024;
const PAUSE: Duration = Duration::from_millis(8);

#[derive(Debug)]
pub struct Download {
    bytes: u64,
    full_speed: Arc<AtomicBool>,
    read: Arc<AtomicU64>,
    thread: JoinHandle<Result<u64, String>>,
}

impl Download {
    /// Starts a download of `bytes` bytes.
    pub fn start(front: SocketAddr, bytes: u64) -> Download {
        let mut client = HttpClient::connect(front);
        client.send(format!("GET /bytes/{bytes} HTTP/1.1\r\nHost: shop.example\r\n\r\n"));
        let head = client.read_answer_head();
        assert_eq!(head.status(), 200, "{head:?}");
        let hurry = Arc::new(AtomicBool::new(false));
        let read = Arc::new(AtomicU64::new(0));
        let told = hurry.clone();
        let counted = read.clone();
        let thread = std::thread::spawn(move || {
            let mut piece = vec![0; 256 * 1024];
            let mut have = client.take_buffered().len() as u64;
            while have < bytes {
                let fast = told.load(Ordering::Relaxed);
                let most = if fast { piece.len() } else { PIECE };
                let got = client.stream().read(&mut piece[..most]);
                match got.map_err(|error| format!("after {have} of {bytes} bytes: {error}"))? {
                    0 => return Err(format!("ended after {have} of {bytes} bytes")),
                    got if piece[..got].iter().any(|byte| *byte != b'-') => {
                        return Err(format!("other bytes than were sent after {have}"));
                    }
                    got => have += got as u64,
                }
                counted.store(have, Ordering::Relaxed);
                if !fast {
                    std::thread::park_timeout(PAUSE);
                }
            }
            Ok(have)
        });
        Download { bytes, full_speed: hurry, read, thread }
    }

    /// Bytes read so far.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Whether the download has ended, complete or not.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Reads the rest at full speed, and returns the error if the download failed.
    pub fn finish(self) -> Option<String> {
        self.full_speed.store(true, Ordering::Relaxed);
        match self.thread.join().unwrap() {
            Ok(read) if read == self.bytes => None,
            Ok(read) => Some(format!("{read} bytes instead of {}", self.bytes)),
            Err(broken) => Some(broken),
        }
    }
}
