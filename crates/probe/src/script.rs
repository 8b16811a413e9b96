//! Dialogues of lines in turns: wait for a reply, judge it, say the next. The protocols are tables for it.

use crate::dialogue::{DialogueStep, ProbeDialogue, ProbeResult, printable_text};
use crate::lines::LineBuffer;

/// What a line of a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// The reply goes on.
    Continued,
    /// The reply is good.
    Good,
    /// The server says that it is not ready, or refuses.
    NotReady,
    /// It is not of this protocol.
    OtherProtocol,
}

#[derive(Debug)]
pub struct ScriptTurn {
    /// What is waited for.
    pub awaited: &'static str,
    pub classify: fn(&[u8]) -> ReplyKind,
    /// What is said after a good reply.
    pub command: &'static str,
}

#[derive(Debug)]
pub struct ScriptProtocol {
    /// Its name in evidence.
    pub name: &'static str,
    /// What is said first.
    pub opening: &'static str,
    pub turns: &'static [ScriptTurn],
}

/// A dialogue under way.
#[derive(Debug)]
pub struct ScriptProbe {
    protocol: &'static ScriptProtocol,
    at: usize,
    lines: LineBuffer,
    /// The first good reply.
    first_reply: Option<String>,
}

impl ScriptProbe {
    pub fn new(protocol: &'static ScriptProtocol) -> ScriptProbe {
        ScriptProbe { protocol, at: 0, lines: LineBuffer::default(), first_reply: None }
    }

    fn handle_line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Option<ProbeResult> {
        let ScriptProtocol { name, turns, .. } = self.protocol;
        let turn = turns.get(self.at)?;
        match (turn.classify)(line) {
            ReplyKind::Continued => None,
            ReplyKind::Good => {
                self.first_reply.get_or_insert_with(|| printable_text(line));
                out.extend_from_slice(turn.command.as_bytes());
                self.at += 1;
                let seen = || format!("{name} {}", self.first_reply.as_deref().unwrap_or_default());
                (self.at == turns.len()).then(|| Ok(seen()))
            }
            ReplyKind::NotReady => {
                Some(Err(format!("{name} {}: {}", turn.awaited, printable_text(line))))
            }
            ReplyKind::OtherProtocol => {
                Some(Err(format!("the {} is not {name}: {:?}", turn.awaited, printable_text(line))))
            }
        }
    }
}

impl ProbeDialogue for ScriptProbe {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        out.extend_from_slice(self.protocol.opening.as_bytes());
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        let mut lines = std::mem::take(&mut self.lines);
        let fed = lines.feed(bytes, |line| self.handle_line(line, out));
        self.lines = lines;
        match fed {
            Ok(Some(verdict)) => DialogueStep::Done(verdict),
            Ok(None) => DialogueStep::Wait,
            Err(too_much) => DialogueStep::failure(format!("{}: {too_much}", self.protocol.name)),
        }
    }

    fn awaited(&self) -> &'static str {
        self.protocol.turns.get(self.at).map_or("end", |turn| turn.awaited)
    }
}

/// A reply that begins with a code of three digits; `-` after it says that more lines follow.
pub fn classify_code(line: &[u8], good: impl Fn(u16) -> bool) -> ReplyKind {
    let digits = line.get(..3).filter(|digits| digits.iter().all(u8::is_ascii_digit));
    let Some(digits) = digits else { return ReplyKind::OtherProtocol };
    let code = digits.iter().fold(0u16, |code, digit| code * 10 + u16::from(digit - b'0'));
    match line.get(3) {
        Some(b'-') if good(code) => ReplyKind::Continued,
        None | Some(b' ' | b'-') if good(code) => ReplyKind::Good,
        None | Some(b' ' | b'-') if (100..600).contains(&code) => ReplyKind::NotReady,
        _ => ReplyKind::OtherProtocol,
    }
}
