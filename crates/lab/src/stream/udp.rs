//! Sends and receives numbered datagrams for a time. Both ends use it. It opens no sockets.

use std::io::{Error, ErrorKind, Result};
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::request::{
    HEAD, HELLO, ReorderCounter, StreamReport, StreamRequest, read_datagram_number,
    write_datagram_header,
};
use super::send_rate;
use super::socket::read_socket_state;
use super::tcp::{GRACE, InterruptedRun, finish_report, nanos};

/// Sends datagrams over a connected socket until the time is over, at most at the requested rate.
pub fn send(
    socket: &UdpSocket,
    ask: &StreamRequest,
    token: u64,
) -> std::result::Result<StreamReport, InterruptedRun> {
    let began = Instant::now();
    let mut seen = StreamReport::default();
    let sent = send_all(socket, ask, token, began, &mut seen);
    seen.nanos = nanos(began.elapsed());
    read_socket_state(socket, &mut seen);
    finish_report(seen, sent)
}

fn send_all(
    socket: &UdpSocket,
    ask: &StreamRequest,
    token: u64,
    began: Instant,
    seen: &mut StreamReport,
) -> Result<()> {
    let mut message = vec![0x5a; ask.message as usize];
    while began.elapsed() < ask.time() {
        if let Some(rate) = ask.rate {
            let due = send_rate::send_due(seen.messages, ask.message.into(), rate).min(ask.time());
            while let Some(early) =
                due.checked_sub(began.elapsed()).filter(|early| !early.is_zero())
            {
                std::thread::park_timeout(early);
            }
        }
        write_datagram_header(&mut message, token, seen.messages);
        match socket.send(&message) {
            Ok(bytes) => {
                seen.bytes += bytes as u64;
                seen.messages += 1;
            }
            // The link's queue is full, so this datagram was not sent and must not be counted.
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => seen.refused += 1,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Receives datagrams with this token until `over`, and then until none has arrived for a while.
pub fn receive(
    socket: &UdpSocket,
    ask: &StreamRequest,
    token: u64,
    over: &AtomicBool,
) -> std::result::Result<StreamReport, InterruptedRun> {
    let mut seen = StreamReport::default();
    let mut order = ReorderCounter::default();
    let mut span = None;
    let came = |number: u64, bytes: usize| {
        let now = Instant::now();
        span.get_or_insert((now, now)).1 = now;
        order.record(number);
        seen.bytes += bytes as u64;
        seen.messages += 1;
    };
    let received = receive_all(socket, ask, token, over, came);
    seen.reordered = order.reordered;
    seen.nanos = span.map_or(0, |(first, last): (Instant, Instant)| nanos(last - first));
    read_socket_state(socket, &mut seen);
    finish_report(seen, received)
}

/// `came` receives the number and the size of each datagram.
fn receive_all(
    socket: &UdpSocket,
    ask: &StreamRequest,
    token: u64,
    over: &AtomicBool,
    mut came: impl FnMut(u64, usize),
) -> Result<()> {
    let mut scratch = vec![0; 65_536];
    socket.set_read_timeout(Some(LOOK))?;
    let until = Instant::now() + ask.time() + GRACE;
    let mut last = Instant::now();
    while Instant::now() < until {
        match socket.recv(&mut scratch) {
            Ok(bytes) => {
                let Some(number) =
                    read_datagram_number(&scratch[..bytes], token).filter(|n| *n != HELLO)
                else {
                    continue;
                };
                last = Instant::now();
                came(number, bytes);
            }
            Err(error) if is_pause(&error) => {
                // Datagrams may still be on their way when the sender's report arrives, hence the quiet time.
                if over.load(Ordering::Acquire) && last.elapsed() > QUIET {
                    break;
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits for a datagram with this token from the requesting address, and connects to its source.
pub fn await_hello(socket: &UdpSocket, from: SocketAddr, token: u64) -> Result<()> {
    socket.set_read_timeout(Some(LOOK))?;
    let until = Instant::now() + HELLO_WITHIN;
    let mut scratch = [0; HEAD];
    while Instant::now() < until {
        match socket.recv_from(&mut scratch) {
            Ok((bytes, peer)) => {
                if peer.ip() == from.ip()
                    && read_datagram_number(&scratch[..bytes], token).is_some()
                {
                    return socket.connect(peer);
                }
            }
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(ErrorKind::TimedOut, "no datagram came from the end that ordered them"))
}

/// Requests datagrams; several are sent because one may be lost.
pub fn send_hello(socket: &UdpSocket, token: u64) -> Result<()> {
    let mut hello = [0; HEAD];
    write_datagram_header(&mut hello, token, HELLO);
    (0..HELLOS).try_for_each(|_| socket.send(&hello).map(drop))
}

fn is_pause(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Interval between checks for the end of the run.
const LOOK: Duration = Duration::from_millis(20);
/// Receiving ends when no datagram has arrived for this time after the sender's end.
const QUIET: Duration = Duration::from_millis(250);
/// A server that answers no hello within this time is reported as unreachable.
const HELLO_WITHIN: Duration = Duration::from_secs(5);
/// Hellos sent at once, because datagrams may be lost.
const HELLOS: usize = 8;
