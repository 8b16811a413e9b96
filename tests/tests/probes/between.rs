//! A line between a balancer and a real server: what the server says passes, comes late, or comes spoilt.
//!
//! What the other side says always passes: a probe is judged by what it hears.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::fakes::{balancer, down, up};

/// What becomes of the server's words.
#[derive(Clone, Copy, Debug)]
enum Line {
    Passes,
    /// Longer than a probe of these tests waits.
    Late,
    /// Other bytes, in lines as long as before.
    Spoilt,
}

/// The line.
struct Between {
    at: SocketAddr,
    line: Arc<Mutex<Line>>,
    over: Arc<AtomicBool>,
}

impl Between {
    fn start(port: u16) -> Between {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let (line, over) = (Arc::new(Mutex::new(Line::Passes)), Arc::new(AtomicBool::new(false)));
        let (now, end) = (Arc::clone(&line), Arc::clone(&over));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { continue };
                let line = *now.lock().unwrap();
                carry(client.try_clone().unwrap(), server.try_clone().unwrap(), Line::Passes);
                carry(server, client, line);
            }
        });
        Between { at, line, over }
    }

    fn becomes(&self, line: Line) {
        *self.line.lock().unwrap() = line;
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.at);
    }
}

/// In one direction, in a thread that ends with either side.
fn carry(mut from: TcpStream, mut to: TcpStream, line: Line) {
    let _ = from.set_read_timeout(Some(Duration::from_secs(5)));
    std::thread::spawn(move || {
        let mut room = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut room) {
            let said = &mut room[..length];
            match line {
                Line::Passes => {}
                Line::Late => std::thread::park_timeout(Duration::from_millis(400)),
                Line::Spoilt => {
                    said.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte ^= 0x10);
                }
            }
            if to.write_all(said).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// A server that is good by this probe is down while its words come late or spoilt, and up again when they do not.
pub fn is_heard_by_its_words(port: u16, probe: &str, good: &str, spoilt: &str) {
    let between = Between::start(port);
    let balancer = balancer(between.at, probe);
    up(&balancer, good);
    between.becomes(Line::Late);
    down(&balancer, "within 200 ms");
    between.becomes(Line::Passes);
    up(&balancer, good);
    between.becomes(Line::Spoilt);
    down(&balancer, spoilt);
    between.becomes(Line::Passes);
    up(&balancer, good);
}
