//! The messages between the two ends of a stream measurement: lines of JSON on a control connection, and the header of
//! each datagram.
//!
//! Everything received is validated here. It sends nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A request for one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StreamRequest {
    pub version: u32,
    pub carrier: StreamTransport,
    pub way: StreamDirection,
    /// Bytes of each message.
    pub message: u32,
    /// Requested socket buffer size of both ends, bytes; `None`: the kernel chooses.
    pub buffer: Option<u32>,
    /// Duration of sending, milliseconds.
    pub millis: u32,
    /// Largest bit rate of datagrams, with all headers on Ethernet; `None`: as fast as the kernel accepts them.
    pub rate: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamTransport {
    Tcp,
    Udp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamDirection {
    /// From the client to the server.
    To,
    /// From the server to the client.
    From,
}

/// The server's reply before the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamReply {
    Ready {
        port: u16,
        /// A token in each datagram, so that datagrams of others are not counted or answered.
        token: u64,
    },
    /// The server refuses the request, with the reason.
    Refused(String),
}

/// The figures of one end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StreamReport {
    /// Bytes of payload, sent or received.
    pub bytes: u64,
    /// Messages, sent or received; reads of a TCP stream are not messages.
    pub messages: u64,
    /// Datagrams that arrived after one with a higher number.
    pub reordered: u64,
    /// Datagrams that the kernel rejected for lack of buffers.
    pub refused: u64,
    /// Time from the first to the last.
    pub nanos: u64,
    /// The send buffer size as the kernel set it, bytes, including its bookkeeping.
    pub send_buffer: u64,
    /// The receive buffer size as the kernel set it, bytes, including its bookkeeping.
    pub receive_buffer: u64,
    /// The largest TCP segment, bytes.
    pub segment: Option<u32>,
    /// Retransmitted TCP segments.
    pub retransmitted: Option<u32>,
}

/// Why a request is invalid.
#[derive(Debug, Error)]
pub enum StreamRequestError {
    /// The line is not a request.
    #[error("it is no order of `steelyard bench stream`: {0}")]
    Form(#[from] serde_json::Error),
    #[error(
        "it speaks version {0}; this end speaks {VERSION}: use the same steelyard on both ends"
    )]
    Version(u32),
    /// A message size outside the limits.
    #[error("messages of {0} bytes; expected {1} to {2}")]
    Message(u32, u32, u32),
    /// A rate for TCP, which paces itself, or one that is too low.
    #[error("a rate of {0} bit/s for a stream; expected datagrams, of at least {LEAST_RATE} bit/s")]
    Rate(u64),
    /// A run that is too long.
    #[error("a run of {0} ms; expected 1 to {LONGEST_MS}")]
    Time(u32),
}

impl StreamRequest {
    /// Fails unless the request can be carried out.
    pub fn check(&self) -> Result<(), StreamRequestError> {
        if self.version != VERSION {
            return Err(StreamRequestError::Version(self.version));
        }
        let (least, most) = match self.carrier {
            StreamTransport::Tcp => (1, 1 << 20),
            StreamTransport::Udp => (HEAD as u32, 65_507),
        };
        if !(least..=most).contains(&self.message) {
            return Err(StreamRequestError::Message(self.message, least, most));
        }
        if let Some(rate) = self.rate
            && (self.carrier == StreamTransport::Tcp || rate < LEAST_RATE)
        {
            return Err(StreamRequestError::Rate(rate));
        }
        if !(1..=LONGEST_MS).contains(&self.millis) {
            return Err(StreamRequestError::Time(self.millis));
        }
        Ok(())
    }

    /// Duration of sending.
    pub fn time(&self) -> Duration {
        Duration::from_millis(u64::from(self.millis))
    }
}

pub fn parse_request(line: &str) -> Result<StreamRequest, StreamRequestError> {
    let ask: StreamRequest = serde_json::from_str(line)?;
    ask.check().map(|()| ask)
}

/// Writes the header of datagram `number` into `message`, which must have at least `HEAD` bytes.
pub fn write_datagram_header(message: &mut [u8], token: u64, number: u64) {
    message[..8].copy_from_slice(&token.to_be_bytes());
    message[8..HEAD].copy_from_slice(&number.to_be_bytes());
}

/// The number of a datagram with this token.
pub fn read_datagram_number(message: &[u8], token: u64) -> Option<u64> {
    let (theirs, rest) = message.split_first_chunk::<8>()?;
    let number = rest.first_chunk::<8>()?;
    (u64::from_be_bytes(*theirs) == token).then(|| u64::from_be_bytes(*number))
}

/// Counts reordered datagrams.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReorderCounter {
    highest: Option<u64>,
    /// Datagrams that arrived after one with a higher number.
    pub reordered: u64,
}

impl ReorderCounter {
    pub fn record(&mut self, number: u64) {
        if self.highest.is_some_and(|highest| number < highest) {
            self.reordered += 1;
        }
        self.highest = self.highest.max(Some(number));
    }
}

/// The version of the protocol.
pub const VERSION: u32 = 2;
/// Bytes of a datagram's header.
pub const HEAD: usize = 16;
/// Limit for the bytes of a line.
pub const MAX_LINE: u64 = 4_096;
/// The number of a datagram that requests others.
pub const HELLO: u64 = u64::MAX;
/// Ten minutes: a longer run is a mistake of unit.
const LONGEST_MS: u32 = 600_000;
/// Bits a second; at a lower rate one packet would take longer than a run.
const LEAST_RATE: u64 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> StreamRequest {
        let carrier = StreamTransport::Udp;
        let way = StreamDirection::To;
        StreamRequest {
            version: VERSION,
            carrier,
            way,
            message: 64,
            buffer: None,
            millis: 100,
            rate: None,
        }
    }

    #[test]
    fn orders_come_back_and_others_are_refused() {
        let text = |ask: StreamRequest| serde_json::to_string(&ask).unwrap();
        assert_eq!(parse_request(&text(ask())).unwrap(), ask());
        assert!(matches!(
            parse_request(&text(StreamRequest { message: 15, ..ask() })),
            Err(StreamRequestError::Message(..))
        ));
        assert!(matches!(
            parse_request(&text(StreamRequest { message: 65_508, ..ask() })),
            Err(StreamRequestError::Message(..))
        ));
        assert!(matches!(
            parse_request(&text(StreamRequest { millis: 0, ..ask() })),
            Err(StreamRequestError::Time(0))
        ));
        assert!(matches!(
            parse_request(&text(StreamRequest { version: 1, ..ask() })),
            Err(StreamRequestError::Version(1))
        ));
        let paced = StreamRequest { rate: Some(1_000_000), ..ask() };
        assert_eq!(parse_request(&text(paced)).unwrap(), paced);
        let stream = StreamRequest { carrier: StreamTransport::Tcp, ..paced };
        assert!(matches!(parse_request(&text(stream)), Err(StreamRequestError::Rate(_))));
        assert!(matches!(parse_request("GET / HTTP/1.1"), Err(StreamRequestError::Form(_))));
    }

    #[test]
    fn datagrams_of_others_have_no_number() {
        let mut message = [0; 20];
        write_datagram_header(&mut message, 7, 42);
        assert_eq!(
            (
                read_datagram_number(&message, 7),
                read_datagram_number(&message, 8),
                read_datagram_number(&message[..15], 7)
            ),
            (Some(42), None, None)
        );
        let mut order = ReorderCounter::default();
        [0, 1, 3, 2, 4, 1].into_iter().for_each(|number| order.record(number));
        assert_eq!(order.reordered, 2);
    }
}
