//! One connection of the load generator, without its socket.
//!
//! Holds the request that is being sent and parses its response; with HTTP/2, one of each stream. Other protocols have
//! only stream 0. It reads no clock and never repeats a request on its own.

use super::fail::FailureCause;
use super::http2::Http2Client;
use super::request_mix::RequestTemplate;
use super::response::{ReceivedBody, ResponseProgress, ResponseReader, StreamProgress};

/// How a peer ended a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerClose {
    Closed,
    /// With a reset or a connection error.
    Reset,
}

#[derive(Debug)]
pub struct LoadClient {
    out: Vec<u8>,
    written: usize,
    reading: ClientProtocol,
    busy: bool,
    request_kind: usize,
}

#[derive(Debug)]
enum ClientProtocol {
    Http(Box<ResponseReader>),
    Http2(Box<Http2Client>),
    Echo { matched: usize },
}

impl LoadClient {
    pub fn http() -> LoadClient {
        LoadClient::with(ClientProtocol::Http(Box::new(ResponseReader::new())))
    }

    /// A client for HTTP/2 with this many concurrent requests.
    pub fn http2(secure: bool, streams: usize) -> LoadClient {
        LoadClient::with(ClientProtocol::Http2(Box::new(Http2Client::new(secure, streams))))
    }

    pub fn echo() -> LoadClient {
        LoadClient::with(ClientProtocol::Echo { matched: 0 })
    }

    fn with(reading: ClientProtocol) -> LoadClient {
        LoadClient { out: Vec::new(), written: 0, reading, busy: false, request_kind: 0 }
    }

    /// Prepares for a new connection.
    pub fn reset_for_connection(&mut self) {
        if let ClientProtocol::Http2(http2) = &mut self.reading {
            http2.start_connection();
        }
    }

    /// The connection has closed.
    pub fn on_closed(&mut self) {
        if let ClientProtocol::Http2(http2) = &mut self.reading {
            http2.on_closed();
        }
    }

    /// Starts a request. `write` appends its bytes and returns its index in the mix.
    pub fn send_request(
        &mut self,
        stream: usize,
        shots: &[RequestTemplate],
        write: impl FnOnce(&mut Vec<u8>) -> usize,
    ) {
        self.out.clear();
        self.request_kind = write(&mut self.out);
        self.written = 0;
        self.busy = true;
        match &mut self.reading {
            ClientProtocol::Http(reader) => {
                let shot = shots.get(self.request_kind);
                let text = shot.and_then(|shot| shot.expect.text.as_ref());
                reader.expect_next(shot.is_some_and(RequestTemplate::is_head), text);
            }
            ClientProtocol::Http2(http2) => {
                self.out.clear();
                if let Some(shot) = shots.get(self.request_kind) {
                    http2.send_request(stream, self.request_kind, shot);
                }
            }
            ClientProtocol::Echo { matched } => *matched = 0,
        }
    }

    /// Sends the last request once more, on the next connection.
    pub fn resend_request(&mut self, stream: usize, shots: &[RequestTemplate]) {
        if let ClientProtocol::Http2(http2) = &mut self.reading {
            let which = http2.request_kind(stream);
            if let Some(shot) = shots.get(which) {
                http2.send_request(stream, which, shot);
            }
        }
    }

    /// Index in the mix of the last request.
    pub fn request_kind(&self, stream: usize) -> usize {
        match &self.reading {
            ClientProtocol::Http2(http2) => http2.request_kind(stream),
            ClientProtocol::Http(_) | ClientProtocol::Echo { .. } => self.request_kind,
        }
    }

    /// Whether the whole request was sent.
    pub fn is_sent(&self, stream: usize) -> bool {
        match &self.reading {
            ClientProtocol::Http2(http2) => http2.is_sent(stream),
            ClientProtocol::Http(_) | ClientProtocol::Echo { .. } => self.written == self.out.len(),
        }
    }

