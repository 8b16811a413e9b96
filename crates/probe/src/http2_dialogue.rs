//! One request over its own HTTP/2 connection. `http2` and `grpc` define the request and evaluate the response.

use std::time::Duration;

use bytes::Bytes;
use wire::http2::{
    AbuseLimits, BodyPart, ErrorCode, FieldSection, Http2Event, Http2Machine, MachineLimits,
    ResetOrigin, StreamReset, response_status,
};

use crate::dialogue::{DialogueStep, ProbeDialogue, ProbeResult};

/// The limits towards a server that is checked.
const LIMITS: MachineLimits = MachineLimits {
    // The initial window of RFC 9113 §6.9.2.
    stream_window: 64 * 1_024 - 1,
    connection_window: 64 * 1_024 - 1,
    concurrent_streams: 0,
    // As for HTTP/1.
    header_list_bytes: 16 * 1_024,
    send_buffer_bytes: 64 * 1_024,
    extended_connect: false,
    abuse: AbuseLimits { resets: 100, control_frames: 1_000, tiny_frames: 1_000, malformed: 10 },
};

/// The request of a health check.
#[derive(Debug)]
pub struct Http2ProbeRequest {
    /// Pseudo-header fields come first.
    pub fields: FieldSection,
    pub body: Option<Bytes>,
}

/// Evaluates the response of a health check.
pub trait ResponseEvaluator: Send {
    fn read_head(&mut self, status: u16, fields: &FieldSection) -> DialogueStep;

    fn read_data(&mut self, part: &[u8]) -> DialogueStep;

    /// The response is complete.
    fn read_end(&mut self, trailers: Option<&FieldSection>) -> ProbeResult;
}

pub struct Http2Dialogue {
    machine: Http2Machine,
    request: Http2ProbeRequest,
    evaluator: Box<dyn ResponseEvaluator>,
    /// The server has sent its settings, so it speaks HTTP/2.
    settings_received: bool,
    received: bool,
}

impl Http2Dialogue {
    pub fn new(request: Http2ProbeRequest, evaluator: Box<dyn ResponseEvaluator>) -> Http2Dialogue {
        let machine = Http2Machine::client(&LIMITS, Duration::ZERO);
        Http2Dialogue { machine, request, evaluator, settings_received: false, received: false }
    }

    /// Handles what has happened, and takes the output.
    fn advance(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        let mut step = DialogueStep::Wait;
        while step == DialogueStep::Wait
            && let Some(event) = self.machine.next_event()
        {
            step = self.handle_event(event);
        }
        loop {
            let output = self.machine.output();
            if output.is_empty() {
                return step;
            }
            out.extend_from_slice(output);
            let taken = output.len();
            self.machine.consume_output(taken);
        }
    }

    fn handle_event(&mut self, event: Http2Event) -> DialogueStep {
        match event {
            Http2Event::Response { stream, fields, end_stream } => {
                let step = self.evaluator.read_head(response_status(&fields), &fields);
                match end_stream && step == DialogueStep::Wait {
                    true => self.read_body(stream),
                    false => step,
                }
            }
            Http2Event::Readable { stream } => self.read_body(stream),
            Http2Event::Ended { reset, .. } => self.describe_reset(reset),
            Http2Event::Failed { code, .. } => self.describe_failure(code),
            Http2Event::PeerSettings => {
                self.settings_received = true;
                DialogueStep::Wait
            }
            _ => DialogueStep::Wait,
        }
    }

    fn read_body(&mut self, stream: u32) -> DialogueStep {
        loop {
            match self.machine.read_data(stream) {
                BodyPart::Data(part) => {
                    self.machine.release(stream, part.len());
                    let step = self.evaluator.read_data(&part);
                    if step != DialogueStep::Wait {
                        return step;
                    }
                }
                BodyPart::End => {
                    let trailers = self.machine.take_trailers(stream);
                    return DialogueStep::Done(self.evaluator.read_end(trailers.as_ref()));
                }
                BodyPart::Pending | BodyPart::Gone => return DialogueStep::Wait,
            }
        }
    }

    fn describe_reset(&self, reset: StreamReset) -> DialogueStep {
        match reset.origin {
            // `Failed` follows, or the server has closed the connection.
            ResetOrigin::Connection => DialogueStep::Wait,
            ResetOrigin::Local(defect) => {
                DialogueStep::failure(format!("http2: malformed answer ({defect})"))
            }
            ResetOrigin::Peer => {
                DialogueStep::failure(format!("http2: the server reset it ({})", reset.code.name()))
            }
            ResetOrigin::Unprocessed => DialogueStep::failure(format!(
                "http2: the server closes the connection ({})",
                reset.code.name()
            )),
        }
    }

    fn describe_failure(&self, code: ErrorCode) -> DialogueStep {
        match self.settings_received {
            true => DialogueStep::failure(format!("http2: {}", code.name())),
            false => DialogueStep::failure("the answer is not HTTP/2"),
        }
    }
}

impl ProbeDialogue for Http2Dialogue {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        let body = self.request.body.take();
        match self.machine.open_stream(&self.request.fields, body.is_none()) {
            Ok(stream) => {
                if let Some(mut body) = body {
                    // A health check's body is far smaller than the first window.
                    let sent = self.machine.send_bytes(stream, &mut body, true);
                    if sent.is_err() || !body.is_empty() {
                        return DialogueStep::failure("the request cannot be written: too long");
                    }
                }
                self.advance(out)
            }
            Err(refusal) => {
                DialogueStep::failure(format!("the request cannot be written: {refusal}"))
            }
        }
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        if !self.received && bytes.starts_with(b"HTTP/") {
            return DialogueStep::failure("the answer is not HTTP/2 but an older version");
        }
        self.received = true;
        self.machine.receive(Bytes::copy_from_slice(bytes), Duration::ZERO);
        self.advance(out)
    }

    fn handle_close(&mut self) -> ProbeResult {
        self.machine.receive_end();
        match self.advance(&mut Vec::new()) {
            DialogueStep::Done(result) => result,
            DialogueStep::Wait if self.received => {
                Err("closed before the end of the answer".to_owned())
            }
            DialogueStep::Wait => Err("closed without an answer".to_owned()),
        }
    }

    fn awaited(&self) -> &'static str {
        "answer"
    }
}
