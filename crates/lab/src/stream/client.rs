//! The ordering end of stream measurements: one run at a time, seen from both ends.
//!
//! It judges nothing.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::de::DeserializeOwned;
use thiserror::Error;

use super::ask::{Answer, Ask, Carrier, LINE, Seen, Way};
use super::datagrams;
use super::flow::{self, Cut, GRACE};
use super::socket;

/// Both ends of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// What was sent.
    pub sent: Seen,
    /// What was received.
    pub received: Seen,
}

/// Why a run gave no figures.
#[derive(Debug, Error)]
pub enum RunError {
    /// Nobody serves there.
    #[error("{0} cannot be reached: {1}; start `steelyard bench serve --stream` there")]
    Reach(SocketAddr, #[source] io::Error),
    /// The other end says no.
    #[error("the serving end refuses: {0}")]
    Refused(String),
    /// What came is no answer.
    #[error("the serving end says something else than steelyard does: {0}")]
    Answer(#[from] serde_json::Error),
    /// A connection or the run broke off.
    #[error("the run broke off: {0}")]
    Broke(#[from] io::Error),
    /// It broke off after something had passed.
    #[error("after {} bytes: {source}", .seen.bytes)]
    Cut {
        /// What this end had seen.
        seen: Box<Seen>,
        /// Why.
        #[source]
        source: Box<RunError>,
    },
}

impl From<Cut> for RunError {
    fn from(cut: Cut) -> RunError {
        RunError::Broke(cut.source).after(cut.seen)
    }
}

impl RunError {
    /// With what this end had seen, if anything.
    fn after(self, seen: Seen) -> RunError {
        if seen.bytes == 0 {
            return self;
        }
        RunError::Cut { seen: Box::new(seen), source: Box::new(self) }
    }
}

/// Carries out one run against the end that serves at `to`.
pub fn run(to: SocketAddr, ask: &Ask) -> Result<Run, RunError> {
    let control = TcpStream::connect_timeout(&to, CONNECT_WITHIN);
    let control = control.map_err(|error| RunError::Reach(to, error))?;
    control.set_read_timeout(Some(ask.time() + GRACE + CONNECT_WITHIN))?;
    control.set_write_timeout(Some(CONNECT_WITHIN))?;
    let mut lines = BufReader::new(&control);
    say(&control, &serde_json::to_string(ask)?)?;
    let (port, token) = match hear(&mut lines)? {
        Answer::Ready { port, token } => (port, token),
        Answer::Refused(why) => return Err(RunError::Refused(why)),
    };
    let data = SocketAddr::new(to.ip(), port);
    let mine = match ask.carrier {
        Carrier::Tcp => {
            let stream = socket::connection(data, ask.buffer)?;
            match ask.way {
                Way::To => flow::send(&stream, ask)?,
                Way::From => flow::receive(&stream, ask)?,
            }
        }
        Carrier::Udp => {
            let socket = socket::datagrams(control.local_addr()?.ip(), ask.buffer)?;
            socket.connect(data)?;
            match ask.way {
                Way::To => {
                    let sent = datagrams::send(&socket, ask, token)?;
                    say(&control, "{}").map_err(|error| RunError::Broke(error).after(sent))?;
                    sent
                }
                Way::From => return from(&socket, ask, token, &mut lines),
            }
        }
    };
    let theirs: Seen = hear(&mut lines).map_err(|error| error.after(mine))?;
    Ok(match ask.way {
        Way::To => Run { sent: mine, received: theirs },
        Way::From => Run { sent: theirs, received: mine },
    })
}

/// Receives datagrams until the other end says what it sent.
fn from(
    socket: &std::net::UdpSocket,
    ask: &Ask,
    token: u64,
    lines: &mut BufReader<&TcpStream>,
) -> Result<Run, RunError> {
    let over = AtomicBool::new(false);
    datagrams::say_hello(socket, token)?;
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| datagrams::receive(socket, ask, token, &over));
        let sent = hear(lines);
        over.store(true, std::sync::atomic::Ordering::Release);
        let received =
            receiver.join().map_err(|_| io::Error::other("the receiver broke down"))??;
        Ok(Run { sent: sent.map_err(|error: RunError| error.after(received))?, received })
    })
}

fn say(mut control: &TcpStream, line: &str) -> io::Result<()> {
    control.write_all(format!("{line}\n").as_bytes())
}

fn hear<T: DeserializeOwned>(lines: &mut BufReader<&TcpStream>) -> Result<T, RunError> {
    let mut line = String::new();
    if lines.take(LINE).read_line(&mut line)? == 0 {
        return Err(RunError::Broke(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(serde_json::from_str(&line)?)
}

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
