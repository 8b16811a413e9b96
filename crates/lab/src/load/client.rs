//! One connection of the load generator, without its socket.
//!
//! Holds the request that is being sent and frames its answer; with HTTP/2 several, one of each stream. Without, the only
//! stream is number 0. It keeps no time and never repeats a request.

use super::answer::{Progress, Reader};
use super::fail::Fail;
use super::http2::Http2;
use super::mix::Shot;

/// How a peer ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// In order.
    Closed,
    /// With a reset, or an error of the connection.
    Reset,
}

/// A connection's state.
#[derive(Debug)]
pub struct Client {
    out: Vec<u8>,
    written: usize,
    reading: Reading,
    busy: bool,
    which: usize,
}

#[derive(Debug)]
enum Reading {
    Http(Box<Reader>),
    Http2(Box<Http2>),
    Echo { matched: usize },
}

impl Client {
    /// For HTTP.
    pub fn http() -> Client {
        Client::with(Reading::Http(Box::new(Reader::new())))
    }

    /// For HTTP/2 with so many requests at a time.
    pub fn http2(secure: bool, streams: usize) -> Client {
        Client::with(Reading::Http2(Box::new(Http2::new(secure, streams))))
    }

    /// For echoed messages.
    pub fn echo() -> Client {
        Client::with(Reading::Echo { matched: 0 })
    }

    fn with(reading: Reading) -> Client {
        Client { out: Vec::new(), written: 0, reading, busy: false, which: 0 }
    }

    /// The connection is a new one.
    pub fn renewed(&mut self) {
        if let Reading::Http2(http2) = &mut self.reading {
            http2.renewed();
        }
    }

    /// The connection is there no more.
    pub fn closed(&mut self) {
        if let Reading::Http2(http2) = &mut self.reading {
            http2.closed();
        }
    }

    /// Begins a request; `write` appends its bytes and says which of the mix it is.
    pub fn ask(
        &mut self,
        stream: usize,
        shots: &[Shot],
        write: impl FnOnce(&mut Vec<u8>) -> usize,
    ) {
        self.out.clear();
        self.which = write(&mut self.out);
        self.written = 0;
        self.busy = true;
        match &mut self.reading {
            Reading::Http(reader) => {
                let shot = shots.get(self.which);
                let text = shot.and_then(|shot| shot.expect.text.as_ref());
                reader.expect_next(shot.is_some_and(Shot::is_head), text);
            }
            Reading::Http2(http2) => {
                self.out.clear();
                if let Some(shot) = shots.get(self.which) {
                    http2.ask(stream, self.which, shot);
                }
            }
            Reading::Echo { matched } => *matched = 0,
        }
    }

    /// The last request once more, on the next connection.
    pub fn ask_again(&mut self, stream: usize, shots: &[Shot]) {
        if let Reading::Http2(http2) = &mut self.reading {
            let which = http2.which(stream);
            if let Some(shot) = shots.get(which) {
                http2.ask(stream, which, shot);
            }
        }
    }

    /// Which of the mix was asked last.
    pub fn which(&self, stream: usize) -> usize {
        match &self.reading {
            Reading::Http2(http2) => http2.which(stream),
            Reading::Http(_) | Reading::Echo { .. } => self.which,
        }
    }

    /// Whether the whole request was sent.
    pub fn is_sent(&self, stream: usize) -> bool {
        match &self.reading {
            Reading::Http2(http2) => http2.is_sent(stream),
            Reading::Http(_) | Reading::Echo { .. } => self.written == self.out.len(),
        }
    }

    /// Whether a byte of the current answer has come.
    pub fn began(&self, stream: usize) -> bool {
        match &self.reading {
            Reading::Http(reader) => reader.began(),
            Reading::Http2(http2) => http2.began(stream),
            Reading::Echo { matched } => *matched > 0,
        }
    }

    /// Bytes of the last answer's body, and whether it held the text that was expected.
    pub fn body(&self, stream: usize) -> (u64, bool) {
        match &self.reading {
            Reading::Http(reader) => (reader.body_bytes(), reader.found_text()),
            Reading::Http2(http2) => http2.body(stream),
            Reading::Echo { matched } => (*matched as u64, true),
        }
    }

    /// What is still to be sent.
    pub fn pending(&self) -> &[u8] {
        match &self.reading {
            // Answers to settings and pings go out whether or not something is asked.
            Reading::Http2(http2) => http2.pending(),
            _ if self.busy => &self.out[self.written..],
            Reading::Http(_) | Reading::Echo { .. } => &[],
        }
    }

    /// So many of the pending bytes were sent.
    pub fn wrote(&mut self, bytes: usize) {
        if let Reading::Http2(http2) = &mut self.reading {
            return http2.wrote(bytes);
        }
        self.written = (self.written + bytes).min(self.out.len());
    }

    /// Bytes came; what they led to is added by stream.
    pub fn received(&mut self, bytes: &[u8], settled: &mut Vec<(usize, Progress)>) {
        let progress = match &mut self.reading {
            Reading::Http2(http2) => {
                return http2.received(bytes, settled);
            }
            _ if !self.busy => Progress::Failed(Fail::WrongAnswer),
            Reading::Http(reader) => reader.feed(bytes),
            Reading::Echo { matched } => echoed(&self.out, matched, bytes),
        };
        settled.push((0, self.settle(progress)));
    }

