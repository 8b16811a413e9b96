//! One connection over TCP (RFC 7766): queries one after the other, each answered in its turn, until it is silent.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use names::counts::{DnsTransport, Fate};
use names::responder::{DnsResponder, QueryContext};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::datagram_batch::QUERY_MAX;
use super::shared::{DnsClockReading, NameServerState, clock_now};

/// Bytes of queries that are read ahead.
const AHEAD: usize = 8_192;
const _: () = assert!(AHEAD >= QUERY_MAX + 2);
/// Bytes of answers that are sent together.
const TOGETHER: usize = 16_384;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionEndReason {
    /// The other end closed it.
    Closed,
    /// No complete query arrived, or no answer could be sent, in time.
    Idle,
    /// A message was longer than any query is.
    Long,
}

/// Serves a connection to its end.
pub(super) async fn serve(
    mut stream: TcpStream,
    client: IpAddr,
    shared: &Arc<NameServerState>,
    desk: &Mutex<DnsResponder>,
    idle: Duration,
) {
    let mut talk = DnsTcpConnection {
        state: shared,
        responder: desk,
        client,
        waiting: Vec::new(),
        answers: Vec::new(),
    };
    match talk.run(&mut stream, idle).await {
        Ok(ConnectionEndReason::Idle) => drop(shared.tcp.idle.fetch_add(1, Ordering::Relaxed)),
        Ok(ConnectionEndReason::Long) => drop(shared.tcp.long.fetch_add(1, Ordering::Relaxed)),
        // An error means that the client has reset the connection, so it is closed.
        Ok(ConnectionEndReason::Closed) | Err(_) => {}
    }
}

struct DnsTcpConnection<'s> {
    state: &'s Arc<NameServerState>,
    responder: &'s Mutex<DnsResponder>,
    client: IpAddr,
    /// Bytes that were read and not answered yet.
    waiting: Vec<u8>,
    /// Answers to send, with their length prefixes.
    answers: Vec<u8>,
}

impl DnsTcpConnection<'_> {
    async fn run(
        &mut self,
        stream: &mut TcpStream,
        idle: Duration,
    ) -> io::Result<ConnectionEndReason> {
        let mut deadline = Instant::now() + idle;
        let mut room = [0; AHEAD];
        loop {
            let free = AHEAD.saturating_sub(self.waiting.len());
            let read = timeout_at(deadline, stream.read(&mut room[..free])).await;
            let Ok(read) = read else { return Ok(ConnectionEndReason::Idle) };
            match read? {
                0 => return Ok(ConnectionEndReason::Closed),
                count => self.waiting.extend_from_slice(&room[..count]),
            }
            loop {
                let whole = self.answer();
                if !self.answers.is_empty() {
                    let sent =
                        timeout_at(Instant::now() + idle, stream.write_all(&self.answers)).await;
                    let Ok(sent) = sent else { return Ok(ConnectionEndReason::Idle) };
                    sent?;
                    self.answers.clear();
                }
                match whole {
                    Some(0) => break,
                    Some(_) => deadline = Instant::now() + idle,
                    None => return Ok(ConnectionEndReason::Long),
                }
            }
        }
    }

    /// Answers whole queries until much is to be sent; how many. `None`: the next message is too long to be one.
    fn answer(&mut self) -> Option<usize> {
        let DnsClockReading { now, unix_seconds } = clock_now();
        let Some(book) = self.state.zone_data() else { return Some(0) };
        let asked =
            QueryContext { source: self.client, transport: DnsTransport::Tcp, now, unix_seconds };
        let mut desk = self.responder.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = 0;
        let mut count = 0;
        let mut answer = Vec::new();
        while self.answers.len() < TOGETHER {
            let Some((length, rest)) = self.waiting.get(at..).and_then(<[u8]>::split_first_chunk)
            else {
                break;
            };
            let length = usize::from(u16::from_be_bytes(*length));
            if length > QUERY_MAX {
                return None;
            }
            let Some(query) = rest.get(..length) else { break };
            let fate = desk.answer(&book, &asked, query, &mut answer);
            self.state.counts.add_received(DnsTransport::Tcp, 1);
            self.state.counts.add(DnsTransport::Tcp, fate, 1);
            if fate.is_sent() && fate != Fate::Unsent {
                let length = u16::try_from(answer.len()).unwrap_or(u16::MAX);
                self.answers.extend(length.to_be_bytes());
                self.answers.extend_from_slice(&answer);
            }
            at += 2 + length;
            count += 1;
        }
        self.waiting.drain(..at);
        Some(count)
    }
}
