//! Parses one response after the other from the bytes of a connection.
//!
//! Bodies are counted and not stored. Of a request it only needs what the framing of the response depends on.

use std::sync::Arc;

use wire::http1::{
    ChunkedDecoder, ChunkedOutput, HeadLimits, HeaderSlots, ResponseBody, ResponseContext,
    parse_response,
};

use super::fail::FailureCause;
use super::text_search::TextSearch;

/// The progress of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseProgress {
    /// More bytes are needed.
    NeedMore,
    /// The response is complete.
    Complete {
        /// The status; 0 for an echo.
        status: u16,
        /// Whether the connection can carry another request.
        reusable: bool,
    },
    /// The peer reports that it did not process the request and closes the connection (RFC 9113 §6.8). Another
    /// connection may carry the request.
    Unprocessed,
    /// The response is invalid.
    Failed(FailureCause),
}

/// The progress of the response on one stream of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamProgress {
    pub stream: usize,
    pub progress: ResponseProgress,
}

/// What is known about the body of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedBody {
    /// Its bytes so far, without framing.
    pub bytes: u64,
    /// Whether it contains the expected text; true if none is expected.
    pub has_text: bool,
}

/// The reading side of an HTTP connection.
#[derive(Debug)]
pub struct ResponseReader {
    limits: HeadLimits,
    buffered: Vec<u8>,
    scratch: Vec<u8>,
    body: ResponseBodyFraming,
    body_bytes: u64,
    is_head_request: bool,
    text: Option<TextSearch>,
    status: u16,
    reusable: bool,
    began: bool,
}

#[derive(Debug)]
enum ResponseBodyFraming {
    Head,
    Length(u64),
    Chunked(ChunkedDecoder),
    UntilClose,
}

impl ResponseReader {
    /// The state before the first response of a connection.
    pub fn new() -> ResponseReader {
        ResponseReader {
            limits: HeadLimits::default(),
            buffered: Vec::new(),
            scratch: Vec::new(),
            body: ResponseBodyFraming::Head,
            body_bytes: 0,
            is_head_request: false,
            text: None,
            status: 0,
            reusable: true,
            began: false,
        }
    }

    /// Whether a byte of the current response has arrived.
    pub fn has_begun(&self) -> bool {
        self.began
    }

    /// Prepares for the next response. `asked_head`: the request's method is HEAD; `text`: text to find in the body.
    pub fn expect_next(&mut self, asked_head: bool, text: Option<&Arc<[u8]>>) {
        self.buffered.clear();
        self.body = ResponseBodyFraming::Head;
        self.body_bytes = 0;
        self.is_head_request = asked_head;
        self.text = text.map(TextSearch::new);
        self.began = false;
    }

    /// The current response's body.
    pub fn body(&self) -> ReceivedBody {
        let has_text = self.text.as_ref().is_none_or(TextSearch::is_found);
        ReceivedBody { bytes: self.body_bytes, has_text }
    }

