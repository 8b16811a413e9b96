//! The server of stream measurements: a thread for each request, at most `SESSIONS` at a time.
//!
//! It sends only to the requesting address, and datagrams only after that address has returned its token.

use std::io::{BufRead, BufReader, Read, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::request::{
    MAX_LINE, StreamDirection, StreamReply, StreamReport, StreamRequest, StreamTransport,
    parse_request,
};
use super::socket;
use super::tcp::{self, GRACE};
use super::udp;

#[derive(Debug, Default)]
pub struct StreamServerCounts {
    /// Requests that completed.
    pub served: AtomicU64,
    /// Requests refused: invalid, or too many at a time.
    pub refused: AtomicU64,
    /// Requests that failed.
    pub broken: AtomicU64,
    open: AtomicU64,
}

/// Serves until `stop`.
///
/// # Errors
/// The listener cannot be polled.
pub fn serve_streams(
    listener: &TcpListener,
    stop: &AtomicBool,
    counts: &Arc<StreamServerCounts>,
) -> Result<()> {
    listener.set_nonblocking(true)?;
    while !stop.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((control, from)) => admit(control, from, counts),
            // No connection, or an already closed one; a lack of descriptors ends when other sessions do.
            Err(_) => std::thread::park_timeout(LOOK),
        }
    }
    Ok(())
}

fn admit(control: TcpStream, from: SocketAddr, counts: &Arc<StreamServerCounts>) {
    // Counted before the check, so that sessions that begin at once cannot exceed the limit together.
    if counts.open.fetch_add(1, Ordering::AcqRel) >= SESSIONS {
        counts.open.fetch_sub(1, Ordering::AcqRel);
        counts.refused.fetch_add(1, Ordering::Relaxed);
        // The client may have gone; it is refused either way.
        let _ = send_line(
            &control,
            &StreamReply::Refused(format!("{SESSIONS} measurements are under way")),
        );
        return;
    }
    let mine = counts.clone();
    let work = move || {
        match serve_session(&control, from) {
            Ok(true) => mine.served.fetch_add(1, Ordering::Relaxed),
            Ok(false) => mine.refused.fetch_add(1, Ordering::Relaxed),
            Err(_) => mine.broken.fetch_add(1, Ordering::Relaxed),
        };
        mine.open.fetch_sub(1, Ordering::AcqRel);
    };
    if std::thread::Builder::new().name("stream".to_owned()).spawn(work).is_err() {
        counts.open.fetch_sub(1, Ordering::AcqRel);
        counts.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// Serves one request; false: it was refused.
fn serve_session(control: &TcpStream, from: SocketAddr) -> Result<bool> {
    control.set_nonblocking(false)?;
    control.set_read_timeout(Some(ORDER_WITHIN))?;
    control.set_write_timeout(Some(ORDER_WITHIN))?;
    let mut lines = BufReader::new(control);
    let mut line = String::new();
    (&mut lines).take(MAX_LINE).read_line(&mut line)?;
    let ask = match parse_request(&line) {
        Ok(ask) => ask,
        Err(error) => {
            send_line(control, &StreamReply::Refused(error.to_string()))?;
            return Ok(false);
        }
    };
    control.set_read_timeout(Some(ask.time() + GRACE))?;
    let ip = control.local_addr()?.ip();
    let seen = match ask.carrier {
        StreamTransport::Tcp => {
            let listener = socket::listener(ip, ask.buffer)?;
            send_line(
                control,
                &StreamReply::Ready { port: listener.local_addr()?.port(), token: 0 },
            )?;
            let stream = accept_data_connection(&listener, from)?;
            match ask.way {
                StreamDirection::To => tcp::receive(&stream, &ask)?,
                StreamDirection::From => tcp::send(&stream, &ask)?,
            }
        }
        StreamTransport::Udp => {
            let socket = socket::datagrams(ip, ask.buffer)?;
            let token = random_token(&socket)?;
            send_line(control, &StreamReply::Ready { port: socket.local_addr()?.port(), token })?;
            match ask.way {
                StreamDirection::To => receive_datagrams(&socket, &ask, token, &mut lines)?,
                StreamDirection::From => {
                    udp::await_hello(&socket, from, token)?;
                    udp::send(&socket, &ask, token)?
                }
            }
        }
    };
    send_line(control, &seen).map(|()| true)
}

/// Accepts the data connection from the requesting address; others are closed.
fn accept_data_connection(listener: &TcpListener, from: SocketAddr) -> Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let until = Instant::now() + ORDER_WITHIN;
    while Instant::now() < until {
        match listener.accept() {
            Ok((stream, peer)) if peer.ip() == from.ip() => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Ok(_) => {}
            // A millisecond keeps the wait off the processor and short against the session.
            Err(_) => std::thread::park_timeout(Duration::from_millis(1)),
        }
    }
    Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "the end that ordered does not connect"))
}

/// Receives until the sender reports on the control connection that it has sent everything.
fn receive_datagrams(
    socket: &UdpSocket,
    ask: &StreamRequest,
    token: u64,
    lines: &mut BufReader<&TcpStream>,
) -> Result<StreamReport> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| udp::receive(socket, ask, token, &over));
        let mut line = String::new();
        // Any line, or the end of the connection: the sender has finished.
        let read = lines.take(MAX_LINE).read_line(&mut line);
        // Release pairs with the Acquire of the receiver.
        over.store(true, Ordering::Release);
        let seen = receiver.join().map_err(|_| std::io::Error::other("the receiver broke down"))?;
        read.and(seen.map_err(std::io::Error::from))
    })
}

/// A number that others cannot guess.
fn random_token(socket: &UdpSocket) -> Result<u64> {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds this hasher from the system's random source.
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write_u16(socket.local_addr()?.port());
    Ok(hasher.finish())
}

fn send_line<T: serde::Serialize>(mut control: &TcpStream, what: &T) -> Result<()> {
    let text = serde_json::to_string(what).map_err(std::io::Error::other)?;
    control.write_all(format!("{text}\n").as_bytes())
}

/// Limit for concurrent measurements.
const SESSIONS: u64 = 16;
/// Time limit for a client's request, so that a silent client does not occupy a session.
const ORDER_WITHIN: Duration = Duration::from_secs(10);
/// Interval between checks of `stop`.
const LOOK: Duration = Duration::from_millis(10);
