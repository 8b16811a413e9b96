//! Sends a text and expects one: over TCP, and over UDP, where without an expectation the same datagram must return.

use regex::bytes::Regex;

use crate::dialogue::{DialogueStep, ProbeDialogue, ProbeResult, printable_text};

/// Bytes of a stream that are searched at most.
/// The expectation is in a greeting or a short answer; the search must not grow with a stream.
const STREAM_BYTES: usize = 64 * 1_024;

#[derive(Debug)]
pub struct StreamExpectation {
    send: Vec<u8>,
    expect: Regex,
    received: Vec<u8>,
    /// The length of the text at the last search.
    searched: usize,
}

#[derive(Debug)]
pub struct DatagramExpectation {
    send: Vec<u8>,
    expect: Option<Regex>,
}

impl StreamExpectation {
    /// Sends a text and waits for a match.
    pub fn new(send: &str, expect: Regex) -> StreamExpectation {
        StreamExpectation {
            send: send.as_bytes().to_vec(),
            expect,
            received: Vec::new(),
            searched: 0,
        }
    }

    fn search_received(&mut self) -> Option<DialogueStep> {
        self.searched = self.received.len();
        let found = self.expect.find(&self.received)?;
        Some(DialogueStep::success(format!("tcp {}", printable_text(found.as_bytes()))))
    }
}

impl ProbeDialogue for StreamExpectation {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        out.append(&mut self.send);
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> DialogueStep {
        let room = STREAM_BYTES - self.received.len();
        self.received.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let full = self.received.len() == STREAM_BYTES;
        // While the text is short, it is searched on each arrival. Later it is only searched after it has grown by
        // half.
        let grown =
            self.received.len() < 256 || self.received.len() >= self.searched + self.searched / 2;
        if (full || grown)
            && let Some(step) = self.search_received()
        {
            return step;
        }
        if full {
            return DialogueStep::failure(format!(
                "nothing expected in the first {STREAM_BYTES} bytes"
            ));
        }
        DialogueStep::Wait
    }

    fn handle_close(&mut self) -> ProbeResult {
        match self.search_received() {
            Some(DialogueStep::Done(verdict)) => verdict,
            _ if self.received.is_empty() => Err("closed without an answer".to_owned()),
            _ => Err(format!("not the expected answer: {:?}", printable_text(&self.received))),
        }
    }

    fn awaited(&self) -> &'static str {
        "expected answer"
    }
}

impl DatagramExpectation {
    /// Sends a text and waits for a match, or for the same datagram.
    pub fn new(send: &str, expect: Option<Regex>) -> DatagramExpectation {
        DatagramExpectation { send: send.as_bytes().to_vec(), expect }
    }
}

impl ProbeDialogue for DatagramExpectation {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        out.extend_from_slice(&self.send);
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> DialogueStep {
        let good = match &self.expect {
            Some(expect) => expect.is_match(bytes),
            None => bytes == self.send,
        };
        match good {
            true => DialogueStep::success(format!("udp {}", printable_text(bytes))),
            false => DialogueStep::failure(format!(
                "not the expected answer: {:?}",
                printable_text(bytes)
            )),
        }
    }

    fn awaited(&self) -> &'static str {
        "answer"
    }
}
