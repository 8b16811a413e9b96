//! Command-line arguments, accepting, connecting and polling for both forwarders; each forwarder moves the bytes
//! itself.
//!
//! A half-close is passed on; an error closes both sides.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use lab::poller::Poller;
use model::monotonic_time::MonotonicTime;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Shutdown, SocketFlags, SocketType, accept_with, bind, connect, listen, shutdown,
    socket_with, sockopt,
};

/// The two addresses a forwarder is started with.
pub fn two_addresses() -> Result<(SocketAddr, SocketAddr), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next(), arguments.next(), arguments.next()) {
        (Some(listen), Some(upstream), None) => Ok((listen.parse()?, upstream.parse()?)),
        _ => Err("usage: FORWARDER LISTEN UPSTREAM, such as 127.0.0.1:8080 127.0.0.1:9090".into()),
    }
}

/// A client (side 0) and its upstream (side 1).
pub struct Pair<S> {
    pub sockets: [OwnedFd; 2],
    pub state: S,
    /// Bytes of this side wait for room on the other.
    blocked: [bool; 2],
    ended: [bool; 2],
    serial: u32,
}

/// The result of moving one side's bytes.
pub enum Step {
    /// The kernel has no more bytes.
    Wait,
    /// The other side has no room.
    Blocked,
    /// The side closed its direction.
    Ended,
    /// The pair has failed.
    Over,
}

/// Serves forever; `forward` moves the bytes that side `from` sent.
pub fn serve<S>(
    address: SocketAddr,
    upstream: SocketAddr,
    new: impl Fn() -> S,
    mut forward: impl FnMut(&mut Pair<S>, usize, bool) -> Step,
) -> Result<(), Box<dyn std::error::Error>> {
    let listener = socket(address)?;
    sockopt::set_socket_reuseaddr(&listener, true)?;
    bind(&listener, &address)?;
    listen(&listener, 4_096)?;
    let mut poller = Poller::new()?;
    poller.add_listener(&listener, LISTENER)?;
    let mut pairs = Vec::<Option<Pair<S>>>::new();
    let mut free = Vec::new();
    let mut serial = 0u32;
    let mut ready = Vec::new();
    loop {
        poller.wait(MonotonicTime::NEVER, &mut ready)?;
        for event in &ready {
            if event.token == LISTENER {
                while let Ok(client) = accept_with(&listener, FLAGS) {
                    serial = serial.wrapping_add(1) & SERIALS;
                    let slot = free.pop().unwrap_or(pairs.len());
                    if slot == pairs.len() {
                        pairs.push(None);
                    }
                    match open(client, upstream, new(), serial, slot, &poller) {
                        Ok(pair) => pairs[slot] = Some(pair),
                        Err(_) => free.push(slot),
                    }
                }
                continue;
            }
            let slot = (event.token >> 1 & 0xffff_ffff) as usize;
            let side = (event.token & 1) as usize;
            let Some(pair) =
                pairs[slot].as_mut().filter(|p| u64::from(p.serial) == event.token >> 33)
            else {
                continue;
            };
            let is_alive = (!event.readable || turn(pair, side, event.ended, &mut forward))
                && (!event.writable
                    || !pair.blocked[1 - side]
                    || turn(pair, 1 - side, true, &mut forward));
            if !is_alive || pair.ended == [true, true] {
                pairs[slot] = None;
                free.push(slot);
            }
        }
    }
}

/// `false`: the pair has ended.
fn turn<S>(
    pair: &mut Pair<S>,
    from: usize,
    ended: bool,
    forward: &mut impl FnMut(&mut Pair<S>, usize, bool) -> Step,
) -> bool {
    if pair.ended[from] {
        return true;
    }
    let step = forward(pair, from, ended);
    pair.blocked[from] = matches!(step, Step::Blocked);
    match step {
        Step::Wait | Step::Blocked => true,
        Step::Over => false,
        Step::Ended => {
            pair.ended[from] = true;
            shutdown(&pair.sockets[1 - from], Shutdown::Write).is_ok()
        }
    }
}

fn open<S>(
    client: OwnedFd,
    upstream: SocketAddr,
    state: S,
    serial: u32,
    slot: usize,
    poller: &Poller,
) -> Result<Pair<S>, Errno> {
    let server = socket(upstream)?;
    sockopt::set_tcp_nodelay(&client, true)?;
    sockopt::set_tcp_nodelay(&server, true)?;
    match connect(&server, &upstream) {
        Ok(()) | Err(Errno::INPROGRESS) => {}
        Err(error) => return Err(error),
    }
    let token = u64::from(serial) << 33 | (slot as u64) << 1;
    poller.add(&client, token)?;
    poller.add(&server, token | 1)?;
    Ok(Pair { sockets: [client, server], state, blocked: [false; 2], ended: [false; 2], serial })
}

fn socket(address: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    socket_with(family, SocketType::STREAM, FLAGS, None)
}

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);
const LISTENER: u64 = u64::MAX - 2;
/// Largest serial number that fits beside slot and side and never equals `LISTENER`.
const SERIALS: u32 = (1 << 30) - 1;
