//! One probe of one server: connects, asks, reads the head of the answer, says what it saw.
//!
//! It reads no body, follows no redirect and judges nothing: `model::health` does.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream as StdStream};
use std::sync::Arc;
use std::time::Duration;

use model::config::{ProbeKind, SocketOptions};
use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout_at};
use wire::http1::{Asked, Limits, Slots, may_complete, parse_response};

/// The largest answer head that is read, informational ones included.
const HEAD_BYTES: usize = 16 * 1024;
/// Fields of a head.
const HEAD_COUNT: usize = 128;

/// What is probed and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Where.
    pub address: SocketAddr,
    /// From where; `None`: the kernel chooses.
    pub source: Option<IpAddr>,
    /// The pool's socket settings.
    pub socket: Arc<SocketOptions>,
    /// What is done.
    pub kind: ProbeKind,
    /// The Host header of `http`.
    pub host: String,
    /// For the whole probe.
    pub timeout: Duration,
}

/// What came of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The server did what was asked. The time is not part of the sentence.
    Seen {
        /// What was seen.
        what: String,
        /// How long it took.
        took: Duration,
    },
    /// It did not: why.
    Failed(String),
    /// We could not ask: no evidence about the server.
    Ours(String),
}

/// Probes once. Ends within the target's timeout.
pub async fn check(target: &Target) -> Outcome {
    let begin = Instant::now();
    let end = begin + target.timeout;
    let late = |what| Outcome::Failed(format!("no {what} within {}", time(target.timeout)));
    let mut stream = match timeout_at(end, connect(target)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(outcome)) => return outcome,
        Err(_) => return late("connection"),
    };
    let asked = match &target.kind {
        ProbeKind::Tcp => {
            // A reset instead of an orderly close leaves no TIME_WAIT behind, on either side.
            let _ = stream.set_zero_linger();
            Ok(Ok("connected".to_owned()))
        }
        ProbeKind::Http { path, status, .. } => {
            timeout_at(end, ask(&mut stream, target, path, status)).await
        }
    };
    match asked {
        Ok(Ok(what)) => Outcome::Seen { what, took: begin.elapsed() },
        Ok(Err(outcome)) => outcome,
        Err(_) => late("answer"),
    }
}

async fn connect(target: &Target) -> Result<TcpStream, Outcome> {
    let fd = l7::socket::outgoing(target.address, target.source, &target.socket)
        .map_err(|e| refused(&e))?;
    let socket = TcpSocket::from_std_stream(StdStream::from(fd));
    socket.connect(target.address).await.map_err(|e| refused(&e))
}

/// Which errors of connecting say something about the server, and which about us.
fn refused(error: &std::io::Error) -> Outcome {
    let ours = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::ADDRNOTAVAIL];
    if ours.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error())) {
        return Outcome::Ours(format!("cannot probe: {error}"));
    }
    Outcome::Failed(match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        ErrorKind::ConnectionReset => "connection reset".to_owned(),
        _ => format!("cannot connect: {error}"),
    })
}

async fn ask(
    stream: &mut TcpStream,
    target: &Target,
    path: &str,
    allowed: &[(u16, u16)],
) -> Result<String, Outcome> {
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {}\r\nuser-agent: steelyard-probe\r\naccept: */*\r\nconnection: close\r\n\r\n",
        target.host
    );
    stream.write_all(request.as_bytes()).await.map_err(|e| broken(&e, 0))?;
    let status = read_status(stream).await?;
    if allowed.iter().any(|(from, to)| (*from..=*to).contains(&status)) {
        return Ok(format!("http GET {path} {status}"));
    }
    Err(Outcome::Failed(format!("http GET {path}: status {status}, expected {}", ranges(allowed))))
}

/// The status of the first final head.
async fn read_status(stream: &mut TcpStream) -> Result<u16, Outcome> {
    let limits =
        Limits { head_bytes: HEAD_BYTES, head_count: HEAD_COUNT, target_bytes: HEAD_BYTES };
    let mut head = Vec::with_capacity(1024);
    let mut from = 0;
    loop {
        let had = head.len();
        if had >= HEAD_BYTES {
            return Err(Outcome::Failed(format!("the answer's head exceeds {HEAD_BYTES} bytes")));
        }
        let room = HEAD_BYTES - had;
        let n = (&mut *stream)
            .take(room as u64)
            .read_buf(&mut head)
            .await
            .map_err(|e| broken(&e, had))?;
        if n == 0 {
            return Err(Outcome::Failed(closed(had)));
        }
        // Only a line's end can complete a head: bytes that drip in one by one are not parsed one by one.
        while head.len() > from && may_complete(&head, had, &limits) {
            let mut slots = Slots::new();
            match parse_response(&head[from..], &limits, &mut slots, Asked::Other) {
                Err(defect) => {
                    return Err(Outcome::Failed(format!(
                        "the answer is not HTTP: {}",
                        defect.name()
                    )));
                }
                Ok(None) => break,
                Ok(Some(answer)) if (100..200).contains(&answer.status) && answer.status != 101 => {
                    from += answer.head_len;
                }
                Ok(Some(answer)) => return Ok(answer.status),
            }
        }
    }
}

fn closed(had: usize) -> String {
    if had == 0 {
        "closed without an answer".to_owned()
    } else {
        "closed in the middle of the answer's head".to_owned()
    }
}

fn broken(error: &std::io::Error, had: usize) -> Outcome {
    Outcome::Failed(match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe if had == 0 => {
            "reset without an answer".to_owned()
        }
        ErrorKind::ConnectionReset => "reset in the middle of the answer's head".to_owned(),
        _ => format!("no answer: {error}"),
    })
}

fn ranges(allowed: &[(u16, u16)]) -> String {
    let one = |(from, to): &(u16, u16)| {
        if from == to { from.to_string() } else { format!("{from}-{to}") }
    };
    allowed.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A time for people: two digits are enough.
pub fn time(span: Duration) -> String {
    let micros = span.as_micros();
    match micros {
        0..10_000 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        10_000..1_000_000 => format!("{} ms", micros / 1000),
        _ if micros % 1_000_000 < 100_000 => format!("{} s", micros / 1_000_000),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}
