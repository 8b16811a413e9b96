//! The lower bound for a small exchange: copies bytes between a client and one upstream without parsing them.
//!
//! `blind_forwarder LISTEN UPSTREAM`. One thread, edge-triggered epoll, one shared buffer, and no limit for a
//! connection's age. It has no timeouts, counters or rules: any further cost of a balancer comes from its features.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

#[path = "support/forward.rs"]
mod forward;
use forward::{Pair, Step, serve};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (listen, upstream): (SocketAddr, SocketAddr) = forward::two_addresses()?;
    let mut scratch = vec![0u8; 128 * 1024];
    serve(listen, upstream, PendingBytes::default, move |pair, from, ended| {
        copy(pair, from, ended, &mut scratch)
    })
}

/// Bytes that the receiving socket had no room for, by the sending side.
#[derive(Default)]
struct PendingBytes {
    pending: [Vec<u8>; 2],
}

fn copy(pair: &mut Pair<PendingBytes>, from: usize, ended: bool, scratch: &mut [u8]) -> Step {
    let to = 1 - from;
    loop {
        if !pair.state.pending[from].is_empty() {
            match send_all(&pair.sockets[to], &pair.state.pending[from]) {
                Ok(sent) => drop(pair.state.pending[from].drain(..sent)),
                Err(_) => return Step::Over,
            }
            if !pair.state.pending[from].is_empty() {
                return Step::Blocked;
            }
        }
        match recv(&pair.sockets[from], &mut *scratch, RecvFlags::empty()) {
            Ok((0, _)) => return Step::Ended,
            Ok((bytes, _)) => {
                match send_all(&pair.sockets[to], &scratch[..bytes]) {
                    Ok(sent) if sent == bytes => {}
                    Ok(sent) => {
                        pair.state.pending[from].extend_from_slice(&scratch[sent..bytes]);
                        return Step::Blocked;
                    }
                    Err(_) => return Step::Over,
                }
                if bytes < scratch.len() && !ended {
                    return Step::Wait;
                }
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Step::Wait,
            Err(_) => return Step::Over,
        }
    }
}

/// Sends until the kernel has no room; returns the number of bytes sent.
fn send_all(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    let mut sent = 0;
    while sent < bytes.len() {
        match send(socket, &bytes[sent..], SendFlags::NOSIGNAL) {
            Ok(more) => sent += more,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