    /// Bytes came while nothing was asked: whether the connection can be trusted all the same.
    pub fn idle(&mut self, bytes: &[u8]) -> bool {
        match &mut self.reading {
            Reading::Http2(http2) => http2.idle(bytes),
            Reading::Http(_) | Reading::Echo { .. } => false,
        }
    }

    /// The peer ended the connection: what that is for the request. `None`: it was not on this connection, so it has not
    /// failed.
    pub fn ended(&mut self, stream: usize, end: End) -> Option<Progress> {
        let is_under_way = match &self.reading {
            Reading::Http2(http2) => http2.is_under_way(stream),
            Reading::Http(_) | Reading::Echo { .. } => self.busy,
        };
        if !is_under_way {
            return None;
        }
        if end == End::Closed
            && let Reading::Http(reader) = &self.reading
            && let Some(whole) = reader.end_completes()
        {
            return Some(self.settle(whole));
        }
        let began = self.began(stream);
        Some(self.settle(Progress::Failed(match (end, began) {
            (End::Closed, false) => Fail::ClosedBeforeAnswer,
            (End::Closed, true) => Fail::ClosedMidAnswer,
            (End::Reset, false) => Fail::ResetBeforeAnswer,
            (End::Reset, true) => Fail::ResetMidAnswer,
        })))
    }

    /// The request is given up. Whether the connection can go on without it.
    pub fn abandon(&mut self, stream: usize) -> bool {
        self.busy = false;
        match &mut self.reading {
            Reading::Http2(http2) => {
                http2.abandon(stream);
                true
            }
            Reading::Http(_) | Reading::Echo { .. } => false,
        }
    }

    /// Nothing more is asked on this connection: it is not trusted.
    pub fn leave(&mut self) {
        if let Reading::Http2(http2) = &mut self.reading {
            http2.leave();
        }
    }

    /// Whether the connection of HTTP/2 has nothing more to do: what waits needs another one.
    pub fn is_over(&self) -> bool {
        matches!(&self.reading, Reading::Http2(http2) if http2.is_over())
    }

    fn settle(&mut self, progress: Progress) -> Progress {
        match progress {
            Progress::More => progress,
            Progress::Failed(_) | Progress::Unprocessed => {
                self.busy = false;
                progress
            }
            Progress::Whole { status, reusable } => {
                self.busy = false;
                // An answer that overtook its request leaves the connection in an unknown state.
                Progress::Whole { status, reusable: reusable && self.is_sent(0) }
            }
        }
    }
}

fn echoed(sent: &[u8], matched: &mut usize, bytes: &[u8]) -> Progress {
    let expected = &sent[*matched..];
    if bytes.len() > expected.len() || bytes != &expected[..bytes.len()] {
        return Progress::Failed(Fail::WrongAnswer);
    }
    *matched += bytes.len();
    if *matched == sent.len() {
        Progress::Whole { status: 0, reusable: true }
    } else {
        Progress::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(mut client: Client) -> Client {
        client.ask(0, &[], |out| {
            out.extend_from_slice(b"12345678");
            0
        });
        client.wrote(8);
        client
    }

    fn received(client: &mut Client, bytes: &[u8]) -> Progress {
        let mut settled = Vec::new();
        client.received(bytes, &mut settled);
        let [(0, progress)] = settled[..] else { panic!("{settled:?}") };
        progress
    }

    #[test]
    fn ends_by_cause() {
        let rows: &[(&[u8], End, Fail)] = &[
            (b"", End::Closed, Fail::ClosedBeforeAnswer),
            (b"", End::Reset, Fail::ResetBeforeAnswer),
            (b"HTTP/1.1 2", End::Closed, Fail::ClosedMidAnswer),
            (b"HTTP/1.1 200 OK\r\n\r\nuntil close", End::Reset, Fail::ResetMidAnswer),
        ];
        for (bytes, end, fail) in rows {
            let mut client = asked(Client::http());
            assert_eq!(received(&mut client, bytes), Progress::More);
            assert_eq!(client.ended(0, *end), Some(Progress::Failed(*fail)));
            assert_eq!(client.ended(0, *end), None, "counted once");
        }
        assert_eq!(Client::http().ended(0, End::Reset), None, "an idle connection fails nothing");
    }

    #[test]
    fn an_echo_must_be_exact() {
        let mut client = asked(Client::echo());
        assert_eq!(received(&mut client, b"1234"), Progress::More);
        assert_eq!(received(&mut client, b"5678"), Progress::Whole { status: 0, reusable: true });
        assert_eq!(
            received(&mut client, b"x"),
            Progress::Failed(Fail::WrongAnswer),
            "nothing was asked"
        );
        for wrong in [&b"1235"[..], b"123456789"] {
            let mut client = asked(Client::echo());
            assert_eq!(received(&mut client, wrong), Progress::Failed(Fail::WrongAnswer));
        }
    }

    #[test]
    fn an_early_answer_ends_the_connection() {
        let mut client = Client::http();
        client.ask(0, &[], |out| {
            out.extend_from_slice(b"POST");
            0
        });
        client.wrote(2);
        let early = received(&mut client, b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(early, Progress::Whole { status: 413, reusable: false });
    }
}