    /// Whether a byte of the current response has arrived.
    pub fn has_begun(&self, stream: usize) -> bool {
        match &self.reading {
            ClientProtocol::Http(reader) => reader.has_begun(),
            ClientProtocol::Http2(http2) => http2.has_begun(stream),
            ClientProtocol::Echo { matched } => *matched > 0,
        }
    }

    /// The last response's body.
    pub fn body(&self, stream: usize) -> ReceivedBody {
        match &self.reading {
            ClientProtocol::Http(reader) => reader.body(),
            ClientProtocol::Http2(http2) => http2.body(stream),
            ClientProtocol::Echo { matched } => {
                ReceivedBody { bytes: *matched as u64, has_text: true }
            }
        }
    }

    /// Bytes to be sent.
    pub fn pending(&self) -> &[u8] {
        match &self.reading {
            // Acknowledgements of SETTINGS and PING are sent even without a request.
            ClientProtocol::Http2(http2) => http2.pending(),
            _ if self.busy => &self.out[self.written..],
            ClientProtocol::Http(_) | ClientProtocol::Echo { .. } => &[],
        }
    }

    /// Removes sent bytes from the pending ones.
    pub fn on_written(&mut self, bytes: usize) {
        if let ClientProtocol::Http2(http2) = &mut self.reading {
            return http2.on_written(bytes);
        }
        self.written = (self.written + bytes).min(self.out.len());
    }

    /// Processes received bytes and appends the progress of each stream to `settled`.
    pub fn on_received(&mut self, bytes: &[u8], settled: &mut Vec<StreamProgress>) {
        let progress = match &mut self.reading {
            ClientProtocol::Http2(http2) => {
                return http2.on_received(bytes, settled);
            }
            _ if !self.busy => ResponseProgress::Failed(FailureCause::WrongAnswer),
            ClientProtocol::Http(reader) => reader.feed(bytes),
            ClientProtocol::Echo { matched } => match_echo(&self.out, matched, bytes),
        };
        let progress = self.finish_progress(progress);
        settled.push(StreamProgress { stream: 0, progress });
    }

    /// Processes bytes received without a request; returns whether the connection is still usable.
    pub fn on_idle_bytes(&mut self, bytes: &[u8]) -> bool {
        match &mut self.reading {
            ClientProtocol::Http2(http2) => http2.on_idle_bytes(bytes),
            ClientProtocol::Http(_) | ClientProtocol::Echo { .. } => false,
        }
    }

    /// The peer closed the connection. Returns the result of the stream's request. `None`: the request was not on this
    /// connection, so it has not failed.
    pub fn on_peer_end(&mut self, stream: usize, end: PeerClose) -> Option<ResponseProgress> {
        let is_under_way = match &self.reading {
            ClientProtocol::Http2(http2) => http2.is_in_flight(stream),
            ClientProtocol::Http(_) | ClientProtocol::Echo { .. } => self.busy,
        };
        if !is_under_way {
            return None;
        }
        if end == PeerClose::Closed
            && let ClientProtocol::Http(reader) = &self.reading
            && let Some(whole) = reader.end_completes()
        {
            return Some(self.finish_progress(whole));
        }
        let began = self.has_begun(stream);
        Some(self.finish_progress(ResponseProgress::Failed(match (end, began) {
            (PeerClose::Closed, false) => FailureCause::ClosedBeforeAnswer,
            (PeerClose::Closed, true) => FailureCause::ClosedMidAnswer,
            (PeerClose::Reset, false) => FailureCause::ResetBeforeAnswer,
            (PeerClose::Reset, true) => FailureCause::ResetMidAnswer,
        })))
    }

    /// Abandons the request; returns whether the connection can continue without it.
    pub fn abandon_request(&mut self, stream: usize) -> bool {
        self.busy = false;
        match &mut self.reading {
            ClientProtocol::Http2(http2) => {
                http2.abandon_stream(stream);
                true
            }
            ClientProtocol::Http(_) | ClientProtocol::Echo { .. } => false,
        }
    }

    /// Sends no further requests on this connection.
    pub fn stop_reusing(&mut self) {
        if let ClientProtocol::Http2(http2) = &mut self.reading {
            http2.stop_reusing();
        }
    }

