//! The interface of every dialogue: it starts, takes bytes, and ends with a result.
//!
//! Over a stream, `receive` gets bytes as they arrive. Over datagrams, each call gets one datagram. A dialogue has no
//! clock: on a timeout the daemon's message names `awaited`.

use std::fmt::Write;

/// The result of a probe: what was seen, or why it failed, for people.
pub type ProbeResult = Result<String, String>;

/// The limit of characters of a peer's text in evidence, which keeps log lines readable.
const MAX_SHOWN: usize = 100;

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogueStep {
    Wait,
    /// The health check is over. Bytes in the output may still be sent.
    Done(ProbeResult),
}

pub trait ProbeDialogue: Send {
    /// The connection or the datagram socket is open.
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep;

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep;

    fn handle_close(&mut self) -> ProbeResult {
        Err(format!("closed before the {}", self.awaited()))
    }

    /// What the dialogue waits for, as in "no greeting within 1 s".
    fn awaited(&self) -> &'static str;
}

impl DialogueStep {
    pub fn success(seen: impl Into<String>) -> DialogueStep {
        DialogueStep::Done(Ok(seen.into()))
    }

    pub fn failure(why: impl Into<String>) -> DialogueStep {
        DialogueStep::Done(Err(why.into()))
    }
}

/// A peer's text for evidence: one line, printable, short.
pub fn printable_text(bytes: &[u8]) -> String {
    let line = bytes.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
    let mut text = String::new();
    for (at, c) in String::from_utf8_lossy(line).chars().enumerate() {
        if at == MAX_SHOWN {
            text.push('…');
            break;
        }
        if c.is_control() || c == '\u{fffd}' {
            // Writing into a String cannot fail.
            let _ = write!(text, "·");
        } else {
            text.push(c);
        }
    }
    text.trim().to_owned()
}
