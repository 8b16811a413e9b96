//! Sends and receives a TCP stream for a time. Both ends use it. It opens no sockets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::request::{StreamReport, StreamRequest};
use super::socket::read_socket_state;

/// Additional time of a run for data in flight.
pub const GRACE: Duration = Duration::from_secs(20);

/// An interrupted run, with the figures of this end.
#[derive(Debug, Error)]
#[error("{source}")]
pub struct InterruptedRun {
    /// The counts up to the failure.
    pub partial_report: StreamReport,
    #[source]
    pub source: io::Error,
}

impl From<InterruptedRun> for io::Error {
    fn from(cut: InterruptedRun) -> io::Error {
        cut.source
    }
}

/// Returns the report, with the error if the run failed.
pub fn finish_report(
    seen: StreamReport,
    end: io::Result<()>,
) -> Result<StreamReport, InterruptedRun> {
    match end {
        Ok(()) => Ok(seen),
        Err(source) => Err(InterruptedRun { partial_report: seen, source }),
    }
}

/// Sends messages until the time is over, then closes this direction.
pub fn send(stream: &TcpStream, ask: &StreamRequest) -> Result<StreamReport, InterruptedRun> {
    let began = Instant::now();
    let mut seen = StreamReport::default();
    let sent = send_all(stream, ask, began, &mut seen);
    seen.nanos = nanos(began.elapsed());
    // Must be read while the connection is open.
    read_socket_state(stream, &mut seen);
    finish_report(seen, sent.and_then(|()| stream.shutdown(Shutdown::Write)))
}

fn send_all(
    mut stream: &TcpStream,
    ask: &StreamRequest,
    began: Instant,
    seen: &mut StreamReport,
) -> io::Result<()> {
    let message = vec![0x5a; ask.message as usize];
    stream.set_write_timeout(Some(GRACE))?;
    while began.elapsed() < ask.time() {
        stream.write_all(&message)?;
        seen.bytes += message.len() as u64;
        seen.messages += 1;
    }
    Ok(())
}

/// Receives until the peer closes its direction.
pub fn receive(stream: &TcpStream, ask: &StreamRequest) -> Result<StreamReport, InterruptedRun> {
    let mut seen = StreamReport::default();
    let mut span = None;
    let received = receive_all(stream, ask, &mut seen, &mut span);
    seen.nanos = span.map_or(0, |(first, last): (Instant, Instant)| nanos(last - first));
    read_socket_state(stream, &mut seen);
    finish_report(seen, received)
}

/// `span`: when the first bytes arrived, and the last.
fn receive_all(
    mut stream: &TcpStream,
    ask: &StreamRequest,
    seen: &mut StreamReport,
    span: &mut Option<(Instant, Instant)>,
) -> io::Result<()> {
    let mut scratch = vec![0; SCRATCH];
    stream.set_read_timeout(Some(GRACE))?;
    let until = Instant::now() + ask.time() + GRACE;
    loop {
        match stream.read(&mut scratch) {
            Ok(0) => return Ok(()),
            Ok(bytes) => {
                let now = Instant::now();
                span.get_or_insert((now, now)).1 = now;
                seen.bytes += bytes as u64;
                if now > until {
                    return Err(io::Error::new(ErrorKind::TimedOut, "the sender does not stop"));
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Bytes of one read; bounds the memory of a thread.
const SCRATCH: usize = 256 * 1024;