    /// Processes received bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> ResponseProgress {
        self.began |= !bytes.is_empty();
        if !matches!(self.body, ResponseBodyFraming::Head) {
            return self.feed_body(bytes);
        }
        if self.buffered.is_empty() {
            return self.feed_head(bytes).unwrap_or_else(|rest| {
                self.buffered.extend_from_slice(&bytes[rest..]);
                ResponseProgress::NeedMore
            });
        }
        let mut held = std::mem::take(&mut self.buffered);
        held.extend_from_slice(bytes);
        match self.feed_head(&held) {
            Ok(progress) => progress,
            Err(rest) => {
                held.drain(..rest);
                self.buffered = held;
                ResponseProgress::NeedMore
            }
        }
    }

    /// The response that the peer's close completes, if its body extends to the close.
    pub fn end_completes(&self) -> Option<ResponseProgress> {
        matches!(self.body, ResponseBodyFraming::UntilClose)
            .then_some(ResponseProgress::Complete { status: self.status, reusable: false })
    }

    /// Parses the head and the body after it. `Err`: the offset where an incomplete head starts.
    fn feed_head(&mut self, bytes: &[u8]) -> Result<ResponseProgress, usize> {
        let mut at = 0;
        let asked =
            if self.is_head_request { ResponseContext::Head } else { ResponseContext::Other };
        loop {
            let mut slots = HeaderSlots::new();
            let rest = &bytes[at..];
            match parse_response(rest, &self.limits, &mut slots, asked) {
                Err(_) => return Ok(ResponseProgress::Failed(FailureCause::BadAnswer)),
                Ok(None) => return Err(at),
                Ok(Some(head)) if head.status == 101 => {
                    return Ok(ResponseProgress::Failed(FailureCause::WrongAnswer));
                }
                Ok(Some(head)) if head.status < 200 => at += head.head_len,
                Ok(Some(head)) => {
                    self.status = head.status;
                    self.reusable = head.keep_alive;
                    self.body = match head.body {
                        ResponseBody::None => ResponseBodyFraming::Length(0),
                        ResponseBody::Length(bytes) => ResponseBodyFraming::Length(bytes),
                        ResponseBody::Chunked => ResponseBodyFraming::Chunked(ChunkedDecoder::new(
                            ChunkedOutput::Unframed,
                        )),
                        ResponseBody::UntilClose => ResponseBodyFraming::UntilClose,
                    };
                    return Ok(self.feed_body(&rest[head.head_len..]));
                }
            }
        }
    }

    fn feed_body(&mut self, bytes: &[u8]) -> ResponseProgress {
        let (used, finished) = match &mut self.body {
            ResponseBodyFraming::Head => return ResponseProgress::NeedMore,
            ResponseBodyFraming::UntilClose => {
                self.body_bytes += bytes.len() as u64;
                feed_search(&mut self.text, bytes);
                return ResponseProgress::NeedMore;
            }
            ResponseBodyFraming::Length(left) => {
                let used = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= used as u64;
                self.body_bytes += used as u64;
                feed_search(&mut self.text, &bytes[..used]);
                (used, *left == 0)
            }
            ResponseBodyFraming::Chunked(chunked) => {
                self.scratch.clear();
                match chunked.feed(bytes, &mut self.scratch) {
                    Ok(fed) => {
                        self.body_bytes += self.scratch.len() as u64;
                        feed_search(&mut self.text, &self.scratch);
                        (fed.consumed, fed.finished)
                    }
                    Err(_) => return ResponseProgress::Failed(FailureCause::BadAnswer),
                }
            }
        };
        match (finished, used == bytes.len()) {
            (false, _) => ResponseProgress::NeedMore,
            (true, false) => ResponseProgress::Failed(FailureCause::WrongAnswer),
            (true, true) => {
                ResponseProgress::Complete { status: self.status, reusable: self.reusable }
            }
        }
    }
}

fn feed_search(text: &mut Option<TextSearch>, bytes: &[u8]) {
    if let Some(find) = text {
        find.feed(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(status: u16, reusable: bool) -> ResponseProgress {
        ResponseProgress::Complete { status, reusable }
    }

    #[test]
    fn framings_in_every_split() {
        let rows: &[(&str, ResponseProgress)] = &[
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", whole(200, true)),
            ("HTTP/1.1 204 No Content\r\n\r\n", whole(204, true)),
            (
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
                whole(200, false),
            ),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 1\r\n\r\nx",
                whole(503, true),
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                whole(200, true),
            ),
        ];
        for (text, expected) in rows {
            for split in 0..text.len() {
                let (first, second) = text.as_bytes().split_at(split);
                let mut reader = ResponseReader::new();
                assert_eq!(reader.feed(first), ResponseProgress::NeedMore, "{text} at {split}");
                assert_eq!(reader.feed(second), *expected, "{text} at {split}");
                reader.expect_next(false, None);
                assert_eq!(reader.feed(text.as_bytes()), *expected, "{text} again");
            }
        }
    }

    #[test]
    fn what_is_not_an_answer() {
        let rows: &[(&str, FailureCause)] = &[
            ("SSH-2.0-OpenSSH_9\r\n\r\n", FailureCause::BadAnswer),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy", FailureCause::WrongAnswer),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nz\r\n", FailureCause::BadAnswer),
        ];
        for (text, fail) in rows {
            assert_eq!(
                ResponseReader::new().feed(text.as_bytes()),
                ResponseProgress::Failed(*fail),
                "{text}"
            );
        }
    }

    #[test]
    fn until_close_ends_with_the_connection() {
        let mut reader = ResponseReader::new();
        assert_eq!(reader.end_completes(), None);
        assert_eq!(reader.feed(b"HTTP/1.1 200 OK\r\n\r\nabc"), ResponseProgress::NeedMore);
        assert_eq!(reader.end_completes(), Some(whole(200, false)));
    }
}
