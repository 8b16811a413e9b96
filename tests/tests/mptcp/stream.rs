//! One stream into the service, and its throughput at the far end.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};
use tests::e2e::balancer::is_long;
use tests::e2e::wait;

use super::topology::{MptcpTopology, SERVICE};

/// The client's transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientTransport {
    Plain,
    Multipath,
}

/// Stops the stream on drop, also on a panic, because the test waits for its threads.
struct StreamGuard<'a>(&'a AtomicBool);

impl Drop for StreamGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The bytes after which a stream has reached the links' rate.
fn under_way() -> u64 {
    if is_long() { 60 << 20 } else { 4 << 20 }
}

fn time() -> Duration {
    Duration::from_secs(if is_long() { 5 } else { 2 })
}

/// The rate of one stream in Mbit/s. `during` runs while the stream is measured.
pub fn rate(world: &MptcpTopology, kind: ClientTransport, during: impl FnOnce()) -> f64 {
    let to = SocketAddr::new(IpAddr::from(SERVICE.0), SERVICE.1);
    let protocol = if kind == ClientTransport::Plain { ipproto::TCP } else { ipproto::MPTCP };
    let connected = || {
        let family = AddressFamily::INET;
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, Some(protocol)).unwrap();
        connect(&socket, &to).unwrap();
        TcpStream::from(socket)
    };
    let mut sender = world.lines.client.run_inside(connected).unwrap();
    let (mut receiver, _) = world.sink.accept().unwrap();
    let over = AtomicBool::new(false);
    let came = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let bytes = vec![7; 64 << 10];
            while !over.load(Ordering::Relaxed) {
                if sender.write_all(&bytes).is_err() {
                    break;
                }
            }
            let _ = sender.shutdown(std::net::Shutdown::Both);
        });
        scope.spawn(|| {
            let mut buffer = vec![0; 256 << 10];
            while let Ok(bytes @ 1..) = receiver.read(&mut buffer) {
                came.fetch_add(bytes as u64, Ordering::Relaxed);
            }
        });
        let _ends = StreamGuard(&over);
        wait::until("the stream is under way", || came.load(Ordering::Relaxed) >= under_way());
        let began = Instant::now();
        let before = came.load(Ordering::Relaxed);
        wait::until("the time is over", || began.elapsed() >= time());
        let bits = (came.load(Ordering::Relaxed) - before) as f64 * 8.0;
        let rate = bits / began.elapsed().as_secs_f64() / 1e6;
        during();
        rate
    })
}
