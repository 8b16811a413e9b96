//! What every dialogue is: it begins, takes bytes, and ends with a verdict.
//!
//! Over a stream `take` gets whatever came; over datagrams one whole datagram a call. It knows no time: what the shell
//! says when time is up names what `awaits` says.

use std::fmt::Write;

/// What came of a probe: what was seen, or why it failed, in words for people.
pub type ProbeResult = Result<String, String>;

/// Characters of a peer's text that evidence shows at most.
const MAX_SHOWN: usize = 100;

/// What follows a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogueStep {
    /// More bytes are needed.
    Wait,
    /// It is over. What was written for sending may still be sent.
    Done(ProbeResult),
}

pub trait ProbeDialogue: Send {
    /// The connection is there (or the datagram socket is).
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep;

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep;

    /// The peer has closed.
    fn handle_close(&mut self) -> ProbeResult {
        Err(format!("closed before the {}", self.awaited()))
    }

    /// What it waits for, as in "no greeting within 1 s".
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

/// A peer's text as evidence shows it: one line, printable, short.
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
