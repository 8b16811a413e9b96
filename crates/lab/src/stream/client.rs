//! The client of stream measurements: makes one run at a time and collects the figures of both ends.
//!
//! It does not assess figures.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::de::DeserializeOwned;
use thiserror::Error;

use super::request::{
    MAX_LINE, StreamDirection, StreamReply, StreamReport, StreamRequest, StreamTransport,
};
use super::socket;
use super::tcp::{self, GRACE, InterruptedRun};
use super::udp;

/// Both ends of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRun {
    pub sent: StreamReport,
    pub received: StreamReport,
}

/// Why a run has no figures.
#[derive(Debug, Error)]
pub enum StreamRunError {
    #[error("{0} cannot be reached: {1}; start `steelyard bench serve --stream` there")]
    Unreachable(SocketAddr, #[source] io::Error),
    /// The server refused the request.
    #[error("the serving end refuses: {0}")]
    Refused(String),
    /// The server's reply is invalid.
    #[error("the serving end says something else than steelyard does: {0}")]
    Answer(#[from] serde_json::Error),
    /// A connection or the run failed.
    #[error("the run broke off: {0}")]
    ConnectionLost(#[from] io::Error),
    /// The run failed after data had been transferred.
    #[error("after {} bytes: {source}", .seen.bytes)]
    Interrupted {
        /// The figures of this end.
        seen: Box<StreamReport>,
        #[source]
        source: Box<StreamRunError>,
    },
}

impl From<InterruptedRun> for StreamRunError {
    fn from(cut: InterruptedRun) -> StreamRunError {
        StreamRunError::ConnectionLost(cut.source).with_report(cut.partial_report)
    }
}

impl StreamRunError {
    /// Adds the figures of this end, if any.
    fn with_report(self, seen: StreamReport) -> StreamRunError {
        if seen.bytes == 0 {
            return self;
        }
        StreamRunError::Interrupted { seen: Box::new(seen), source: Box::new(self) }
    }
}

/// Makes one run with the server at `to`.
pub fn run_stream(to: SocketAddr, ask: &StreamRequest) -> Result<StreamRun, StreamRunError> {
    let control = TcpStream::connect_timeout(&to, CONNECT_WITHIN);
    let control = control.map_err(|error| StreamRunError::Unreachable(to, error))?;
    control.set_read_timeout(Some(ask.time() + GRACE + CONNECT_WITHIN))?;
    control.set_write_timeout(Some(CONNECT_WITHIN))?;
    let mut lines = BufReader::new(&control);
    send_line(&control, &serde_json::to_string(ask)?)?;
    let (port, token) = match read_reply(&mut lines)? {
        StreamReply::Ready { port, token } => (port, token),
        StreamReply::Refused(why) => return Err(StreamRunError::Refused(why)),
    };
    let data = SocketAddr::new(to.ip(), port);
    let mine = match ask.carrier {
        StreamTransport::Tcp => {
            let stream = socket::connection(data, ask.buffer)?;
            match ask.way {
                StreamDirection::To => tcp::send(&stream, ask)?,
                StreamDirection::From => tcp::receive(&stream, ask)?,
            }
        }
        StreamTransport::Udp => {
            let socket = socket::datagrams(control.local_addr()?.ip(), ask.buffer)?;
            socket.connect(data)?;
            match ask.way {
                StreamDirection::To => {
                    let sent = udp::send(&socket, ask, token)?;
                    send_line(&control, "{}")
                        .map_err(|error| StreamRunError::ConnectionLost(error).with_report(sent))?;
                    sent
                }
                StreamDirection::From => {
                    return receive_from_server(&socket, ask, token, &mut lines);
                }
            }
        }
    };
    let theirs: StreamReport = read_reply(&mut lines).map_err(|error| error.with_report(mine))?;
    Ok(match ask.way {
        StreamDirection::To => StreamRun { sent: mine, received: theirs },
        StreamDirection::From => StreamRun { sent: theirs, received: mine },
    })
}

/// Receives datagrams until the server reports its figures.
fn receive_from_server(
    socket: &std::net::UdpSocket,
    ask: &StreamRequest,
    token: u64,
    lines: &mut BufReader<&TcpStream>,
) -> Result<StreamRun, StreamRunError> {
    let over = AtomicBool::new(false);
    udp::send_hello(socket, token)?;
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| udp::receive(socket, ask, token, &over));
        let sent = read_reply(lines);
        // Release pairs with the Acquire of the receiver.
        over.store(true, std::sync::atomic::Ordering::Release);
        let received =
            receiver.join().map_err(|_| io::Error::other("the receiver broke down"))??;
        Ok(StreamRun {
            sent: sent.map_err(|error: StreamRunError| error.with_report(received))?,
            received,
        })
    })
}

fn send_line(mut control: &TcpStream, line: &str) -> io::Result<()> {
    control.write_all(format!("{line}\n").as_bytes())
}

fn read_reply<T: DeserializeOwned>(lines: &mut BufReader<&TcpStream>) -> Result<T, StreamRunError> {
    let mut line = String::new();
    if lines.take(MAX_LINE).read_line(&mut line)? == 0 {
        return Err(StreamRunError::ConnectionLost(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(serde_json::from_str(&line)?)
}

/// A server that does not answer within this time is reported as unreachable.
/// Three retransmissions of a SYN fit (1 + 2 + 4 s).
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
