//! One line of HAProxy's agent-check protocol: what a server says of its load and wishes for itself.
//!
//! Words are separated by blanks, tabs or commas; what follows `#` is a reason for people. It judges nothing.

use crate::dialogue::{Dialogue, Step, Verdict, shown};
use crate::lines::Lines;

/// What an agent said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Says {
    /// How much it can take, as a share of what it could when idle: `75%` is 0.75; may exceed 1.
    pub share: Option<f64>,
    /// It is well or not.
    pub health: Option<Health>,
    /// What it wants to be given.
    pub wish: Option<Wish>,
    /// Why, for people.
    pub reason: String,
    /// Words that are not known.
    pub unknown: u32,
}

/// How a server says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// `up`.
    Up,
    /// `down`, `fail`, `stopped`.
    Down,
}

/// What a server wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// `ready`: work.
    Ready,
    /// `drain`: nothing new.
    Drain,
    /// `maint`: nothing at all.
    Maintenance,
}

/// Understands a line; `None`: it says nothing at all.
pub fn parse(line: &[u8]) -> Option<Says> {
    let text = String::from_utf8_lossy(line);
    let (words, reason) = text.split_once('#').unwrap_or((&text, ""));
    let mut says = Says { reason: shown(reason.as_bytes()), ..Says::default() };
    let mut any = false;
    for word in words.split([' ', '\t', ',', '\r']).filter(|word| !word.is_empty()) {
        any = true;
        match word.to_ascii_lowercase().as_str() {
            "up" => says.health = Some(Health::Up),
            "down" | "fail" | "failed" | "stopped" => says.health = Some(Health::Down),
            "ready" => says.wish = Some(Wish::Ready),
            "drain" => says.wish = Some(Wish::Drain),
            "maint" => says.wish = Some(Wish::Maintenance),
            word => match word.strip_suffix('%').and_then(|digits| digits.parse::<f64>().ok()) {
                Some(percent) if percent >= 0.0 => says.share = Some(percent / 100.0),
                // `maxconn:N` is understood and not followed: caps are the configuration's.
                _ if word.starts_with("maxconn:") => {}
                _ => says.unknown += 1,
            },
        }
    }
    any.then_some(says)
}

/// Asks an agent: says something or nothing, and takes its first line. The verdict's text is that line.
#[derive(Debug)]
pub struct AskText {
    send: Vec<u8>,
    lines: Lines,
}

impl AskText {
    /// Says this first.
    pub fn new(send: &str) -> AskText {
        AskText { send: send.as_bytes().to_vec(), lines: Lines::default() }
    }
}

impl Dialogue for AskText {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        out.append(&mut self.send);
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Step {
        let line = |line: &[u8]| Some(String::from_utf8_lossy(line).into_owned());
        match self.lines.feed(bytes, line) {
            Ok(Some(line)) => Step::good(line),
            Ok(None) => Step::Wait,
            Err(too_much) => Step::bad(too_much.to_string()),
        }
    }

    fn end(&mut self) -> Verdict {
        // A line without its end, then the connection's end, is a line as well.
        match self.lines.rest() {
            [] => Err("closed without saying anything".to_owned()),
            rest => Ok(String::from_utf8_lossy(rest).into_owned()),
        }
    }

    fn awaits(&self) -> &'static str {
        "line"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_understood() {
        let line = |text: &str| parse(text.as_bytes());
        let says = line("up 75% ready").unwrap();
        assert_eq!(
            (says.share, says.health, says.wish),
            (Some(0.75), Some(Health::Up), Some(Wish::Ready))
        );
        let says = line("DOWN,drain#disk is full\r").unwrap();
        assert_eq!((says.health, says.wish), (Some(Health::Down), Some(Wish::Drain)));
        assert_eq!(says.reason, "disk is full");
        assert_eq!(line("stopped").unwrap().health, Some(Health::Down));
        assert_eq!(line("maint maxconn:30").unwrap().wish, Some(Wish::Maintenance));
        assert_eq!(line("4000000%").unwrap().share, Some(40_000.0));
        assert_eq!(line("-3% nan% x%").unwrap().unknown, 3, "numbers that are none");
        assert_eq!(line(" \t, # only a reason"), None);
    }
}
