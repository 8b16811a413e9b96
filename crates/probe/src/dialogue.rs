//! What every dialogue is: it begins, takes bytes, and ends with a verdict.
//!
//! Over a stream `take` gets whatever came; over datagrams one whole datagram a call. It knows no time: what the shell
//! says when time is up names what `awaits` says.

use std::fmt::Write;

/// What came of a probe: what was seen, or why it failed, in words for people.
pub type Verdict = Result<String, String>;

/// Characters of a peer's text that evidence shows at most.
const SHOWN: usize = 100;

/// What follows a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed.
    Wait,
    /// It is over. What was written for sending may still be sent.
    Done(Verdict),
}

/// One probe's dialogue.
pub trait Dialogue: Send {
    /// The connection is there (or the datagram socket is).
    fn begin(&mut self, out: &mut Vec<u8>) -> Step;

    /// Bytes came.
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Step;

    /// The peer has closed.
    fn end(&mut self) -> Verdict {
        Err(format!("closed before the {}", self.awaits()))
    }

    /// What it waits for, as in "no greeting within 1 s".
    fn awaits(&self) -> &'static str;
}

impl Step {
    /// It succeeded.
    pub fn good(seen: impl Into<String>) -> Step {
        Step::Done(Ok(seen.into()))
    }

    /// It failed.
    pub fn bad(why: impl Into<String>) -> Step {
        Step::Done(Err(why.into()))
    }
}

/// A peer's text as evidence shows it: one line, printable, short.
pub fn shown(bytes: &[u8]) -> String {
    let line = bytes.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
    let mut text = String::new();
    for (at, c) in String::from_utf8_lossy(line).chars().enumerate() {
        if at == SHOWN {
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