    /// Whether an HTTP/2 connection has no work left; queued requests need another connection.
    pub fn is_finished(&self) -> bool {
        matches!(&self.reading, ClientProtocol::Http2(http2) if http2.is_finished())
    }

    fn finish_progress(&mut self, progress: ResponseProgress) -> ResponseProgress {
        match progress {
            ResponseProgress::NeedMore => progress,
            ResponseProgress::Failed(_) | ResponseProgress::Unprocessed => {
                self.busy = false;
                progress
            }
            ResponseProgress::Complete { status, reusable } => {
                self.busy = false;
                // A response that completed before its request was sent leaves the connection in an unknown state.
                ResponseProgress::Complete { status, reusable: reusable && self.is_sent(0) }
            }
        }
    }
}

fn match_echo(sent: &[u8], matched: &mut usize, bytes: &[u8]) -> ResponseProgress {
    let expected = &sent[*matched..];
    if bytes.len() > expected.len() || bytes != &expected[..bytes.len()] {
        return ResponseProgress::Failed(FailureCause::WrongAnswer);
    }
    *matched += bytes.len();
    if *matched == sent.len() {
        ResponseProgress::Complete { status: 0, reusable: true }
    } else {
        ResponseProgress::NeedMore
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_request_sent(mut client: LoadClient) -> LoadClient {
        client.send_request(0, &[], |out| {
            out.extend_from_slice(b"12345678");
            0
        });
        client.on_written(8);
        client
    }

    fn received(client: &mut LoadClient, bytes: &[u8]) -> ResponseProgress {
        let mut settled = Vec::new();
        client.on_received(bytes, &mut settled);
        let [StreamProgress { stream: 0, progress }] = settled[..] else { panic!("{settled:?}") };
        progress
    }

    #[test]
    fn ends_by_cause() {
        let rows: &[(&[u8], PeerClose, FailureCause)] = &[
            (b"", PeerClose::Closed, FailureCause::ClosedBeforeAnswer),
            (b"", PeerClose::Reset, FailureCause::ResetBeforeAnswer),
            (b"HTTP/1.1 2", PeerClose::Closed, FailureCause::ClosedMidAnswer),
            (b"HTTP/1.1 200 OK\r\n\r\nuntil close", PeerClose::Reset, FailureCause::ResetMidAnswer),
        ];
        for (bytes, end, fail) in rows {
            let mut client = with_request_sent(LoadClient::http());
            assert_eq!(received(&mut client, bytes), ResponseProgress::NeedMore);
            assert_eq!(client.on_peer_end(0, *end), Some(ResponseProgress::Failed(*fail)));
            assert_eq!(client.on_peer_end(0, *end), None, "counted once");
        }
        assert_eq!(
            LoadClient::http().on_peer_end(0, PeerClose::Reset),
            None,
            "an idle connection fails nothing"
        );
    }

    #[test]
    fn an_echo_must_be_exact() {
        let mut client = with_request_sent(LoadClient::echo());
        assert_eq!(received(&mut client, b"1234"), ResponseProgress::NeedMore);
        assert_eq!(
            received(&mut client, b"5678"),
            ResponseProgress::Complete { status: 0, reusable: true }
        );
        assert_eq!(
            received(&mut client, b"x"),
            ResponseProgress::Failed(FailureCause::WrongAnswer),
            "nothing was asked"
        );
        for wrong in [&b"1235"[..], b"123456789"] {
            let mut client = with_request_sent(LoadClient::echo());
            assert_eq!(
                received(&mut client, wrong),
                ResponseProgress::Failed(FailureCause::WrongAnswer)
            );
        }
    }

    #[test]
    fn an_early_answer_ends_the_connection() {
        let mut client = LoadClient::http();
        client.send_request(0, &[], |out| {
            out.extend_from_slice(b"POST");
            0
        });
        client.on_written(2);
        let early = received(&mut client, b"HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(early, ResponseProgress::Complete { status: 413, reusable: false });
    }
}
