//! Dialogues of lines in turns: wait for a reply, judge it, say the next. The protocols are tables for it.

use crate::dialogue::{Dialogue, Step, Verdict, shown};
use crate::lines::Lines;

/// What a line of a reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// The reply goes on.
    More,
    /// The reply is good.
    Good,
    /// The server says that it is not ready, or refuses.
    NotReady,
    /// It is not of this protocol.
    Alien,
}

/// One turn.
#[derive(Debug)]
pub struct Turn {
    /// What is waited for.
    pub awaits: &'static str,
    /// Judges a line.
    pub judge: fn(&[u8]) -> Judged,
    /// What is said after a good reply.
    pub say: &'static str,
}

/// A protocol.
#[derive(Debug)]
pub struct Protocol {
    /// Its name in evidence.
    pub name: &'static str,
    /// What is said first.
    pub first: &'static str,
    /// At least one.
    pub turns: &'static [Turn],
}

/// A dialogue under way.
#[derive(Debug)]
pub struct Script {
    protocol: &'static Protocol,
    at: usize,
    lines: Lines,
    /// The first good reply.
    seen: Option<String>,
}

impl Script {
    /// Of a protocol.
    pub fn new(protocol: &'static Protocol) -> Script {
        Script { protocol, at: 0, lines: Lines::default(), seen: None }
    }

    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Option<Verdict> {
        let Protocol { name, turns, .. } = self.protocol;
        let turn = turns.get(self.at)?;
        match (turn.judge)(line) {
            Judged::More => None,
            Judged::Good => {
                self.seen.get_or_insert_with(|| shown(line));
                out.extend_from_slice(turn.say.as_bytes());
                self.at += 1;
                let seen = || format!("{name} {}", self.seen.as_deref().unwrap_or_default());
                (self.at == turns.len()).then(|| Ok(seen()))
            }
            Judged::NotReady => Some(Err(format!("{name} {}: {}", turn.awaits, shown(line)))),
            Judged::Alien => {
                Some(Err(format!("the {} is not {name}: {:?}", turn.awaits, shown(line))))
            }
        }
    }
}

impl Dialogue for Script {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        out.extend_from_slice(self.protocol.first.as_bytes());
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Step {
        let mut lines = std::mem::take(&mut self.lines);
        let fed = lines.feed(bytes, |line| self.line(line, out));
        self.lines = lines;
        match fed {
            Ok(Some(verdict)) => Step::Done(verdict),
            Ok(None) => Step::Wait,
            Err(too_much) => Step::bad(format!("{}: {too_much}", self.protocol.name)),
        }
    }

    fn awaits(&self) -> &'static str {
        self.protocol.turns.get(self.at).map_or("end", |turn| turn.awaits)
    }
}

/// A reply that begins with a code of three digits; `-` after it says that more lines follow.
pub fn code(line: &[u8], good: impl Fn(u16) -> bool) -> Judged {
    let digits = line.get(..3).filter(|digits| digits.iter().all(u8::is_ascii_digit));
    let Some(digits) = digits else { return Judged::Alien };
    let code = digits.iter().fold(0u16, |code, digit| code * 10 + u16::from(digit - b'0'));
    match line.get(3) {
        Some(b'-') if good(code) => Judged::More,
        None | Some(b' ' | b'-') if good(code) => Judged::Good,
        None | Some(b' ' | b'-') if (100..600).contains(&code) => Judged::NotReady,
        _ => Judged::Alien,
    }
}
