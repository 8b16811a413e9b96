//! A proxy between a balancer and a real server: the server's bytes pass, arrive late, or are corrupted.
//!
//! The balancer's bytes always pass, because a health check's result depends on the response.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::fake_servers::{balancer, wait_until_down, wait_until_up};

/// The fault that applies to the server's bytes.
#[derive(Clone, Copy, Debug)]
enum LineFault {
    Intact,
    /// Later than the timeout of the tests' health checks.
    Delayed,
    /// Corrupted bytes, in lines of the same length.
    Corrupted,
}

struct FaultyProxy {
    at: SocketAddr,
    fault: Arc<Mutex<LineFault>>,
    stopped: Arc<AtomicBool>,
}

impl FaultyProxy {
    fn start(port: u16) -> FaultyProxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let line = Arc::new(Mutex::new(LineFault::Intact));
        let over = Arc::new(AtomicBool::new(false));
        let now = Arc::clone(&line);
        let end = Arc::clone(&over);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { continue };
                let line = *now.lock().unwrap();
                carry(client.try_clone().unwrap(), server.try_clone().unwrap(), LineFault::Intact);
                carry(server, client, line);
            }
        });
        FaultyProxy { at, fault: line, stopped: over }
    }

    fn set_fault(&self, line: LineFault) {
        *self.fault.lock().unwrap() = line;
    }
}

impl Drop for FaultyProxy {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.at);
    }
}

/// Copies one direction, on a thread that ends with either side.
fn carry(mut from: TcpStream, mut to: TcpStream, line: LineFault) {
    let _ = from.set_read_timeout(Some(Duration::from_secs(5)));
    std::thread::spawn(move || {
        let mut room = [0; 4096];
        while let Ok(length @ 1..) = from.read(&mut room) {
            let said = &mut room[..length];
            match line {
                LineFault::Intact => {}
                LineFault::Delayed => std::thread::park_timeout(Duration::from_millis(400)),
                LineFault::Corrupted => {
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

/// A server is down while its response is late or corrupted, and up again afterwards.
pub fn is_heard_by_its_words(port: u16, probe: &str, good: &str, spoilt: &str) {
    let between = FaultyProxy::start(port);
    let balancer = balancer(between.at, probe);
    wait_until_up(&balancer, good);
    between.set_fault(LineFault::Delayed);
    wait_until_down(&balancer, "within 200 ms");
    between.set_fault(LineFault::Intact);
    wait_until_up(&balancer, good);
    between.set_fault(LineFault::Corrupted);
    wait_until_down(&balancer, spoilt);
    between.set_fault(LineFault::Intact);
    wait_until_up(&balancer, good);
}
