//! HTTP/1.1: one request, the first final response, and its body as far as needed. It follows no redirect.

use std::sync::Arc;

use wire::http1::{
    ChunkedDecoder, ChunkedOutput, HeadLimits, HeaderSlots, ResponseBody, ResponseContext,
    may_complete, parse_response,
};

use crate::dialogue::{DialogueStep, ProbeDialogue, ProbeResult};
use crate::http_response::{ExpectedResponse, ResponseCheck};

/// The largest response head that is read, informational responses included.
/// As much as the request plane reads of a head at a time.
const HEAD_BYTES: usize = 16 * 1024;
/// Header fields of a head at most.
/// More than real answers have, and a bound on the parser's table.
const HEAD_COUNT: usize = 128;

#[derive(Debug)]
pub struct Http1Probe {
    expected: Arc<ExpectedResponse>,
    host: String,
    state: Http1State,
}

#[derive(Debug)]
enum Http1State {
    /// The head so far, and where the final response begins.
    Head {
        bytes: Vec<u8>,
        from: usize,
    },
    Body {
        status: u16,
        left: BodyRemainder,
        body: ResponseCheck,
    },
}

#[derive(Debug)]
enum BodyRemainder {
    Bytes(u64),
    Chunks(Box<ChunkedDecoder>),
    UntilClose,
}

impl Http1Probe {
    pub fn new(wanted: Arc<ExpectedResponse>, host: &str) -> Http1Probe {
        Http1Probe {
            expected: wanted,
            host: host.to_owned(),
            state: Http1State::Head { bytes: Vec::new(), from: 0 },
        }
    }

    fn receive_head(&mut self, new: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        let Http1State::Head { bytes, from } = &mut self.state else { return DialogueStep::Wait };
        let limits =
            HeadLimits { head_bytes: HEAD_BYTES, head_count: HEAD_COUNT, target_bytes: HEAD_BYTES };
        let had = bytes.len();
        let room = HEAD_BYTES - had;
        let (now, later) = new.split_at(new.len().min(room));
        bytes.extend_from_slice(now);
        // Only the end of a line can complete a head: single bytes that trickle in do not cause a parse each.
        while bytes.len() > *from && may_complete(bytes, had, &limits) {
            let mut slots = HeaderSlots::new();
            let method = if self.expected.request.method == "HEAD" {
                ResponseContext::Head
            } else {
                ResponseContext::Other
            };
            match parse_response(&bytes[*from..], &limits, &mut slots, method) {
                Err(defect) => {
                    return DialogueStep::failure(format!(
                        "the answer is not HTTP: {}",
                        defect.name()
                    ));
                }
                Ok(None) => break,
                Ok(Some(answer)) if (100..200).contains(&answer.status) && answer.status != 101 => {
                    *from += answer.head_len;
                }
                Ok(Some(answer)) => {
                    let status = answer.status;
                    let end = *from + answer.head_len;
                    if let Some(verdict) = self.expected.check_status(status) {
                        return DialogueStep::Done(verdict);
                    }
                    let left = body_remainder(answer.body);
                    let rest = [&bytes[end..], later].concat();
                    let body = self.expected.begin_body();
                    self.state = Http1State::Body { status, left, body };
                    return self.receive_body(&rest, out);
                }
            }
        }
        if bytes.len() == HEAD_BYTES {
            return DialogueStep::failure(format!("the answer's head exceeds {HEAD_BYTES} bytes"));
        }
        DialogueStep::Wait
    }

    fn receive_body(&mut self, bytes: &[u8], scratch: &mut Vec<u8>) -> DialogueStep {
        let Http1State::Body { status, left, body } = &mut self.state else {
            return DialogueStep::Wait;
        };
        let status = *status;
        let (step, finished) = match left {
            BodyRemainder::UntilClose => {
                (self.expected.check_body_part(body, bytes, status), false)
            }
            BodyRemainder::Bytes(left) => {
                let most = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= most as u64;
                (self.expected.check_body_part(body, &bytes[..most], status), *left == 0)
            }
            BodyRemainder::Chunks(chunked) => {
                // Decoded bytes are appended to the output buffer for a moment and removed again.
                let mark = scratch.len();
                let fed = match chunked.feed(bytes, scratch) {
                    Ok(fed) => fed,
                    Err(defect) => {
                        scratch.truncate(mark);
                        return DialogueStep::failure(format!(
                            "the answer is not HTTP: {}",
                            defect.name()
                        ));
                    }
                };
                let step = self.expected.check_body_part(body, &scratch[mark..], status);
                scratch.truncate(mark);
                (step, fed.finished)
            }
        };
        match step {
            DialogueStep::Wait if finished => {
                DialogueStep::Done(self.expected.check_whole_body(body, status))
            }
            step => step,
        }
    }
}

fn body_remainder(body: ResponseBody) -> BodyRemainder {
    match body {
        ResponseBody::None => BodyRemainder::Bytes(0),
        ResponseBody::Length(length) => BodyRemainder::Bytes(length),
        ResponseBody::Chunked => {
            BodyRemainder::Chunks(Box::new(ChunkedDecoder::new(ChunkedOutput::Unframed)))
        }
        ResponseBody::UntilClose => BodyRemainder::UntilClose,
    }
}

impl ProbeDialogue for Http1Probe {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        let ask = &self.expected.request;
        for part in [&ask.method, " ", &ask.path, " HTTP/1.1\r\nhost: ", &self.host, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        let given =
            |name: &str| ask.headers.iter().any(|field| field.name.eq_ignore_ascii_case(name));
        for (name, value) in [("user-agent", "steelyard-probe"), ("accept", "*/*")] {
            if !given(name) {
                append_field(out, name, value);
            }
        }
        for field in &ask.headers {
            append_field(out, &field.name, &field.value);
        }
        if !matches!(ask.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE" | "DELETE") {
            append_field(out, "content-length", "0");
        }
        out.extend_from_slice(b"connection: close\r\n\r\n");
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        match self.state {
            Http1State::Head { .. } => self.receive_head(bytes, out),
            Http1State::Body { .. } => self.receive_body(bytes, out),
        }
    }

    fn handle_close(&mut self) -> ProbeResult {
        match &mut self.state {
            Http1State::Head { bytes, .. } if bytes.is_empty() => {
                Err("closed without an answer".to_owned())
            }
            Http1State::Head { .. } => Err("closed in the middle of the answer's head".to_owned()),
            Http1State::Body { status, left: BodyRemainder::UntilClose, body } => {
                self.expected.check_whole_body(body, *status)
            }
            Http1State::Body { .. } => Err("closed in the middle of the answer's body".to_owned()),
        }
    }

    fn awaited(&self) -> &'static str {
        match self.state {
            Http1State::Head { .. } => "answer",
            Http1State::Body { .. } => "end of the answer's body",
        }
    }
}

fn append_field(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}
