//! Line-based dialogues: wait for a reply, check it, send the next command. Protocols are tables of steps.

use crate::dialogue::{DialogueStep, ProbeDialogue, ProbeResult, printable_text};
use crate::lines::LineBuffer;

/// The class of a reply's line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// More lines of the reply follow.
    Continued,
    Good,
    /// The server reports that it is not ready, or refuses.
    NotReady,
    /// The line is not of this protocol.
    OtherProtocol,
}

#[derive(Debug)]
pub struct ScriptTurn {
    /// The name of the awaited reply.
    pub awaited: &'static str,
    pub classify: fn(&[u8]) -> ReplyKind,
    /// The command after a good reply.
    pub command: &'static str,
}

#[derive(Debug)]
pub struct ScriptProtocol {
    /// The protocol's name in evidence.
    pub name: &'static str,
    pub opening: &'static str,
    pub turns: &'static [ScriptTurn],
}

#[derive(Debug)]
pub struct ScriptProbe {
    protocol: &'static ScriptProtocol,
    at: usize,
    lines: LineBuffer,
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

/// A reply that begins with a three-digit code; `-` after the code means that more lines follow.
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
